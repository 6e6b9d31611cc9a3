"""What the page and the starter of 01_wordpiece promise, and the checks that hold it."""

WORDS = "test_words_end_at_white_space_and_every_mark_is_a_token"
CASE = "test_capitals_and_accents_go_if_lowercase_says_so"
SCRIPTS = "test_every_character_of_many_scripts_is_taken_for_what_it_is"
GREEDY = "test_a_word_is_cut_greedily_into_the_longest_known_pieces"
UNKNOWN = "test_a_word_with_a_place_where_nothing_fits_is_unknown_whole"
LONG = "test_a_word_that_is_too_long_is_unknown"
IDS = "test_a_text_becomes_the_ids_of_its_pieces"
UNICODE = "test_the_rules_hold_for_all_of_unicode"
TRACE = "test_nothing_is_left_behind"
SIZES = "test_texts_words_and_vocabularies_of_any_size"
SHORT = "test_a_text_may_be_short"
OPEN = "test_what_is_left_open_has_no_third_way"
PIECES = "test_a_word_may_be_any_characters_and_a_vocabulary_any_pieces"

PROMISES = {
    # the page
    "With `lowercase`, accents are removed and every letter becomes lower case": (
        CASE, SCRIPTS),
    "These accents are dropped; nothing else is.": (CASE,),
    "The text stays in NFD form, as in BERT: 한 is then three characters.": (SCRIPTS, UNICODE),
    "Without `lowercase`, every character stays as it is, including accents.": (WORDS, CASE),
    "Words end at white space of any kind.": (WORDS, SIZES, OPEN),
    "No token is empty.": (WORDS,),
    "Every punctuation mark is a token of its own.": (WORDS, SHORT),
    "A punctuation mark is a character whose Unicode category begins with P, or one of ASCII's 32 "
    "punctuation marks and symbols": (WORDS,),
    "Any other character, such as `€`, belongs to its word.": (WORDS, SCRIPTS, OPEN),
    "The first piece is the longest prefix of the word that is in `vocabulary` (a dict "
    "from piece to id; ids are 0 or more). The next pieces are found in the same way in "
    "the rest of the word.": (GREEDY,),
    "Pieces that continue a word have `##` before them, in the vocabulary and in the result.": (
        GREEDY,),
    "If at some point no piece fits, not even one character, the *whole* word is "
    '`["[UNK]"]`': (UNKNOWN,),
    "so is a word of more than `longest_word` characters.": (LONG,),
    "The split is greedy: once chosen, a piece is final.": (GREEDY, UNKNOWN, PIECES),
    "**`encode`** returns the ids of all pieces of a text, without [CLS] and [SEP].": (IDS, SHORT),
    "[UNK] is an entry of the vocabulary like any other.": (IDS,),
    "No function changes the vocabulary.": (TRACE,),
    "No check requires that here; if you add it, you lose no points.": (WORDS, IDS, OPEN),
    "| `basic_tokens(\"Zoë purred...\")` | `['zoe', 'purred', '.', '.', '.']` |": (CASE,),
    "| `basic_tokens(\"Zoë purred...\", lowercase=False)` | `['Zoë', 'purred', '.', '.', '.']` |": (
        CASE,),
    "| `wordpieces(\"purred\", vocabulary)` | `['purr', '##ed']` |": (GREEDY,),
    "| `wordpieces(\"purrer\", vocabulary)` | `['[UNK]']`": (GREEDY,),
    "| `encode(\"It purred, Zoë.\", vocabulary)` | `[5, 6, 7, 1, 10, 9]` |": (IDS,),
    # the starter
    "accents are removed (the characters of category Mn in Unicode's form NFD) and every letter "
    "becomes lower case; without it, no character is changed": (CASE,),
    "any character whose Unicode category begins with P, or one of the 32 characters of "
    "`string.punctuation`": (WORDS,),
    "If at some point no piece fits, the result is `[\"[UNK]\"]`, and also for a word of more than "
    "`longest_word` characters.": (UNKNOWN, LONG),
    "The ids of a text's pieces in order, without [CLS] and [SEP].": (IDS,),
    "The words come from `basic_tokens`; a word of more than 100 characters is [UNK]": (IDS,),
    'Words end at white space of any kind': (
        'test_the_rules_hold_for_all_of_unicode',),
    'The first piece is the longest prefix of the word that is in': (
        'test_long_pieces_no_length_at_all_and_another_vocabulary',),
    "**`basic_tokens`** splits a text into words and punctuation marks.": (
        SIZES,),
}  # fmt: skip
