"""Which part of a text answers a question? (SQuAD 1.1 and 2.0, sections 4.2 and 4.3)

A long text is read in windows: [CLS] question [SEP] a part of the text [SEP].

    text      ├──────────────────────────────────────────────┤
    windows   ├───────────────────┤
                      ├───────────────────┤                     a new one every `stride` tokens
                              ├──────────────────────┤
    best      ├───────────┤───────┤──────────────────┤          who sees most around a token

An answer is cut out of the text as it was given, never put together from pieces. A span scores
S·T_i + E·T_j, the start of its first token plus the end of its last. It counts if it is short
enough and no other window sees its first token better. "No answer" is the span of [CLS] alone, and
is given if it beats the best other span by more than a threshold (section 4.3).
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, Int32
from numpy import ndarray
from tokenizers import Tokenizer
from torch import Tensor, nn

from bert_finetuning.data.rows import Expected, Row, Table, quoted, say
from bert_finetuning.metrics import Scorer, answer_exact, answer_f1, squad_scorer
from bert_finetuning.spans import TokenSpan, best_spans
from bert_finetuning.tasks import base
from bert_finetuning.tasks.base import BertWithHead, Encoded, HeadConfig, Tokens
from bert_run.config import BertConfig, Count, Positions, Real
from bert_run.errors import UserError

SPAN_METRICS = ("f1", "exact")
POSITIONS = ("start_positions", "end_positions")
MOST_CANDIDATES = 5  # in JSON
NO_ANSWER = "(no answer)"
SHOWN = 60  # characters on either side of an answer
Offsets = Int32[ndarray, "tokens 2"]  # the first character of each token, and one past its last
WindowLogits = Float[ndarray, "2 _seq"]  # start and end; windows differ in length


# --- The head ------------------------------------------------------------------------------------


class SpanLogits(NamedTuple):
    """For each token, how much it looks like the first and like the last of the answer."""

    start: Float[Tensor, "batch seq"]
    end: Float[Tensor, "batch seq"]


class BertForQuestionAnswering(BertWithHead):
    """Where in a text the answer to a question starts and ends (figure 4, c; section 4.2, SQuAD).
    The two rows of `qa_outputs` are the paper's vectors S and E; as released, without dropout."""

    pipeline = "question-answering"
    part = "qa_outputs"
    has_labels = False

    def __init__(self, config: BertConfig, head: HeadConfig) -> None:
        super().__init__(config, head, pooler=False)
        self.qa_outputs = nn.Linear(config.hidden_size, 2)

    def forward(
        self, input_ids: Tokens, token_type_ids: Tokens, attention_mask: Tokens
    ) -> SpanLogits:
        states = self.bert(input_ids, token_type_ids, attention_mask).last_hidden_state
        return SpanLogits(*self.qa_outputs(states).unbind(-1))

    def logits_shape(self, features: base.Features) -> tuple[int, ...]:
        return (2, features.length)

    def loss(self, logits: SpanLogits, batch: base.TensorBatch) -> Float[Tensor, ""]:
        return span_loss(logits, batch["start_positions"], batch["end_positions"])


def span_loss(logits: SpanLogits, start_positions: Int[Tensor, "batch"],
              end_positions: Int[Tensor, "batch"]) -> Float[Tensor, ""]:  # fmt: skip
    """The mean of two means over examples: −log P(start) and −log P(end). As in `transformers`, a
    position past the end of the window does not count, and one before its beginning stands for
    [CLS]. (The released code has neither: an answer outside the window points to [CLS].)"""
    seq = logits.start.shape[1]
    start = base.cross_entropy(logits.start, start_positions.clamp(0, seq), ignored=seq)
    end = base.cross_entropy(logits.end, end_positions.clamp(0, seq), ignored=seq)
    return (start + end) / 2


# --- Windows -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Answer:
    text: str
    start: int  # context[start:][:len(text)] == text


