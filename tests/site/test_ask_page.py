"""The page "Ask BERT" in a browser, with a small model that this file trains and exports."""

import json
import re
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import export_model
import numpy as np
import pytest
from export_model import chosen_steps, cloud, link_code, newest_run, write

from bert_run.config import BertConfig, first_weights
from bert_run.errors import UserError
from bert_run.weights import load_weights, save_weights

ROOT = Path(__file__).parents[2]
AXE = ROOT / "site" / "node_modules" / "axe-core" / "axe.min.js"
STEPS = 12
HIDDEN = "#ask-answers table:first-child"
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1300, "height": 900}


@pytest.fixture(scope="module")
def run(tmp_path_factory, small_settings) -> Path:
    """A run of twelve steps on StoryWorld, of which three checkpoints are kept."""
    from bert_paper.pretrain import pretrain

    out = tmp_path_factory.mktemp("run") / "small"
    pretrain(
        small_settings(
            "storyworld", out, documents=1500, vocab_size=2000, max_position_embeddings=128,
            steps=STEPS, save_every=4, keep_checkpoints=3,
        )
    )  # fmt: skip
    return out


@pytest.fixture(scope="module")
def exported(run, tmp_path_factory) -> Path:
    """The folder `model` as the site has it, in a folder of its own."""
    out = tmp_path_factory.mktemp("exported")
    write(out, run)
    return out


# --- The files ---


def is_close(rounded: np.ndarray, array: np.ndarray) -> bool:
    """Whether each number is off by at most half a step, of which the largest of its row has 2**15;
    float32 adds its own rounding."""
    if array.ndim < 2:
        return (rounded == array).all()
    step = np.abs(array).max(axis=1, keepdims=True) / (2**15 - 1)
    return (np.abs(rounded - array) <= 0.51 * step).all()


def test_export__writes_what_the_page_loads(run, exported, read_rounded):
    model, config = exported / "model", BertConfig.load(run)
    about = json.loads((model / "about.json").read_text("utf-8"))
    assert (model / "vocab.txt").read_bytes() == (run / "vocab.txt").read_bytes()
    assert BertConfig.load(model) == config
    assert about["lowercase"] is True and about["cranes"] is True
    assert about["parameters"] == sum(w.size for w in load_weights(run, config).values())
    rounded = read_rounded(model / "model.safetensors")
    for name, array in load_weights(run, config).items():
        assert is_close(rounded[name], array), name
    assert (model / "model.safetensors").stat().st_size < 2.1 * about["parameters"] + 20_000


def test_export__has_snapshots_from_the_first_weights_to_the_last(run, exported, read_rounded):
    model, config = exported / "model", BertConfig.load(run)
    snapshots = json.loads((model / "about.json").read_text("utf-8"))["snapshots"]
    assert [snapshot["step"] for snapshot in snapshots] == [0, 4, 8, 12]
    assert snapshots[-1]["file"] == "model.safetensors", "no file twice"
    begin = first_weights(config, 0, "paper")
    for snapshot in snapshots[:-1]:
        rounded = read_rounded(model / snapshot["file"])
        kept = run / "checkpoints" / f"step-{snapshot['step']:08d}"
        expected = load_weights(kept, config) if snapshot["step"] else begin
        for name, array in expected.items():
            assert is_close(rounded[name], array), name


def test_export__of_a_folder_that_is_no_run_has_no_snapshots(run, tmp_path):
    plain = tmp_path / "plain"
    plain.mkdir()
    for name in ("config.json", "vocab.txt", "tokenizer.json", "model.safetensors"):
        (plain / name).write_bytes((run / name).read_bytes())
    write(tmp_path, plain)
    about = json.loads((tmp_path / "model" / "about.json").read_text("utf-8"))
    assert about["snapshots"] == []


def test_export__refuses_a_model_without_both_heads(run, tmp_path):
    config = BertConfig.load(run)
    weights = {n: w for n, w in load_weights(run, config).items() if not n.startswith("cls.seq")}
    config.save(tmp_path)
    save_weights(weights, tmp_path / "model.safetensors")
    with pytest.raises(UserError, match="has no next-sentence"):
        write(tmp_path / "out", tmp_path)


