"""The language of the stories: what it tells, in which order it draws, how it names mistakes."""

import hashlib

import pytest

from bert_corpus.store import open_corpus
from bert_corpus.storyworld import KINDS, STORIES, stories
from bert_corpus.storyworld.generator import Dice
from bert_corpus.storyworld.grammar import read_kinds
from bert_corpus.storyworld.shared_sentences import FUNCTIONS
from bert_run.errors import UserError

TABLES = {"ANIMALS": ("cat", "owl"), "DAYS": ("Monday", "Friday")}


@pytest.fixture
def read(tmp_path):
    """Read a file of stories that holds this text."""

    def read(text: str) -> dict:
        (tmp_path / "tales.txt").write_text(text, encoding="utf-8")
        return read_kinds(tmp_path, TABLES, FUNCTIONS)

    return read


@pytest.fixture
def tell(read):
    """What a kind with the cast (animal, day) tells, with as many seeds as are asked for."""

    def tell(body: str, *, seeds: int = 1, before: str = "") -> list[list[str]]:
        text = f"{before}kind tale\n    animal: ANIMALS\n    day: DAYS\n\n{body}"
        kind = read(text)["tale"]
        return [kind.tell(Dice(seed), "owl", "Friday") for seed in range(seeds)]

    return tell


def test_grammar__lines_together_are_alternatives_and_an_empty_line_parts_sentences(tell):
    told = tell("One.\nTwo.\n\nThen {a animal} came.\n", seeds=40)
    assert {first for first, _ in told} == {"One.", "Two."}
    assert {second for _, second in told} == {"Then an owl came."}


def test_grammar__braces_hold_names_choices_tables_and_functions(tell):
    (sentences,) = zip(*tell('{day}, {"a" | "b"}, {DAYS}, {are "cats"}.\n', seeds=40), strict=True)
    choices = {tuple(sentence.strip(".").split(", ")) for sentence in sentences}
    assert choices == {("Friday", x, day, "are") for x in "ab" for day in TABLES["DAYS"]}


def test_grammar__definitions_rows_and_phrases(tell):
    before = """
# a comment
table BOATS: name, colour
    old raft, brown
phrase greeting: who
    good <l:morning>, {who}
"""
    body = "boat = BOATS\none, two = shuffled animal day\n\nThe {boat} is {boat.colour}.\n"
    told = tell(body + "\n{greeting boat}: {one}, {two}.\n", seeds=30, before=before)
    assert {first for first, _ in told} == {"The old raft is brown."}
    assert {second for _, second in told} == {
        "good <l:morning>, old raft: owl, Friday.", "good <l:morning>, old raft: Friday, owl."
    }  # fmt: skip


def test_grammar__branches(tell):
    body = """
if {}
    First.
elif day is "Monday"
    Second.
else
    Third.

Last.
"""
    for condition, expected in {
        "animal is day": "Third.",
        'animal is "cat" "owl"': "First.",
        'animal is not "cat"': "First.",
        "animal and day": "First.",
        "chance 0.0": "Third.",
    }.items():
        assert tell(body.replace("{}", condition)) == [[expected, "Last."]], condition


def test_grammar__a_shuffle_tells_its_sentences_in_any_order(tell):
    told = tell("shuffle\n    One.\n\n    Two.\n\n    Three.\n\nEnd.\n", seeds=60)
    assert all(sentences[-1] == "End." for sentences in told)
    assert len({tuple(sentences) for sentences in told}) == 6


def test_grammar__draws_inside_all_alternatives_come_first_in_the_order_of_the_lines(tell):
    numbers = "|".join(f'"{n}"' for n in range(50))
    for seed in range(10):
        dice = Dice(seed)
        inner = [dice(*range(50)) for _ in range(3)]
        expected = f"{dice('A', 'B', 'C', 'D')} "
        expected += {"A": str(inner[0]), "B": "owl", "C": str(inner[1]), "D": str(inner[2])}[
            expected[0]
        ]
        lines = f"A {{{numbers}}}\nB {{animal}}\nC {{{numbers}}}\nD {{{numbers}}}\n"
        assert tell(lines, seeds=seed + 1)[seed] == [expected]


