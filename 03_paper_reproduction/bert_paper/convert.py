"""`bert-convert`: any BERT checkpoint becomes a folder that `transformers` opens in one class. No
number changes but by rounding to `--dtype`."""

import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import safetensors.torch
import torch
import tyro
from tyro.conf import Positional, arg

from bert_corpus.wordpiece import read_tokenizer, save_tokenizer
from bert_run.config import Weights
from bert_run.errors import UserError, command
from bert_run.files import folder_in_one_piece, front_matter, held_alone, size_of, write_atomically
from bert_run.weights import (
    PARTS,
    WEIGHTS_FILE,
    Located,
    in_words,
    left_out,
    locate,
    missing_heads,
    read_model,
    save_safetensors,
)


@dataclass(frozen=True)
class Form:
    """A class of `transformers`, and the parts that it has beside the encoder."""

    architecture: str
    parts: tuple[str, ...]
    pipeline_tag: str = "fill-mask"


FORMS = {
    "pretraining": Form("BertForPreTraining", tuple(PARTS)),
    "masked-lm": Form("BertForMaskedLM", ("masked-language-model",)),
    "encoder": Form("BertModel", ("pooler",), "feature-extraction"),
}


@dataclass(frozen=True)
class ConvertSettings:
    """Write a BERT checkpoint as a folder that transformers opens, and this course too.

    bert-convert google-bert/bert-base-uncased models/base

    bert-convert runs/demo models/demo --to masked-lm --dtype bfloat16
    """

    source: Annotated[Positional[str], arg(metavar="SOURCE")]
    """a run's folder, a folder of transformers, or a Hub model OWNER/NAME"""
    out: Annotated[Positional[Path], arg(metavar="OUT")]
    """the folder to write, which must be new"""
    to: Literal["pretraining", "masked-lm", "encoder"] | None = None
    """BertForPreTraining, BertForMaskedLM or BertModel; the first that the source has all of"""
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    """the numbers in the file"""
    revision: str | None = None
    """a branch, a tag or a commit of a Hub model"""


def convert(settings: ConvertSettings) -> list[str]:
    """Write the folder; returns what there is to say, line by line."""
    out = settings.out.resolve()
    if out.exists():
        raise UserError(f"{settings.out} exists: choose another OUT, or remove it first")
    source = locate(settings.source, revision=settings.revision)
    config, weights = read_model(source.folder)
    missing = missing_heads(weights, config)
    form = choose_form(settings, missing)
    notes = []
    if form is FORMS["encoder"] and "pooler" in missing:
        opened = "BertModel.from_pretrained(..., add_pooling_layer=False)"
        notes.append(f"no pooler, as in the source: {opened}")
    if left := left_out(source.folder, config, form.parts):
        notes.append(f"left out: {left}")

    tensors = {name: to_dtype(name, array, settings.dtype)
               for name, array in parts_of(weights, form).items()}  # fmt: skip
    count = sum(tensor.numel() for tensor in tensors.values())
    with held_alone(out), folder_in_one_piece(out) as beside:
        config.save(beside, architectures=[form.architecture], dtype=settings.dtype)
        save_safetensors(safetensors.torch.save_file, tensors, beside / WEIGHTS_FILE)
        if any((source.folder / name).is_file() for name in ("tokenizer.json", "vocab.txt")):
            tokenizer = read_tokenizer(source.folder, config)
            save_tokenizer(tokenizer, beside, model_max_length=config.max_position_embeddings)
        else:
            notes.append("no tokenizer, as in the source")
        write_card(beside, source, form=form, size=size_of(config, count), name=out.name,
                   notes=[f"numbers in {settings.dtype}", *notes])  # fmt: skip
        if out.exists():
            raise UserError(f"{settings.out} was created in the meantime: choose another OUT")
    return [f"{settings.out}: {form.architecture}, {count:,} numbers in {settings.dtype}", *notes]


def choose_form(settings: ConvertSettings, missing: list[str]) -> Form:
    """The class that was asked for, or the first that the source has every part of."""
    if settings.to is None:
        complete = (form for form in FORMS.values() if not set(form.parts) & set(missing))
        return next(complete, FORMS["encoder"])
    form = FORMS[settings.to]
    lacking = [part for part in form.parts if part in missing]
    if lacking and form is not FORMS["encoder"]:
        raise UserError(f"{settings.source} lacks what {form.architecture} needs "
                        f"({in_words(lacking)}): choose another --to")  # fmt: skip
    return form


def parts_of(weights: Weights, form: Form) -> Weights:
    """The arrays of one class, under the names that `transformers` gives them there."""
    prefixes = ("bert.embeddings.", "bert.encoder.", *(PARTS[part] for part in form.parts))
    kept = {name: array for name, array in weights.items() if name.startswith(prefixes)}
    if form.architecture == "BertModel":  # it is the whole file, so its name is left away
        return {name.removeprefix("bert."): array for name, array in kept.items()}
    return kept


def to_dtype(name: str, array: np.ndarray, dtype: str) -> torch.Tensor:
    """The nearest numbers of a type; those too large for float16 are refused."""
    exact = torch.from_numpy(array)
    rounded = exact.to(getattr(torch, dtype))
    if not torch.equal(rounded.isfinite(), exact.isfinite()):
        largest = exact.abs().max()
        raise UserError(f"{name} holds {largest:,.0f}, too large for {dtype}: take bfloat16")
    return rounded


def write_card(folder: Path, source: Located, *, form: Form, size: str, name: str,
               notes: list[str]) -> None:  # fmt: skip
    """The source's own model card and license, with a line added above; or a short card."""
    line = f"Converted by bert-convert from `{source}` to {form.architecture}: {'; '.join(notes)}."
    readme, license = source.folder / "README.md", source.folder / "LICENSE"
    if readme.is_file():
        page = readme.read_text("utf-8", errors="replace")
        front = re.match(r"(?s)(---\n.*?\n---\n)?", page)[0]
        rest = page.removeprefix(front).strip()
        card = f"{front}\n{line} The rest of this page is that of the source.\n\n{rest}\n"
        card = re.sub(r"(?m)^pipeline_tag: .*", f"pipeline_tag: {form.pipeline_tag}", card, count=1)
    else:
        base = {"base_model": source.hub_id} if source.hub_id else {}
        card = f"{front_matter(form.pipeline_tag, **base)}\n# {name}\n\n{size}.\n\n{line}\n"
    write_atomically(folder / "README.md", card)
    if license.is_file():
        shutil.copyfile(license, folder / "LICENSE")


@command
def main() -> None:
    if "" in sys.argv[1:]:
        raise UserError('SOURCE or OUT is empty (""): is a variable unset?')
    print("\n  ".join(convert(tyro.cli(ConvertSettings, prog="bert-convert"))))


if __name__ == "__main__":
    main()
