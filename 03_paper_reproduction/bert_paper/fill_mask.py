"""`bert-fill-mask`: which words does BERT predict for each [MASK]?"""

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import torch
import tyro
from tyro.conf import Positional, arg

from bert_paper.pretrained import Pretrained, open_pretrained
from bert_run.config import Count, check_numbers
from bert_run.device import choose_device
from bert_run.errors import UserError, command, shown
from bert_run.files import STANDARD_INPUT, text_lines
from bert_run.weights import refuse_overflow

BAR = "█"
BAR_WIDTH = 30


@dataclass(frozen=True)
class FillMaskSettings:
    """Rank words for each [MASK] in a text.

    bert-fill-mask "The [MASK] sat on the mat." --checkpoint runs/demo
    """

    checkpoint: Path
    """a BERT folder of this course or of transformers, or a model of the Hub, OWNER/NAME"""
    text: Positional[tuple[str, ...]] = ()
    """one or more texts, each with one [MASK] or more; without any, the lines of standard input"""
    top: Count = 5
    """how many words to show"""
    json: Annotated[bool, arg(name="json")] = False
    """print a JSON list: {"text", "masks": [[{"token", "probability"}, ...]]}"""
    device: str = "auto"

    def __post_init__(self) -> None:
        check_numbers(self)


def texts_of(given: tuple[str, ...]) -> tuple[str, ...]:
    """The texts of the command line, or where there are none the lines of standard input."""
    lines = [] if given or sys.stdin.isatty() else [*text_lines(None)]
    for number, line in lines:
        if "[MASK]" not in line:
            raise UserError(f"{STANDARD_INPUT}, line {number} has no [MASK]: each line needs one")
    texts = given or tuple(line for _, line in lines)
    if not texts:
        raise UserError('there is no text: give one with a [MASK], as in "The [MASK] sat."')
    return texts


@dataclass(frozen=True)
class Guess:
    token: str
    probability: float


@torch.no_grad()
def fill_mask(pretrained: Pretrained, text: str, *, top: int = 5) -> list[list[Guess]]:
    """The `top` likeliest vocabulary entries for each [MASK] of `text`, likeliest first."""
    model, tokenizer = pretrained.model, pretrained.tokenizer
    pretrained.require_mlm_head()
    if model.config.is_decoder:
        raise UserError(f"{pretrained.folder} reads from the left alone: it fills no blanks")
    encoding = pretrained.encode(text)
    mask_id = tokenizer.token_to_id("[MASK]")
    positions = [i for i, id_ in enumerate(encoding.ids) if id_ == mask_id]
    if not positions:
        raise UserError(f"there is no [MASK] in {shown(text)}: put one where a word is missing")
    device = next(model.parameters()).device
    ids = torch.tensor([encoding.ids], device=device)
    segments = torch.tensor([encoding.type_ids], device=device)
    logits, _ = model(ids, segments, None, torch.tensor([positions], device=device))
    words = logits[0, :, : tokenizer.get_vocab_size()]  # a padded vocabulary has no more words
    refuse_overflow(words.cpu().numpy(), pretrained.folder)
    best = words.softmax(dim=-1).topk(min(top, words.shape[-1]))  # (masks, top)
    return [
        [Guess(tokenizer.id_to_token(i), p) for i, p in zip(row_ids, row, strict=True)]
        for row_ids, row in zip(best.indices.tolist(), best.values.tolist(), strict=True)
    ]


def show(text: str, masks: list[list[Guess]]) -> str:
    """The guesses as a small table with bars."""
    lines = [text]
    for number, guesses in enumerate(masks, start=1):
        if len(masks) > 1:
            lines.append(f"  [MASK] {number}")
        for guess in guesses:
            bar = BAR * round(guess.probability * BAR_WIDTH)
            lines.append(f"  {guess.token:<16} {guess.probability:6.1%}  {bar}")
    return "\n".join(lines)


@command
def main() -> None:
    settings = tyro.cli(FillMaskSettings, prog="bert-fill-mask")
    texts = texts_of(settings.text)
    pretrained = open_pretrained(settings.checkpoint, choose_device(settings.device))
    for text in texts:  # one that is too long shows before long work
        pretrained.encode(text)
    filled = ((text, fill_mask(pretrained, text, top=settings.top)) for text in texts)
    if settings.json:
        entries = [{"text": text, "masks": masks} for text, masks in filled]
        print(json.dumps(entries, indent=2, ensure_ascii=False, default=asdict))
        return
    for number, (text, masks) in enumerate(filled):
        print("\n" * (number > 0) + show(text, masks), flush=True)


if __name__ == "__main__":
    main()
