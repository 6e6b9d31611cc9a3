"""Is the score of a fine-tuned model true? Choices on dev, intervals, leaks, calibration, slices.

`measures` (the statistics, in NumPy), `texts` (real texts or StoryWorld's, split by sentence),
`runs` (what is trained), `statements` (what the runs show), `draw` (the pictures).
"""
