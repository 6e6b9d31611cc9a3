"""What a linear classifier can read from a model's vectors, the model itself standing still.

The paper's feature-based approach (section 5.3), with the least classifier there is: vectors of the
last layers side by side, and one matrix behind them. Three labeled sets of StoryWorld stand in for
the paper's tasks: names in a sentence (its CoNLL-2003), whether one sentence follows from another
(its MNLI), and whether a review praises (its SST-2).
"""

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from tokenizers import Encoding
from torch import Tensor, nn

from bert_corpus.storyworld import entailment, names, sentiment
from bert_corpus.wordpiece import padded
from bert_finetuning.metrics import entity_scores
from bert_paper.pretrained import Pretrained
from bert_run.device import to_device

PARTS = (("train", 2000), ("heldout", 1000))  # texts of the two sets of whole texts
NAMES_TRAINED, NAMES_TESTED = 50, 500  # sentences: with more of them every model finds nearly all
NAMES_DRAWS = 5  # other fifties to train on, and the mean taken: fifty are few
LAYERS = 4  # so many of the last ones, side by side: the paper's best features (Table 7)
PENALTY = 1e-3  # on the square of the classifier's weights
BATCH = 64


def names_f1(pretrained: Pretrained) -> float:
    """Names found whole and of the right kind: F1 over entities, as CoNLL-2003 counts."""
    train = [names(i) for i in range(NAMES_DRAWS * NAMES_TRAINED)]
    test = [names(i, split="heldout") for i in range(NAMES_TESTED)]
    tags = sorted({tag for example in train for tag in example.tags})
    vectors = word_vectors(pretrained, [example.words for example in train + test])
    labels = [torch.tensor([tags.index(tag) for tag in example.tags]) for example in train]
    wanted = [example.tags for example in test]
    ends = np.cumsum([len(example.tags) for example in test])[:-1]
    scores = []
    for first in range(0, len(train), NAMES_TRAINED):
        drawn = slice(first, first + NAMES_TRAINED)
        predicted = classify(
            torch.cat(vectors[drawn]), torch.cat(labels[drawn]), torch.cat(vectors[len(train) :])
        )
        found = [row.tolist() for row in np.split(np.array(tags)[predicted.numpy()], ends)]
        scores.append(entity_scores(wanted, found)[0].f1)
    return float(np.mean(scores))


def entailment_accuracy(pretrained: Pretrained) -> float:
    sets = [[entailment(i, split=split) for i in range(count)] for split, count in PARTS]
    texts = [[(example.text_a, example.text_b) for example in part] for part in sets]
    return text_accuracy(pretrained, texts, [[e.label for e in part] for part in sets])


def sentiment_accuracy(pretrained: Pretrained) -> float:
    sets = [[sentiment(i, split=split) for i in range(count)] for split, count in PARTS]
    texts = [[(example.text,) for example in part] for part in sets]
    return text_accuracy(pretrained, texts, [[e.label for e in part] for part in sets])


def text_accuracy(
    pretrained: Pretrained, texts: list[list[tuple[str, ...]]], labels: list[list[str]]
) -> float:
    """How often the label of a text, or of a pair, is told from its vectors."""
    kinds = sorted(set(labels[0]))
    train, test = (
        summaries(pretrained, [pretrained.tokenizer.encode(*text) for text in part])
        for part in texts
    )
    given, wanted = (torch.tensor([kinds.index(label) for label in part]) for part in labels)
    return float((classify(train, given, test) == wanted).float().mean())


@torch.no_grad()
def states_of(
    pretrained: Pretrained, encodings: list[Encoding]
) -> list[Float[Tensor, "_seq features"]]:
    """For each text the vectors of its tokens, the last layers side by side."""
    device = next(pretrained.model.parameters()).device
    states: list[Tensor] = [torch.empty(0)] * len(encodings)
    by_length = sorted(range(len(encodings)), key=lambda row: len(encodings[row].ids))
    for first in range(0, len(encodings), BATCH):
        rows = by_length[first : first + BATCH]
        length = len(encodings[rows[-1]].ids)
        texts = [(encodings[row].ids, encodings[row].type_ids) for row in rows]
        inputs = padded(texts, length, pretrained.model.config.pad_token_id)
        layers = pretrained.model.bert(**to_device(inputs, device)).hidden_states[1:]
        vectors = torch.cat(layers[-LAYERS:], dim=-1).float().cpu()
        for row, vector in zip(rows, vectors, strict=True):
            states[row] = vector[: len(encodings[row].ids)]
    return states


def word_vectors(
    pretrained: Pretrained, sentences: list[tuple[str, ...]]
) -> list[Float[Tensor, "_words features"]]:
    """Sentence by sentence the vector of each word's first piece (paper, section 5.3)."""
    encodings = [pretrained.tokenizer.encode(list(s), is_pretokenized=True) for s in sentences]
    states = states_of(pretrained, encodings)
    return [
        vectors[[encoding.word_ids.index(word) for word in range(len(sentence))]]
        for sentence, encoding, vectors in zip(sentences, encodings, states, strict=True)
    ]


def summaries(pretrained: Pretrained, encodings: list[Encoding]) -> Float[Tensor, "texts features"]:
    """Each text as the vector of its [CLS], and the mean of each of its segments."""
    rows = []
    for encoding, states in zip(encodings, states_of(pretrained, encodings), strict=True):
        segments = torch.tensor(encoding.type_ids)
        means = [states[segments == s].mean(dim=0) for s in sorted(set(encoding.type_ids))]
        rows.append(torch.cat([states[0], *means]))
    return torch.stack(rows)


def classify(
    train: Float[Tensor, "examples features"],
    labels: Int[Tensor, "examples"],
    test: Float[Tensor, "others features"],
) -> Int[Tensor, "others"]:
    """Logistic regression on standardized features, to its one optimum (L-BFGS, float64)."""
    mean, spread = train.double().mean(dim=0), train.double().std(dim=0) + 1e-6
    train, test = ((part.double() - mean) / spread for part in (train, test))
    layer = nn.Linear(train.shape[1], int(labels.max()) + 1, dtype=torch.float64)
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)
    optimizer = torch.optim.LBFGS(layer.parameters(), max_iter=100, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        total = F.cross_entropy(layer(train), labels) + PENALTY * layer.weight.square().sum()
        total.backward()
        return total

    optimizer.step(loss)
    with torch.no_grad():
        return layer(test).argmax(dim=-1)
