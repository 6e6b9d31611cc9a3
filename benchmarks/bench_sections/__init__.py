"""What `bench.py` measures, a section a file; `../bench_report` makes the page of what they saved.

machine.py     this machine, these versions, this code; resident memory
saved.py       figures on the disk, so that a stopped bench goes on
children.py    a process of its own for each contestant, asked for one turn after another
worker.py      what runs in it
products.py, level_1.py, levels.py, peers.py, d2l.py, encoders.py    the contestants
models.py      the model folders and batches that they read
training.py, encoding.py, data.py, growth.py, grading.py, demo.py    the sections
ranks.py       what torchrun starts for the section of growth
"""
