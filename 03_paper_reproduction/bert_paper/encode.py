"""`bert-encode`: one or two sentences in, contextual vectors out."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import tyro
from tyro.conf import Positional

from bert_corpus.wordpiece import padded
from bert_paper.cpu_kernels import use_cpu_kernels
from bert_paper.pretrained import Pretrained, open_pretrained
from bert_run.config import BatchSize, Precision, check_numbers
from bert_run.device import choose_device, choose_precision, mixed_precision
from bert_run.errors import UserError, command
from bert_run.files import STANDARD_INPUT, text_lines, write_whole
from bert_run.training_loop import progress_bar
from bert_run.weights import refuse_overflow

Texts = list[tuple[str, ...]]


@dataclass(frozen=True)
class EncodeSettings:
    """Write the vectors that BERT makes of texts.

    bert-encode "The crane lifted the beam." --checkpoint runs/demo --out vectors.npz
    """

    text: Positional[tuple[str, ...]] = ()
    """a sentence, or two that are read as a pair"""
    checkpoint: Path = Path("runs/demo")
    """a BERT folder of this course or of transformers, or a model of the Hub, OWNER/NAME"""
    out: Path = Path("vectors.npz")
    """an .npz file with input_ids, token_type_ids, attention_mask, last_hidden_state and
    pooler_output; or an .npy file with last_hidden_state alone"""
    input: Path | None = None
    """a file with one text a line, or - for standard input; a tab separates the two sentences of a
    pair; row i of the arrays belongs to line i, so an empty line is refused"""
    batch_size: BatchSize = 32
    device: str = "auto"
    precision: Precision = "fp32"
    """bf16 is faster where the device multiplies it faster, and the vectors differ in the third
    digit; auto takes it there"""

    def __post_init__(self) -> None:
        check_numbers(self)
        if self.out.suffix not in (".npz", ".npy"):
            raise UserError(f"--out is {self.out}: its name must end in .npz or .npy")
        if (self.input is None) == (not self.text):
            raise UserError("give one or two sentences, or --input FILE with one text a line")
        if not all(map(str.strip, self.text)):
            raise UserError("a text is empty: is a variable unset? Write what is to be encoded")
        if len(self.text) > 2:
            raise UserError(f"there are {len(self.text)} texts: give one or two sentences, or "
                            "put many into a file and name it with --input")  # fmt: skip
        if not self.out.parent.is_dir():
            raise UserError(f"--out {self.out}: there is no folder {self.out.parent}")
        if self.out.exists():
            raise UserError(f"--out {self.out} exists: choose another name, or remove that file")


def read_texts(path: Path) -> Texts:
    """One text a line of a file, or of standard input for "-"; a tab parts the two of a pair."""
    name = STANDARD_INPUT if path == Path("-") else str(path)
    texts = []
    for number, line in text_lines(None if path == Path("-") else path):
        text = tuple(line.split("\t"))
        if not all(map(str.strip, text)):
            what = "has no text on one side of its tab" if line.strip() else "is empty"
            raise UserError(f"{name}, line {number} {what}: put one text on each line")
        if len(text) > 2:
            raise UserError(f"{name}, line {number} has {len(text) - 1} tabs: a pair has one")
        texts.append(text)
    if not texts:
        raise UserError(f"{name} is empty: put one text on a line")
    return texts


@torch.no_grad()
def encode(
    pretrained: Pretrained, texts: Texts, *, batch_size: int = 32,
    precision: torch.dtype = torch.float32, progress: bool = False,
) -> dict[str, np.ndarray]:  # fmt: skip
    """Contextual vectors of many texts, in their order, padded to the longest, in float32.

    Returns `input_ids`, `token_type_ids`, `attention_mask` (texts, seq), `last_hidden_state`
    (texts, seq, hidden), zero on padding, and `pooler_output` (texts, hidden) if there is a pooler.
    """
    model = pretrained.model
    encodings = [pretrained.encode(*text) for text in texts]
    ids_and_segments = [(each.ids, each.type_ids) for each in encodings]
    longest = max(len(encoding.ids) for encoding in encodings)
    by_length = sorted(range(len(texts)), key=lambda row: len(encodings[row].ids))
    shape = (len(texts), longest, model.config.hidden_size)
    try:
        result = padded(ids_and_segments, longest, model.config.pad_token_id)
        result["last_hidden_state"] = np.zeros(shape, np.float32)
    except MemoryError:
        raise UserError(f"{len(texts):,} texts of up to {longest} tokens take "
                        f"{np.prod(shape) * 4e-9:,.1f} GB, more than there is: split --input, or "
                        f"shorten line {by_length[-1] + 1:,}, the longest") from None  # fmt: skip
    pooled = np.zeros((shape[0], shape[2]), np.float32)
    device = next(model.parameters()).device
    bar = progress_bar(len(texts), "encoding", unit="text", disable=not progress)
    with mixed_precision(device, precision), bar:
        for first in range(0, len(texts), batch_size):
            rows = by_length[first : first + batch_size]
            length = len(encodings[rows[-1]].ids)
            inputs = {
                name: torch.from_numpy(result[name][rows, :length]).to(device)
                for name in ("input_ids", "token_type_ids", "attention_mask")
            }
            output = model.bert(**inputs)
            states = output.last_hidden_state * inputs["attention_mask"][:, :, None]
            vectors = states.float().cpu().numpy()
            refuse_overflow(vectors, pretrained.folder)
            result["last_hidden_state"][rows, :length] = vectors
            pooled[rows] = output.pooled.float().cpu().numpy()
            bar.update(len(rows))
    if "pooler" not in pretrained.missing:
        result["pooler_output"] = pooled
    refuse_overflow(result.get("pooler_output", pooled[:0]), pretrained.folder)
    return result


@command
def main() -> None:
    settings = tyro.cli(EncodeSettings, prog="bert-encode")
    texts = [settings.text] if settings.input is None else read_texts(settings.input)
    device = choose_device(settings.device)
    pretrained = open_pretrained(settings.checkpoint, device)
    use_cpu_kernels(pretrained.model)
    arrays = encode(pretrained, texts, batch_size=settings.batch_size,
                    precision=choose_precision(settings.precision, device),
                    progress=len(texts) > 100)  # fmt: skip
    if "pooler_output" not in arrays and settings.out.suffix == ".npz":
        print("note: this checkpoint has no pooler, so pooler_output is left out")
    with write_whole(settings.out) as file:
        if settings.out.suffix == ".npz":
            np.savez(file, **arrays)
        else:
            np.save(file, arrays["last_hidden_state"])
    shape = " x ".join(str(size) for size in arrays["last_hidden_state"].shape)
    print(f"{settings.out}: vectors of shape {shape} (texts, tokens, hidden)")


if __name__ == "__main__":
    main()
