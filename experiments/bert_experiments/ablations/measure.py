"""What is measured of every run: the figures of which a table's columns are made.

All runs of a table are asked the same: held-out text and labeled sets do not depend on a run's
seed, and words to be guessed stand behind [MASK] however the run was masked.

A model that reads from the left alone never saw a [MASK]. Asked for the word at position p, it
names what should follow the words before p; it does not see those at p and on its right.
"""

import math
import statistics
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Int

from bert_corpus.pairs import Batch
from bert_corpus.pretraining_run import prepare
from bert_corpus.storyworld import stories
from bert_corpus.storyworld.evaluation import Guess, measure_settled_words
from bert_experiments.ablations.features import entailment_accuracy, names_f1, sentiment_accuracy
from bert_experiments.ablations.variants import final_entry, training_seconds
from bert_experiments.report.figures import Figures, kept_record
from bert_experiments.report.models import open_either
from bert_experiments.report.page import write_json
from bert_paper.demo import first_guess
from bert_paper.masking import masking_vocabulary
from bert_paper.model import load_arrays
from bert_paper.pretrain import PretrainSettings
from bert_paper.pretrained import Pretrained
from bert_paper.training import Task, evaluate
from bert_run.config import MaskingRecipe, first_weights
from bert_run.device import to_device
from bert_run.files import RunFolder, step_of

SEED = 1_000  # of the held-out pairs and masks, whatever the run's own
EXAMPLES = 512
STORIES, STORIES_ALONG_THE_WAY = 400, 150
BEHIND_MASK = MaskingRecipe(mask_share=1.0, random_share=0.0)
BEHIND_A_WRONG_WORD = MaskingRecipe(mask_share=0.0, random_share=1.0)
IN_VIEW = MaskingRecipe(mask_share=0.0, random_share=0.0)


def kept_in_file(path: Path, measure: Callable[[], dict]) -> dict:
    """What the file holds; it is measured and written where there is no such file."""
    if not path.exists():
        write_json(path, measure())
    return kept_record(path)


def figures_of(settings: PretrainSettings) -> Figures:
    """The figures of a finished run; measured once, and kept in its folder."""
    return kept_in_file(settings.out / "measured.json", lambda: measure(settings))


def measure(settings: PretrainSettings) -> Figures:
    pretrained = open_either(settings.out)
    figures = {"seconds": training_seconds(settings)}
    final = final_entry(settings.out)
    if "heldout_nsp_accuracy" in final:
        figures["sentence_task"] = final["heldout_nsp_accuracy"]
    figures |= heldout_words(pretrained, settings)
    if settings.corpus == "storyworld":
        figures |= settled_words(pretrained, settings, STORIES)
        figures |= read_by_features(pretrained)
    return figures


def untrained_figures(settings: PretrainSettings) -> Figures:
    """What can be read by features from a run's first weights; measured once, and kept."""
    if settings.corpus != "storyworld":
        return {}

    def measure() -> Figures:
        pretrained = open_either(settings.out)
        config = pretrained.model.config
        weights = first_weights(config, settings.seed, settings.initialization)
        load_arrays(pretrained.model, weights)
        return read_by_features(pretrained)

    return kept_in_file(settings.out / "untrained.json", measure)


def read_by_features(pretrained: Pretrained) -> Figures:
    return {
        "names": names_f1(pretrained),
        "entailment": entailment_accuracy(pretrained),
        "sentiment": sentiment_accuracy(pretrained),
    }


def heldout_words(pretrained: Pretrained, settings: PretrainSettings) -> Figures:
    """How well words of held-out running text are told: behind [MASK], behind a wrong word, in
    view; and of a model that reads from the left, each next word, which is another question."""
    asked = replace(settings, objective="masked-words", sentence_task="none", random_next=0.0)
    data = prepare(replace(asked, seed=SEED), settings.out / "data")
    reads_from_the_left = pretrained.model.config.is_decoder

    def perplexity_and_share(recipe: MaskingRecipe) -> tuple[float, float]:
        task = Task(
            dataset=data.heldout, vocabulary=masking_vocabulary(data), recipe=recipe, seed=SEED,
            device=torch.device("cpu"), precision=torch.float32, causal=reads_from_the_left,
            has_sentence_task=False,
        )  # fmt: skip
        found = evaluate(pretrained.model, task, examples=EXAMPLES)
        return math.exp(found["heldout_mlm_loss"]), found["heldout_mlm_accuracy"]

    perplexity, _ = perplexity_and_share(BEHIND_MASK)
    if reads_from_the_left:
        return {"next_word_perplexity": perplexity}
    return {
        "masked_perplexity": perplexity,
        "wrong_word": perplexity_and_share(BEHIND_A_WRONG_WORD)[1],
        "in_view": perplexity_and_share(IN_VIEW)[1],
    }


