"""WordPiece: the hand-written encoder, the library and `transformers` give the same ids."""

import json
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models
from transformers import AutoTokenizer, BertTokenizerFast

from bert_corpus import wordpiece as by_hand
from bert_corpus.wordpiece import (
    SPECIAL_TOKENS,
    bert_tokenizer,
    load_tokenizer,
    read_tokenizer,
    save_tokenizer,
    tokenizer_sha256,
    train_wordpiece,
    vocabulary_of,
)
from bert_run.config import BertConfig
from bert_run.errors import UserError

LETTERS = "abcdefghijklmnopqrstuvwxyz"
CAPITALS = LETTERS.upper()
WORDS = ["the", "play", "##ing", "##ed", "un", "##aff", "##able", "cafe", "Café", "Paris"]
SMALL = [*SPECIAL_TOKENS, *"!?.,'-$()中国0123456789éß", *LETTERS, *CAPITALS,
         *(f"##{c}" for c in LETTERS + CAPITALS + "0123456789é"), *WORDS]  # fmt: skip
SENTENCES = ["The cat sat on the mat.", "A cat is playing; the dogs played.", "Dogs sat, cats ran!"]

HARD = [
    "Unaffable PLAYING played café Café naïve", "中国 is 中国人", "😀 emoji 🤣 \u200d zwj",
    "a\x00b\x07c\ufffd\u00add", "x" * 100 + " " + "x" * 101, "\u0130stanbul ǅ ẞ ﬁ",
    "line\u2028end\u00a0no\u3000wide\x0b\x85", "don't e-mail@x.y $5.00 ~`^", "", " \n", "[MASK]!",
    "अनुच्छेद 한국어 العربية", "e\u0301 n\u0303 \u0301alone",
]  # fmt: skip

# Unicode grows, and Python's tables are newer than those of `tokenizers`: letters and marks of
# late versions are told apart differently. Text up to the end of the emoji block, without the
# scripts that grew, is what they agree on.
AGREED = st.one_of(
    st.characters(max_codepoint=0x52F, exclude_categories=["Cn", "Cs"]),
    st.characters(min_codepoint=0x2000, max_codepoint=0x2BFF, exclude_categories=["Cn", "Cs"]),
    st.characters(min_codepoint=0x4E00, max_codepoint=0x9FA5),
    st.characters(min_codepoint=0x1F300, max_codepoint=0x1F64F),
    st.sampled_from("  \t\n\r\u3000\ufeff\ufffd\u200b[]éÉß中$"),
)
TEXT = st.text(
    alphabet=st.one_of(st.sampled_from(LETTERS + CAPITALS + " .,'"), AGREED), max_size=40
)


@pytest.mark.parametrize("lowercase", [True, False])
@settings(max_examples=400, deadline=None)
@given(text=TEXT)
def test_the_encoder_by_hand_equals_the_library(lowercase, text):
    tokenizer = bert_tokenizer(SMALL, lowercase=lowercase)
    tokenizer.encode_special_tokens = True
    vocabulary = {token: index for index, token in enumerate(SMALL)}
    expected = tokenizer.encode(text, add_special_tokens=False).ids
    assert by_hand.encode(text, vocabulary, lowercase=lowercase) == expected


def test_a_word_is_cut_into_the_longest_pieces_from_the_left():
    vocabulary = {
        t: i for i, t in enumerate(["un", "unaff", "##aff", "##able", "##a", "a", "[UNK]"])
    }
    assert by_hand.wordpieces("unaffable", vocabulary) == ["unaff", "##able"]
    assert by_hand.wordpieces("unaffa", vocabulary) == ["unaff", "##a"]
    assert by_hand.wordpieces("unaffb", vocabulary) == ["[UNK]"]


