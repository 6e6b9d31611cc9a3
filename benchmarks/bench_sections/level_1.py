"""A training step of level 1, NumPy: all cores, each at parts of the batch. No torch is loaded."""

from pathlib import Path

from bench_sections.models import read_batch
from bert_numpy.encoder import Bert
from bert_numpy.optimizer import Adam, clip_gradients
from bert_numpy.training import Cores, batch_gradients
from bert_run.config import AdamSettings, BertConfig
from bert_run.weights import load_weights


def level_1(folder: Path):
    config, batch, settings = BertConfig.load(folder), read_batch(folder), AdamSettings()
    weights = load_weights(folder, config)
    adam = Adam.start(weights, settings, correct_bias=True)
    cores = Cores().__enter__()  # for as long as this process lives
    has_dropout = config.hidden_dropout_prob > 0

    def step() -> float:
        losses, gradients = batch_gradients(
            Bert(config, weights), batch, cores, dropout_seed=[0, adam.step] * has_dropout or None
        )
        clip_gradients(gradients.of, settings.max_grad_norm)
        adam.update(weights, gradients.of, learning_rate=settings.learning_rate)
        return float(losses.total)

    return step


KINDS = {"level 1": level_1}
