"""A training step on all cores, and the loop around it.

A batch is cut into small parts, so that every core has work and a part's arrays stay small. Every
core takes its share of the parts, and the gradients are added up: exactly the gradient of the whole
batch, since every part divides by the counts of the whole. Many GPUs share a batch in the same way.

A step depends on the weights, the optimizer's moments and its own number alone. So these are all
that is saved, and a run that was killed ends with the same bits as one that was not.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from threadpoolctl import threadpool_limits

from bert_corpus.pairs import PairDataset
from bert_corpus.pretraining_run import PretrainingData
from bert_numpy.checks import Batch
from bert_numpy.encoder import Bert, Gradients
from bert_numpy.masking import mask_tokens
from bert_numpy.model import Losses, logits_forward, pretraining_backward, pretraining_forward
from bert_numpy.operations import cross_entropy_forward
from bert_numpy.optimizer import Adam, clip_gradients
from bert_run.config import MaskingRecipe, RunSettings
from bert_run.training_loop import Journal, Record, learning_rate, refuse_divergence, split_batch

EVALUATION_ROWS = 32
TOKENS_IN_A_PART = 2048  # unless the settings say how many rows


class Cores:
    """The cores of this machine, each at work on its own share: `with Cores() as cores`. Inside
    the block NumPy's BLAS must use one thread for each product, not all cores."""

    def __init__(self, count: int | None = None) -> None:
        self.count = count or os.cpu_count() or 1
        self.pool = ThreadPoolExecutor(self.count)

    def __enter__(self) -> "Cores":
        self.one_core_a_product = threadpool_limits(limits=1, user_api="blas")
        return self

    def __exit__(self, *_: object) -> None:
        self.pool.shutdown(cancel_futures=True)
        self.one_core_a_product.restore_original_limits()

    def map(self, work: Callable[[list[int]], object], pieces: int) -> list:
        """Deal out pieces 0 … `pieces` - 1 and call `work` on each core's share, all at once.

        The results come in the order of the cores, so that sums of them always come out the same.
        """
        shares = [list(range(core, pieces, self.count)) for core in range(self.count)]
        return list(self.pool.map(work, [share for share in shares if share]))


