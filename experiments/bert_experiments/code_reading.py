"""`python -m bert_experiments.code_reading`: BERT in `transformers` beside ours, module by module.

Both models are made, given the same weights and one batch; forward hooks catch what every module
returns. The tables of `code_reading.md` are what this prints, so they cannot go stale:
`--write FILE` puts them between the page's two markers.
"""

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
import tyro
from jaxtyping import Float
from torch import Tensor, nn

from bert_paper.model import BertForPreTraining, gather_positions
from bert_run.config import BertConfig
from bert_run.errors import UserError, command
from bert_run.files import write_atomically

BEGIN, END = "<!-- code-reading: begin -->", "<!-- code-reading: end -->"

# Sizes that all differ, so that a shape can be told in words.
BATCH, SEQ, MASKS, LABELS = 5, 7, 3, 4
CONFIG = BertConfig(vocab_size=53, hidden_size=12, num_hidden_layers=1, num_attention_heads=3,
                    intermediate_size=20, max_position_embeddings=16)  # fmt: skip
WORDS = {BATCH: "batch", SEQ: "seq", MASKS: "masks", LABELS: "labels", 53: "vocab", 12: "hidden",
         20: "intermediate", 16: "positions"}  # fmt: skip

SAME_TO = 1e-10  # both compute in float64

LAYER = "bert.encoder.layer.0"
PARTS = {  # of `BertForPreTraining`, and which modules stand in each
    "`BertModel`, around its layers": r"bert(?!\.encoder\.layer\.0)",
    f"One layer: names after `{LAYER}`": LAYER,
    "`BertForPreTraining`: both heads": "cls",
}
CLASSIFIER = "`BertForSequenceClassification`: the same `bert`, and a head for fine-tuning"

# What a reader should know of a module; the last two are BertForSequenceClassification's.
REMARKS = {
    "bert": "there an object read by name or by number, here a named tuple",
    "bert.embeddings.position_embeddings": "here its first rows are taken, there looked up",
    "bert.encoder": "here all hidden states; there the last, hooks collect the others",
    "bert.encoder.layer": "a list on both sides",
    f"{LAYER}.attention.self": "there the attention weights come with it",
    f"{LAYER}.attention.self.dropout": "never called: it keeps the probability",
    f"{LAYER}.attention.output": "here one class for both ends of a layer",
    f"{LAYER}.intermediate.intermediate_act_fn": "here `F.gelu` inside `DenseGelu`",
    f"{LAYER}.output": "here one class for both ends of a layer",
    "bert.pooler.activation": "here `torch.tanh`",
    "cls": "never called here: it gives both heads their names",
    "cls.predictions": "here on masked positions, there on every position",
    "cls.predictions.transform": "here before its norm, which `MaskedLMHead` calls",
    "cls.predictions.transform.transform_act_fn": "here `F.gelu` inside `DenseGelu`",
    "cls.predictions.decoder": "tied on both sides; here `F.linear` with the word embeddings "
    "and `cls.predictions.bias`",
    "dropout": "ours, of the same name, in `bert_finetuning.tasks`",
    "classifier": "ours, of the same name, in `bert_finetuning.tasks`",
}


@dataclass(frozen=True)
class Module:
    """One module of a model: its class, its own parameters, and what it returned."""

    kind: str
    parameters: dict[str, tuple[int, ...]] = field(default_factory=dict)
    output: Tensor | None = None


def import_transformers() -> ModuleType:
    try:
        import transformers
    except ImportError:
        raise UserError(
            "reading transformers' BERT needs the package transformers: pip install transformers"
        ) from None
    return transformers


def both_models(kind: str = "BertForPreTraining") -> tuple[BertForPreTraining, nn.Module]:
    """Ours and one of `transformers`, with the same random weights where both have them."""
    transformers = import_transformers()
    ours = BertForPreTraining(CONFIG).double().eval()
    their_config = transformers.BertConfig(**asdict(CONFIG), num_labels=LABELS)
    theirs = getattr(transformers, kind)(their_config).double().eval()
    generator = torch.Generator().manual_seed(0)
    for parameter in ours.parameters():  # no bias is zero, so that no term can hide
        nn.init.normal_(parameter, std=0.3, generator=generator)
    theirs.load_state_dict(ours.state_dict(), strict=False)
    return ours, theirs


def example() -> dict[str, Tensor]:
    """One batch; its rows are of different lengths."""
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(0, CONFIG.vocab_size, (BATCH, SEQ), generator=generator)
    lengths = torch.arange(BATCH)[:, None] % 3 + SEQ - 2
    column = torch.arange(SEQ)
    attention_mask = (column < lengths).long()
    return {
        "input_ids": ids,
        "token_type_ids": (column >= 4).long() * attention_mask,
        "attention_mask": attention_mask,
    }


def masked_positions() -> Tensor:
    return torch.tensor([[1, 2, 4]]).repeat(BATCH, 1)


@torch.no_grad()
def walk(model: nn.Module, inputs: dict[str, Tensor]) -> dict[str, Module]:
    """Every module below `model` by name, with what it returned for these inputs."""
    outputs: dict[str, Tensor] = {}

    def catch(name: str):
        def hook(module: nn.Module, arguments: Any, output: Any) -> None:
            outputs[name] = main_tensor(output)

        return hook

    named = [(name, module) for name, module in model.named_modules() if name]
    hooks = [module.register_forward_hook(catch(name)) for name, module in named]
    model(**inputs)
    for hook in hooks:
        hook.remove()
    return {
        name: Module(
            type(module).__name__,
            {n: tuple(p.shape) for n, p in module.named_parameters(recurse=False)},
            outputs.get(name),
        )
        for name, module in named
    }


