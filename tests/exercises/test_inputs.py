"""What the checks give to an answer, and what they never give."""

import numpy as np

from autograder.student import Student
from bert_experiments.grader.bank import chosen_exercises
from bert_experiments.grader.inputs import Recording, never_given, run_inputs


def missing(recording: Recording, argument: str) -> dict[str, list[str]]:
    return dict(never_given(recording.given["softmax_forward"][argument]))


def test_a_kind_of_input_is_missing_until_it_is_given():
    exercise = chosen_exercises(["03_softmax"])[0]
    recording = Recording(exercise)
    student = Student(exercise.solution, recording)
    student.softmax_forward(np.array([[3.0, 1, 2], [0, 0, 5]]))
    found = missing(recording, "x")
    assert {"size of axis 0 of 2", "rows", "last axis", "numbers", "type"} <= found.keys()
    assert "float32" in found["type"] and "float64" not in found["type"]
    assert "all rows alike" in found["rows"] and "16" in found["size of axis 1 of 2"]
    assert recording.given["softmax_forward"]["x"]["kind"] == {"array of floats"}
    assert recording.given["softmax_forward"]["axis"]["passed"] == {"left out"}

    student.softmax_forward(np.ones((16, 1), np.float32) * np.arange(16, dtype=np.float32), axis=0)
    found = missing(recording, "x")
    assert "type" not in found and "all rows alike" not in found["rows"]
    assert "16" not in found["size of axis 1 of 2"] and "rising" not in found["last axis"]
    assert recording.given["softmax_forward"]["axis"]["passed"] == {"left out", "by name"}
    assert found["memory"] == ["gaps or another order"]

    student.softmax_forward(np.ones((2, 6))[:, ::2])
    assert "memory" not in missing(recording, "x")


def test_the_command_tells_what_no_check_of_an_exercise_gives(capsys):
    run_inputs(["05_gelu"])
    told = capsys.readouterr().out
    assert "05_gelu, gelu_backward: " in told and "dout: passed by" in told
    assert "never, numbers: infinite" in told
