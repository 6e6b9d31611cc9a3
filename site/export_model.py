"""The model of the live BERT, as the page loads it.

    python site/export_model.py                      from runs/site or runs/demo into build/site
    python site/export_model.py --checkpoint DIR     from any BERT folder
    python site/export_model.py --train              only train: the demo's recipe into runs/site,
                                                     with the weights of many steps for the slider

What is written to `model/`:

| file | holds |
|---|---|
| `config.json`, `vocab.txt` | as in every BERT folder |
| `model.safetensors` | the weights, as `write_rounded` does |
| `about.json` | sizes, whether text is lower-cased, and the list of the snapshots |
| `snapshots/step-00000150.safetensors` | those after so many steps |
| `cranes.json` | the vectors of every *crane* in unseen sentences, projected onto a plane |
"""

import argparse
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
from jaxtyping import Float
from numpy import ndarray
from render import Repository

from bert_corpus.wordpiece import read_tokenizer
from bert_run.config import BertConfig, Weights, count_parameters, first_weights, parameter_shapes
from bert_run.errors import UserError, command
from bert_run.files import RunFolder, demo_folder, step_of, write_atomically
from bert_run.weights import WEIGHTS_FILE, load_weights, missing_heads, save_weights

ROOT = Path(__file__).parents[1]
WITH_SNAPSHOTS = ROOT / "runs" / "site"
SAVED_EVERY = 75  # of the demo's 2,250 steps
# The model changes most at the beginning: the snapshots' places in a training run.
PLACES = (0, 1 / 30, 1 / 15, 0.1, 2 / 15, 0.2, 0.3, 0.4, 0.6, 0.8, 1)
CODE_LINK = re.compile(r'href="([^"#]+\.py)\.html"><code>(\w+)</code>')
WORD, STORIES_OF_EACH_KIND, SEQ_LENGTH = "crane", 60, 128
LARGEST = 2**15 - 1  # of the 16-bit integers that stand for weights
DIGITS = 4  # after the point, in cranes.json: enough for a picture


def write(out: Path, checkpoint: Path | None = None) -> None:
    """Write `out/model`, and lead the links of `out/ask.html` to the lines that they name.

    Raises `UserError` if there is no model, or if the page cannot use it.
    """
    link_code(out / "ask.html")
    folder = checkpoint or newest_run()
    model = out / "model"
    model.mkdir(parents=True, exist_ok=True)
    config, weights = open_model(folder)
    config.save(model)
    lowercase = write_vocabulary(folder, config, model)
    write_rounded(weights, model / WEIGHTS_FILE)
    about = {
        "parameters": count_parameters(parameter_shapes(config)),
        "lowercase": lowercase,
        "snapshots": write_snapshots(folder, config, model),
        "cranes": write_cranes(folder, model / "cranes.json"),
    }
    write_atomically(model / "about.json", json.dumps(about, indent=2) + "\n")


def link_code(page: Path) -> None:
    """Lead each link to a Python file whose text is the name of a function to that function."""
    if not page.is_file():
        return
    repository = Repository.open(ROOT)

    def with_line(link: re.Match) -> str:
        line = repository.line_of(link[1], link[2])
        if line is None:
            raise UserError(f"site/ask.html: {link[1]} defines no {link[2]}: correct the link")
        return f'href="{link[1]}.html#L{line}"><code>{link[2]}</code>'

    write_atomically(page, CODE_LINK.sub(with_line, page.read_text("utf-8")))


# The weights.


def newest_run() -> Path:
    """`runs/site` if its training is finished, else the demo's folder."""
    steps = RunFolder(WITH_SNAPSHOTS).read_settings().get("steps")
    newest = RunFolder(WITH_SNAPSHOTS).newest()
    if newest is not None and newest.step == steps:
        return WITH_SNAPSHOTS
    return demo_folder(ROOT)


def open_model(folder: Path) -> tuple[BertConfig, Weights]:
    config = BertConfig.load(folder)
    weights = load_weights(folder, config)
    if absent := missing_heads(weights, config):
        raise UserError(
            f"{folder} has no {absent[0]}: the live BERT needs the pooler and both heads"
        )
    return config, weights


def write_rounded(weights: Weights, path: Path) -> None:
    """Write each matrix as 16-bit integers, with a scale for each row, and the rest as float32.

    The file is as small as one of float16, and the logits are ten times closer to those of the
    model: float16 spends five bits of each number on an exponent, which the numbers of a row share.
    """
    stored: Weights = {}
    for name, array in weights.items():
        if array.ndim == 2:
            scale = np.maximum(np.abs(array).max(axis=1), np.float32(1e-30)) / LARGEST
            stored[f"{name}.scale"] = scale.astype(np.float32)
            array = np.round(array / stored[f"{name}.scale"][:, None]).astype(np.int16)
        stored[name] = array
    path.parent.mkdir(parents=True, exist_ok=True)
    save_weights(stored, path)