@pytest.mark.parametrize(
    ("body", "line", "problem"),
    [
        ("The {animall} came.", 5, "'animall' is no name of this story; there are animal, day"),
        ("One.\n\n{sing animal}.", 7, "there is no function 'sing'"),
        ("An {animal came.", 5, "a brace without its partner"),
        ("An <o:{animal} came.", 5, "a label is written"),
        ("An <x:owl> came.", 5, "a label is written"),
        ("An <-:bat> came.", 5, "a label is written"),
        ('An {"owl" |} came.', 5, "is missing in"),
        ('An {"owl} came.', 5, "is missing in"),
        ("One.\n    Two.", 6, "indented more than the line above it"),
        ("else\n    One.", 5, "there is no `if` above it"),
        ("shuffle\nOne.", 5, "something is missing below this line"),
        ("boat = BOATS\n\nThe {boat}.", 5, "'BOATS' is no name of this story"),
        ("x = DAYS\n\n{x.length}.", 7, "x has no 'length'"),
        ("if chance 0.5\n    x = DAYS\n\nOn {x}.", 8, "'x' is no name of this story"),
    ],
)
def test_grammar__a_mistake_names_the_file_and_the_line(tell, body, line, problem):
    with pytest.raises(UserError) as caught:
        tell(body)
    assert f"tales.txt, line {line}: " in str(caught.value)
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("Once upon a time.", 1, "begins with a table, a phrase or a kind"),
        ("kind tale weight 2\n\nOne.", 1, "write `table NAME`"),
        ("kind tale\n    animal = ANIMALS\n\nOne.", 2, "write a member of the cast"),
        ("kind tale\n    fish: FISH\n\nOne.", 2, "'FISH' is no name"),
        ("kind tale\n    day: DAYS\n", 2, "something is missing"),
        (
            "table FISH: name, colour\n    trout, red\n    cod\n",
            3,
            "1 columns, and the table",
        ),
    ],
)
def test_grammar__a_wrong_beginning_names_the_file_and_the_line(read, text, line, problem):
    with pytest.raises(UserError) as caught:
        read(text)
    assert f"tales.txt, line {line}: " in str(caught.value) and problem in str(caught.value)


def test_grammar__two_kinds_of_one_name_are_refused(read):
    with pytest.raises(UserError, match="two kinds called 'tale'"):
        read("kind tale\n\nOne.\n\nkind tale\n\nTwo.\n")


def test_kinds__are_those_of_the_files_in_order():
    names = [line.split()[1].rstrip(",") for path in sorted(STORIES.glob("*.txt"))
             for line in path.read_text(encoding="utf-8").splitlines()
             if line.startswith("kind ")]  # fmt: skip
    assert list(KINDS) == names and len(names) == 44


@pytest.mark.parametrize(
    ("split", "digest"),
    [
        ("train", "4527823b3fd81339305c908b1f8f8521f8d7e02e4d95da003545442632456bd1"),
        ("heldout", "8f8e8036d51bcdad6d3bffe45e547ce3c13d70df5a074c3fa907aec6f6b2fb83"),
    ],
)
def test_documents__are_those_that_the_published_results_were_made_with(split, digest):
    """Text and labels. Renew the digests only if you change the stories on purpose."""
    found = hashlib.sha256()
    for story in stories(2_000, split=split):
        marks = [
            [(m.start, m.end, m.settled_by, m.sense) for m in s.marks] for s in story.sentences
        ]
        found.update(repr((story.kind, story.combination, story.text, marks)).encode())
    assert found.hexdigest() == digest


def test_identity_of_the_corpus__changes_with_a_story(tmp_path, monkeypatch):
    before = open_corpus("storyworld", limit=10).fingerprint
    for path in STORIES.glob("*.txt"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr("bert_corpus.storyworld.STORIES", tmp_path)
    assert open_corpus("storyworld", limit=10).fingerprint == before
    (tmp_path / "home.txt").write_text("kind tale\n\nOne.\n")
    assert open_corpus("storyworld", limit=10).fingerprint != before
