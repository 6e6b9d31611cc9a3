"""Where a student's code runs: what it can see, and what it may use.

`bwrap` (bubblewrap) shows it Python, the installed packages, an empty folder, and nothing else.
`unshare` hides network and processes, and covers the course and the submissions; other files stay
in sight. `none` has limits alone. All have the limits: see README.md for what each guarantees.
"""

import contextlib
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from autograder.points import ROOT

Kind = Literal["bwrap", "unshare", "none"]
# What each kind needs; the best kind first.
PROGRAMS = {"bwrap": ("bwrap",), "unshare": ("unshare", "setpriv", "mount"), "none": ()}

MEGABYTE = 1 << 20
# Memory is the address space of a process; torch on the CPU takes 640 MB of it.
LIMITS = {"memory": 4096 * MEGABYTE, "file_size": 64 * MEGABYTE, "open_files": 256}
PROCESSES = 16  # and threads, beside those that run already
FIRST_USER = 61_184  # of the numbers that systems keep for users that come and go
USERS = 4_000
SYSTEM = ("/usr", "/lib", "/lib32", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/alternatives")
BOX_FILES = ("__init__.py", "codec.py", "worker.py")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
# All of it. With the seed of hashes, a set of words has the same order each time.
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "PYTHONHASHSEED": "0",
               **dict.fromkeys(THREADS, "1")}  # fmt: skip

READ_ONLY = """
while read -r _ _ _ _ place _; do
    case "$place" in (/proc*|/dev*|/sys*) ;; (*) mount -o remount,bind,ro "$place" ;; esac
done < /proc/self/mountinfo 2> /dev/null
"""  # every disk; what cannot be changed stays as it is
WARNINGS = {
    "unshare": "students' code cannot reach the network, other processes or the course, but can "
    "read other files of yours: install bubblewrap",
    "none": "students' code can read your files, the solutions among them, and reach the network: "
    "whoever looks gets full marks. Install bubblewrap, or grade in a container without solutions/",
}


@dataclass(frozen=True)
class Sandbox:
    """How to start a guard: `box` holds the code that is on the student's side, `hidden` are
    files and folders to keep from sight. As root, `as_nobody` gives root up."""

    kind: Kind
    box: Path
    hidden: tuple[Path, ...]
    as_nobody: bool = False

    @property
    def user(self) -> int | None:
        """A user that nobody else is; another for each process that grades."""
        return FIRST_USER + os.getpid() % USERS if self.as_nobody else None

    @property
    def private(self) -> Path:
        """For what no student may see: files of others, say."""
        return self.box.parent / "private"

    def settings(self, work: Path) -> dict[str, Any]:
        alone, kernel = self.kind != "none", tuple(map(int, re.findall(r"\d+", os.uname().release)))
        # From Linux 5.14 on, a namespace of users counts its own processes.
        counted_alone = alone and not self.as_nobody and kernel[:2] >= (5, 14)
        processes = PROCESSES + (0 if counted_alone else count_of_tasks(self.user))
        path = [str(self.box), *map(str, filter(is_visible, map(Path, sys.path)))]
        return {**LIMITS, "processes": processes, "user": self.user, "work": str(work),
                "path": path, "alone": alone}  # fmt: skip

    def command(self, settings: str, work: Path) -> list[str]:
        guard = [os.path.realpath(sys.executable), "-S", "-B", "-X", "utf8",
                 str(self.box / "guard.py"), settings]  # fmt: skip
        if self.kind == "bwrap":
            return [*self._bwrap(work), "--", *guard]
        if self.kind == "unshare":
            return self._unshare(work, guard)
        return guard

    def _bwrap(self, work: Path) -> list[str]:
        rights = ["--unshare-all", "--cap-drop", "ALL"]
        if self.as_nobody:  # root enters without a namespace of users, to leave root for good
            rights = [f"--unshare-{what}" for what in ("ipc", "pid", "net", "uts")]
            rights += ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
        shown = {path: ["--ro-bind", str(path), str(path)] for path in needed(self.box)}
        for link in filter(Path.is_symlink, map(Path, SYSTEM)):
            shown[link] = ["--symlink", os.readlink(link), str(link)]
        for path in self.hidden:
            if path.is_dir() and any(path.is_relative_to(place) for place in shown):
                shown.setdefault(path, ["--tmpfs", str(path)])
        order = sorted(shown, key=lambda path: len(path.parts))  # the deeper one counts
        above = sorted({parent for path in (*shown, work) for parent in path.parents} - {Path("/")})
        room = ["--perms", "1777", "--size", str(LIMITS["file_size"]), "--tmpfs", str(work)]
        return ["bwrap", *rights, "--die-with-parent", "--new-session",
                *[word for path in above for word in ("--dir", str(path))],
                *[word for path in order for word in shown[path]],
                "--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev",
                *room, "--remount-ro", "/", "--chdir", str(work)]  # fmt: skip

    def _unshare(self, work: Path, guard: list[str]) -> list[str]:
        covers = ["-t tmpfs -o size=1m tmpfs /dev/shm",
                  f"-t tmpfs -o size=64m,mode=1777 tmpfs {shlex.quote(str(work))}"]  # fmt: skip
        others = set(Path(tempfile.gettempdir()).glob("bert-grade-*")) - {self.box.parent}
        for hidden in (*self.hidden, self.private, *others):
            for path in without(hidden, needed(self.box)):
                how = "-t tmpfs -o size=4k tmpfs" if path.is_dir() else "--bind /dev/null"
                covers.append(f"{how} {shlex.quote(str(path))}")
        if not self.as_nobody:  # it is root of its own namespace alone, and shall not be
            guard = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs", *guard]
        steps = [f"mount {cover}" for cover in covers]
        steps += [f"cd {shlex.quote(str(work))}", f"exec {shlex.join(guard)}"]
        flags = "-nmpiuf" if self.as_nobody else "-Urnmpiuf"
        return ["setpriv", "--pdeathsig", "KILL", "unshare", flags, "--kill-child",
                "--mount-proc", "sh", "-c", READ_ONLY + " && ".join(steps)]  # fmt: skip


