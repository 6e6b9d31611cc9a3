"""From a corpus to sentence pairs: tokenizer, token store, pairs to train and to measure on."""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import islice
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from bert_corpus.documents import EMBEDDED, Corpus, SourceFile, corpus_path, open_corpus
from bert_corpus.pairs import PairDataset, SpecialTokens
from bert_corpus.store import PARTS, TokenStore, holds_stores
from bert_corpus.store_building import build_store, refuse_other_things
from bert_corpus.text_files import find_text_files
from bert_corpus.wordpiece import load_tokenizer, save_tokenizer, train_wordpiece, vocabulary_of
from bert_run.errors import UserError
from bert_run.files import folder_in_one_piece, sha256, write_atomically
from bert_run.settings import RunSettings
from bert_run.validation import read_record, wrong_field

DEFAULT_VOCABULARY = 8192
MADE_FROM_FILE = "made_from.json"
TOKENIZER_SENTENCES = 2_000_000  # a vocabulary is settled long before a large corpus ends


@dataclass(frozen=True)
class PretrainingData:
    """A tokenizer, and the pairs to train and to measure on."""

    tokenizer: Tokenizer
    train: PairDataset
    heldout: PairDataset

    @property
    def mask_id(self) -> int:
        """The id of [MASK]."""
        return self.tokenizer.token_to_id("[MASK]")

    @property
    def ordinary_ids(self) -> np.ndarray:
        """Ids of ordinary words, from which masking draws random ones: all entries but `[…]`."""
        entries = vocabulary_of(self.tokenizer)
        return np.array([id_ for id_, entry in enumerate(entries) if not is_reserved(entry)])

    def unigram_entropy(self) -> float:
        """Entropy of the held-out text's own word frequencies, in nats: the loss of a model that
        knows how often each token occurs and looks at nothing else."""
        counts = np.bincount(self.heldout.corpus.tokens).astype(np.float64)
        shares = counts[counts > 0] / counts.sum()
        return float(-(shares * np.log(shares)).sum())


def prepare(
    settings: RunSettings, folder: Path, *, has_begun: bool = True, corpus: Corpus | None = None
) -> PretrainingData:
    """Tokenizer and token stores in `folder`: those that stand there already, else made now.

    `has_begun`: something has been made from what stands there, so it is used as it is, and a
    corpus that has changed since is refused. Otherwise what another call left is used if it was
    made from the same text with the same options, and made again if not. `corpus` is that of the
    settings, if it is open already.

    A corpus that is a folder of finished stores, as `build_stores.py` makes them, is used there.
    """
    if holds_stores(finished := corpus_path(settings.corpus)):
        refuse_what_is_settled(settings, finished)
        folder.mkdir(parents=True, exist_ok=True)
        folder, has_begun = finished, True
    elif has_begun:
        names = {"corpus": settings.corpus, "heldout": settings.heldout}
        is_complete = all((folder / part).exists() for part in PARTS)
        refuse_changes(names, folder, is_complete=is_complete)

    for part in PARTS:
        refuse_other_things(folder / part)  # found out before long work

    @cache
    def opened() -> Corpus:
        found = corpus or open_corpus(
            settings.corpus,
            split_sentences=settings.split_sentences,
            limit=settings.documents,
            held_out=settings.heldout,
        )
        refuse_a_single_document(settings, len(list(islice(found.held_out, 2))))
        kept = found.held_out.files if settings.heldout else ()
        refuse_same_text(settings, found.files, kept)
        save_sources(folder, {"corpus": found.files, "heldout": kept})
        return found

    tokenizer = prepare_tokenizer(settings, folder / "tokenizer", opened, has_begun=has_begun)
    specials = special_tokens(tokenizer)
    datasets = {}
    for part in PARTS:
        store_folder = folder / part
        if not (has_begun and store_folder.exists()):
            documents = opened() if part == "train" else opened().held_out
            build_store(documents, tokenizer, store_folder)
        store = TokenStore.open(store_folder, tokenizer=tokenizer)
        if part == "heldout":
            refuse_a_single_document(settings, store.n_documents)
        seed = settings.seed if part == "train" else settings.seed + 1
        datasets[part] = PairDataset(
            store, specials, seq_length=settings.seq_length, seed=seed, recipe=settings.pairs
        )
    return PretrainingData(tokenizer, **datasets)


