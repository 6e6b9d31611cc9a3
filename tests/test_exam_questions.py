"""The exam questions of teaching/: each bold number of an answer is computed again from the numbers
of its question, the pieces of code are run, and the fixes that the answers name are applied.

Only the pieces in PyTorch load torch.
"""

import math
import re
from ast import literal_eval
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from types import SimpleNamespace as Given

import numpy as np
import pytest
from notebook_parts import ROOT, all_notebooks

from autograder.points import CATALOGUE
from bert_corpus.wordpiece import wordpieces
from bert_finetuning import metrics
from bert_finetuning.spans import TokenSpan, best_spans
from bert_numpy import operations
from bert_numpy.optimizer import Adam
from bert_run.config import (
    AdamSettings,
    BertConfig,
    MaskingRecipe,
    count_parameters,
    parameter_shapes,
)
from bert_run.training_loop import learning_rate

# The page.


@dataclass(frozen=True)
class Question:
    points: int
    minutes: int
    examines: str
    text: str
    code: str
    answer: str

    def given(self) -> Given:
        """The numbers of the question, which stand in it as `name = value`."""
        found: dict = {}
        for name, value in re.findall(r"`(\w+) = ([^`]+)`", self.text):
            found[name] = eval(value, {"__builtins__": {}, "log": math.log}, found)
        return Given(**found)

    def stated(self) -> list[str]:
        """The bold numbers and lists of the answer, as they are written."""
        return re.findall(r"\*\*(\[.*?\]|-?[\d,.]+)\*\*", self.answer)

    def run(self, repaired: bool = False, **names) -> dict:
        """The names that the question's code defines, given those that it uses."""
        code = self.code
        for new, old in re.findall(r"[Ww]rite `([^`]+)` in place of `([^`]+)`", self.answer):
            assert old in code
            code = code.replace(old, new) if repaired else code
        names = {"np": np, "math": math, **names}
        exec(code, names)
        return names


def text_of(page: str) -> str:
    return (ROOT / "teaching" / page).read_text(encoding="utf-8")


SPREAD = re.MULTILINE | re.DOTALL
QUESTION = re.compile(
    r"^\*\*(\d\.\d+)\*\* \*[^*]+\* \((\d) points, (\d+) min, ((?:[^()]|\([^)]+\))+)\)\. "
    r"(.+?)(?=^\*\*\d|^<details>)",
    SPREAD,
)
ANSWER = re.compile(r"^- \*\*(\d\.\d+)\*\* (.+?)(?=^- \*\*\d|^</details>)", SPREAD)


@cache
def questions() -> dict[str, Question]:
    whole = text_of("exam_questions.md")
    answers, found = dict(ANSWER.findall(whole)), {}
    for number, points, minutes, examines, text in QUESTION.findall(whole):
        text, _, code = text.partition("```python\n")
        found[number] = Question(
            int(points), int(minutes), " ".join(examines.split()), " ".join(text.split()),
            code.partition("```")[0], " ".join(answers[number].split()),
        )  # fmt: skip
    assert found.keys() == answers.keys()
    return found


NUMBERS = [f"{chapter}.{number}" for chapter in range(5) for number in range(1, 11)]


def same(stated: str, found) -> bool:
    """Whether a number, or a list of them, is the one found, to the digits that are written."""
    numbers, values = re.findall(r"-?[\d,.]*\d", stated), np.ravel(found)
    if stated[0] == "[":
        assert np.shape(literal_eval(stated)) == np.shape(found)
        numbers = [number.strip(",") for number in numbers]
    written = [float(number.replace(",", "")) for number in numbers]
    digits = [len(number.partition(".")[2]) for number in numbers]
    return len(written) == len(values) and all(
        abs(one - value) <= 0.501 * 10.0**-count
        for one, value, count in zip(written, values, digits, strict=True)
    )


def test_the_page__has_ten_questions_of_40_points_and_about_65_minutes_a_chapter():
    assert list(questions()) == NUMBERS
    for chapter in range(5):
        of_chapter = [one for number, one in questions().items() if number[0] == str(chapter)]
        assert sum(one.points for one in of_chapter) == 40
        assert 60 <= sum(one.minutes for one in of_chapter) <= 70


