"""Seconds to fine-tune and to predict: `bert-finetune` and the `Trainer`, each in its own process.

`beside_trainer.py --speed` calls `measure_seconds`, which starts this file once for each contestant
and turn. All read the same texts and start from the same weights: six layers, 384 wide, nothing
learned. Reading the texts and loading the model are not counted; turning texts into tokens is.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench_sections.machine import described, environment, machine

TRAIN = 3_000  # sentences of SST-2 to learn from; those to predict are all of dev
LENGTH, BATCH, RATE = 128, 32, 1e-4
TURNS = 2
LABELS = ("negative", "positive")


@dataclass(frozen=True)
class Trained:
    """How long it took, and the share of right predictions, by which to see that all learned."""

    train: float
    predict: float
    accuracy: float


@dataclass(frozen=True)
class Texts:
    """Sentences with the numbers of their labels."""

    train: list[str]
    train_labels: list[int]
    dev: list[str]
    dev_labels: list[int]

    @classmethod
    def read(cls, folder: Path) -> "Texts":
        return cls(**json.loads((folder / "texts.json").read_text("utf-8")))


# --- Contestants: each imports what it needs, and nothing of the others ---------------------------


def bert_finetune(folder: Path) -> Trained:
    """What `bert-finetune` does with one epoch, and then `bert-predict`, without their files."""
    from bert_finetuning.checkpoint import init_from
    from bert_finetuning.settings import FinetuneSettings
    from bert_finetuning.tasks.base import HeadConfig, logits_of
    from bert_finetuning.tasks.classification import Classification, TextExample
    from bert_finetuning.train import Evaluator, SeedRun, TrainingData
    from bert_run.device import choose_device, choose_precision

    texts, head = Texts.read(folder), HeadConfig(LABELS)
    task = Classification(head, ("accuracy",))
    train, dev = (
        [TextExample(text, label=LABELS[label]) for text, label in zip(*both, strict=True)]
        for both in ((texts.train, texts.train_labels), (texts.dev, texts.dev_labels))
    )
    initial = init_from(folder, task.model, head, seed=0)
    tokenizer, pad_id = initial.tokenizer, initial.model.config.pad_token_id
    settings = FinetuneSettings(task="sst-2", checkpoint=str(folder), epochs=1, batch_size=BATCH,
                                learning_rate=RATE)  # fmt: skip
    precision = choose_precision("auto", choose_device("cpu"))
    begin = time.perf_counter()
    features = task.encode(train, tokenizer, max_length=LENGTH)
    run = SeedRun(
        initial,
        TrainingData(task, features, settings, 0, pad_id),
        Evaluator(task, dev[:1], task.encode(dev[:1], tokenizer, max_length=LENGTH), LENGTH),
        precision=precision,
    )
    run.run(progress=False)
    middle = time.perf_counter()
    features = task.encode(dev, tokenizer, max_length=LENGTH)
    logits = logits_of(run.model, task, features, precision=precision)
    predictions = task.predict(dev, features, logits)
    end = time.perf_counter()
    return Trained(middle - begin, end - middle, task.score(dev, predictions)["accuracy"])


def trainer(
    folder: Path, *, padding: bool | str = False, arguments: dict[str, Any] | None = None
) -> Trained:
    """The Trainer as its documentation has it; `padding` is the tokenizer's, and without it each
    batch is padded to its longest text."""
    import datasets
    import transformers

    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    datasets.disable_progress_bars()
    transformers.set_seed(0)
    texts = Texts.read(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.BertForSequenceClassification.from_pretrained(folder, num_labels=2)

    def encoded(sentences: list[str], labels: list[int]) -> datasets.Dataset:
        return datasets.Dataset.from_dict({"sentence": sentences, "label": labels}).map(
            lambda rows: tokenizer(
                rows["sentence"], truncation=True, max_length=LENGTH, padding=padding
            ),
            batched=True,
        )

    with tempfile.TemporaryDirectory() as out:
        begin = time.perf_counter()
        chosen = transformers.TrainingArguments(
            out, num_train_epochs=1, per_device_train_batch_size=BATCH, learning_rate=RATE,
            warmup_steps=0.1, weight_decay=0.01, use_cpu=True, disable_tqdm=True, report_to=[],
            **(arguments or {}),
        )  # fmt: skip
        train = encoded(texts.train, texts.train_labels)
        run = transformers.Trainer(model, chosen, processing_class=tokenizer, train_dataset=train)
        run.train()
        middle = time.perf_counter()
        logits = run.predict(encoded(texts.dev, texts.dev_labels)).predictions
        end = time.perf_counter()
    right = sum(int(row.argmax()) == label
                for row, label in zip(logits, texts.dev_labels, strict=True))  # fmt: skip
    return Trained(middle - begin, end - middle, right / len(texts.dev))


OURS, AS_IT_COMES = "bert-finetune", "Trainer, default settings"
BEST = {
    "train_sampling_strategy": "group_by_length",
    "bf16": True,
    "per_device_eval_batch_size": 64,
}
CONTESTANTS: dict[str, Callable[[Path], Trained]] = {
    OURS: bert_finetune,
    AS_IT_COMES: trainer,
    "Trainer, its best options": lambda folder: trainer(folder, arguments=BEST),
    f"Trainer, padded to {LENGTH}": lambda folder: trainer(folder, padding="max_length"),
}
ONCE = (f"Trainer, padded to {LENGTH}",)  # slow, and no bar depends on it


# --- Turns, and the table -------------------------------------------------------------------------


def measure_seconds(data: Path | None, folder: Path) -> dict[str, Any]:
    """All contestants in turns, each turn in a fresh process; their seconds, turn by turn."""
    from bert_experiments.report.figures import say

    make_folder(data, folder)
    seconds: dict[str, list[dict[str, float]]] = {name: [] for name in CONTESTANTS}
    say(f"{TURNS} turns of {len(CONTESTANTS)} contestants: about five minutes on two idle cores")
    for turn in range(TURNS):
        for name, taken in seconds.items():
            if turn and name in ONCE:
                continue
            taken.append(in_own_process(name, folder))
            say(f"{name}: {taken[-1]['train']:.1f} s to train, {taken[-1]['predict']:.1f} s to "
                "predict")  # fmt: skip
    return {"machine": described(machine()), "seconds": seconds}


def in_own_process(name: str, folder: Path) -> dict[str, float]:
    from bert_run.errors import UserError

    done = subprocess.run(
        [sys.executable, __file__, name, str(folder)], env=environment(), text=True,
        capture_output=True,
    )  # fmt: skip
    if done.returncode:
        raise UserError(f"{name} failed: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout.splitlines()[-1])


def make_folder(data: Path | None, folder: Path) -> None:
    """A BERT folder of six layers with nothing learned, and the texts beside it."""
    from bert_corpus.wordpiece import load_tokenizer, save_tokenizer, train_wordpiece
    from bert_finetuning.data.load import few_of, load_named
    from bert_run.config import BertConfig, initial_weights
    from bert_run.errors import UserError
    from bert_run.weights import WEIGHTS_FILE, save_weights

    if data is None or not (data / "sst2").is_dir():
        raise UserError(f"--speed needs the sentences of SST-2: --data {data} has no folder sst2")
    task = load_named("sst-2", data / "sst2")
    train = few_of(task.train, TRAIN, seed=0)
    vocabulary = data / "bert-vocab" / "bert-base-uncased-vocab.txt"
    if vocabulary.is_file():
        tokenizer = load_tokenizer(vocabulary)
    else:
        tokenizer = train_wordpiece([each.text for each in task.train], 30_522, progress=False)
    config = BertConfig(vocab_size=tokenizer.get_vocab_size(), hidden_size=384,
                        num_hidden_layers=6, num_attention_heads=12,
                        intermediate_size=1536)  # fmt: skip
    save_tokenizer(tokenizer, folder)
    config.save(folder, architectures=["BertForPreTraining"])
    save_weights(initial_weights(config, 0), folder / WEIGHTS_FILE)
    texts = Texts([each.text for each in train], [LABELS.index(each.label) for each in train],
                  [each.text for each in task.dev],
                  [LABELS.index(each.label) for each in task.dev])  # fmt: skip
    (folder / "texts.json").write_text(json.dumps(asdict(texts)), "utf-8")


def medians(seconds: dict[str, Sequence[dict[str, float]]], what: str) -> dict[str, float]:
    return {name: statistics.median(turn[what] for turn in turns)
            for name, turns in seconds.items() if turns}  # fmt: skip


def seconds_table(measured: dict[str, Any]) -> tuple[dict[str, list[dict[str, float]]], str]:
    """The figures for the JSON of a page, and the table in words. A ratio says how many times as
    long as `bert-finetune` another takes."""
    from bert_experiments.report.page import aligned

    seconds = measured["seconds"]
    train, predict = (medians(seconds, what) for what in ("train", "predict"))
    rows = [["", "training seconds", "relative to ours", "prediction seconds", "relative to ours",
             "accuracy on dev, %"]]  # fmt: skip
    for name in train:
        rows.append([
            name, f"{train[name]:.1f}", f"{train[name] / train[OURS]:.2f}",
            f"{predict[name]:.1f}", f"{predict[name] / predict[OURS]:.2f}",
            f"{100 * medians(seconds, 'accuracy')[name]:.1f}",
        ])  # fmt: skip
    aims = [
        f"- {what}: the target is {aim:g} times the speed of the Trainer at its default settings, "
        f"measured {figure[AS_IT_COMES] / figure[OURS]:.2f}"
        for what, aim, figure in (("training", 2, train), ("prediction", 1.5, predict))
    ]
    text = (
        f"{measured['machine']}. One epoch over {TRAIN:,} sentences of SST-2, batch size {BATCH}, "
        "six layers, hidden size 384, untrained weights, then predictions for dev. Each cell is "
        "the median of the rounds. `bert-finetune` and `bert-predict` compute in bf16 where the "
        "processor multiplies it faster (`--precision auto`). The Trainer computes both in "
        "float32; with its best options (bf16, batches of similar length, 64 texts at a time) it "
        "computes both in bf16."
        + "\n\n" + aligned(rows) + "\n\n" + "\n".join(aims)
    )  # fmt: skip
    results = {f"{name}, seconds": list(turns) for name, turns in seconds.items()}
    return results, text


if __name__ == "__main__":
    print(json.dumps(asdict(CONTESTANTS[sys.argv[1]](Path(sys.argv[2])))))
