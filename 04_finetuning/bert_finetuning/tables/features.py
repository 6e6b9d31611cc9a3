"""Names by features: a BiLSTM on the frozen vectors of a model, in the paper's best choice of them,
the last four layers side by side."""

from bert_finetuning.feature_based import FeatureSettings, drawn_by, open_tags
from bert_finetuning.feature_bench import Bench, read, untrained
from bert_finetuning.features import features_of
from bert_finetuning.settings import FinetuneSettings
from bert_paper.device import choose_device
from bert_paper.pretrained import open_pretrained
from bert_run.metrics import Record

ROUNDS = 15  # of a tagger; the rest of its recipe is that of `feature_based`


def score_of_features(settings: FinetuneSettings) -> dict[str, Record]:
    """F1 on held-out sentences, of what is asked for as a run of `bert-finetune` is."""
    asked = FeatureSettings(
        checkpoint=settings.model if settings.from_nothing else settings.checkpoint,
        task=settings.task,
        data=settings.data,
        few_shot=settings.few_shot,
        seeds=1,
        seed=settings.seed,
        rounds=ROUNDS,
    )
    data, device = open_tags(asked), choose_device(settings.device)
    pretrained = open_pretrained(asked.checkpoint, device)
    if settings.from_nothing:
        pretrained = untrained(pretrained, settings.seed)
    config = pretrained.model.config
    bench = Bench(data, drawn_by(data, asked), asked.recipe(config.hidden_size), device)
    feature = features_of(config.num_hidden_layers)["concat-last-4"]
    score = bench.score(read(bench, pretrained, list(feature.layers)), feature, settings.seed)
    most_common = data.kind.most_common(data.train, data.dev)
    return {
        "scores": {data.kind.metrics[0]: score},
        "majority": data.kind.score(data.dev, most_common),
    }