def test_basic_tokens_are_words_and_punctuation_marks():
    assert by_hand.basic_tokens("Ça va, Zoë?") == ["ca", "va", ",", "zoe", "?"]
    assert by_hand.basic_tokens("Ça\u3000va?\x07!", lowercase=False) == ["Ça", "va", "?", "!"]
    assert by_hand.basic_tokens("ab中c") == ["ab", "中", "c"]


# --- transformers --------------------------------------------------------------------------------


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("kind", [AutoTokenizer, BertTokenizerFast])
def test_a_saved_tokenizer_gives_the_same_ids_in_transformers(tmp_path, lowercase, kind):
    mine = bert_tokenizer(SMALL, lowercase=lowercase)
    save_tokenizer(mine, tmp_path, model_max_length=64)
    theirs = kind.from_pretrained(tmp_path)
    assert theirs(HARD)["input_ids"] == [encoding.ids for encoding in mine.encode_batch(HARD)]
    pairs = theirs(HARD, HARD[::-1])
    encodings = mine.encode_batch(list(zip(HARD, HARD[::-1], strict=True)))
    assert pairs["input_ids"] == [encoding.ids for encoding in encodings]
    assert pairs["token_type_ids"] == [encoding.type_ids for encoding in encodings]
    assert (theirs.mask_token, theirs.pad_token_id, theirs.model_max_length) == ("[MASK]", 0, 64)


@pytest.mark.parametrize("lowercase", [True, False])
def test_what_transformers_saves_is_loaded_with_the_same_ids(tmp_path, lowercase):
    vocabulary = {token: index for index, token in enumerate(SMALL)}
    theirs = BertTokenizerFast(vocab=vocabulary, do_lower_case=lowercase)
    theirs(HARD, padding=True, truncation=True, max_length=5)  # leaves its mark in the file
    theirs.save_pretrained(tmp_path)
    mine = load_tokenizer(tmp_path)
    assert [encoding.ids for encoding in mine.encode_batch(HARD)] == theirs(HARD)["input_ids"]


# --- Training ------------------------------------------------------------------------------------


def test_special_tokens_stand_at_berts_usual_places():
    tokenizer = train_wordpiece(SENTENCES * 3, 1_000, progress=False)
    vocabulary = vocabulary_of(tokenizer)
    places = [tokenizer.token_to_id(token) for token in SPECIAL_TOKENS]
    assert places == [0, 100, 101, 102, 103]
    assert (vocabulary[1], vocabulary[99]) == ("[unused0]", "[unused98]")
    small = train_wordpiece(SENTENCES * 3, 120, progress=False)
    assert [small.token_to_id(token) for token in SPECIAL_TOKENS] == [0, 1, 2, 3, 4]


def test_the_vocabulary_has_exactly_the_size_asked_for_if_the_corpus_fills_it():
    text = [f"{a}{b}{c} {a}{b}{c}" for a in LETTERS for b in LETTERS for c in "aeiou"]
    for size in (150, 1_000, 1_200):
        assert train_wordpiece(text, size, progress=False).get_vocab_size() == size
    assert train_wordpiece(SENTENCES, 5_000, progress=False).get_vocab_size() < 300


def test_training_learns_the_words_of_the_corpus_and_no_word_of_known_letters_is_unknown():
    tokenizer = train_wordpiece(SENTENCES * 3, 1_000, progress=False)
    assert tokenizer.encode("The dogs sat.", add_special_tokens=False).tokens == [
        "the", "dogs", "sat", "."
    ]  # fmt: skip
    assert "[UNK]" not in tokenizer.encode("tacs emit hodgs").tokens
    assert "[UNK]" in tokenizer.encode("xyz").tokens
    assert "##." not in tokenizer.get_vocab()  # punctuation never continues a word


def test_a_cased_vocabulary_keeps_capitals():
    cased = train_wordpiece(SENTENCES * 3, 1_000, lowercase=False, progress=False)
    assert "The" in cased.get_vocab() and "the" in cased.get_vocab()
    assert "The" not in train_wordpiece(SENTENCES * 3, 1_000, progress=False).get_vocab()


