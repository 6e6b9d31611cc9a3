"""The built site, served, and a browser that reaches nothing else.

A test that needs one of them is skipped where it is missing, and says what to call.
"""

import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

ROOT = Path(__file__).parents[2]
BUILT = ROOT / "build" / "site"
SCREENSHOTS = ROOT / "build" / "screenshots"  # of tests that failed
NO_OTHER_HOST = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
PATIENCE = 240_000  # ms for a condition that a test waits for: a busy machine is no failure
INSTALLED = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

sys.path.insert(0, str(ROOT / "site"))  # the builder's modules are not installed


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *arguments) -> None:
        pass


class QuietServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address) -> None:
        """A browser that leaves a page drops its connections: no error."""


def serve(folder: Path) -> ThreadingHTTPServer:
    """A server of `folder` at a free port of this machine, in a thread of its own."""
    server = QuietServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


@pytest.fixture(scope="session")
def read_rounded() -> Callable[[Path], dict[str, np.ndarray]]:
    """What bert.mjs reads from a file that `export_model.write_rounded` wrote."""

    def read(path: Path) -> dict[str, np.ndarray]:
        stored = load_file(path)
        whole = {name: array.astype(np.float32) for name, array in stored.items()}
        return {
            name: array * whole[f"{name}.scale"][:, None] if array.ndim == 2 else array
            for name, array in whole.items() if not name.endswith(".scale")
        }  # fmt: skip

    return read


@pytest.fixture(scope="session")
def built() -> Path:
    """The folder of the built site."""
    if not (BUILT / "index.html").is_file():
        pytest.skip("the site is not built: call make site")
    return BUILT


@pytest.fixture(scope="session")
def site(built: Path) -> Iterator[str]:
    """The address of the built site, without a slash at its end."""
    server = serve(built)
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture(scope="session")
def browser() -> Iterator:
    """A headless browser, driven by Playwright: Chromium, or what SITE_BROWSER names."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="Playwright is not installed: call make site-test"
    )
    name = os.environ.get("SITE_BROWSER", "chromium")
    options = {}
    if name == "chromium":
        installed = next(filter(None, map(shutil.which, INSTALLED)), None)
        options = dict(executable_path=installed, args=["--no-sandbox", NO_OTHER_HOST])
    with playwright.sync_playwright() as driver:
        try:
            browser = getattr(driver, name).launch(**options)
        except playwright.Error:
            pytest.skip(f"there is no browser: install Chromium, or call playwright install {name}")
        yield browser
        browser.close()


@pytest.fixture
def context_options() -> dict:
    """Options of the browser's context; a test module may define its own fixture of this name."""
    return {}


@pytest.fixture
def page(browser, site: str, request: pytest.FixtureRequest, context_options: dict) -> Iterator:
    """A new page in a context of its own: `page.goto("/ask.html")`.

    A request to another host is refused and fails the test, and so does an error in a script.
    """
    context = browser.new_context(base_url=site, **context_options)
    problems: list[str] = []

    def answer(route) -> None:
        url = route.request.url
        if url.startswith((site, "data:", "blob:")):
            route.continue_()
        else:
            problems.append(f"a request to another host: {url}")
            route.abort()

    context.set_default_timeout(PATIENCE)
    context.route("**/*", answer)
    page = context.new_page()
    page.on("pageerror", lambda error: problems.append(f"an error in a script: {error}"))
    yield page
    report = getattr(request.node, "report", None)
    if problems or (report is not None and report.failed):
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SCREENSHOTS / f"{request.node.name}.png", full_page=True)
    context.close()
    assert not problems, "; ".join(problems)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo):
    outcome = yield
    if call.when == "call":
        item.report = outcome.get_result()
