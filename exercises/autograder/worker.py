"""The side of the student's code: load the file, answer calls. Whoever asks must trust nothing in
an answer: a student's code can make it say anything."""

import contextlib
import copy
import decimal
import gc
import importlib.util
import inspect
import locale
import os
import random
import shutil
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from itertools import chain, islice
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO

import numpy as np

from autograder import codec
from autograder.codec import is_array, is_tensor, leaves, map_leaves, pack

PYTHON = "Python's global generator (random)"
NUMPY = "NumPy's global generator (np.random)"
TORCH = "torch's global generator (torch.manual_seed)"
EARLIER = "what an earlier call of it returned"
MOST_CONTAINERS = 200  # of one argument, that hold other values for the time of a call
compiled = lru_cache(maxsize=8)(compile)  # no __pycache__: it mistakes two edits within a second
SPOILED = 77  # stands in what an earlier call returned until it is written to


class Worker:
    """A student's file, loaded at the first call."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.module: ModuleType | None = None
        self.settings: dict[str, Any] = {}  # as the file left them when it was loaded
        self.returned: dict[str, Any] = {}  # by the last inspected call of each function
        self.seed: int | None = None  # of the global generators, for the call that runs

    def call(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer one call, or raise what the student's code raises. What it sets is undone after
        it: the tests may run in this process, and the next call must show it again."""
        ours = _settings()
        try:
            if self.module is None or request.get("fresh"):
                self.module = load(self.path)
                self.module.__dict__.setdefault("hash", lambda value: hash(  # a text's by the seed
                    (self.seed, value) if _holds_text(value) else value))  # fmt: skip
                self.settings = _settings()
            _settings(put_back=self.settings)
            # The test that asks may have silenced NumPy; what the student's code does is undone.
            heard = np.errstate(divide="warn", over="warn", under="ignore", invalid="warn")
            with heard, warnings.catch_warnings():
                return self._call(request)
        finally:
            _settings(put_back=ours)
            # A folder is an argument by itself; corpora of many lists are not searched for one.
            given = [*request["args"], *request["kwargs"].values(), *leaves(request.get("before"))]
            for folder in given:
                if isinstance(folder, Path):
                    shutil.rmtree(folder, ignore_errors=True)

    def _call(self, request: dict[str, Any]) -> dict[str, Any]:
        function = self._function(request["function"])
        args, kwargs = request["args"], request["kwargs"]
        self.seed = request.get("global_seed")
        if "wrt" in request:
            return _run_for_gradients(function, request)
        if "count_lines" in request:
            return _run_and_count_lines(function, request, str(self.path))
        if "inspect" in request:
            return self._inspect(request)
        before, start = _contents((args, kwargs)), _processor_seconds()
        value = function(*args, **kwargs)
        return {"value": value, "seconds": _processor_seconds() - start,
                "shared": _is_shared(value, (args, kwargs)),
                "written": _contents((args, kwargs)) != before}  # fmt: skip

    def _function(self, name: str) -> Callable:
        function = getattr(self.module, name, None)
        if not callable(function):
            raise LookupError(f"there is no function {name} in {self.path.name}")
        return function

    def _inspect(self, request: dict[str, Any]) -> dict[str, Any]:
        """Answer a call, and tell what else it did; see `Function.trace`."""
        name, args, kwargs = request["function"], request["args"], request["kwargs"]
        before = []
        if request["before"]:
            earlier, *others = request["before"]
            args, kwargs, *others = _shared([args, kwargs, *others], {})
            with sys.modules["torch"].no_grad() if request["no_grad"] else contextlib.nullcontext():
                before = _call_with_others(self._function(earlier), *others)
        # A function that writes each result into one array writes to what it returned before.
        before.append(self.returned.pop(name, None))
        spoiled = _spoiled(before[-1])
        if self.seed is not None:
            seed_everything(self.seed)
        if request["no_grad"]:
            sys.modules["torch"].set_grad_enabled(False)
        answer = _run_and_inspect(self._function(name), args, kwargs, is_frozen=request["frozen"])
        if any(not bool((array == spoilt).all()) for array, _, spoilt in spoiled):
            answer["changed"].append(EARLIER)
        else:  # it may return them once more, from where it keeps them
            for array, numbers, _ in spoiled:
                array[...] = numbers
        given, returned = _writable((args, kwargs)), _writable(answer["value"])
        answer["shared"] = _is_shared(answer["value"], (args, kwargs))
        answer["kept"] = not (returned - given).isdisjoint(_writable(before))
        self.returned[name] = answer["value"]
        return answer

    def answer(self, message: bytes) -> bytes:
        """The answer to a message, packed; what the student's code raises is part of it."""
        try:
            return pack(self.call(codec.unpack(message, make=True)))
        except BaseException as error:
            return pack({"error": describe(error, self.path)})


