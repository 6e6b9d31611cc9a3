"""A test's view of the student's code is the same in this process and in another."""

import subprocess
import sys
import textwrap
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from autograder import checks, sweep
from autograder.checks import CheckFailed
from autograder.codec import Folder, Rng, TorchRng, drawing_from
from autograder.student import ChildTransport, LocalTransport, Student, StudentError, likely_mistake
from autograder.worker import gradients_of

FILE = """
import os, random, sys, time, warnings
from copy import deepcopy
import numpy as np
import torch

STATE = []
BUFFERS = {}

def double(x, times=2): return x * times
def in_place(x): x *= 2; return x
def append(items): items.append(1); return 0
def write_and_restore(x): x *= 2; y = x / 2; x /= 2; return y
def share_one_array(x):
    STATE.append(0)
    BUFFERS.setdefault((type(x), x.shape), x * 0)[:] = x
    return BUFFERS[type(x), x.shape]
def by_the_object(x):
    return BUFFERS.setdefault(id(x), (x, str(sorted(x.items()) if type(x) is dict else x)))[1]
def by_the_items(x): return [BUFFERS.setdefault(id(item), (item, str(item)))[1] for item in x]
def by_the_entries(x): return BUFFERS.setdefault(id(x), (x, sorted(x)))[1]
def by_the_size(x): return BUFFERS.setdefault((id(x), len(x)), (x, sorted(x)))[1]
def by_both_ends(x):
    key = x is BUFFERS.get("x"), x.shape, x.reshape(-1)[[0, -1]].tolist()
    if not key[0] or BUFFERS["key"] != key[1:]:
        BUFFERS.update(x=x, key=key[1:], result=x * 2)
    return BUFFERS["result"] + 0
def by_the_version(x): return BUFFERS.setdefault((id(x), x._version), (x, str(x)))[1]
def silent(x): warnings.simplefilter("ignore", RuntimeWarning); return x * 2
def scale(x, *, eps): BUFFERS["scaled"] = x * eps, x.copy(); return x * eps
def scale_back(x, *, eps):
    scaled, of = BUFFERS.get("scaled", (None, None))
    return scaled.copy() if np.array_equal(of, x) else x * eps
def root(x): BUFFERS["root"] = x, np.sqrt(x); return np.sqrt(x)
def cube_of_root(x):
    of, root = BUFFERS.get("root", (None, None))
    return (root if of is x else np.sqrt(x)) ** 3
def forward(x, w): BUFFERS["forward"] = x.copy(), w, x * w["w"]; return x * w["w"]
def backward(x, w):
    of, by, out = BUFFERS.get("forward", (None, None, None))
    return out + 1 if by is w and np.array_equal(of, x) else x * w["w"] + 1
def one_buffer(x):
    BUFFERS.setdefault(id(x), np.empty_like(x))[...] = x
    return BUFFERS[id(x)]
def by_places(x, y): return {name: a + b for (name, a), b in zip(x.items(), y.values())}
def records(x): torch.set_grad_enabled(False); torch.set_grad_enabled(True); return x * 2
def only_with_gradients(x): return x * 2 if torch.is_grad_enabled() else x * 3
def others(x): return [i for i, item in enumerate(x) if item is not x[0]]
def keep_results(x): return BUFFERS.setdefault(repr(x), x)
def keep_inside(x): return "kept", BUFFERS.setdefault(repr(x), [x])
def copy_what_is_kept(x): return np.array(BUFFERS.setdefault(repr(x), x))
def itself_at_times(x, same): return x if same else deepcopy(x)
def view_at_times(x, same): return x[:] if same else deepcopy(x)
def changed_at_times(x, now):
    if now: x.update(b=2) if isinstance(x, dict) else x.__imul__(2)
    return deepcopy(x)
def replaced_at_times(x, now):
    if now: x["a"] = x["a"] * 2
    return 1
def tracked_at_times(x, now): x["a"].requires_grad_(now); return 1
def reordered_at_times(x, now):
    if now: x["a"] = x.pop("a")
    return 1
def twice_at_times(x, same): return [deepcopy(x)] * (1 + same)
def keep_words(): return BUFFERS.setdefault("words", ("a", "b"))
def first_count(x, count): return BUFFERS.setdefault(repr(x), x * count) + 0
def under_inference(x):
    with torch.inference_mode(): return [x * 2]
def first_of_a_size(x, table): return BUFFERS.setdefault(len(table), table.sum()) * x
def seed_in_a_fork():
    with torch.random.fork_rng():
        torch.manual_seed(3)
        return torch.rand(2)
def seed_and_put_back():
    state = random.getstate()
    random.seed(3)
    drawn = random.random()
    random.setstate(state)
    return drawn
def first_entry(x): return next(iter(x.values()))
def hash_a_text(): return hash(("text", 1)) % 1000
def hash_a_number(): return hash((2, 1)) % 1000
def as_it_lies(x): return x.ravel(order="K")[:, None] + x.ravel(order="C")[:, None]
def into_a_copy(x):
    out = np.zeros_like(x["x"])
    out.reshape(-1)[:] = x["x"].reshape(-1)
    return out
def draw_as_it_lies(x, rng): return [rng.random() * v for v in x.ravel(order="K").tolist()]
def draw(rng): return rng.random(3)
def draw_a_copy(rng):
    import copy
    return copy.deepcopy(rng).random(3)
def seed_anew(generator):
    generator.manual_seed(generator.initial_seed())
    return torch.rand(3, generator=generator)
def from_its_seed(rng):
    rng.random()
    return np.random.default_rng(rng.bit_generator.seed_seq).random(3)
def toss(rng): return bool(rng.random() < 0.5)
def draw_globally(): return np.random.rand(2)
def draw_with_torch(): return torch.rand(2)
def seed(): random.seed(0)
def set_type(): torch.set_default_dtype(torch.float64); torch.set_default_dtype(torch.float32)
def keep_type(): torch.set_default_dtype(torch.float64)
def no_gradients(): torch.set_grad_enabled(False)
def ones(): return torch.ones(2)
def linear(x, weights): return x @ weights["w"] + weights["b"], 3
def detached(x): return x.detach() * 2
def learned_from(x):
    (3 * x).sum().backward()
    return x.detach() * 2
def learned_and_put_back(x):
    before = x.grad
    (3 * x).sum().backward()
    x.grad = before
    return x * 2
def frozen(x): return x.requires_grad_(False) * 2
def less_precise(x): torch.set_float32_matmul_precision("medium"); return x * 2
def handed_through(x, weights): return {"x": x * 2, "w": weights["w"].detach()}
def read(folder): return (folder / "words.txt").read_text()
def read_once(folder): return BUFFERS.setdefault(folder, read(folder))
def names_in(folder): return sorted(path.name for path in folder.iterdir())
def remember(): STATE.append(1); return len(STATE)
def in_any_order(): STATE.append(1); return [dict([("a", 1), ("b", 2)][:: (-1) ** len(STATE)])]
def to_do(): raise NotImplementedError("write it")
def values(): return torch.empty(2, device="meta").tolist()
def wrong(): return 1 / 0
def leave(): sys.exit(0)
def leave_at_once(): os._exit(0)
def skip():
    import pytest
    pytest.skip("skip me")
def sets(): return {1}
def sleep(): time.sleep(60)
def shout(): print("hello"); os.write(1, b"hello"); return 1
def ask(): return sys.stdin.read()
class Raises:
    def __str__(self): raise SystemExit
def raise_odd():
    class Odd(Exception):
        def __str__(self): raise SystemExit(0)
    raise Odd
"""


