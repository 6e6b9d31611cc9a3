"""The kinds of task, one file each: what the model reads, what it should answer, how it is judged."""
