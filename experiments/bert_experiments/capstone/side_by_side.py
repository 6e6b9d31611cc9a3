"""Two trainings on the very same batches: the reference, and one in which functions are replaced.

    data = story_data(("farm_year", "pet_at_home"), documents=200, vocab_size=500, seq_length=32)
    for theirs, reference in side_by_side(data, begin(recipe, {"adam_step": mine})): ...

Beside those of `replaced.py` these may be replaced:

    mask_tokens(input_ids, rng, *, mask_id, vocab_size, special_ids, rate) -> ids, labels
    learning_rate(step, *, peak, warmup_steps, total_steps) -> rate
    clip_gradients(gradients, max_norm) -> gradients, norm
    adam_step(weights, gradients, state, *, learning_rate, beta2) -> weights, state

Both see the masks that the replaced `mask_tokens` draws: other masks are other batches.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int
from numpy import ndarray
from threadpoolctl import threadpool_limits

from bert_corpus.pairs import PairDataset
from bert_corpus.pretraining_run import PretrainingData, special_tokens
from bert_corpus.storyworld import CLASSIC_BLANKS, stories
from bert_corpus.wordpiece import train_wordpiece
from bert_experiments.capstone.replaced import MODEL_FUNCTIONS, Functions, replaced
from bert_experiments.report.models import TokensInMemory
from bert_numpy import optimizer
from bert_numpy.checks import Batch
from bert_numpy.encoder import Bert
from bert_numpy.masking import mask_tokens
from bert_numpy.model import Losses, logits_forward, pretraining_backward, pretraining_forward
from bert_run.config import (
    AdamSettings,
    BertConfig,
    MaskingRecipe,
    Weights,
    initial_weights,
    make_mimetic,
)
from bert_run.training_loop import learning_rate

FUNCTIONS = (*MODEL_FUNCTIONS, "mask_tokens", "learning_rate", "clip_gradients", "adam_step")


# --- The data ---


def story_data(
    kinds: tuple[str, ...], *, documents: int, vocab_size: int, seq_length: int
) -> PretrainingData:
    """A corner of StoryWorld as sentence pairs: so many documents of each of some kinds, with a
    vocabulary of their own. Nothing is written."""
    parts = {"train": documents, "heldout": max(2, documents // 10)}
    told = {part: [story for kind in kinds for story in stories(count, split=part, kind=kind)]
            for part, count in parts.items()}  # fmt: skip
    words = [sentence.text for story in told["train"] for sentence in story.sentences]
    tokenizer = train_wordpiece(words, vocab_size, progress=False)
    train, heldout = (
        PairDataset(TokensInMemory.of(told[part], tokenizer), special_tokens(tokenizer),
                    seq_length=seq_length, seed=seed)
        for seed, part in enumerate(parts)
    )  # fmt: skip
    return PretrainingData(tokenizer, train=train, heldout=heldout)


# --- A training whose functions may be replaced ---


@dataclass(frozen=True)
class Recipe:
    """What both trainings have in common."""

    config: BertConfig
    steps: int
    batch_size: int
    peak: float
    warmup_steps: int
    max_norm: float = 1.0
    rate: float = 0.15  # of the tokens that are masked
    beta2: float = 0.999
    seed: int = 0
    dtype: str = "float32"


def mask_batch(batch: Batch, rng, data: PretrainingData, recipe: Recipe, given: Functions) -> Batch:
    """A masked batch, by the masks of the replaced function if there is one."""
    if "mask_tokens" not in given:
        return mask_tokens(batch, mask_id=data.mask_id, ordinary_ids=data.ordinary_ids,
                           seed=recipe.seed, recipe=MaskingRecipe(recipe.rate))  # fmt: skip
    vocab_size = recipe.config.vocab_size
    special_ids = np.setdiff1d(np.arange(vocab_size), data.ordinary_ids).tolist()
    shown, labels = given["mask_tokens"](
        batch["input_ids"], rng, mask_id=data.mask_id, vocab_size=vocab_size,
        special_ids=special_ids, rate=recipe.rate,
    )  # fmt: skip
    return batch | {"input_ids": shown} | slots_of(labels)


def slots_of(labels: Int[ndarray, "batch seq"]) -> Batch:
    """The masked positions of each row, in as many slots as the fullest row needs."""
    selected = labels != -100
    slots = max(1, int(selected.sum(axis=1).max()))
    positions = np.argsort(~selected, axis=1, kind="stable")[:, :slots]  # (batch, masks)
    used = np.take_along_axis(selected, positions, axis=1)
    return {
        "masked_lm_positions": positions * used,
        "masked_lm_ids": np.take_along_axis(labels, positions, axis=1) * used,
        "masked_lm_weights": used.astype(np.float32),
    }


class Training:
    """Weights and moments, moved step by step, with some functions in place of the reference's."""

    def __init__(self, recipe: Recipe, weights: Weights, functions: Functions) -> None:
        self.recipe, self.functions = recipe, dict(functions)
        self.bert = Bert(recipe.config, weights)
        self.state = {kind: {n: np.zeros_like(w) for n, w in weights.items()} for kind in "mv"}

    def gradients(self, batch: Batch) -> tuple[Losses, Weights]:
        """Forward and backward with the replaced functions."""
        with replaced(self.functions):
            losses, cache = pretraining_forward(self.bert, batch)
            return losses, pretraining_backward(cache).of

    def step(self, batch: Batch, step: int) -> tuple[Losses, Weights]:
        """Both losses of a batch and the gradients; then the weights have moved."""
        recipe, given = self.recipe, self.functions
        losses, gradients = self.gradients(batch)
        clipped, _ = given.get("clip_gradients", clip_gradients)(gradients, recipe.max_norm)
        rate = given.get("learning_rate", learning_rate)(
            step, peak=recipe.peak, warmup_steps=recipe.warmup_steps, total_steps=recipe.steps
        )
        weights, self.state = given.get("adam_step", adam_step)(
            self.bert.weights, clipped, self.state, learning_rate=rate, beta2=recipe.beta2
        )
        self.bert = Bert(recipe.config, weights)
        return losses, gradients

    def guesses(self, ids: list[int], place: int) -> list[tuple[int, float]]:
        """The words of the vocabulary for one place of a sentence, likeliest first."""
        row = np.array([ids])
        batch = {"input_ids": row, "token_type_ids": 0 * row, "attention_mask": 0 * row + 1,
                 "masked_lm_positions": np.array([[place]])}  # fmt: skip
        with replaced(self.functions):
            words = logits_forward(self.bert, batch)[0].words[0].astype(np.float64)
        probs = np.exp(words - words.max())
        probs /= probs.sum()
        return [(int(i), float(probs[i])) for i in np.argsort(-probs)]