def _holds_text(value: Any) -> bool:
    within = value if type(value) in (tuple, frozenset) else ()
    return type(value) in (str, bytes) or any(map(_holds_text, within))


def _run_and_inspect(function: Callable, args: tuple, kwargs: dict, *, is_frozen: bool) -> dict:
    """What the function returns, and what it changed. `is_frozen`: writing to an array raises."""
    arrays, generators = list(_arrays((args, kwargs))), [*args, *kwargs.values()]
    for array in arrays if is_frozen else ():
        if type(array) is np.ndarray:
            array.flags.writeable = False
    before, drawn_before = _global_state(), _states_of_generators(generators)
    contents = _contents((args, kwargs))
    with _seedings() as seeded:
        value = function(*args, **kwargs)
    after = _global_state()
    changed = [name for name in before if before[name] != after.get(name)]
    changed += [name for name in dict.fromkeys(seeded) if name not in changed]
    if any(getattr(leaf, "requires_grad", False) for leaf in leaves((args, kwargs))):  # by itself
        changed.append("requires_grad of a tensor that it was given")
    if any(is_tensor(a) and a.is_leaf and a.grad is not None for a in arrays):
        changed.append("grad of a tensor that it was given")
    # Generators, NumPy's and torch's, are meant to change; what a folder holds is in `written`.
    inputs = map_leaves(lambda leaf: None if type(leaf).__name__ == "Generator"
                        or isinstance(leaf, Path) else leaf, (args, kwargs))  # fmt: skip
    return {
        "value": value, "changed": changed, "inputs": inputs,
        "drawn": _states_of_generators(generators) != drawn_before,
        "next": [copy.deepcopy(generator).random() for generator in generators
                 if isinstance(generator, np.random.Generator)],
        "inference": any(is_tensor(leaf) and leaf.is_inference() for leaf in leaves(value)),
        "written": _contents((args, kwargs)) != contents}  # fmt: skip


def altered(value: Any, *, partly: int = 0) -> Any:
    """Another value of its kind, or None: arrays flipped, floats halved, whole numbers one more;
    without arrays lists from their end, dicts of other numbers. With `partly`, lists end with their
    first item, dicts have the same values under other names (at 2 half), arrays keep both ends."""
    if type(value) in (int, float):
        new = value + 1 if type(value) is int else value / 2
    elif next(_arrays(value), None) is not None and type(value) is not tuple:
        new = map_leaves(partial(_flipped, with_ends=not partly), value)
    elif type(value) is list:
        new = [*value[:-1], value[0]] if partly and value else value[::-1]
    elif type(value) is dict and partly:
        new = {f"{name}~" if n and (partly < 2 or (len(value) - n) % 2) else name: item
               for n, (name, item) in enumerate(value.items())}  # fmt: skip
    elif type(value) is dict:
        new = {name: item + 1 if type(item) is int else item for name, item in value.items()}
    else:
        return None
    return None if pack(new) == pack(value) else new


def _flipped(leaf: Any, *, with_ends: bool) -> Any:
    if not is_array(leaf) or getattr(leaf, "is_meta", False):
        return leaf
    flipped = leaf.flip(tuple(range(leaf.ndim))) if is_tensor(leaf) else np.flip(leaf).copy("K")
    is_float = leaf.is_floating_point() if is_tensor(leaf) else leaf.dtype.kind == "f"
    flipped = flipped / 2 if is_float else flipped
    for end in (0, -1) if not with_ends and len(leaf.reshape(-1)) > 2 else ():
        flipped[(end,) * leaf.ndim] = leaf[(end,) * leaf.ndim]
    return flipped


