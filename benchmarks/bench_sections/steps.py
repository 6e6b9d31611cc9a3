"""Training steps, measured: cases of a model, a batch and a precision, their contestants in turns.

Contestants of a case get the same weights and the same masked batch. Those alive at once are as
many as fit into the memory; the reference is in every group, so that every ratio is of two that
took turns. Fresh memory takes its turns with them: what it costs at the time decides how fast those
are that do not keep theirs.
"""

import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench_sections.children import WARM_UP, Contestant, measure_group
from bench_sections.limits import MEGABYTES
from bench_sections.machine import free_memory
from bench_sections.models import Work, d2l_config, sized, write_work
from bench_sections.saved import Saved
from bert_experiments.cost import floating_point_operations
from bert_run.config import MaskingRecipe, count_parameters, parameter_shapes
from bert_run.training_loop import progress_bar

FRESH_MEMORY = Contestant("fresh memory", "fresh memory")
# Whose logits are those of all positions, by their kind or their name.
EVERY_TOKEN = {"transformers", "level 2, every token", "without: head only on masked positions"}


@dataclass(frozen=True)
class Case:
    """Who computes a training step of `work`; the first contestant is the reference."""

    name: str
    size: str
    work: Work
    precision: str
    contestants: tuple[Contestant, ...]
    rounds: int


def work_of(size: str, vocab_size: int, batch_size: int, seq_length: int, **changes) -> Work:
    """`size` is a preset of `BertConfig`, or "d2l"."""
    config = d2l_config(vocab_size) if size == "d2l" else sized(size, vocab_size)
    return Work(config.with_changes(**changes), batch_size, seq_length)


def options(kind: str, precision: str, **more) -> dict:
    """What a contestant of this kind is made with; level 1 has float32 alone."""
    return {} if kind == "level 1" else {"precision": precision, **more}


def operations(work: Work) -> float:
    """Floating point operations of a token that the model needs, the MLM head on the masked
    positions alone; what somebody computes beyond that does not count."""
    asked = MaskingRecipe().max_predictions(work.seq_length) / work.seq_length
    parts = floating_point_operations(work.config, seq_length=work.seq_length, asked=asked)
    return sum(parts.values())


def bytes_needed(work: Work, *, every_token: bool) -> int:
    """Roughly, of one contestant: weights, gradients, moments, a copy; activations; the logits with
    their gradients, of every token or of the masked ones; the libraries."""
    config, tokens = work.config, work.tokens
    at_rest = 5 * 4 * count_parameters(parameter_shapes(config))
    scores = 4 * config.num_attention_heads * work.seq_length
    wide = 16 * config.hidden_size + 3 * config.intermediate_size
    in_layers = tokens * config.num_hidden_layers * 4 * (wide + scores)
    asked = tokens if every_token else tokens * MaskingRecipe().masked_lm_prob
    return int(at_rest + in_layers + 4 * 4 * asked * config.vocab_size + 600 * 2**20)


def groups(case: Case, memory: float) -> Iterator[list[Contestant]]:
    """Those that fit into the memory together, in their order. The first is in every group."""
    reference, *others = case.contestants
    need = {
        one.name: bytes_needed(case.work, every_token=bool({one.kind, one.name} & EVERY_TOKEN))
        for one in case.contestants
    }
    group, used = [reference], need[reference.name]
    for one in others:
        if len(group) > 1 and used + need[one.name] > memory:
            yield group
            group, used = [reference], need[reference.name]
        group, used = [*group, one], used + need[one.name]
    yield group


def groups_of(case: Case) -> list[list[Contestant]]:
    """As the memory is now."""
    return list(groups(case, 0.7 * free_memory()))


def measure_case(case: Case, tick: Callable[[str], object]) -> dict:
    work, found, fresh = case.work, [], []
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        write_work(Path(name), work)
        for group in groups_of(case):
            results = measure_group(
                [*group, FRESH_MEMORY], Path(name), rounds=case.rounds, tick=tick
            )
            touched = results.pop(FRESH_MEMORY.name)
            fresh += [MEGABYTES * 10**6 / taken for taken in touched["seconds"]]
            found.append(results)
    return {
        "size": case.size, "vocab_size": work.config.vocab_size, "precision": case.precision,
        "batch_size": work.batch_size, "seq_length": work.seq_length, "tokens": work.tokens,
        "operations": operations(work), "reference": case.contestants[0].name,
        "groups": found, "fresh_memory": fresh,
    }  # fmt: skip


def measure_cases(saved: Saved, section: str, cases: Iterable[Case]) -> None:
    """Those that are not there yet."""
    cases = list(cases)
    turns = {case.name: sum(len(group) + 1 for group in groups_of(case)) * (case.rounds + WARM_UP)
             for case in cases}  # fmt: skip
    done = [case for case in cases if saved.get(section, case.name)]
    with progress_bar(sum(turns.values()), "training step", unit="turn",
                      initial=sum(turns[case.name] for case in done)) as bar:  # fmt: skip
        for case in cases:
            if case in done:
                continue

            def tick(name: str, case: Case = case) -> None:
                bar.set_postfix_str(f"{case.name}, {name}", refresh=False)
                bar.update()

            saved.put(section, case.name, measure_case(case, tick))
