"""The table as a list of names and questions, all asked at once."""

import numpy as np


def diagnose(records, *, ln_v, entropy):
    def column(key):
        found = {}
        for record in records:
            if record.get(key) is not None:
                found[record["step"]] = float(record[key])
        return sorted(found.items())

    train, held, norms = map(column, ("train_mlm_loss", "heldout_mlm_loss", "gradient_norm"))
    losses = [loss for _, loss in train]
    if any(not np.isfinite(loss) for _, loss in train + held):
        return "diverged"
    n = len(losses)
    if n <= 9:
        return "too short"
    k = n // 10
    smoothed = [sum(losses[max(0, i - k) : i]) / min(i, k) for i in range(1, n + 1)]
    end = sum(losses[n - k :]) / k

    def overfits():
        if not held:
            return False
        lowest, since = min((loss, step) for step, loss in held)
        reached = [value for (step, _), value in zip(train, smoothed, strict=True) if step <= since]
        return held[-1][1] > lowest and bool(reached) and reached[-1] - end >= NEAR

    def calmed():
        sizes = [size for _, size in norms]
        j = max(len(sizes) // 10, 1)
        return bool(sizes) and 2 * sum(sizes[-j:]) <= sum(sizes[:j])

    near, flat = 0.25, 0.0625
    falls = sum(losses[n - 2 * k : n - k]) / k - end >= flat
    at_line = abs(end - entropy) < near
    rows = [
        ("diverged", end - min(smoothed) >= 1),
        ("bad start", losses[0] - ln_v >= 1),
        ("at ln V", ln_v - end < near),
        ("overfits", overfits()),
        ("leak", bool(held) and end - held[-1][1] >= near),
        ("still falling", falls),
        ("above the line", end - entropy >= near),
        ("stuck at the line", at_line and calmed()),
        ("plateau", at_line),
    ]
    return next((name for name, fits in rows if fits), "finished")
