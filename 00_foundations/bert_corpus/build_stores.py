"""Build the token stores of a corpus apart from training, so that many runs can share them."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from tyro.conf import Positional, arg

from bert_corpus.pretraining_run import corpus_of, prepare
from bert_corpus.store import EMBEDDED, PARTS, TokenStore, holds_stores, unfinished
from bert_run.config import RunSettings, Vocabulary
from bert_run.errors import UserError, command, tell
from bert_run.files import RECORD_FILE, held_alone, read_record


@dataclass(frozen=True)
class StoreSettings:
    """Build the token stores of a corpus: OUT is then a --corpus of bert-pretrain.

    python -m bert_corpus.build_stores wikipedia/ --tokenizer vocab.txt --out stores/wikipedia

    Interrupted, even by a kill, the same command goes on where it stopped.
    """

    corpus: Annotated[Positional[str], arg(metavar="CORPUS")]
    """storyworld, pydocs, a text FILE or FOLDER, JSON lines, or of the Hub ID[:CONFIG][@SPLIT]"""
    out: Path
    """the folder of the stores: tokenizer, train, heldout"""
    tokenizer: Path | None = None
    """a tokenizer.json, a vocab.txt, or a folder that holds one; without it one is trained"""
    vocab_size: Vocabulary | None = None
    """entries of the vocabulary that is trained (8192 unless said otherwise)"""
    heldout: str | None = None
    """another corpus to measure on; without it a part of the corpus is kept apart"""
    split_sentences: bool | None = None
    """lines are prose to be split (True) or sentences (False); else a sample of them decides"""

    def __post_init__(self) -> None:
        RunSettings(**vars(self))  # checks what is said


def build_stores(settings: RunSettings) -> TokenStore:
    """Build the stores in `settings.out`, and return that of the training documents."""
    out = settings.out
    if Path(settings.corpus).expanduser().resolve() == out.resolve():
        is_what = "has the name of" if settings.corpus in EMBEDDED else "is"
        raise UserError(f"--out {out} {is_what} the corpus itself; choose another folder")
    if (out / RECORD_FILE).is_file() or holds_stores(out.resolve().parent):
        raise UserError(f"--out {out} is a run's folder, or lies in one of finished stores: choose "
                        "another")  # fmt: skip
    corpus = corpus_of(settings)
    with held_alone(out / "tokenizer"):  # and with it the rest
        begun = [path for part in PARTS for path in (
            out / part / "report.json", unfinished(out / part) / "progress.json"
        ) if path.exists()]  # fmt: skip
        for path in begun:
            record = read_record(path, {}, {"identity": dict}, way_out=f"remove {path.parent}")
            now = corpus if path.parent.stem == "train" else corpus.held_out
            if (record.get("identity") or record).get("fingerprint") != now.fingerprint:
                raise UserError(f"{path.parent}: holds the stores of another corpus or --heldout, "
                                "or its files have changed since; choose another --out, or remove "
                                f"{out}")  # fmt: skip
        return prepare(settings, out, has_begun=bool(begun), corpus=corpus).train.corpus


@command
def main() -> None:
    settings = tyro.cli(StoreSettings, prog="python -m bert_corpus.build_stores")
    report = build_stores(RunSettings(**vars(settings))).report
    tell(f"{report['documents']:,} documents, {report['sentences']:,} sentences, "
         f"{report['tokens']:,} tokens, {report['unknown_share']:.2%} unknown")  # fmt: skip
    print(f"ready for: bert-pretrain --corpus {shlex.quote(str(settings.out))}")


if __name__ == "__main__":
    main()
