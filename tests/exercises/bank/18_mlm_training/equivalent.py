"""Mutants that nobody can tell from the solution, and why."""

EQUIVALENT = {
    "mlm_surprise: own = {name: weight.clone() for name, weight in weights.items()} | "
    "weight.clone() => weight": (
        "Where the numbers lie in memory changes no value that can be relied on."
    ),
    "generator_for: return torch.Generator().manual_seed(random.Random(use).getrandbits(64)) | "
    "64 => 63": "Other seeds, as far apart as these: how one draws is up to the student.",
    "train: rows = batch_indices( | rows = batch_indices( => rows = (batch_indices(step, "
    "seed=seed, examples=len(data['input_ids']), batch_size=batch_size)).detach()": (
        "Whole numbers have no gradient."
    ),
}
