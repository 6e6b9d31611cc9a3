"""How a blank came to be filled: the probability of the right word, and of its rivals, from
checkpoint to checkpoint of one run."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from tokenizers import Tokenizer

from bert_corpus.storyworld import CLASSIC_BLANKS
from bert_experiments.report.plots import unboxed
from bert_paper.pretrained import Pretrained, open_pretrained
from bert_run.errors import UserError
from bert_run.files import RunFolder, step_of
from bert_run.pictures import AMBER, BLUE, ORANGE, PINK, Picture
from bert_run.training_loop import progress_bar

FEWEST = 3  # checkpoints that make a curve
HOW_TO_KEEP = (
    "bert-pretrain --save-every 200 --keep-checkpoints 100 --out runs/steps keeps them all"
)
RIVALS = 3
Blank = tuple[str, frozenset[str]]  # a text with one [MASK], and the words that are right there

BLANKS: tuple[Blank, ...] = (
    *CLASSIC_BLANKS,
    ("The referee blew the [MASK], and the match was over.", frozenset({"whistle"})),
    ("A bat sleeps all day and wakes up at [MASK].", frozenset({"night"})),
    # One judgment against the other: a sheep is smaller than a cow, and bigger than a fox.
    ("Everybody can see that a cow is [MASK] than a sheep.", frozenset({"bigger"})),
    # To be copied from the sentence before, three other things being as likely anywhere else.
    ("The parrot Coco lives with Anna Hill and knows the word lantern. "
     "It says [MASK] in the morning and in the evening.", frozenset({"lantern"})),
)  # fmt: skip


@dataclass(frozen=True)
class BlankHistory:
    """One blank by step; `right` is None where no word was said to be right."""

    text: str
    steps: list[int]
    right_words: list[str]
    right: list[float] | None  # the right words' probability, together
    rivals: dict[str, list[float]]  # those that ever came nearest, by their highest probability


def checkpoints_by_step(run: Path) -> list[Path]:
    """A run's checkpoints, the earliest first.

    Raises `UserError` when there is no such run, or it has kept too few of them.
    """
    if not run.is_dir():
        raise UserError(f"--run {run}: there is no such folder; give the folder of a run")
    folders = sorted(RunFolder(run).checkpoint_folders(), key=step_of)
    if len(folders) < FEWEST:
        raise UserError(f"--run {run} holds {len(folders)} checkpoints, and a curve needs {FEWEST} "
                        f"or more: {HOW_TO_KEEP}")  # fmt: skip
    return folders


@torch.no_grad()
def probabilities(pretrained: Pretrained, text: str) -> Float[np.ndarray, "vocab"]:
    """Of every vocabulary entry, to stand at the [MASK] of `text`."""
    pretrained.require_mlm_head()
    model, tokenizer = pretrained.model, pretrained.tokenizer
    if model.config.is_decoder:
        raise UserError(f"{pretrained.folder} reads from the left alone: it fills no blanks")
    ids = pretrained.encode(text).ids
    positions = [i for i, id_ in enumerate(ids) if id_ == tokenizer.token_to_id("[MASK]")]
    if len(positions) != 1:
        raise UserError(f'"{text}" has {len(positions)} [MASK]s: put one where the word is missing')
    device = next(model.parameters()).device
    inputs = torch.tensor([ids], device=device)
    logits, _ = model(
        inputs, torch.zeros_like(inputs), None, torch.tensor([positions], device=device)
    )
    return logits[0, 0, : tokenizer.get_vocab_size()].softmax(dim=-1).float().cpu().numpy()


def follow_blanks(
    folders: Sequence[Path], blanks: Sequence[Blank] = BLANKS, *, device: torch.device | str = "cpu"
) -> list[BlankHistory]:
    """Fill the blanks at every checkpoint; `folders` in the order of their steps.

    A blank that is longer than the model can read is left out.
    """
    first = open_pretrained(folders[0], device)
    longest = first.model.config.max_position_embeddings
    blanks = [blank for blank in blanks if len(first.tokenizer.encode(blank[0]).ids) <= longest]
    found = []
    with progress_bar(len(folders), "filling blanks", unit="checkpoint") as bar:
        for folder in folders:
            pretrained = open_pretrained(folder, device)
            found.append([probabilities(pretrained, text) for text, _ in blanks])
            bar.update()
    steps = [step_of(folder) for folder in folders]
    by_blank = [np.stack(rows) for rows in zip(*found, strict=True)]  # (steps, vocab) each
    return [
        history(blank, steps, table, pretrained.tokenizer)
        for blank, table in zip(blanks, by_blank, strict=True)
    ]


def history(
    blank: Blank, steps: list[int], table: Float[np.ndarray, "steps vocab"], tokenizer: Tokenizer
) -> BlankHistory:
    """The right words' probability, and those of the words that ever came nearest."""
    text, accepted = blank
    right = [i for i in map(tokenizer.token_to_id, sorted(accepted)) if i is not None]
    highest = table.max(axis=0)
    highest[right] = -1
    rivals = np.argsort(-highest, kind="stable")[:RIVALS].tolist()
    return BlankHistory(
        text=text,
        steps=steps,
        right_words=sorted(accepted),
        right=table[:, right].sum(axis=1).tolist() if accepted else None,
        rivals={tokenizer.id_to_token(i): table[:, i].tolist() for i in rivals},
    )