def refuse_a_single_document(settings: RunSettings, documents: int) -> None:
    """Held-out text needs two documents for random next sentences; found out before long work."""
    if documents < 2:
        named = f"--heldout {settings.heldout}" if settings.heldout else settings.corpus
        raise UserError(
            f"{named}: the held-out text has a single document, and next-sentence prediction needs "
            "two or more: separate documents by empty lines, or name another --heldout"
        )


def refuse_same_text(
    settings: RunSettings, trained: Sequence[SourceFile], kept: Sequence[SourceFile]
) -> None:
    """A loss on text that was trained on says nothing: no file may be on both sides."""
    both = {file.sha256 for file in trained} & {file.sha256 for file in kept}
    if name := next((file.path for file in kept if file.sha256 in both), None):
        place = "" if name == "." else f"{name} "
        raise UserError(
            f"--heldout {settings.heldout}: {place}is also in the corpus {settings.corpus}, so its "
            "loss would measure what was trained on: name other text, or leave --heldout out and a "
            "part of the corpus is kept apart"
        )


def refuse_what_is_settled(settings: RunSettings, finished: Path) -> None:
    """Options that a folder of finished stores leaves no choice in."""
    for name in ("documents", "heldout", "split_sentences", "vocab_size"):
        if getattr(settings, name) is not None:
            raise UserError(
                f"--{name.replace('_', '-')}: {finished} holds finished stores, in which that is "
                "settled; leave the option out"
            )


def prepare_tokenizer(
    settings: RunSettings, folder: Path, opened: Callable[[], Corpus], *, has_begun: bool
) -> Tokenizer:
    """The tokenizer that was asked for, or one trained on the corpus and kept in `folder`."""
    if settings.tokenizer is not None:
        return load_tokenizer(settings.tokenizer, lowercase=settings.lowercase)
    is_there = (folder / "tokenizer_config.json").exists()
    if is_there and has_begun:
        refuse_another_size(settings, folder)
        return load_tokenizer(folder)
    lowercase = settings.lowercase is not False
    size = settings.vocab_size or DEFAULT_VOCABULARY
    made_from = {"corpus": opened().fingerprint, "vocab_size": size, "lowercase": lowercase}
    if is_there and read_made_from(folder) == made_from:
        return load_tokenizer(folder)
    if folder.exists() and not is_there and any(folder.iterdir()):
        raise UserError(f"{folder}: holds other things than a tokenizer; choose another --out")
    sentences = islice(opened().sentences, TOKENIZER_SENTENCES)
    tokenizer = train_wordpiece(sentences, size, lowercase)
    with folder_in_one_piece(folder) as beside:
        save_tokenizer(tokenizer, beside)
        write_atomically(beside / MADE_FROM_FILE, json.dumps(made_from, indent=2) + "\n")
    return tokenizer


def refuse_another_size(settings: RunSettings, folder: Path) -> None:
    """A tokenizer that is used as it stands must have been trained with the size asked for."""
    asked = settings.vocab_size
    before = read_made_from(folder).get("vocab_size", asked)
    if asked is not None and before != asked:
        raise UserError(
            f"--vocab-size is {asked}, and the tokenizer in {folder} was trained with {before}: "
            "leave the option out, or choose another --out"
        )


def read_made_from(folder: Path) -> dict:
    """What a tokenizer was trained on; nothing if that is not known."""
    path = folder / MADE_FROM_FILE
    return read_record(path, way_out="remove it") if path.exists() else {}


def special_tokens(tokenizer: Tokenizer) -> SpecialTokens:
    ids = {name: tokenizer.token_to_id(name) for name in ("[PAD]", "[CLS]", "[SEP]", "[MASK]")}
    for name, id_ in ids.items():
        if id_ is None:
            raise UserError(f"the tokenizer has no {name}: it is not a BERT tokenizer")
    return SpecialTokens(pad=ids["[PAD]"], cls=ids["[CLS]"], sep=ids["[SEP]"])