def test_export__says_what_to_call_where_there_is_no_model(monkeypatch, tmp_path):
    monkeypatch.setattr("export_model.ROOT", tmp_path)
    monkeypatch.setattr("export_model.WITH_SNAPSHOTS", tmp_path / "runs" / "site")
    with pytest.raises(UserError, match="run `make demo` first"):
        newest_run()


def test_train__leaves_a_run_that_the_site_takes(small_settings, monkeypatch, tmp_path):
    out = tmp_path / "runs" / "site"
    recipe = small_settings("storyworld", tmp_path / "demo", documents=300, steps=6)
    monkeypatch.setattr("bert_paper.demo.DEMO", recipe)
    monkeypatch.setattr("export_model.WITH_SNAPSHOTS", out)
    monkeypatch.setattr("export_model.SAVED_EVERY", 2)
    export_model.train()
    assert newest_run() == out
    assert [path.name for path in sorted((out / "checkpoints").iterdir())] == [
        "step-00000002", "step-00000004", "step-00000006",
    ]  # fmt: skip


def test_chosen_steps__are_dense_at_the_beginning():
    steps = chosen_steps(list(range(0, 2251, 75)))
    assert steps[0] == 0 and steps[-1] == 2250 and len(steps) == 11
    gaps = np.diff(steps)
    assert gaps[0] == 75 and gaps[-1] == 450
    assert chosen_steps([0, 1125, 2250]) == [0, 1125, 2250]


def test_cloud__has_the_means_of_both_senses_at_1_and_minus_1():
    generator = np.random.default_rng(0)
    senses = np.array(["bird"] * 30 + ["machine"] * 50)
    vectors = generator.normal(size=(80, 12)) + (senses == "bird")[:, None] * 2
    made = cloud(vectors, senses)
    assert np.mean(made["points"]["bird"], axis=0)[0] == pytest.approx(1, abs=1e-3)
    assert np.mean(made["points"]["machine"], axis=0)[0] == pytest.approx(-1, abs=1e-3)
    again = (vectors[0] - made["center"]) @ np.array(made["directions"]).T
    assert again == pytest.approx(made["points"]["bird"][0], abs=5e-3)


def test_link_code__finds_the_line_of_a_function_by_its_name(tmp_path):
    page = tmp_path / "ask.html"
    path = "01_numpy_from_scratch/bert_numpy/attention.py"
    page.write_text(f'<a href="{path}.html"><code>attention_forward</code></a>', "utf-8")
    link_code(page)
    line = int(re.search(r"#L(\d+)", page.read_text("utf-8"))[1])
    assert (
        (ROOT / path).read_text("utf-8").split("\n")[line - 1].startswith("def attention_forward(")
    )
    page.write_text(f'<a href="{path}.html"><code>no_such_function</code></a>', "utf-8")
    with pytest.raises(UserError, match="defines no no_such_function"):
        link_code(page)


# --- The page ---


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *arguments) -> None:
        pass


def served(folder: Path, built: Path, model: Path | None):
    """A server of the built site's pages and scripts with another model, or with none."""
    for name in ("ask.html", "index.html", "assets"):
        (folder / name).symlink_to(built / name)
    if model is not None:
        (folder / "model").symlink_to(model)
    handler = partial(QuietHandler, directory=str(folder))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


@pytest.fixture(scope="module")
def site(built, exported, tmp_path_factory):
    """In place of the fixture of all tests: with the model that was trained above."""
    server = served(tmp_path_factory.mktemp("served"), built, exported / "model")
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture
def context_options() -> dict:
    return {"viewport": DESK}


@pytest.fixture
def ask(page):
    """The page, when the model is loaded. Nothing is hidden yet: the sentence is one of ours."""
    page.goto("/ask.html")
    page.wait_for_selector("#ask[data-ready]")
    page.fill("#ask-a", "The crane stood in the river.")
    return page


