"""What is looked at before training begins, so that a wrong tensor is named at the door.

Every look at a value makes a GPU wait, so this is done once, not at every step. There a wrong id
would be reported by the kernel alone: `device-side assert triggered`, later and without a name.
"""

import torch
from torch import Tensor

from bert_lowlevel.model import Bert, TensorBatch
from bert_run.config import BertConfig
from bert_run.errors import UserError
from bert_run.parameters import parameter_shapes

FLOATS = (torch.float32, torch.float64)
IDS = (torch.int64,)
MASKS = (torch.int64, torch.int32, torch.bool)


def check(bert: Bert, batch: TensorBatch) -> None:
    """Raise `UserError` unless the model can be trained on this batch."""
    check_weights(bert.weights, bert.config)
    check_batch(batch, bert.config)
    home, place = next(iter(bert.weights.values())).device, batch["input_ids"].device
    if home != place:
        raise UserError(
            f"the batch is on {place}, the weights are on {home}: move one to the other"
        )


def check_weights(weights: dict[str, Tensor], config: BertConfig) -> None:
    """Every parameter must be there, of the config's shape, on one device and of one type."""
    names = parameter_shapes(config)
    for name, shape in names.items():
        if name not in weights:
            raise UserError(f"the weights lack {name}: were they made for another config?")
        tensor = weights[name]
        if not isinstance(tensor, Tensor):
            raise UserError(f"{name} is {type(tensor).__name__}: to_tensors makes tensors of it")
        if tensor.shape != shape:
            raise UserError(f"{name} has shape {tuple(tensor.shape)}, the config asks for {shape}")
        if tensor.dtype not in FLOATS:
            raise UserError(
                f"{name} is {type_of(tensor)}: keep weights in float32 or float64; in bfloat16 a "
                "small step is lost, and autocast uses it where it does no harm"
            )
    types = sorted({type_of(weights[name]) for name in names})
    places = sorted({f"on {weights[name].device}" for name in names})
    for of_each, advice in ((types, "take one type"), (places, "move all to one device")):
        if len(of_each) > 1:
            raise UserError(f"the weights are partly {' and partly '.join(of_each)}: {advice}")


def check_inputs(batch: TensorBatch, config: BertConfig) -> tuple[int, int]:
    """Look at what the encoder reads; returns (batch, seq)."""
    ids = need(batch, "input_ids", IDS)
    if ids.ndim != 2 or ids.numel() == 0:
        raise UserError(
            f"input_ids has shape {tuple(ids.shape)}: (batch, seq) is needed, neither empty"
        )
    need(batch, "token_type_ids", IDS, shape=ids.shape)
    need(batch, "attention_mask", MASKS, shape=ids.shape)
    if ids.shape[1] > config.max_position_embeddings:
        raise UserError(
            f"input_ids has rows of {ids.shape[1]} tokens, the model has "
            f"{config.max_position_embeddings} positions: shorten the rows"
        )
    check_range(batch, "input_ids", "token id", config.vocab_size, "the vocabulary",
                "was the text encoded with another tokenizer?")  # fmt: skip
    check_range(batch, "token_type_ids", "segment", config.type_vocab_size, "the segments",
                "0 is the first sentence, 1 the second")  # fmt: skip
    check_range(batch, "attention_mask", "value", 2, "0 and 1",
                "1 is a token, 0 is padding")  # fmt: skip
    return ids.shape[0], ids.shape[1]


def check_batch(batch: TensorBatch, config: BertConfig) -> None:
    """Raise `UserError` unless the batch has all that pretraining needs, in range."""
    rows, seq = check_inputs(batch, config)
    positions = need(batch, "masked_lm_positions", IDS)
    if positions.ndim != 2 or len(positions) != rows:
        raise UserError(
            f"masked_lm_positions has shape {tuple(positions.shape)}: ({rows}, masks) is needed"
        )
    need(batch, "masked_lm_ids", IDS, shape=positions.shape)
    weights = need(batch, "masked_lm_weights", FLOATS, shape=positions.shape)
    need(batch, "next_sentence_labels", IDS, shape=(rows,))
    check_range(batch, "masked_lm_positions", "position", seq, "the rows",
                "positions count from 0")  # fmt: skip
    check_range(batch, "masked_lm_ids", "label", config.vocab_size, "the vocabulary",
                "unused slots hold 0 and have weight 0, not -100")  # fmt: skip
    check_range(batch, "next_sentence_labels", "label", 2, "0 and 1",
                "0 is the next sentence, 1 a random one")  # fmt: skip
    wrong = ~((weights >= 0) & weights.isfinite())
    if wrong.any():
        raise UserError(f"masked_lm_weights holds {weights[wrong][0]:g}: 0 or more is needed")
    if not weights.any():
        raise UserError("masked_lm_weights is 0 everywhere: no token is asked for")
    on_padding = (batch["attention_mask"].gather(1, positions) == 0) & (weights > 0)
    if on_padding.any():
        row, slot = on_padding.nonzero()[0].tolist()
        raise UserError(
            f"masked_lm_positions[{row}, {slot}] is {positions[row, slot]}, which is padding: "
            "give unused slots weight 0"
        )


def need(
    batch: TensorBatch,
    name: str,
    types: tuple[torch.dtype, ...],
    shape: tuple[int, ...] | None = None,
) -> Tensor:
    """A tensor of the batch, of one of the types, of the shape, and where `input_ids` lies."""
    if name not in batch:
        raise UserError(f"the batch lacks {name}: it has {', '.join(sorted(batch)) or 'nothing'}")
    tensor = batch[name]
    if not isinstance(tensor, Tensor):
        raise UserError(
            f"{name} is {type(tensor).__name__}: a tensor is needed; to_device makes one of an "
            "array"
        )
    if tensor.dtype not in types:
        wanted = " or ".join(str(dtype).removeprefix("torch.") for dtype in types)
        raise UserError(f"{name} is {type_of(tensor)}: {wanted} is needed")
    if shape is not None and tensor.shape != shape:
        raise UserError(f"{name} has shape {tuple(tensor.shape)}, {tuple(shape)} is needed")
    if tensor.device != batch["input_ids"].device:
        raise UserError(
            f"{name} is on {tensor.device}, input_ids is on {batch['input_ids'].device}: move "
            "both to one device"
        )
    return tensor


def type_of(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def check_range(
    batch: TensorBatch, name: str, what: str, limit: int, range_name: str, hint: str
) -> None:
    """Every entry must lie in [0, limit)."""
    tensor = batch[name]
    wrong = (tensor < 0) | (tensor >= limit)
    if wrong.any():
        place = wrong.nonzero()[0].tolist()
        raise UserError(
            f"{name}{place}: {what} {tensor[tuple(place)].item()} is outside {range_name} "
            f"({limit} entries): {hint}"
        )
