"""The grader graded: banks of answers, mutants of the solutions, and the promises of the pages."""
