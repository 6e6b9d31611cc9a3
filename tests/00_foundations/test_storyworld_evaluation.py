"""The blanks that are counted are the marked words, each hidden alone."""

import numpy as np
import pytest

from bert_corpus.storyworld import stories
from bert_corpus.storyworld.evaluation import (
    SETTLED_BY,
    hidden,
    inputs_of,
    measure_settled_words,
    probes_of,
    window,
)
from bert_corpus.wordpiece import train_wordpiece

DOCUMENTS = list(stories(60, split="heldout"))
SEQ = 96  # shorter than many documents


@pytest.fixture(scope="module")
def tokenizer():
    """So few entries that many words have several pieces."""
    return train_wordpiece((s.text for d in DOCUMENTS for s in d.sentences), 400, True)


def test_the_pieces_of_a_probe_spell_the_marked_word(tokenizer):
    several = 0
    for document in DOCUMENTS:
        marks = [(s.text[m.start : m.end].lower(), m) for s in document.sentences for m in s.marks
                 if m.settled_by]  # fmt: skip
        probes = list(probes_of(document, tokenizer, wanted="settled_by", seq_length=512))
        assert len(probes) == len(marks)
        for probe, (word, mark) in zip(probes, marks, strict=True):
            pieces = [tokenizer.id_to_token(probe.input_ids[i]) for i in probe.pieces]
            assert "".join(pieces).replace("##", "") == word
            assert probe.mark == mark
            several += len(pieces) > 1
    assert several > 50


def test_a_probe_is_a_pair_as_in_pretraining(tokenizer):
    cls, sep = (tokenizer.token_to_id(name) for name in ("[CLS]", "[SEP]"))
    for document in DOCUMENTS:
        for probe in probes_of(document, tokenizer, wanted="settled_by", seq_length=SEQ):
            ids, segments = np.array(probe.input_ids), np.array(probe.token_type_ids)
            assert len(ids) == len(segments) and probe.pieces.stop <= min(SEQ, len(ids))
            assert ids[0] == cls and ids[-1] == sep and (ids == sep).sum() == 2
            first = int(np.argmax(ids == sep))
            assert (segments[: first + 1] == 0).all() and (segments[first + 1 :] == 1).all()


def test_only_the_marked_word_is_hidden(tokenizer):
    probes = list(probes_of(DOCUMENTS[0], tokenizer, wanted="settled_by", seq_length=SEQ))
    open_batch = inputs_of(probes, tokenizer, seq_length=SEQ)
    batch = hidden(probes, tokenizer, seq_length=SEQ)
    changed = batch["input_ids"] != open_batch["input_ids"]
    assert (batch["input_ids"][changed] == tokenizer.token_to_id("[MASK]")).all()
    for row, probe in enumerate(probes):
        assert list(np.flatnonzero(changed[row])) == list(probe.pieces)
        assert set(batch["masked_lm_positions"][row]) == set(probe.pieces)


def test_who_knows_all_answers_is_always_right_and_who_knows_one_word_hardly_ever(tokenizer):
    measure = lambda guess: measure_settled_words(guess, tokenizer, DOCUMENTS, seq_length=SEQ)  # noqa: E731
    perfect = measure(lambda batch: batch["masked_lm_ids"])
    assert set(perfect) == set(SETTLED_BY)
    assert all(found["accuracy"] == 1 for found in perfect.values())
    assert sum(found["of"] for found in perfect.values()) > 600
    the = tokenizer.token_to_id("the")
    stubborn = measure(lambda batch: np.full_like(batch["masked_lm_ids"], the))
    assert all(found["accuracy"] < 0.05 for found in stubborn.values())


def test_one_wrong_piece_makes_the_word_wrong(tokenizer):
    def last_piece_wrong(batch):
        guess = batch["masked_lm_ids"].copy()
        guess[:, -1] += 1
        return guess

    found = measure_settled_words(last_piece_wrong, tokenizer, DOCUMENTS, seq_length=SEQ)
    assert all(entry["right"] == 0 for entry in found.values())


def test_the_window_keeps_the_marked_sentence_and_drops_the_farthest():
    lengths = np.array([10, 10, 10, 10, 10])
    assert window(lengths, 2, room=50) == (0, 5)
    assert window(lengths, 0, room=30) == (0, 3)
    assert window(lengths, 4, room=30) == (2, 5)
    first, last = window(lengths, 2, room=30)
    assert first <= 2 < last and last - first == 3
    assert window(lengths, 3, room=5) == (3, 4)
