"""Ranks of a run without `torchrun`, forked from a process that has already loaded the course.

For two ranks `torchrun` loads torch three times, which takes longer than the small runs of the
tests. What the ranks compute, say to one another and write is the same.
"""

import multiprocessing
import os
import runpy
import signal
import socket
import sys
import time
from dataclasses import asdict
from pathlib import Path

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["bert_paper.pretrain", "bert_finetuning.finetune",
                              "torch.distributed.fsdp"])  # fmt: skip


def command_line(settings) -> list[str]:
    """The settings of a command as its options."""
    options = []
    for name, value in asdict(settings).items():
        if value is None or value is False:
            continue
        options.append(f"--{name.replace('_', '-')}")
        options += [] if value is True else [str(value)]
    return options


class RankProcesses:
    """A command that runs as `size` ranks; used like a `subprocess.Popen`."""

    def __init__(self, module: str, arguments: list[str], size: int, output: Path) -> None:
        self._output = output
        port = str(_free_port())
        self._ranks = [
            FORKS.Process(target=_be_rank, args=(module, arguments, rank, size, port, output))
            for rank in range(size)
        ]
        output.write_text("")
        for process in self._ranks:
            process.start()

    @property
    def returncode(self) -> int | None:
        """That of the first rank that failed; 0 if all are done and none did, None before."""
        codes = [process.exitcode for process in self._ranks]
        return next((code for code in codes if code), None if None in codes else 0)

    def poll(self) -> int | None:
        return self.returncode

    def communicate(self, timeout: float = 200.0) -> tuple[str, None]:
        """Wait for all ranks, and end those that wait for one that failed."""
        end = time.monotonic() + timeout
        while any(process.is_alive() for process in self._ranks):
            assert time.monotonic() < end, f"not done in {timeout} s: {self._output.read_text()}"
            if self.returncode:
                self.kill()
            time.sleep(0.01)
        return self._output.read_text(encoding="utf-8"), None

    def kill(self) -> None:
        for process in self._ranks:
            if process.is_alive():
                os.kill(process.pid, signal.SIGKILL)
            process.join()


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def _be_rank(
    module: str, arguments: list[str], rank: int, size: int, port: str, output: Path
) -> None:
    file = os.open(output, os.O_WRONLY | os.O_APPEND)
    os.dup2(file, 1)
    os.dup2(file, 2)
    if size > 1:
        os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(size),
                          LOCAL_WORLD_SIZE=str(size), MASTER_ADDR="127.0.0.1",
                          MASTER_PORT=port, TORCHELASTIC_RUN_ID="none")  # fmt: skip
    sys.argv = [module, *arguments]
    sys.modules.pop(module, None)  # loaded to be there fast; run anew as a program
    runpy.run_module(module, run_name="__main__")
