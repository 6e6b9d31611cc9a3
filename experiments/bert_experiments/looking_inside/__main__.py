"""`python -m bert_experiments.looking_inside`: what a trained BERT does inside.

Its attention heads, the neighbors of a word in context, the two senses of a word, and how blanks
came to be filled. Each measure and picture is a file of `bert_experiments.looking_inside`.
"""

import textwrap
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import tyro

from bert_corpus.storyworld import Story, stories
from bert_experiments.looking_inside.blanks import (
    HOW_TO_KEEP,
    blanks_table,
    checkpoints_by_step,
    draw_blanks,
    follow_blanks,
)
from bert_experiments.looking_inside.heads import (
    draw_heads,
    heads_table,
    measure_heads,
    story_batches,
)
from bert_experiments.looking_inside.neighbors import (
    find_neighbors,
    neighbors_text,
    sentences_of,
    vectors_of,
)
from bert_experiments.looking_inside.senses import (
    Reports,
    draw_senses_by_layer,
    measure_senses,
    senses_table,
    stories_with_senses,
    words_with_two_senses,
)
from bert_experiments.report.models import untrained
from bert_experiments.report.page import check_summary, mark_folder, write_json
from bert_paper.pretrained import Pretrained, check_text, open_pretrained
from bert_run.config import Whole, check_numbers
from bert_run.device import choose_device
from bert_run.errors import UserError, command

LONGEST = 128  # tokens of a pair or story that is read
PAIRS = 128  # that every head is measured on
FEWEST_STORIES = 40
FIGURES = ("checkpoint", "heads", "neighbors", "senses", "blanks")  # of summary.json
PICTURES = ("heads.png", "senses.png", "blanks.png")


@dataclass(frozen=True)
class LookingSettings:
    """Look inside a trained BERT: its heads, its vectors by layer, its blanks by step.

    Reads stories of StoryWorld that no training has seen; leaves heads.png, senses.png, with --run
    also blanks.png, and all figures in summary.json.
    """

    checkpoint: Path = Path("runs/demo")
    """a BERT folder of this course or of transformers, or a model of the Hub, OWNER/NAME; `make
    demo` leaves one here"""
    out: Path = Path("runs/inside")
    """the folder for pictures and figures"""
    run: Path | None = None
    """a pretraining run that kept its checkpoints: draws blanks by step"""
    sentence: str = "The crane spread its wings and flew over the marsh."
    """neighbors are sought for a word of this sentence"""
    word: str = "crane"
    """and this is the word"""
    sense_word: str = "crane"
    """the word of StoryWorld whose two senses are drawn; all of them are measured"""
    stories: Annotated[int, Whole(FEWEST_STORIES, 1_000_000)] = 400
    """held-out stories that are read, and a tenth as many of each kind with two senses"""
    device: str = "auto"

    def __post_init__(self) -> None:
        check_numbers(self)
        check_summary(self.out, *FIGURES, pictures=PICTURES)
        check_text(self.sentence)
        if not self.sentence.strip():
            raise UserError(f"--sentence is empty: give one with the word {self.word}")


