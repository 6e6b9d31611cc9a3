"""Text datasets of the Hugging Face Hub, row by row, streamed or downloaded.

A name is `ID[:CONFIG][@SPLIT]`: `stanfordnlp/imdb`, `Salesforce/wikitext:wikitext-2-raw-v1`,
`wikimedia/wikipedia:20231101.simple@train`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import huggingface_hub
from huggingface_hub import constants, errors
from huggingface_hub.utils import validate_repo_id

from bert_run.errors import UserError
from bert_run.weights import SECONDS_TO_ANSWER, first_line, hub_problem

RETRIES = 3  # of a read that fails in the middle of a stream, five seconds apart


@dataclass(frozen=True)
class HubName:
    id: str
    config: str | None = None
    split: str = "train"

    @classmethod
    def parse(cls, name: str) -> "HubName":
        match = re.fullmatch(r"(?P<id>[^:@]+)(?::(?P<config>[^@]+))?(?:@(?P<split>.+))?", name)
        if match is None:
            raise UserError(f"corpus {name!r}: write a Hub dataset as ID[:CONFIG][@SPLIT]")
        try:
            validate_repo_id(match["id"])
        except errors.HFValidationError:
            raise UserError(
                f"corpus {name!r}: no such file or folder, and no Hub id either "
                "(NAME or OWNER/NAME of letters, digits, '-', '_' and '.')"
            ) from None
        return cls(match["id"], match["config"], match["split"] or "train")

    def __str__(self) -> str:
        return self.id + (f":{self.config}" if self.config else "") + f"@{self.split}"


def ask_for_revision(name: HubName, *, stream: bool = True) -> str:
    """The dataset's present commit; a quick question that finds out what is wrong, if anything.
    Offline (`HF_HUB_OFFLINE=1`) a dataset downloaded earlier can be read, but not streamed."""
    if constants.HF_HUB_OFFLINE and not stream:
        return "as downloaded"
    try:
        info = huggingface_hub.HfApi().dataset_info(name.id, timeout=SECONDS_TO_ANSWER)
    except Exception as error:  # the kind depends on the HTTP library underneath
        why = hub_problem(error, "dataset", name.id)
        raise UserError(f"{name.id!r}: there is no such file or folder here, and {why}") from None
    return info.sha or "unknown"


def open_dataset(name: HubName, *, stream: bool) -> Any:
    """One split, as `datasets` holds it, streamed or downloaded first."""
    import datasets  # two seconds that local files need not pay

    datasets.config.STREAMING_READ_MAX_RETRIES = RETRIES
    datasets.config.STREAMING_OPEN_MAX_RETRIES = RETRIES
    try:
        return datasets.load_dataset(name.id, name.config, split=name.split, streaming=stream)
    except Exception as error:  # unknown config, unknown split, a dataset that is a script, …
        problem = f"{first_line(error)} (a config is named as ID:CONFIG, a split as @SPLIT)"
        if constants.HF_HUB_OFFLINE:
            problem = "it was not downloaded earlier, and HF_HUB_OFFLINE is set: unset it"
        raise UserError(f"Hub dataset {str(name)!r} cannot be opened: {problem}") from None


def dataset_rows(name: str, dataset: Any) -> Iterator[dict[str, Any]]:
    """Its rows from the first one on; a stream that breaks off is a `UserError`."""
    try:
        yield from dataset
    except Exception as error:
        raise UserError(f"dataset {name!r}: reading stopped ({first_line(error)}): call the same "
                        "command again") from None  # fmt: skip
