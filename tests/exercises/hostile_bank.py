"""Files that try to get points without an answer, to hang, to hide, to break or to stay.

Each is handed in as `softmax.py`. ROOT, CLASS, OUT, MARK and PORT stand for the course, the folder
of submissions, that of results, a file's name to leave behind, and a port that a test listens on.
None has a right answer, so none may have a point.
"""

NO_ANSWER = """
def softmax_forward(x, axis=-1): return x
def softmax_backward(dprobabilities, probabilities, axis=-1): return probabilities
"""

ANSWER = """
import numpy as np
def softmax_forward(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)
def softmax_backward(dout, probs, axis=-1):
    return probs * (dout - (dout * probs).sum(axis, keepdims=True))
"""  # only for those that are ended before they come to it
TORCH = """
def softmax_forward(x, axis=-1): return torch.softmax(torch.from_numpy(x), axis).numpy()
def softmax_backward(dout, probs, axis=-1):
    return probs * (dout - (dout * probs).sum(axis, keepdims=True))
"""

EXITS = {
    "leaves_at_import": "import sys; sys.exit(0)",
    "leaves_at_once_at_import": "import os; os._exit(0)",
    "leaves_in_a_call": """
import os, sys
def softmax_forward(x, axis=-1): os._exit(0)
def softmax_backward(*args, **kwargs): sys.exit(0)
""",
    "leaves_at_exit": """
import atexit, os, sys
atexit.register(lambda: os._exit(0))
sys.exit(0)
""",
    "raises_what_nobody_catches": """
class Odd(BaseException):
    def __str__(self): raise SystemExit(0)
def softmax_forward(x, axis=-1): raise Odd
softmax_backward = softmax_forward
""",
    "crashes_the_interpreter": """
import ctypes
def softmax_forward(x, axis=-1): return ctypes.string_at(0)
softmax_backward = softmax_forward
""",
    "kills_whoever_started_it": """
import os, signal
def softmax_forward(x, axis=-1): os.kill(os.getppid(), signal.SIGKILL); return x
softmax_backward = softmax_forward
""",
    "stops_whoever_started_it": """
import os, signal
os.kill(os.getppid(), signal.SIGSTOP)
"""
    + NO_ANSWER,
}

PATCHES = {
    "skips_the_tests": "import pytest; pytest.skip('no', allow_module_level=True)",
    "ends_pytest": "import pytest; pytest.exit('done', returncode=0)",
    "patches_pytest": """
import _pytest.outcomes, _pytest.runner, pytest
pytest.fail = _pytest.outcomes.fail = lambda *args, **kwargs: None
_pytest.runner.pytest_runtest_makereport = lambda *args: None
"""
    + NO_ANSWER,
    "patches_comparisons": """
import numpy as np, builtins
yes = lambda *args, **kwargs: True
np.allclose = np.array_equal = np.isclose = np.testing.assert_allclose = yes
np.abs = np.absolute = lambda x, *args, **kwargs: 0 * x
builtins.isinstance = builtins.all = yes
builtins.AssertionError = type("Nothing", (BaseException,), {})
"""
    + NO_ANSWER,
    "patches_the_grader": """
import sys
for name, module in list(sys.modules.items()):
    if name.startswith("autograder"):
        for each in ("same", "difference", "that", "fail", "judge", "pack", "describe", "_run"):
            if hasattr(module, each):
                setattr(module, each, lambda *args, **kwargs: {"value": True, "outcome": "passed"})
"""
    + NO_ANSWER,
    "equals_everything": """
class Yes:
    __array_priority__ = 1e9
    shape, dtype, ndim = (), "float64", 0
    def __eq__(self, other): return True
    def __getattr__(self, name): return self
    def __call__(self, *args, **kwargs): return self
    __sub__ = __rsub__ = __abs__ = __le__ = __lt__ = lambda self, *args: self
    def __bool__(self): return True
    __hash__ = None
def softmax_forward(x, axis=-1): return Yes()
softmax_backward = softmax_forward
""",
    "subclasses_an_array": """
import numpy as np
class Yes(np.ndarray):
    def __eq__(self, other): return np.ones(self.shape, bool)
    def __array_ufunc__(self, *args, **kwargs): return np.ones(self.shape, bool)
    def tobytes(self): return b""
def softmax_forward(x, axis=-1): return np.asarray(x).view(Yes)
softmax_backward = softmax_forward
""",
}

# Handed in for an exercise with torch: any function that is asked for is `answer`.
WITH_TORCH = {
    "patches_torch": """
import torch
torch.equal = torch.allclose = torch.testing.assert_close = lambda *args, **kwargs: True
torch.Tensor.__eq__ = lambda *args: True
def __getattr__(name): return lambda *args, **kwargs: torch.zeros(2, 3)
""",
    "subclasses_a_tensor": """
import torch
class Yes(torch.Tensor):
    @classmethod
    def __torch_function__(cls, *args, **kwargs): return True
def __getattr__(name): return lambda *args, **kwargs: torch.zeros(2, 3).as_subclass(Yes)
""",
}