def write_vocabulary(folder: Path, config: BertConfig, model: Path) -> bool:
    """Write `vocab.txt`; returns whether the tokenizer lower-cases text and strips accents."""
    tokenizer = read_tokenizer(folder, config)
    normalizer = tokenizer.normalizer
    strips = normalizer.lowercase if normalizer.strip_accents is None else normalizer.strip_accents
    if strips != normalizer.lowercase or not normalizer.handle_chinese_chars:
        raise UserError(
            f"{folder}: its tokenizer keeps accents in lower case or Chinese words whole, which "
            "bert.mjs does not: choose another --checkpoint"
        )
    ids = tokenizer.get_vocab()
    tokens = sorted(ids, key=ids.get)
    write_atomically(model / "vocab.txt", "".join(f"{token}\n" for token in tokens))
    return normalizer.lowercase


# How the answers came about.


def write_snapshots(folder: Path, config: BertConfig, model: Path) -> list[dict]:
    """Weights of some steps of the run, the first and the last among them: `[{step, file}, …]`.

    Empty for a folder that is no run, or keeps no other checkpoint than the last.
    """
    run = RunFolder(folder)
    settings = run.read_settings()
    kept = {step_of(path): path for path in run.checkpoint_folders()}
    if not kept or len(kept) < 2:
        return []
    if "seed" in settings and not settings.get("start_from"):
        kept[0] = None  # made again: no checkpoint holds it
    last = max(kept)
    snapshots = []
    for step in chosen_steps(sorted(kept)):
        file = WEIGHTS_FILE if step == last else f"snapshots/step-{step:08d}.safetensors"
        if step == 0:
            weights = first_weights(config, settings["seed"], settings["initialization"])
            write_rounded(weights, model / file)
        elif step != last:
            write_rounded(load_weights(kept[step], config), model / file)
        snapshots.append({"step": step, "file": file})
    return snapshots


def chosen_steps(steps: list[int]) -> list[int]:
    """Those nearest to `PLACES` in the run."""
    last = steps[-1]
    return sorted({min(steps, key=lambda step: abs(step - place * last)) for place in PLACES})


def train() -> None:
    """The demo's recipe once more, with the weights of every 75 steps kept in `runs/site`."""
    from bert_paper.demo import DEMO
    from bert_paper.pretrain import pretrain

    kept = DEMO.steps // SAVED_EVERY + 1
    pretrain(replace(DEMO, out=WITH_SNAPSHOTS, save_every=SAVED_EVERY, keep_checkpoints=kept))


# One word, two meanings.


def write_cranes(folder: Path, path: Path) -> bool:
    """Write the clouds of *crane*, by layer; returns whether the model knows the word."""
    from bert_experiments.looking_inside.senses import (
        occurrences_of,
        stories_with_senses,
        vectors_of,
    )
    from bert_paper.pretrained import open_pretrained

    pretrained = open_pretrained(folder)
    if pretrained.tokenizer.token_to_id(WORD) is None:
        return False
    told = stories_with_senses(STORIES_OF_EACH_KIND)
    # Each sentence is read alone, as a visitor's sentence is.
    seen = occurrences_of(told, pretrained.tokenizer, seq_length=SEQ_LENGTH, alone=True)[WORD]
    states, senses = vectors_of(pretrained, seen, seq_length=SEQ_LENGTH)
    layers = [cloud(vectors, senses) for vectors in states]
    write_atomically(path, json.dumps({"word": WORD, "layers": layers}))
    return True


def cloud(vectors: Float[ndarray, "occurrences hidden"], senses: ndarray) -> dict:
    """The vectors in a plane. Across: from the mean of the second sense, at -1, to that of the
    first, at 1. Up: the direction in which they spread most otherwise.

    A further vector v stands at `directions` · (v - `center`).
    """
    names = sorted(set(senses))
    means = [vectors[senses == name].mean(axis=0) for name in names]
    center, half = (means[0] + means[1]) / 2, (means[0] - means[1]) / 2
    across = half / (half @ half)
    rest = vectors - center - np.outer((vectors - center) @ across, half)
    _, sizes, spread = np.linalg.svd(rest - rest.mean(axis=0), full_matrices=False)
    up = spread[0] / (sizes[0] / np.sqrt(len(vectors)))  # standard deviation 1
    directions = np.stack([across, up])
    points = (vectors - center) @ directions.T  # (occurrences, 2)
    return {
        "center": rounded(center),
        "directions": rounded(directions),
        "points": {name: rounded(points[senses == name]) for name in names},
    }


def rounded(array: ndarray) -> list:
    return np.round(array.astype(float), DIGITS).tolist()


@command
def main() -> None:
    parser = argparse.ArgumentParser(description="Write the model of the live BERT.")
    parser.add_argument(
        "--checkpoint", type=Path, help="a BERT folder (runs/site if it is there, else runs/demo)"
    )
    parser.add_argument(
        "--out", type=Path, default=ROOT / "build" / "site", help="the site's folder (build/site)"
    )
    parser.add_argument(
        "--train", action="store_true", help="only train runs/site: as long as make demo"
    )
    options = parser.parse_args()
    if options.train:
        train()
        print(f"{WITH_SNAPSHOTS} is trained: make site takes the live BERT from there")
        return
    write(options.out, options.checkpoint)
    size = sum(file.stat().st_size for file in (options.out / "model").rglob("*"))
    print(f"{options.out / 'model'}: {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