def clip_gradients(gradients: Weights, max_norm: float) -> tuple[Weights, float]:
    """`optimizer.clip_gradients`, which works in place, on a copy."""
    gradients = {name: gradient.copy() for name, gradient in gradients.items()}
    return gradients, optimizer.clip_gradients(gradients, max_norm)


def adam_step(
    weights: Weights, gradients: Weights, state: dict[str, Weights], *, learning_rate: float,
    **settings,
) -> tuple[Weights, dict[str, Weights]]:  # fmt: skip
    """`optimizer.Adam.update`, which works in place, on copies."""
    weights, m, v = ({n: a.copy() for n, a in arrays.items()}
                     for arrays in (weights, state["m"], state["v"]))  # fmt: skip
    adam = optimizer.Adam(AdamSettings(**settings), m, v)
    adam.update(weights, gradients, learning_rate=learning_rate)
    return weights, {"m": m, "v": v}


def begin(recipe: Recipe, functions: Functions) -> Training:
    """At the first weights. Attention begins by looking for its like: then minutes are enough."""
    weights = initial_weights(recipe.config, recipe.seed)
    weights = make_mimetic(weights, recipe.config, recipe.seed)
    return Training(recipe, {n: w.astype(recipe.dtype) for n, w in weights.items()}, functions)


def train(data: PretrainingData, *trainings: Training) -> Iterator[list[Losses]]:
    """Train to the end, all on the batches of the first; the losses of each step."""
    recipe, functions = trainings[0].recipe, trainings[0].functions
    for step in range(recipe.steps):
        first = step * recipe.batch_size
        with threadpool_limits(limits=1, user_api="blas"):  # the products are too small to share
            pairs = data.train.batch(np.arange(first, first + recipe.batch_size))
            rng = np.random.default_rng([recipe.seed, step])
            batch = mask_batch(pairs, rng, data, recipe, functions)
            losses = [training.step(batch, step)[0] for training in trainings]
        yield losses


def side_by_side(data: PretrainingData, training: Training) -> Iterator[list[Losses]]:
    """Train to the end, beside a reference that begins alike."""
    return train(data, training, Training(training.recipe, dict(training.bert.weights), {}))


# --- A minute or two of it ---


def in_a_minute(steps: int) -> tuple[PretrainingData, Recipe]:
    """What a small BERT learns a corner of the town from while one waits.

    20% of the words are hidden in place of 15%, and v forgets sooner: both as in `make demo`. A
    rate of 2e-3 or more would be too much for Adam without bias correction, whose first steps are
    large: the loss then stays where counting words alone would have it.
    """
    kinds = ("geography_lesson", "restaurant_review", "pet_at_home", "farm_year")
    data = story_data(kinds, documents=300, vocab_size=800, seq_length=32)
    config = BertConfig(
        vocab_size=data.tokenizer.get_vocab_size(), hidden_size=64, num_hidden_layers=2,
        num_attention_heads=4, intermediate_size=256, hidden_act="gelu_new",
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, max_position_embeddings=32,
    )  # fmt: skip
    return data, Recipe(config, steps=steps, batch_size=32, peak=1.5e-3, rate=0.2, beta2=0.98,
                        warmup_steps=max(1, steps // 10))  # fmt: skip


def fill_blanks(
    training: Training, data: PretrainingData
) -> Iterator[tuple[str, list[tuple[str, float]], bool]]:
    """Each of the four classic blanks, the three likeliest words, whether the first is right."""
    for text, accepted in CLASSIC_BLANKS:
        ids = data.tokenizer.encode(text).ids
        best = training.guesses(ids, ids.index(data.mask_id))[:3]
        words = [(data.tokenizer.id_to_token(i), share) for i, share in best]
        yield text, words, words[0][0] in accepted
