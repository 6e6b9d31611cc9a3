"""A trained BERT to play with before anything of it is built, one method for each question.

bert = open_demo()
bert.fill("The crane spread its [MASK] and flew over the marsh.")
bert.follows("The crane stood in the river.", "It caught a silver fish.")
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from tokenizers import Encoding

from bert_corpus.storyworld.generator import stories
from bert_experiments.looking_inside.attention_maps import attention_of
from bert_experiments.looking_inside.senses import stories_with_senses
from bert_lowlevel.model import Bert, to_tensors
from bert_paper.demo import principal_plane, sense_vectors
from bert_paper.fill_mask import fill_mask
from bert_paper.pretrained import Pretrained, open_pretrained
from bert_run.files import demo_folder
from bert_run.weights import load_weights


@dataclass(frozen=True)
class FirstLook:
    """A model and what one may ask it. A text is one sentence, or a pair: A and B."""

    pretrained: Pretrained

    def encode(self, a: str, b: str | None = None) -> Encoding:
        return self.pretrained.tokenizer.encode(a, b)

    def batch(self, a: str, b: str | None = None) -> dict[str, torch.Tensor]:
        text = self.encode(a, b)
        return {
            "input_ids": torch.tensor([text.ids]),
            "token_type_ids": torch.tensor([text.type_ids]),
            "attention_mask": torch.tensor([text.attention_mask]),
        }

    def fill(self, text: str, *, top: int = 3) -> list[tuple[str, float]]:
        """The likeliest words for the first [MASK], each with its probability."""
        guesses = fill_mask(self.pretrained, text, top=top)[0]
        return [(guess.token, round(guess.probability, 2)) for guess in guesses]

    @torch.no_grad()
    def follows(self, a: str, b: str) -> float:
        """The probability that B came next after A in some text."""
        logits = self.pretrained.model(**self.batch(a, b), masked_lm_positions=torch.tensor([[1]]))
        return logits[1].softmax(-1)[0, 0].item()

    @torch.no_grad()
    def vectors(self, a: str, b: str | None = None) -> Float[ndarray, "seq hidden"]:
        """What BERT returns: a vector for each token."""
        return self.pretrained.model.bert(**self.batch(a, b)).last_hidden_state[0].numpy()

    def attention(
        self, a: str, b: str | None = None
    ) -> list[Float[ndarray, "batch heads seq seq"]]:
        """The attention weights of every layer and head."""
        config = self.pretrained.model.config
        weights = load_weights(self.pretrained.folder, config)
        return attention_of(Bert(config, to_tensors(weights)), self.batch(a, b))

    def senses_of(self, word: str) -> dict[str, Float[ndarray, "occurrences hidden"]]:
        """The vectors of a word in unseen stories, by what it means there."""
        told = stories_with_senses(60)
        vectors, senses = sense_vectors(self.pretrained, told, word, seq_length=128)
        return {sense: vectors[np.array(senses) == sense] for sense in sorted(set(senses))}

    @property
    def sizes(self) -> dict[str, int]:
        """What the paper calls the size of a model."""
        model = self.pretrained.model
        return {
            "layers": model.config.num_hidden_layers,
            "hidden": model.config.hidden_size,
            "heads": model.config.num_attention_heads,
            "vocabulary": model.config.vocab_size,
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
        }


def on_paper(
    senses: dict[str, Float[ndarray, "occurrences hidden"]],
) -> dict[str, Float[ndarray, "occurrences 2"]]:
    """The same vectors as points of a plane, that in which they spread most."""
    points = principal_plane(np.concatenate(list(senses.values())))
    ends = np.cumsum([len(vectors) for vectors in senses.values()])
    return dict(zip(senses, np.split(points, ends[:-1]), strict=True))


def blanks(count: int) -> list[tuple[str, str]]:
    """Sentences of unseen stories with one word hidden that the rest settles, and that word."""
    found = []
    for story in stories(count, split="heldout"):
        for sentence in story.sentences:
            for mark in sentence.marks:
                word = sentence.text[mark.start : mark.end]
                if mark.settled_by in ("left", "right", "both") and word.isalpha():
                    text = sentence.text[: mark.start] + "[MASK]" + sentence.text[mark.end :]
                    found.append((text, word.lower()))
    order = np.random.default_rng(0).permutation(len(found))
    return [found[place] for place in order[:count]]


def open_demo() -> FirstLook:
    """The model that `make demo` trained."""
    return FirstLook(open_pretrained(demo_folder()))
