"""Sentence pairs for pretraining, built as the paper builds them (section 3.1, appendix A.2).

    [CLS] the crane stood in the river . [SEP] it caught a silver fish . [SEP] [PAD] [PAD]
      0    0   0     0    0   0    0   0   0     1   1    1   1     1  1   1     0     0

A chunk of consecutive sentences is cut in two at a random sentence. Its first part is segment A.
Segment B is the second part (label 0, IsNext), or with probability one half sentences from another
document (label 1). With sentence order in place of next sentence ("sop"; ALBERT, Lan et al. 2020,
section 3.1) both parts of the chunk are taken, and in half of the cases they are swapped (label 1).

The released code walks through each document once and keeps what it has not used for the next
chunk. Here **example i is a pure function of (corpus, seed, i)**: it is the chunk that begins with
one sentence, and every sentence has its turn once in a round, in an order drawn anew. So chunks
overlap, and a round reads a text of short sentences about ten times, the middle of a document more
often than its ends. To resume is to ask for the next index; many machines share out the indices.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float64, Int64, UInt64

from bert_run.config import PairRecipe
from bert_run.errors import UserError

IS_NEXT, IS_RANDOM = 0, 1
IN_ORDER, SWAPPED = 0, 1
SPECIALS_IN_A_PAIR = 3  # [CLS] A [SEP] B [SEP]
SHORT_PROBABILITY = 0.1  # of aiming at a shorter example, so that these are learned too
BITS_IN_A_WORD = 64

PAPER = PairRecipe()

Batch = dict[str, np.ndarray]
Index = Int64[np.ndarray, "batch"]
Segment = tuple[Index, Index]  # where it begins in the tokens, and how many it has


@runtime_checkable
class Tokens(Protocol):
    """What pairs need of a corpus: `TokenStore` has it, and so has a small test double."""

    tokens: np.ndarray  # every token id of the corpus, one after another
    sentence_starts: np.ndarray  # where each sentence begins in `tokens`; then len(tokens)
    document_starts: np.ndarray  # where each document begins in sentences; then their number


@dataclass(frozen=True)
class SpecialTokens:
    """The ids that frame a pair."""

    pad: int
    cls: int
    sep: int


class PairDataset:
    """All the sentence pairs of a corpus: `dataset.batch(indices)` makes those asked for."""

    def __init__(self, corpus: Tokens, specials: SpecialTokens, *, seq_length: int, seed: int,
                 recipe: PairRecipe = PAPER) -> None:  # fmt: skip
        if seq_length < SPECIALS_IN_A_PAIR + 2:
            raise UserError(f"seq_length is {seq_length}: a pair of one-token sentences needs 5")
        if len(corpus.document_starts) < 3:
            raise UserError("the corpus has a single document: a segment B from another one "
                            "needs two or more (empty lines part documents)")  # fmt: skip
        self.corpus, self.specials = corpus, specials
        self.seq_length, self.seed, self.recipe = seq_length, seed, recipe
        self.num_sentences = len(corpus.sentence_starts) - 1
        self.num_documents = len(corpus.document_starts) - 1

    @property
    def examples_per_epoch(self) -> int:
        """How many examples have as many tokens as the corpus."""
        return max(1, len(self.corpus.tokens) // (self.seq_length - SPECIALS_IN_A_PAIR))

    def at_length(self, seq_length: int) -> "PairDataset":
        """The pairs of the same corpus at another length."""
        return PairDataset(self.corpus, self.specials, seq_length=seq_length, seed=self.seed,
                           recipe=self.recipe)  # fmt: skip

    def batch(self, indices: Index) -> Batch:
        """Make the examples of these indices.

        Returns `input_ids`, `token_type_ids`, `attention_mask` (batch, seq), all int64,
        `next_sentence_labels` (batch,) and `example_index` (batch,), from which masking draws.
        """
        indices = np.asarray(indices, np.int64)
        draw = uniforms(self.seed, indices, 6).T
        room = self.seq_length - SPECIALS_IN_A_PAIR

        # How long: nearly always all the room there is, sometimes less.
        short = draw[0] < SHORT_PROBABILITY
        target = np.where(short, 2 + (draw[1] * (room - 1)).astype(np.int64), room)

        # Which sentences: the chunk from the sentence whose turn it is.
        turn, position = np.divmod(indices, self.num_sentences)
        anchor = permute(position, self.num_sentences, seed=self.seed, turn=turn)
        document = self.document_of(anchor)
        first, last = self.chunk_from(anchor, document, target)

        # Where A ends: after a random sentence, never the last if there are two or more.
        middle = first + 1 + (draw[2] * np.maximum(last - first - 1, 0)).astype(np.int64)
        middle = np.minimum(middle, last)
        a, rest = self.tokens_of(first, middle), self.tokens_of(middle, last)

        # What B is: the rest of the chunk, or a chunk of another document.
        room_for_b = np.maximum(target - a[1], 1)
        elsewhere = self.chunk_elsewhere(document, room_for_b, draw[4], draw[5])
        if self.recipe.sentence_task == "sop":
            a, b, labels = in_either_order(a, rest, draw[2], draw[3])
            lone = b[1] == 0  # a chunk of one token has no two parts
            b, labels = choose(lone, elsewhere, b), np.where(lone, SWAPPED, labels)
        else:
            is_random = (draw[3] < self.recipe.random_next) | (last - first == 1)
            b, labels = choose(is_random, elsewhere, rest), np.where(is_random, IS_RANDOM, IS_NEXT)

        (a_start, a_length), (b_start, b_length) = a, b
        a_cut, b_cut = tokens_to_cut(a_length, b_length, room)
        a_front = self.coin_tosses(indices, a_cut, stream=2)
        b_front = self.coin_tosses(indices, b_cut, stream=3)
        framed = self.framed(a_start + a_front, a_length - a_cut,
                             b_start + b_front, b_length - b_cut)  # fmt: skip
        return framed | {"next_sentence_labels": labels, "example_index": indices}

    def tokens_of(self, first: Index, last: Index) -> Segment:
        """The tokens of sentences first … last - 1."""
        starts = self.corpus.sentence_starts
        return starts[first], starts[last] - starts[first]

    def chunk_elsewhere(self, document: Index, target: Index, draw_document: np.ndarray,
                        draw_sentence: np.ndarray) -> Segment:  # fmt: skip
        """A chunk of a random other document."""
        other = (draw_document * (self.num_documents - 1)).astype(np.int64)
        other += other >= document
        anchor = self.random_sentence(other, draw_sentence)
        return self.tokens_of(*self.chunk_from(anchor, other, target))

    def document_of(self, sentence: Index) -> Index:
        return np.searchsorted(self.corpus.document_starts, sentence, side="right") - 1

    def random_sentence(self, document: Index, draw: np.ndarray) -> Index:
        """A sentence of each document, uniformly."""
        starts = self.corpus.document_starts
        begin, end = starts[document], starts[document + 1]
        return begin + (draw * (end - begin)).astype(np.int64)

    def chunk_from(self, sentence: Index, document: Index, target: Index) -> tuple[Index, Index]:
        """Consecutive sentences [first, last) of a document with `target` tokens or just over.

        The chunk begins with `sentence`. When the document ends too early, it is filled from the
        sentences before, so only documents shorter than `target` leave padding.
        """
        starts, document_starts = self.corpus.sentence_starts, self.corpus.document_starts
        last = np.searchsorted(starts, starts[sentence] + target, side="left")
        last = np.minimum(last, document_starts[document + 1])
        reaches_back = np.searchsorted(starts, starts[last] - target, side="right") - 1
        first = np.minimum(sentence, np.maximum(reaches_back, document_starts[document]))
        return first, last

    def coin_tosses(self, indices: Index, tosses: Index, *, stream: int) -> Index:
        """How many of so many fair tosses come up heads: of the tokens to cut, those in front."""
        words = -(-int(tosses.max(initial=0)) // BITS_IN_A_WORD)
        if words == 0:
            return np.zeros_like(tosses)
        bits = random_bits(self.seed, indices, words, stream=stream)  # (batch, words)
        used = tosses[:, None] - BITS_IN_A_WORD * np.arange(words)  # of each word, (batch, words)
        unused = (BITS_IN_A_WORD - np.clip(used, 0, BITS_IN_A_WORD)).astype(np.uint64)
        bits = np.where(unused == BITS_IN_A_WORD, 0, bits >> (unused % np.uint64(BITS_IN_A_WORD)))
        return np.bitwise_count(bits).sum(axis=1).astype(np.int64)

    def framed(self, a_start: Index, a_length: Index, b_start: Index, b_length: Index) -> Batch:
        """[CLS] A [SEP] B [SEP] and padding, from where A and B lie in the token store."""
        column = np.arange(self.seq_length)  # (seq,)
        first_sep, last_sep = (a_length + 1)[:, None], (a_length + b_length + 2)[:, None]
        in_a = (column >= 1) & (column < first_sep)  # (batch, seq)
        in_b = (column > first_sep) & (column < last_sep)
        source = np.where(in_a, a_start[:, None] + column - 1, 0)
        source = np.where(in_b, b_start[:, None] + column - first_sep - 1, source)
        ids = np.where(in_a | in_b, self.corpus.tokens[source], self.specials.pad).astype(np.int64)
        ids[:, 0] = self.specials.cls
        np.put_along_axis(ids, first_sep, self.specials.sep, axis=1)
        np.put_along_axis(ids, last_sep, self.specials.sep, axis=1)
        return {
            "input_ids": ids,
            "token_type_ids": ((column > first_sep) & (column <= last_sep)).astype(np.int64),
            "attention_mask": (column <= last_sep).astype(np.int64),
        }


def choose(condition: np.ndarray, yes: Segment, no: Segment) -> Segment:
    return tuple(np.where(condition, yes, no))


def in_either_order(a: Segment, rest: Segment, draw_cut: np.ndarray,
                    draw_order: np.ndarray) -> tuple[Segment, Segment, Index]:  # fmt: skip
    """Both parts of a chunk, in their order or swapped, and the label.

    A chunk of one sentence has no rest: it is cut after a random token.
    """
    (start, length), (rest_start, rest_length) = a, rest
    cut = 1 + (draw_cut * np.maximum(length - 1, 0)).astype(np.int64)
    cut = np.where(rest_length == 0, np.minimum(cut, length), length)
    rest = np.where(rest_length == 0, start + cut, rest_start), rest_length + length - cut
    a, is_swapped = (start, cut), (draw_order < 0.5) & (rest[1] > 0)
    labels = np.where(is_swapped, SWAPPED, IN_ORDER)
    return choose(is_swapped, rest, a), choose(is_swapped, a, rest), labels


def tokens_to_cut(a_length: Index, b_length: Index, room: int) -> tuple[Index, Index]:
    """How many tokens each segment loses for both to fit: one at a time from the longer one, from
    B when they are equal (`truncate_seq_pair` of the released code, without its loop)."""
    excess = np.maximum(a_length + b_length - room, 0)
    a_alone = np.minimum(excess, np.maximum(a_length - b_length, 0))  # until both are as long
    b_alone = np.minimum(excess, np.maximum(b_length - a_length, 0))
    rest = excess - a_alone - b_alone  # then in turn, B first
    return a_alone + rest // 2, b_alone + rest - rest // 2


def pair_report(dataset: PairDataset, *, sample: int = 10_000) -> dict[str, float]:
    """What the pairs are like: padding, the true share of random next sentences, lengths."""
    size = min(sample, max(1_000, dataset.num_sentences))
    made = [dataset.batch(np.arange(i, min(i + 512, size))) for i in range(0, size, 512)]
    lengths = np.concatenate([batch["attention_mask"].sum(axis=1) for batch in made])
    labels = np.concatenate([batch["next_sentence_labels"] for batch in made])
    return {
        "pairs_sampled": size,
        "padding_share": round(float(1 - lengths.mean() / dataset.seq_length), 4),
        "random_next_share": round(float((labels == IS_RANDOM).mean()), 4),
        "mean_pair_length": round(float(lengths.mean()), 1),
    }


# Random numbers without a state: each is a function of a key and of where it is used.
#
# A generator that is advanced ties every draw to all draws before it. Here draw number d of example
# i under seed s is a hash of (s, i, d), so any example can be made at any time, on any machine, in
# any order, and comes out the same. The hash is the finalizer of SplitMix64 (Steele, Lea and Flood
# 2014, figure 16), whose output passes the BigCrush battery when the input merely counts.

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2**64 divided by the golden ratio, made odd


def mix(x: UInt64[np.ndarray, "*shape"]) -> UInt64[np.ndarray, "*shape"]:
    """Scatter 64-bit integers: each input bit changes about half of the output bits."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def random_bits(seed: int, index: Int64[np.ndarray, "batch"], draws: int, *,
                stream: int = 0) -> UInt64[np.ndarray, "batch {draws}"]:  # fmt: skip
    """`draws` random 64-bit integers for each index; another `stream` gives others."""
    key = mix(np.array([(seed * 0x10001 + stream) & (2**64 - 1)], np.uint64) * GOLDEN + GOLDEN)
    row = mix(index.astype(np.uint64) * GOLDEN + key)  # (batch,)
    column = np.arange(1, draws + 1, dtype=np.uint64) * GOLDEN  # (draws,)
    return mix(row[:, None] + column)


