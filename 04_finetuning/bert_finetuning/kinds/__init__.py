"""The kinds of task: what the model reads, what it should answer, how it is judged."""
