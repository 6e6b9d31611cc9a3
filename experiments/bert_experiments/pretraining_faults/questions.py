"""What to choose before a long run, asked of short ones: rate, text and size, vocabulary, masks."""

from bert_experiments.pretraining_faults.faults import RATE
from bert_experiments.pretraining_faults.runs import HELD_OUT_STORIES, STORIES, Run, Text

FACTORS = (1 / 64, 1 / 16, 1 / 4, 1 / 2, 1, 2, 4, 8)
RATES = tuple(Run(f"rate {RATE * each:.2g}", {"learning_rate": RATE * each}) for each in FACTORS)

WIDTHS = (32, 64, 128)
TEXTS = (3, 30, 300, STORIES)
SIZES = tuple(
    Run(f"{stories} stories, {width} wide", {"hidden_size": width, "intermediate_size": 4 * width},
        Text(stories=stories))
    for width in WIDTHS for stories in TEXTS
)  # fmt: skip

# Whole words are hidden, in training and in the exam: a piece can be guessed from its neighbors.
VOCABULARIES = tuple(
    Run(f"vocabulary of {size}", {"mask_unit": "word"}, Text(vocab_size=size), exam_unit="word")
    for size in (200, 300, 400, 800)
)

MASKED = tuple(
    Run(f"{share:.0%} masked", {"masked_lm_prob": share})
    for share in (0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.8)
)

# The same number of stories, with and without the held-out ones among them; then one run, measured
# on the held-out sentences that it has read, and on those that are new to it.
LEAKS = tuple(
    run
    for others in (30, 300)
    for run in (
        Run(f"{others + HELD_OUT_STORIES} stories, clean", text=Text(others + HELD_OUT_STORIES)),
        Run(f"{others} and the held-out ones", text=Text(others, leaked=True)),
    )
)
READ = tuple(
    Run(f"{stories} stories, {measured} sentences", text=Text(stories, measured=measured))
    for stories in (3, 30)
    for measured in ("read", "new")
)

QUESTIONS = {"rates": RATES, "sizes": SIZES, "vocabularies": VOCABULARIES, "masks": MASKED,
             "leaks": LEAKS, "read or new": READ}  # fmt: skip
