"""WordPiece: encoding written out in plain Python, then the same with the `tokenizers` library.

Text becomes ids in two stages (Devlin et al. 2018, section 3; the released `tokenization.py`):

1. *Basic tokenization* cleans the text and cuts it into words and single punctuation marks.
2. *WordPiece* cuts each word into the longest pieces that the vocabulary knows, from the left.
   A piece that continues a word is written with `##` before it: `playing` -> `play ##ing`.

The library encodes the same, much faster; only a [MASK] in the text it takes for the token itself.
It also trains a vocabulary: it begins with single characters and joins the most frequent pair of
neighbors, again and again, until there are enough.
"""

import hashlib
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from tokenizers.trainers import WordPieceTrainer

from bert_run.config import BertConfig
from bert_run.errors import UserError, shown
from bert_run.files import read_record, text_lines, write_atomically
from bert_run.training_loop import progress_bar

# --- By hand, one step a function ----------------------------------------------------------------

LONGEST_WORD = 100  # characters, as in `transformers`; a longer word becomes [UNK] whole

# The blocks of Chinese characters: written without spaces, so each becomes a word of its own.
CJK_BLOCKS = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),  # so in `tokenizers`; the released code begins this one at 0x2B820
    (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip


def clean(text: str) -> str:
    """Drop what cannot be seen (control, format, private use); any white space is a space."""
    text = re.sub(r"[\t\n\r]", " ", text)  # these are control characters (Cc), too
    seen = (c for c in text if c != "\ufffd" and unicodedata.category(c) not in ("Cc", "Cf", "Co"))
    return "".join(" " if char.isspace() else char for char in seen)


def space_chinese(text: str) -> str:
    """Put a space on both sides of every Chinese character."""
    return "".join(f" {char} " if is_chinese(char) else char for char in text)


def is_chinese(char: str) -> bool:
    return any(first <= ord(char) <= last for first, last in CJK_BLOCKS)


def strip_accents(text: str) -> str:
    """`é` is written as `e` and a combining accent (Unicode's form NFD); drop the accent."""
    decomposed = unicodedata.normalize("NFD", text)
    return "".join(char for char in decomposed if unicodedata.category(char) != "Mn")


def is_punctuation(char: str) -> bool:
    """Unicode's punctuation, and the ASCII symbols such as `$` and `+` that it counts apart."""
    is_ascii_symbol = char.isascii() and char.isprintable() and not (char.isalnum() or char == " ")
    return is_ascii_symbol or unicodedata.category(char).startswith("P")


def basic_tokens(text: str, *, lowercase: bool = True) -> list[str]:
    """Cut text into words and punctuation marks.

    >>> basic_tokens("Ça va, Zoë?")
    ['ca', 'va', ',', 'zoe', '?']
    """
    text = space_chinese(clean(text))
    if lowercase:
        text = "".join(char.lower() for char in strip_accents(text))
    tokens = []
    for word in text.split():
        start = 0
        for position, char in enumerate(word):
            if is_punctuation(char):
                tokens += [word[start:position], char]
                start = position + 1
        tokens.append(word[start:])
    return [token for token in tokens if token]


def wordpieces(word: str, vocabulary: dict[str, int]) -> list[str]:
    """Cut one word, greedily: the longest known piece first, then again with what is left.

    If at any point no piece fits, the whole word is unknown.

    >>> wordpieces("playing", {"play": 0, "##ing": 1, "##i": 2, "p": 3})
    ['play', '##ing']
    """
    if len(word) > LONGEST_WORD:
        return ["[UNK]"]
    pieces = []
    start = 0
    while start < len(word):
        prefix = "##" if start > 0 else ""
        for end in range(len(word), start, -1):
            piece = prefix + word[start:end]
            if piece in vocabulary:
                pieces.append(piece)
                start = end
                break
        else:  # not even one character fits
            return ["[UNK]"]
    return pieces


def encode(text: str, vocabulary: dict[str, int], *, lowercase: bool = True) -> list[int]:
    """The ids of a text, without [CLS] and [SEP]."""
    words = basic_tokens(text, lowercase=lowercase)
    return [vocabulary[piece] for word in words for piece in wordpieces(word, vocabulary)]


# --- With the library ----------------------------------------------------------------------------

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")

# [PAD] 0, [UNK] 100, [CLS] 101, [SEP] 102, [MASK] 103, as in the released vocabularies.
USUAL_PLACES = ("[PAD]", *(f"[unused{i}]" for i in range(99)), *SPECIAL_TOKENS[1:])
ROOM_FOR_USUAL_PLACES = 1_000  # below this many entries 99 unused ones are too expensive

# The type of each stage of a BERT's `tokenizer.json`; what is read in `tokenizer_config.json`.
STAGES = {"model": "WordPiece", "normalizer": "BertNormalizer", "pre_tokenizer": "BertPreTokenizer"}
NORMALIZING = dict.fromkeys(("do_lower_case", "strip_accents", "tokenize_chinese_chars"), bool)
SAVE_AGAIN = "save or download it again"

LONG_WORD = re.compile(rf"\S{{{LONGEST_WORD + 1}}}")


def bert_tokenizer(tokens: Iterable[str], *, lowercase: bool = True) -> Tokenizer:
    """BERT's tokenizer over a vocabulary given in the order of its ids.

    Accents are stripped where the text is lower-cased, as in the released code.
    """
    vocabulary = {token: index for index, token in enumerate(tokens)}
    model = models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=LONGEST_WORD)
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return _with_special_tokens(tokenizer)