def settled_words(pretrained: Pretrained, settings: PretrainSettings, count: int) -> Figures:
    """First guesses on marked words of held-out stories, by what settles them; and of all."""
    found = measure_settled_words(
        guess_of(pretrained), pretrained.tokenizer, stories(count, split="heldout", seed=1),
        seq_length=settings.seq_length,
    )  # fmt: skip
    figures = {kind: part["accuracy"] for kind, part in found.items()}
    right, total = (sum(part[key] for part in found.values()) for key in ("right", "of"))
    return {**figures, "all": right / total}


def figures_by_step(settings: PretrainSettings) -> dict[int, Figures]:
    """The words found at each checkpoint of a run, by its step; measured once, and kept."""

    def measure() -> dict[int, Figures]:
        return {
            step_of(folder): settled_words(open_either(folder), settings, STORIES_ALONG_THE_WAY)
            for folder in RunFolder(settings.out).checkpoint_folders()
        }

    found = kept_in_file(settings.out / "along_the_way.json", measure)
    return {int(step): figures for step, figures in found.items()}


def figures_along_the_way(settings: PretrainSettings) -> Figures:
    """The same as figures of the run: "all@50%" at half of its steps, and so on; and the mean of
    "left" over the first half."""
    found = figures_by_step(settings) if settings.corpus == "storyworld" else {}
    shares = {round(100 * step / settings.steps): figures for step, figures in found.items()}
    along = {
        f"{kind}@{share}%": value
        for share, figures in shares.items()
        for kind, value in figures.items()
    }
    early = [figures["left"] for share, figures in shares.items() if share <= 50]
    return {**along, "left@over the first half": statistics.mean(early)} if early else along


# --- Asking a model for a hidden word ------------------------------------------------------------


def guess_of(pretrained: Pretrained) -> Guess:
    """The word with the highest score at each masked position."""
    if pretrained.model.config.is_decoder:
        return guess_from_the_left(pretrained)
    return first_guess(pretrained)


def guess_from_the_left(pretrained: Pretrained) -> Guess:
    """The guess at position p is what the model expects to follow p - 1.

    A word of several pieces is guessed one piece after another, each guess standing in its place
    when the next is asked for. The positions of a row rise, and the last may be repeated.
    """
    device = next(pretrained.model.parameters()).device

    @torch.no_grad()
    def following(batch: Batch, rows: np.ndarray, places: np.ndarray) -> np.ndarray:
        """What each of the rows expects at its place."""
        names = ("input_ids", "token_type_ids", "attention_mask")
        tensors = to_device({name: batch[name][rows] for name in names}, device)
        before = torch.from_numpy(places - 1)[:, None].to(device)
        words, _ = pretrained.model(**tensors, masked_lm_positions=before)
        return words[:, 0].argmax(-1).cpu().numpy()

    def guess(batch: Batch) -> Int[np.ndarray, "batch masks"]:
        positions = batch["masked_lm_positions"]
        seen = {**batch, "input_ids": batch["input_ids"].copy()}
        guesses = np.zeros_like(positions)
        is_new = np.diff(positions, prepend=0) > 0  # no word is hidden at 0, which is [CLS]
        for column, places in enumerate(positions.T):
            rows = np.flatnonzero(is_new[:, column])
            guesses[:, column] = guesses[:, column - 1]
            if len(rows):
                guesses[rows, column] = following(seen, rows, places[rows])
            seen["input_ids"][np.arange(len(places)), places] = guesses[:, column]
        return guesses

    return guess
