"""The pages around the course: what they list is there, and what they say still holds."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def terms() -> list[str]:
    return re.findall(r"^\*\*(.+?)\.\*\*", text_of("GLOSSARY.md"), re.MULTILINE)


def test_the_glossary_is_in_the_order_of_the_alphabet_and_names_nothing_twice():
    keys = [re.sub(r"\W", "", term.split(" (")[0]).lower() for term in terms()]
    assert keys == sorted(keys)
    assert len(set(keys)) == len(keys) > 60


def test_what_the_glossary_points_to_within_itself_is_a_term():
    known = " ".join(terms()).lower()
    for word in re.findall(r"(?:See|opposite (?:of that )?is) \*([^*]+)\*", text_of("GLOSSARY.md")):
        assert word.lower().rstrip("s") in known, word


def test_every_shape_word_of_the_house_is_in_the_glossary():
    shapes = "batch, seq, hidden, heads, head_dim, intermediate, vocab, masks, layers, labels"
    assert shapes in " ".join(text_of("GLOSSARY.md").split())


def test_the_container_has_the_torch_of_the_constraints_and_the_install_of_the_makefile():
    container = json.loads(text_of(".devcontainer/devcontainer.json"))
    pinned = re.search(r"^(torch==\S+)", text_of("constraints.txt"), re.MULTILINE)[1]
    made = container["postCreateCommand"]
    assert f"pip install {pinned} " in made
    target = re.search(r"make (\S+)$", made)[1]
    assert f"TESTS := {target}".replace(".venv", "$(VENV)") in text_of("Makefile")


def test_assistants_are_told_not_to_open_the_solutions_and_by_commands_that_exist():
    page = text_of("AGENTS.md")
    assert "solutions/" in page
    assert "--hints" in text_of("exercises/autograder/options.py")
    for command in re.findall(r"python -m autograder (\w+)", page):
        assert f"\nclass {command.title()}:" in text_of("exercises/autograder/__main__.py")
