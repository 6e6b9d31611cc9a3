"""What a pretraining run does at every level, around the training itself.

It claims its folder, prepares tokenizer, token stores and pairs, starts from first weights or the
newest checkpoint, and writes down what is measured and learned.
"""

import json
import math
import os
import re
import shlex
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property, partial
from itertools import chain, islice
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from bert_corpus.pairs import PairDataset, SpecialTokens, pair_report
from bert_corpus.store import (
    EMBEDDED,
    HELD_OUT_MOST,
    PARTS,
    Corpus,
    Document,
    TokenStore,
    build_store,
    corpus_path,
    hash64,
    holds_stores,
    open_corpus,
    refuse_other_things,
)
from bert_corpus.wordpiece import (
    load_tokenizer,
    save_tokenizer,
    tokenizer_sha256,
    train_wordpiece,
    vocabulary_of,
)
from bert_run.config import BertConfig, RunSettings, Weights, count_parameters, parameter_shapes
from bert_run.errors import UserError, option, tell
from bert_run.files import (
    STATE_FILE,
    RunFolder,
    command_line,
    divergence_noted,
    folder_in_one_piece,
    model_card,
    read_record,
    set_aside,
    write_atomically,
)
from bert_run.training_loop import MetricsLog, Record, draw_curve, read_metrics
from bert_run.weights import WEIGHTS_FILE, load_weights, read_safetensors, save_weights

DEFAULT_VOCABULARY = 8192
MADE_FROM_FILE = "made_from.json"
KNOWN_MOST = 0.1  # share of held-out documents that may be in the corpus, too: short ones repeat
TOKENIZER_SENTENCES = 2_000_000  # a vocabulary is settled long before a large corpus ends


@dataclass(frozen=True)
class PretrainingData:
    """A tokenizer, and the pairs to train and to measure on."""

    tokenizer: Tokenizer
    train: PairDataset
    heldout: PairDataset

    @property
    def mask_id(self) -> int:
        return self.tokenizer.token_to_id("[MASK]")

    @cached_property
    def ordinary_ids(self) -> np.ndarray:
        """Ids of ordinary words, from which masking draws random ones: all entries but `[…]`."""
        entries = enumerate(vocabulary_of(self.tokenizer))
        return np.array([id_ for id_, entry in entries if not re.fullmatch(r"\[.+]", entry)])

    def unigram_entropy(self) -> float:
        """Entropy of the held-out text's word frequencies, in nats: the loss of a model that knows
        how often each token occurs and nothing else."""
        counts = np.bincount(self.heldout.corpus.tokens).astype(np.float64)
        shares = counts[counts > 0] / counts.sum()
        return float((shares * -np.log(shares)).sum())


def prepare(settings: RunSettings, folder: Path, *, has_begun: bool = True,
            corpus: Corpus | None = None) -> PretrainingData:  # fmt: skip
    """Tokenizer and token stores in `folder`: those that stand there already, else made now.

    `has_begun`: what stands there is used as it is; otherwise only if it was made from the same
    text with the same options. `corpus` is that of the settings, if it is open already. Where it is
    a folder of finished stores, as `build_stores.py` makes them, these are used in their place.
    """
    if holds_stores(finished := corpus_path(settings.corpus)):
        refuse_what_the_stores_settle(settings, finished)
        folder.mkdir(parents=True, exist_ok=True)
        folder, has_begun = finished, True
    elif (folder / "report.json").exists() and not (
        finished.exists() or (folder / "tokenizer").exists()
    ):
        raise UserError(f"the token stores of this run are neither at {finished} nor in {folder}: "
                        "put them back, or name where they lie with --corpus")  # fmt: skip
    for part in PARTS:
        refuse_other_things(folder / part)  # found out before long work

    @cache
    def opened() -> Corpus:
        found = corpus or corpus_of(settings)
        refuse_unfit_held_out_text(settings, found)
        return found

    tokenizer = prepare_tokenizer(settings, folder / "tokenizer", opened, has_begun=has_begun)
    pairs = {"train": settings.pairs, "heldout": settings.pairs.held_out}
    datasets = {}
    for part in PARTS:
        if not (has_begun and (folder / part).exists()):
            documents = opened() if part == "train" else opened().held_out
            build_store(documents, tokenizer, folder / part)
        datasets[part] = PairDataset(
            TokenStore.open(folder / part, tokenizer=tokenizer), special_tokens(tokenizer),
            seq_length=settings.seq_length, seed=settings.seed_of(part), recipe=pairs[part],
        )  # fmt: skip
    return PretrainingData(tokenizer, **datasets)