def look_inside(settings: LookingSettings) -> dict:
    """Measure, draw and print everything; returns the figures of `summary.json`."""
    held_out = stories_with_senses(settings.stories // 10)
    known = words_with_two_senses(held_out)
    if settings.sense_word not in known:
        raise UserError(
            f'--sense-word "{settings.sense_word}": in the {settings.stories} stories, two senses '
            f"have {', '.join(known)}"
        )
    folders = [] if settings.run is None else checkpoints_by_step(settings.run)
    pretrained = open_pretrained(settings.checkpoint, choose_device(settings.device))
    vectors_of(pretrained, settings.sentence, settings.word)  # raises before anything is written
    reports = measure_senses(pretrained, held_out, seq_length=seq_length_of(pretrained))
    if settings.sense_word not in reports:
        raise UserError(
            f"--sense-word {settings.sense_word}: both senses must stand within the "
            f"{seq_length_of(pretrained)} tokens that the model reads; take a model that reads more"
        )
    mark_folder(settings.out, *FIGURES)
    return {
        "checkpoint": str(settings.checkpoint),
        "heads": look_at_heads(pretrained, settings),
        "neighbors": look_at_neighbors(pretrained, settings),
        "senses": look_at_senses(pretrained, settings, held_out, reports),
        "blanks": look_at_blanks(folders, settings) if folders else None,
    }


def seq_length_of(pretrained: Pretrained) -> int:
    return min(LONGEST, pretrained.model.config.max_position_embeddings)


def look_at_heads(pretrained: Pretrained, settings: LookingSettings) -> dict:
    batches = story_batches(
        pretrained, list(stories(settings.stories, split="heldout")), pairs=PAIRS,
        seq_length=seq_length_of(pretrained), batch_size=16,
    )  # fmt: skip
    report = measure_heads(pretrained.model.bert, batches)
    draw_heads(report, settings.out / "heads.png")
    print_heading("Attention heads: where do words look?")
    print(heads_table(report))
    every_head = np.ndindex(report.of_heads["distance"].shape)
    names = {f"{i}.{j}": report.name_of(i, j) for i, j in every_head}
    named = Counter(name for name in names.values() if name)
    explain(
        f"Of {len(names)} heads {sum(named.values())} have a name"
        + "".join(f", {name} ({count})" for name, count in named.most_common())
        + ". A name asks for half of the way from attention to every token alike (the last row) to "
        "looking there only. twin: the same word elsewhere; other: the words of the other "
        "sentence; answer: from a [MASK] to the hidden word in another sentence.",
        settings.out / "heads.png",
    )
    return {
        "names": names,
        "shares": {str(name): table.tolist() for name, table in report.of_heads.items()},
        "shares_if_alike": {str(name): share for name, share in report.uniform.items()},
    }


def look_at_neighbors(pretrained: Pretrained, settings: LookingSettings) -> list[dict]:
    candidates = sentences_of(stories(settings.stories, split="heldout"))
    layers = find_neighbors(pretrained, settings.sentence, settings.word, candidates)
    print_heading(f"“{settings.word}” in “{settings.sentence}”: its nearest vectors by layer")
    print(neighbors_text(layers))
    explain(
        "Layer 0 knows the word and its place alone, so the word finds itself, whatever it means "
        "there; further up, a neighbor is what the model takes for alike in its sentence."
    )
    return [asdict(layer) for layer in layers]


def look_at_senses(
    pretrained: Pretrained, settings: LookingSettings, held_out: list[Story], reports: Reports
) -> dict:
    before = measure_senses(untrained(pretrained), held_out, seq_length=seq_length_of(pretrained))
    draw_senses_by_layer(reports, before, settings.sense_word, settings.out / "senses.png")
    print_heading("Two senses of a word: told apart in % of cases, by layer")
    print(senses_table(reports, before))
    explain(
        "nearest: the nearest vector in another story has the same sense, for which set phrases "
        "are enough. in other words: of the senses' means, taken where the words on both sides are "
        "others, the right one is nearer (chance: 50%; – where the words beside never differ). "
        "sentence alone: the same without the rest of the story, which may give the sense away.",
        settings.out / "senses.png",
    )
    return {"trained": sense_figures(reports), "untrained": sense_figures(before)}


def sense_figures(reports: Reports) -> dict:
    return {
        word: {
            "occurrences": dict(Counter(report.senses)),
            "nearest_in_another_story": report.nearest,
            "nearest_by_chance": report.nearest_by_chance,
            "in_other_words": report.other_words,
            "in_other_words_sentence_alone": report.other_words_alone,
        }
        for word, report in reports.items()
    }


def look_at_blanks(folders: list[Path], settings: LookingSettings) -> list[dict]:
    histories = follow_blanks(folders, device=choose_device(settings.device))
    draw_blanks(histories, settings.out / "blanks.png")
    print_heading(f"Blanks by step, at {len(folders)} checkpoints of {settings.run}")
    print(blanks_table(histories))
    explain(
        "First the right word or words of it, below them what came nearest at any step.",
        settings.out / "blanks.png",
    )
    return [asdict(one) for one in histories]


def print_heading(text: str) -> None:
    print(f"\n{text}\n{'─' * len(text)}")


def explain(text: str, picture: Path | None = None) -> None:
    print("\n" + textwrap.fill(text, 98, initial_indent="  ", subsequent_indent="  "))
    if picture is not None:
        print(f"  {picture}")


@command
def main() -> None:
    settings = tyro.cli(LookingSettings, prog="python -m bert_experiments.looking_inside")
    summary = look_inside(settings)
    write_json(settings.out / "summary.json", summary)
    if settings.run is None:
        (settings.out / "blanks.png").unlink(missing_ok=True)  # an earlier call's, of another model
        print(f"\nNo blanks by step without --run DIR: {HOW_TO_KEEP}.")
    print(f"\nall figures: {settings.out / 'summary.json'}")


if __name__ == "__main__":
    main()