@pytest.fixture(params=["local", "fork", "spawn"], scope="module")
def student(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("student") / "answer.py"
    path.write_text(FILE)
    is_local = request.param == "local"
    transport = LocalTransport(path) if is_local else ChildTransport(path, start=request.param)
    yield Student(path, transport)
    transport.close()


def test_arrays_go_out_and_come_back(student):
    assert np.array_equal(student.double(np.arange(3), times=3), [0, 3, 6])
    assert torch.equal(student.double(torch.ones(2)), torch.full((2,), 2.0))


def test_the_callers_arrays_are_safe_and_the_change_is_seen(student):
    x = np.ones(3)
    assert np.array_equal(student.in_place(x), [2, 2, 2])
    assert np.array_equal(x, [1, 1, 1])
    for function, value in [(student.in_place, x), (student.append, [1])]:
        with pytest.raises(CheckFailed, match="changed its input in place: argument 1"):
            checks.leaves_no_trace(function, value)
    checks.leaves_no_trace(student.double, x)


def test_what_is_written_to_an_input_is_seen_also_where_it_is_put_back(student):
    with pytest.raises(StudentError, match=r"read-only.*\n.*an input is changed in place"):
        checks.leaves_no_trace(student.write_and_restore, np.ones(3))
    with pytest.raises(CheckFailed, match="in place, and put back what stood there"):
        checks.leaves_no_trace(student.write_and_restore, torch.ones(3))


@pytest.mark.parametrize("value", [np.ones((2, 3)), torch.ones(2, 3)], ids=["NumPy", "torch"])
def test_results_that_share_one_array_are_told(student, value):
    checks.leaves_no_trace(student.double, value > 0)
    with pytest.raises(CheckFailed, match=r"an earlier call of it returned\n.*share one array"):
        checks.leaves_no_trace(student.share_one_array, value)


@pytest.mark.parametrize("value", [np.ones((2, 3)), torch.ones(2, 3), [1, 2], {"a": 1}], ids=repr)
def test_what_a_function_has_returned_belongs_to_its_caller(student, value):
    for function in (student.keep_results, student.keep_inside):
        with pytest.raises(CheckFailed, match=r"has returned too\n.*lru_cache(.|\n)*return a copy"):
            checks.leaves_no_trace(function, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("itself_at_times", each) for each in (np.ones(2), torch.ones(2), [1, 2], {"a": 1})),
        *(("view_at_times", each) for each in (np.ones(2), torch.ones(2))),
    ],
    ids=repr,
)
def test_a_sweep_tells_what_is_an_argument_or_a_view_of_one_in_a_single_case(student, name, value):
    function, reference = getattr(student, name), lambda x, same: x
    cases = [sweep.Case("a copy", (value, False)), sweep.Case("the same", (value, True))]
    sweep.agrees(function, reference, cases[:1])
    with pytest.raises(CheckFailed, match="twice, or one it was given, or a view of one"):
        sweep.agrees(function, reference, cases)
    sweep.agrees(function, reference, cases, may_share=True)