def candidates(kind: str, box: Path, hidden: Iterable[Path]) -> list[Sandbox]:
    """What to try for a `--sandbox`, the best first."""
    kinds = PROGRAMS if kind == "auto" else (kind,)
    ways = (True, False) if os.geteuid() == 0 else (False,)
    return [Sandbox(each, box, tuple(hidden), as_nobody) for each in kinds
            if all(map(shutil.which, PROGRAMS[each])) for as_nobody in ways]  # fmt: skip


def make_box(folder: Path) -> Path:
    """The code on the student's side: the guard, and three files of the grader."""
    here, box = Path(__file__).parent, folder / "box"
    (box / "autograder").mkdir(parents=True)
    for name in BOX_FILES:
        shutil.copyfile(here.parent / name, box / "autograder" / name)
    shutil.copyfile(here / "guard.py", box / "guard.py")
    for path in [box, *box.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)  # whoever the student's process is
    return box


def environments() -> list[Path]:
    """Python itself and the environment it runs in."""
    python = Path(os.path.realpath(sys.executable)).parents[1]
    return [python, Path(sys.base_prefix).resolve(), Path(sys.prefix).resolve()]


def is_visible(place: Path) -> bool:
    """Whether a folder of `sys.path` is of Python or of what is installed, not of the course."""
    inside = [e for e in environments() if place.is_relative_to(e)]
    if not place.exists() or not (inside or place.name in ("site-packages", "dist-packages")):
        return False
    return not place.is_relative_to(ROOT) or any(e.is_relative_to(ROOT) for e in inside)


def needed(box: Path) -> list[Path]:
    """What a Python process must see to run and to import what is installed."""
    places = [*map(Path, SYSTEM), *environments(), *filter(is_visible, map(Path, sys.path)), box]
    return [place for place in dict.fromkeys(places) if place.exists() and place != Path("/")]


def without(hidden: Path, needed: list[Path]) -> list[Path]:
    """The parts of `hidden` that hold nothing of what is needed."""
    if hidden in needed or not hidden.exists():
        return []
    if not any(place.is_relative_to(hidden) for place in needed):
        return [hidden]
    with contextlib.suppress(OSError):
        return [part for child in sorted(hidden.iterdir()) if child.is_dir()
                for part in without(child, needed)]  # fmt: skip
    return []


def count_of_tasks(user: int | None) -> int:
    """How many threads a user has running, and some to come: a limit counts them all."""
    if not Path("/proc/self/task").is_dir():
        return 1 << 16  # no Linux: we cannot count
    user = os.getuid() if user is None else user
    count = 64 if user == os.getuid() else 0
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if folder.stat().st_uid == user:
                count += len(os.listdir(folder / "task"))
    return count
