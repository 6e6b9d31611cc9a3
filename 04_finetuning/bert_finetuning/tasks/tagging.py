"""A tag for every word of a sentence: names (section 5.3), parts of speech.

Sentences are rows with lists of words and tags; columns as at CoNLL come as such rows, too. Tags of
names (B-PER, I-PER, O) are written in several schemes; all come out as BIO2, see `in_bio`.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import add
from typing import Any, ClassVar, NamedTuple

import numpy as np
from jaxtyping import Float, Int64
from tokenizers import Tokenizer
from torch import Tensor, nn

from bert_finetuning.data.rows import (
    NAME_TAG,
    TAGS,
    WORDS,
    Expected,
    Row,
    Table,
    Tally,
    check_label,
    free,
    label_set,
    one_of,
    quoted,
)
from bert_finetuning.metrics import Scorer, entities, entity_scores, set_scorer
from bert_finetuning.tasks import base
from bert_finetuning.tasks.base import BertWithHead, Encoded, HeadConfig, Tokens
from bert_run.config import BertConfig
from bert_run.errors import UserError


class BertForTokenClassification(BertWithHead):
    """A label for every token (figure 4, d; section 5.3); nothing is read from [CLS] alone."""

    pipeline = "token-classification"

    def __init__(self, config: BertConfig, head: HeadConfig) -> None:
        super().__init__(config, head, pooler=False)
        self.dropout = nn.Dropout(head.dropout(config))
        self.classifier = nn.Linear(config.hidden_size, head.num_labels)

    def forward(
        self, input_ids: Tokens, token_type_ids: Tokens, attention_mask: Tokens
    ) -> Float[Tensor, "batch seq labels"]:
        states = self.bert(input_ids, token_type_ids, attention_mask).last_hidden_state
        return self.classifier(self.dropout(states))

    def logits_shape(self, features: base.Features) -> tuple[int, ...]:
        return (features.length, self.head.num_labels)

    def loss(self, logits: Float[Tensor, "batch seq labels"],
             batch: base.TensorBatch) -> Float[Tensor, ""]:  # fmt: skip
        labels = batch["labels"].flatten()
        return base.cross_entropy(logits.flatten(0, 1), labels, weights=self.label_weights)


@dataclass(frozen=True, slots=True)
class TaggedSentence(base.Example):
    """Words and the tag of each; no tags where they are to be found."""

    shown: ClassVar = ("text",)

    words: tuple[str, ...]
    tags: tuple[str, ...] = ()
    # The text from which the words were split, and the characters of each.
    text: str | None = field(default=None, repr=False)
    places: tuple[tuple[int, int], ...] = field(default=(), repr=False)

    @property
    def texts(self) -> tuple[str, ...]:
        return (" ".join(self.words),)

    @property
    def gold(self) -> list[str] | None:
        return list(self.tags) or None


Sentences = Sequence[TaggedSentence]
TaggedRow = tuple[Row, list[str], list[str]]  # words and tags, and where they stand, for errors


class WordPlaces(NamedTuple):
    """Which words of a sentence are read at once, and the token that answers for each."""

    first_word: int
    tokens: Int64[np.ndarray, "words"]


@dataclass(frozen=True)
class Tagging(base.Task[TaggedSentence]):
    """The likeliest tag of each word, and its probability; `entity_f1` reads the tags as names."""

    format: ClassVar = "tags"
    known_metrics: ClassVar = ("entity_f1", "precision", "recall", "accuracy")
    learns: ClassVar = "one of {labels} tags for each word"
    label_name: ClassVar = "tag"
    model: ClassVar = BertForTokenClassification
    row_columns: ClassVar = tuple((name,) for name in WORDS)
    empty: ClassVar = TaggedSentence((), text="")
    lists: ClassVar = WORDS
    accepts_labels: ClassVar = staticmethod(lambda labels: not {str, int} & {*map(type, labels)})

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.has_entities:
            entities(self.head.labels)  # a tag that is no name shows here, not after an hour

    @property
    def has_entities(self) -> bool:
        return self.metrics != ("accuracy",)

    @classmethod
    def parse(cls, rows: Table, expected: Expected) -> Iterator[TaggedSentence]:
        """Sentences whose tags are all written well, and of those that may occur. Without labels
        also texts, which are split into words."""
        if not expected.labeled:
            for row in rows:
                name = row.find(WORDS)
                yield (TaggedSentence(tuple(row.texts(name))) if name
                       else sentence_of(row.text("text")))  # fmt: skip
            return
        sentences, allowed, tally = list(map(tagged, rows)), expected.labels, expected.tally
        types = Tally()  # spellings of the types of names, whatever their prefix
        for row, words, tags in sentences if allowed is None else ():
            for word, tag in zip(words, tags, strict=True):
                if not tag.strip():
                    empty = f"{quoted(word)} has an empty tag: write one (O for no name)"
                    raise UserError(f"{row.place}: {empty}")
                check_label(tag, row.place, tally)
                if tag != "O" and NAME_TAG.fullmatch(tag):
                    check_label(tag[2:], row.place, types)
        kinds = {tag[0] for tag in allowed or ("B-",) if tag[1:2] in ("-", "_")}
        is_bio = "B" in kinds and kinds <= {"B", "I"}  # models of `transformers` may have others
        every = in_bio(sentences, tally, allowed) if is_bio else [tags for _, _, tags in sentences]
        for (row, words, _), tags in zip(sentences, every, strict=True):
            tally.line = row.line
            for word, tag in zip(words, tags, strict=True):
                if allowed is not None and tag not in allowed:
                    problem = f"the tag of {quoted(word)} is {quoted(tag)}"
                    raise UserError(f"{row.place}: {problem}, not {one_of(allowed)}")
            yield TaggedSentence(tuple(words), tuple(tags))

    @classmethod
    def all_labels(cls, examples: Iterable[TaggedSentence]) -> list[str]:
        return [tag for example in examples for tag in example.tags]

    @classmethod
    def labels_of(cls, examples: Sentences) -> tuple[str, ...]:
        """Those that occur; of a type of name always both, B and I."""
        tags = set(cls.all_labels(examples))
        inside = {f"I-{tag[2:]}" for tag in tags if tag.startswith("B-")}
        return label_set(tags | (inside if "O" in tags else set()))

    @classmethod
    def usual_metrics(cls, labels: Sequence[str]) -> tuple[str, ...]:
        """Entities, where tags are those of names: O, B-PER, I-PER, …"""
        try:
            are_names = any("-" in tag for tag in labels) and bool(entities(labels))
        except UserError:
            are_names = False
        return ("entity_f1",) if are_names else ("accuracy",)

    def encode(self, examples: Sentences, tokenizer: Tokenizer, *, max_length: int) -> Encoded:
        """Long sentences are read in stretches, so every word is tagged; empty ones have none."""
        base.check_max_length(max_length)
        words = pieces_of_words([example.words for example in examples], tokenizer)
        features = []
        for number, example in enumerate(examples):
            if example.tags and len(example.tags) != len(example.words):
                counts = f"{len(example.words)} words and {len(example.tags)} tags"
                name = f"sentence {number + 1:,}, {quoted(example.texts[0])},"
                raise UserError(f"{name} has {counts}: each word needs one")
            tags = [self.number_of(tag, number) for tag in example.tags]
            for place, pieces in stretches(words[number], room=max_length - 2):
                targets = {}
                if tags:
                    labels = np.full(len(pieces) + 2, base.IGNORED)
                    labels[place.tokens] = tags[place.first_word :][: len(place.tokens)]
                    targets = {"labels": labels.tolist()}
                row = base.framed(tokenizer, pieces)
                features.append(base.Features(number, *row, targets, place))
        long = [place for place, each in enumerate(words) if sum(map(len, each)) > max_length - 2]
        texts = [example.texts[0] for example in examples]
        how = "read in parts, cut between words"
        base.report_cut(long, texts, max_length=max_length, what="sentences", how=how)
        return features

    def collate(self, features: Encoded, *, pad_id: int) -> base.Batch:
        """Labels (batch, seq), IGNORED but at the first piece of each word; if any has labels."""
        batch = base.collate_inputs(features, pad_id=pad_id)
        if not any(each.targets for each in features):
            return batch
        labels = np.full_like(batch["input_ids"], base.IGNORED)
        for row, each in zip(labels, features, strict=True):
            row[: each.length] = each.targets.get("labels", base.IGNORED)
        return batch | {"labels": labels}

    def loss_count(self, batch: base.Batch) -> int:
        return int((batch["labels"] != base.IGNORED).sum())

    def predict(self, examples: Sentences, features: Encoded,
                logits: base.AllLogits) -> list[base.Prediction]:  # fmt: skip
        best = [np.zeros(len(example.words), np.int64) for example in examples]
        probability = [np.zeros(len(example.words)) for example in examples]
        for part, each in zip(features, logits, strict=True):
            first, tokens = part.place
            chances = base.softmax(each[tokens])  # (words, labels)
            own = slice(first, first + len(tokens))
            best[part.example][own] = chances.argmax(axis=1)
            probability[part.example][own] = chances.max(axis=1)
        names = self.head.labels
        return [base.Prediction(tuple(names[i] for i in numbers), tuple(chances.tolist()))
                for numbers, chances in zip(best, probability, strict=True)]  # fmt: skip

    def majority(self, train: Sentences, examples: Sentences) -> list[base.Prediction]:
        """The commonest tag for every word. Where tags are names this is O, and finds none."""
        counts = Counter(self.all_labels(train))
        ((tag, count),) = counts.most_common(1)
        sizes = [len(example.words) for example in examples]
        share = count / counts.total()
        return [base.Prediction((tag,) * size, (share,) * size) for size in sizes]

    def score(self, examples: Sentences, predictions: base.Predictions) -> dict[str, float]:
        """The share of words tagged right; of names F1, precision and recall, also of each type. A
        model that tags every word O finds no name: its F1 is 0, however high the accuracy."""
        scores = super().score(examples, predictions)
        if not self.has_entities:
            return scores
        _, types = entity_scores([e.tags for e in examples], [p.answer for p in predictions])
        for name, each in types.items():
            own = {"f1": each.f1, "precision": each.precision, "recall": each.recall,
                   "support": each.gold}  # fmt: skip
            scores |= {free(f"{name}_{key}", scores): value for key, value in own.items()}
        return scores

    def scorer(self, examples: Sentences, predictions: base.Predictions) -> Scorer:
        """All that is no type's own."""
        both = list(zip((e.tags for e in examples), (p.answer for p in predictions), strict=True))
        words = np.array([(sum(map(str.__eq__, *each)), len(each[0])) for each in both])
        found = [map(set, map(entities, each)) for each in both if self.has_entities]
        total_of = set_scorer(*zip(*found, strict=True)) if found else None

        def score(at: Any) -> dict[str, float]:
            right, count = words[at].sum(axis=0).tolist()  # of (sentences, 2)
            scores = {"accuracy": right / count if count else 0.0}
            if total_of is not None:
                total = total_of(at)
                names = {"entity_f1": total.f1, "precision": total.precision}
                scores = names | {"recall": total.recall} | scores
            return scores

        return score

    def is_collapsed(self, examples: Sequence, predictions: base.Predictions) -> bool:
        """Whether every word of every sentence got the same tag."""
        tags = {tag for prediction in predictions for tag in prediction.answer}
        return len(predictions) > 1 and len(tags) == 1

    def answer_cells(self, example: TaggedSentence, prediction: base.Prediction) -> dict[str, Any]:
        if spaced := next((word for word in example.words if len(word.split()) != 1), None):
            raise UserError(f"the word {quoted(spaced)} has a blank in it, and in a CSV blanks "
                            "separate the words: give --out FILE.jsonl")  # fmt: skip
        words, tags = " ".join(example.words), " ".join(prediction.answer)
        return {"predicted_words": words, "predicted_tags": tags}

    def answer_json(self, example: TaggedSentence, prediction: base.Prediction) -> dict[str, Any]:
        """Names also go by their characters, where a text was split."""
        words, places = example.words, example.places
        probabilities = [round(each, 6) for each in prediction.probabilities]
        content = {"words": list(words), "tags": list(prediction.answer),
                   "probabilities": probabilities}  # fmt: skip
        if self.has_entities:
            content["entities"] = found = []
            for name, first, end in entities(prediction.answer):
                found.append({"type": name, "text": " ".join(words[first:end]),
                              "words": [first, end],
                              "probability": min(probabilities[first:end])})  # fmt: skip
                if places:
                    begin, stop = places[first][0], places[end - 1][1]
                    found[-1] |= {"start": begin, "end": stop, "text": example.text[begin:stop]}
        return content | ({"places": list(map(list, places))} if places else {})

    def render(self, example: TaggedSentence, prediction: base.Prediction, **style: Any) -> str:
        """The text with its names marked; of other tags each word with its own."""
        words = [base.one_line([word]) for word in example.words]
        if not self.has_entities:
            return " ".join(map("/".join, zip(words, prediction.answer, strict=True)))
        for name, first, end in entities(prediction.answer):
            words[first] = f"[{words[first]}"
            words[end - 1] += f" {name}]"
        if not example.places:
            return " ".join(words)
        ends = [0, *(end for _, end in example.places)]
        gaps = [example.text[end:begin]
                for end, (begin, _) in zip(ends, example.places, strict=False)]  # fmt: skip
        text = "".join(map(add, gaps, words)) + example.text[ends[-1] :]
        return base.one_line([text]) if style.get("brief") else text

    def error_cells(self, example: TaggedSentence, prediction: base.Prediction) -> dict[str, str]:
        each = list(zip(example.words, prediction.answer, example.tags, strict=True))
        bold = [word if tag == right else f"**{word}**" for word, tag, right in each]
        said = [f"{word}: {tag} for {right}" for word, tag, right in each if tag != right]
        return {"sentence": " ".join(bold), "said for what is right": "; ".join(said)}

    def severity(self, example: TaggedSentence, prediction: base.Prediction) -> float | None:
        each = zip(prediction.probabilities, prediction.answer, example.tags, strict=True)
        return max((p for p, tag, right in each if tag != right), default=None)

    def error_counts(self, examples: Sentences, predictions: base.Predictions) -> base.ErrorCounts:
        """Precision, recall and F1 of each type of name, or of each tag."""
        if not self.has_entities:
            return super().error_counts(examples, predictions)
        total, types = entity_scores([e.tags for e in examples], [p.answer for p in predictions])
        return "type", types | {free("all", types): total}

    def gold_and_predicted(self, examples: Sentences,
                           predictions: base.Predictions) -> tuple[list, list]:  # fmt: skip
        return self.all_labels(examples), [tag for each in predictions for tag in each.answer]


