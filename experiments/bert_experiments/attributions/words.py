"""Tokens back to words, and values of tokens to values of words."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from tokenizers import Tokenizer
from torch import Tensor

from bert_finetuning.examples import TaggedSentence
from bert_finetuning.kinds.base import Reading

SPECIAL = ("[CLS]", "[SEP]", "[PAD]")


@dataclass(frozen=True)
class Word:
    """A word, and its tokens `first` … `end` - 1 in what the model reads."""

    text: str
    first: int
    end: int

    @property
    def is_special(self) -> bool:
        """[CLS] and [SEP] are nobody's words, and take much of the attention."""
        return self.text in SPECIAL and self.end - self.first == 1


def words_of(ids: Sequence[int], tokenizer: Tokenizer) -> list[Word]:
    """A token, and what follows with "##"; in the letters of the vocabulary, lower case mostly."""
    words: list[Word] = []
    for place, token in enumerate(map(tokenizer.id_to_token, ids)):
        if token.startswith("##") and words and not words[-1].is_special:
            before = words.pop()
            words.append(Word(before.text + token[2:], before.first, place + 1))
        else:
            words.append(Word(token, place, place + 1))
    return words


def words_of_sentence(reading: Reading, sentence: TaggedSentence) -> list[Word]:
    """The words of a tagged sentence as they were written."""
    first_word, tokens = reading.place
    last = len(reading.input_ids) - 1
    ends = [*tokens[1:].tolist(), last]
    words = [
        Word(sentence.words[first_word + number], first, end)
        for number, (first, end) in enumerate(zip(tokens.tolist(), ends, strict=True))
    ]
    return [Word("[CLS]", 0, 1), *words, Word("[SEP]", last, last + 1)]


def summed(values: Float[Tensor, "*rows seq"], words: Sequence[Word]) -> Float[Tensor, "*rows _"]:
    """What the tokens of each word have together.

    Sums, not means: attention is shared out among tokens, and contributions add up.
    """
    sums = [values[..., word.first : word.end].sum(dim=-1) for word in words]
    return torch.stack(sums, dim=-1)