def _with_special_tokens(tokenizer: Tokenizer) -> Tokenizer:
    tokenizer.add_special_tokens(list(SPECIAL_TOKENS))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[(token, tokenizer.token_to_id(token)) for token in ("[CLS]", "[SEP]")],
    )
    tokenizer.decoder = decoders.WordPiece(prefix="##")
    return tokenizer


def padded(texts: Sequence[tuple[list[int], list[int]]], length: int,
           pad_id: int) -> dict[str, np.ndarray]:  # fmt: skip
    """The ids and segments of some texts as (texts, length) arrays, padded on the right."""
    ids = np.full((len(texts), length), pad_id, np.int64)
    segments, mask = np.zeros((2, len(texts), length), np.int64)
    for row, (text_ids, text_segments) in enumerate(texts):
        ids[row, : len(text_ids)] = text_ids
        segments[row, : len(text_ids)] = text_segments
        mask[row, : len(text_ids)] = 1
    return {"input_ids": ids, "token_type_ids": segments, "attention_mask": mask}


# --- Training ------------------------------------------------------------------------------------


def train_wordpiece(sentences: Iterable[str], vocab_size: int, lowercase: bool = True, *,
                    progress: bool = True) -> Tokenizer:  # fmt: skip
    """Train a vocabulary of `vocab_size` entries, special tokens and [unused] ones included.

    The special tokens stand at BERT's usual places; in a vocabulary below 1,000 entries at 0 to 4.
    A pair is joined if it occurs twice; a corpus with too few such pairs gives a smaller
    vocabulary. The same sentences give the same vocabulary, always. The text is read twice
    (characters, then words); memory holds the distinct words; of an iterator, all sentences.
    """
    if iter(sentences) is sentences:
        sentences = list(sentences)
    first = list(USUAL_PLACES if vocab_size >= ROOM_FOR_USUAL_PLACES else SPECIAL_TOKENS)
    room = vocab_size - len(first)
    if room < 40:
        raise UserError(f"vocabulary of {vocab_size} entries: too small for the letters; ask for "
                        "100 or more")  # fmt: skip
    tokenizer = bert_tokenizer(first, lowercase=lowercase)

    most_characters = min(max(vocab_size // 32, 64), room // 4, 1_000)
    options = {"iterable": sentences, "unit": " sentences", "disable": not progress}
    counted = progress_bar(None, "learning letters", **options)
    alphabet = _alphabet(counted, tokenizer.normalizer, most_characters)
    if not alphabet:
        raise UserError("no text to train a vocabulary on: the corpus is empty")

    # The library numbers `##x` in the order of a hash table, which differs from run to run, and
    # breaks ties between pairs by these numbers. Handing them over first, sorted, fixes both;
    # and no word made of known characters is then unknown.
    inside_words = [f"##{c}" for c in alphabet if not (is_punctuation(c) or is_chinese(c))]
    trainer = WordPieceTrainer(
        vocab_size=room, min_frequency=2, special_tokens=inside_words, show_progress=False,
        initial_alphabet=alphabet, limit_alphabet=len(alphabet),
    )  # fmt: skip
    splitter = bert_tokenizer(first, lowercase=lowercase)  # the one that learns is locked
    counted = progress_bar(None, "learning words", **options)
    tokenizer.train_from_iterator(_without_long_words(counted, splitter), trainer)
    learned = tokenizer.get_vocab(with_added_tokens=False)
    order = sorted(learned.keys() - set(first), key=lambda token: (_rank(token), learned[token]))
    return bert_tokenizer([*first, *order], lowercase=lowercase)


def _rank(token: str) -> int:
    """In the vocabulary characters come first, then characters inside words, then the rest."""
    return 0 if len(token) == 1 else 1 if token.startswith("##") and len(token) == 3 else 2


def _without_long_words(sentences: Iterable[str], tokenizer: Tokenizer) -> Iterator[str]:
    """Sentences without the words that are encoded as [UNK] whole, for their length: nothing of
    them would be used, and learning from one of millions of characters has no end."""
    for sentence in sentences:
        if LONG_WORD.search(sentence):
            normalized = tokenizer.normalizer.normalize_str(sentence)
            words = [word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(normalized)]
            if any(len(word) > LONGEST_WORD for word in words):
                sentence = " ".join(word for word in words if len(word) <= LONGEST_WORD)
        yield sentence


def _alphabet(sentences: Iterable[str], normalizer: normalizers.Normalizer, most: int) -> list[str]:
    """The `most` commonest characters once normalized, in the order of Unicode."""
    counts = Counter(chain.from_iterable(sentences))
    normalized: Counter[str] = Counter()
    for char, count in counts.items():
        for part in normalizer.normalize_str(char):
            if not part.isspace():
                normalized[part] += count
    commonest = sorted(normalized, key=lambda char: (-normalized[char], char))
    return sorted(commonest[:most])


# --- Loading and saving --------------------------------------------------------------------------

PADDED_VOCABULARY = 128  # some checkpoints round the matrix up for the hardware's sake


def load_tokenizer(path: str | Path, *, lowercase: bool | None = None) -> Tokenizer:
    """Open a `vocab.txt`, a `tokenizer.json`, or a folder that holds either.

    Whether text is lower-cased is said by `lowercase`, else by a `tokenizer_config.json` beside
    the file, else by the `tokenizer.json` itself; a bare `vocab.txt` is cased if it has capitals.
    """
    given = Path(path).expanduser()
    places = (given, given / "tokenizer.json", given / "vocab.txt")
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        raise UserError(f"tokenizer {given}: no such file or folder, or no tokenizer.json or "
                        "vocab.txt in it")  # fmt: skip
    config_file = path.with_name("tokenizer_config.json")
    config = {}
    if config_file.is_file():
        config = read_record(config_file, optional=NORMALIZING, way_out=SAVE_AGAIN)
    if (how := config.get("word_tokenizer_type", "basic")) != "basic":  # Japanese
        raise UserError(f"{config_file}: words are cut by {shown(how)}: only BERT's own way is "
                        "known here")  # fmt: skip
    if path.suffix == ".json":
        tokenizer = _from_json(path)
    else:
        tokens = [line for _, line in text_lines(path)]
        while tokens and not tokens[-1]:
            tokens.pop()
        _check_vocabulary(path, tokens)
        more = path.with_name("added_tokens.json")  # of transformers 4, beside a vocab.txt
        added = read_record(more, way_out=SAVE_AGAIN) if more.is_file() else {}
        if lost := [token for token in added if token not in tokens]:
            raise UserError(f"{more}: {shown(lost[0])} is not in {path.name}: save the tokenizer "
                            "with transformers 5, as tokenizer.json")  # fmt: skip
        is_cased = any(token != token.lower() for token in tokens if not token.startswith("["))
        tokenizer = bert_tokenizer(tokens, lowercase=not is_cased)

    normalizer = tokenizer.normalizer
    lowercase = config.get("do_lower_case") if lowercase is None else lowercase
    if lowercase is not None:
        normalizer.lowercase = lowercase
    if "strip_accents" in config:
        normalizer.strip_accents = config["strip_accents"]
    if config.get("tokenize_chinese_chars") is not None:
        normalizer.handle_chinese_chars = config["tokenize_chinese_chars"]
    tokenizer.normalizer = normalizer
    return tokenizer


def read_tokenizer(folder: Path, config: BertConfig) -> Tokenizer:
    """The tokenizer of a BERT folder, whose entries the model must have rows for."""
    tokenizer = load_tokenizer(folder)
    words = tokenizer.get_vocab_size()
    is_padded = config.vocab_size % 8 == 0 and 0 < config.vocab_size - words < PADDED_VOCABULARY
    if words != config.vocab_size and not is_padded:  # a lost line would shift all ids behind it
        raise UserError(f"{folder}: the tokenizer has {words} entries and the model "
                        f"{config.vocab_size}: they belong to different checkpoints")  # fmt: skip
    return tokenizer


def _from_json(path: Path) -> Tokenizer:
    state = read_record(path, optional=dict.fromkeys(STAGES, dict), way_out=SAVE_AGAIN)
    for part, wanted in STAGES.items():
        found = (state.get(part) or {}).get("type")
        if found != wanted:
            raise UserError(f"{path}: its {part} is {shown(found)}, where BERT's is {wanted}: "
                            "not the tokenizer of a BERT model")  # fmt: skip
    try:
        tokenizer = Tokenizer.from_str(json.dumps(state))
    except Exception as error:  # the library raises plain `Exception`
        raise UserError(f"{path}: damaged tokenizer ({shown(str(error))}); {SAVE_AGAIN}") from None
    _check_vocabulary(path, vocabulary_of(tokenizer))
    if (unknown := tokenizer.model.unk_token) not in tokenizer.get_vocab(with_added_tokens=False):
        raise UserError(f"{path}: its vocabulary lacks its unk_token {unknown!r}; {SAVE_AGAIN}")
    ids = sorted(tokenizer.get_vocab().values())
    if ids != list(range(len(ids))):
        raise UserError(f"{path}: its ids do not run from 0 to {len(ids) - 1} without gaps")
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return _with_special_tokens(tokenizer)


def save_tokenizer(tokenizer: Tokenizer, folder: str | Path, *,
                   model_max_length: int = 512) -> None:  # fmt: skip
    """Write `tokenizer.json`, `vocab.txt` and `tokenizer_config.json`, as `transformers` does."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    normalizer = tokenizer.normalizer
    config = {
        "tokenizer_class": "BertTokenizer",
        "do_lower_case": normalizer.lowercase,
        "strip_accents": normalizer.strip_accents,
        "tokenize_chinese_chars": normalizer.handle_chinese_chars,
        "model_max_length": model_max_length,
        **{f"{token[1:-1].lower()}_token": token for token in SPECIAL_TOKENS},
    }
    vocab = "".join(f"{token}\n" for token in vocabulary_of(tokenizer))
    write_atomically(folder / "vocab.txt", vocab)
    write_atomically(folder / "tokenizer.json", tokenizer.to_str(pretty=True))
    write_atomically(folder / "tokenizer_config.json", json.dumps(config, indent=2) + "\n")


def vocabulary_of(tokenizer: Tokenizer) -> list[str]:
    """Its tokens in the order of their ids."""
    vocabulary = tokenizer.get_vocab()
    return sorted(vocabulary, key=vocabulary.get)


def tokenizer_sha256(tokenizer: Tokenizer) -> str:
    """A fingerprint of what decides the ids: the vocabulary in order, and the normalizer."""
    normalizer = tokenizer.normalizer
    strip_accents = normalizer.strip_accents
    identity = {
        "vocabulary": vocabulary_of(tokenizer),
        "lowercase": normalizer.lowercase,
        "strip_accents": normalizer.lowercase if strip_accents is None else strip_accents,
        "chinese": normalizer.handle_chinese_chars,
    }
    return hashlib.sha256(json.dumps(identity).encode()).hexdigest()


def _check_vocabulary(path: Path, tokens: list[str]) -> None:
    if missing := [token for token in SPECIAL_TOKENS if token not in tokens]:
        raise UserError(f"{path}: {', '.join(missing)} not in the vocabulary of {len(tokens)} "
                        "entries: not the vocabulary of a BERT model")  # fmt: skip
    if all(re.fullmatch(r"\[.+]", token) for token in tokens):
        raise UserError(f"{path}: holds special tokens alone, and no word: {SAVE_AGAIN}")
    token, count = Counter(tokens).most_common(1)[0]
    if count > 1:
        raise UserError(f"{path}: the entry {token!r} occurs twice; each token has one id")