def first_step_at_half(history: BlankHistory) -> int | None:
    """From which step on the right word has more than half of the probability, to the end."""
    settled = None
    for step, share in zip(history.steps, history.right or [], strict=False):
        settled = None if share <= 0.5 else step if settled is None else settled
    return settled


def blanks_table(histories: list[BlankHistory]) -> str:
    """Each blank: its right word at the first, middle and last checkpoint, and since when."""
    steps = histories[0].steps
    shown = sorted({0, len(steps) // 4, len(steps) // 2, len(steps) - 1})
    lines = ["  " + "".join(f"{f'step {steps[i]:,}':>12}" for i in shown) + "   above half since"]
    for one in histories:
        lines.append(f"  {one.text}")
        since = first_step_at_half(one)
        curves = {label_of_right(one): one.right} if one.right else {}
        for number, (word, shares) in enumerate({**curves, **one.rivals}.items()):
            row = "".join(f"{shares[i]:12.1%}" for i in shown)
            note = f"{since:>19,}" if number == 0 and since is not None else " " * 19
            lines.append(f"  {row}{note}  {word}")
    return "\n".join(lines)


def label_of_right(one: BlankHistory) -> str:
    first, *more = one.right_words
    return f"{first} and {len(more)} like it" if more else first


def draw_blanks(histories: list[BlankHistory], path: Path) -> None:
    """One panel a blank: the right word a thick line, its rivals thin ones."""
    columns = min(2, len(histories))
    rows = -(-len(histories) // columns)
    picture = Picture(1.9 * rows + 0.3, 3.9 * columns)
    panels = picture.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
    for axes, one in zip(panels, histories, strict=False):
        if one.right is not None:
            axes.plot(one.steps, one.right, color=BLUE, linewidth=2.2, label=label_of_right(one))
        for (word, shares), color in zip(one.rivals.items(), (ORANGE, AMBER, PINK), strict=False):
            axes.plot(one.steps, shares, color=color, linewidth=1, label=word)
        axes.set_ylim(0, 1.02)
        axes.set_title(textwrap.fill(one.text, 60), fontsize=8)
        axes.legend(frameon=False, fontsize=7)
        axes.tick_params(labelsize=8)
    for axes in panels[len(histories) :]:
        axes.set_visible(False)
    picture.supxlabel("step", fontsize=9)
    picture.supylabel("probability", fontsize=9)
    unboxed(picture).save(path)