def corpus_of(settings: RunSettings) -> Corpus:
    if settings.corpus in EMBEDDED and settings.split_sentences is not None:
        raise UserError(f"--split-sentences: {settings.corpus} is in sentences: leave it out")
    return open_corpus(settings.corpus, split_sentences=settings.split_sentences,
                       limit=settings.documents, held_out=settings.heldout)  # fmt: skip


def refuse_unfit_held_out_text(settings: RunSettings, corpus: Corpus) -> None:
    """Raise `UserError` for a single document on one side, and for text on both."""
    named = f"--heldout {settings.heldout}" if settings.heldout else settings.corpus
    for side, name, text in (("training", settings.corpus, corpus),
                             ("held-out", named, corpus.held_out)):  # fmt: skip
        if len(list(islice(text, 2))) < 2:
            raise UserError(f"{name}: the {side} text has a single document (equal ones are on "
                            "one side), and next-sentence prediction needs two: separate them by "
                            "empty lines (in JSONL: rows), or name another --heldout")  # fmt: skip
    if not settings.heldout:
        return
    kept = list(islice(corpus.held_out, HELD_OUT_MOST))
    is_here = corpus.hashes or settings.corpus in EMBEDDED  # the Hub's would be fetched twice
    for what, hashes, most in (("documents", partial(map, hash64), KNOWN_MOST),
                               ("passages", partial(passages, size=8), 0.5),
                               ("sentences", partial(passages, size=1), 1.0)):  # fmt: skip
        probe = {*hashes(kept)}
        share = len(probe.intersection(hashes(corpus if is_here else ()))) / len(probe)
        if share > 0.5 and what == "sentences":  # as in stories of one kind
            tell(f"note: {share:.0%} of the sentences of {named} are also in {settings.corpus}")
        is_same = what == "documents" and {*corpus.hashes} & {*corpus.held_out.hashes}
        if share > most or (share and is_same):
            raise UserError(f"{named}: text of it is also in the corpus {settings.corpus} "
                            f"({share:.0%} of its {what}), so its loss would measure what was "
                            "trained on: name other text, or leave --heldout out and a part is "
                            "kept apart")  # fmt: skip


def passages(documents: Iterable[Document], *, size: int) -> Iterator[int]:
    """Hashes of so many sentences in a row, wherever the text is cut into documents."""
    passage = deque(maxlen=size)
    for sentence in chain.from_iterable(documents):
        passage.append(sentence)
        yield hash64(list(passage))


def refuse_what_the_stores_settle(settings: RunSettings, finished: Path) -> None:
    """Options that a folder of finished stores leaves no choice in."""
    for name in ("documents", "heldout", "split_sentences", "vocab_size", "tokenizer_type"):
        if getattr(settings, name) is not None:
            raise UserError(f"{option(name)}: {finished} holds finished stores, in which that is "
                            "settled; leave the option out")  # fmt: skip


