"""What `make test` leaves out is found in the source of a test, its fixtures and helpers."""

import pytest
from mechanisms import mechanisms_of

CONFTEST = """
import subprocess

def call():
    return subprocess.run
"""


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("def test_it():\n    subprocess.run(['ls'])", {"process"}),
        ("def test_it(call):\n    call('x')", {"process"}),  # a fixture of the conftest
        ("def helper():\n    return Popen\n\ndef test_it():\n    helper()", {"process"}),
        ("def test_it():\n    torch.compile(f)", {"compiler"}),
        ("def test_it():\n    re.compile('x')", set()),
        ("def test_it():\n    assert try_out(v).is_full", {"bank"}),
        ("def other():\n    subprocess.run([])\n\ndef test_it():\n    assert 1", set()),
    ],
)
def test_mechanisms__are_those_that_a_test_reaches(body, found, tmp_path):
    own, conftest = tmp_path / "test_own.py", tmp_path / "conftest.py"
    own.write_text(body, encoding="utf-8")
    conftest.write_text(CONFTEST, encoding="utf-8")
    assert mechanisms_of("test_it", own, conftest) == found