def test_a_call_tells_that_its_result_holds_a_list_or_an_array_twice(student):
    for value in ([1, 2], {"a": 1}, np.ones(2), torch.ones(2)):
        assert not student.twice_at_times.trace(value, False).shared
        assert student.twice_at_times.trace(value, True).shared


def test_what_cannot_be_written_to_may_be_returned_again(student):
    checks.leaves_no_trace(student.keep_words)
    checks.leaves_no_trace(student.copy_what_is_kept, np.ones((2, 3)))


def test_what_the_first_call_of_a_file_has_kept_is_told(student):
    """Also where it is the first call that is wrong for all later ones."""
    with pytest.raises(CheckFailed, match="in which `table` was another one"):
        checks.leaves_no_trace(student.first_of_a_size, 2.0, table=np.arange(3.0))
    with pytest.raises(CheckFailed, match="in which `count` was another one"):
        checks.leaves_no_trace(student.first_count, np.ones(3), count=2)


@pytest.mark.parametrize("value", [np.arange(3.0), torch.ones(2), [1, 2], {"a": 3, "b": 4},
                                   [torch.ones(2)], {"a": np.ones(2)}], ids=repr)  # fmt: skip
def test_what_is_found_again_by_the_object_is_told(student, value):
    with pytest.raises(CheckFailed, match=r"held other values(.|\n)*found again by the object"):
        checks.leaves_no_trace(student.by_the_object, value)
    if type(value) is dict:
        with pytest.raises(CheckFailed, match="found again by the object"):
            checks.leaves_no_trace(student.by_the_entries, {"b": 3, "a": 4})
        with pytest.raises(CheckFailed, match="found again by the object"):
            checks.leaves_no_trace(student.by_the_size, {"b": 3, "a": 4})
    checks.leaves_no_trace(student.others, [[1], [2]])


def test_what_is_found_again_by_the_version_of_a_tensor_is_told(student):
    """A write through `.data` leaves the version as it was."""
    with pytest.raises(CheckFailed, match="found again by the object"):
        checks.leaves_no_trace(student.by_the_version, torch.ones(2))


@pytest.mark.parametrize("value", [np.arange(4.0), torch.arange(6).reshape(2, 3)], ids=repr)
def test_what_is_found_again_by_the_ends_of_an_array_is_told(student, value):
    with pytest.raises(CheckFailed, match="found again by the object"):
        checks.leaves_no_trace(student.by_both_ends, value)


