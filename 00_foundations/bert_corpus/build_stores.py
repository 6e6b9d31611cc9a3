"""Build the token stores of a corpus apart from training, on one machine or shared out among many.

    python -m bert_corpus.build_stores wikipedia/ --tokenizer vocab.txt --out stores/wikipedia
    bert-pretrain --corpus stores/wikipedia --out runs/one

On four machines that see the same disk, or have the same files, one shard each; then join them:

    python -m bert_corpus.build_stores … --shard 1/4        (2/4, 3/4, 4/4 on the others)
    python -m bert_corpus.build_stores … --join 4

A shard is a run of neighbouring files. The joined store is, byte for byte, the one that a single
machine would have built.
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from tokenizers import Tokenizer
from tyro.conf import Positional, arg

from bert_corpus.corpus import Corpus
from bert_corpus.documents import open_corpus
from bert_corpus.prepared import prepare
from bert_corpus.sources import SOURCES_FILE
from bert_corpus.store import TokenStore
from bert_corpus.store_building import build_store, identity_of
from bert_corpus.store_writer import StoreWriter, clear, workplace
from bert_corpus.wordpiece import load_tokenizer, save_tokenizer, tokenizer_sha256
from bert_run.config import Vocabulary
from bert_run.errors import UserError, command
from bert_run.files import folder_in_one_piece
from bert_run.progress import progress_bar
from bert_run.ranges import Whole, check_numbers
from bert_run.settings import RunSettings

MOST_SHARDS = 1_000_000
Shards = Annotated[int, Whole(1, MOST_SHARDS)]


@dataclass(frozen=True)
class StoreSettings:
    """Build the token stores of a corpus: OUT is then a --corpus of bert-pretrain.

    python -m bert_corpus.build_stores wikipedia/ --tokenizer vocab.txt --out stores/wikipedia

    Interrupted, even by a kill, the same command goes on where it stopped.
    """

    corpus: Annotated[Positional[str], arg(metavar="CORPUS")]
    """storyworld, pydocs, a text FILE or FOLDER, JSON lines, or a Hub dataset ID[:CONFIG]"""
    out: Path
    """the folder of the stores: tokenizer, train, heldout"""
    tokenizer: Path | None = None
    """a tokenizer.json, a vocab.txt, or a folder that holds one; without it one is trained"""
    vocab_size: Vocabulary | None = None
    """entries of the vocabulary that is trained (8192 unless said otherwise)"""
    heldout: str | None = None
    """another corpus to measure on; without it a part of the corpus is kept apart"""
    split_sentences: bool | None = None
    """lines are prose to be split (True) or already sentences (False);
    without it a sample of the text decides"""
    shard: str | None = None
    """I/N: build only the I-th of N shards of the corpus, which are about equally large"""
    join: Shards | None = None
    """N: put the N finished shards in OUT together, and build the rest"""

    def __post_init__(self) -> None:
        check_numbers(self)
        if self.tokenizer is not None and self.vocab_size is not None:
            raise UserError(
                f"--tokenizer {self.tokenizer} and --vocab-size {self.vocab_size} exclude each "
                "other: a tokenizer has its own vocabulary"
            )
        if self.shard is not None:
            match = re.fullmatch(r"(\d+)/(\d+)", self.shard)
            if match is None or not 1 <= int(match[1]) <= int(match[2]) <= MOST_SHARDS:
                raise UserError(f"--shard is {self.shard}: write I/N with I from 1 to N, as in 2/4")
            if self.join is not None:
                raise UserError("--shard and --join: first build every shard, then join them")


def build_stores(settings: StoreSettings) -> TokenStore:
    """Build what `settings` ask for: all stores, or one shard. Returns what was built of train."""
    corpus = open_corpus(
        settings.corpus, split_sentences=settings.split_sentences, held_out=settings.heldout
    )
    refuse_the_corpus_itself(settings)
    shard = tuple(map(int, settings.shard.split("/"))) if settings.shard else None
    documents = corpus.shard(*shard) if shard else corpus
    if settings.tokenizer is not None:
        _keep_tokenizer(load_tokenizer(settings.tokenizer), settings.out)
    if shard:
        tokenizer = _tokenizer_of_shards(settings.out)
        return build_store(documents, tokenizer, _shard_folder(settings.out, *shard))

    train = settings.out / "train"
    is_known = (settings.out / SOURCES_FILE).exists()  # an older store's fingerprint means less
    if (
        is_known
        and train.exists()
        and TokenStore.open(train).report["fingerprint"] != corpus.fingerprint
    ):
        raise UserError(
            f"{settings.out}: holds the stores of another corpus, or its files have changed since; "
            "choose another --out"
        )
    if settings.join is not None and not train.exists():
        join_shards(corpus, settings.join, settings.out)
    run = RunSettings(
        corpus=settings.corpus,
        heldout=settings.heldout,
        split_sentences=settings.split_sentences,
        vocab_size=settings.vocab_size,
    )
    return prepare(run, settings.out, corpus=corpus).train.corpus


def refuse_the_corpus_itself(settings: StoreSettings) -> None:
    if Path(settings.corpus).expanduser().resolve() == settings.out.resolve():
        raise UserError(f"--out {settings.out} is the corpus itself; choose another folder")


def join_shards(corpus: Corpus, count: int, out: Path) -> None:
    """Append all shards to one another: the training store that the whole corpus would give."""
    tokenizer = _tokenizer_of_shards(out)
    shards = []
    for number in range(1, count + 1):
        folder = _shard_folder(out, number, count)
        if not folder.exists():
            raise UserError(
                f"there is no {folder}: build it with --shard {number}/{count}, or check --join"
            )
        shard = TokenStore.open(folder, tokenizer)
        shard.verify()
        if shard.report["fingerprint"] != corpus.shard(number, count).fingerprint:
            raise UserError(
                f"token store {shard.folder}: built from another corpus, or the files have changed "
                f"since; build shard {number}/{count} again"
            )
        shards.append(shard)
    with workplace(out / "train") as place:
        clear(place)
        with StoreWriter(place, tokenizer, identity_of(corpus, tokenizer)) as writer:
            with progress_bar(len(shards), "joining", unit="shard") as bar:
                for shard in shards:
                    writer.add_store(shard)
                    bar.update()
            writer.finish(out / "train", progress=True)


def _shard_folder(out: Path, number: int, count: int) -> Path:
    return out / "shards" / f"{number}-of-{count}"


def _keep_tokenizer(tokenizer: Tokenizer, out: Path) -> None:
    """Put the tokenizer where `prepare` looks for it; another one there is an error."""
    folder = out / "tokenizer"
    if not (folder / "tokenizer_config.json").exists():
        if folder.exists() and any(folder.iterdir()):
            raise UserError(f"{folder}: holds other things than a tokenizer; choose another --out")
        with folder_in_one_piece(folder) as beside:
            save_tokenizer(tokenizer, beside)
    elif tokenizer_sha256(load_tokenizer(out / "tokenizer")) != tokenizer_sha256(tokenizer):
        raise UserError(f"{out}: holds stores of another tokenizer; choose another --out")


def _tokenizer_of_shards(out: Path) -> Tokenizer:
    if not (out / "tokenizer").exists():
        raise UserError("--shard needs --tokenizer: all machines must have the same one")
    return load_tokenizer(out / "tokenizer")


@command
def main() -> None:
    settings = tyro.cli(StoreSettings, prog="python -m bert_corpus.build_stores")
    report = build_stores(settings).report
    print(
        f"{report['documents']:,} documents, {report['sentences']:,} sentences, "
        f"{report['tokens']:,} tokens, {report['unknown_share']:.2%} unknown, "
        f"{report['duplicate_share']:.1%} of the sentences occurred before",
        file=sys.stderr,
    )
    if settings.shard is None:
        print(f"ready for: bert-pretrain --corpus {settings.out}")
    else:
        print("when all shards are built: the same call with --join in place of --shard")


if __name__ == "__main__":
    main()
