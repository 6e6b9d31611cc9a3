"""Building a token store: beside bare encoding, in a process of its own, and after a kill.

python -m bench_sections.store TEXT TOKENIZER FOLDER    builds, and prints seconds and bytes
"""

import json
import signal
import statistics
import subprocess
import sys
import time
from itertools import chain, islice, pairwise
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from bench_sections.machine import environment, peak_resident
from bert_corpus import storyworld
from bert_corpus.store import BATCH, Corpus, TokenStore, build_store, open_corpus
from bert_corpus.wordpiece import load_tokenizer, train_wordpiece
from bert_run.training_loop import progress_bar

VOCABULARY = 8192
TOKENIZER_SENTENCES = 200_000
WARM_UP = 1
MEGABYTE = 1_000_000


def write_stories(path: Path, size: int) -> None:
    """StoryWorld, one sentence a line, until the file has `size` bytes."""
    with open(path, "w", encoding="utf-8") as file:
        for story in storyworld.stories(10**9, seed=0, split="train"):
            file.write("\n".join(sentence.text for sentence in story.sentences) + "\n\n")
            if file.tell() >= size:
                return


def whole(text: Path) -> Corpus:
    """All documents of a file, none held out."""
    return open_corpus(str(text), held_out=str(text))


def train_tokenizer(text: Path) -> Tokenizer:
    return train_wordpiece(
        islice(chain.from_iterable(whole(text)), TOKENIZER_SENTENCES), VOCABULARY
    )


def in_batches(sentences: list[str]) -> list[list[str]]:
    """As many characters at once as `build_store` takes."""
    ends = np.cumsum([len(sentence) for sentence in sentences]) // BATCH
    cuts = [0, *(1 + np.flatnonzero(np.diff(ends))), len(sentences)]
    return [sentences[a:b] for a, b in pairwise(cuts)]


def speed(text: Path, tokenizer: Tokenizer, folder: Path, rounds: int) -> dict:
    """Megabytes a second of `build_store`, from the file to the finished store, and of nothing but
    `encode_batch` on the same sentences, which lie in memory; in turns, with the ratio."""
    batches = in_batches(list(chain.from_iterable(whole(text))))
    size = text.stat().st_size / MEGABYTE
    times: dict[str, list[float]] = {"bare": [], "store": []}
    with progress_bar(rounds + WARM_UP, "rounds", unit="round") as bar:
        for number in range(rounds + WARM_UP):
            begin = time.perf_counter()
            for batch in batches:
                tokenizer.encode_batch(batch, add_special_tokens=False)
            middle = time.perf_counter()
            build_store(whole(text), tokenizer, folder / f"round-{number}", progress=False)
            end = time.perf_counter()
            if number >= WARM_UP:
                times["bare"].append(middle - begin)
                times["store"].append(end - middle)
            bar.update()
    ratios = [bare / ours for bare, ours in zip(times["bare"], times["store"], strict=True)]
    low, ratio, high = statistics.quantiles(ratios, n=4)
    return {
        "bare": size / statistics.median(times["bare"]),
        "store": size / statistics.median(times["store"]),
        "ratio": ratio,
        "spread": (low, high),
        "tokens": len(TokenStore.open(folder / "round-0").tokens),
    }


def build_apart(
    text: Path, tokenizer: Path, folder: Path, *, kill_after: float | None = None
) -> dict | None:
    """Build in a process of its own; None if it was killed, so many seconds after it began."""
    child = subprocess.Popen(
        [sys.executable, "-m", "bench_sections.store", text, tokenizer, folder],
        stdout=subprocess.PIPE, text=True, env=environment(),
    )  # fmt: skip
    assert child.stdout.readline() == "begin\n"
    try:
        output, _ = child.communicate(timeout=kill_after)
    except subprocess.TimeoutExpired:
        child.send_signal(signal.SIGKILL)
        child.communicate()
        return None
    assert child.returncode == 0
    return json.loads(output)


def price_of_a_kill(text: Path, tokenizer: Path, folder: Path) -> dict:
    """Seconds alone, and of the same call after a kill in the middle; and the peak of memory."""
    alone = build_apart(text, tokenizer, folder / "alone")
    killed_after = alone["seconds"] / 2
    killed = build_apart(text, tokenizer, folder / "killed", kill_after=killed_after)
    assert killed is None, "it finished before it was killed: take a larger text"
    again = build_apart(text, tokenizer, folder / "killed")
    stores = [sorted((folder / name).glob("*.bin")) for name in ("alone", "killed")]
    assert stores[0] and all(
        one.read_bytes() == other.read_bytes() for one, other in zip(*stores, strict=True)
    ), "the store that was killed and gone on with differs from the other"
    return {
        "alone": alone["seconds"],
        "again": again["seconds"],
        "lost": killed_after + again["seconds"] - alone["seconds"],
        "peak": max(alone["peak"], again["peak"]),
    }


def main() -> None:
    text, tokenizer, folder = map(Path, sys.argv[1:])
    print("begin", flush=True)
    begin = time.perf_counter()
    build_store(whole(text), load_tokenizer(tokenizer), folder, progress=False)
    print(json.dumps({"seconds": time.perf_counter() - begin, "peak": peak_resident()}))


if __name__ == "__main__":
    main()