def prepare_tokenizer(settings: RunSettings, folder: Path, opened: Callable[[], Corpus], *,
                      has_begun: bool) -> Tokenizer:  # fmt: skip
    """The tokenizer that was asked for, or one trained on the corpus; it is kept in `folder`."""
    found = load_tokenizer(folder) if (folder / "tokenizer_config.json").exists() else None
    record = folder / MADE_FROM_FILE
    before = {"tokenizer": tokenizer_sha256(found)} if found else {}
    if record.exists():
        before = read_record(record, way_out="remove it")
    size, tokenizer = settings.vocab_size, None
    if settings.tokenizer is not None:
        tokenizer = load_tokenizer(settings.tokenizer, lowercase=settings.lowercase)
    if found and has_begun:
        is_same = not tokenizer or tokenizer_sha256(tokenizer) == tokenizer_sha256(found)
        kept = before.get("vocab_size", None if record.exists() else size)
        if not is_same or size not in (None, kept):
            way_out = "leave --tokenizer and --vocab-size out, or take another --out"
            if start := getattr(settings, "start_from", None):
                way_out = f"build them with --tokenizer {start}, or name the text with --corpus"
            raise UserError(f"the stores in {folder.parent} are those of another tokenizer: "
                            f"{way_out}")  # fmt: skip
        return found
    if tokenizer:
        made_from = {"tokenizer": tokenizer_sha256(tokenizer)}
    else:
        made_from = {"corpus": opened().fingerprint, "vocab_size": size or DEFAULT_VOCABULARY,
                     "lowercase": settings.lowercase is not False}  # fmt: skip
    if found and before == made_from:
        return found
    if not (found and record.exists()) and folder.exists() and any(folder.iterdir()):
        raise UserError(f"{folder}: holds other things than a tokenizer made for this corpus: "
                        "choose another --out, or name the tokenizer with --tokenizer")  # fmt: skip
    if not tokenizer:
        sentences = islice(chain.from_iterable(opened()), TOKENIZER_SENTENCES)
        tokenizer = train_wordpiece(sentences, made_from["vocab_size"], made_from["lowercase"])
    with folder_in_one_piece(folder) as beside:
        save_tokenizer(tokenizer, beside)
        write_atomically(beside / MADE_FROM_FILE, json.dumps(made_from, indent=2) + "\n")
    return tokenizer


def special_tokens(tokenizer: Tokenizer) -> SpecialTokens:
    return SpecialTokens(*map(tokenizer.token_to_id, ("[PAD]", "[CLS]", "[SEP]")))


def changed_text(settings: RunSettings, data: PretrainingData) -> str | None:
    """The option whose files are no longer what the stores were made from, if any. Text is known by
    its content: copied, renamed or touched it is the same. Files that are gone are not compared."""
    names = {"corpus": settings.corpus, "heldout": settings.heldout or settings.corpus}
    files = {name: corpus_path(name) for name in names.values() if name not in EMBEDDED}
    is_there = files and all(path.exists() for path in files.values())
    if not is_there or holds_stores(corpus_path(settings.corpus)):
        return None
    corpus = corpus_of(settings)
    parts = (data.train, corpus), (data.heldout, corpus.held_out)
    for (part, name), (stored, now) in zip(names.items(), parts, strict=True):
        if name in files and stored.corpus.report["fingerprint"] != now.fingerprint:
            return f"--{part} {name}"
    return None


# The run: its folder, its weights, what is written down on the way.

# What may differ between two calls that continue one run.
FREE_TO_CHANGE = {"out", "device", "cores", "parallel", "compile", "eval_every", "eval_examples",
                  "save_every", "keep_checkpoints", "micro_batch_size"}  # fmt: skip
FAR_FROM_HALF = 0.55  # share of the more common label of pairs, above which it is reported
DRAWN_EVERY = 30.0  # seconds between two drawings of the curve: one takes longer than a small step