@pytest.mark.parametrize("value", [np.ones(2), torch.ones(2), [1, 2], {"a": 1}], ids=repr)
def test_an_argument_that_an_earlier_call_changed_is_told(student, value):
    student.changed_at_times.noticed.clear()  # of the tests before
    checks.leaves_no_trace(student.changed_at_times, value, False)
    student.changed_at_times(value, True)
    with pytest.raises(CheckFailed, match=r"True\) changed its input in place"):
        checks.leaves_no_trace(student.changed_at_times, value, False)


@pytest.mark.parametrize("name", ["replaced_at_times", "tracked_at_times", "reordered_at_times"])
def test_a_dict_whose_tensors_an_earlier_call_replaced_tracked_or_moved_is_told(student, name):
    function, given = getattr(student, name), {"a": torch.ones(2), "b": torch.zeros(2)}
    function.noticed.clear()  # of the tests before
    checks.leaves_no_trace(function, given, False)
    function(given, True)
    with pytest.raises(CheckFailed, match=r"True\) changed its input in place"):
        checks.leaves_no_trace(function, given, False)


@pytest.mark.parametrize("value", [np.ones(2), torch.ones(2), [1, 2], {"a": 1}], ids=repr)
def test_an_argument_that_an_earlier_call_handed_back_is_told(student, value):
    student.itself_at_times.noticed.clear()  # of the tests before
    checks.leaves_no_trace(student.itself_at_times, value, False)
    student.itself_at_times(value, True)
    with pytest.raises(CheckFailed, match=r"True\) returns a list, dict or array twice, or one it"):
        checks.leaves_no_trace(student.itself_at_times, value, False)


def test_a_filter_of_warnings_that_stays_is_told_also_after_other_calls(student):
    for _ in range(2):
        student.silent(np.ones(2))
        with pytest.raises(CheckFailed, match="changed which warnings are shown"):
            checks.leaves_no_trace(student.silent, np.ones(2))


@pytest.mark.parametrize("value", [[[1, 2], [3]], ([1, 2],), [{"a": [1]}, [2, 1]]], ids=repr)
def test_what_is_found_again_by_an_inner_list_is_told(student, value):
    with pytest.raises(CheckFailed, match=r"held other values(.|\n)*found again by the object"):
        checks.leaves_no_trace(student.by_the_items, value)


def test_the_order_of_the_entries_of_a_dict_is_no_part_of_it(student):
    with pytest.raises(CheckFailed, match=r"another order(.|\n)*found by its name alone"):
        checks.leaves_no_trace(student.first_entry, {"a": 3, "b": 4})
    with pytest.raises(CheckFailed, match="entries in another order"):
        checks.leaves_no_trace(student.first_entry, x={"a": 3, "b": 4})


def test_what_is_kept_for_another_function_is_told(student):
    x = np.arange(3.0)
    checks.leaves_no_trace(student.scale, x, eps=0.5)
    with pytest.raises(CheckFailed, match="after a call of scale in which `eps` was another one"):
        checks.leaves_no_trace(student.scale_back, x, eps=0.5)
    checks.leaves_no_trace(student.root, x)
    with pytest.raises(CheckFailed, match="after a call of root in which the same arrays"):
        checks.leaves_no_trace(student.cube_of_root, x)


def test_what_is_kept_while_one_argument_alone_was_another_is_told(student):
    x, w = np.arange(3.0), {"w": np.ones(3)}
    checks.leaves_no_trace(student.forward, x, w)
    with pytest.raises(CheckFailed, match="after a call of forward in which the same arrays"):
        checks.leaves_no_trace(student.backward, x, w)


def test_a_buffer_for_each_object_is_told(student):
    # Which of the two it is depends on whether another array comes to lie where one has been.
    with pytest.raises(CheckFailed, match=r"an earlier call (has returned too|of it returned)"):
        checks.leaves_no_trace(student.one_buffer, np.arange(3.0))


def test_entries_of_two_dicts_are_not_found_by_their_places(student):
    with pytest.raises(CheckFailed, match=r"another order(.|\n)*found by its name alone"):
        checks.leaves_no_trace(student.by_places, {"a": 1, "b": 2}, {"a": 3, "b": 4})


def test_calls_under_no_grad_leave_it_on_and_give_the_same(student):
    x = torch.ones(3)
    with pytest.raises(CheckFailed, match="changed whether torch records gradients"):
        checks.leaves_no_trace(student.records, x)
    with pytest.raises(CheckFailed, match=r"another result under torch.no_grad\(\)"):
        checks.leaves_no_trace(student.only_with_gradients, x)


