"""What crosses the pipe arrives as it left, and nothing but arrays and plain values crosses."""

import json
import math
import pickle
from collections import OrderedDict, namedtuple

import numpy as np
import pytest
import torch

from autograder.codec import (
    BadMessage,
    Folder,
    Meta,
    Rng,
    TorchRng,
    Uncrossable,
    pack,
    type_name,
    unpack,
)

PLAIN = [None, True, 7, -(2**63), 2**64 - 1, 0.1, math.inf, "wörd", b"\x00\xff", [], (), {}, (1,),
         [1], [(1, "a"), {2: [None]}], {"a": {1: (2.5,)}}]  # fmt: skip


@pytest.mark.parametrize("value", PLAIN, ids=repr)
def test_plain_values_arrive_as_they_left(value):
    arrived = unpack(pack(value))
    assert arrived == value and type(arrived) is type(value)


def test_nan_arrives():
    assert math.isnan(unpack(pack(math.nan)))


@pytest.mark.parametrize("dtype", ["bool", "int8", "int64", "uint32", "float16", "float64"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 1, 3)])
def test_arrays_arrive_with_type_shape_and_bits(dtype, shape):
    array = np.random.default_rng(0).integers(0, 2, shape).astype(dtype)
    arrived = unpack(pack(array))
    assert type(arrived) is np.ndarray
    assert arrived.dtype == array.dtype and arrived.shape == shape
    assert arrived.tobytes() == array.tobytes()
    assert arrived.flags.writeable


def test_type_name__numpys_default_whole_number_is_int64_also_where_it_has_32_bits():
    assert type_name(np.dtype(int)) == "int64" and type_name(np.dtype(np.intc)) == "int32"
    assert type_name(np.dtype(">f4")) == "float32" and type_name(torch.bfloat16) == "bfloat16"


