"""`python -m bert_experiments.finetuning.lora`: what must learn? LoRA and frozen layers.

Full fine-tuning changes every weight. LoRA (Hu et al. 2021, arXiv 2106.09685) leaves all of them as
they are and adds to some matrices a product of two small ones:

    y = x Wᵀ + b  +  scale · (x Aᵀ) Bᵀ        A: (rank, in)   B: (out, rank)   W stays

At first B is zero, so the model is the pretrained one. As in the paper, A and B stand beside the
query and the value projection of every layer, and `scale` is alpha / rank. After training
W + scale · B A can be written into the weights: the model is then a plain one again, and as fast.

Compared at equal steps, and at equal seconds: a variant whose step is faster takes more steps.

    python -m bert_experiments.finetuning.lora                                  on StoryWorld
    python -m bert_experiments.finetuning.lora --data DATA --tasks sst-2 pos --search \
        --checkpoint runs/wikipedia

DATA holds `sst2` and `ud-english-ewt`, read as `bert-finetune` reads them.
"""

import math
import statistics
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch
import tyro
from jaxtyping import Float
from torch import Tensor, nn
from tqdm import tqdm

from bert_experiments.report.figures import Figures, Results, measured_once, spread
from bert_experiments.report.page import Page, check_report, command_of
from bert_finetuning.checkpoint import ModelInit
from bert_finetuning.data.load import TaskData, few_of, load_named, load_storyworld
from bert_finetuning.data.storyworld import STORYWORLD
from bert_finetuning.finetune import fingerprint, fingerprint_of_start
from bert_finetuning.settings import FinetuneSettings
from bert_finetuning.tasks.base import BertWithHead
from bert_finetuning.train import Evaluator, SeedRun, TrainingData, freeze
from bert_run.config import Count, check_numbers
from bert_run.errors import UserError, command
from bert_run.training_loop import StopRequest, progress_bar

PROGRAM = "python -m bert_experiments.finetuning.lora"


# --- LoRA -----------------------------------------------------------------------------------------


class LoraLinear(nn.Module):
    """A frozen linear layer, and beside it a product of two small matrices that learns."""

    def __init__(self, frozen: nn.Linear, *, rank: int, alpha: float) -> None:
        super().__init__()
        self.frozen = frozen.requires_grad_(False)
        self.scale = alpha / rank
        self.lora_a = nn.Parameter(torch.empty(rank, frozen.in_features))
        self.lora_b = nn.Parameter(torch.zeros(frozen.out_features, rank))
        nn.init.kaiming_uniform_(self.lora_a, a=math.sqrt(5))  # as nn.Linear draws its weight

    def forward(self, x: Float[Tensor, "*batch in"]) -> Float[Tensor, "*batch out"]:
        low = x @ self.lora_a.T  # (..., rank)
        return self.frozen(x) + self.scale * (low @ self.lora_b.T)

    def merged(self) -> nn.Linear:
        """A plain layer with the same outputs: W + scale · B A."""
        with torch.no_grad():
            self.frozen.weight += self.scale * (self.lora_b @ self.lora_a)
        return self.frozen


def add_lora(model: BertWithHead, *, rank: int, alpha: float, seed: int = 0) -> None:
    """LoRA on every query and value projection; apart from it only the head learns, and the pooler
    where there is one, which counts as a part of the head."""
    torch.manual_seed(seed)
    freeze(model, "encoder")
    for layer in model.bert.encoder.layer:
        attention = layer.attention.self
        attention.query = LoraLinear(attention.query, rank=rank, alpha=alpha)
        attention.value = LoraLinear(attention.value, rank=rank, alpha=alpha)


def merge_lora(model: BertWithHead) -> None:
    """Write each product into its matrix: a plain model with the same outputs."""
    for layer in model.bert.encoder.layer:
        attention = layer.attention.self
        attention.query, attention.value = attention.query.merged(), attention.value.merged()


def trainable(model: nn.Module) -> int:
    return sum(each.numel() for each in model.parameters() if each.requires_grad)


# --- The study ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LoraSettings:
    """Fine-tune all weights, a part of them, or LoRA's alone, and compare."""

    checkpoint: Path = Path("runs/demo")
    """a BERT folder; `make demo` leaves one here"""
    tasks: tuple[str, ...] = ("sentiment", "names")
    """sets of StoryWorld; with --data sst-2, pos or both"""
    data: Path | None = None
    """a folder with sst2 and ud-english-ewt"""
    examples: Count = 500
    """to learn from"""
    epochs: Count = 3
    rank: Count = 8
    """of LoRA; its alpha is twice as much"""
    seeds: Count = 3
    search: bool = False
    """try three, ten and thirty times each rate, too: one half of the held-out texts and
    one more seed choose, the other half is measured"""
    runs: Path = Path("runs/lora")
    """figures of the runs that are done; the same call goes on where it was stopped"""
    report: Path | None = None
    """write the table here too, FILE.md; all figures, as JSON, beside it"""

    def __post_init__(self) -> None:
        check_numbers(self)
        check_report(self.report, PROGRAM, with_picture=False)
        known = STORYWORLD if self.data is None else FOLDERS
        for task in self.tasks:
            if task not in known:
                raise UserError(f"--tasks {task}: choose of {', '.join(known)}")
        if len(set(self.tasks)) < max(1, len(self.tasks)):
            names = " ".join(self.tasks) or "names none"
            raise UserError(f"--tasks {names}: give one or more of {', '.join(known)}, each once")