def uniforms(seed: int, index: Int64[np.ndarray, "batch"], draws: int, *,
             stream: int = 0) -> Float64[np.ndarray, "batch {draws}"]:  # fmt: skip
    """`draws` numbers uniform in [0, 1) for each index, with the full 53 bits of a float64."""
    return (random_bits(seed, index, draws, stream=stream) >> np.uint64(11)) * 2.0**-53


def permute(position: Int64[np.ndarray, "batch"], size: int, *, seed: int,
            turn: Int64[np.ndarray, "batch"]) -> Int64[np.ndarray, "batch"]:  # fmt: skip
    """Where shuffle number `turn` of `size` things puts each position: a bijection of 0 … size-1.

    A Feistel network of four rounds permutes the next power of four; positions that land outside
    `size` are sent through again until they fall inside ("cycle walking", Black and Rogaway 2002),
    so a shuffle of billions needs no table.
    """
    half = np.uint64(max(1, ((size - 1).bit_length() + 1) // 2))
    mask = (np.uint64(1) << half) - np.uint64(1)
    keys = random_bits(seed, turn, 4, stream=1)  # (batch, rounds)
    out, todo = position.astype(np.uint64), np.arange(len(position))
    while len(todo):
        left, right = out[todo] >> half, out[todo] & mask
        for key in keys[todo].T:
            left, right = right, left ^ (mix(right * GOLDEN + key) & mask)
        out[todo] = (left << half) | right
        todo = todo[out[todo] >= size]
    return out.astype(np.int64)
