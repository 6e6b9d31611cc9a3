"""A BiLSTM on the frozen vectors of a model, asked for as a run of `bert-finetune` is.

For Table 8 the paper's best choice of vectors, the last four layers side by side; for Table 7 all.
"""

from bert_experiments.feature_based.__main__ import (
    FeatureSettings,
    compared_feature,
    drawn_by,
    open_tags,
)
from bert_experiments.feature_based.bench import Bench, measure, read, untrained
from bert_experiments.feature_based.table_7 import MEASURE
from bert_finetuning.features import chosen_features, features_of
from bert_finetuning.settings import FinetuneSettings
from bert_paper.pretrained import Pretrained, open_pretrained
from bert_run.device import choose_device
from bert_run.metrics import Record

ROUNDS = 15  # of a tagger on StoryWorld's few sentences; on real data those of `feature_based`


def asked_of(settings: FinetuneSettings) -> FeatureSettings:
    asked = FeatureSettings(
        checkpoint=settings.model if settings.from_nothing else settings.checkpoint,
        task=settings.task,
        data=settings.data,
        few_shot=settings.few_shot,
        seeds=1,
        seed=settings.seed,
        device=settings.device,
        rounds=ROUNDS if settings.task == "names" else FeatureSettings.rounds,
    )
    return asked


def open_bench(settings: FinetuneSettings) -> tuple[Bench, Pretrained]:
    asked = asked_of(settings)
    data, device = open_tags(asked), choose_device(settings.device)
    pretrained = open_pretrained(asked.checkpoint, device)
    if settings.from_nothing:
        pretrained = untrained(pretrained, settings.seed)
    width = pretrained.model.config.hidden_size
    return Bench(data, drawn_by(data, asked), asked.recipe(width), device), pretrained


def score_of_features(settings: FinetuneSettings) -> dict[str, Record]:
    """On the last four layers side by side."""
    bench, pretrained = open_bench(settings)
    feature = features_of(pretrained.model.config.num_hidden_layers)["concat-last-4"]
    vectors = read(bench, pretrained, list(feature.layers))
    score = bench.score(vectors, feature, settings.seed)
    return {"scores": {bench.data.kind.metrics[0]: score}, "majority": majority_of(bench)}


def scores_of_all_features(settings: FinetuneSettings) -> dict[str, Record]:
    """On each choice of layers, and on those of an untrained model."""
    bench, pretrained = open_bench(settings)
    features = chosen_features(("all",), pretrained.model.config.num_hidden_layers)
    found = measure(bench, pretrained, features, compared=compared_feature(features))
    scores = {name: runs[0][MEASURE] for name, runs in found.items()}
    return {"scores": scores, "majority": majority_of(bench)}


def majority_of(bench: Bench) -> Record:
    data = bench.data
    return data.kind.score(data.dev, data.kind.most_common(data.train, data.dev))
