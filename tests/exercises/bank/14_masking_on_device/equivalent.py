"""Mutants of 14_masking_on_device that nobody can tell from the solution."""

NO_GRADIENT = "ids, positions and draws carry no gradient, so there is nothing to detach"

EQUIVALENT = {
    "mask_on_device: roomy = F.pad(input_ids, (0, 1)) | roomy = F.pad(input_ids, (0, 1)) => "
    "roomy = (F.pad(input_ids, (0, 1))).detach()": NO_GRADIENT,
    "mask_on_device: places = choose( | places = choose( => places = (choose(attention_mask.bool() "
    "& ~torch.isin(input_ids, special_ids), (attention_mask.sum(dim=1, keepdim=True) * rate)"
    ".round().clamp(min=1), slots, generator)).detach()": NO_GRADIENT,
    "mask_on_device: tokens = roomy.gather(1, places) | tokens = roomy.gather(1, places) => "
    "tokens = (roomy.gather(1, places)).detach()": NO_GRADIENT,
}
