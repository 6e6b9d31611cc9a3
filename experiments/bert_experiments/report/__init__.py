"""Reports of studies: figures by variant and seed, verdicts, the page with its JSON, plots."""