def hide(page, word: str) -> None:
    page.locator("#ask-tokens button", has_text=re.compile(f"^{word}$")).first.click()


def answers(page) -> list[str]:
    """The words and percentages of the first blank, as they are read."""
    return page.locator(f"{HIDDEN} tr").all_inner_texts()


def bars(page) -> list[str]:
    """The lengths of the bars of all blanks, exact to a hundredth of a percent."""
    return page.evaluate("[...document.querySelectorAll('#ask-answers .ask-bar')]"
                         ".map((bar) => bar.style.inlineSize)")  # fmt: skip


def test_a_word_that_is_clicked__is_hidden_and_predicted(ask):
    assert "Nothing is hidden" in ask.inner_text("#ask-answers")
    hide(ask, "river")
    shown = answers(ask)
    assert len(shown) in (5, 6), "five words, and the hidden one where it is not among them"
    assert any("river" in row and "hidden here" in row for row in shown)
    assert all(re.search(r"\d%", row) for row in shown)
    assert ask.get_attribute("#ask-tokens [data-key='6']", "aria-pressed") == "true"
    assert ask.locator("#ask-lens th").all_inner_texts() == ["embeddings", "layer 0", "layer 1"]
    hide(ask, "river")
    assert "Nothing is hidden" in ask.inner_text("#ask-answers")


def test_a_mask_that_is_typed__is_a_blank_too(ask):
    ask.fill("#ask-a", "The [MASK] stood in the [MASK].")
    assert ask.locator("#ask-answers table").count() == 2
    assert ask.locator("#ask-answers caption").all_inner_texts() == ["Blank 1", "Blank 2"]


def test_editing_the_text__leaves_hidden_words_hidden(ask):
    hide(ask, "river")
    ask.fill("#ask-a", "Yesterday the crane stood in the deep river.")
    assert ask.locator("#ask-tokens [aria-pressed=true]").all_inner_texts() == ["river"]
    ask.fill("#ask-a", "Yesterday the crane stood.")
    assert ask.locator("#ask-tokens [aria-pressed=true]").count() == 0


def test_a_head_that_is_switched_off__changes_the_prediction_and_comes_back(ask):
    hide(ask, "river")
    before = bars(ask)
    ask.get_by_role("switch", name="layer 1, head 0 is on").uncheck()
    ask.get_by_role("switch", name="layer 0, head 1 is on").uncheck()
    assert bars(ask) != before
    assert ask.locator(".ask-off").all_inner_texts() == ["0.1 off", "1.0 off"]
    ask.get_by_role("button", name="Switch all heads on").click()
    assert bars(ask) == before


def test_a_map__shows_its_lines_and_a_token_its_own(ask):
    hide(ask, "river")
    ask.get_by_role("button", name="layer 1, head 1: show its lines").click()
    assert ask.inner_text("#ask-head-name") == "Layer 1, head 1"
    own = ask.locator("#ask-lines line").count()
    assert ask.inner_text("#ask-lines-said").startswith("[MASK] looks at")
    ask.get_by_role("button", name="[MASK] looks").click()
    assert ask.locator("#ask-lines line").count() > own, "now those of all tokens"
    ask.get_by_role("button", name="crane looks").click()
    assert ask.inner_text("#ask-lines-said").startswith("crane looks at")
    drawn = ask.evaluate(
        "[...document.querySelectorAll('#ask-maps canvas')].map((canvas) =>"
        "canvas.getContext('2d').getImageData(0, 0, 9, 9).data.some(Boolean))"
    )
    assert drawn == [True] * 4


def test_a_second_sentence__gets_a_verdict(ask):
    assert ask.locator("#ask-swap").is_hidden()
    ask.fill("#ask-b", "It caught a silver fish.")
    rows = ask.locator("#ask-pair tr").all_inner_texts()
    yes, no = (float(re.search(r"([\d.]+)%", row)[1]) for row in rows)
    assert rows[0].startswith("yes") and yes + no == pytest.approx(100, abs=0.11)
    ask.click("#ask-swap")
    assert ask.input_value("#ask-a") == "It caught a silver fish."
    assert ask.input_value("#ask-b") == "The crane stood in the river."


