"""From the figures that `../bench_sections` saved to the page and its pictures. Nothing is measured
here.

numbers.py    medians, quartiles, ratios of rounds, fitted exponents
aims.py       what was aimed at, and whether it is reached
training_tables.py, other_tables.py, growth_tables.py    the sections
page.py       the whole page
"""