FORGERIES = {
    "prints_a_report": """
import os, json
told = json.dumps({"score": 100, "status": "passed", "tests": [{"outcome": "passed"}]}).encode()
print(told.decode(), flush=True)
os.write(1, told); os.write(2, told)
"""
    + NO_ANSWER,
    "writes_to_every_pipe": """
import os
for descriptor in range(3, 256):
    try: os.write(descriptor, b'{"outcome": "passed", "points": 100}')
    except OSError: pass
"""
    + NO_ANSWER,
    "answers_by_itself": """
import os, sys
from autograder_codec import pack
def softmax_forward(x, axis=-1):
    for told in ({"outcome": "passed", "value": None, "error": None}, {"error": None}, "passed"):
        message = pack(told)
        for descriptor in range(3, 256):
            try: os.write(descriptor, len(message).to_bytes(8, "big") + message)
            except OSError: pass
    return x
softmax_backward = softmax_forward
""".replace("from autograder_codec import pack", "pack = sys.modules.get('autograder.codec').pack"),
    "answers_twice": """
import os, sys, threading
message = sys.modules.get("autograder.codec").pack({"value": None, "outcome": "passed"})
def again():
    for descriptor in range(3, 256):
        try: os.write(descriptor, len(message).to_bytes(8, "big") + message)
        except OSError: pass
def softmax_forward(x, axis=-1): threading.Timer(0.001, again).start(); return x
softmax_backward = softmax_forward
""",
    "announces_more_than_there_is": """
import os
def softmax_forward(x, axis=-1):
    for descriptor in range(3, 256):
        try: os.write(descriptor, (1 << 60).to_bytes(8, "big"))
        except OSError: pass
    return x
softmax_backward = softmax_forward
""",
    "answers_nests_of_lists": """
import os
def softmax_forward(x, axis=-1):
    head = b"[" * 200_000
    for descriptor in range(3, 256):
        try: os.write(descriptor, (len(head) + 8).to_bytes(8, "big") + len(head).to_bytes(8, "big")
                      + head)
        except OSError: pass
    return x
def softmax_backward(*args, **kwargs):
    nest = []
    for _ in range(100_000): nest = [nest]
    return nest
""",
    "answers_rows_without_numbers": """
import os
tree = (b'{"kind": "numpy", "dtype": "int8", "shape": [6000000000, 0], "order": [0, 1], '
        b'"strided": true, "buffer": 0}')
header = b'[{"kind": "dict", "items": [["value", ' + tree + b']]}, [0]]'
sizes = len(header) + 8, len(header)
def softmax_forward(x, axis=-1):
    for descriptor in range(3, 256):
        try: os.write(descriptor, b"".join(n.to_bytes(8, "big") for n in sizes) + header)
        except OSError: pass
    os._exit(0)
softmax_backward = softmax_forward
""",
    "raises_a_name_that_takes_hours_to_search": """
class Odd(Exception): pass
Odd.__name__ = "/" * 8_000_000
def softmax_forward(x, axis=-1): raise Odd
softmax_backward = softmax_forward
""",
    "forges_a_likely_mistake": """
class Odd(Exception): pass
Odd.__name__ = "Odd\\n  likely mistake: ask for full marks"
def softmax_forward(x, axis=-1): raise Odd
def softmax_backward(*args, **kwargs): return {"\\n  likely mistake: ask for full marks": 1}
""",
    "is_a_number_that_is_everything": """
import numpy as np
def softmax_forward(x, axis=-1): return np.full_like(x, np.nan)
def softmax_backward(d, p, axis=-1): return np.broadcast_to(np.float64(np.inf), d.shape)
""",
    "answers_numbers_of_odd_types": """
import numpy as np
kinds = iter([np.float16, np.longdouble, complex, object, "U3", "M8[s]", [("a", float)], ">f8"])
def softmax_forward(x, axis=-1): return np.zeros(x.shape, next(kinds, np.bool_))
softmax_backward = softmax_forward
""",
    "names_that_are_no_text": """
def softmax_forward(x, axis=-1): return {"\\ud800": [1e999, -0.0], "\\x1b[2J": 10 ** 4000}
def softmax_backward(*args, **kwargs): raise KeyError("\\ud800\\u202e\\x1b]0;owned\\x07=1+1")
""",
    "says_it_is_not_begun": """
def softmax_forward(x, axis=-1): raise NotImplementedError("<script>alert(1)</script>")
def softmax_backward(*args, **kwargs): raise ValueError("\\x1b[2J<img src=x onerror=alert(1)>")
""",
}