def test_the_slider__goes_back_to_the_first_step_and_draws_the_curves(ask):
    hide(ask, "river")
    trained = answers(ask)
    assert ask.inner_text("#ask-step-shown") == "12 of 12"
    ask.focus("#ask-step")
    ask.keyboard.press("Home")
    ask.wait_for_function("document.getElementById('ask-step-shown').textContent === '0 of 12'")
    assert ask.get_attribute("#ask-step", "aria-valuetext") == "step 0 of 12"
    assert answers(ask) != trained
    ask.keyboard.press("ArrowRight")
    ask.wait_for_function("document.getElementById('ask-step-shown').textContent === '4 of 12'")
    ask.get_by_role("button", name="Load all other steps").click()
    ask.wait_for_selector("#ask-load-all", state="hidden")
    ask.wait_for_function(
        "document.querySelectorAll('.ask-plot i').length === 12"
    )  # 3 words, 4 steps
    ask.focus("#ask-step")
    ask.keyboard.press("End")
    assert answers(ask) == trained


def test_your_own_crane__stands_among_the_clouds(ask):
    dots = (
        ask.locator("#ask-clouds circle").count(),
        ask.locator("#ask-clouds path.ask-sense-1").count(),
    )
    assert min(dots) > 10
    star = "document.querySelector('.ask-own text').style.transform"
    before, said = ask.evaluate(star), ask.inner_text("#ask-crane-said")
    assert re.search(r"on the side of the (bird|machine)s", said)
    ask.get_by_role("button", name="The crane lifted the steel beam.").click()
    assert ask.evaluate(star) != before
    ask.get_by_label("the embeddings").check()
    assert "depends on its position alone" in ask.inner_text("#ask-crane-said")
    ask.fill("#ask-crane", "A crane is no crane.")
    assert ask.locator(".ask-own text").count() == 2
    ask.fill("#ask-crane", "A bird.")
    assert "There is no crane in your sentence" in ask.inner_text("#ask-crane-said")
    assert ask.locator(".ask-own text").count() == 0


def test_the_page__works_by_keyboard_alone(ask):
    focused = "document.activeElement.getAttribute('aria-label') ?? document.activeElement.id"
    ask.focus("#ask-b")
    seen = []
    while "stood" not in seen:
        ask.keyboard.press("Tab")
        seen.append(ask.evaluate(focused))
        assert len(seen) < 30, seen
    ask.keyboard.press("Space")
    assert ask.evaluate(focused) == "stood, hidden", "the focus stays on the word"
    assert any("hidden here" in row for row in answers(ask))
    while ask.evaluate(focused) != "layer 0, head 0 is on":
        ask.keyboard.press("Tab")
        assert len(seen) < 80, seen
        seen.append(ask.evaluate(focused))
    ask.keyboard.press("Space")
    assert ask.locator(".ask-off").count() == 1
    assert ask.evaluate(focused) == "layer 0, head 0 is on"
    ask.wait_for_function("document.getElementById('ask-said').textContent.startsWith('Blank 1: ')")


def test_the_address__holds_the_text_and_what_is_hidden_and_off(ask):
    ask.fill("#ask-b", "It stood & stood.")
    hide(ask, "river")
    ask.get_by_role("switch", name="layer 1, head 0 is on").uncheck()
    address, seen = ask.url, bars(ask)
    ask.goto("about:blank")
    ask.goto(address)
    ask.wait_for_selector("#ask[data-ready]")
    assert bars(ask) == seen
    assert ask.locator("#ask-tokens [aria-pressed=true]").all_inner_texts() == ["river"]
    assert ask.input_value("#ask-b") == "It stood & stood."
    assert ask.locator(".ask-off").count() == 1
    ask.evaluate("location.hash = '#a=A+crane.&hide=0,1,99,x&off=7.7'")
    ask.wait_for_function("document.getElementById('ask-b').value === ''")
    assert ask.locator("#ask-tokens [aria-pressed=true]").all_inner_texts() == ["a"]
    assert ask.locator(".ask-off").count() == 0