FOLDERS = {"sst-2": "sst2", "pos": "ud-english-ewt"}  # in --data


@dataclass(frozen=True)
class Variant:
    """What learns, and how fast: few weights need a higher rate, which is LoRA's habit too."""

    name: str
    rate: float
    freeze: str = "nothing"  # as --freeze
    lora: bool = False


FULL = Variant("all weights", 3e-4)
VARIANTS = (
    FULL,
    Variant("without embeddings and the lowest layer", 3e-4, freeze="1"),
    Variant("LoRA on query and value", 3e-3, lora=True),
    Variant("the head alone", 3e-3, freeze="encoder"),
)
FACTORS = (1.0, 3.0, 10.0, 30.0)  # of the rate, where it is searched


def load(task: str, settings: LoraSettings) -> TaskData:
    """Examples to learn from, and the held-out ones."""
    if settings.data is None:
        return load_storyworld(task, train=settings.examples, heldout=MEASURED)
    data = load_named(task, settings.data / FOLDERS[task])
    return replace(data, train=few_of(data.train, settings.examples, seed=0))


def fine_tuned(
    variant: Variant, data: TaskData, settings: LoraSettings, *, seed: int, epochs: float
) -> Figures:
    """A run of a variant: its score, parameters that learn, steps, processor seconds."""
    chosen = FinetuneSettings(
        task=data.name, checkpoint=str(settings.checkpoint), epochs=epochs, precision="fp32",
        learning_rate=variant.rate, freeze=variant.freeze,
    )  # fmt: skip
    initial = ModelInit(chosen, data.task, data.train).build(seed)
    model, tokenizer = initial.model, initial.tokenizer
    if variant.lora:
        add_lora(model, rank=settings.rank, alpha=2 * settings.rank, seed=seed)
    features = data.task.encode(data.train, tokenizer, max_length=128)
    training = TrainingData(data.task, features, chosen, seed, model.config.pad_token_id)
    run = UnmeasuredRun(initial, training, Evaluator(data.task, [], [], 128))
    learning = trainable(model)
    begin = time.process_time()
    run.train(StopRequest())
    seconds = time.process_time() - begin
    if variant.lora:
        merge_lora(model)
    found = {"rate": variant.rate, "parameters": float(learning), "steps": float(training.steps),
             "seconds": seconds}  # fmt: skip
    predictions = data.task.answers(data.dev, model, tokenizer, max_length=128)
    half = len(data.dev) // 2 if settings.search else 0  # which chooses the rate
    parts = {"dev score": slice(half), "score": slice(half, None)}
    for name, part in parts.items():
        if data.dev[part]:
            scores = data.task.score(data.dev[part], predictions[part])
            found[name] = scores[data.task.metrics[0]]
    return found


class UnmeasuredRun(SeedRun):
    """The loop of `bert-finetune`, with nothing written and nothing measured on the way."""

    def measure(self, step: int) -> str:
        return ""


MEASURED = 300  # held-out texts
EQUAL_STEPS, EQUAL_SECONDS = "equal steps", "equal seconds"


def key(task: str, variant: Variant, how: str) -> str:
    return f"{task}, {variant.name}, {how}"


@dataclass(frozen=True)
class Study:
    """All runs on one task."""

    settings: LoraSettings
    data: TaskData
    start: str  # fingerprint of the checkpoint
    bar: tqdm

    def run(self, variant: Variant, *, seed: int, epochs: float) -> Figures:
        """One run; a run that is done is read."""
        name = f"{self.data.name}-{variant.name}-{variant.rate:g}-{epochs:.3f}-{seed}.json"
        asked = [self.start, fingerprint(self.data.train), fingerprint(self.data.dev), epochs,
                 self.settings.rank, self.settings.search, asdict(variant)]  # fmt: skip
        figures = measured_once(
            self.settings.runs / name.replace(" ", "-"), asked,
            lambda: fine_tuned(variant, self.data, self.settings, seed=seed, epochs=epochs),
        )  # fmt: skip
        self.bar.update()
        return figures

    def all_seeds(self, variant: Variant, epochs: float) -> list[Figures]:
        return [self.run(variant, seed=seed, epochs=epochs) for seed in range(self.settings.seeds)]

    def at_best_rate(self, variant: Variant) -> Variant:
        """The variant at the rate that the first half of the held-out texts prefers, at equal
        steps; a seed decides that is not measured."""
        if not self.settings.search:
            return variant
        tried = [replace(variant, rate=variant.rate * factor) for factor in FACTORS]
        scores = [self.run(each, seed=self.settings.seeds, epochs=float(self.settings.epochs))
                  for each in tried]  # fmt: skip
        return max(zip(tried, scores, strict=True), key=lambda pair: pair[1]["dev score"])[0]

    def results(self) -> Results:
        """Every variant at equal steps, and then for as many steps as take the seconds of the one
        in which all weights learn."""
        found: Results = {}
        epochs, all_weights = float(self.settings.epochs), 0.0  # seconds
        for variant in map(self.at_best_rate, VARIANTS):
            runs = self.all_seeds(variant, epochs)
            found[key(self.data.name, variant, EQUAL_STEPS)] = runs
            seconds = median_of(runs, "seconds")
            if variant.name == FULL.name:
                all_weights = seconds
            else:
                found[key(self.data.name, variant, EQUAL_SECONDS)] = self.all_seeds(
                    variant, epochs * all_weights / seconds
                )
        return found