@pytest.mark.parametrize("number", NUMBERS)
def test_a_question__has_part_points_that_add_up_and_a_wrong_answer_that_is_worth_less(number):
    one = questions()[number]
    points, often = re.fullmatch(r".*\*Points:\* (.+) \*Often:\* (.+)", one.answer).groups()
    assert sum(map(int, re.findall(r"(\d) for ", points))) == one.points
    worth = [int(each) for each in re.findall(r"\((\d) points?\b", often)]
    assert worth and max(worth) < one.points


@pytest.mark.parametrize("number", NUMBERS)
def test_a_question__names_notebooks_and_exercises_that_exist_and_quotes_results_as_they_are(
    number,
):
    one = questions()[number]
    known = {f"{path.parent.name[:2]}/{path.name[:2]}" for path in all_notebooks()}
    assert set(re.findall(r"\d\d/\d\d", one.examines)) <= known
    exercises = {int(exercise.name[:2]) for exercise in CATALOGUE}
    assert {int(each) for each in re.findall(r"exercise (\d+)", one.examines)} <= exercises
    assert re.search(r"\d\d/\d\d|exercise \d", one.examines)
    quoted_from = re.findall(r"\]\(\.\./(results/\w+\.md)\)", one.examines)
    if quoted_from:
        results = "\n".join((ROOT / page).read_text(encoding="utf-8") for page in quoted_from)
        for figure in re.findall(r"\d+[.,]\d+", one.text):
            assert figure in results, figure


def test_the_rubric__marks_two_sample_reports_that_quote_results_as_they_are():
    reports = re.findall(r"<details><summary>.+?</details>", text_of("rubric.md"), re.DOTALL)
    assert len(reports) == 2
    for report in reports:
        pages = re.findall(r"\]\(\.\./(results/\w+\.md)\)", report)
        results = "\n".join((ROOT / page).read_text(encoding="utf-8") for page in pages)
        quoted = "\n".join(line for line in report.splitlines() if line.startswith(">"))
        for figure in re.findall(r"\d+[.,]\d+", quoted):
            assert figure in results, figure
        marks = re.findall(r"(?:Question|Baseline|Seeds|Verdict|Reproducible) (\d)", report)
        assert len(marks) == 5
        assert f": {sum(map(int, marks))} of 20</summary>" in report


# What is calculated: for each question the values of its bold numbers, in their order.

ANSWERS: dict[str, Callable[[Given], list]] = {}


def answers(number: str) -> Callable:
    return lambda function: ANSWERS.setdefault(number, function)


@pytest.mark.parametrize("number", NUMBERS)
def test_an_answer__states_what_is_computed(number):
    stated = questions()[number].stated()
    found = ANSWERS[number](questions()[number].given()) if number in ANSWERS else []
    assert len(stated) == len(found), f"stated {stated}, found {found}"
    wrong = [f"stated {one}, found {value}" for one, value in zip(stated, found, strict=True)
             if not same(one, value)]  # fmt: skip
    assert not wrong, "; ".join(wrong)


def error(percent: float, count: int) -> float:
    """The standard error of a percentage, in points."""
    return 100 * math.sqrt(percent / 100 * (1 - percent / 100) / count)


def test_wordpiece_by_hand():
    one = questions()["0.1"]
    given, stated = one.given(), dict(re.findall(r"`(\w+) → ([^`]+)`", one.answer))
    pieces = dict.fromkeys(given.pieces, 0)
    assert stated == {word: " ".join(wordpieces(word, pieces)) for word in given.words}
    more = {word: " ".join(wordpieces(word, pieces | {"##d": 0})) for word in given.words}
    assert more == stated | {"red": "re ##d"}


@answers("0.2")
def joining(given):
    words = {word: [word[0], *(f"##{letter}" for letter in word[1:])] for word in given.counts}
    sizes, seen = [], []
    for _ in range(3):
        sizes.append(sum(len(words[word]) * count for word, count in given.counts.items()))
        pairs = Counter()
        for word, count in given.counts.items():
            pairs.update(dict.fromkeys(pairwise(words[word]), count))
        (pair, count), *_ = pairs.most_common(1)
        seen.append((" ".join(pair), count))
        for pieces in words.values():
            for place, found in enumerate([*pairwise(pieces)]):
                if found == pair:
                    pieces[place : place + 2] = [pair[0] + pair[1].removeprefix("##")]
    assert [pair for pair, _ in seen[:2]] == ["##e ##a", "##ea ##l"]
    return [sizes[0], seen[0][1], seen[1][1], sizes[2]]


