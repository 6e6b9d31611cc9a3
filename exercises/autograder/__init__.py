"""The grader of the exercises: a pytest plugin, a proxy for the student's code, and reports."""