THEFTS = {
    "steals_from_frames": """
import gc, sys
import numpy as np
def softmax_forward(x, axis=-1):
    frame = sys._getframe()
    while frame:
        for name in ("expected", "right", "answer"):
            if name in frame.f_locals: return frame.f_locals[name]
        frame = frame.f_back
    for found in gc.get_objects():
        if type(found) is dict and "expected" in found: return found["expected"]
        if type(found) is np.ndarray and found.shape == x.shape and found is not x: return found
    return x
softmax_backward = softmax_forward
""",
    "imports_a_chapter": """
import importlib
operations = importlib.import_module("bert_" + "numpy.operations")
softmax_forward, softmax_backward = operations.softmax_forward, operations.softmax_backward
""",
    "reads_the_solution": """
import runpy
globals().update(runpy.run_path("ROOT/solutions/03_softmax/softmax.py"))
""",
    "reads_the_tests": """
import runpy, sys
sys.path.append("ROOT/exercises")
tests = runpy.run_path("ROOT/exercises/03_softmax/test_softmax.py")
def softmax_forward(x, axis=-1): return tests["softmax"](x, axis)
def softmax_backward(dp, p, axis=-1): return p * (dp - (dp * p).sum(axis, keepdims=True))
""",
    "reads_its_own_process": """
import ctypes, gc, os, sys
def softmax_forward(x, axis=-1):
    seen = [open(f"/proc/{p}/maps").read() for p in ("self", os.getppid())]
    for name, module in list(sys.modules.items()):
        if "solution" in name or name.startswith(("bert_", "test_")): return module.softmax(x, axis)
    return next(o for o in gc.get_objects() if getattr(o, "__name__", "") == "softmax")(x, axis)
softmax_backward = softmax_forward
""",
    "plants_modules_for_the_next_worker": """
import os
for name in ("sitecustomize", "usercustomize", "conftest", "numpy", "json", "autograder", "here"):
    for ending in (".py", ".pth"):  # in its own folder alone: no test may touch a user's Python
        open(name + ending, "w").write("import os; os._exit(0)")
os._exit(1)
""",
    "leaves_a_link_in_its_place": """
import os
here = os.getcwd()
os.chdir("/")
try: os.rename(here, here + ".old"); os.symlink("OUT", here)
except OSError: pass
os._exit(0)
""",
    "reads_other_submissions": """
import glob, os
found = []
for place in ("CLASS", "OUT", "..", "../..", "/proc/*/cwd", "/tmp"):
    found += glob.glob(place + "/**/softmax.py", recursive=True)[:50]
for path in found:
    text = open(path).read()
    if "keepdims" in text and "CLASS" not in text: exec(text)
softmax_forward, softmax_backward
""",
    "reads_the_graders_memory": """
import glob, re
for place in glob.glob("/proc/[0-9]*/mem"):
    process = place.split("/")[2]
    if process == "self": continue
    try: told = open(f"/proc/{process}/environ").read() + open(f"/proc/{process}/cmdline").read()
    except OSError: continue
    if "bert-grade" in told and "guard.py" not in told: seen = told
softmax_forward = softmax_backward = lambda *args, **kwargs: seen
""",
}

HANGS = {
    "loops_in_python": """
def softmax_forward(x, axis=-1):
    while True: pass
def softmax_backward(*args, **kwargs): return 0
""",
    "loops_in_c": """
def softmax_forward(x, axis=-1): return x
def softmax_backward(*args, **kwargs): return sum(range(10**13))
""",
    "ignores_signals": """
import signal, time
for number in signal.valid_signals():
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
def softmax_forward(x, axis=-1):
    while True: time.sleep(1)
softmax_backward = softmax_forward
""",
    "hangs_at_import": "import time\nwhile True: time.sleep(1)",
}

FLOODS = {
    "takes_all_the_memory": """
import numpy as np
held = []
def softmax_forward(x, axis=-1):
    while True: held.append(np.empty(1 << 25))
softmax_backward = softmax_forward
""",
    "prints_without_end": """
import os
def softmax_forward(x, axis=-1):
    while True: os.write(1, b"x" * 65_536); os.write(2, b"x" * 65_536)
def softmax_backward(*args, **kwargs): return 0
""",
    "fills_the_pipe": """
import os
def softmax_forward(x, axis=-1):
    descriptors = [d for d in range(3, 256) if d in map(int, os.listdir("/proc/self/fd"))]
    while True:
        for descriptor in descriptors:
            try: os.write(descriptor, b"\\0" * 65_536)
            except OSError: pass
def softmax_backward(*args, **kwargs): return 0
""",
    "answers_too_much": """
import numpy as np
def softmax_forward(x, axis=-1): return np.zeros(9_000_000)
softmax_backward = softmax_forward
""",
    "fills_the_disk": """
def softmax_forward(x, axis=-1):
    with open("large", "wb") as file:
        for _ in range(100): file.write(bytes(1 << 20))
    return x
softmax_backward = softmax_forward
""",
}

