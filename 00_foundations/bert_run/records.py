"""Read what programs write as JSON: configs, reports, manifests. A damaged one is one clear line.

Such files are edited by hand, cut short by full disks and swapped for others, so what is in them
is looked at before it is used.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bert_run.errors import UserError

NAMES = {dict: "an object", list: "a list", str: "text", int: "a whole number", float: "a number",
         bool: "true or false"}  # fmt: skip
LONGEST_SHOWN = 60  # characters of a value in a message


def read_record(
    path: Path,
    required: Mapping[str, type] | None = None,
    optional: Mapping[str, type] | None = None,
    *,
    way_out: str,
) -> dict[str, Any]:
    """The JSON object of a file, with all `required` fields, each value of its type.

    A field of `optional` may be absent or null. `way_out` says what to do when the file is missing
    or damaged, and ends the line of the `UserError` that is raised then.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise UserError(f"there is no {path}: {way_out}") from None
    except OSError as error:
        raise UserError(
            f"{path} cannot be read ({error.strerror}): check its permissions"
        ) from None
    problem, record = parse_object(content)
    problem = problem or wrong_field(record, required or {}, optional or {})
    if problem:
        raise UserError(f"{path} is damaged ({problem}): {way_out}")
    return record


def parse_object(content: bytes) -> tuple[str | None, dict[str, Any]]:
    """What is wrong with the text of a JSON object, or None, and the object."""
    try:
        value = json.loads(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        return f"not UTF-8 text, byte {error.start}", {}
    except json.JSONDecodeError as error:
        return f"not JSON, line {error.lineno}: {error.msg}", {}
    except ValueError as error:  # a whole number of thousands of digits
        return f"not JSON: {error}", {}
    except RecursionError:
        return "nested too deep", {}
    if not isinstance(value, dict):
        return f"{shown(value)} where an object is expected", {}
    return None, value


def wrong_field(
    record: Mapping[str, Any], required: Mapping[str, type], optional: Mapping[str, type]
) -> str | None:
    """The first field that is missing or holds a value of another type, in words; None if none."""
    if missing := [name for name in required if name not in record]:
        return f"it has no {missing[0]!r}"
    for name, kind in {**optional, **required}.items():
        value = record.get(name)
        if (value is not None or name in required) and not is_of(kind, value):
            return f"{name!r} is {shown(value)}, not {NAMES[kind]}"
    return None


def is_of(kind: type, value: Any) -> bool:
    """Whether a value has a type; true is no number, and a whole number may stand for a float.

    A whole number beyond 64 bits is none: nothing that computes with it would take it.
    """
    if isinstance(value, bool):
        return kind is bool
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return False
    return isinstance(value, (int, float) if kind is float else kind)


def shown(value: Any) -> str:
    """A value in a message: on one line, and short."""
    try:
        text = repr(value)
    except RecursionError:
        text = "a deeply nested value"
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "…"