def main_tensor(output: Any) -> Tensor:
    """Of all that a module returns, the tensor that the next one reads."""
    if isinstance(output, Tensor):
        return output
    if hasattr(output, "last_hidden_state"):
        return output.last_hidden_state
    return output[-1] if isinstance(output, list) else output[0]


@dataclass(frozen=True)
class Pair:
    """A module's name, and who bears it on either side."""

    name: str
    here: Module | None
    there: Module | None

    @property
    def parameters(self) -> str:
        """The module's own parameters, said once when both sides have the same."""
        here, there = (
            ", ".join(f"{n} {shape_in_words(s)}" for n, s in m.parameters.items()) if m else None
            for m in (self.here, self.there)
        )
        if here is None or there is None or here == there:
            return here or there or ""
        return f"here {here or 'none'}; there {there or 'none'}"

    @property
    def output(self) -> str:
        """The shape of what it returns, here and there."""
        here, there = (
            shape_in_words(tuple(m.output.shape)) if m is not None and m.output is not None else ""
            for m in (self.here, self.there)
        )
        return here if here == there or not there else f"{here}; there {there}".removeprefix("; ")

    @property
    def equal(self) -> bool | None:
        """Whether both returned the same numbers; None where one returned nothing.

        Where ours sees the masked positions alone, theirs are taken at these.
        """
        if self.here is None or self.there is None:
            return None
        ours, theirs = self.here.output, self.there.output
        if ours is None or theirs is None:
            return None
        if ours.shape != theirs.shape:
            theirs = gather_positions(theirs, masked_positions())
        return largest_difference(ours, theirs) < SAME_TO

    def row(self) -> str:
        kinds = [f"`{m.kind}`" if m else "" for m in (self.here, self.there)]
        equal = {True: "yes", False: "no", None: ""}[self.equal]
        name = self.name.removeprefix(f"{LAYER}.")
        remark = REMARKS.get(self.name, "")
        cells = (f"`{name}`", *kinds, self.parameters, self.output, equal, remark)
        return f"| {' | '.join(cells)} |"


def largest_difference(ours: Float[Tensor, "*shape"], theirs: Float[Tensor, "*shape"]) -> float:
    return (ours - theirs).abs().max().item()


def shape_in_words(shape: tuple[int, ...]) -> str:
    return "(" + ", ".join(WORDS.get(size, str(size)) for size in shape) + ")"


def side_by_side() -> list[Pair]:
    """`BertForPreTraining` of both, in the order in which their modules are named there."""
    ours, theirs = both_models()
    here = walk(ours, {**example(), "masked_lm_positions": masked_positions()})
    there = walk(theirs, example())
    return [Pair(n, here.get(n), there.get(n)) for n in dict.fromkeys([*there, *here])]


def classifier_there() -> list[Pair]:
    """What `BertForSequenceClassification` puts on the same encoder."""
    _, theirs = both_models("BertForSequenceClassification")
    return [
        Pair(name, None, module)
        for name, module in walk(theirs, example()).items()
        if not name.startswith("bert")
    ]


def tables() -> str:
    """The tables in Markdown, under the version that they were made with."""
    pairs = side_by_side()
    parts = {t: [p for p in pairs if re.match(start, p.name)] for t, start in PARTS.items()}
    parts[CLASSIFIER] = classifier_there()
    lines = [f"Made with transformers {import_transformers().__version__}.", ""]
    for title, rows in parts.items():
        lines += [f"### {title}", "", *table(rows), ""]
    return "\n".join(lines)


def table(pairs: list[Pair]) -> Iterator[str]:
    yield "| module | here | transformers | its parameters | returns | same numbers | remark |"
    yield "|---|---|---|---|---|---|---|"
    yield from (pair.row() for pair in pairs)


def between_markers(page: str, *, name: str) -> re.Match:
    found = re.search(f"(?<={BEGIN}\n).*(?={END})", page, flags=re.DOTALL)
    if found is None:
        raise UserError(f"{name} has no place for the tables: put {BEGIN} and {END} on two lines")
    return found


@dataclass(frozen=True)
class CodeReading:
    """Print BERT of transformers beside ours: names, classes, shapes, and whether they agree."""

    write: Path | None = None
    """put the tables between the markers of this page, in place of the old ones"""


@command
def main() -> None:
    settings = tyro.cli(CodeReading, prog="python -m bert_experiments.code_reading")
    made = tables()
    if settings.write is None:
        print(made)
        return
    try:
        page = settings.write.read_text(encoding="utf-8")
    except (FileNotFoundError, IsADirectoryError, UnicodeDecodeError):
        raise UserError(f"--write {settings.write}: there is no such page of text") from None
    place = between_markers(page, name=str(settings.write))
    write_atomically(settings.write, f"{page[: place.start()]}\n{made}\n{page[place.end() :]}")
    print(f"the tables of {settings.write} are new")


if __name__ == "__main__":
    main()
