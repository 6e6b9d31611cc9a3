"""The part of the `sentencex` library that the course's files import, for the pages.

The real library is written in Rust. No page splits prose into sentences.
"""


def segment(language: str, text: str) -> list[str]:
    raise NotImplementedError("prose is not split in the page: use the course on your machine")