class Text(NamedTuple):
    """A text in tokens, no special ones among them."""

    ids: list[int]
    offsets: Offsets


class Window(NamedTuple):
    """The part of a text that is read at once, and where it stands."""

    first: int  # the number of its first token in the text
    offsets: Offsets
    best: Bool[ndarray, "tokens"]  # no other window sees more around this token


def texts_in_tokens(texts: Sequence[str], tokenizer: Tokenizer) -> dict[str, Text]:
    """Each different text encoded once: a text has many questions."""
    different = list(dict.fromkeys(texts))
    each = zip(different, base.encodings(tokenizer, different), strict=True)
    return {text: Text(of.ids, np.array(of.offsets, np.int32).reshape(-1, 2)) for text, of in each}


def windows_of(text: Text, room: int, *, stride: int) -> list[Window]:
    """The windows of a text, each of at most `room` tokens; one if the text is empty."""
    firsts = first_tokens(len(text.ids), room=room, stride=stride)
    best = best_windows(len(text.ids), firsts, room=room)
    return [Window(first, text.offsets[first : first + room], best[first : first + room] == own)
            for own, first in enumerate(firsts)]  # fmt: skip


def first_tokens(tokens: int, *, room: int, stride: int) -> list[int]:
    """Where windows begin: every `stride` tokens, until one reaches the end, and at least every
    half window, so that an answer across a border lies whole in the next window."""
    stride = min(stride, max(1, room // 2))
    return list(range(0, max(tokens - room, 0) + stride, stride))


def best_windows(tokens: int, firsts: Sequence[int], *, room: int) -> Int[ndarray, "tokens"]:
    """For each token, the number of the window in which it has most context on its poorer side. A
    hundred tokens more in a window count for one of context, and of equals the first wins, as in
    the released code (`_check_is_max_context`)."""
    best, most = np.zeros(tokens, np.int64), np.full(tokens, -np.inf)
    for number, first in enumerate(firsts):
        own, highest = (each[first : first + room] for each in (best, most))
        left = np.arange(len(own))
        context = np.minimum(left, left[::-1]) + 0.01 * len(own)
        own[context > highest] = number
        np.maximum(highest, context, out=highest)
    return best


def tokens_of(answer: Answer, offsets: Offsets) -> TokenSpan | None:
    """The tokens that hold its characters, and more where it begins or ends inside a token; None if
    WordPiece leaves nothing of them."""
    end = answer.start + len(answer.text)
    first = int(np.searchsorted(offsets[:, 1], answer.start, side="right"))
    last = int(np.searchsorted(offsets[:, 0], end, side="left")) - 1
    return TokenSpan(first, last) if first <= last else None


def in_window(span: TokenSpan, window: Window) -> TokenSpan | None:
    """The same span counted from the window's first token, if all of it is there."""
    first, last = span.first - window.first, span.last - window.first
    return TokenSpan(first, last) if first >= 0 and last < len(window.offsets) else None


def characters_of(span: TokenSpan, offsets: Offsets, text: str) -> tuple[int, int]:
    """Its first character, and one past its last. Accents written as characters of their own belong
    to the letter before them, though WordPiece drops them."""
    start, end = int(offsets[span.first, 0]), int(offsets[span.last, 1])
    while end < len(text) and unicodedata.category(text[end]) == "Mn":
        end += 1
    return start, end


# --- The answer from all windows -----------------------------------------------------------------


class Candidate(NamedTuple):
    """A span of the text that may be the answer, and how probable it is among all of them."""

    text: str
    start: int  # its first character
    probability: float


@dataclass(frozen=True)
class SpanPrediction:
    """The answer, "" if there is none, and the best spans of the text, the best first;
    `null_difference` is the score of "no answer" less that of the best span."""

    text: str
    null_difference: float
    null_probability: float
    candidates: tuple[Candidate, ...]

    @property
    def probability(self) -> float:
        return self.candidates[0].probability if self.text else self.null_probability

    @property
    def start(self) -> int | None:
        """The first character of the answer."""
        return self.candidates[0].start if self.text else None


def answer_of(context: str, windows: Sequence[tuple[Window, WindowLogits]], *, longest: int,
              n_best: int, null_threshold: float | None) -> SpanPrediction:  # fmt: skip
    """The answer to one question from all windows of its text. Where `null_threshold` is None there
    always is one, if the text has any token."""
    spans = best_of_all(context, windows, longest=longest, n_best=n_best)
    null_score = min(float(logits[:, 0].sum()) for _, logits in windows)  # [CLS] of every window
    scores = [score for score, *_ in spans]
    if may_be_null := null_threshold is not None or not spans:
        scores.append(null_score)
    chances = base.softmax(np.array(scores)).tolist()
    each = zip(spans, chances, strict=False)
    candidates = tuple(Candidate(text, start, chance) for (_, text, start), chance in each)
    difference = null_score - scores[0] if spans else 0.0
    null_probability = chances[-1] if may_be_null else 0.0
    prediction = SpanPrediction("", difference, null_probability, candidates)
    return decided(prediction, null_threshold)


def decided(prediction: SpanPrediction, null_threshold: float | None) -> SpanPrediction:
    """The same with the answer that another threshold leads to."""
    is_null = null_threshold is not None and prediction.null_difference > null_threshold
    text = "" if is_null or not prediction.candidates else prediction.candidates[0].text
    return replace(prediction, text=text)


def best_of_all(context: str, windows: Iterable[tuple[Window, WindowLogits]], *, longest: int,
                n_best: int) -> list[tuple[float, str, int]]:  # fmt: skip
    """Score, text and first character of the best spans, each text once, the best first."""
    found = []
    for window, logits in windows:
        start, end = logits[:, -1 - len(window.offsets) : -1]  # the text is before the last [SEP]
        spans = best_spans(start, end, window.best, longest=longest, n_best=n_best)
        found += [(score, *characters_of(span, window.offsets, context)) for score, span in spans]
    kept: dict[str, tuple[float, str, int]] = {}
    for score, first, end in sorted(found, key=lambda each: -each[0]):
        text = context[first:end]
        kept.setdefault(text, (score, text, first))
    return list(kept.values())[:n_best]


# --- The task ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Question(base.Example):
    """A question to a text. No answers: the text has none (SQuAD 2.0), or nobody gave one."""

    shown: ClassVar = ("id", "question", "context")

    id: str | None  # a new one may have none
    question: str
    context: str
    answers: tuple[Answer, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.question, self.context)

    @property
    def kept_together(self) -> str:
        return self.context

    @property
    def asked(self) -> tuple[str, ...]:
        return (self.question,)

    @property
    def accepted(self) -> list[str]:
        """The texts of its answers."""
        return [answer.text for answer in self.answers]

    @property
    def gold(self) -> list[str] | None:
        return list(dict.fromkeys(self.accepted)) or None


Questions = Sequence[Question]
SpanPredictions = Sequence[SpanPrediction]


@dataclass(frozen=True)
class QuestionAnswering(base.Task[Question]):
    """Lengths are in tokens. `has_null`: some questions have no answer, and none may be given."""

    format: ClassVar = "questions"
    model: ClassVar = BertForQuestionAnswering
    default_metrics: ClassVar = SPAN_METRICS
    known_metrics: ClassVar = SPAN_METRICS
    learns: ClassVar = "the part of a text that answers a question"
    usual_length: ClassVar = 384  # the released code's for SQuAD
    row_columns: ClassVar = (("question", "context"),)
    options: ClassVar = ("stride", "max_question", "max_answer", "has_null")
    empty: ClassVar = Question(None, "", "")
    parts: ClassVar = ("question", "context")
    needs_parts: ClassVar = True

    head: HeadConfig = field(default_factory=HeadConfig)
    metrics: tuple[str, ...] = SPAN_METRICS
    stride: Positions = 128  # from one window of a long text to the next
    max_question: Positions = 64
    max_answer: Positions = 30
    n_best: Count = 20
    has_null: bool = False
    null_threshold: Annotated[float, Real(at_least=-1e9, at_most=1e9)] = 0.0

    @classmethod
    def parse(cls, rows: Table, expected: Expected) -> Iterator[Question]:
        """Rows with `id`, `question`, `context`, and answers as `answers_in` finds them."""
        for number, row in enumerate(rows):
            name = row.place if expected.labeled else None
            if row.fields.get("id") not in (None, ""):
                name = str(row.fields["id"])
                row = row._replace(place=f"{row.place}, question {quoted(name)}")
            context, question = row.text("context"), row.text("question")
            if expected.labeled and not number and row.find(ANSWERS) is None:
                raise row.missing(*ANSWERS[:2])
            answers = answers_in(row, context) if expected.labeled else ()
            yield Question(name, question, context, answers)

    @classmethod
    def check_examples(cls, source: str | Path, examples: Questions) -> None:
        """Predictions are kept by id, so two questions must not share one."""
        ((name, count),) = Counter(question.id for question in examples).most_common(1)
        if count > 1:
            raise UserError(f"{source}: {count} questions have the id {quoted(name)}: rename them")

    def adapted(self, train: Questions, source: str | Path) -> "QuestionAnswering":
        """Where a question of train has no answer, none may be given."""
        if train and not any(question.answers for question in train):
            raise UserError(f"{source}: no 'answers' or 'answer' holds the answer to a question")
        return replace(self, has_null=any(not question.answers for question in train))

    def encode(self, examples: Questions, tokenizer: Tokenizer, *, max_length: int) -> Encoded:
        """Each question with every window of its text. It points at its first answer where a window
        holds all of that, else at [CLS], as a question that is known to have none."""
        base.check_max_length(max_length)
        longest = min(self.max_question, (max_length - 3) // 2)
        asked = [example.question for example in examples]
        questions = base.token_ids(tokenizer, asked)
        texts = texts_in_tokens([example.context for example in examples], tokenizer)
        features: list[base.Features] = []
        lost = 0
        for number, (example, question) in enumerate(zip(examples, questions, strict=True)):
            kept, text = question[:longest], texts[example.context]
            span = tokens_of(example.answers[0], text.offsets) if example.answers else None
            is_known, found = bool(example.answers) or self.has_null, False
            for window in windows_of(text, max_length - 3 - len(kept), stride=self.stride):
                own = in_window(span, window) if span else None
                found = found or own is not None
                ends = [end + len(kept) + 2 for end in own] if own else [0, 0]  # (0, 0): at [CLS]
                targets = dict(zip(POSITIONS, ends, strict=True)) if is_known else {}
                part = text.ids[window.first : window.first + len(window.offsets)]
                row = base.framed(tokenizer, kept, part)
                features.append(base.Features(number, *row, targets, window))
            lost += bool(example.answers) and not found
        cut = [number for number, question in enumerate(questions) if len(question) > longest]
        base.report_cut(cut, asked, max_length=longest, what="questions")
        if lost:
            say(f"note: {lost:,} of {len(examples):,} answers lie whole in no window of "
                f"{max_length} tokens, and count as not there")  # fmt: skip
        return features

    def collate(self, features: Encoded, *, pad_id: int) -> base.Batch:
        """With the positions of answers; unknown ones lie past the end, where no loss is taken."""
        batch = base.collate_inputs(features, pad_id=pad_id)
        seq = batch["input_ids"].shape[1]
        for name in POSITIONS:
            batch[name] = np.array([each.targets.get(name, seq) for each in features], np.int64)
        return batch

    def loss_count(self, batch: base.Batch) -> int:
        return int((batch["start_positions"] < batch["input_ids"].shape[1]).sum())

    def predict(self, examples: Questions, features: Encoded,
                logits: base.AllLogits) -> list[SpanPrediction]:  # fmt: skip
        windows: list[list[tuple[Window, WindowLogits]]] = [[] for _ in examples]
        for part, each in zip(features, logits, strict=True):
            windows[part.example].append((part.place, each))
        settings = {"longest": self.max_answer, "n_best": self.n_best,
                    "null_threshold": self.threshold}  # fmt: skip
        return [answer_of(example.context, own, **settings)
                for example, own in zip(examples, windows, strict=True)]  # fmt: skip

    @property
    def threshold(self) -> float | None:
        """By how much "no answer" must beat the best span; None where there always is an answer."""
        return self.null_threshold if self.has_null else None

    def tuned(
        self, dev: Questions, predictions: list[SpanPrediction]
    ) -> tuple["QuestionAnswering", list[SpanPrediction]]:
        """With the threshold that gives `predictions` on dev the best F1, as in the paper."""
        if not (self.has_null and dev):
            return self, predictions
        task = replace(self, null_threshold=choose_null_threshold(dev, predictions)[0])
        return task, [decided(prediction, task.threshold) for prediction in predictions]

    def majority(self, train: Questions, examples: Questions) -> list[SpanPrediction]:
        """The commonest answer of all, or no answer where that is commoner."""
        known = [question.accepted for question in train if question.answers or self.has_null]
        counts = Counter(accepted[0] if accepted else "" for accepted in known)
        ((text, count),) = counts.most_common(1) or [("", 0)]
        share = count / max(1, len(known))
        if not text:
            return [SpanPrediction("", 0.0, share, ())] * len(examples)
        places = [example.context.find(text) for example in examples]
        return [SpanPrediction(text, 0.0, 0.0, (Candidate(text, at, share),)) for at in places]

    def scorer(self, examples: Questions, predictions: SpanPredictions) -> Scorer:
        """F1 and exact match; where some questions have no answer, also those of either kind."""
        return squad_scorer([each.text for each in predictions], [e.accepted for e in examples])

    def answer(self, prediction: SpanPrediction) -> str:
        return prediction.text

    def answer_cells(self, example: Question, prediction: SpanPrediction) -> dict[str, Any]:
        start = "" if prediction.start is None else prediction.start
        return {"predicted_answer": prediction.text, "predicted_start": start,
                "probability": round(prediction.probability, 6)}  # fmt: skip

    def answer_json(self, example: Question, prediction: SpanPrediction) -> dict[str, Any]:
        spans = [(prediction.text, prediction.start, prediction.probability),
                 *prediction.candidates[:MOST_CANDIDATES]]  # fmt: skip
        content, *candidates = [{"answer": text, "start": start, "probability": round(chance, 6)}
                                for text, start, chance in spans]  # fmt: skip
        content["candidates"] = candidates
        if self.has_null:
            content["null_difference"] = round(prediction.null_difference, 6)
        return content

    def details(self, example: Question, prediction: SpanPrediction, top: int) -> list[str]:
        """The best spans, and where the answer stands."""
        spans = [f"  {p:6.1%}  {text}" for text, _, p in prediction.candidates[:top]]
        if (start := prediction.start) is None:
            return [f"  {prediction.probability:6.1%}  {NO_ANSWER}", *spans]
        text, end = example.context, start + len(prediction.text)
        around = f"{text[max(0, start - SHOWN) : start]}[{text[start:end]}]{text[end:][:SHOWN]}"
        return [*spans, f"  characters {start} to {end}: {' '.join(around.split())}"]

    def severity(self, example: Question, prediction: SpanPrediction) -> float | None:
        is_right = answer_exact(prediction.text, example.accepted)
        return None if is_right else prediction.probability

    def error_cells(self, example: Question, prediction: SpanPrediction) -> dict[str, str]:
        right = " / ".join(example.gold or [NO_ANSWER])
        return super().error_cells(example, prediction) | {"right": right}


def choose_null_threshold(questions: Questions,
                          predictions: SpanPredictions) -> tuple[float, float]:  # fmt: skip
    """The threshold with the best mean F1, and that F1, as the official script's `best_f1_thresh`
    and `best_f1`. Questions whose `null_difference` is at most the threshold are answered; it lies
    midway between two differences, so that rounding turns none of these questions."""
    accepted = [question.accepted for question in questions]
    spans = [decided(prediction, None).text for prediction in predictions]
    answered = np.array([answer_f1(*both) for both in zip(spans, accepted, strict=True)])
    unanswered = np.array([answer_f1("", each) for each in accepted])
    differences = np.array([prediction.null_difference for prediction in predictions])
    order = np.argsort(differences, kind="stable")
    ordered = differences[order]  # (questions,)
    gained = np.cumsum([0, *(answered - unanswered)[order]])  # by answering 0, 1, …
    can_cut = np.concatenate([[True], ordered[1:] > ordered[:-1], [True]])  # equals go together
    count = int(np.where(can_cut, gained, -np.inf).argmax())
    below, above = np.concatenate([[ordered[0] - 1], ordered, [ordered[-1] + 1]])[count:][:2]
    middle = (below + above) / 2
    threshold = middle if below < middle < above else below
    return float(threshold), float(unanswered.sum() + gained[count]) / len(questions)


# --- Answers in rows -----------------------------------------------------------------------------

ANSWERS = ("answers", "answer", "answer_text", "is_impossible")  # columns, of which one is there
PLACE = re.compile(r"\d{1,15}(\.0*)?", re.ASCII)  # 12.0 is how pandas writes 12 in some columns
IS_TRUE = {"true": True, "1": True, "false": False, "0": False, "": None, "none": None}


def answers_in(row: Row, context: str) -> tuple[Answer, ...]:
    """The answers in a row, all of which must be where they are said to be. They are lists `text`
    and `answer_start`, as on the Hub, or objects with both, as in SQuAD; or one `answer` as text,
    with its `answer_start` or, where that is missing or empty, where the text is first found.
    `is_impossible` (true or false, 1 or 0) marks questions without an answer, as in SQuAD 2.0."""
    marked = row.spelled("is_impossible")
    mark = str(row.fields.get(marked)).strip().lower().removesuffix(".0")
    if mark not in IS_TRUE:
        raise row.wrong(marked, ": it must be true or false")
    if is_impossible := IS_TRUE[mark]:
        return ()
    every, one = row.find(("answers",)), row.find(("answer", "answer_text"))
    answers = (row.fields[every] or []) if every else []
    if not every and one and str(row.fields[one] or "").strip():
        start = row.fields.get(row.spelled("answer_start"))
        if start is None or not str(start).strip():
            start = max(0, context.find(row.text(one)))
        answers = [{"text": row.text(one), "answer_start": start}]
    try:
        if isinstance(answers, dict):
            spans = list(zip(answers["text"], answers["answer_start"], strict=True))
        else:
            spans = [(answer["text"], answer["answer_start"]) for answer in answers]
    except (KeyError, TypeError, ValueError):
        raise UserError(f"{row.place}: 'answers' must hold two lists of one length, text and "
                        "answer_start") from None  # fmt: skip
    if is_impossible is False and not spans:
        raise UserError(f"{row.place} is said to be possible, and has no answer")
    found = []
    for text, start in spans:
        is_text = isinstance(text, str) and bool(text.strip())
        at = int(float(start)) if PLACE.fullmatch(str(start).strip()) else -1
        if not (is_text and at >= 0 and context.startswith(text, at)):
            where = context.find(text) if is_text else -1
            instead = f"it stands at {where}" if where >= 0 else "it stands nowhere"
            raise UserError(f"{row.place}: the answer {quoted(text)} is not at {quoted(start)} of "
                            f"its context; {instead}: repair answer_start (a whole number that "
                            "counts characters), or give no answer at all")  # fmt: skip
        found.append(Answer(text, at))
    return tuple(found)
