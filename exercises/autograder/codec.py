"""What crosses between a test and a student's code: arrays and plain values, never objects.

A message is a JSON tree and the raw bytes of its arrays, so reading one can run no code. What
arrives is of exactly one of these types, whatever the sender did: None, bool, int, float, str,
bytes, list, tuple, dict, a NumPy array or number, a torch tensor, a `Meta` for a tensor of the
device "meta". Types are compared with `is`: a subclass may override anything, so none crosses.

This file and `worker.py` are all of the grader that a student's process sees: they import nothing
else of the course, and torch only once a tensor is met."""

import hashlib
import json
import math
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

DTYPES = {"bool", "int8", "uint8", "int16", "int32", "int64", "float16", "float32", "float64"}
TORCH_DTYPES, NUMPY_DTYPES = DTYPES | {"bfloat16"}, DTYPES | {"uint16", "uint32", "uint64"}
DEFAULT = np.dtype(int).char  # of NumPy's whole numbers: 64 bits, in WebAssembly 32
NUMBERS = {bool, int, float}
PLAIN = {bool, int, str, type(None)}
LARGEST = 1 << 29  # bytes of a message: half a gigabyte
MOST_EMPTY = 1 << 20  # rows, say, of an array whose rows have no numbers
MOST_AXES, LONGEST_AXIS = 64, 1 << 48  # of a tensor without values, whose size no buffer limits


class Uncrossable(TypeError):
    """A value that is no array and no plain value, named with the place where it was found."""


class BadMessage(ValueError):
    """Bytes that are no message: the other side was cut off, or does not speak this language."""


@dataclass(frozen=True)
class Rng:
    """Stands for `np.random.default_rng(seed)`, from which `drawn` numbers have been drawn."""

    seed: int
    drawn: int = field(default=0, repr=False)

    def make(self) -> np.random.Generator:
        rng = np.random.default_rng(self.seed)
        rng.random(self.drawn)
        return rng


@dataclass(frozen=True)
class TorchRng(Rng):
    """The same as a `torch.Generator`."""

    def make(self) -> Any:
        import torch

        generator = torch.Generator().manual_seed(self.seed)
        torch.rand(self.drawn, generator=generator)
        return generator


PLACES: list[Path] = []  # where the folders of this process lie or lay


@dataclass(frozen=True)
class Folder:
    """Stands for a folder of files: the function receives the `Path` of a fresh copy. It lies where
    one before it lay that is gone, so what is kept under a path is kept for other files."""

    files: dict[str, bytes]

    def make(self) -> Path:
        for folder in PLACES:
            with suppress(FileExistsError):  # of this process, or of one that was forked with it
                folder.mkdir(mode=0o700)
                break
        else:
            PLACES.append(folder := Path(tempfile.mkdtemp()))
        for name, content in self.files.items():
            (folder / name).write_bytes(content)
            os.utime(folder / name, (crc32(content),) * 2)  # of equal files: some look at it alone
        return folder


@dataclass(frozen=True)
class Meta:
    """Stands for a tensor of the device "meta", which has a shape and a type and no values: the
    student's function receives such a tensor, and one that it returns arrives as a `Meta`."""

    shape: tuple[int, ...]
    dtype: str

    def __post_init__(self) -> None:
        are_sizes = type(self.shape) is tuple and len(self.shape) <= MOST_AXES and all(
            type(size) is int and 0 <= size <= LONGEST_AXIS for size in self.shape)  # fmt: skip
        if not are_sizes or self.dtype not in TORCH_DTYPES:
            raise BadMessage("a tensor of the device meta has no sizes, or no type of number")

    def make(self) -> Any:
        import torch

        return torch.empty(self.shape, dtype=getattr(torch, self.dtype), device="meta")

    def __repr__(self) -> str:
        return f"meta tensor {self.dtype}{list(self.shape)}"


STAND_INS = {kind.__name__: kind for kind in (Rng, TorchRng, Folder, Meta)}

_secret = 0  # from which all checks draw; 0 at home
_variant = 0  # of the student, whose own defaults follow from it; 0: those of the pages


@contextmanager
def drawing_from(secret: int, *, variant: int = 0) -> Iterator[None]:
    """Let every check draw its inputs from this seed, and expect the defaults of this variant; 0
    stands for the inputs that all know, and for the defaults of the pages."""
    global _secret, _variant
    before, (_secret, _variant) = (_secret, _variant), (secret, variant)
    try:
        yield
    finally:
        _secret, _variant = before


def variant() -> int:
    """The number of the student whose answer is graded; 0: nobody's."""
    return _variant


def reseeded(seed: int) -> int:
    """The seed itself; under a secret seed a number that follows from both, and tells neither."""
    if not _secret:
        return seed
    return int.from_bytes(hashlib.sha256(f"{_secret} {seed}".encode()).digest()[:7], "big")


