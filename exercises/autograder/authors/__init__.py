"""For authors of exercises: starters from solutions, banks of answers, mutants, promises."""
