"""Mutants that nobody can tell from the solution, and why."""

NO_GRADIENT = "The update returns values; none of its arguments asks for a gradient."
WHOLE = "Whole numbers and truth values have no gradient."
EDGE = "A draw that is exactly the limit comes once in millions."
FAR = "Other seeds, as far apart as these: how one draws is up to the student."

EQUIVALENT = {
    "accumulated_gradient: count = sum((labels != -100).sum() for _, labels in micro_batches)"
    " | count = sum((labels != -100).sum() for _, labels in micro_batches) => count = "
    "(sum(((labels != -100).sum() for _, labels in micro_batches))).detach()": (
        "A count has no gradient."
    ),
    "update: norm = torch.sqrt(sum(g.square().sum() for g in gradients.values())) | norm = "
    "torch.sqrt(sum(g.square().sum() for g in gradients.values())) => norm = "
    "(torch.sqrt(sum((g.square().sum() for g in gradients.values())))).detach()": NO_GRADIENT,
    "update: factor = max_norm / torch.clamp(norm, min=max_norm) | factor = max_norm / "
    "torch.clamp(norm, min=max_norm) => factor = (max_norm / torch.clamp(norm, "
    "min=max_norm)).detach()": NO_GRADIENT,
    "mask_tokens: selected = (chosen < rate) & ~torch.isin(input_ids, special_ids) | selected"
    " = (chosen < rate) & ~torch.isin(input_ids, special_ids) => selected = ((chosen < rate) "
    "& ~torch.isin(input_ids, special_ids)).detach()": WHOLE,
    "mask_tokens: shown = torch.where(fate < 0.8, mask_id, torch.where(fate < 0.9, words, "
    "input_ids)) | shown = torch.where(fate < 0.8, mask_id, torch.where(fate < 0.9, words, "
    "input_ids)) => shown = (torch.where(fate < 0.8, mask_id, torch.where(fate < 0.9, words, "
    "input_ids))).detach()": WHOLE,
    "mask_tokens: selected = (chosen < rate) & ~torch.isin(input_ids, special_ids) | chosen <"
    " rate => (chosen <= rate)": EDGE,
    "mask_tokens: shown = torch.where(fate < 0.8, mask_id, torch.where(fate < 0.9, words, "
    "input_ids)) | fate < 0.8 => (fate <= 0.8)": EDGE,
    "mask_tokens: shown = torch.where(fate < 0.8, mask_id, torch.where(fate < 0.9, words, "
    "input_ids)) | fate < 0.9 => (fate <= 0.9)": EDGE,
    "mask_tokens: shown = torch.where(fate < 0.8, mask_id, torch.where(fate < 0.9, words, "
    "input_ids)) | fate < 0.9 => (fate >= 0.9)": (
        "Random and unchanged are as likely as each other: either may come from the upper draws."
    ),
    "batches: generator = torch.Generator().manual_seed(1_000_003 * seed + epoch) | 1_000_003"
    " * seed + epoch => (1000003 * seed - epoch)": FAR,
    "batches: generator = torch.Generator().manual_seed(1_000_003 * seed + epoch) | 1_000_003"
    " => 1000004": FAR,
    "batches: generator = torch.Generator().manual_seed(1_000_003 * seed + epoch) | 1_000_003"
    " => 1000002": FAR,
}