# --- Words and their pieces ----------------------------------------------------------------------

# Words on one side, WordPiece on the other: which piece answers for which word?
#
#     words     Sørensen        's      left
#     pieces    so  ##ren  ##sen  '  s  left
#     answers   ▲                 ▲     ▲
#
# The first piece of each word answers for all of it (section 5.3: "the representation of the
# first sub-token"). Every word has one: a word of which WordPiece leaves nothing, a control
# character or a lone accent, is read as [UNK].

# Words as the tagged corpora have them: punctuation and 's stand apart, U.S. and 3,000 do not.
MARKS = "\u0300-\u036f"  # accents that stand alone after their letter
CLITIC = "(?:s|re|ve|ll|d|m)\\b"
A_WORD = re.compile(
    rf"https?://\S+"
    rf"|(?:[^\W\d_]\.){{2,}}"
    rf"|[@#]?[\w{MARKS}]+(?:-[\w{MARKS}]+|['’](?!{CLITIC})[\w{MARKS}]+|(?<=\d)[.,:]\d+)*"
    rf"|['’]{CLITIC}"
    rf"|\S"
)


def pieces_of_words(sentences: Sequence[Sequence[str]],
                    tokenizer: Tokenizer) -> list[list[list[int]]]:  # fmt: skip
    """The tokens of every word, at least one each. Different words are encoded once, alone."""
    words = list(dict.fromkeys(word for sentence in sentences for word in sentence))
    nothing = [tokenizer.token_to_id("[UNK]")]
    each = zip(words, base.token_ids(tokenizer, words), strict=True)
    pieces = {word: ids or nothing for word, ids in each}
    return [[pieces[word] for word in sentence] for sentence in sentences]


