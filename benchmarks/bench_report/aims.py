"""The targets, what was measured, and whether the targets are reached."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench_report.numbers import Figures, quartiles, ratios

Sections = dict[str, dict[str, Figures]]  # of each section, the figures of each case


@dataclass(frozen=True)
class Aim:
    """`values` finds the ratios of the rounds; nothing where the case was not measured."""

    what: str
    bound: float
    values: Callable[[Sections], Sequence[float]]
    at_least: bool = True
    unit: str = " times"

    def row(self, sections: Sections) -> str:
        sign = "≥" if self.at_least else "≤"
        aimed = f"{sign} {self.shown(self.bound)}{self.unit}"
        values = self.values(sections)
        if not values:
            return f"| {self.what} | {aimed} | not measured | |"
        if len(values) == 1:
            middle, spread = values[0], ""
        else:
            low, middle, high = quartiles(values)
            spread = f" ({self.shown(low)}–{self.shown(high)})"
        is_met = middle >= self.bound if self.at_least else middle <= self.bound
        verdict = "yes" if is_met else "**no**"
        return f"| {self.what} | {aimed} | {self.shown(middle)}{spread} | {verdict} |"

    def shown(self, value: float) -> str:
        return f"{value:.1f}" if self.unit in ("%", " minutes") else f"{value:.2f}"


def step_ratio(case: str, name: str, reference: str) -> Callable[[Sections], list[float]]:
    def values(sections: Sections) -> list[float]:
        figures = sections.get("training", {}).get(case)
        return ratios(figures["groups"], name, reference) if figures else []

    return values


def fastest_ratio(case: str, kind: str, reference: str) -> Callable[[Sections], list[float]]:
    """Of the modes in which it was measured, the one with the highest median."""

    def values(sections: Sections) -> list[float]:
        figures = sections.get("training", {}).get(case)
        names = {name for group in figures["groups"] for name in group} if figures else set()
        modes = [ratios(figures["groups"], name, reference) for name in names
                 if name.partition(",")[0] == kind]  # fmt: skip
        return max(filter(None, modes), key=lambda mode: quartiles(mode)[1], default=[])

    return values


def encoding_ratio(name: str, reference: str) -> Callable[[Sections], list[float]]:
    def values(sections: Sections) -> list[float]:
        figures = sections.get("encoding", {}).get("minilm")
        return ratios([figures["contestants"]], name, reference) if figures else []

    return values


def share_of_pairs(sections: Sections) -> list[float]:
    """Beside the fastest step that was measured, the hardest case."""
    figures = sections.get("data", {}).get("pairs")
    if not figures:
        return []
    of_each = [[100 * a / b for a, b in zip(figures["making"], steps, strict=True)]
               for steps in figures["stepping"].values()]  # fmt: skip
    return max(of_each, key=lambda shares: quartiles(shares)[1])


def minutes(case: str) -> Callable[[Sections], list[float]]:
    def values(sections: Sections) -> list[float]:
        figures = sections.get("demo", {}).get(case)
        return [figures["seconds"] / 60] if figures else []

    return values


TINY, TINY_BF16 = "tiny-30522-fp32", "tiny-30522-bf16"

AIMS = (
    Aim("`tiny`, 30,522 words, fp32: level 3 against `transformers`", 4.0,
        step_ratio(TINY, "level 3", "transformers")),
    Aim("the same in bf16", 4.0, step_ratio(TINY_BF16, "level 3", "transformers")),
    Aim("`tiny`, 30,522 words, fp32: level 3's fastest mode against `transformers`", 8.0,
        fastest_ratio(TINY, "level 3", "transformers")),
    Aim("the same in bf16", 8.0, fastest_ratio(TINY_BF16, "level 3", "transformers")),
    Aim("`mini`, 8,192 words, fp32: level 3 against `transformers`", 1.5,
        step_ratio("mini-8192-fp32", "level 3", "transformers")),
    Aim("`base`, 30,522 words, fp32: level 3 against `transformers`", 1.25,
        step_ratio("base-30522-fp32", "level 3", "transformers")),
    Aim("`base`, 30,522 words, bf16: level 3's fastest mode against `transformers`", 1.4,
        fastest_ratio("base-30522-bf16", "level 3", "transformers")),
    Aim("d2l's configuration, fp32: level 3 against d2l's code", 1.5,
        step_ratio("d2l-20256-fp32", "level 3", "d2l")),
    Aim("d2l's configuration, bf16: level 3's fastest mode against d2l's code", 3.0,
        fastest_ratio("d2l-20256-bf16", "level 3", "d2l")),
    Aim("d2l's configuration, fp32: level 1's time relative to level 2's", 1.5,
        step_ratio("d2l-20256-fp32", "level 2", "level 1"), at_least=False),
    Aim("`tiny`, 30,522 words, fp32: level 1's time relative to level 2's", 1.5,
        step_ratio(TINY, "level 2", "level 1"), at_least=False),
    Aim("`base`, 8,192 words, fp32: level 1's time relative to level 2's", 1.5,
        step_ratio("base-8192-fp32", "level 2", "level 1"), at_least=False),
    Aim("encoding: `bert-encode` against `transformers` padded per batch", 1.5,
        encoding_ratio("bert-encode", "transformers, padded")),
    Aim("the same in bf16", 1.5,
        encoding_ratio("bert-encode, bf16", "transformers, padded, bf16")),
    Aim("making pairs: percentage of the time of a step of `tiny`", 5.0, share_of_pairs,
        at_least=False, unit="%"),
    Aim("`make demo`", 5.0, minutes("demo"), at_least=False, unit=" minutes"),
    Aim("`make test`", 15.0, minutes("tests"), at_least=False, unit=" minutes"),
)  # fmt: skip


def aims_table(sections: Sections) -> list[str]:
    return [
        "| | target | measured, with quartiles | reached |",
        "|---|---|---|---|",
        *(aim.row(sections) for aim in AIMS),
    ]
