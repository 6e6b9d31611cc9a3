"""Words and their pieces: every word has one that answers for it, whatever it is made of."""

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import BertTokenizerFast

from bert_corpus.wordpiece import bert_tokenizer
from bert_finetuning.data.rows import whole_characters
from bert_finetuning.data.storyworld import storyworld
from bert_finetuning.tasks.tagging import bio_of, pieces_of_words, stretches

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
LETTERS = [*string.ascii_letters, *string.digits, *"'-.,!?$()東京"]
VOCABULARY = SPECIAL + LETTERS + [f"##{x}" for x in LETTERS[:62]] + ["the", "##ing", "play"]
BOTH = [bert_tokenizer(VOCABULARY, lowercase=lowercase) for lowercase in (True, False)]
UNKNOWN = VOCABULARY.index("[UNK]")

HARD = ["naïve", "cafe\u0301", "\u0301", "don't", "U.S.-led", "東京都", "👩\u200d🚀", "❤\ufe0f",
        "\u200b", "\x00", "İstanbul", "한국", "ﬁn", "\u00ad", "a b", "", " ", "x" * 150, "[MASK]",
        "\ud800", "###", "##ing", "नमस्ते", "\ufffd", "…", "مَرْحَبًا"]  # fmt: skip
ANY_WORD = st.one_of(st.sampled_from(HARD), st.text(max_size=12))
SENTENCES = st.lists(st.lists(ANY_WORD, max_size=12), max_size=4)


@settings(max_examples=200, deadline=None)
@given(SENTENCES, st.sampled_from(BOTH))
def test_every_word_has_a_piece_whatever_it_is_made_of(sentences, tokenizer):
    pieces = pieces_of_words(sentences, tokenizer)
    assert [len(words) for words in pieces] == [len(words) for words in sentences]
    assert all(word for sentence in pieces for word in sentence)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.lists(st.integers(), min_size=1, max_size=9), max_size=20), st.integers(1, 12))
def test_stretches_hold_every_word_once_and_in_order(words, room):
    """Only a word that is too long by itself loses pieces, and never its first."""
    found = []
    for place, pieces in stretches(words, room=room):
        assert place.first_word == len(found)
        assert 0 < len(pieces) <= room
        starts = (place.tokens - 1).tolist()  # [CLS] comes before
        ends = [*starts[1:], len(pieces)]
        found += [pieces[a:b] for a, b in zip(starts, ends, strict=True)]
    assert found == [word[:room] for word in words]


def test_a_stretch_takes_as_many_words_as_fit():
    words = [[1], [2, 3], [4], [5, 6, 7], [8]]
    assert [pieces for _, pieces in stretches(words, room=4)] == [[1, 2, 3, 4], [5, 6, 7, 8]]


@pytest.mark.parametrize("word", ["", " ", "\u200b", "\x00", "\u00ad", "\ufffd", "\ud800"])
@pytest.mark.parametrize("tokenizer", BOTH)
def test_a_word_of_which_nothing_is_left_is_read_as_unknown(word, tokenizer):
    ((before, nothing, after),) = pieces_of_words([["the", word, "play"]], tokenizer)
    assert nothing == [UNKNOWN]
    assert before == [VOCABULARY.index("the")] and after == [VOCABULARY.index("play")]


def test_half_a_character_is_replaced_and_no_place_moves():
    assert whole_characters("a\ud83d b\udc00") == "a\ufffd b\ufffd"
    assert whole_characters("a 👩\u200d🚀 東") == "a 👩\u200d🚀 東"


@pytest.mark.parametrize("lowercase", [True, False])
def test_first_pieces_are_those_of_transformers(lowercase):
    """On words of which WordPiece leaves something: transformers loses the others."""
    theirs = BertTokenizerFast(
        vocab={token: i for i, token in enumerate(VOCABULARY)}, do_lower_case=lowercase
    )
    there = [word for word in HARD if theirs.tokenize(whole_characters(word)) and word != "\ud800"]
    sentences = [there, *(sentence.words for sentence in storyworld("names", "train", 30))]
    pieces = pieces_of_words(sentences, BOTH[not lowercase])
    for words, own in zip(sentences, pieces, strict=True):
        encoding = theirs(list(words), is_split_into_words=True)
        ids = encoding.word_ids()
        ((place, pieces),) = stretches(own, room=10_000)
        assert encoding["input_ids"][1:-1] == pieces
        assert [ids.index(n) for n in range(len(words))] == place.tokens.tolist()


@pytest.mark.parametrize("mark", "-_")
def test_types_of_names_keep_their_underscores_whatever_stands_after_the_prefix(mark):
    tags = [f"B{mark}WORK_OF_ART", f"I{mark}WORK_OF_ART", "O"]
    assert bio_of(tags) == ["B-WORK_OF_ART", "I-WORK_OF_ART", "O"]
