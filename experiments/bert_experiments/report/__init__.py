"""Reports of studies: figures by variant and seed, verdicts, pages with JSON, plots, models."""
