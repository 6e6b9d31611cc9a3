"""What a pretraining run looks like that has one thing wrong.

`faults` (the healthy run, and the same with one fault each), `runs` (how one is trained and
measured), `questions` (rates, sizes and text, vocabularies, masks, leaks), `exam` (ten runs without
their names), `draw` (curves side by side).
"""