def with_fresh_generators(tree: Any) -> Any:
    """The same values, with the seed of each `Rng` and `TorchRng` as it is under a secret seed."""
    return map_leaves(lambda leaf: replace(leaf, seed=reseeded(leaf.seed))
                      if isinstance(leaf, Rng) else leaf, tree)  # fmt: skip


def leaves(tree: Any) -> Iterator[Any]:
    """What lies in nested lists, tuples and dicts."""
    if type(tree) not in (list, tuple, dict):
        yield tree
        return
    items = tree.values() if type(tree) is dict else tree
    if {list, tuple, dict}.isdisjoint(map(type, items)):
        yield from items
    else:
        for item in items:
            yield from leaves(item)


def as_numpy(values: Any) -> np.ndarray:
    if is_tensor(values):
        values = (values.float() if type_name(values.dtype) == "bfloat16" else values).detach()
    return np.asarray(values)


def are_plain(tree: Any) -> bool:
    """Whether it is a list or tuple of whole numbers, texts and None alone."""
    return type(tree) in (list, tuple) and PLAIN.issuperset(map(type, tree))


def map_leaves(make: Callable[[Any], Any], tree: Any, *,
               order: Callable[[Any], Iterable] = iter) -> Any:  # fmt: skip
    """The same tree with what `make` makes of each leaf; `order` sorts the items of each dict.
    Plain lists, such as documents of many token ids, are copied as they are."""
    if type(tree) in (list, tuple):
        if are_plain(tree):
            return type(tree)(iter(tree))
        return type(tree)(map_leaves(make, item, order=order) for item in tree)
    if type(tree) is dict:
        items = order(tree.items())
        return {name: map_leaves(make, item, order=order) for name, item in items}
    return make(tree)


def pack(value: Any) -> bytes:
    """A message: the length of the tree, the tree, the arrays' bytes one after another."""
    buffers: list[bytes] = []
    tree = _describe(value, buffers, "the value")
    header = json.dumps([tree, [len(b) for b in buffers]]).encode()
    return b"".join([len(header).to_bytes(8, "big"), header, *buffers])


def unpack(message: bytes, *, make: bool = False) -> Any:
    """The value of a message. Only a student's process may `make` what an `Rng` describes."""
    try:
        size = int.from_bytes(message[:8], "big")
        text = message[8 : 8 + size]  # equal hashes of huge numbers make a set slow
        tree, lengths = json.loads(text, parse_int=small if re.search(rb"\d{21}", text) else None)
        if not all(type(length) is int and length >= 0 for length in lengths):
            raise BadMessage("a buffer has no length")
        ends = [*accumulate([8 + size, *lengths])]
        if ends[-1] != len(message):
            raise BadMessage(f"{len(message)} bytes came, {ends[-1]} were announced")
        return _restore(tree, [message[a:b] for a, b in pairwise(ends)], make)
    except BadMessage:
        raise
    except Exception as error:  # whatever is wrong with it, it is no message
        raise BadMessage(f"{type(error).__name__}: {error}") from None


def small(digits: str) -> int:
    if len(digits) > 20:
        raise BadMessage("a whole number does not fit into 64 bits")
    return int(digits)


def is_tensor(value: Any) -> bool:
    """Exactly a torch tensor; never imports torch, for what is not imported made no tensor."""
    torch = sys.modules.get("torch")  # None also where an exercise does without it
    return torch is not None and type(value) is torch.Tensor


def is_array(value: Any) -> bool:
    """Exactly a NumPy array or a torch tensor."""
    return type(value) is np.ndarray or is_tensor(value)


def _describe(value: Any, buffers: list[bytes], place: str) -> Any:
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if kind is list and NUMBERS.issuperset(map(type, value)):
        return value  # as it is: documents are many lists of token ids
    if kind in (list, tuple):
        items = [_describe(v, buffers, f"{place}[{i}]") for i, v in enumerate(value)]
        return {"kind": kind.__name__, "items": items}
    if kind is dict:
        pairs = [[_describe(k, buffers, f"a key of {place}"),
                  _describe(v, buffers, f"{place}[{k!r}]")] for k, v in value.items()]  # fmt: skip
        return {"kind": "dict", "items": pairs}
    if isinstance(value, np.str_):
        return str(value)
    if kind is np.ndarray or isinstance(value, np.generic) or is_tensor(value):
        return _describe_array(value, buffers, place)
    if kind is bytes:
        buffers.append(value)
        return {"kind": "bytes", "buffer": len(buffers) - 1}
    if kind in STAND_INS.values():
        return {"kind": kind.__name__, "fields": _describe(vars(value), buffers, place)}
    raise Uncrossable(f"{place} is a {kind.__module__}.{kind.__qualname__}")