@pytest.mark.parametrize("dtype", [torch.bool, torch.int64, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
def test_tensors_arrive_with_type_shape_and_bits(dtype, shape):
    tensor = torch.randn(shape).to(dtype)
    arrived = unpack(pack(tensor))
    assert type(arrived) is torch.Tensor and arrived.dtype == dtype
    assert torch.equal(arrived, tensor)


def test_a_number_of_numpy_stays_one():
    arrived = unpack(pack(np.float32(0.1)))
    assert type(arrived) is np.float32 and arrived == np.float32(0.1)


def test_a_tensor_that_records_gradients_arrives_without_its_history():
    leaf = torch.ones(2, requires_grad=True)
    assert torch.equal(unpack(pack(leaf * 2)), torch.tensor([2.0, 2.0]))


@pytest.mark.parametrize("make", [lambda x: x[:, ::2], lambda x: x.T], ids=["steps", "transposed"])
def test_gaps_in_memory_arrive_as_gaps(make):
    array = make(np.random.default_rng(0).normal(size=(4, 6)))
    arrived = unpack(pack(array))
    assert not arrived.flags.c_contiguous and np.array_equal(arrived, array)
    assert (min(arrived.strides) < 0) == (array.strides[-1] == 16)  # steps run backwards
    tensor = make(torch.randn(4, 6))
    arrived = unpack(pack(tensor))
    assert not arrived.is_contiguous() and torch.equal(arrived, tensor)
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        arrived.view(-1)


LAYOUTS = {
    "C": lambda x: x,
    "Fortran": lambda x: x.transpose(2, 1, 0),
    "batch in the middle": lambda x: x.transpose(1, 0, 2),
    "gaps in Fortran's order": lambda x: x[::2].transpose(2, 1, 0),
    "backwards": lambda x: x[::-1],
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_arrays_lie_in_memory_as_they_lay(layout):
    array = layout(np.random.default_rng(0).normal(size=(4, 3, 5)))
    arrived = unpack(pack(array))
    assert np.array_equal(arrived, array) and arrived.flags.writeable
    order, dense = np.argsort(np.negative(np.abs(array.strides))), array.flags.forc
    assert arrived.flags.c_contiguous == array.flags.c_contiguous
    assert arrived.flags.f_contiguous == array.flags.f_contiguous
    assert np.array_equal(np.argsort(np.negative(np.abs(arrived.strides))), order)
    in_order = array.transpose(order).flags.c_contiguous
    assert in_order or max(arrived.strides) < 0  # every axis backwards
    assert dense == arrived.flags.forc
    if array.strides[0] > 0:  # torch has no steps back
        tensor = unpack(pack(torch.from_numpy(array)))
        assert np.array_equal(tensor.numpy(), array)
        assert tensor.is_contiguous() == array.flags.c_contiguous
        assert np.array_equal(np.argsort(np.negative(tensor.stride())), order)


@pytest.mark.parametrize("make", [np.broadcast_to, lambda x, shape: x[None].repeat(2, 0)[:, :, :0]],
                         ids=["repeated", "empty"])  # fmt: skip
def test_arrays_without_numbers_of_their_own_arrive(make):
    array = make(np.ones((3, 2)), (2, 3, 2))
    arrived = unpack(pack(array))
    assert arrived.shape == array.shape and np.array_equal(arrived, array)


class EqualToAll(np.ndarray):
    def __eq__(self, other):
        return np.ones(self.shape, bool)


class Text(str):
    pass


UNCROSSABLE = [
    object(), {1}, 1j, lambda: 0, EqualToAll((2,)), Text("a"), OrderedDict(a=1),
    namedtuple("Pair", "a b")(1, 2), np.array([object()]), np.array(["a"]), np.ma.masked_array([1]),
    torch.nn.Parameter(torch.ones(1)), torch.ones(1, dtype=torch.complex64),
    torch.eye(2).to_sparse(),
    range(3), np.datetime64("2018-10-11"), torch.nn.Linear(1, 1),
]  # fmt: skip


@pytest.mark.parametrize("value", UNCROSSABLE, ids=lambda v: type(v).__name__)
@pytest.mark.parametrize("inside", [lambda v: v, lambda v: [{"key": (1, v)}]], ids=["bare", "deep"])
def test_nothing_else_crosses(value, inside):
    with pytest.raises(Uncrossable):
        pack(inside(value))


def test_what_does_not_cross_is_named_with_its_place():
    with pytest.raises(Uncrossable, match=r"the value\[0\]\['state'\] is a builtins.set"):
        pack([{"state": {1}}])


def test_markers_are_made_on_the_students_side_alone():
    assert unpack(pack(Rng(7)), make=True).random() == np.random.default_rng(7).random()
    drawn = torch.rand(2, generator=unpack(pack(TorchRng(7)), make=True))
    assert torch.equal(drawn, torch.rand(2, generator=torch.Generator().manual_seed(7)))
    for marker in (Rng(7), TorchRng(7), Folder({"a": b""})):
        with pytest.raises(BadMessage):
            unpack(pack(marker))


@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
@pytest.mark.parametrize("dtype", ["bool", "int64", "bfloat16"])
def test_a_tensor_without_values_is_made_on_the_students_side_alone(shape, dtype):
    made = unpack(pack(Meta(shape, dtype)), make=True)
    assert type(made) is torch.Tensor and made.is_meta
    assert made.shape == shape and made.dtype == getattr(torch, dtype)
    assert unpack(pack(Meta(shape, dtype))) == Meta(shape, dtype)


def test_a_tensor_without_values_comes_back_as_its_shape_and_type():
    answer = [torch.empty(2, 3, device="meta"), torch.empty(4, 6, device="meta").long()[:, ::2]]
    arrived = unpack(pack(answer))
    assert arrived == [Meta((2, 3), "float32"), Meta((4, 3), "int64")]
    assert repr(arrived[0]) == "meta tensor float32[2, 3]"


def test_a_folder_arrives_as_files():
    folder = unpack(pack(Folder({"config.json": b"{}"})), make=True)
    assert (folder / "config.json").read_bytes() == b"{}"
    other = unpack(pack(Folder({"a": b"b"})), make=True)  # while the first one is there
    assert other != folder and (folder / "config.json").is_file()


def message(tree, *buffers, sizes=None):
    header = json.dumps([tree, sizes if sizes is not None else [len(b) for b in buffers]]).encode()
    return b"".join([len(header).to_bytes(8, "big"), header, *buffers])


def array(**changes):
    return {
        "kind": "numpy",
        "dtype": "float64",
        "shape": [1],
        "order": [0],
        "strided": False,
        "buffer": 0,
    } | changes


def shape(*sizes):
    return {"kind": "tuple", "items": list(sizes)}


def meta(**changes):
    fields = {"dtype": "float64", "shape": shape(1)} | changes
    items = [[name, value] for name, value in fields.items() if value is not None]
    return message({"kind": "Meta", "fields": {"kind": "dict", "items": items}})


BAD = {
    "nothing": b"",
    "a pickle": pickle.dumps([1, 2]),
    "a length beyond the end": b"\xff" * 16,
    "no JSON": (4).to_bytes(8, "big") + b"{{{{",
    "deeper than can be read": (200_000).to_bytes(8, "big") + b"[" * 200_000,
    "an unknown kind": message({"kind": "code", "items": []}),
    "a list without a kind": message([1, "a"]),
    "objects": message(array(dtype="object"), bytes(8)),
    "words": message(array(dtype="<U2"), bytes(8)),
    "a shape that does not fit": message(array(shape=[2]), bytes(8)),
    "an axis twice": message(array(shape=[1, 1], order=[0, 0]), bytes(8)),
    "an axis too many": message(array(order=[0, 1]), bytes(8)),
    "an order of words": message(array(order="0"), bytes(8)),
    "no order": message({k: v for k, v in array().items() if k != "order"}, bytes(8)),
    "a negative shape": message(array(shape=[-2, -1]), bytes(16)),
    "a million rows without numbers": message(
        array(dtype="int8", shape=[2_000_000, 0], order=[0, 1], strided=True), b""),
    "another buffer's": message(array(buffer=1), bytes(8)),
    "a buffer of negative length": message(array(), bytes(8), sizes=[-8]),
    "less than announced": message(array(), bytes(4), sizes=[8]),
    "more than announced": message(None, bytes(4), sizes=[]),
    "a truth value of 2": message(array(dtype="bool"), b"\x02"),
    "a list as a key": message({"kind": "dict", "items": [[{"kind": "list", "items": []}, 1]]}),
    "a generator": message({"kind": "Rng", "fields": {"kind": "dict", "items": [["seed", 1]]}}),
    "a meta tensor of words": meta(dtype="str"),
    "a meta tensor of a type that is a list": meta(dtype={"kind": "list", "items": []}),
    "a meta tensor without a shape": meta(shape=None),
    "a meta tensor whose shape is a word": meta(shape="11"),
    "a meta tensor of negative size": meta(shape=shape(-1)),
    "a meta tensor of half a row": meta(shape=shape(0.5)),
    "a meta tensor of a true row": meta(shape=shape(True)),
    "a meta tensor that is endless": meta(shape=shape(10**400)),
    "a meta tensor of too many axes": meta(shape=shape(*[1] * 100_000)),
}  # fmt: skip


@pytest.mark.parametrize("data", BAD.values(), ids=BAD.keys())
def test_bytes_that_are_no_message_are_refused_in_words(data):
    with pytest.raises(BadMessage):
        unpack(data)


@pytest.mark.parametrize("value", [10**30, [1, -(2**61 - 1) * 2**20], {"a": (2**80, "1" * 30)}])
def test_whole_numbers_of_more_than_64_bits__are_refused(value):
    """Python's hash of k · (2⁶¹ - 1) is 0 for every k: a set of such numbers takes for ever."""
    with pytest.raises(BadMessage, match="does not fit into 64 bits"):
        unpack(pack(value))
    assert unpack(pack("1" * 30)) == "1" * 30


def test_half_a_character_arrives_as_something_that_can_be_printed():
    assert unpack(pack("a\ud800")).encode() == b"a?"
