"""Here pytest learns how exercises are graded: see autograder/plugin.py."""

pytest_plugins = ["autograder.plugin"]
