"""Progress of long work: a bar on a terminal, now and then a line in a log file."""

import sys
from typing import Any

from tqdm import tqdm


class LinesInsteadOfBar:
    """What tqdm writes to when nobody watches: each state of the bar becomes a line."""

    def write(self, text: str) -> None:
        text = text.replace("\r", "").strip()
        if text:
            print(text, file=sys.stderr, flush=True)

    def flush(self) -> None:
        sys.stderr.flush()


def progress_bar(
    total: int | None, description: str, *, unit: str, initial: int = 0, **options: Any
) -> tqdm:
    """A bar with the rate and the time left; in a log, one line every half minute."""
    if sys.stderr.isatty():
        options = {"dynamic_ncols": True, **options}
    else:
        options = {"file": LinesInsteadOfBar(), "mininterval": 30, "ncols": 110, "ascii": True,
                   **options}  # fmt: skip
    return tqdm(total=total, desc=description, unit=unit, initial=initial, **options)