def test_what_a_generator_gives_next_follows_from_what_was_drawn(student):
    rng = Rng(7).make()
    rng.random(3)
    assert student.draw.trace(Rng(7)).next == [rng.random()]


def test_arguments_that_are_equal_may_be_one_object(student):
    with pytest.raises(CheckFailed, match=r"are one object(.|\n)*where == is meant"):
        checks.leaves_no_trace(student.others, [[1], [1]])


@pytest.mark.parametrize(
    ("name", "says"), [("seed_in_a_fork", "torch's global"), ("seed_and_put_back", "Python's glob")]
)
def test_a_global_generator_that_is_seeded_is_named_also_where_it_is_put_back(student, name, says):
    with pytest.raises(CheckFailed, match=says):
        checks.leaves_no_trace(getattr(student, name))
    assert torch.random.default_generator is torch.default_generator


def test_the_hash_of_a_text_is_another_one_in_another_process(student):
    checks.leaves_no_trace(student.hash_a_number)
    with pytest.raises(CheckFailed, match="another result when the global generators"):
        checks.leaves_no_trace(student.hash_a_text)


def test_the_order_of_arrays_in_memory_makes_no_difference(student):
    x = np.arange(6.0).reshape(2, 3)
    for function, given in ((student.as_it_lies, x), (student.into_a_copy, {"x": x})):
        with pytest.raises(CheckFailed, match="another order of memory"):
            checks.leaves_no_trace(function, given)
    checks.leaves_no_trace(student.as_it_lies, x[:1])  # one row has one order
    checks.leaves_no_trace(student.draw_as_it_lies, x, Rng(7))


def test_generators_are_made_from_their_seed(student):
    expected = np.random.default_rng(7).random(3)
    assert np.array_equal(student.draw(Rng(7)), expected)
    assert np.array_equal(student.draw(Rng(7)), expected)
    checks.leaves_no_trace(student.draw, Rng(7))


def test_a_generator_may_have_been_used_before(student):
    assert np.array_equal(student.draw(Rng(7, drawn=2)), np.random.default_rng(7).random(5)[2:])
    for name, marker, says in (("draw_a_copy", Rng(7), "left the generator"),
                               ("from_its_seed", Rng(7), "from wherever its generator stands"),
                               ("seed_anew", TorchRng(7), "it is seeded anew")):  # fmt: skip
        with pytest.raises(CheckFailed, match=says):
            checks.draws_from_its_generator(getattr(student, name), marker)
    checks.draws_from_its_generator(student.draw, Rng(7))
    checks.draws_from_its_generator(student.toss, Rng(7))


def test_a_secret_seed_draws_otherwise(student):
    with drawing_from(1):
        again = student.draw(Rng(7))
        assert not np.array_equal(checks.rng(3).random(4), np.random.default_rng(3).random(4))
    assert not np.array_equal(again, student.draw(Rng(7)))
    assert np.array_equal(checks.rng(3, 4).random(4), np.random.default_rng([3, 4]).random(4))


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("draw_globally", "NumPy's global generator"),
        ("draw_with_torch", "torch's global generator"),
        ("seed", "Python's global generator"),
    ],
)
def test_what_is_global_and_changes_is_named(student, name, says):
    with pytest.raises(CheckFailed, match=says):
        checks.leaves_no_trace(getattr(student, name))


def test_the_order_of_a_dict_is_no_part_of_a_result(student):
    checks.leaves_no_trace(student.in_any_order)
    with pytest.raises(CheckFailed, match="another result"):
        checks.leaves_no_trace(student.remember)


@pytest.mark.parametrize(("measured", "is_slow"), [([9] * 5 + [1e-5], False), ([9] * 15, True)])
def test_what_seems_slow_on_a_busy_machine_is_measured_again(measured, is_slow):
    class Measured:
        name, times, overhead = "answer", iter(measured), staticmethod(lambda: 0.0)

        def timed(self):
            return next(self.times), "right"

    asked = {"loop": lambda: sum(range(10_000)), "right": lambda out: out == "right"}
    if is_slow:
        with pytest.raises(CheckFailed, match="as long as a plain loop"):
            checks.not_slower(Measured(), **asked)
    else:
        checks.not_slower(Measured(), **asked)


def test_what_taking_the_arguments_costs_is_no_work_of_the_function(monkeypatch):
    monkeypatch.setattr(checks, "time", SimpleNamespace(process_time=count().__next__))
    answer = SimpleNamespace(name="answer", timed=lambda: (3.0, 0), overhead=lambda: 2.5)
    checks.not_slower(answer, loop=lambda: None, right=lambda out: True)