class PretrainingRun(ExitStack):
    """One run, new or continued: `start` steps are done, and led to `weights`.

    It is used in a `with`, which holds its folder against other calls. Of several processes one
    leads: it makes the folder, and it alone writes. The others are made after it.
    """

    def __init__(self, settings: RunSettings, *, leads: bool = True) -> None:
        if settings.program != "bert-pretrain" and os.environ.get("WORLD_SIZE", "1") != "1":
            raise UserError(f"{settings.program} is one process: start it without torchrun, or "
                            "take -m bert_paper.pretrain")  # fmt: skip
        # A contradiction shows before long work, and so does a model that is too large.
        refuse_too_large(settings.bert_config(settings.vocab_size or DEFAULT_VOCABULARY))
        self.settings, self.leads = settings, leads
        self.undrawn_step, self.drawn_at = 0, time.monotonic()
        self.folder = RunFolder(settings.out)
        program = {"program": settings.program}  # its state is of no use to another program
        is_new = leads and self.folder.claim(
            program | self.named_as_before(), unless_said=program | identity(type(settings)())
        )
        if not is_new and settings.tokenizer and not Path(settings.tokenizer).expanduser().exists():
            settings = replace(settings, tokenizer=None)  # the run has its own
        try:
            self.data = prepare(settings, settings.out / "data", has_begun=not is_new)
            self.config = settings.bert_config(self.data.tokenizer.get_vocab_size()).with_changes(
                pad_token_id=self.data.train.specials.pad
            )
            if leads:
                self.refuse_other_data(has_begun=not is_new)
            self.checkpoint = self.folder.resume() if leads else self.folder.newest()
            self.start = self.checkpoint.step if self.checkpoint else 0
            if leads and not (settings.out / "curve.png").exists():
                self.undrawn_step = self.start  # the last call was stopped before it drew the curve
            if leads:
                self.log = MetricsLog(settings.out / "metrics.jsonl", resume_at=self.start)
                self.unigram_entropy = self.data.unigram_entropy()
        except BaseException:
            if is_new:
                self.folder.give_up()  # the corrected command must find the folder free
            self.folder.release()
            raise
        super().__init__()  # when the `with` is left, the last of these comes first
        self.callback(self.folder.release)
        self.callback(self.draw_curve)
        self.enter_context(divergence_noted(self.folder))

    def named_as_before(self) -> dict:
        """What makes the run what it is. Files keep the names of the call that began it (`c.txt`
        for `./c.txt`): it is their content that `refuse_other_data` compares."""
        now, earlier = identity(self.settings), self.folder.read_settings()
        was, start = (Path(each.get("start_from") or ".") for each in (earlier, now))
        is_same = not was.exists() or (start.exists() and was.samefile(start))
        moved = ["start_from"] * (was.name == start.name and is_same)
        for name in ("corpus", "heldout", "tokenizer", *moved):
            is_known = earlier.get(name) and self.folder.facts and self.folder.has_begun()
            if is_known and now.get(name) and Path(now[name]).expanduser().exists():
                now[name] = earlier[name]
        return now

    def refuse_other_data(self, *, has_begun: bool) -> None:
        """Compare the prepared data with those that the run began with, as far as these are noted,
        and its text with what it is now; note the data of a new run."""
        found = {
            "train": self.data.train.corpus.report["checksums"],
            "heldout": self.data.heldout.corpus.report["checksums"],
            "tokenizer": tokenizer_sha256(self.data.tokenizer),
            **self.settings.fingerprint_of_start(),
        }
        facts, out = self.folder.facts, self.settings.out
        changed = {n for n in facts if has_begun and found.get(n) not in (None, facts[n])}
        if changed == {"start"}:
            raise UserError(f"--start-from {self.settings.start_from} is not the model that this "
                            "run began with: restore it, or choose another --out")  # fmt: skip
        if changed:
            raise UserError(f"{out}: its text or its tokenizer is not what this run was trained "
                            f"on so far: restore it and remove {out / 'data'}, or choose another "
                            "--out")  # fmt: skip
        # Where nothing is noted, an older version made the stores.
        if has_begun and facts and (changed := changed_text(self.settings, self.data)):
            raise UserError(f"{changed} has changed since it was read, or is other text: restore "
                            "it, or choose another --out to begin with the new text")  # fmt: skip
        self.folder.note(facts | found)

    @cached_property
    def weights(self) -> Weights:
        """Those of the newest checkpoint, or those that a new run begins with."""
        if self.checkpoint:
            return load_weights(self.checkpoint.folder, self.config)
        return self.settings.first_weights(self.config)

    @cached_property
    def training_state(self) -> Weights:
        """The optimizer's, empty at first."""
        return read_safetensors(self.checkpoint.folder / STATE_FILE) if self.checkpoint else {}

    def introduce(self, *computing: str) -> None:
        """Say what will be trained on what, and write the report of the data beside it."""
        settings, config = self.settings, self.config
        report = {**self.data.train.corpus.report, **pair_report(self.data.train)}
        write_atomically(settings.out / "data" / "report.json", json.dumps(report, indent=2) + "\n")
        swapped = settings.pairs.sentence_task == "sop"
        what = "in the wrong order" if swapped else "with a random next sentence"
        if self.start:
            print(f"going on from step {self.start:,} of {settings.steps:,}", file=sys.stderr)
        print(
            f"corpus      {settings.corpus}: {report['documents']:,} documents, "
            f"{report['sentences']:,} sentences, {report['tokens']:,} tokens, "
            f"{report['unknown_share']:.2%} unknown\n"
            f"pairs       {report['random_next_share']:.1%} {what}, "
            f"{report['padding_share']:.1%} padding at length {settings.seq_length}\n"
            f"model       {config.num_hidden_layers} layers, {config.hidden_size} wide, "
            f"{config.num_attention_heads} heads, {config.vocab_size:,} words: "
            f"{count_parameters(parameter_shapes(config)):,} parameters\n"
            f"computing   {' '.join(computing)}; the run's folder is {settings.out}",
            file=sys.stderr, flush=True,
        )  # fmt: skip

    def save(self, step: int, weights: Weights, training_state: Weights) -> None:
        """Write a checkpoint, and draw the curve up to it if the last drawing is old."""

        def write(folder: Path) -> None:
            self.write_model(folder, step, weights)
            save_weights(training_state, folder / STATE_FILE)

        self.folder.save(step, write, keep=self.settings.keep_checkpoints)
        self.undrawn_step = step
        if time.monotonic() - self.drawn_at > DRAWN_EVERY:
            self.draw_curve()

    def save_best(self, step: int, weights: Weights) -> None:
        """Keep the model as the best so far, in `best/`. One that was chosen on other examples is
        set aside: its loss does not compare."""
        best, count = self.settings.out / "best", self.settings.eval_examples
        before = [entry.get("heldout_examples", count) for entry in read_metrics(self.log.path)
                  if "heldout_mlm_loss" in entry and entry["step"] < step]  # fmt: skip
        if best.is_dir() and before and before[-1] != count:
            tell(f"note: {best} was chosen on {before[-1]:,} --eval-examples: it was renamed "
                 f"{set_aside(best, 'earlier')}")  # fmt: skip
        self.folder.save_best(lambda folder: self.write_model(folder, step, weights))

    def lowest_loss(self, *, from_step: int) -> float:
        """The lowest held-out loss of words from a step on, measured on as many examples as now."""
        count = self.settings.eval_examples  # it may change from call to call
        later = [entry for entry in read_metrics(self.log.path) if entry["step"] > from_step
                 and entry.get("heldout_examples", count) == count]  # fmt: skip
        return min((e.get("heldout_mlm_loss", math.inf) for e in later), default=math.inf)

    def write_model(self, folder: Path, step: int, weights: Weights) -> None:
        """Write weights, and what makes them a `transformers` folder: config, tokenizer, card."""
        config, tokenizer = self.config, self.data.tokenizer
        save_weights(weights, folder / WEIGHTS_FILE)
        config.save(folder)
        save_tokenizer(tokenizer, folder, model_max_length=config.max_position_embeddings)
        settings, defaults = identity(self.settings), identity(type(self.settings)())
        if settings.get("start_from"):
            settings["tokenizer"] = None  # it comes with that model
        card = model_card(
            settings, self.data.train.corpus.report, self.measurements(), config=config, step=step,
            name=self.settings.out.resolve().name,
            parameters=count_parameters(parameter_shapes(config)),
            command=command_line(self.settings.program, settings, defaults),
        )  # fmt: skip
        write_atomically(folder / "README.md", card)

    @property
    def tasks(self) -> list[str]:
        """What the losses are of, in words: of the words, then of the sentences, if these count."""
        words = getattr(self.settings, "objective", "masked-words").replace("-", " ")
        second = {"nsp": ["next sentence"], "sop": ["sentence order"], "none": []}
        return [words, *second[self.settings.pairs.sentence_task]]

    def draw_curve(self) -> None:
        """Draw both losses up to the newest checkpoint as `curve.png`, unless that is done."""
        if not self.undrawn_step:
            return
        settings, entropy = self.settings, self.unigram_entropy
        size = f"{self.config.num_hidden_layers} layers, {self.config.hidden_size} wide,"
        turns = {p.first_step: f"from here on {p.seq_length} tokens" for p in settings.phases[1:]}
        draw_curve(
            read_metrics(self.log.path), settings.out / "curve.png", tasks=self.tasks, turns=turns,
            title=f"{size} on {settings.corpus}, {self.undrawn_step:,} steps",
            references={f"word frequencies alone: {entropy:.2f}": entropy},
        )  # fmt: skip
        self.undrawn_step, self.drawn_at = 0, time.monotonic()

    def measurements(self) -> Record:
        """The last ones on held-out text; none in the first steps."""
        measured = [r for r in read_metrics(self.log.path) if "heldout_mlm_loss" in r]
        last = measured[-1] if measured else {}
        share = self.majority_share(last) if "heldout_nsp_loss" in last else 0.0
        skew = {"majority_share": share} if share > FAR_FROM_HALF else {}
        return {**last, **skew, "heldout_unigram_entropy": self.unigram_entropy}

    def majority_share(self, entry: Record) -> float:
        """The share of the more common label among the pairs of a measurement."""
        length = next(p.seq_length for p in self.settings.phases if entry["step"] <= p.last_step)
        count = entry.get("heldout_examples", self.settings.eval_examples)
        measured = np.arange(min(count, 10_000))  # enough
        pairs = self.data.heldout.at_length(length).batch(measured)
        share = float(pairs["next_sentence_labels"].mean())
        return max(share, 1 - share)

    def conclude(self) -> None:
        """Print what was reached, and what to do with it."""
        self.draw_curve()
        out, final = self.settings.out, self.measurements()
        reached = (
            f"{self.tasks[0]}, loss {final['heldout_mlm_loss']:.3f} (word frequencies alone: "
            f"{self.unigram_entropy:.3f}), {final['heldout_mlm_accuracy']:.1%} right"
        )
        if "heldout_nsp_loss" in final:
            reached += f"; {self.tasks[1]}, loss {final['heldout_nsp_loss']:.3f}, "
            reached += f"{final['heldout_nsp_accuracy']:.1%} right"
            if share := final.get("majority_share"):
                reached += f" (majority baseline: {share:.1%})"
        print(f"\nheld out: {reached}")
        asked = self.settings.eval_examples
        if (count := final.get("heldout_examples", asked)) != asked:
            print(f"          on {count:,} examples, not on {asked:,} as --eval-examples says now")
        print(f"model:    {out}      curve: {out / 'curve.png'}")
        if not self.config.is_decoder:
            ask = 'bert-fill-mask "The [MASK] sat on the mat." --checkpoint'
            print(f"try:      {ask} {shlex.quote(str(out))}")


def identity(settings: RunSettings) -> dict:
    """The settings that make the run what it is, as they stand in `run.json`."""
    fields = {k: v for k, v in asdict(settings).items() if k not in FREE_TO_CHANGE}
    return json.loads(json.dumps(fields, default=str))


BYTES_A_PARAMETER = 16  # in float32: the weight, its gradient and Adam's two moments


def refuse_too_large(config: BertConfig) -> None:
    """Raise `UserError` for a model that cannot be trained in the memory of this machine."""
    if not hasattr(os, "sysconf"):  # Windows
        return
    here = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    parameters = count_parameters(parameter_shapes(config))
    needed = BYTES_A_PARAMETER * parameters
    if needed > here:
        raise UserError(f"a model of {parameters:,} parameters takes {needed >> 30:,} GB to "
                        f"train, and this machine has {here >> 30:,} GB: take a smaller --model, "
                        "or lower --hidden-size, --intermediate-size, --num-hidden-layers, "
                        "--vocab-size or --max-position-embeddings")  # fmt: skip
