"""A run whose numbers are no longer finite stops before it saves them.

One update that is too large makes a loss infinite or NaN ("not a number"), and NaN spreads to every
weight. Going on is useless, and would replace the last good checkpoint.
"""

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from bert_run.errors import Diverged, UserError
from bert_run.files import write_atomically
from bert_run.run_folder import RunFolder

NOTE_FILE = "diverged.txt"


def refuse_divergence(step: int, rate: float | None = None, **numbers: float) -> None:
    """Raise `Diverged` if one of the numbers measured at a step is not finite."""
    for name, number in numbers.items():
        if not math.isfinite(number):
            at = "" if rate is None else f", where the learning rate is {rate:.1e}"
            raise Diverged(f"the {name.replace('_', ' ')} is {number} at step {step:,}{at}")


@contextmanager
def divergence_noted(folder: RunFolder, *, leads: bool = True) -> Iterator[None]:
    """Complete the message of a run that diverges in here, and repeat it when the run is called
    again. Of several processes, the one that leads writes."""
    note = folder.path / NOTE_FILE
    if leads and note.exists():
        print(f"note        an earlier call stopped here: {note.read_text('utf-8').strip()}; this "
              "one takes the same steps again", file=sys.stderr)  # fmt: skip
    try:
        yield
    except Diverged as error:
        if leads:
            write_atomically(note, f"{error}\n")
        newest = folder.newest()
        kept = f"the checkpoint of step {newest.step:,} is kept" if newest else "nothing is saved"
        raise UserError(f"{folder.path}: {error} ({kept})") from None
    if leads:
        note.unlink(missing_ok=True)
