"""The pages around the course: what they list is there, and what they say still holds."""

import json
import re
import sys
from pathlib import Path

from PIL import Image

sys.path.insert(0, str(Path(__file__).parent))  # tests are not a package

import course_map
from notebook_parts import ROOT, Notebook, all_notebooks

from autograder.points import CATALOGUE


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


def test_the_map_is_of_the_course_that_is_here():
    drawn = Image.open(ROOT / "map.png").text["Description"]
    assert drawn == course_map.fingerprint(course_map.floors()), "python tests/course_map.py"


def test_the_map_names_every_notebook_and_every_exercise():
    house = course_map.floors()
    assert sum(len(floor.notebooks) for floor in house) == len(all_notebooks())
    assert sum(len(floor.exercises) for floor in house) == len(CATALOGUE)
    for floor in house:
        assert " · ".join(course_map.wrapped(floor.notebooks)) == " · ".join(floor.notebooks)


def test_a_chapter_readme_lists_its_notebooks_in_order_with_the_times_of_the_map():
    for folder in sorted({path.parent for path in all_notebooks()}):
        page = (folder / "README.md").read_text(encoding="utf-8")
        books = [path for path in all_notebooks() if path.parent == folder]
        listed = re.findall(r"^\| (?:● )?\[[^\]]+\]\((\d\d_\w+\.ipynb)\)", page, re.MULTILINE)
        assert listed == [path.name for path in books], folder.name
        for path in books:
            row = re.search(rf"^\|.*\({path.name}\).*$", page, re.MULTILINE)[0]
            minutes = course_map.minutes_to_read(Notebook.read(path))
            assert f"| {minutes} min, " in row, f"{path.name}: {minutes} min"


def test_the_list_of_exercises_says_what_their_pages_say():
    assert course_map.table_of_exercises() in text_of("exercises/README.md"), (
        "python tests/course_map.py"
    )


def test_the_page_of_exercises_has_the_last_three_rounds_of_the_grader():
    rounds = re.findall(r"^\| \d+ \| .* \| (\d+) \| (\d+) \| (\d+) \|$",
                        text_of("results/grader.md"), re.MULTILINE)  # fmt: skip
    written, then, now = (sum(map(int, column)) for column in zip(*rounds[-3:], strict=True))
    page = " ".join(text_of("exercises/README.md").split())
    told = f"of the last {written}, {then} had full marks at first, and {now} have them now."
    assert told in page


def test_the_main_path_is_marked_alike_everywhere_and_takes_twenty_hours():
    minutes = 0
    for path in all_notebooks():
        book, page = Notebook.read(path), (path.parent / "README.md").read_text(encoding="utf-8")
        is_main = course_map.is_main(book)
        assert (f"| ● [{path.name[:2]} · " in page) == is_main, path
        line = "● *On the [main path]" if is_main else "*Extra: not on the [main path]"
        assert book.prose[0].rstrip().splitlines()[-1].startswith(line), path
        minutes += is_main * course_map.minutes_to_read(book)
    for exercise in CATALOGUE:
        page = exercise.folder / "README.md"
        is_main = int(exercise.name[:2]) in course_map.MAIN_EXERCISES
        assert ("points · ● main path" in page.read_text(encoding="utf-8")) == is_main, page
        minutes += is_main * course_map.minutes_of(page)
    assert 19 * 60 <= minutes <= 20 * 60


def test_every_chapter_says_which_files_to_read_in_which_order():
    for folder in sorted({path.parent for path in all_notebooks()}):
        page = (folder / "README.md").read_text(encoding="utf-8")
        read = re.search(r"\*\*Read these \w+\*\*, in this order: (.+?)\n\n", page, re.DOTALL)[1]
        assert len(re.findall(r"\]\([\w/]+\.py\)", read)) >= 2, folder.name
        assert re.search(r"needs?\s.+?\s?open", page, re.DOTALL), folder.name


def test_the_twelve_weeks_hold_every_notebook_and_every_exercise_once_with_their_hours():
    rows = re.findall(r"^\| [\d–]+ \| ([^|]+) \| ([\d–, ]+) \| ([^|]+) \|",
                      text_of("TEACHING.md"),
                      re.MULTILINE)  # fmt: skip
    read, done = [], []
    for chapter, exercises, hours in rows:
        week = [one for one in CATALOGUE if int(one.name[:2]) in course_map.span(exercises)]
        minutes = [sum(course_map.minutes_of(one.folder / "README.md") for one in week)]
        if match := re.fullmatch(r"(\d\d): (.+)", chapter):
            books = [path for path in all_notebooks() if path.parent.name[:2] == match[1]
                     and int(path.name[:2]) in course_map.span(match[2])]  # fmt: skip
            read += books
            minutes.insert(0, sum(course_map.minutes_to_read(Notebook.read(b)) for b in books))
        done += week
        assert hours.startswith(" + ".join(map(course_map.hours_of, minutes))), chapter
    assert read == list(all_notebooks())
    assert sorted(done, key=lambda one: one.name) == list(CATALOGUE)