def stretches(words: Sequence[list[int]], *, room: int) -> Iterator[tuple[WordPlaces, list[int]]]:
    """A sentence in stretches of at most `room` tokens, cut between words, each as long as can be.
    A longer word is cut to its first pieces: they hold the one that answers."""
    first, pieces, starts = 0, [], []
    for number, word in enumerate(words):
        word = word[:room]
        if len(pieces) + len(word) > room:
            yield WordPlaces(first, np.array(starts)), pieces
            first, pieces, starts = number, [], []
        starts.append(1 + len(pieces))  # after [CLS]
        pieces.extend(word)
    if starts:
        yield WordPlaces(first, np.array(starts)), pieces


def sentence_of(text: str) -> TaggedSentence:
    """A text as a sentence of words, each with its place.

    >>> sentence_of("Anna's cat, 3.5 kg").words
    ('Anna', "'s", 'cat', ',', '3.5', 'kg')
    """
    found = list(A_WORD.finditer(text))
    words, places = [match.group() for match in found], [match.span() for match in found]
    return TaggedSentence(tuple(words), text=text, places=tuple(places))


# --- Rows of words -------------------------------------------------------------------------------


def tagged(row: Row) -> TaggedRow:
    """The row with the list of words and that of tags in it, under their usual names."""
    columns = [row.find(WORDS), row.find(TAGS)]
    if None in columns:
        raise row.missing(*(TAGS if columns[0] else WORDS))
    words, tags = map(row.texts, columns)
    if len(words) != len(tags):
        counts = f"{len(words)} words and {len(tags)} tags"
        raise UserError(f"{row.place} has {counts}: each word needs one")
    return row, words, tags