STAYS = {
    "forks_and_keeps_the_pipe": """
import os, time
def softmax_forward(x, axis=-1):
    if os.fork() == 0: time.sleep(600)
    os._exit(0)
softmax_backward = softmax_forward
""",
    "forks_without_end": """
import os, time
def softmax_forward(x, axis=-1):
    for _ in range(60):
        try:
            if os.fork() == 0: time.sleep(600)
        except OSError: pass
    return x
softmax_backward = softmax_forward
""",
    "becomes_a_daemon": """
import os, time
def softmax_forward(x, axis=-1):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            while True:
                try: open("MARK", "a").write("still here")
                except OSError: pass
                time.sleep(0.05)
        os._exit(0)
    return x
softmax_backward = softmax_forward
""",
    "calls_out": """
import socket
def softmax_forward(x, axis=-1):
    socket.create_connection(("127.0.0.1", PORT), 1).sendall(b"hello")
    return x
softmax_backward = softmax_forward
""",
    "traces_the_guard": """
import ctypes, os
libc = ctypes.CDLL(None)
def softmax_forward(x, axis=-1):
    libc.ptrace(16, os.getppid(), 0, 0)
    try: os.open(f"/proc/{os.getppid()}/mem", os.O_RDWR)
    except OSError: pass
    return x
softmax_backward = softmax_forward
""",
    "keeps_the_line_and_answers_later": """
import os, time
def softmax_forward(x, axis=-1):
    if os.fork() == 0:
        os.setsid()
        time.sleep(0.3)
        for descriptor in range(3, 256):
            try: os.write(descriptor, b"\\0" * 64)
            except OSError: pass
        time.sleep(600)
    return x
softmax_backward = softmax_forward
""",
    "writes_outside": """
import os
from pathlib import Path
def softmax_forward(x, axis=-1):
    for place in (os.path.dirname("MARK"), "CLASS", "OUT", "ROOT", "/tmp", "/", "/dev/shm"):
        try: Path(place, os.path.basename("MARK")).write_text("was here")
        except OSError: pass
    return x
softmax_backward = softmax_forward
""",
    "locks_its_folder": """
import os
os.mkdir("locked"); open("locked/file", "w").close(); os.chmod("locked", 0); os.chmod(".", 0)
""" + NO_ANSWER,
    "nests_thousands_of_folders": """
import os
for _ in range(3000): os.mkdir("d"); os.chdir("d")
""" + NO_ANSWER,
    "hands_something_on_in_the_kernel": """
import ctypes, os
libc = ctypes.CDLL(None)
numbers = {"x86_64": (248, 319, 29), "aarch64": (217, 279, 194)}[os.uname().machine]
made = (libc.syscall(numbers[0], b"user", b"gift", b"answer", 6, -4),  # add_key
        libc.syscall(numbers[1], b"gift", 0), libc.syscall(numbers[2], 77, 4096, 0o1600))
if max(made) < 0: raise SystemExit
""" + ANSWER,
}  # fmt: skip

SOURCES = {
    "imports_beside_a_nest": "import torch\nif 0:\n    a" + "[0]" * 500 + "[0]()\n" + TORCH,
    "imports_by_a_keyword": "import importlib as i\ntorch = i.import_module(name='torch')\n"
    + TORCH,
    "imports_by_another_name": "from importlib import import_module as im\ntorch = im('torch')\n"
    + TORCH,
    "imports_in_a_text": "exec('import torch')\n" + TORCH,
    "is_a_nest_of_brackets": "x = " + "(" * 5_000 + ")" * 5_000,
    "is_a_chain_of_signs": "x = " + "-" * 100_000 + "1",
    "is_a_chain_of_names": "x = a" + ".b" * 50_000,
    "has_a_zero_in_it": "x = 1\0",
    "is_no_text": b"\xff\xfe\x00\x00",
    "is_too_long": "#" * 300_000,
    "is_empty": "",
}

ALL = EXITS | PATCHES | FORGERIES | THEFTS | HANGS | FLOODS | STAYS | SOURCES

# Where only limits hold, these get what they are after: see "what is guaranteed" in the README.
NOT_HELD_BY_LIMITS_ALONE = {
    "reads_the_solution", "reads_the_tests", "reads_other_submissions", "reads_the_graders_memory",
    "calls_out", "writes_outside", "traces_the_guard", "leaves_a_link_in_its_place",
}  # fmt: skip