@answers("0.3")
def random_pairs(given):
    alone = 2 * given.random - 1
    return [alone, given.random, (given.accuracy - alone) / (1 - alone)]


@answers("0.4")
def masks(given):
    recipe = MaskingRecipe()
    count = recipe.max_predictions(given.length)
    share = count / (given.length - given.specials)
    fates = count * recipe.mask_share, count * recipe.random_share, count * 0.1
    return [count, *fates, share, (1 - share) ** given.passes]


@answers("0.5")
def segments(given):
    return [questions()["0.5"].run(fixed)["segments"](**vars(given)) for fixed in (False, True)]


@answers("0.6")
def selected_by_mistake(given):
    special = {place for place, token in enumerate(given.tokens) if token != "word"}
    ordinary = set(range(len(given.tokens))) - special
    found = []
    for fixed in (False, True):
        choose, rng = questions()["0.6"].run(fixed)["choose"], np.random.default_rng(0)
        found.append({int(place) for _ in range(500) for place in choose(given.tokens, rng)})
    assert found[1] == ordinary
    return [sorted(found[0] & special), sorted(ordinary - found[0])]


def test_a_run_that_is_killed():
    one = questions()["0.7"]
    whole = [one.run()["first_sentence"](example) for example in (0, 500)]
    assert whole[0] == whole[1]  # each in a new process
    go_on = one.run(repaired=True)["first_sentence"]
    in_order = [go_on(example) for example in range(501)]
    assert one.run(repaired=True)["first_sentence"](500) == in_order[500] != in_order[0]


@answers("0.8")
def perplexity_of_a_word(given):
    return [p**n for p, n in zip(given.perplexity, given.pieces_a_word, strict=True)]


@answers("0.10")
def two_columns(given):
    first = 100 * given.right / given.n
    errors = error(first, given.n), error(given.others, given.n)
    assert 1 < (given.others - first) / math.hypot(*errors) < 2
    return [*errors, math.hypot(*errors)]


@answers("1.1")
def cross_entropy(given):
    logits, label, one = np.log([given.powers]), np.array([1]), np.ones(1)
    surprise, _ = operations.cross_entropy_forward(logits, label, one, 1)
    _, cache = operations.cross_entropy_forward(logits, label, one, given.count)
    gradient = operations.cross_entropy_backward(cache)
    return [operations.softmax_forward(logits)[0][0], surprise, gradient[0]]


@answers("1.2")
def layer_norm(given):
    x, dout = np.array(given.x, float), np.array(given.dout, float)
    out, cache = operations.layer_norm_forward(x, np.ones(4), np.zeros(4))
    dx, *_ = operations.layer_norm_backward(dout, cache)
    assert abs(dx.sum()) < 1e-9 and abs(dx @ out) < 1e-9
    return [out, dx]


@answers("1.3")
def one_query(given):
    scores = np.array(given.dots) / math.sqrt(given.head_dim)
    weights, cache = operations.softmax_forward(np.where([1, 1, 0], scores, -np.inf))
    values, dcontext = np.array(given.values), np.array(given.dcontext)
    dscores = operations.softmax_backward(values @ dcontext.astype(float), cache)
    return [weights, weights @ values, np.outer(weights, dcontext), dscores]


@answers("1.4")
def two_steps_of_adam(given):
    settings = AdamSettings(
        beta1=given.beta1, beta2=given.beta2, epsilon=1e-18, weight_decay=given.decay
    )
    found = {}
    for corrected in (False, True):
        weights = {"weight": np.array([float(given.w)])}
        adam = Adam.start(weights, settings, correct_bias=corrected)
        found[corrected] = [given.w]
        for _ in range(2):
            adam.update(weights, {"weight": np.array([given.gradient])}, learning_rate=given.rate)
            found[corrected].append(float(weights["weight"][0]))
    steps = {corrected: [before * (1 - given.rate * given.decay) - after
                         for before, after in pairwise(weights)]
             for corrected, weights in found.items()}  # fmt: skip
    assert steps[True] == pytest.approx([given.rate, given.rate])
    return [found[False][1], steps[False][1] / given.rate, found[False][2], 1]