def rows_in_a_part(batch: Batch) -> int:
    """Two parts at least, so that small batches keep two cores busy. How many cores there are is
    not asked: dropout, which each part draws for itself, must be the same on every machine."""
    rows, seq_length = batch["input_ids"].shape
    return max(1, min(TOKENS_IN_A_PART // seq_length, -(-rows // 2)))


def batch_gradients(
    bert: Bert, batch: Batch, cores: Cores, *,
    rows: int | None = None, dropout_seed: list[int] | None = None,
) -> tuple[Losses, Gradients]:  # fmt: skip
    """Losses and gradients of a whole batch, parts of `rows` rows on all cores.

    With a `dropout_seed`, each part draws dropout from a generator of its own: the
    same numbers are dropped on whatever core.
    """
    parts = split_batch(batch, rows or rows_in_a_part(batch))
    counts = {"mask_count": float(batch["masked_lm_weights"].sum()),
              "pair_count": len(batch["input_ids"])}  # fmt: skip

    def work(share: list[int]) -> tuple[Losses, Gradients]:
        gradients, mlm, nsp = Gradients(), 0.0, 0.0
        for number in share:
            seeded = dropout_seed and np.random.default_rng([*dropout_seed, number])
            part_bert = replace(bert, generator=seeded)
            losses, cache = pretraining_forward(part_bert, parts[number], **counts)
            pretraining_backward(cache, gradients)
            mlm, nsp = mlm + losses.mlm, nsp + losses.nsp
        return Losses(mlm, nsp), gradients

    results = cores.map(work, len(parts))
    total = results[0][1]
    for _, gradients in results[1:]:
        for name, gradient in gradients.of.items():
            total.add(name, gradient)
    mlm, nsp = sum(losses.mlm for losses, _ in results), sum(losses.nsp for losses, _ in results)
    return Losses(mlm, nsp), total


@dataclass(frozen=True)
class Task:
    """What a model is trained or measured on, and how it is masked."""

    pairs: PairDataset
    data: PretrainingData
    recipe: MaskingRecipe
    seed: int

    def batch(self, first: int, size: int) -> Batch:
        """Masked examples first … first + size - 1."""
        pairs = self.pairs.batch(np.arange(first, first + size))
        return mask_tokens(pairs, mask_id=self.data.mask_id, ordinary_ids=self.data.ordinary_ids,
                           seed=self.seed, recipe=self.recipe)  # fmt: skip


def evaluate(bert: Bert, task: Task, cores: Cores, *, examples: int) -> Record:
    """Both losses in nats and both accuracies, over the first `examples` held-out pairs."""
    parts = split_batch(task.batch(0, examples), EVALUATION_ROWS)

    def work(share: list[int]) -> np.ndarray:
        sums = np.zeros(5)
        for number in share:
            part = parts[number]
            weights, labels = part["masked_lm_weights"].reshape(-1), part["next_sentence_labels"]
            words, (logits, _) = part["masked_lm_ids"].reshape(-1), logits_forward(bert, part)
            ones = np.ones(len(labels), np.float32)
            sums += (
                cross_entropy_forward(logits.words, words, weights, 1.0)[0],
                ((logits.words.argmax(-1) == words) * weights).sum(),
                weights.sum(),
                cross_entropy_forward(logits.pairs, labels, ones, 1.0)[0],
                (logits.pairs.argmax(-1) == labels).sum(),
            )
        return sums

    mlm, words_right, masks, nsp, pairs_right = sum(cores.map(work, len(parts)))
    return {
        "heldout_mlm_loss": mlm / masks,
        "heldout_mlm_accuracy": words_right / masks,
        "heldout_nsp_loss": nsp / examples,
        "heldout_nsp_accuracy": pairs_right / examples,
    }


def train(
    bert: Bert, adam: Adam, tasks: list[tuple[Task, Task]], settings: RunSettings, cores: Cores, *,
    start: int, record: Callable[[Record], None], save: Callable[[int], None],
) -> None:  # fmt: skip
    """Steps `start` … `settings.steps` - 1, which move `bert.weights` in place.

    Each of `settings.phases` has its tasks: what is trained on, and held-out text of the same
    length. `record` receives metrics as they come, `save` the number of steps done.
    """
    phases = [(phase, *pair) for phase, pair in zip(settings.phases, tasks, strict=True)]
    has_dropout = max(bert.config.hidden_dropout_prob, bert.config.attention_probs_dropout_prob) > 0
    schedule = dict(peak=adam.settings.learning_rate, warmup_steps=settings.warmup,
                    total_steps=settings.steps)  # fmt: skip
    journal = Journal(settings, start=start, record=record)
    window: list[Losses] = []  # since the last line of metrics
    with journal.bar:
        for step in range(start, settings.steps):
            phase, task, heldout = next(entry for entry in phases if step < entry[0].last_step)
            batch = task.batch(phase.first_example_of(step), phase.batch_size)
            dropout_seed = [settings.seed, step] if has_dropout else None
            losses, gradients = batch_gradients(
                bert, batch, cores, rows=settings.micro_batch_size, dropout_seed=dropout_seed
            )
            norm = clip_gradients(gradients.of, settings.max_grad_norm)
            rate = learning_rate(step, **schedule)
            done = step + 1
            refuse_divergence(done, rate, mlm_loss=losses.mlm, nsp_loss=losses.nsp,
                              gradient_norm=norm)  # fmt: skip
            adam.update(bert.weights, gradients.of, learning_rate=rate)
            window.append(losses)
            if journal.step_done(done, tokens=phase.batch_size * phase.seq_length):
                mlm, nsp = np.mean(window, axis=0).tolist()
                journal.write(done, rate=rate, mlm=mlm, nsp=nsp)
                window.clear()
            with journal.paused():
                if done % settings.evaluation_interval == 0 or done == settings.steps:
                    examples = settings.eval_examples
                    journal.measured(done, evaluate(bert, heldout, cores, examples=examples))
                if done % settings.saving_interval == 0 or done == settings.steps:
                    save(done)