def test_what_is_fast_because_it_returns_something_else_fails():
    answer = SimpleNamespace(name="answer", timed=lambda x: (1e-9, x if len(x) < 9 else x[:1]))
    asked = {"loop": lambda: None, "right": lambda out, x: len(out) == len(x)}
    with pytest.raises(CheckFailed, match="something else in the calls that are timed"):
        checks.not_slower(answer, np.ones(9), **asked)


@pytest.mark.parametrize(("times_as_slow", "rounds"), [(3, checks.SPEED_ROUNDS), (5, 2)])
def test_what_is_far_too_slow_is_measured_twice_alone(times_as_slow, rounds, monkeypatch):
    monkeypatch.setattr(checks, "time", SimpleNamespace(process_time=count().__next__))
    asked = []  # the loop takes a second of this clock
    answer = SimpleNamespace(name="answer", overhead=lambda: 0.0,
                             timed=lambda: (asked.append(1) or times_as_slow, 0))  # fmt: skip
    with pytest.raises(CheckFailed, match=f"{times_as_slow}.0 times as long as a plain loop"):
        checks.not_slower(answer, loop=lambda: None, right=lambda out: True)
    assert len(asked) == 3 * rounds


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-10), (np.float32, 1e-5)])
def test_numbers_are_compared_as_exactly_as_the_page_for_authors_says(dtype, tolerance):
    numbers = np.array([0.25, 1, 8], dtype)  # beside numbers below 1 the tolerance is of 1
    allowed = tolerance * np.maximum(1, numbers)
    for factor in (0.5, -0.5):
        checks.same((numbers + factor * allowed).astype(dtype), numbers)
    for place in range(3):
        wrong = numbers.copy()
        wrong[place] += 3 * allowed[place]
        with pytest.raises(CheckFailed, match="1 of 3 numbers differ"):
            checks.same(wrong, numbers)


def test_a_setting_that_is_put_back_is_no_change(student):
    checks.leaves_no_trace(student.set_type)


def test_a_setting_that_stays_is_named(student):
    with pytest.raises(CheckFailed, match="torch's default type"):
        checks.leaves_no_trace(student.keep_type)
    student.set_type()


def test_what_a_call_sets_in_torch_is_seen_at_every_call_and_touches_no_other(student):
    for name in ("keep_type", "no_gradients"):
        for _ in range(2):
            with pytest.raises(CheckFailed, match="something global"):
                checks.leaves_no_trace(getattr(student, name))
    assert torch.is_grad_enabled() and torch.get_default_dtype() == torch.float32
    assert student.ones().dtype == torch.float32


def test_gradients_come_back_in_the_form_of_the_arguments(student):
    x, w, b = (torch.randn(s, dtype=torch.float64) for s in [(4, 3), (3, 2), (2,)])
    u = torch.randn(4, 2, dtype=torch.float64)
    out, grads = student.linear.grad(x, {"w": w, "b": b}, wrt=("x", "weights"), upstream=u)
    checks.same(out, (x @ w + b, 3))
    checks.same(grads, {"x": u @ w.T, "weights": {"w": x.T @ u, "b": u.sum(0)}})
    _, alone = student.linear.grad(x, {"w": w, "b": b}, wrt=("weights:b",), upstream=u)
    checks.same(alone, {"weights:b": u.sum(0)})


def test_gradients_go_back_without_the_library_that_autograd_would_load():
    w = torch.randn(3, 2, dtype=torch.float64, requires_grad=True)
    outs, upstream = (w.exp(), w.sum()), (torch.randn_like(w), torch.tensor(2.0).double())
    expected = torch.autograd.grad(outs, [w], upstream, retain_graph=True)[0]
    assert torch.equal(gradients_of(outs, [w], upstream)[0], expected)
    with pytest.raises(ValueError, match=r"shape \(3, 2\) is to have a gradient of shape \(2,\)"):
        gradients_of(w.exp(), [w], torch.ones(2))
    code = ("import sys, torch; from autograder.worker import gradients_of; "
            "x = torch.ones(2, requires_grad=True); gradients_of(2 * x, [x], torch.ones(2)); "
            "sys.exit('sympy' in sys.modules)")  # fmt: skip
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_a_gradient_that_does_not_arrive_is_none(student):
    _, grads = student.detached.grad(torch.ones(2), wrt=("x",), upstream=torch.ones(2))
    assert grads == {"x": None}