def _call_with_others(function: Callable, args: tuple, kwargs: dict, turn: int = 1) -> list:
    """What it returns while its arguments, the very objects, hold other values, which are put back.
    Lists and dicts of arrays stay the same, the arrays in them change; of others the inner ones."""
    values = [*args, *kwargs.values()]
    plain = [part for value in values if next(_arrays(value), None) is None
             for part in islice(_containers(value), MOST_CONTAINERS)]  # fmt: skip
    own = [(value, copy.deepcopy(value)) for value in _arrays(values)]
    own += [(part, copy.copy(part)) for part in plain]
    every = {id(value) for value, _ in own}
    alone = [every & set(map(id, chain(_containers(value), _arrays(value)))) for value in values]
    # All arguments are other ones first, then one at a time, the last one last: what follows may
    # bring back the right values. With `turn` -1 the first is last, and keeps both ends of its
    # arrays, the only numbers that some answers compare; before it all are others once more.
    has_dicts = any(type(part) is dict for part in plain)
    calls = [(every, partly) for partly in ((1, 2, 0) if has_dicts else (1, 0))]
    for few in filter(None, alone[::turn]):
        calls += [(few, 0)] if turn > 0 else [(every, 0), (few, 1)]
    # Of a dict or list every second array, after a call in which the others held other values too.
    half = {id(array) for value in values for array in [*_arrays(value)][1::2]}
    calls += [(every, 0), (half, 0)] if half else []
    returned = []
    for chosen, partly in calls:
        for value, before in own:
            if id(value) in chosen:
                _fill(value, altered(before, partly=partly))
        with contextlib.suppress(Exception):  # not every value is allowed
            returned.append(function(*args, **kwargs))
        for value, before in own:
            if id(value) in chosen:
                _fill(value, before)
    return returned


def _fill(old: Any, new: Any) -> None:
    """Put the values of `new` into the object `old`; nothing if `new` is None."""
    if new is None:
        return
    if type(old) is dict:
        old.clear()
        old.update(new)
    elif type(old) is list:
        old[:] = new
    else:  # through a tensor's `data`, which leaves its version as it was
        (old.data if hasattr(old, "requires_grad") else old)[...] = new


def _shared(tree: Any, seen: dict[tuple, Any]) -> Any:
    """The same values; lists, dicts and arrays that are equal are one object."""
    if type(tree) in (list, tuple):
        tree = type(tree)(_shared(item, seen) for item in tree)
    elif type(tree) is dict:
        tree = {name: _shared(item, seen) for name, item in tree.items()}
    elif not is_array(tree):
        return tree
    try:
        return seen.setdefault((type(tree), pack(tree)), tree)
    except codec.Uncrossable:  # a generator or a folder is among them
        return tree


def _arrays(tree: Any) -> Iterator[Any]:
    """The arrays and tensors in nested tuples, lists and dicts."""
    return filter(is_array, leaves(tree))


def _containers(tree: Any) -> Iterator[list | dict]:
    """A list or dict and those that are nested in it, from the outside in."""
    if type(tree) in (list, dict):
        yield tree
    if type(tree) in (list, tuple, dict) and not codec.are_plain(tree):
        for item in tree.values() if type(tree) is dict else tree:
            yield from _containers(item)


def _contents(tree: Any) -> Any:
    """What shows whether a tree was written to; the method `size` is another for each tensor."""
    return map_leaves(lambda x: (x.size, x._version, x.requires_grad) if is_tensor(x) else
                      x.tobytes() if is_array(x) else x if not isinstance(x, Path) else
                      {file: file.read_bytes() for file in x.iterdir() if file.is_file()}, tree,
                      order=lambda items: [*items, ((), [*dict(items)])])  # fmt: skip


def _writable(tree: Any) -> set[int]:
    """Where what a caller may write to lies: lists, dicts, and the memory of arrays."""
    if codec.are_plain(tree):
        return {id(tree)} if type(tree) is list else set()
    if type(tree) in (list, tuple, dict):
        items = tree.values() if type(tree) is dict else tree
        return set[int]().union([id(tree)] * (type(tree) is not tuple), *map(_writable, items))
    if not is_array(tree) or 0 in tree.shape:
        return set()
    if is_tensor(tree):
        return set() if tree.is_meta else {tree.untyped_storage().data_ptr()}
    while type(tree.base) is np.ndarray:
        tree = tree.base
    return {id(tree)} if tree.flags.writeable else set()


def _is_shared(value: Any, given: Any) -> bool:
    """Whether a list, dict or array of the result is an argument's, or stands in it twice."""
    own = [*map(id, chain(_containers(value), _arrays(value)))]
    return len(own) != len(set(own)) or not _writable(value).isdisjoint(_writable(given))


def _spoiled(value: Any) -> list[tuple[Any, Any, Any]]:
    """The arrays of a result, written over, with copies of what they held and of what they hold."""
    found = []
    for array in _arrays(value):
        if type(array) is np.ndarray and array.flags.writeable:
            found.append((array, array.copy()))
        elif is_tensor(array) and not array.is_meta and 0 not in array.stride():
            found.append((array.detach(), array.detach().clone()))
    for array, _ in found:
        array[...] = SPOILED
    return [(array, numbers, copy.deepcopy(array)) for array, numbers in found]


