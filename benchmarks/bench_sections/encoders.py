"""Texts to vectors: `bert-encode`, and its peers from the same folder and the same texts.

The folder is a BERT folder with texts.json beside it. All begin with strings and end with NumPy
arrays; all read 32 texts at a time.
"""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from bert_run.config import BertConfig

BATCH = 32


def texts_of(folder: Path) -> list[str]:
    return json.loads((folder / "texts.json").read_text(encoding="utf-8"))


def bert_encode(folder: Path, *, precision: str = "fp32") -> Callable[[], float]:
    from bert_paper.encode import encode
    from bert_paper.pretrained import open_pretrained
    from bert_run.device import choose_device, choose_precision

    dtype = choose_precision(precision, choose_device("cpu"))
    pretrained, texts = open_pretrained(folder), [(text,) for text in texts_of(folder)]

    def step() -> float:
        arrays = encode(pretrained, texts, batch_size=BATCH, precision=dtype)
        return sum_of(arrays["last_hidden_state"])

    return step


def sum_of(vectors: np.ndarray) -> float:
    """What all must agree on, and quickly had: of every vector the first number."""
    return float(np.abs(vectors[..., 0]).sum(dtype=np.float64))


def batches(texts: list[str]) -> list[list[str]]:
    return [texts[first : first + BATCH] for first in range(0, len(texts), BATCH)]


def transformers_encode(
    folder: Path, *, is_sorted: bool, precision: str = "fp32"
) -> Callable[[], float]:
    """In bf16 as its users have it: the weights are rounded when they are read."""
    import torch
    import transformers

    transformers.utils.logging.disable_progress_bar()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    dtype = {"fp32": torch.float32, "bf16": torch.bfloat16}[precision]
    model = transformers.BertModel.from_pretrained(
        folder, attn_implementation="sdpa", dtype=dtype
    ).eval()
    texts = texts_of(folder)

    @torch.no_grad()
    def step() -> float:
        # By the length of the text in characters, as sentence-transformers sorts.
        ordered = sorted(texts, key=len) if is_sorted else texts
        total = 0.0
        for batch in batches(ordered):
            inputs = tokenizer(batch, padding=True, return_tensors="pt")
            states = model(**inputs).last_hidden_state * inputs["attention_mask"][:, :, None]
            total += sum_of(states.float().numpy())
        return total

    return step


def encoder_of_torch(folder: Path) -> Callable[[], float]:
    import torch
    import transformers

    from bench_sections.peers import EncoderOfTorch, load_into

    config = BertConfig.load(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = EncoderOfTorch(config)
    load_into(model, folder, config)
    model.eval()

    @torch.no_grad()
    def step() -> float:
        total = 0.0
        for batch in batches(texts_of(folder)):
            inputs = tokenizer(batch, padding=True, return_tensors="pt")
            states = model.encode(inputs) * inputs["attention_mask"][:, :, None]
            total += sum_of(states.numpy())
        return total

    return step


KINDS = {
    "bert-encode": bert_encode,
    "transformers, padded": partial(transformers_encode, is_sorted=False),
    "transformers, sorted": partial(transformers_encode, is_sorted=True),
    "nn.TransformerEncoder, padded": encoder_of_torch,
}