def test_training_gives_the_same_vocabulary_in_another_process():
    code = """
from bert_corpus.wordpiece import train_wordpiece, tokenizer_sha256
text = [f"{a}{b}{c}{a} {c}{b}" for a in "abcdefg" for b in "hijklm" for c in "nopqrstu"]
print(tokenizer_sha256(train_wordpiece(iter(text), 250, progress=False)))
"""
    found = {
        subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
        for _ in range(3)
    }
    assert len(found) == 1 and len(found.pop().strip()) == 64


def test_training_on_nothing_or_on_no_room_is_refused():
    with pytest.raises(UserError, match="empty"):
        train_wordpiece([" "], 200, progress=False)
    with pytest.raises(UserError, match="vocabulary of 20 entries: too small"):
        train_wordpiece(SENTENCES, 20, progress=False)


# --- Loading -------------------------------------------------------------------------------------


def write_vocabulary(folder, tokens, **config):
    folder.mkdir(exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(tokens) + "\n", encoding="utf-8")
    if config:
        (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return folder


def test_a_bare_vocabulary_shows_by_its_capitals_whether_it_is_cased(tmp_path):
    cased = write_vocabulary(tmp_path / "cased", SMALL)
    uncased = write_vocabulary(
        tmp_path / "uncased", [t for t in SMALL if t[0] == "[" or t == t.lower()]
    )
    assert load_tokenizer(cased).normalizer.lowercase is False
    assert load_tokenizer(uncased / "vocab.txt").normalizer.lowercase is True
    assert load_tokenizer(cased, lowercase=True).normalizer.lowercase is True


def test_tokens_that_were_added_to_a_vocabulary_are_not_lost_without_a_word(tmp_path):
    """As transformers 4 saves a slow tokenizer: the model has rows for them."""
    write_vocabulary(tmp_path / "a", SMALL)
    added = tmp_path / "a" / "added_tokens.json"
    added.write_text(json.dumps({"[PAD]": 0}))
    assert load_tokenizer(tmp_path / "a").get_vocab_size() == len(SMALL)
    added.write_text(json.dumps({"newword": len(SMALL)}))
    with pytest.raises(UserError, match="'newword' is not in vocab"):
        load_tokenizer(tmp_path / "a")


def test_a_tokenizer_that_cuts_words_in_another_way_is_refused(tmp_path):
    load_tokenizer(write_vocabulary(tmp_path / "a", SMALL, word_tokenizer_type="basic"))
    with pytest.raises(UserError, match="words are cut by 'mecab'"):
        load_tokenizer(write_vocabulary(tmp_path / "b", SMALL, word_tokenizer_type="mecab"))


def test_the_config_beside_the_file_is_honoured(tmp_path):
    write_vocabulary(tmp_path / "a", SMALL, do_lower_case=True, strip_accents=False)
    normalizer = load_tokenizer(tmp_path / "a" / "vocab.txt").normalizer
    assert (normalizer.lowercase, normalizer.strip_accents) == (True, False)
    save_tokenizer(bert_tokenizer(SMALL, lowercase=True), tmp_path / "b")
    config = json.loads((tmp_path / "b" / "tokenizer_config.json").read_text())
    (tmp_path / "b" / "tokenizer_config.json").write_text(
        json.dumps({**config, "do_lower_case": False})
    )
    assert load_tokenizer(tmp_path / "b").normalizer.lowercase is False


def test_the_fingerprint_is_the_same_for_every_form_and_changes_with_what_matters(tmp_path):
    tokenizer = bert_tokenizer(SMALL, lowercase=False)
    save_tokenizer(tokenizer, tmp_path)
    forms = [tokenizer, load_tokenizer(tmp_path), load_tokenizer(tmp_path / "vocab.txt"),
             load_tokenizer(tmp_path / "tokenizer.json")]  # fmt: skip
    assert len({tokenizer_sha256(form) for form in forms}) == 1
    swapped = [*SMALL[:-2], SMALL[-1], SMALL[-2]]
    others = [bert_tokenizer(SMALL), bert_tokenizer(swapped, lowercase=False)]
    assert len({tokenizer_sha256(form) for form in [tokenizer, *others]}) == 3


def test_what_is_no_tokenizer_of_bert_is_refused_in_one_line(tmp_path):
    def refusal(path):
        with pytest.raises(UserError) as caught:
            load_tokenizer(path)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    assert "no such file or folder" in refusal(tmp_path / "missing")
    assert "no tokenizer.json or vocab.txt" in refusal(tmp_path)
    folder = write_vocabulary(tmp_path / "a", [t for t in SMALL if t not in ("[MASK]", "[CLS]")])
    assert "[CLS], [MASK] not in the vocabulary" in refusal(folder)
    assert "'the' occurs twice" in refusal(write_vocabulary(folder, [*SMALL, "the"]))
    (folder / "vocab.txt").write_bytes(b"[PAD]\n\xff\n")
    assert "not UTF-8" in refusal(folder)

    file = tmp_path / "tokenizer.json"
    file.write_text('{"model": ')
    assert "tokenizer.json is damaged (not JSON: " in refusal(file)
    file.write_text("[]")
    assert "[] where an object is expected" in refusal(file)
    Tokenizer(models.BPE()).save(str(file))
    assert "its model is 'BPE'" in refusal(file)
    state = json.loads(bert_tokenizer(SMALL).to_str())
    state["model"]["vocab"] = {"broken": "id"}
    file.write_text(json.dumps(state))
    assert "damaged tokenizer" in refusal(file)
    state = json.loads(bert_tokenizer(SMALL).to_str())
    state["model"]["vocab"]["the"] = 9_999
    file.write_text(json.dumps(state))
    assert "without gaps" in refusal(file)
    for change in ({"vocab": {"a": 5}}, {"unk_token": "<unk>"}):  # fails at the first unknown word
        state = json.loads(bert_tokenizer(SMALL).to_str())
        state["model"] |= change
        file.write_text(json.dumps(state))
        assert "its vocabulary lacks its unk_token" in refusal(file)


def test_a_vocabulary_that_has_lost_a_line_is_not_taken_for_a_padded_one(tmp_path):
    """All ids behind the line are one too low, and the model reads other words."""
    folder, words = write_vocabulary(tmp_path / "a", SMALL), len(SMALL)
    for size in (words, -(-words // 8) * 8, -(-words // 64) * 64):
        read_tokenizer(folder, BertConfig(vocab_size=size))
    odd = words + 1 + (words % 8 == 7)
    with pytest.raises(UserError, match=f"has {words} entries and the model {odd}"):
        read_tokenizer(folder, BertConfig(vocab_size=odd))


@pytest.mark.timeout(60)
def test_words_that_are_encoded_as_unknown_whole_are_not_learned_from():
    """Half a million characters without a space: learning pairs from them has no end."""
    letters = "abcdefghij"
    endless = "".join(letters[(i * i + i // 7) % 10] for i in range(500_000))
    text = ["the cat sees a bird", "the dog sees a cat"] * 20
    with_long, without = (
        train_wordpiece([*text, *extra], 200, progress=False)
        for extra in ([f"the {endless} cat"], ["the cat", *letters])
    )
    assert not any(len(token) > 20 for token in vocabulary_of(with_long))
    assert {"cat", "bird", "sees"} <= set(vocabulary_of(with_long)) <= set(vocabulary_of(without))


def test_long_stretches_without_a_space_are_learned_from_where_their_words_are_short():
    url = "https://" + "/".join(["river"] * 60)
    tokenizer = train_wordpiece([url] * 5, 200, progress=False)
    assert "river" in vocabulary_of(tokenizer)