def measure(settings: LoraSettings) -> Results:
    """All runs on all tasks."""
    start = fingerprint_of_start(str(settings.checkpoint))
    each = (2 * len(VARIANTS) - 1) * settings.seeds
    if settings.search:
        each += len(VARIANTS) * len(FACTORS)
    results: Results = {}
    with progress_bar(each * len(settings.tasks), "fine-tuning", unit="run") as bar:
        for task in settings.tasks:
            results |= Study(settings, load(task, settings), start, bar).results()
    return results


def median_of(runs: list[Figures], measure: str) -> float:
    return statistics.median(figures[measure] for figures in runs)


def rows_of(settings: LoraSettings, results: Results) -> Iterator[list[str]]:
    """A line for each task and variant."""
    yield ["task", "what is trained", "trained parameters", "score, equal steps", "seconds",
           "score, equal seconds", "steps"]  # fmt: skip
    for task in settings.tasks:
        for variant in VARIANTS:
            steps = results[key(task, variant, EQUAL_STEPS)]
            same_seconds = results.get(key(task, variant, EQUAL_SECONDS), steps)
            scores = ([100 * run["score"] for run in runs] for runs in (steps, same_seconds))
            first, second = (spread(each, ".1f", "%") for each in scores)
            yield [
                task, variant.name, f"{steps[0]['parameters']:,.0f}", first,
                f"{median_of(steps, 'seconds'):.1f}", second,
                f"{median_of(same_seconds, 'steps'):.0f}",
            ]  # fmt: skip


def rates_of(settings: LoraSettings, results: Results) -> str:
    """The peak rates in words: one for all tasks, or those that were found."""
    if not settings.search:
        usual = ", ".join(f"{each.name} {each.rate:g}" for each in VARIANTS)
        return f"Peak learning rates, chosen once and not searched: {usual}."
    found = "; ".join(
        f"{task}: "
        + ", ".join(f"{each.name} {results[key(task, each, EQUAL_STEPS)][0]['rate']:.2g}"
                    for each in VARIANTS)
        for task in settings.tasks
    )  # fmt: skip
    return (
        f"Peak learning rates: the best of {len(FACTORS)} on one half of the held-out texts, "
        f"chosen with a separate seed; scores are measured on the other half. {found}."
    )


LEAD = (
    "[Notebook 04/08](../04_finetuning/08_is_the_score_true.ipynb) explains what these figures "
    "mean, and [wikipedia.md](wikipedia.md#tiny-a-quarter-of-an-hour-on-one-core) describes how "
    "`wikipedia-tiny` was trained."
)


def page_of(settings: LoraSettings, results: Results) -> Page:
    texts = f"{MEASURED} held-out texts" if settings.data is None else "the dev set"
    if settings.search:
        texts = f"the second half of {texts}"
    return Page(
        title="LoRA and frozen layers compared with full fine-tuning"
        + (" on StoryWorld" if settings.data is None else " on real text"),
        lead="" if settings.data is None else LEAD,
        results=results,
        columns=(),
        verdicts=[],
        made=f"From `{settings.checkpoint}`, {settings.seeds} seeds, {settings.examples:,} "
        f"examples, {settings.epochs} epochs, batch size 32, float32. LoRA has rank "
        f"{settings.rank} and an alpha of {2 * settings.rank}. {rates_of(settings, results)}",
        notes="Each cell is the median of the seeds, with the lowest and highest in parentheses: "
        f"entity F1 for names, otherwise accuracy, on {texts} after the last step. *Seconds* are "
        "processor seconds for all training steps at equal steps. *Equal seconds*: as many steps "
        "as fit into the seconds of the run in which all weights are trained. The head, and for "
        "whole texts the pooler below it, are trained in every variant and are counted. LoRA's "
        "matrices are merged into the weights before the evaluation, so the evaluated model is an "
        "ordinary one.\n\nLoRA saves memory for gradients and for Adam's moments, which matters in "
        "a model of billions of parameters but not in this one. It saves the time for the "
        "gradients of the frozen matrices and for Adam's updates; the gradient still passes "
        "through all layers. When the whole encoder is frozen, it needs no backward pass.",
        rows=list(rows_of(settings, results)),
    )


@command
def main() -> None:
    settings = tyro.cli(LoraSettings, prog=PROGRAM)
    torch.set_num_threads(1)  # so small a model gains nothing by a second one
    page = page_of(settings, measure(settings))
    page.publish(settings.report, command_of(PROGRAM, settings))


if __name__ == "__main__":
    main()