def test_how_finely_torch_multiplies_stays_as_it_was(student):
    (changed,) = student.less_precise.trace(torch.ones(2)).changed
    assert "set_float32_matmul_precision" in changed
    assert not student.handed_through.trace(torch.ones(2), {"w": torch.ones(3)}).changed
    assert torch.get_float32_matmul_precision() == "highest"


@pytest.mark.parametrize("name", ["learned_from", "learned_and_put_back", "frozen"])
def test_a_parameter_keeps_its_gradient_and_its_flag(student, name):
    with pytest.raises(StudentError, match=r"changed \.grad, or requires_grad, of a given"):
        getattr(student, name).grad(torch.ones(2), wrt=("x",), upstream=torch.ones(2))


def test_a_result_that_is_an_argument_is_told_from_a_new_one(student):
    x, w = torch.ones(2), torch.ones(3)
    assert student.handed_through.trace(x, {"w": w}).shared
    assert not student.detached.trace(x).shared


def test_a_result_of_inference_mode_is_known(student):
    assert student.under_inference.trace(torch.ones(2)).inference
    assert not student.forward.trace(np.ones(2), {"w": 2}).inference


def test_a_folder_is_handed_out_as_a_path(student):
    assert student.read(Folder({"words.txt": b"cat"})) == "cat"


def test_two_folders_after_one_another_have_one_path_and_each_its_own_files(student):
    two = [Folder({"words.txt": word, name: b""}) for word, name in ((b"cat", "a"), (b"dog", "b"))]
    assert [student.read_once(folder) for folder in two] == ["cat", "cat"]
    assert [student.read(folder) for folder in two] == ["cat", "dog"]
    assert student.names_in(two[1]) == ["b", "words.txt"]
    assert student.names_in(two[0]) == ["a", "words.txt"]


def test_one_module_answers_all_calls(student):
    assert student.remember() + 1 == student.remember()


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("wrong", r"wrong\(\) raised ZeroDivisionError: division by zero .*line \d+: def wrong"),
        ("leave", "raised SystemExit"),
        ("skip", "raised Skipped: skip me"),
        ("sets", "cannot be compared: the value.* is a builtins.set"),
        ("raise_odd", "raised Odd"),
        ("absent", "there is no function absent"),
    ],
)
def test_what_goes_wrong_is_told_in_words(student, name, says):
    with pytest.raises(StudentError, match=says) as caught:
        getattr(student, name)()
    assert caught.value.function == name and not caught.value.to_do


def error_of(function, *arrays) -> str:
    with pytest.raises((ValueError, RuntimeError)) as caught:
        function(*arrays)
    return str(caught.value)


@pytest.mark.parametrize(
    ("left", "right", "guessed"),
    [
        ((2, 3), (2,), True),
        ((4, 2, 3), (4, 2), True),
        ((4, 2, 3), (4, 3), True),
        ((2, 3, 1), (2, 3), True),
        ((2, 2, 5, 3), (2, 1, 1, 5), False),  # as many axes: no reduction leaves this
        ((2, 3), (7,), False),
        ((4, 2, 3), (4,), False),
        ((2,), (3,), False),
    ],
)
def test_a_lost_axis_is_guessed_from_the_two_shapes_alone(left, right, guessed):
    says = ("an axis is missing: a sum or mean without keepdims=True, or no [:, None]?" if guessed
            else "")  # fmt: skip
    for first, second in ((left, right), (right, left)):
        assert likely_mistake(error_of(np.add, np.ones(first), np.ones(second))) == says


def test_three_shapes_and_a_message_without_shapes_get_no_guess():
    where = error_of(np.where, np.ones((2, 3), bool), np.ones(2), np.ones((4, 3)))
    assert likely_mistake(where) == ""
    assert likely_mistake(error_of(torch.add, torch.ones(2, 3), torch.ones(2))) == ""
    product = error_of(torch.mm, torch.ones(2, 3), torch.ones(2, 3))
    assert likely_mistake(product).startswith("inner axes differ")


def test_an_argument_too_many_is_told(student):
    with pytest.raises(StudentError, match=r"double\(array float64\[2\], speed=1\) raised TypeErr"):
        student.double(np.ones(2), speed=1)


def test_what_is_not_written_is_to_do(student):
    with pytest.raises(StudentError, match="to_do is to do") as caught:
        student.to_do()
    assert caught.value.to_do


