"""The part of the `safetensors` library that the course's files import, for the pages.

The real library is written in Rust. A page has no checkpoint to open, so nothing is read here.
"""


class SafetensorError(Exception):
    """A file that cannot be read or written."""


def safe_open(*args, **kwargs) -> None:
    raise SafetensorError(
        "checkpoints cannot be opened in the page: use the course on your machine"
    )