# --- Schemes of tags -----------------------------------------------------------------------------

SOME = 1 / 4  # of the words are O, where bare tags are names; parts of speech have no O
NO_TYPE = "NAME"  # the type of names whose tags are B and I alone
AS_BIOES = {"L": "E", "U": "S"}  # what BILOU calls the end of a name, and a name of one word


def in_bio(sentences: Sequence[TaggedRow], tally: Tally,
           allowed: Sequence[str] | None = None) -> list[list[str]]:  # fmt: skip
    """The tags of each sentence, those of names in BIO2, where every name begins with B. BIO1 (B
    only between two names of one type), BIOES, BILOU and tags without a prefix (PER, O) are told
    apart by the tags that occur. Tags that are no names, parts of speech say, stay as they are.
    Where the tags of training are known, `allowed`, they decide whether bare tags are names. Raises
    `UserError` with its place for a tag that fits none of these."""
    each = [tags for _, _, tags in sentences]
    found, untyped = {*chain.from_iterable(each)}, f"B-{NO_TYPE}" in (allowed or ())
    if found <= {*"OBIESLU"} and (untyped or {"B", "I"} <= found):
        tally.note(f"names have no type, and get one: {NO_TYPE}")
        each = [[tag if tag == "O" else f"{tag}-{NO_TYPE}" for tag in tags] for tags in each]
    tags = Counter(chain.from_iterable(each))
    named = [tag for tag in tags if tag != "O"]
    prefixed = [tag for tag in named if NAME_TAG.fullmatch(tag)]
    are_others = tags["O"] < SOME * tags.total() if not prefixed else not tags["O"]
    are_others = are_others if allowed is None else not any(f"B-{t}" in allowed for t in named)
    if not named or (are_others and len(prefixed) < len(named)):
        return each
    if prefixed and len(prefixed) < len(named):
        odd = next(tag for tag in named if tag not in prefixed)
        row, words, own = next(each for each in sentences if odd in each[2])
        raise UserError(f"{row.place}: the tag of {quoted(words[own.index(odd)])} is "
                        f"{quoted(odd)}, and others have a prefix ({quoted(prefixed[0])}): write "
                        "O, B-TYPE or I-TYPE everywhere")  # fmt: skip
    prefix = "" if prefixed else "I-"  # then equal tags side by side are one name
    names = [bio_of([tag if tag == "O" else prefix + tag for tag in own]) for own in each]
    if names != each:
        tally.note("tags of names read as BIO")
    return names


def bio_of(tags: Sequence[str]) -> list[str]:
    """Tags with prefixes in BIO2.

    >>> bio_of(["I-PER", "I-PER", "O", "U-LOC"])
    ['B-PER', 'I-PER', 'O', 'B-LOC']
    """
    alike = [AS_BIOES.get(t[0], t[0]) + t[1:2].replace("_", "-") + t[2:] for t in tags]
    found = ["O"] * len(tags)
    for name, first, end in entities(alike):
        found[first:end] = [f"B-{name}"] + [f"I-{name}"] * (end - first - 1)
    return found