def is_reserved(entry: str) -> bool:
    """Whether a vocabulary entry stands for no word: [CLS], [unused7]; but a lone bracket does."""
    return len(entry) > 2 and entry.startswith("[") and entry.endswith("]")


# What a corpus was when it was read: its files, each with its size and its SHA-256.
#
#     sources.json    beside the token stores: {"corpus": [{path, bytes, modified, sha256}, …]}
#
# A corpus is known by its content: copied, renamed, touched or spelled otherwise it is the same,
# and edited it is another. Whether a file has changed is told by its size and its time, as `make`
# and `git` do; only where the time differs is it read again.


SOURCES_FILE = "sources.json"


def save_sources(folder: Path, corpora: dict[str, Sequence[SourceFile]]) -> None:
    """Write beside the stores in `folder` what they are made from."""
    folder.mkdir(parents=True, exist_ok=True)
    content = {name: [asdict(file) for file in files] for name, files in corpora.items() if files}
    write_atomically(folder / SOURCES_FILE, json.dumps(content, indent=2) + "\n")


def read_sources(folder: Path) -> dict[str, list[SourceFile]]:
    """What `save_sources` wrote; nothing where it is not known."""
    path = folder / SOURCES_FILE
    if not path.exists():
        return {}
    way_out = "remove that file, and changes of the corpus are not noticed any more"
    record = read_record(path, {}, {"corpus": list, "heldout": list}, way_out=way_out)
    types = {"path": str, "bytes": int, "modified": int, "sha256": str}
    for file in (file for files in record.values() for file in files or ()):
        if not isinstance(file, dict) or wrong_field(file, types, {}):
            raise UserError(f"{path} is damaged: {way_out}")
    return {name: [SourceFile(**{key: file[key] for key in types}) for file in files or ()]
            for name, files in record.items()}  # fmt: skip


def find_change(root: Path, recorded: Sequence[SourceFile]) -> str | None:
    """The first difference between a corpus and what was read of it, in words; None if none."""
    found = {path.relative_to(root).as_posix(): path for path in find_text_files(root).files}
    for file in recorded:
        path = found.pop(file.path, None)
        if path is None:
            there = root / file.path
            return f"{there} is no longer a file" if there.exists() else f"{there} is missing"
        stat = path.stat()
        if stat.st_size != file.bytes:
            return f"{path} has {stat.st_size:,} bytes, {file.bytes:,} were read"
        if stat.st_mtime_ns != file.modified and sha256(path) != file.sha256:
            return f"{path} has other content"
    return f"{next(iter(found.values()))} is new" if found else None


def refuse_changes(corpora: dict[str, str | None], folder: Path, *, is_complete: bool) -> None:
    """Compare the corpora of a run that goes on with what was read of them.

    `corpora` are their names by option. One that has changed is refused; of one that is gone, its
    text is at hand if the stores in `folder` are complete, and a note says that it is used.
    """
    for option, recorded in read_sources(folder).items():
        name = corpora.get(option)
        if name is None or not recorded:
            continue
        root = Path(name).expanduser()
        if not root.exists():
            if is_complete:
                print(
                    f"note: {option} {name} is gone: the text is used as it was read",
                    file=sys.stderr,
                )
        elif change := find_change(root, recorded):
            raise UserError(
                f"{option} {name} has changed since it was read ({change}): restore it, or choose "
                "another --out to begin with the new text"
            )


def same_corpus(earlier: str | None, now: str | None, recorded: Sequence[SourceFile]) -> bool:
    """Whether two names mean one corpus: two spellings of a path, or files of the same content."""
    if earlier is None or now is None or {earlier, now} & set(EMBEDDED):
        return earlier == now
    before, after = Path(earlier).expanduser(), Path(now).expanduser()
    if before.resolve() == after.resolve():
        return True
    return bool(recorded) and after.exists() and find_change(after, recorded) is None
