"""The map of the course as a picture, and what the notebooks and exercises ask of a reader's time.

    python tests/course_map.py            writes map.png, the minutes and hours of the pages, and
                                          prints them

All are made from what is there: a new notebook or exercise wants a new map, and a test says so.
"""

import hashlib
import io
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from PIL import Image
from PIL.PngImagePlugin import PngInfo

sys.path.insert(0, str(Path(__file__).parent))

from notebook_parts import ROOT, Notebook, all_notebooks, without_code

from autograder.points import CATALOGUE
from bert_experiments.looking_inside.drawings import paler
from bert_run.files import write_atomically, write_whole
from bert_run.pictures import COLORS, DARK, DPI, GREY, Picture

MAP = ROOT / "map.png"
WORDS_A_MINUTE, LINES_A_MINUTE = 120, 5  # read to be understood; a guess, the same for all

# Twenty hours in which every idea of the course is met once; all else is extra.
MAIN_NOTEBOOKS = {0: (0, 1, 2, 3), 1: (1, 2, 3, 4, 5, 6, 7), 2: (1,), 3: (2, 3), 4: (1, 6)}
MAIN_EXERCISES = (3, 6, 10, 18, 21)
MAIN_MARK = "● "

FLOORS = (
    ("00 · Foundations", "text in, sentence pairs out; a run's folder"),
    ("01 · NumPy from scratch", "every gradient by hand"),
    ("02 · Low-level PyTorch", "autograd, the device, BERT beside GPT"),
    ("03 · The paper, reproduced", "MLM and NSP, from one core to many GPUs"),
    ("04 · Fine-tuning", "sentences, pairs, names, questions, features"),
)


@dataclass(frozen=True)
class Floor:
    """What one chapter holds: titles of notebooks, names of exercises, and minutes for each."""

    title: str
    subject: str
    notebooks: tuple[str, ...]
    exercises: tuple[str, ...]
    reading: int
    exercising: int


def floors() -> list[Floor]:
    found = []
    for number, (title, subject) in enumerate(FLOORS):
        books = [Notebook.read(path) for path in all_notebooks()
                 if path.parent.name.startswith(f"{number:02}")]  # fmt: skip
        exercises = [
            one
            for one in CATALOGUE
            if one.chapter == number and (one.folder / "README.md").is_file()
        ]
        found.append(Floor(
            title, subject, tuple(MAIN_MARK * is_main(book) + short_title(book) for book in books),
            tuple(one.name for one in exercises),
            sum(map(minutes_to_read, books)),
            sum(minutes_of(one.folder / "README.md") for one in exercises),
        ))  # fmt: skip
    return found


def is_main(book: Notebook) -> bool:
    """Whether a notebook is on the main path."""
    chapter, number = int(book.path.parent.name[:2]), int(book.path.name[:2])
    return number in MAIN_NOTEBOOKS[chapter]


def short_title(book: Notebook) -> str:
    """`Attention by hand`, of a notebook that begins with `# 03 · Attention by hand`."""
    return re.match(r"# (?:\d+ · )?(.+)", book.prose[0])[1].strip()


def minutes_to_read(book: Notebook) -> int:
    """To the next five: prose and code at one pace each."""
    words = len(re.findall(r"[^\W\d_]+", without_code("\n".join(book.prose))))
    lines = sum(bool(line.strip()) for cell in book.code for line in cell.source.splitlines())
    return 5 * round((words / WORDS_A_MINUTE + lines / LINES_A_MINUTE) / 5)


def minutes_of(readme: Path) -> int:
    return int(re.search(r"(\d+) minutes", readme.read_text(encoding="utf-8"))[1])


def fingerprint(house: list[Floor]) -> str:
    """Of all that the picture says, so that a stale one is known."""
    return hashlib.sha256(repr(house).encode()).hexdigest()[:16]


def draw(house: list[Floor]) -> Picture:
    """The chapters as floors, the ground floor below; what is done in each stands beside it."""
    lines = [max(1, len(wrapped(floor.notebooks))) for floor in house]
    heights = [0.5 + 0.165 * max(count, 2) for count in lines]
    picture = Picture(sum(heights) + 0.1 * len(house) + 0.75, says="map of the course",
                      arranged=False)  # fmt: skip
    axes = picture.add_axes((0, 0, 1, 1))
    width, height = picture.get_size_inches()
    axes.set(xlim=(0, width), ylim=(0, height))
    axes.axis("off")
    bottom = 0.1
    for floor, tall, color in zip(house, heights, COLORS, strict=False):
        draw_floor(axes, floor, bottom=bottom, tall=tall, color=color)
        bottom += tall + 0.1
    axes.add_patch(FancyArrowPatch((0.16, 0.2), (0.16, bottom - 0.1), arrowstyle="-|>",
                                   mutation_scale=14, color=GREY))  # fmt: skip
    axes.text(0.07, bottom / 2, "one level of abstraction higher", rotation=90, fontsize=8,
              color=GREY, ha="center", va="center")  # fmt: skip
    axes.text(0.3, bottom + 0.42, "Build BERT four times", fontsize=13, color=DARK, va="center")
    axes.text(0.3, bottom + 0.14, "the same parameters, batch and gradients on all levels; "
              "one folder opens everywhere, in transformers too; ● the main path",
              fontsize=8, color=GREY, va="center")  # fmt: skip
    return picture