@cache
def type_name(dtype: Any) -> str:
    """The name of a type of numbers of NumPy's or torch's. NumPy's default whole number is called
    int64 also where it has 32 bits: answers have the same types there. `np.intc` is int32."""
    if isinstance(dtype, np.dtype):
        return "int64" if dtype.char == DEFAULT else dtype.name
    return str(dtype).removeprefix("torch.")


def _describe_array(value: Any, buffers: list[bytes], place: str) -> Any:
    """An array or a number of NumPy's, or a tensor."""
    dtype, is_torch = type_name(value.dtype), is_tensor(value)
    if is_torch:
        torch = sys.modules["torch"]
        if dtype not in TORCH_DTYPES or value.layout != torch.strided:
            raise Uncrossable(f"{place} is a tensor of {value.dtype}, {value.layout}")
        if value.is_meta:
            return _describe(Meta(tuple(value.shape), dtype), buffers, place)
        strides, plain = value.stride(), value.detach().cpu().contiguous()
        if dtype == "bfloat16":
            plain = plain.view(torch.int16)  # NumPy has no bfloat16: the bits cross as they are
        plain, kind = plain.numpy(), "torch"
    else:
        if dtype not in NUMPY_DTYPES:
            raise Uncrossable(f"{place} is an array of {value.dtype}, which is no kind of number")
        strides, plain = value.strides, np.asarray(value).astype(dtype, copy=False)
        kind = "numpy" if type(value) is np.ndarray else "number"
    # The axes from that of the largest steps to that of the smallest: 0, 1, … in C's order.
    order = sorted(range(len(strides)), key=lambda axis: -abs(strides[axis]))
    turned = value.permute(order) if is_torch else value.transpose(order)
    lies_in_order = turned.is_contiguous() if is_torch else turned.flags.c_contiguous
    buffers.append(plain.tobytes())
    return {"kind": kind, "dtype": dtype, "shape": list(value.shape), "order": order,
            "strided": not lies_in_order, "buffer": len(buffers) - 1}  # fmt: skip


def _restore(tree: Any, buffers: list[bytes], make: bool) -> Any:
    if type(tree) is str:  # halves of characters cannot be printed
        return tree if tree.isascii() else tree.encode("utf-8", "replace").decode()
    if type(tree) is list and not NUMBERS.issuperset(map(type, tree)):
        raise BadMessage("a list of more than numbers has no kind")
    if type(tree) is not dict:
        return tree
    kind = tree["kind"]
    if kind in ("list", "tuple"):
        items = [_restore(item, buffers, make) for item in tree["items"]]
        return items if kind == "list" else tuple(items)
    if kind == "dict":
        return {_restore(k, buffers, make): _restore(v, buffers, make) for k, v in tree["items"]}
    if kind in ("numpy", "number", "torch"):
        return _restore_array(tree, buffers)
    if kind == "bytes":
        return buffers[tree["buffer"]]
    if kind == "Meta" or (make and kind in STAND_INS):
        stand_in = STAND_INS[kind](**_restore(tree["fields"], buffers, make))
        return stand_in.make() if make else stand_in
    raise BadMessage(f"{kind!r} is no kind of value")


def _restore_array(tree: dict, buffers: list[bytes]) -> Any:
    kind, dtype, order = tree["kind"], tree["dtype"], tree["order"]
    if dtype not in (TORCH_DTYPES if kind == "torch" else NUMPY_DTYPES):
        raise BadMessage(f"{dtype!r} is no type of number")
    bits = np.dtype({"bfloat16": "int16", "int32": np.intc}.get(dtype, dtype))
    data = buffers[tree["buffer"]]
    if math.prod(size or 1 for size in tree["shape"]) > max(len(data), MOST_EMPTY):
        raise BadMessage("an array without numbers has too long an axis")
    if bits == np.bool_ and set(data) - {0, 1}:
        raise BadMessage("a truth value is neither 0 nor 1")
    array = np.frombuffer(data, bits).reshape(tuple(tree["shape"])).transpose(order).copy()
    if tree["strided"]:  # gaps, in NumPy backwards; one place more, or torch's `view` flattens them
        turn = np.asarray if kind == "torch" else np.flip  # of every axis
        wide = np.full((*array.shape[:-1], 2 * array.shape[-1] + 1), 77, array.dtype)
        wide[..., :-1:2] = turn(array)
        array = turn(wide[..., :-1:2])
    array = array.transpose(sorted(order, key=order.__getitem__))  # the axes in their places again
    if kind == "torch":
        import torch

        tensor = torch.from_numpy(array)
        return tensor.view(torch.bfloat16) if dtype == "bfloat16" else tensor
    return array[()] if kind == "number" else array