def test_a_text_that_is_too_long__is_refused_in_words(ask):
    ask.fill("#ask-a", "crane " * 200)
    assert "202 tokens are too many: this model reads at most 128" in ask.inner_text("#ask-answers")
    ask.fill("#ask-a", "The crane stood.")
    assert "Nothing is hidden" in ask.inner_text("#ask-answers")


def test_an_empty_text__is_no_error(ask):
    ask.fill("#ask-a", "")
    assert ask.locator("#ask-tokens span").all_inner_texts() == ["[CLS]", "[SEP]"]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1300])
def test_the_page__fits_and_is_accessible(ask, theme, width):
    ask.set_viewport_size({"width": width, "height": 844})
    ask.emulate_media(color_scheme=theme, reduced_motion="reduce")  # no dot moves while axe looks
    hide(ask, "river")
    ask.fill(
        "#ask-b",
        "It caught a silver fish in the evening, as on every other day of the year.",
    )
    ask.get_by_role("switch", name="layer 1, head 0 is on").uncheck()
    ask.get_by_role("button", name="Load all other steps").click()
    ask.wait_for_selector(".ask-plot")
    assert ask.evaluate("document.documentElement.scrollWidth") <= width
    if not AXE.is_file():
        pytest.skip("axe-core is not installed: call make site")
    ask.evaluate(AXE.read_text(encoding="utf-8"))
    violations = ask.evaluate("axe.run('main').then((result) => result.violations)")
    assert [(v["id"], v["nodes"][0]["html"][:150]) for v in violations] == []


# --- The start page, and a site without a model ---


def test_the_start_page__asks_for_a_word_before_it_loads_the_model(page):
    requests = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto("/index.html")
    first = page.get_by_role("link", name="a first exercise")
    assert first.get_attribute("href").endswith("/exercises/03_softmax/index.html")
    page.fill("#ask-guess", "Bird")
    assert not any("/model/" in url for url in requests)
    page.keyboard.press("Enter")
    page.wait_for_selector("#ask-small table")
    assert page.locator("#ask-small tr").count() in (5, 6)
    assert "your word" in page.inner_text("#ask-small") or "never read" in page.inner_text(
        "#ask-small"
    )
    assert page.get_by_role("link", name="Ask it more").get_attribute("href").endswith("/ask.html")
    page.fill("#ask-guess", "xylophonists")
    page.get_by_role("button", name="Compare with BERT").click()
    page.get_by_text("This small BERT has never read “xylophonists”.").wait_for()


def test_a_site_without_a_model__says_so(browser, built, tmp_path):
    server = served(tmp_path, built, None)
    page = browser.new_page(base_url=f"http://127.0.0.1:{server.server_port}")
    page.goto("/ask.html")
    says = "This copy of the site was built without a model. Call make demo, then make site."
    page.get_by_text(says).wait_for()
    page.goto("/index.html")
    page.get_by_role("button", name="Compare with BERT").click()
    page.get_by_text(says).wait_for()
    page.close()
    server.shutdown()


def test_a_model_without_snapshots_and_cranes__shows_the_rest(browser, built, exported, tmp_path):
    model = tmp_path / "model"
    model.mkdir()
    for name in ("config.json", "vocab.txt", "model.safetensors"):
        (model / name).symlink_to(exported / "model" / name)
    about = json.loads((exported / "model" / "about.json").read_text("utf-8"))
    (model / "about.json").write_text(
        json.dumps(about | {"snapshots": [], "cranes": False}), "utf-8"
    )
    (folder := tmp_path / "served").mkdir()
    server = served(folder, built, model)
    page = browser.new_page(base_url=f"http://127.0.0.1:{server.server_port}")
    page.goto("/ask.html")
    page.wait_for_selector("#ask[data-ready]")
    assert page.locator("#ask-training").is_hidden() and page.locator("#ask-cranes").is_hidden()
    assert page.locator("#ask-maps canvas").count() == 4
    page.close()
    server.shutdown()
