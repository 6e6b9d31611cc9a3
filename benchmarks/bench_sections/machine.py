"""This machine, these versions, this code: what a figure must be read with."""

import hashlib
import os
import platform
import resource
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT, HERE = Path(__file__).parents[2], Path(__file__).parents[1]
LIBRARIES = ("torch", "transformers", "numpy", "tokenizers")
MEASURED = ("0*/bert_*/**/*.py", "exercises/autograder/*.py", "benchmarks/bench_sections/*.py",
            "constraints.txt")  # fmt: skip


def environment(**changes: str) -> dict[str, str]:
    """Of a process that imports `bench_sections`."""
    paths = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": paths, **changes}


def processor() -> str:
    """Its name, as Linux and macOS give it, and whether it multiplies bfloat16 by itself."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    fields = {key.strip(): value.strip() for key, _, value in (ln.partition(":") for ln in lines)}
    name = fields.get("model name") or platform.processor() or platform.machine()
    flags = fields.get("flags", "").split()
    fast = [word for flag, word in (("amx_bf16", "AMX"), ("avx512_bf16", "AVX512-bf16"))
            if flag in flags]  # fmt: skip
    return name + (f" with {fast[0]}" if fast else "")


def total_memory() -> int:
    """Bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def free_memory() -> int:
    """Bytes that new processes can have."""
    return status_bytes(Path("/proc/meminfo"), "MemAvailable") or total_memory() // 2


def cores() -> int:
    """Those that this process may use: a container may have fewer than the machine."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def library_versions() -> dict[str, str]:
    found = {"Python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "missing"
    return found


def machine() -> dict:
    return {
        "processor": processor(),
        "cores": cores(),
        "threads": os.environ.get("OMP_NUM_THREADS", "all"),
        "memory_gb": round(total_memory() / 1e9),
        "system": platform.system(),
        "versions": library_versions(),
    }


def described(found: dict) -> str:
    """The same as a line of the page."""
    threads = "" if found["threads"] == "all" else f", OMP_NUM_THREADS={found['threads']}"
    versions = ", ".join(f"{name} {number}" for name, number in found["versions"].items())
    return (f"{found['cores']} cores of an {found['processor']}{threads}, {found['memory_gb']} GB, "
            f"{found['system']}; {versions}")  # fmt: skip


def code_version() -> str:
    """A fingerprint of all code that a figure depends on, and of the pinned versions; pages, tests
    and notebooks may change without it."""
    digest = hashlib.sha256()
    for path in sorted(path for pattern in MEASURED for path in ROOT.glob(pattern)):
        digest.update(str(path.relative_to(ROOT)).encode() + path.read_bytes())
    return digest.hexdigest()[:10]


# Resident memory of this process.


def status_bytes(path: Path, name: str) -> int | None:
    """A line such as `VmHWM:  1234 kB` of Linux's files about a process or the machine."""
    if not path.exists():
        return None
    for line in path.read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    return None


def resident() -> int:
    return status_bytes(Path("/proc/self/status"), "VmRSS") or peak_resident()


def peak_resident() -> int:
    """The most since the process began, or since `forget_peak`."""
    found = status_bytes(Path("/proc/self/status"), "VmHWM")
    return found or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # macOS counts bytes


def forget_peak() -> None:
    """Where the system allows it: what only making a model or compiling needed does not count."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return
