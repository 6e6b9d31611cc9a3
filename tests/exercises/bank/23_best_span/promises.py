"""What the page and the docstrings promise or ask for, and the checks that hold it."""

SPAN = "test_the_best_of_all_spans_is_found"
MAY = "test_an_answer_starts_only_where_it_may"
WINDOWS = "test_the_answer_is_the_best_span_of_all_windows"
NULL = "test_no_answer_is_said_if_it_beats_the_best_by_the_threshold"
TEXT = "test_texts_are_normalized_as_squad_does"
EXACT = "test_an_exact_match_is_one_of_the_accepted_answers"
F1 = "test_f1_is_that_of_the_nearest_accepted_answer"

PROMISES = {
    "`start` and `end` (tokens,) are arrays, which may be non-contiguous.": (
        "test_the_best_of_all_spans_is_found",
        "test_texts_windows_and_answers_of_any_size",
    ),
    "finds, among all spans of a text, the one with the highest": (
        SPAN,
        MAY,
        "test_texts_windows_and_answers_of_any_size",
    ),
    r"S_i + E_j, \qquad i \le j, \qquad j - i < \text{longest}, \qquad \text{may\_start}_i": (
        SPAN,
        MAY,
    ),
    "a span of one token has `first == last`": (SPAN,),
    "If several spans are equally good, any of them will do.": (SPAN,),
    "The result is None if `may_start` is nowhere True.": (MAY,),
    "With `longest=2` the answer is (1, 2), score 8": (SPAN,),
    "With `longest=3` it is (1, 3), score 9.": (SPAN,),
    "(anywhere, if that is None)": (SPAN,),
    "the scores of all tokens of the window, [CLS] and padding included": (WINDOWS, NULL),
    "the position, in the window, of its first token of the text": (WINDOWS,),
    "the index, in the whole text, of that token": (WINDOWS,),
    "for each token *of the text*: True if no other window has more context around it": (WINDOWS,),
    "The answer is the best span of all windows, counted in the whole text; it starts where "
    "`best` is True, and may end anywhere in the window's text.": (WINDOWS,),
    "With a `null_threshold`, the result is None (no answer) if the lowest start + end "
    "of [CLS] among all windows, minus the score of the best span, is more than the "
    "threshold.": (NULL,),
    "The result is also None if there is no span at all, for example because the list of "
    "windows is empty.": (WINDOWS,),
    "never if that is None": (WINDOWS,),
    "converts the text to lower case; removes every character of `string.punctuation`; "
    "removes the words a, an, the; and leaves single spaces between words, none at the "
    "ends": (TEXT,),
    '| `normalize("The U.S.  theatre")` | "us theatre" |': (TEXT,),
    '| `exact_match("The cat", ["a dog", "Cat."])` | 1.0 |': (EXACT,),
    '| `f1("black cat", ["the cat", "a dog"])` | 0.6667 |': (F1,),
    '| `f1("cat", [])`, `f1("", [])` | 0.0, 1.0 |': (F1,),
    "compare an answer with several accepted ones, normalized, and take the best": (EXACT, F1),
    "F1 is 2pr / (p + r) over words, where a word counts as often as both have it.": (F1,),
    "An accepted answer that is empty after normalizing is dropped. If none is left, an "
    "answer that is empty after normalizing scores 1, any other 0.": (EXACT, F1),
}
