"""Building a token store beside bare encoding: megabytes a second, memory, and the price of a kill.

    python benchmarks/store.py [--text FILE] [--out results/store.md]

The same text goes through `build_store` (from the file to the finished store: reading, splitting,
encoding, writing, counting) and through nothing but `encode_batch` of the `tokenizers` library, its
sentences lying ready in memory. Both use all cores; they take turns, so that whatever else the
machine does strikes both; the ratio is the median over the rounds, with the quartiles as spread.

Memory is the largest resident size of a process of its own that builds the store. A third process
is killed (SIGKILL) when half of that time is over, and the same call made again: what both took
together, less what one takes alone, is the price of the kill. The two stores are compared byte for
byte.
"""

import argparse
import json
import os
import platform
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import tokenizers
from tokenizers import Tokenizer

from bert_corpus import storyworld
from bert_corpus.documents import Corpus, open_corpus
from bert_corpus.store import ARRAYS, TokenStore
from bert_corpus.store_building import BATCH, SAFE_EVERY, build_store
from bert_corpus.wordpiece import load_tokenizer, save_tokenizer, train_wordpiece
from bert_run.files import write_atomically
from bert_run.progress import progress_bar

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
    return train_wordpiece(islice(whole(text).sentences, TOKENIZER_SENTENCES), VOCABULARY)


def encode_only(batches: list[list[str]], tokenizer: Tokenizer) -> None:
    for batch in batches:
        tokenizer.encode_batch(batch, add_special_tokens=False)


def in_batches(sentences: list[str]) -> list[list[str]]:
    """As many characters at once as `build_store` takes."""
    ends = np.cumsum([len(sentence) for sentence in sentences]) // BATCH
    cuts = [0, *(1 + np.flatnonzero(np.diff(ends))), len(sentences)]
    return [sentences[a:b] for a, b in pairwise(cuts)]


def speed(text: Path, tokenizer: Tokenizer, folder: Path, rounds: int) -> dict:
    """Megabytes a second of both, in turn, and the ratio."""
    batches = in_batches(list(whole(text).sentences))
    size = text.stat().st_size / MEGABYTE
    times: dict[str, list[float]] = {"bare": [], "store": []}
    with progress_bar(rounds + WARM_UP, "rounds", unit="round") as bar:
        for number in range(rounds + WARM_UP):
            begin = time.perf_counter()
            encode_only(batches, tokenizer)
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


def peak_memory() -> int:
    """Bytes that this process had resident at most.

    Linux hands `ru_maxrss` down from the process that started this one, so there the status file
    is asked.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # macOS counts bytes


def build_here(text: Path, tokenizer: Path, folder: Path) -> None:
    """What a process of its own does: build, and tell the seconds and the largest resident size."""
    print("begin", flush=True)
    begin = time.perf_counter()
    build_store(whole(text), load_tokenizer(tokenizer), folder, progress=False)
    seconds = time.perf_counter() - begin
    print(json.dumps({"seconds": seconds, "peak": peak_memory()}))


def build_apart(
    text: Path, tokenizer: Path, folder: Path, *, kill_after: float | None = None
) -> dict | None:
    """Build in a process of its own; None if it was killed, so many seconds after it began."""
    child = subprocess.Popen(
        [sys.executable, __file__, "--build", text, tokenizer, folder],
        stdout=subprocess.PIPE, text=True,
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
    """Seconds alone, killed in the middle, and after it; and the largest resident size."""
    print("built in a process of its own, then again with a kill in the middle …", file=sys.stderr)
    alone = build_apart(text, tokenizer, folder / "alone")
    killed_after = alone["seconds"] / 2
    killed = build_apart(text, tokenizer, folder / "killed", kill_after=killed_after)
    assert killed is None, "it finished before it was killed: take a larger text"
    again = build_apart(text, tokenizer, folder / "killed")
    names = [*(f"{name}.bin" for name in ARRAYS), "report.json"]
    same = all(
        (folder / "alone" / name).read_bytes() == (folder / "killed" / name).read_bytes()
        for name in names
    )
    assert same, "the store that was killed and gone on with differs from the other"
    return {
        "alone": alone["seconds"],
        "again": again["seconds"],
        "lost": killed_after + again["seconds"] - alone["seconds"],
        "peak": max(alone["peak"], again["peak"]),
    }


def report(text: str, size: int, rates: dict, kill: dict, rounds: int) -> str:
    return f"""# Building a token store

```
python benchmarks/store.py {" ".join(sys.argv[1:])}
```

{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()},
tokenizers {tokenizers.__version__}, NumPy {np.__version__}. {text}, {size / MEGABYTE:,.0f} MB,
{rates["tokens"]:,} tokens, a vocabulary of at most {VOCABULARY:,} entries trained on it. Medians of
{rounds} rounds in turn; the spread is the quartiles of the rounds' ratios.

| | MB/s | share of bare encoding | spread |
|---|---|---|---|
| `encode_batch` alone | {rates["bare"]:.2f} | | |
| `build_store`, from the file to the finished store | {rates["store"]:.2f} | \
{rates["ratio"]:.0%} | {rates["spread"][0]:.0%}–{rates["spread"][1]:.0%} |

`build_store` encodes with `encode_batch_fast`, which leaves out the places of tokens in the text,
and reads, splits and writes while the library encodes; so it can pass 100%.

| in a process of its own | |
|---|---|
| largest resident size | {kill["peak"] / MEGABYTE:,.0f} MB |
| seconds without interruption | {kill["alone"]:.1f} |
| seconds of the same call after a kill (SIGKILL) in the middle | {kill["again"]:.1f} |
| seconds lost by the kill | {kill["lost"]:.1f} |

Every {SAFE_EVERY} seconds what is written is made safe, so a kill costs about that much at most,
and the time to read the text before it once more. Both stores are the same, byte for byte.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--text", type=Path, help="a text file in place of StoryWorld")
    parser.add_argument("--megabytes", type=int, default=48, help="of StoryWorld (default 48)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, help="write the table here too")
    parser.add_argument("--build", nargs=3, type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.build:
        build_here(*options.build)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = options.text or folder / "stories.txt"
        if options.text is None:
            write_stories(text, options.megabytes * MEGABYTE)
        tokenizer = train_tokenizer(text)
        save_tokenizer(tokenizer, folder / "tokenizer")
        kill = price_of_a_kill(text, folder / "tokenizer", folder)
        rates = speed(text, tokenizer, folder, options.rounds)
        subject = options.text.name if options.text else "StoryWorld, one sentence a line"
        table = report(subject, text.stat().st_size, rates, kill, options.rounds)
    print(table)
    if options.out:
        write_atomically(options.out, table)


if __name__ == "__main__":
    main()
