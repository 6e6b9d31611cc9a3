"""Mutants that nobody can tell from the solution, and why."""

EQUIVALENT = {
    "accumulated_gradients: (mlm + nsp).backward() | (mlm + nsp).backward() => "
    "added.append(torch.stack([mlm, nsp]).detach()) # adds to every .grad, and frees the part's "
    "activations (mlm + nsp).backward()": (
        "A loss may be noted before or after its backward: backward does not change it."
    ),
}
