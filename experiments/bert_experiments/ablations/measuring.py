"""What is measured of every run, alike for all: figures that a table's columns are made of.

All runs of a table are asked the same: held-out text and labelled sets do not depend on a run's
seed, and words to be guessed stand behind [MASK] however the run was masked.
"""

import json
import math
import statistics
from dataclasses import replace

import torch

from bert_corpus.prepared import prepare
from bert_corpus.storyworld import stories
from bert_corpus.storyworld.evaluation import measure_settled_words
from bert_experiments.ablations.features import entailment_accuracy, names_f1, sentiment_accuracy
from bert_experiments.ablations.opening import guess_of, open_either
from bert_experiments.ablations.runs import training_seconds
from bert_paper.masking import masking_vocabulary
from bert_paper.model import load_arrays
from bert_paper.pretrained import Pretrained
from bert_paper.settings import PretrainSettings
from bert_paper.training import Task, evaluate
from bert_run.files import write_atomically
from bert_run.metrics import read_metrics
from bert_run.parameters import initial_weights, make_mimetic
from bert_run.run_folder import RunFolder, step_of
from bert_run.settings import MaskingRecipe

Figures = dict[str, float]  # what a run reached, by the name of the measure

# Shares of all that was asked, but for the perplexities.
TITLES = {
    "left": "settled by the left",
    "right": "settled by the right",
    "both": "by both sides",
    "other": "by another sentence",
    "all": "hidden words found",
    "sentence_task": "sentence task",
    "names": "names, features",
    "entailment": "entailment, features",
    "sentiment": "sentiment, features",
    "masked_perplexity": "perplexity behind [MASK]",
    "wrong_word": "a wrong word put right",
    "in_view": "a word in view named",
    "next_word_perplexity": "perplexity of the next word",
}

UNTRAINED = "before training"  # a row of its own: what the first weights can do already
SEED = 1_000  # of the held-out pairs and masks, whatever the run's own
EXAMPLES = 512
STORIES, STORIES_ALONG_THE_WAY = 400, 150
BEHIND_MASK = MaskingRecipe(mask_share=1.0, random_share=0.0)
BEHIND_A_WRONG_WORD = MaskingRecipe(mask_share=0.0, random_share=1.0)
IN_VIEW = MaskingRecipe(mask_share=0.0, random_share=0.0)


def measured(settings: PretrainSettings) -> Figures:
    """The figures of a finished run; taken once, and kept in its folder."""
    path = settings.out / "measured.json"
    if not path.exists():
        write_atomically(path, json.dumps(measure(settings), indent=2) + "\n")
    return json.loads(path.read_text("utf-8"))


def measure(settings: PretrainSettings) -> Figures:
    pretrained = open_either(settings.out)
    figures = {"seconds": training_seconds(settings)}
    final = [r for r in read_metrics(settings.out / "metrics.jsonl") if "heldout_mlm_loss" in r][-1]
    if "heldout_nsp_accuracy" in final:
        figures["sentence_task"] = final["heldout_nsp_accuracy"]
    figures |= heldout_words(pretrained, settings)
    if settings.corpus == "storyworld":
        figures |= settled_words(pretrained, settings, STORIES)
        figures |= read_by_features(pretrained)
    return figures


def measured_untrained(settings: PretrainSettings) -> Figures:
    """What can be read by features from a run's first weights; taken once, and kept."""
    path = settings.out / "untrained.json"
    if settings.corpus != "storyworld":
        return {}
    if not path.exists():
        pretrained = open_either(settings.out)
        weights = initial_weights(pretrained.model.config, settings.seed)
        if settings.initialization == "mimetic":
            weights = make_mimetic(weights, pretrained.model.config, settings.seed)
        load_arrays(pretrained.model, weights)
        write_atomically(path, json.dumps(read_by_features(pretrained), indent=2) + "\n")
    return json.loads(path.read_text("utf-8"))


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
            dataset=data.heldout,
            vocabulary=masking_vocabulary(data),
            recipe=recipe,
            seed=SEED,
            device=torch.device("cpu"),
            precision=torch.float32,
            reads_from_the_left=reads_from_the_left,
            has_sentence_task=False,
        )
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
        guess_of(pretrained),
        pretrained.tokenizer,
        stories(count, split="heldout", seed=1),
        seq_length=settings.seq_length,
    )
    figures = {kind: part["accuracy"] for kind, part in found.items()}
    right, total = (sum(part[key] for part in found.values()) for key in ("right", "of"))
    return {**figures, "all": right / total}


def measured_along_the_way(settings: PretrainSettings) -> dict[int, Figures]:
    """The words found at each checkpoint of a run, by its step; taken once, and kept.

    Of a corpus whose words are not labelled nothing is known.
    """
    path = settings.out / "along_the_way.json"
    if not path.exists():
        found = {
            step_of(folder): settled_words(open_either(folder), settings, STORIES_ALONG_THE_WAY)
            for folder in RunFolder(settings.out).checkpoint_folders()
        }
        write_atomically(path, json.dumps(found, indent=2) + "\n")
    return {int(step): figures for step, figures in json.loads(path.read_text("utf-8")).items()}


def figures_along_the_way(settings: PretrainSettings) -> Figures:
    """The same as figures of the run: "all@50%" at half of its steps, and so on; and the mean of
    "left" over the first half."""
    found = measured_along_the_way(settings) if settings.corpus == "storyworld" else {}
    shares = {round(100 * step / settings.steps): figures for step, figures in found.items()}
    along = {
        f"{kind}@{share}%": value
        for share, figures in shares.items()
        for kind, value in figures.items()
    }
    early = [figures["left"] for share, figures in shares.items() if share <= 50]
    return {**along, "left@over the first half": statistics.mean(early)} if early else along


def title_of(measure: str) -> str:
    """A measure in words, also of a run along its way. One that is not taken here has its name."""
    name, _, when = measure.partition("@")
    title = TITLES.get(name, name)
    if not when:
        return title
    return f"{title} {f'after {when} of the steps' if when.endswith('%') else when}"
