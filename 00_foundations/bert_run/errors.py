"""A user's mistake is told in one line, never as a traceback."""

import functools
import os
import sys
from collections.abc import Callable


class UserError(Exception):
    """What was wrong, the value, and what to do: one line, shown as it is."""


def command(main: Callable[..., None]) -> Callable[..., None]:
    """Make `main` a console command: a `UserError` prints one line and exits with 2.

    A full disk can strike anywhere a file is written, so it is caught here too; Ctrl-C exits
    with 130, and a reader that stops reading with 141 and no word, as shells expect.
    """

    @functools.wraps(main)
    def run(*args, **kwargs) -> None:
        try:
            main(*args, **kwargs)
            sys.stdout.flush()
        except BrokenPipeError:  # who reads, `head` say, has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(141)
        except UserError as error:
            if os.environ.get("RANK", "0") == "0":  # of many processes one says it
                print(f"error: {error}", file=sys.stderr)
            sys.exit(2)
        except OSError as error:
            if error.errno is None:
                raise
            where = f" ({error.filename})" if error.filename else ""
            print(
                f"error: {error.strerror}{where}: free some space or check the path, "
                "then call again",
                file=sys.stderr,
            )
            sys.exit(2)
        except KeyboardInterrupt:
            print("\nstopped: call the same command again to go on", file=sys.stderr)
            sys.exit(130)

    return run
