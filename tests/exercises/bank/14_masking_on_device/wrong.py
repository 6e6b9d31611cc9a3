"""Wrong answers to 14_masking_on_device, as edits of the solution, and the words that name each."""

RAND = "return torch.rand(*size, generator=generator, device=device)"
CANDIDATE = "candidate = attention_mask.bool() & ~torch.isin(input_ids, special_ids)"
CHOICE = (
    "smallest, positions = draw(*shape).masked_fill(~candidate, 2.0).topk(slots, largest=False)"
)
WANTED = "wanted = (attention_mask.sum(dim=1, keepdim=True) * rate).round().clamp(min=1)"
USED = "used = (torch.arange(slots, device=device) < wanted) & (smallest < 2.0)"
ZERO = "positions = positions * used"
ORIGINAL = "original = input_ids.gather(1, positions)"
FATES = "fate, draw_word = draw(*used.shape), draw(*used.shape)"
HIDDEN = "shown = torch.where(fate < 0.8, mask_id, original)"
IS_RANDOM = "(fate >= 0.8) & (fate < 0.9)"
WORD = (
    "word = ordinary_ids[(draw_word * len(ordinary_ids)).long().clamp(max=len(ordinary_ids) - 1)]"
)
TARGET = "target = torch.where(used, positions, shape[1])"
RETURN = "return masked, positions, original * used, used.float()"

WRONG = {
    "specials are candidates": (
        [(CANDIDATE, "candidate = attention_mask.bool()")], "is a candidate"),
    "special ids written in": (
        [(CANDIDATE, CANDIDATE.replace("special_ids", "torch.tensor([0, 100, 101, 102, 103])"))],
        "special_ids is not used"),
    "padding by its id alone": (
        [(CANDIDATE, "candidate = ~torch.isin(input_ids, special_ids)")],
        "padding is known by its id alone"),
    "padding is a candidate": (
        [(CANDIDATE, "candidate = ~torch.isin(input_ids, special_ids[1:])")],
        "padding is a candidate"),
    "rate written in": ([(WANTED, WANTED.replace("rate", "0.15"))], "the rate argument is ignored"),
    "share of the candidates": (
        [(WANTED, WANTED.replace("attention_mask", "candidate"))],
        "the count is a share of the candidates"),
    "share of the whole row": (
        [(WANTED, "wanted = torch.full((shape[0], 1), float(max(1, round(rate * shape[1]))))")],
        "the count is a share of the whole row"),
    "none in a short row": ([(WANTED, WANTED.replace(".clamp(min=1)", ""))],
                            "a short row has one mask at least"),
    "rounded down": ([(WANTED, WANTED.replace(".round()", ".floor()"))],
                     "the count is rounded down"),
    "rounded up": ([(WANTED, WANTED.replace(".round()", ".ceil()"))], "the count is rounded up"),
    "all slots used": (
        [(USED, "used = smallest < 2.0")], "every slot is used"),
    "empty slots weigh 1": (
        [(RETURN, "return masked, positions, original * used, torch.ones_like(used).float()")],
        "every slot is used"),
    "every token by itself": (
        [(CHOICE, "chosen = candidate & (draw(*shape) < rate)\n"
                  "    smallest, positions = chosen.logical_not().mul(2.0).topk(slots, "
                  "largest=False)"),
         (USED, "used = smallest < 2.0")],
        "every token is drawn by itself"),
    "the first candidates": (
        [(CHOICE, "places = torch.arange(shape[1]).expand(shape) / shape[1]\n    "
                  + CHOICE.replace("draw(*shape)", "places"))],
        "the same tokens are masked in every row"),
    "one draw for all rows": (
        [(CHOICE, CHOICE.replace("draw(*shape)", "draw(shape[1]).expand(shape)"))],
        "one draw for all rows"),
    "a position twice": (
        [(CHOICE, "positions = torch.multinomial(candidate.float() + 1e-9, slots, "
                  "replacement=True, generator=generator)\n"
                  "    smallest = torch.where(candidate.gather(1, positions), 0.5, 2.0)")],
        "positions are drawn with replacement"),
    "tokens looked up too late": (
        [(RETURN, RETURN.replace("original *", "masked.gather(1, positions) *"))],
        "looked up after they were replaced"),
    "empty slots have a token": ([(RETURN, RETURN.replace("original * used", "original"))],
                                 "an empty slot has token 0"),
    "empty slots have a position": ([(ZERO, "pass")], "an empty slot has position 0"),
    "empty slots write": ([(TARGET, "target = positions")], "an empty slot writes"),
    "empty slots put the original back at 0": (
        [(TARGET, "target, shown = positions, torch.where(used, shown, original)")],
        "an empty slot writes over position 0"),
    "all become [MASK]": ([(FATES, FATES + "\n    fate = fate * 0")],
                          "every masked token becomes [MASK]"),
    "80/20/0": ([(IS_RANDOM, "fate >= 0.8")], "nothing is kept"),
    "80/0/20": ([(IS_RANDOM, "fate >= 2")], "nothing is random"),
    "80/2/18": ([(IS_RANDOM, "(fate >= 0.8) & (draw(*used.shape) < 0.1)")],
                "random and kept are drawn independently"),
    "random over [MASK]": ([(IS_RANDOM, "draw(*used.shape) < 0.1")],
                           "random is drawn after and over [MASK]"),
    "half masked": ([(HIDDEN, HIDDEN.replace("0.8", "0.5")), (IS_RANDOM,
                      "(fate >= 0.5) & (fate < 0.75)")], "half of them are [MASK]"),
    "words of all ids": (
        [(WORD, "word = (draw_word * 2000).long()")], "ordinary_ids is not used"),
    "half of the words": ([(WORD, WORD.replace("draw_word *", "draw_word / 2 *"))],
                          "these words are never drawn"),
    "one word for all": ([(WORD, WORD.replace("(draw_word *", "(draw(1) *"))],
                         "one random word is drawn for all"),
    "id of [MASK] written in": ([(HIDDEN, HIDDEN.replace("mask_id", "103"))],
                                "mask_id is ignored"),
    "the global generator": ([(RAND, "return torch.rand(*size, device=device)")],
                             "a draw does not come from the generator"),
    "its own seed": (
        [(RAND, "generator.manual_seed(0)\n        " + RAND)],
        "the function seeds a generator of its own"),
    "a count asked for by .item()": (
        [(WANTED, WANTED + "\n    most = int(wanted.max().item())\n"
                           "    wanted = wanted.clamp(max=most)")],
        "this asks a tensor for its values"),
    "a boolean index by nonzero": (
        [(ZERO, ZERO + "\n    _ = used.nonzero()")], "this asks a tensor for its values"),
    "a loop over the rows": (
        [(RETURN, "rows = [roomy[i].scatter(0, target[i], shown[i])[:-1] for i in range(shape[0])]"
                  "\n    for i in range(shape[0]):\n"
                  "        rows[i] = torch.where(candidate[i], rows[i], input_ids[i])\n"
                  "    masked = torch.stack(rows)\n    " + RETURN)],
        "a Python loop"),
    "in place": (
        [("masked = roomy.scatter(1, target, shown)[:, :-1]",
          "masked = input_ids\n    masked.scatter_(1, positions, torch.where(used, shown, "
          "input_ids.gather(1, positions)))")],
        "changed its input in place"),
    "whole numbers as weights": ([(RETURN, RETURN.replace("used.float()", "used.long()"))],
                                 "the wrong type"),
    "no weights returned": ([(RETURN, RETURN.replace(", used.float()", ""))],
                            "expected a tuple of 4 values"),
}  # fmt: skip