def test_a_mask_of_queries():
    scores, mask = np.zeros((3, 3)), np.array(questions()["1.5"].given().mask)
    with np.errstate(invalid="ignore"):
        wrong = questions()["1.5"].run()["weights"](scores, mask)
    assert np.allclose(wrong[:2], 1 / 3) and np.isnan(wrong[2]).all()
    right = questions()["1.5"].run(repaired=True)["weights"](scores, mask)
    assert np.allclose(right, [0.5, 0.5, 0])


def test_a_gradient_that_is_overwritten():
    decoder, lookup = np.array([[1.0], [2], [3]]), np.array([[10.0], [0], [0]])
    for fixed, wanted in ((False, lookup), (True, decoder + lookup)):
        gradients = questions()["1.6"].run(fixed)["Gradients"]()
        gradients.add("words", decoder)
        gradients.add("words", lookup)
        assert np.array_equal(gradients["words"], wanted)


@answers("1.7")
def slopes_of_gelu(given):
    normal = {"cdf": lambda x: 0.5 * math.erfc(-x / math.sqrt(2)),
              "pdf": lambda x: math.exp(-x * x / 2) / math.sqrt(2 * math.pi)}  # fmt: skip
    slopes = {}
    for fixed in (True, False):
        code = questions()["1.7"].run(fixed, **normal)
        slopes[fixed] = code["gelu_backward"](1.0, code["gelu_forward"](given.x)[1])
    _, slope = operations.gelu_forward(np.array([float(given.x)]))
    assert slopes[True] == pytest.approx(slope[0])
    return [slopes[True], slopes[False]]


@answers("1.9")
def first_loss(given):
    words, pair = math.log(given.vocab), math.log(2)
    return [words + pair, words * given.used / given.slots + pair]


@answers("2.1")
def cut_path(given):
    def y(w: float, held: float | None = None) -> float:
        h = w * given.x
        return h * h + (h if held is None else held) * w

    def slope(function) -> float:
        return (function(given.w + 1e-4) - function(given.w - 1e-4)) / 2e-4

    held = given.w * given.x
    return [y(given.w), slope(lambda w: y(w, held)), slope(y)]


