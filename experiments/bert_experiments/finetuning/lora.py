"""`python -m bert_experiments.finetuning.lora`: what must learn? LoRA and frozen layers.

Full fine-tuning changes every weight. LoRA (Hu et al. 2021, arXiv 2106.09685) leaves all of them as
they are and adds to some matrices a product of two small ones:

    y = x Wᵀ + b  +  scale · (x Aᵀ) Bᵀ        A: (rank, in)   B: (out, rank)   W stays

At first B is zero, so the model is the pretrained one. As in the paper, A and B stand beside the
query and the value projection of every layer, and `scale` is alpha / rank. After training
W + scale · B A can be written into the weights: the model is then a plain one again, and as fast.

Compared at equal steps, and at equal seconds: a variant whose step is faster takes more steps.
"""

import math
import statistics
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
import tyro
from jaxtyping import Float
from torch import Tensor, nn

from bert_experiments.report.figures import (
    Figures,
    Results,
    measured_once,
    one_by_one,
    spread,
)
from bert_experiments.report.page import Page, check_report, command_of
from bert_finetuning.checkpoint import ModelInit
from bert_finetuning.data.load import TaskData, load_storyworld
from bert_finetuning.finetune import fingerprint_of_start
from bert_finetuning.heads import BertWithHead, logits_of
from bert_finetuning.settings import FinetuneSettings
from bert_finetuning.train import TrainingData, freeze, make_optimizer, train
from bert_paper.cpu_kernels import use_cpu_kernels
from bert_run.errors import Count, check_numbers, command
from bert_run.training_loop import Record

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
    """sets of StoryWorld"""
    examples: Count = 500
    """to learn from"""
    epochs: Count = 3
    rank: Count = 8
    """of LoRA; its alpha is twice as much"""
    seeds: Count = 3
    runs: Path = Path("runs/lora")
    """figures of the runs that are done; the same call goes on where it was stopped"""
    report: Path | None = None
    """write the table here too, FILE.md; all figures, as JSON, beside it"""

    def __post_init__(self) -> None:
        check_numbers(self)
        check_report(self.report, PROGRAM, with_picture=False)


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


def fine_tuned(
    variant: Variant, data: TaskData, settings: LoraSettings, *, seed: int, epochs: float
) -> Figures:
    """A run of a variant: score on dev, parameters that learn, steps, seconds."""
    chosen = FinetuneSettings(
        task=data.name, checkpoint=str(settings.checkpoint), epochs=epochs, precision="fp32",
        learning_rate=variant.rate,
    )  # fmt: skip
    model, tokenizer, _ = ModelInit(chosen, data.task, data.train).build(seed)
    use_cpu_kernels(model.bert)
    freeze(model, variant.freeze)
    if variant.lora:
        add_lora(model, rank=settings.rank, alpha=2 * settings.rank, seed=seed)
    learning = trainable(model)
    train_features, dev_features = (
        data.task.encode(each, tokenizer, max_length=128) for each in (data.train, data.dev)
    )
    training = TrainingData(data.task, train_features, chosen, seed, model.config.pad_token_id)
    begin = time.process_time()
    learn_from(model, training)
    seconds = time.process_time() - begin
    if variant.lora:
        merge_lora(model)
    predictions = data.task.predict(
        data.dev, dev_features, logits_of(model, data.task, dev_features)
    )
    score = data.task.score(data.dev, predictions)[data.task.metrics[0]]
    return {"score": score, "parameters": float(learning), "steps": float(training.steps),
            "seconds": seconds}  # fmt: skip


def learn_from(model: BertWithHead, data: TrainingData) -> None:
    """The loop of `bert-finetune`, with nothing written and nothing measured on the way."""

    def ignore(record: Record) -> None:
        pass

    train(
        model, model, make_optimizer(model, data.settings), data, precision=torch.float32,
        start=0, record=ignore, measure=lambda step: "", save=lambda step: None, progress=False,
    )  # fmt: skip


MEASURED = 300  # held-out texts
EQUAL_STEPS, EQUAL_SECONDS = "equal steps", "equal seconds"


def key(task: str, variant: Variant, how: str) -> str:
    return f"{task}, {variant.name}, {how}"


def measure(settings: LoraSettings) -> Results:
    """Every variant at equal steps, then each for as many steps as take the seconds of the full
    one."""
    results: Results = {}
    start = fingerprint_of_start(str(settings.checkpoint))
    data = {task: load_storyworld(task, train=settings.examples, heldout=MEASURED)
            for task in settings.tasks}  # fmt: skip

    def run(job: tuple[str, Variant, str, int]) -> None:
        task, variant, how, seed = job
        epochs = float(settings.epochs)
        if how == EQUAL_SECONDS:
            full, own = (median_of(results[key(task, each, EQUAL_STEPS)], "seconds")
                         for each in (FULL, variant))  # fmt: skip
            epochs *= full / own
        asked = [start, settings.examples, settings.rank, MEASURED, task, asdict(variant), epochs]
        figures = measured_once(
            settings.runs / f"{task}-{variant.name}-{how}-{seed}.json".replace(" ", "-"),
            asked,
            lambda: fine_tuned(variant, data[task], settings, seed=seed, epochs=epochs),
        )
        results.setdefault(key(task, variant, how), []).append(figures)

    jobs = [
        (task, variant, how, seed)
        for task in settings.tasks
        for how, variants in ((EQUAL_STEPS, VARIANTS), (EQUAL_SECONDS, VARIANTS[1:]))
        for variant in variants
        for seed in range(settings.seeds)
    ]
    for _ in one_by_one(jobs, lambda job: False, run):
        pass
    return results


def median_of(runs: list[Figures], measure: str) -> float:
    return statistics.median(figures[measure] for figures in runs)


def rows_of(settings: LoraSettings, results: Results) -> Iterator[list[str]]:
    """A line for each task and variant."""
    yield ["task", "what learns", "parameters that learn", "score, equal steps", "seconds",
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


def page_of(settings: LoraSettings, results: Results) -> Page:
    rates = ", ".join(f"{each.name} {each.rate:g}" for each in VARIANTS)
    return Page(
        title="LoRA and frozen layers beside full fine-tuning",
        results=results,
        columns=(),
        verdicts=[],
        made=f"From `{settings.checkpoint}`, {settings.seeds} seeds, {settings.examples:,} "
        f"examples, {settings.epochs} epochs, batches of 32, float32. LoRA has rank "
        f"{settings.rank} and an alpha of {2 * settings.rank}. Peak rates, chosen once and not "
        f"searched: {rates}.",
        notes="The median of the seeds, lowest and highest in brackets: accuracy for sentiment, "
        f"entity F1 for names, on {MEASURED} held-out texts after the last step. *Seconds* are "
        "processor seconds of all training steps at equal steps. *Equal seconds*: so many steps as "
        "take the seconds of the run in which all weights learn. The head, and for sentiment the "
        "pooler below it, learn in every variant and are counted. LoRA's matrices are written into "
        "the weights before the measurement, so the model that is measured is a plain one."
        "\n\nLoRA saves memory for gradients and for Adam's moments, which counts in a model of "
        "billions of parameters and not in this one. In time it saves the gradients of the frozen "
        "matrices and Adam's work; the gradient still passes through all layers. Where the whole "
        "encoder is frozen there is no backward pass through it.",
        rows=list(rows_of(settings, results)),
    )


@command
def main() -> None:
    settings = tyro.cli(LoraSettings, prog=PROGRAM)
    page = page_of(settings, measure(settings))
    page.publish(settings.report, command_of(PROGRAM, settings))


if __name__ == "__main__":
    main()
