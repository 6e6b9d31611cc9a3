"""The first program inside a sandbox: gives up its rights, then forks a worker for each exercise.
`cell.py` starts `python guard.py SETTINGS` (JSON) with one end of a socket as standard input. A
fork with NumPy and torch costs milliseconds, a new start a second or two. No submission is loaded
in the guard itself, and of the course only `codec.py` and `worker.py` are here."""

import contextlib
import ctypes
import json
import os
import resource
import shutil
import signal
import socket
import struct
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

NO_NEW_PRIVILEGES, DIE_WITH_PARENT, SECCOMP, FILTER = 38, 1, 22, 2  # of prctl(2)
NEW_USER = 0x1000_0000  # CLONE_NEWUSER
# What the kernel calls each machine; the numbers of clone and clone3, and of what is refused:
# unshare, setns, add_key, request_key, keyctl, memfd_create, shmget, msgget, semget, mq_open.
MACHINES = {"x86_64": (0xC000_003E, 56, 435, (272, 308, 248, 249, 250, 319, 29, 68, 64, 240)),
            "aarch64": (0xC000_00B7, 220, 435, (97, 268, 217, 218, 219, 279, 194, 186, 190, 180))
            }  # fmt: skip


def give_up_rights(settings: dict[str, Any]) -> None:
    """Become nobody where this runs as root, for good, and let the system end us first."""
    if settings["user"] is not None:
        os.setgroups([])
        os.setresgid(*[settings["user"]] * 3)
        os.setresuid(*[settings["user"]] * 3)
    prctl(NO_NEW_PRIVILEGES, 1)
    prctl(DIE_WITH_PARENT, signal.SIGKILL)  # of the parent, not of the guard
    with contextlib.suppress(OSError):  # short of memory, the system ends this before all else
        Path("/proc/self/oom_score_adj").write_text("1000")
    limit(resource.RLIMIT_CORE, 0)
    limit(resource.RLIMIT_NPROC, settings["processes"])
    limit(resource.RLIMIT_NOFILE, settings["open_files"])
    limit(resource.RLIMIT_FSIZE, settings["file_size"])


def limit(kind: int, most: int) -> None:
    """Not above what is allowed already; macOS refuses some of the limits."""
    _, now = resource.getrlimit(kind)
    most = most if now == resource.RLIM_INFINITY else min(most, now)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(kind, (most, most))


def prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def forbid_calls() -> None:
    """Let no process from here on become root of a namespace of its own, from where more of the
    kernel can be reached, nor leave something in the kernel that outlives it, as keys and shared
    memory do. Where the kernel or the machine is another, nothing is forbidden."""
    if sys.platform != "linux" or os.uname().machine not in MACHINES:
        return
    machine, clone, clone3, others = MACHINES[os.uname().machine]
    load, equal, at_least, has_bit, give = 0x20, 0x15, 0x35, 0x45, 0x06
    allowed, refused, unknown = 0x7FFF_0000, 0x0005_0001, 0x0005_0026  # EPERM, ENOSYS
    count = len(others)
    steps = [
        (load, 0, 0, 4), (equal, 0, count + 7, machine),  # calls of another machine are refused
        (load, 0, 0, 0), (at_least, count + 5, 0, 0x4000_0000),
        (equal, count + 5, 0, clone3),  # its flags lie in memory; the C library then takes clone
        *((equal, count + 3 - place, 0, other) for place, other in enumerate(others)),
        (equal, 0, 2, clone), (load, 0, 0, 16), (has_bit, 1, 0, NEW_USER),
        (give, 0, 0, allowed), (give, 0, 0, refused), (give, 0, 0, unknown)]  # fmt: skip
    # The sock_filter and sock_fprog of bpf(2) and seccomp(2).
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    whole = struct.pack("HP", len(steps), ctypes.addressof(program))
    ctypes.CDLL(None).prctl(SECCOMP, FILTER, whole, 0, 0)


def main() -> None:
    settings = json.loads(sys.argv[1])
    give_up_rights(settings)
    sys.path.extend(settings["path"])
    import autograder.worker  # noqa: F401 - loads NumPy, before any fork

    control = socket.socket(fileno=0)
    control.sendall(b"r")  # ready
    while True:
        data, lines, _, _ = socket.recv_fds(control, 65_536, 1)
        if not data:
            return
        order = json.loads(data)
        if order["torch"]:
            import torch  # noqa: F401
        child = os.fork()
        if child == 0:
            try:
                control.close()
                work(order, settings, *lines)
            finally:
                os._exit(0)
        os.close(lines[0])
        if not control.recv(1):
            return
        end(child, alone=settings["alone"])
        folder = Path(settings["work"], order["exercise"])
        with contextlib.suppress(OSError):
            folder.chmod(0o700)
        with contextlib.suppress(RecursionError):  # the trusted side removes the rest
            shutil.rmtree(folder, ignore_errors=True)
        control.sendall(b"e")  # ended


def end(child: int, *, alone: bool) -> None:
    """End a worker. Where all that this process can see is its own, nothing else is left either."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1 if alone else child, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while os.wait():
            pass


def work(order: dict[str, Any], settings: dict[str, Any], line: int) -> None:
    """Load the student's file, which comes first, and answer calls until no more come."""
    os.setpgid(0, 0)
    prctl(DIE_WITH_PARENT, signal.SIGKILL)
    limit(resource.RLIMIT_AS, settings["memory"])
    limit(resource.RLIMIT_CPU, order["cpu_seconds"])
    forbid_calls()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):  # print() disturbs nothing
        os.dup2(nowhere, descriptor)
    sys.argv = [order["file"]]

    from autograder.worker import read_message, seed_everything, serve, write_message

    folder = Path(settings["work"], order["exercise"])
    folder.mkdir(exist_ok=True)
    os.chdir(folder)
    os.environ["HOME"] = tempfile.tempdir = str(folder)
    requests, answers = os.fdopen(os.dup(line), "rb"), os.fdopen(line, "wb")
    path = folder / order["file"]
    path.write_bytes(read_message(requests))
    write_message(answers, b"")  # it is here
    for name in {*order["refused"], *sys.modules}:  # an import of what is None raises
        if name.split(".")[0] in order["refused"]:
            sys.modules[name] = None
    seed_everything(0)  # the same file is graded alike each time, as far as that lies with us
    serve(path, partial(read_message, requests), partial(write_message, answers))


if __name__ == "__main__":
    main()