def draw_floor(axes, floor: Floor, *, bottom: float, tall: float, color: str) -> None:
    axes.add_patch(FancyBboxPatch((0.32, bottom + 0.03), 7.5, tall - 0.06, edgecolor=color,
                                  facecolor=paler(color, 0.18),
                                  boxstyle="round,pad=0.02,rounding_size=0.08"))  # fmt: skip
    top = bottom + tall - 0.19
    axes.text(0.42, top, floor.title, fontsize=11, color=DARK, va="center", weight="bold")
    axes.text(3.0, top, floor.subject, fontsize=9, color=DARK, va="center")
    hours = f"{hours_of(floor.reading)} h reading · {hours_of(floor.exercising)} h exercises"
    axes.text(7.74, top, hours, fontsize=8, color=GREY, va="center", ha="right")
    for number, line in enumerate(wrapped(floor.notebooks) or ["notebooks to come"]):
        axes.text(0.42, top - 0.24 - 0.165 * number, line, fontsize=8, color=DARK, va="center")
    numbers = [name[:2] for name in floor.exercises]
    says = f"exercises {runs_of(numbers)}" if numbers else "no exercises"
    says += "".join(f" · {MAIN_MARK}{name}" for name in numbers if int(name) in MAIN_EXERCISES)
    axes.text(7.74, top - 0.24, says, fontsize=8, color=DARK, va="center", ha="right")


def wrapped(titles: tuple[str, ...], room: int = 78) -> list[str]:
    """The titles in lines of at most `room` characters, parted by dots."""
    lines: list[str] = []
    for title in titles:
        if lines and len(lines[-1]) + len(title) + 3 <= room:
            lines[-1] += " · " + title
        else:
            lines.append(title)
    return lines


def hours_of(minutes: int) -> str:
    return f"{minutes / 60:.1f}".removesuffix(".0")


def runs_of(numbers: list[str]) -> str:
    """`01, 02, 10` or `03 to 09, 11`."""
    runs: list[list[str]] = []
    for number in numbers:
        if runs and int(number) == int(runs[-1][-1]) + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(run) for run in runs)


def span(text: str) -> list[int]:
    """The numbers of `03–05`, of `18` alone, or of `01–02, 10`."""
    numbers: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("–")
        numbers += range(int(first), int(last or first) + 1)
    return numbers


def renew_minutes(page: str, books: list[Path]) -> str:
    """A chapter's README with the minutes to read its notebooks, in the row of each."""
    for path in books:
        minutes = minutes_to_read(Notebook.read(path))
        page = re.sub(rf"(?m)^(\|.*\({path.name}\).*?\| )\d+( min, )", rf"\g<1>{minutes}\2", page)
    return page


def renew_weeks(page: str) -> str:
    """TEACHING.md with the hours of its weeks: to read, and to do the exercises."""

    def renewed(row: re.Match) -> str:
        start, chapter, notebooks, exercises = row.groups()
        books = [path for path in all_notebooks() if path.parent.name[:2] == chapter]
        read = sum(minutes_to_read(Notebook.read(path)) for path in books
                   if int(path.name[:2]) in span(notebooks))  # fmt: skip
        done = sum(minutes_of(one.folder / "README.md") for one in CATALOGUE
                   if int(one.name[:2]) in span(exercises))  # fmt: skip
        hours = f"{hours_of(read)} + {hours_of(done)}"
        return f"{start}{chapter}: {notebooks} | {exercises} | {hours} |"

    pattern = r"(?m)^(\| \d+ \| )(\d\d): ([\d–]+) \| ([\d–, ]+) \| [\d.]+ \+ [\d.]+ \|"
    return re.sub(pattern, renewed, page)


def table_of_exercises() -> str:
    """A row an exercise, from the first lines of its page: title, notebook to read before,
    difficulty, minutes and points."""
    rows = ["| exercise | after notebook | difficulty | minutes | points |", "|---" * 5 + "|"]
    for one in CATALOGUE:
        page = (one.folder / "README.md").read_text(encoding="utf-8")
        title = re.match(r"# (\d+) · (.+)", page)
        facts = re.search(r"^Difficulty (\d) of 5 · (\d+) minutes · (\d+) points(.*)", page, re.M)
        chapter, book = re.search(r"/(\d\d)_\w+/(\d\d)_\w+\.ipynb", page[facts.end() :]).groups()
        main = MAIN_MARK * ("main path" in facts[4])
        rows.append(f"| {main}[{title[1]} · {title[2]}]({one.name}/README.md) | {chapter}/{book} | "
                    f"{facts[1]} | {facts[2]} | {facts[3]} |")  # fmt: skip
    return "\n".join(rows) + "\n"


def renew_exercises(page: str) -> str:
    """exercises/README.md with the list of all exercises."""
    table = r"(?m)^\| exercise \|.*\n(\|.*\n)+"
    return re.sub(table, lambda _: table_of_exercises(), page, count=1)


def write_pages() -> None:
    for page in sorted(ROOT.glob("0*/README.md")):
        books = [path for path in all_notebooks() if path.parent == page.parent]
        write_atomically(page, renew_minutes(page.read_text(encoding="utf-8"), books))
    for name, renew in (("TEACHING.md", renew_weeks), ("exercises/README.md", renew_exercises)):
        write_atomically(ROOT / name, renew((ROOT / name).read_text(encoding="utf-8")))


def main() -> None:
    write_pages()
    house = floors()
    buffer = io.BytesIO()
    draw(house).savefig(buffer, format="png", dpi=DPI)
    image = Image.open(buffer).convert("RGB").quantize(64, dither=Image.Dither.NONE)
    described = PngInfo()
    described.add_text("Description", fingerprint(house))
    with write_whole(MAP) as file:
        image.save(
            file, "png", optimize=True, pnginfo=described
        )  # few colors: a third of the bytes
    for floor in house:
        print(f"{floor.title:28} {len(floor.notebooks)} notebooks, {hours_of(floor.reading)} h; "
              f"{len(floor.exercises)} exercises, {hours_of(floor.exercising)} h")  # fmt: skip
    for path in all_notebooks():
        print(f"{minutes_to_read(Notebook.read(path)):4} min  {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
