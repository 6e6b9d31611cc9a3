"""What `bench.py` measures, a section a file; `../bench_report` makes the page of what they saved.

machine.py     this machine, these versions, this code; resident memory
saved.py       figures on the disk, so that a stopped bench goes on
children.py    a process of its own for each contestant, asked for one turn after another
worker.py      what runs in it
limits.py, level_1.py, levels.py, without.py, peers.py, d2l.py, encoders.py    the contestants
models.py      the model folders and batches that they read
steps.py       cases of training steps, measured in turns
store.py       building a token store
training.py, questions.py, encoding.py, data.py, growth.py, grading.py, demo.py    the sections
ranks.py       what torchrun starts for the section of growth
"""
