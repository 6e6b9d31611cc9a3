"""How large the house is, and how many of its files one batch or one command opens.

    python tests/house_size.py              lines, files and modules of each package
    python tests/house_size.py --opened     also the modules that are entered on the way

A module counts as opened when a function of it is called between the two ends. What is only
imported does not count. The three ways are:

- from a text to the loss: `bert-pretrain` on a text file, from its start until the model's `loss`
  has returned for the first time, so that the backward pass, checkpoints, model card and curve,
  which come after the loss, do not count;
- `bert-finetune` on a file: the whole command;
- `bert-predict` on one text: the whole command.
"""

import contextlib
import io
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COURSE = ("bert_corpus", "bert_run", "bert_numpy", "bert_lowlevel", "bert_paper",
          "bert_finetuning", "autograder")  # fmt: skip
PACKAGES = (*COURSE, "bert_experiments")


@dataclass(frozen=True)
class Size:
    files: int
    lines: int
    top: int  # modules and folders at the top level


def folder_of(package: str) -> Path:
    return next(ROOT.glob(f"*/{package}"))


def size_of(package: str) -> Size:
    folder = folder_of(package)
    files = sorted(folder.rglob("*.py"))
    lines = sum(path.read_text(encoding="utf-8").count("\n") for path in files)
    top = {path.relative_to(folder).parts[0] for path in files} - {"__init__.py", "__main__.py"}
    return Size(len(files), lines, len(top))


def modules_opened(action: Callable[[], object], *, until: str | None = None) -> list[str]:
    """The modules of ours in which a function is called while `action` runs, in order.

    `until` names a function of ours after whose first return nothing is counted any more.
    """
    opened: dict[str, None] = {}
    is_over = threading.Event()

    def note(frame, event, _):
        module, function = frame.f_globals.get("__name__", ""), frame.f_code.co_name
        if module.split(".")[0] not in COURSE or function in ("<module>", "<lambda>"):
            return
        if event == "call" and not is_over.is_set():
            opened.setdefault(module)
        elif event == "return" and function == until:
            is_over.set()

    threading.setprofile(note)  # batches are prepared in a thread of their own
    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return list(opened)


def batch_to_loss(folder: Path) -> Callable[[], object]:
    """`bert-pretrain` on a text file, for one step."""
    from bert_paper.pretrain import PretrainSettings, pretrain

    corpus = folder / "text.txt"
    texts = [f"The crane stood in river {n}.\nIt caught {n} fish.\n" for n in range(200)]
    corpus.write_text("\n".join(texts), encoding="utf-8")
    settings = PretrainSettings(
        corpus=str(corpus), out=folder / "run", model="tiny", hidden_size=32, num_hidden_layers=1,
        vocab_size=60, seq_length=32, steps=1, batch_size=4, eval_examples=4, device="cpu",
    )  # fmt: skip
    return lambda: pretrain(settings)


def rows(folder: Path) -> Path:
    path = folder / "rows.csv"
    lines = [f"a {word} film {n},{label}" for n in range(20)
             for word, label in (("good", "pos"), ("poor", "neg"))]  # fmt: skip
    path.write_text("\n".join(["text,label", *lines]) + "\n", encoding="utf-8")
    return path


def call(command: Callable[[], object], *arguments: object) -> Callable[[], object]:
    def run() -> None:
        before, sys.argv = sys.argv, ["command", *map(str, arguments)]
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
                command()
        finally:
            sys.argv = before

    return run


def main() -> None:
    total = 0
    print(f"{'package':18} {'files':>5} {'lines':>7} {'top level':>10}")
    for package in PACKAGES:
        size = size_of(package)
        total += size.lines * (package in COURSE)
        print(f"{package:18} {size.files:5} {size.lines:7,} {size.top:10}")
    print(f"{'the course':18} {'':5} {total:7,}")
    if "--opened" not in sys.argv:
        return
    import bert_finetuning.finetune
    import bert_finetuning.predict

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = rows(folder)
        finetune = call(
            bert_finetuning.finetune.main, "--train", data, "--dev", data, "--checkpoint",
            folder / "run", "--epochs", "1", "--out", folder / "tuned", "--device", "cpu",
        )  # fmt: skip
        predict = call(
            bert_finetuning.predict.main, "a good film", "--checkpoint", folder / "tuned",
            "--device", "cpu",
        )  # fmt: skip
        for road, action, until in (
            ("text to loss (bert-pretrain)", batch_to_loss(folder), "loss"),
            ("bert-finetune on a file", finetune, None),
            ("bert-predict on one text", predict, None),
        ):
            opened = modules_opened(action, until=until)
            print(f"\n{road}: {len(opened)} modules\n  {', '.join(opened)}")


if __name__ == "__main__":
    main()
