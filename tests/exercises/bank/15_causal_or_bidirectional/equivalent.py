"""Mutants of 15_causal_or_bidirectional that nobody can tell from the solution."""

EQUIVALENT = {
    "visible_keys: visible = attention_mask.bool()[:, None, :].expand(-1, seq, -1) | "
    "visible = attention_mask.bool()[:, None, :].expand(-1, seq, -1) => "
    "visible = (attention_mask.bool()[:, None, :].expand(-1, seq, -1)).detach()": (
        "truth values carry no gradient, so there is nothing to detach"
    ),
    "reached: found = ((visible | itself).float() @ found.float()) > 0 | "
    "(visible | itself).float() @ found.float() => (found.float() @ (visible | itself).float())": (
        "found is a power of the other factor, and powers of one matrix commute"
    ),
}