def test_what_torch_cannot_do_on_a_device_is_not_to_do(student):
    """torch raises NotImplementedError as well, where a tensor has no values."""
    with pytest.raises(StudentError, match=r"values\(\) raised NotImplementedError") as caught:
        student.values()
    assert not caught.value.to_do


FORGES = """
import os, stat
for descriptor in range(3, 256):
    try:
        if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
            os.write(descriptor, b"x" * 99)
    except OSError:
        pass
"""


def in_child(tmp_path, text, **more):
    path = tmp_path / "answer.py"
    path.write_text(textwrap.dedent(text))
    return Student(path, ChildTransport(path, **more))


def test_what_is_printed_does_not_disturb_the_answers(tmp_path):
    student = in_child(tmp_path, FILE)
    assert student.shout() == 1 and student.ask() == ""
    student._transport.close()


def test_a_call_that_takes_too_long_is_ended_and_the_next_is_answered(tmp_path):
    student = in_child(tmp_path, FILE, seconds=60)
    assert student.remember() == 1
    student._transport.seconds = 0.3
    with pytest.raises(StudentError, match=r"sleep timed out: it was ended after 0\.3 seconds"):
        student.sleep()
    student._transport.seconds = 30
    assert student.remember() == 1
    student._transport.close()


def test_a_process_that_ends_itself_is_told_and_the_next_call_is_answered(tmp_path):
    student = in_child(tmp_path, FILE)
    with pytest.raises(
        StudentError, match=r"leave_at_once ended the whole program \(exit stat.* 0\)"
    ):
        student.leave_at_once()
    assert student.remember() == 1
    student._transport.close()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("import os; os._exit(0)", "ended the whole program"),
        ("raise SystemExit(0)", r"raised SystemExit: 0 \(answer.py, line 1: raise SystemExit"),
        ("def f(:", r"raised SyntaxError: .*answer.py, line 1: def f\(:"),
        ("f = 3", "there is no function f"),
        (FORGES, "f sent an answer that cannot be read"),
    ],
)
def test_a_file_that_does_not_load_is_told_in_words(tmp_path, text, says):
    student = in_child(tmp_path, text, seconds=20)
    with pytest.raises(StudentError, match=says):
        student.f()
    student._transport.close()


def test_a_debugger_would_stand_in_the_students_line(tmp_path):
    path = tmp_path / "answer.py"
    path.write_text(FILE)
    with pytest.raises(StudentError) as caught:
        Student(path, LocalTransport(path)).wrong()
    assert caught.traceback[-1].path == path


@pytest.mark.parametrize("finite", [3.0, np.array([3.0, 1.0]), np.float32(3)])
def test_a_finite_number_is_not_the_infinite_one_that_is_expected(finite):
    infinite = finite * np.inf
    assert checks.difference(finite, infinite, "x", None)
    assert checks.difference(infinite, finite, "x", None)
    assert checks.difference(-infinite, infinite, "x", None)
    assert not checks.difference(infinite, infinite, "x", None)


OWN_CLASS = """
from __future__ import annotations
import pickle
from dataclasses import dataclass

@dataclass
class Sizes:
    factor: int

SIZES = Sizes(FACTOR)
LENGTH = len(pickle.dumps(SIZES))  # which looks the class up
def scale(x): return x * SIZES.factor + len(pickle.dumps(SIZES)) - LENGTH
"""


@pytest.mark.parametrize("transport", [LocalTransport, ChildTransport])
def test_a_class_of_a_file__may_be_a_dataclass_and_pickled_and_meets_none_of_another_file(
    transport, tmp_path, request
):
    students = []
    for factor in (2, 3):
        (path := tmp_path / str(factor) / "statistics.py").parent.mkdir()
        path.write_text(OWN_CLASS.replace("FACTOR", str(factor)), "utf-8")
        students.append(Student(path, transport(path)))
        request.addfinalizer(students[-1]._transport.close)
    for _ in range(2):
        assert [student.scale(5) for student in students] == [10, 15]
        assert [student.scale.trace(5, fresh=True).value for student in students] == [10, 15]
    import statistics

    assert statistics.mean([1, 3]) == 2


def test_a_file_that_does_not_load__leaves_no_module_behind(tmp_path):
    (path := tmp_path / "no_module.py").write_text("import sys\n1 / 0", "utf-8")
    with pytest.raises(StudentError, match="ZeroDivisionError"):
        Student(path, LocalTransport(path)).f()
    assert "no_module" not in sys.modules