@contextlib.contextmanager
def _seedings() -> Iterator[list[str]]:
    """The global generators that are seeded in this context, also if they are put back."""
    names: list[str] = []
    places = [(random, "seed", PYTHON), (np.random, "seed", NUMPY)]
    if torch := sys.modules.get("torch"):
        places += [(torch, "seed", TORCH), (torch, "manual_seed", TORCH),
                   (torch.random, "manual_seed", TORCH)]  # fmt: skip

    def noted(function: Callable, label: str, *args, **kwargs) -> Any:
        names.append(label)
        return function(*args, **kwargs)

    with contextlib.ExitStack() as after:
        for place, name, label in places:
            after.callback(setattr, place, name, function := getattr(place, name))
            setattr(place, name, partial(noted, function, label))
        yield names


def _states_of_generators(values: list) -> list:
    """Where the generators among the arguments stand: a draw moves them."""
    found = [(value.bit_generator.state, value.bit_generator.seed_seq.n_children_spawned)
             for value in values if isinstance(value, np.random.Generator)]  # fmt: skip
    if torch := sys.modules.get("torch"):
        found += [value.get_state().numpy().tobytes() for value in values
                  if isinstance(value, torch.Generator)]  # fmt: skip
    return found


def _processor_seconds() -> float:
    """Of this process and of the children that it has waited for."""
    return time.process_time() + sum(os.times()[2:4])


def _run_and_count_lines(function: Callable, request: dict[str, Any], file: str) -> dict[str, Any]:
    """What the function returns, and how many lines of `file` ran, again at each turn of a loop."""
    count = 0

    def trace(frame, event, _):
        nonlocal count
        if frame.f_code.co_filename != file:
            return None
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        value = function(*request["args"], **request["kwargs"])
    finally:
        sys.settrace(before)
    return {"value": value, "lines": count}


