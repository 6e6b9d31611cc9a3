"""Sizes and times of the website, in a headless Chromium: results/site.md.

    make site
    python benchmarks/site_times.py --report results/site.md

A size is what is sent by a server that compresses text. The times of pages are also taken with a
processor slowed down four times, which stands for a slow laptop.
"""

import argparse
import gzip
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from autograder.points import CATALOGUE
from bert_experiments.report.page import check_report
from bert_run.errors import UserError, command
from bert_run.files import write_atomically

ROOT = Path(__file__).parents[1]
BUILT = ROOT / "build" / "site"
PORT = 8914
ADDRESS = f"http://127.0.0.1:{PORT}"
PAGES = {
    "the start page": "index.html",
    "a notebook": "01_numpy_from_scratch/03_attention_by_hand.html",
    "an exercise": "exercises/03_softmax/index.html",
    "Ask BERT, before the model": "ask.html",
    "a source file": "01_numpy_from_scratch/bert_numpy/attention.py.html",
}
TEXT = re.compile("text|json|javascript|svg")
SENTENCE = "A grey [MASK] stood on one leg among the reeds."
ROUNDS = 5
LONG = 300_000  # ms
LOADED = "performance.getEntriesByType('navigation')[0].loadEventEnd"  # ms

BLANKS = """async (sentence) => {
  const js = await import("/assets/bert.mjs");
  const get = async (name, how) => (await fetch(`/model/${name}`))[how]();
  const about = await get("about.json", "json");
  const weights = js.readSafetensors(await get("model.safetensors", "arrayBuffer"));
  const vocab = await get("vocab.txt", "text"), config = await get("config.json", "json");
  const bert = js.makeBert(config, vocab, weights, about);
  const times = [];
  for (let i = 0; i < 60; i++) {
    const began = performance.now();
    const text = js.encode(bert, sentence);
    const { states } = js.bertForward(bert, text);
    js.mlmHead(bert, states.at(-1), [text.tokens.indexOf("[MASK]")]);
    times.push(performance.now() - began);
  }
  return times.slice(10);
}"""


@contextmanager
def served() -> Iterator[None]:
    command = [sys.executable, "-m", "http.server", str(PORT), "--bind", "127.0.0.1"]
    server = subprocess.Popen(
        [*command, "--directory", str(BUILT)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        time.sleep(1)
        yield
    finally:
        server.terminate()
        server.wait()


def first_view(browser, path: str) -> tuple[int, list[float], list[float]]:
    """Bytes of a page before anything is done in it, and seconds until it is loaded: as it is,
    and with a processor slowed down four times; each time with an empty cache."""
    times: dict[int, list[float]] = {1: [], 4: []}
    for slower, found in times.items():
        for _ in range(ROUNDS):
            page = browser.new_context().new_page()
            responses: list = []
            page.on("response", lambda response, found=responses: found.append(response))
            session = page.context.new_cdp_session(page)
            session.send("Emulation.setCPUThrottlingRate", {"rate": slower})
            page.goto(f"{ADDRESS}/{path}", wait_until="networkidle")
            page.wait_for_function(f"{LOADED} > 0")
            found.append(page.evaluate(LOADED) / 1000)
            size = sum(size_of(response) for response in responses)
            page.context.close()
    return size, times[1], times[4]


def size_of(response) -> int:
    """Bytes of an answer as they are sent; the live BERT's model comes after the page is there."""
    if "/model/" in response.url:
        return 0
    data = response.body()
    is_text = TEXT.search(response.headers.get("content-type", ""))
    return len(gzip.compress(data) if is_text else data)


def exercise_times(browser, exercise) -> tuple[float, float] | None:
    """Seconds until Python is ready, and of the checks of the solution; None if not in the page."""
    page = browser.new_context().new_page()
    page.set_default_timeout(LONG)
    page.goto(f"{ADDRESS}/exercises/{exercise.name}/index.html")
    if page.locator("main").get_attribute("data-offered") != "yes":
        return None
    begun = time.perf_counter()
    page.fill("#code", exercise.solution.read_text(encoding="utf-8"))
    state = page.locator("#exercise .state")
    state.filter(has_text="ready").wait_for()
    ready = time.perf_counter()
    page.get_by_role("button", name="Check").click()
    state.filter(has_text=re.compile("checks? pass")).wait_for()
    done = time.perf_counter()
    verdict = state.inner_text()
    page.context.close()
    if not verdict.startswith("All"):
        raise UserError(f"{exercise.name}: the solution is told {verdict!r} in the page")
    return ready - begun, done - ready


def spread(values: list[float], digits: int = 2) -> str:
    """The median, and the lowest and highest."""
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{middle:.{digits}f} ({low:.{digits}f}–{high:.{digits}f})"


def report(browser) -> str:
    busy = os.getloadavg()[1]
    views = "".join(
        f"| {name} | {size / 1000:.0f} kB | {spread(quick)} | {spread(slow)} |\n"
        for name, path in PAGES.items()
        for size, quick, slow in [first_view(browser, path)]
    )
    page = browser.new_page()
    page.goto(f"{ADDRESS}/ask.html")
    blanks = page.evaluate(BLANKS, SENTENCE)
    times = {e.name: found for e in CATALOGUE if (found := exercise_times(browser, e))}
    checks = "".join(f"| {name} | {check:.1f} |\n" for name, (_, check) in times.items())
    runtime = [file for name in ("numpy*", "pyodide*", "python_stdlib*", "course*")
               for file in (BUILT / "python").glob(name)]  # fmt: skip
    python = sum(file.stat().st_size for file in runtime) / 1e6
    ready = spread([ready for ready, _ in times.values()], 1)
    whole = sum(file.stat().st_size for file in BUILT.rglob("*") if file.is_file())
    return f"""# The website: sizes and times

```
make site
python benchmarks/site_times.py --report results/site.md
```

{os.cpu_count()} cores, {platform.system()}, Chromium {browser.version}. The site is served by the
same machine, on which {busy:.0f} processes of other programs were waiting or running. Medians, with
the lowest and highest in parentheses.

## The first view

The size of what a page loads before the reader does anything, with compressed text, and the seconds
until the page is loaded with an empty cache. *A slow laptop* is this machine with its processor
slowed down four times.

| page | size | seconds | seconds on a slow laptop |
|---|---|---|---|
{views}
The whole site has {whole / 1e6:.0f} MB and {len(list(BUILT.rglob("*.html")))} pages.

## Ask BERT

Filling a blank in a sentence of {len(SENTENCE.split()) + 3} tokens takes {spread(blanks, 1)} ms.

## Python in the page

Python, NumPy and the course's files have {python:.1f} MB. They are loaded when the reader starts to
type, and the browser caches them. Seconds until Python is ready: {ready}. The table
gives the seconds for the checks of each exercise with the course's solution, which passes all of
them:

| exercise | seconds |
|---|---|
{checks}"""


@command
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--report", type=Path, required=True, help="the Markdown file to write")
    options = parser.parse_args()
    check_report(options.report, "benchmarks/site_times.py", with_picture=False, with_figures=False)
    if not (BUILT / "index.html").is_file():
        raise UserError(f"there is no {BUILT.relative_to(ROOT)}: call make site")
    from playwright.sync_api import sync_playwright

    with served(), sync_playwright() as driver:
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        write_atomically(options.report, report(browser).encode())
        browser.close()


if __name__ == "__main__":
    main()
