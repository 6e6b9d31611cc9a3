"""What the page and the docstrings promise or ask for, and the checks that hold it."""

ALIGN = (
    "test_the_first_piece_of_a_word_has_its_label",
    "test_long_sentences_are_cut_and_keep_their_last_token",
)
EXAMPLE = "test_the_sentence_of_the_page_is_aligned_as_there"
TAGS = "test_every_word_gets_the_tag_of_its_first_piece"
NAMES = "test_names_are_read_from_tags_as_conlleval_does"
SCORES = "test_f1_counts_whole_names_over_all_sentences"
ANY = "test_sentences_of_any_length"

PROMISES = {
    "The tokens are `[CLS]`, all pieces, `[SEP]`.": ALIGN,
    "If these are more than `max_length` (2 or more), pieces at the end are cut off and [SEP] "
    "stays": ALIGN[1:],
    "a word may lose some of its pieces, or all": ALIGN[1:],
    "The first piece of a word has the word's label, all other tokens -100.": ALIGN,
    "A word without any piece (a control character, say) is read as `unk_id`.": ALIGN,
    "`starts[i]` is the position of word i's first piece among the tokens, or -1 if that "
    "piece was cut off": ALIGN,
    "and `starts` is [1, 4, -1]: Oslo was cut off": (EXAMPLE,),
    'The tag of a word is the best label of its first piece; a word that was cut off is `"O"`': (
        TAGS,
        ANY,
    ),
    "`names[j]` is the name of label j": (TAGS, ANY),
    "`entities` finds the names in one sentence of tags `O`, `B-TYPE`, `I-TYPE`, in their order.": (
        NAMES,
    ),
    "`B-` always begins a name.": (NAMES,),
    "`I-` continues a name of the same type that ends at the word before; anywhere else "
    "it begins a name": (NAMES,),
    "A type may have a hyphen of its own, and may end like another type": (NAMES,),
    "| O I-LOC I-PER | (LOC, 1, 2), (PER, 2, 3) |": (NAMES,),
    "Each sentence is read separately: no name continues into the next one.": (SCORES,),
    "A name is found if sentence, type, first and last word agree": (SCORES, ANY),
    "over all sentences at once; what would be 0/0 is 0": (SCORES,),
    "precision, recall and F1 are 0.5": (SCORES,),
    "there must be an answer for every word": (TAGS,),
    "A name is found if its type and both its borders are right.": (SCORES,),
    'a word that was cut off is `"O"`': ("test_o_is_any_of_the_names_or_none",),
    "`align` lays out one sentence.": (ANY,),
}