def _settings(put_back: dict[str, Any] | None = None) -> dict[str, Any]:
    """The settings of the process; those that differ from `put_back` are set to it."""
    environ, context, torch = os.environ, decimal.getcontext(), sys.modules.get("torch")
    ways: dict[str, tuple[Callable, Callable]] = {  # to read a setting, and to set it
        "the working directory (os.chdir)": (os.getcwd, os.chdir),
        "os.environ": (  # where torch notes the folder of a cache
            lambda: {name: environ[name] for name in environ if not name.startswith("TORCH")},
            lambda old: (environ.clear(), environ.update(old)),
        ),
        "the locale (locale.setlocale)": (partial(locale.setlocale, locale.LC_ALL),) * 2,
        "garbage collection": (gc.isenabled, lambda is_on: (gc.disable, gc.enable)[is_on]()),
        "decimal's precision": (lambda: context.prec, partial(setattr, context, "prec")),
        "NumPy's buffer size (np.setbufsize)": (np.getbufsize, np.setbufsize),
        "how NumPy prints": (np.get_printoptions, lambda old: np.set_printoptions(**old)),
    }
    if torch:
        ways |= {
            "whether torch records gradients": (torch.is_grad_enabled, torch.set_grad_enabled),
            "torch's default type": (torch.get_default_dtype, torch.set_default_dtype),
            "torch's default device": (torch.get_default_device, torch.set_default_device),
            "torch's deterministic mode": (
                torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms),
            "how finely torch multiplies matrices (torch.set_float32_matmul_precision)": (
                torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
            "torch's anomaly mode": (torch.is_anomaly_enabled, torch.set_anomaly_enabled),
            "how torch prints": (lambda: {**vars(torch._tensor_str.PRINT_OPTS)},
                                 lambda old: torch.set_printoptions(**old)),
        }  # fmt: skip
    now = {name: read() for name, (read, _) in ways.items()}
    for name, old in (put_back or {}).items():
        if now[name] != old:
            ways[name][1](old)
    return now


def load(path: Path) -> ModuleType:
    """The file as a module. It is registered, because dataclasses and pickle look it up: under its
    own name, or one with a _ where another module has that name or may come to have it."""
    name, python = path.stem, sys.stdlib_module_names
    while name in python or getattr(sys.modules.get(name), "__file__", str(path)) != str(path):
        name += "_"
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        exec(compiled(path.read_bytes(), str(path), "exec", dont_inherit=True), module.__dict__)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module


def describe(error: BaseException, path: Path) -> dict[str, Any]:
    """What was raised, and at which line of the student's file."""
    lines = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
    where, is_to_do = None, False
    if lines:
        where = {"line": lines[-1].lineno, "code": lines[-1].line}
        # By a `raise` of the file's own: torch raises it too, where a device lacks an operation.
        is_to_do = type(error) is NotImplementedError and "raise" in (where["code"] or "raise")
    elif isinstance(error, SyntaxError):
        where = {"line": error.lineno, "code": (error.text or "").strip()}
    text = ""
    with contextlib.suppress(BaseException):  # even str(error) is the student's code
        text = str(error)[:2000]
    return {"type": type(error).__name__, "text": text, "where": where,
            "uncrossable": type(error) is codec.Uncrossable, "to_do": is_to_do}  # fmt: skip


def _run_for_gradients(function: Callable, request: dict[str, Any]) -> dict[str, Any]:
    """Run forward, then autograd backward from `upstream` to the arguments named in `wrt`."""
    args, kwargs, names = request["args"], request["kwargs"], request["wrt"]
    given = inspect.signature(function).bind_partial(*args, **kwargs).arguments
    parts = [(given[whole], key) for whole, _, key in (name.partition(":") for name in names)]
    wanted = [whole[key] if key else whole for whole, key in parts]
    inputs = _float_tensors(wanted)
    for leaf in inputs:
        leaf.requires_grad_().grad = leaf.detach() * 0
    before = [(id(leaf.grad), leaf.grad._version) for leaf in inputs]
    value = function(*args, **kwargs)
    if [*map(id, _float_tensors(wanted))] != [*map(id, inputs)]:
        raise ValueError("another tensor stands in a list or dict that the call was given")
    after = [x.requires_grad and (id(x.grad), getattr(x.grad, "_version", 0)) for x in inputs]
    if before != after:
        raise ValueError("the call changed .grad, or requires_grad, of a given parameter")
    rest = iter(gradients_of(value, inputs, request["upstream"]))
    gradients = map_leaves(lambda leaf: next(rest) if _float_tensors(leaf) else None, wanted)
    return {"value": value, "gradients": dict(zip(names, gradients, strict=True))}


def gradients_of(outs: Any, inputs: list, upstream: Any) -> list:
    """What arrives at each input when `upstream` goes back from `outs`; None where nothing does.
    Through a sum, whose own gradient is 1: given a tensor, autograd loads sympy for a second."""
    total = 0.0
    for out, arrives in zip(_float_tensors(outs), _float_tensors(upstream), strict=False):
        if out.shape != arrives.shape:
            raise ValueError(f"a tensor of shape {tuple(out.shape)} is to have a gradient of shape "
                             f"{tuple(arrives.shape)}")  # fmt: skip
        if out.requires_grad:
            total = total + (out * arrives).sum()
    if not is_tensor(total):
        return [None] * len(inputs)
    return list(sys.modules["torch"].autograd.grad(total, inputs, allow_unused=True))


def _float_tensors(tree: Any) -> list:
    """The tensors of floats in a tree of values, in order."""
    return [leaf for leaf in leaves(tree) if is_tensor(leaf) and leaf.is_floating_point()]


def seed_everything(seed: int) -> None:
    """The global generators; torch's begins anywhere, in each process somewhere else."""
    random.seed(seed)
    np.random.seed(seed)
    if torch := sys.modules.get("torch"):
        torch.default_generator.manual_seed(seed)  # `torch.manual_seed` reads the whole stack


def _global_state() -> dict[str, Any]:
    """What a function must leave as it found it."""
    state = np.random.get_state()
    found = {
        PYTHON: random.getstate(),
        NUMPY: (state[1].tobytes(), *state[2:]),
        "NumPy's handling of errors (np.seterr)": (np.geterr(), np.geterrcall()),
        "which warnings are shown": [each[:3] for each in warnings.filters
                                     if each[2].__module__ == "builtins"]}  # fmt: skip
    if torch := sys.modules.get("torch"):
        found[TORCH] = torch.get_rng_state().numpy().tobytes()
        found["torch's number of threads"] = torch.get_num_threads()
    return found | _settings()


def read_message(stream: BinaryIO) -> bytes:
    """The next message; empty at the end of the stream."""
    head = stream.read(8)
    if len(head) < 8:
        return b""
    size = int.from_bytes(head, "big")
    if size > codec.LARGEST:
        raise codec.BadMessage(f"a message of {size} bytes: {codec.LARGEST} are allowed")
    return stream.read(size)


def write_message(stream: BinaryIO, message: bytes) -> None:
    stream.write(len(message).to_bytes(8, "big") + message)
    stream.flush()


def serve(path: Path, receive: Callable[[], bytes], send: Callable[[bytes], None]) -> None:
    """Answer the calls that `receive` gives until one is empty."""
    worker = Worker(path)
    while message := receive():
        answer = worker.answer(message)
        with contextlib.suppress(BaseException):  # the student may have closed or replaced them
            sys.stdout.flush()
            sys.stderr.flush()
        send(answer)