@answers("2.2")
def attention_memory(given):
    def mib(rows: int, seq: int) -> float:
        return 2 * rows * given.heads * seq**2 * 4 / 2**20

    longer = mib(given.rows * given.seq // 512, 512)
    return [mib(given.rows, given.seq), given.layers * mib(given.rows, given.seq),
            given.layers * longer]  # fmt: skip


@answers("2.3")
def word_head(given):
    layers = given.layers * (4 * given.hidden**2 + 2 * given.hidden * given.intermediate)
    attention = given.layers * 2 * given.seq * given.hidden
    head = given.hidden**2 + given.hidden * given.vocab
    rest, text = layers + attention, questions()["2.3"].text
    before, after = map(float, re.findall(r"([\d.]+) ms", text))
    return [layers, attention, head, head / (rest + head),
            (rest + head) / (rest + head * given.asked / given.seq), before / after]  # fmt: skip


@answers("2.4")
def who_sees_whom(given):
    length = given.tokens + given.padding
    keys = np.arange(length) < given.tokens
    both = np.broadcast_to(keys, (length, length))
    bert, gpt = MaskingRecipe().max_predictions(given.row), given.row - 1
    return [both.sum(), np.tril(both).sum(), bert, gpt, gpt / bert]


@answers("2.5")
def not_hidden(given):
    def weights(scores: np.ndarray) -> np.ndarray:
        return operations.softmax_forward(scores.astype(float))[0][0]

    scores = np.array(given.scores)
    return [weights(scores * given.visible), weights(scores)[1]]


@answers("2.8")
def twins(given):
    figures = list(map(float, re.findall(r"([\d.]+)%", questions()["2.8"].text)))
    counts = [given.n_left] * 2 + [given.n_right] * 2
    errors = [error(*pair) for pair in zip(figures, counts, strict=True)]
    assert figures[2] - figures[3] > 8 * math.hypot(*errors[2:])
    return [math.hypot(*errors[:2]), math.hypot(*errors[2:])]


@answers("2.9")
def slower(given):
    return [100 * (given.after / given.before - 1)]


@answers("2.10")
def five_seeds(given):
    cls, mean, *_ = map(float, re.findall(r"([\d.]+)% \(", questions()["2.10"].text))
    return [math.comb(2 * given.seeds, given.seeds), mean - cls]


@answers("3.1")
def parameters(given):
    config = BertConfig(
        vocab_size=given.vocab, hidden_size=given.hidden, num_hidden_layers=given.layers,
        num_attention_heads=2, intermediate_size=given.intermediate,
    )  # fmt: skip
    shapes = parameter_shapes(config)
    names = "bert.embeddings", "bert.encoder.layer.0", "bert."
    counts = [count_parameters(shapes, name) for name in names]
    return [*counts, 100 * given.vocab * given.hidden / counts[-1]]


@answers("3.2")
def ranks(given):
    sums, counts = np.array(given.sums), np.array(given.counts)
    factor = len(sums) / counts.sum()
    assert (factor * sums).mean() == pytest.approx(sums.sum() / counts.sum())
    return [sums.sum() / counts.sum(), (sums / counts).mean(), factor, factor * sums]


@answers("3.3")
def stopped(given):
    plan = {"peak": given.peak, "warmup_steps": given.warmup, "total_steps": given.total}
    return [learning_rate(given.first, **plan), learning_rate(given.last, **plan)]


@answers("3.4")
def lucky(given):
    ways = math.comb(given.new + given.old, given.new)

    def one_is_false(chance: float) -> float:
        return 100 * (1 - (1 - chance) ** given.claims)

    return [ways, one_is_false(1 / ways), one_is_false(1 / math.comb(6, 3))]


@answers("3.5")
def tied(_):
    code, fixed = (questions()["3.5"].run(repaired) for repaired in (False, True))
    for names in (code, fixed):
        names["step"](np.ones((2, 2)), 0.5)
    assert fixed["decoder"] is fixed["table"] and np.array_equal(fixed["table"], code["table"])
    return [code["table"], code["decoder"]]


def test_heldout_masks():
    losses = np.random.default_rng(1).exponential(size=2_000)  # of a model that does not change
    measure = questions()["3.6"].run(losses=losses)["heldout_loss"]
    found = [measure(step) for step in range(50)]
    assert min(found) < losses.mean() - 0.05
    fixed = questions()["3.6"].run(repaired=True, losses=losses)["heldout_loss"]
    assert len({fixed(step) for step in range(50)}) == 1


@answers("3.7")
def verdict(given):
    pair = given.better, given.other
    assert questions()["3.7"].run()["is_reproduced"](*pair)
    assert not questions()["3.7"].run(repaired=True)["is_reproduced"](*pair)
    assert np.mean(given.better) > np.mean(given.other) + 2 * np.std(given.other)
    return [np.mean(given.better), np.mean(given.other) + np.std(given.other)]


@answers("3.8")
def two_seeds(given):
    return [math.comb(2 * given.seeds, given.seeds)]


@answers("3.9")
def spread_of_the_demo(_):
    figures = list(map(float, re.findall(r"\d\d\.\d", questions()["3.9"].text)))
    return [max(figures[4:]) - min(figures[4:]), figures[3] - figures[1]]


@answers("4.1")
def rare_labels(given):
    right, said, never = np.zeros((3, given.reviews), int)
    right[: given.praise] = 1
    said[: given.found] = said[given.praise : given.praise + given.wrong] = 1
    praise = metrics.label_scores([*map(str, right)], [*map(str, said)])["1"]
    return [metrics.accuracy(right, said), praise.precision, praise.recall, praise.f1,
            metrics.accuracy(right, never), metrics.f1(right, never)]  # fmt: skip


@answers("4.2")
def names_f1(given):
    right, said = given.right.split(), given.said.split()
    there, guessed = set(metrics.entities(right)), set(metrics.entities(said))
    f1 = metrics.entity_scores([right], [said])[0].f1
    tags = np.mean([a == b for a, b in zip(right, said, strict=True)])
    return [tags, len(there & guessed), len(guessed), len(there), f1]


@answers("4.3")
def best_span(given):
    start, end = np.array(given.start), np.array(given.end)
    is_text = np.arange(len(start)) > 0
    (score, span), = best_spans(start, end, is_text, longest=given.longest, n_best=1)  # fmt: skip
    none = start[0] + end[0]
    assert isinstance(span, TokenSpan) and -4 < none - score < 0
    return [list(span), score, none, none - score]


@answers("4.4")
def same_examples(given):
    count = given.both + given.only_a + given.only_b + given.neither
    a, b = (100 * (given.both + only) / count for only in (given.only_a, given.only_b))
    paired = 100 * math.sqrt(given.only_a + given.only_b) / count
    return [a, b, math.hypot(error(a, count), error(b, count)), paired]


@answers("4.5")
def f1_of_batches(given):
    batches = [np.array(batch) for batch in given.batches]
    code = [questions()["4.5"].run(fixed, f1=metrics.f1)["dev_f1"] for fixed in (False, True)]
    return [function(batches) for function in code]


@answers("4.6")
def windows(given):
    made, right = (questions()["4.6"].run(fixed)["windows"] for fixed in (False, True))

    def unread(tokens: int, firsts: list[int]) -> int:
        return len(set(range(tokens)) - {f + i for f in firsts for i in range(given.room)})

    for tokens in range(1, 60):
        firsts = right(tokens, given.room, given.stride)
        assert not unread(tokens, firsts) and (len(firsts) == 1 or unread(tokens, firsts[:-1]))
    wrong = made(given.tokens, given.room, given.stride)
    more = set(right(given.tokens, given.room, given.stride)) - set(wrong)
    return [wrong, unread(given.tokens, wrong), more.pop()]


@answers("4.7")
def two_softmaxes(_):
    def softmax(x: np.ndarray) -> np.ndarray:
        return operations.softmax_forward(x)[0]

    def loss(logits: np.ndarray, label: int) -> float:
        return operations.cross_entropy_forward(logits[None], np.array([label]), np.ones(1), 1)[0]

    certain, names = np.array([50.0, -50.0]), {"softmax": softmax, "cross_entropy": loss}
    wrong, right = (questions()["4.7"].run(fixed, **names)["loss"] for fixed in (False, True))
    assert wrong(np.zeros(2), 0) == pytest.approx(math.log(2))
    assert right(certain, 0) == pytest.approx(0)
    return [wrong(certain, 0)]


@answers("4.8")
def real_tasks(given):
    scores = [*map(float, re.findall(r"([\d.]+)%", questions()["4.8"].text))]
    return [math.hypot(*(error(score, count) for score in pair))
            for pair, count in ((scores[:2], given.n_sst), (scores[2:4], given.n_rte))]  # fmt: skip


@answers("4.9")
def precision_in_use(given):
    recall, precision = given.recall / 100, given.precision / 100
    called = recall * (1 - precision) / precision  # of the negative reviews, with equal shares
    true, false = recall / given.one_in, called * (1 - 1 / given.one_in)
    return [called, 100 * true / (true + false)]


# The pieces in PyTorch.


def test_the_pieces_in_torch__show_the_faults_that_the_answers_name():
    import torch

    w, x = torch.tensor(3.0, requires_grad=True), 2.0
    h = w * x
    (h * h + h.detach() * w).backward()
    assert same(questions()["2.1"].stated()[1], w.grad.item())

    given = questions()["2.5"].given()
    scores, visible = torch.tensor(given.scores, dtype=torch.float32), torch.tensor(given.visible)
    wrong, right = (questions()["2.5"].run(fixed)["attend"] for fixed in (False, True))
    assert same(questions()["2.5"].stated()[0], wrong(scores, visible)[0].numpy())
    assert right(scores, visible).tolist() == [[1, 0]]

    ids, positions = torch.tensor([[7, 8, 9]]), torch.tensor([[1]])
    for fixed, label in ((False, 4), (True, 8)):
        shown, labels = questions()["2.6"].run(fixed)["mask"](ids.clone(), positions, 4)
        assert labels.tolist() == [[label]] and shown.tolist() == [[7, 4, 9]]

    weight = torch.ones((), requires_grad=True)
    measured = [questions()["2.7"].run(fixed, loss_of=lambda batch: weight * batch)["heldout_loss"]
                for fixed in (False, True)]  # fmt: skip
    assert measured[0]([1.0, 2.0]).requires_grad
    assert measured[1]([1.0, 2.0]) == 1.5
