"""The laboratory: every study of the course that makes a figure, a table or a verdict.

One file or one small folder a study. It may import every level; of the course only the notebooks
and the capstone exercise open it.
"""
