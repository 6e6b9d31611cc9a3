"""Wrong answers to 14_masking_on_device, as edits of the solution, and the words that name each."""

CANDIDATES = "attention_mask.bool() & ~torch.isin(input_ids, special_ids),"
CHOSEN = "    places = choose("
WANTED = "(attention_mask.sum(dim=1, keepdim=True) * rate).round().clamp(min=1),"
TOKENS = "tokens = roomy.gather(1, places)"
SHOWN = (
    "shown = roomy.scatter(1, places, disguised(tokens, generator, mask_id, ordinary_ids))[:, :-1]"
)
RETURN = "return shown, places * used, tokens, used.float()"
DRAWS = "torch.rand(batch, seq, generator=generator, device=device)  # in [0, 1)"
FILLED = ".masked_fill(~is_candidate, NEVER)"
SMALLEST = "    smallest, found = ("
TAKEN = ".topk(slots, largest=False)\n    )\n"
WANTED_SLOTS = "is_wanted = torch.arange(slots, device=device) < wanted"
FOUND = "smallest < NEVER"
DRAW = "torch.randint(count, tokens.shape, generator=generator, device=tokens.device)"
WORDS = "random_words = ordinary_ids.to(tokens.dtype)[word]"
RETURNED = "return torch.where(fate < 1, random_words, torch.where(fate < 9, mask_id, tokens))"
FATE = "    fate, word = ("
FATE_AND_WORD = """\
    fate, word = (
        torch.randint(count, tokens.shape, generator=generator, device=tokens.device)
        for count in (10, len(ordinary_ids))
    )
"""


def drawn(numbers):
    """Edits: the draws `r` of all places are changed by these lines."""
    return [(SMALLEST, "    r = torch.rand(batch, seq, generator=generator, device=device)\n"
             f"    {numbers}\n" + SMALLEST), (DRAWS, "r")]  # fmt: skip


def shared(part, use):
    """Edits: one row more is drawn than there are; all but the last choose the places, and `part`
    of all comes again to the fates and words as `again`, which this line `use`s."""
    last = '    ordinary_ids: Int[Tensor, "ordinary"],\n) -> Int[Tensor, "batch slots"]:'
    return [
        (CHOSEN, "    rows, seq = input_ids.shape\n"
                 "    draws = torch.rand(rows + 1, seq, generator=generator, "
                 "device=input_ids.device)\n" + CHOSEN),
        ("        slots,\n        generator,\n", "        slots,\n        draws[:-1],\n"),
        (SHOWN, SHOWN.replace("ordinary_ids)", f"ordinary_ids, draws{part})")),
        (last, last.replace(")", "    again: Tensor,\n)")),
        (DRAWS, "generator"),
        (WORDS, f"{use}\n    {WORDS}"),
    ]  # fmt: skip


WRONG = {
    "the default device stays set": (
        [("    roomy = F.pad(input_ids, (0, 1))  # (batch, seq + 1)",
          "    torch.set_default_device(input_ids.device)\n"
          "    roomy = F.pad(input_ids, (0, 1))  # (batch, seq + 1)"),
         ("torch.arange(slots, device=device)", "torch.arange(slots)")],
        "changed torch's default device"),
    "a copy of the generator": (
        [("    roomy = F.pad(input_ids, (0, 1))  # (batch, seq + 1)",
          "    state = generator.get_state()\n"
          "    generator = torch.Generator()\n"
          "    generator.set_state(state)\n"
          "    roomy = F.pad(input_ids, (0, 1))")],
        "a copy of it was drawn from"),
    "specials are candidates": ([(CANDIDATES, "attention_mask.bool(),")], "is a candidate"),
    "special ids written in": (
        [(CANDIDATES, CANDIDATES.replace("special_ids", "torch.tensor([0, 100, 101, 102, 103])"))],
        "special_ids is not used"),
    "padding by its id alone": (
        [(CANDIDATES, "~torch.isin(input_ids, special_ids),")],
        "padding is known by its id alone"),
    "padding is a candidate": (
        [(CANDIDATES, "~torch.isin(input_ids, special_ids[1:]),")], "padding is a candidate"),
    "rate written in": ([(WANTED, WANTED.replace("rate", "0.15"))], "the rate argument is ignored"),
    "another rate by default": ([("rate: float = 0.15", "rate: float = 0.2")], None),
    "share of the candidates": (
        [(WANTED, WANTED.replace("attention_mask", "(attention_mask.bool() & ~torch.isin("
                                                   "input_ids, special_ids))"))],
        "the count is a share of the candidates"),
    "share of the whole row": (
        [(WANTED, "torch.full((len(input_ids), 1), float(max(1, round(rate * "
                  "input_ids.shape[1]))), device=input_ids.device),")],
        "the count is a share of the whole row"),
    "none in a short row": ([(WANTED, WANTED.replace(".clamp(min=1)", ""))],
                            "a short row has one mask at least"),
    "rounded down": ([(WANTED, WANTED.replace(".round()", ".floor()"))],
                     "the count is rounded down"),
    "rounded up": ([(WANTED, WANTED.replace(".round()", ".ceil()"))], "the count is rounded up"),
    "all slots used": (
        [(WANTED_SLOTS, "is_wanted = True")], "every slot that finds a candidate is used"),
    "empty slots weigh 1": (
        [(RETURN, "return shown, places * used, tokens, torch.ones_like(used).float()")],
        "every slot is used"),
    "a row always has room": (
        [(FOUND, "True")], "a row without candidates gets a mask"),
    "every token by itself": (
        [(FILLED, ".ge(0.15).logical_or(~is_candidate).mul(NEVER)"),
         (WANTED_SLOTS, "is_wanted = True")],
        "chance decides them"),
    "the first candidates": (
        [(DRAWS, "(torch.arange(seq, device=device).expand(batch, seq) / seq)")],
        "the same tokens are masked in every row"),
    "one draw for all rows": (
        [(DRAWS, "torch.rand(seq, generator=generator, device=device).expand(batch, seq)")],
        "one draw for all rows"),
    "one draw for two rows": (
        [(DRAWS, "torch.rand((batch + 1) // 2, seq, generator=generator, device=device)\n"
                 "        .repeat_interleave(2, 0)[:batch]")],
        "one draw serves several rows"),
    "a stretch of candidates": (
        [(SMALLEST,
          "    start = torch.rand(batch, 1, generator=generator, device=device)\n"
          "    rank = is_candidate.cumsum(1) - 1\n"
          "    count = is_candidate.sum(1, keepdim=True)\n"
          f"{SMALLEST}"),
         (DRAWS, "((rank - (start * count).floor()) % count.clamp(min=1) / seq)")],
        "always stand side by side"),
    "a stretch that does not wrap": (
        [(SMALLEST,
          "    rank = is_candidate.cumsum(1) - 1\n"
          "    room = (is_candidate.sum(1, keepdim=True) - wanted).clamp(min=0) + 1\n"
          "    start = torch.rand(batch, 1, generator=generator, device=device) * room\n"
          f"{SMALLEST}"),
         (DRAWS, "torch.where(rank >= start.floor(), (rank - start.floor()) / seq, 1)")],
        None),
    "a position twice": (
        [(TAKEN, f"{TAKEN}    found = found[:, :1].expand(batch, slots)\n")],
        "positions are drawn with replacement"),
    "tokens looked up too late": (
        [(RETURN, "return shown, places * used, shown.gather(1, places * used) * used, "
                  "used.float()")],
        "looked up after they were replaced"),
    "empty slots have a token": (
        [(RETURN, RETURN.replace("tokens,", "input_ids.gather(1, places * used),"))],
        "an empty slot has token 0"),
    "empty slots have a position": (
        [(RETURN, RETURN.replace("places * used", "torch.where(used, places, 1)"))],
        "an empty slot has position 0"),
    "empty slots write": (
        [(SHOWN, "used = places < input_ids.shape[1]\n"
                 "    shown = input_ids.scatter(1, places * used, disguised(tokens, generator, "
                 "mask_id, ordinary_ids))")],
        "an empty slot writes"),
    "empty slots put the original back at 0": (
        [(SHOWN, "used = places < input_ids.shape[1]\n"
                 "    old = input_ids.gather(1, places * used)\n"
                 "    new = disguised(tokens, generator, mask_id, ordinary_ids)\n"
                 "    shown = input_ids.scatter(1, places * used, torch.where(used, new, old))")],
        "an empty slot writes over position 0"),
    "weights by the token": (
        [(RETURN, RETURN.replace("used.float()", "(tokens != 0).float()"))],
        "a token of id 0 is a word"),
    "all become [MASK]": ([(RETURNED, "return torch.full_like(tokens, mask_id)")],
                          "every masked token becomes [MASK]"),
    "80/20/0": ([(RETURNED, "return torch.where(fate < 2, random_words, mask_id)")],
                "nothing is kept"),
    "80/0/20": ([(RETURNED, "return torch.where(fate < 8, mask_id, tokens)")],
                "nothing is random"),
    "80/2/18": (
        [(FATE, f"    again = {DRAW.replace('count', '10')}\n{FATE}"),
         (RETURNED, "shown = torch.where(again < 1, random_words, tokens)\n"
                    "    return torch.where(fate < 8, mask_id, shown)")],
        "only a tenth became random"),
    "random over [MASK]": (
        [(FATE, f"    again = {DRAW.replace('count', '10')}\n{FATE}"),
         (RETURNED, "shown = torch.where(fate < 8, mask_id, tokens)\n"
                    "    return torch.where(again < 1, random_words, shown)")],
        "a random word is drawn over [MASK]"),
    "half masked": ([("in (10, len", "in (4, len"), (RETURNED, RETURNED.replace("9", "3"))],
                    "half of them are [MASK]"),
    "75/15/10": (
        [("in (10, len", "in (20, len"),
         (RETURNED, RETURNED.replace("9", "18").replace("< 1,", "< 3,"))], None),
    "fates in order": (
        [(WORDS, "fate = torch.arange(fate.numel(), device=fate.device).view(fate.shape)\n"
                 f"    fate = fate * 10 // fate.numel()\n    {WORDS}")],
        "do not depend on the generator"),
    "fates by slot": (
        [(WORDS, "fate = torch.arange(fate.numel(), device=fate.device).view(fate.shape) % 10\n"
                 f"    {WORDS}")],
        "do not depend on the generator"),
    "one fate for a row": (
        [(WORDS, f"fate = fate[:, :1].expand_as(fate)\n    {WORDS}")],
        "one draw decides for all tokens of a row"),
    "one fate for a column": (
        [(WORDS, f"fate = fate[:1].expand_as(fate)\n    {WORDS}")],
        "one draw decides for all tokens of a column"),
    "one fate for two": (
        [(WORDS, f"fate = fate[:, torch.arange(fate.shape[1]) // 2]\n    {WORDS}")], None),
    "8 of 10 in each row": (
        [(WORDS, "order = torch.rand(fate.shape, generator=generator, device=fate.device)\n"
                 "    order = order.masked_fill(tokens == 0, 2)\n"
                 f"    fate = order.argsort(1).argsort(1) % 10\n    {WORDS}")],
        "80% is a probability, not a count"),
    "80% of the whole batch": (
        [(WORDS, "order = torch.rand(fate.shape, generator=generator, device=fate.device)\n"
                 "    order = order.masked_fill(tokens == 0, 2).flatten()\n"
                 "    share = order.argsort().argsort() / (tokens != 0).sum()\n"
                 f"    fate = (share * 10).floor().view(fate.shape)\n    {WORDS}")],
        "dealt out evenly"),
    "words of all ids": ([(WORDS, "random_words = (word * 1999 // len(ordinary_ids)).to(tokens)")],
                         "ordinary_ids is not used"),
    "half of the words": ([(WORDS, WORDS.replace("[word]", "[word // 2]"))],
                          "these words are never drawn"),
    "never the last word": (
        [(WORDS, WORDS.replace("[word]", "[word % (len(ordinary_ids) - 1)]"))],
        "these words are never drawn"),
    "never the first word": (
        [(WORDS, WORDS.replace("[word]", "[word.clamp(min=1)]"))], "these words are never drawn"),
    "one word for all": ([(WORDS, WORDS.replace("[word]", "[word[0, 0]]"))],
                         "one random word is drawn for all"),
    "one word for a row": ([(WORDS, WORDS.replace("[word]", "[word[:, :1]]"))],
                           "one random word is drawn for each row"),
    "one word for a column": ([(WORDS, WORDS.replace("[word]", "[word[:1]]"))],
                              "one random word is drawn for each column"),
    "words of its own seed": (
        [(WORDS, "own = torch.Generator().manual_seed(0)\n"
                 "    word = torch.randint(len(ordinary_ids), word.shape, generator=own, "
                 f"device=word.device)\n    {WORDS}")],
        "random words do not depend on the generator"),
    "id of [MASK] written in": ([(RETURNED, RETURNED.replace("mask_id", "103"))],
                                "mask_id is ignored"),
    "the global generator": (
        [(DRAWS, "torch.rand(batch, seq, device=device)")],
        "a draw does not come from the generator"),
    "fates from the global generator": (
        [(DRAW, DRAW.replace("generator=generator, ", ""))],
        "a draw does not come from the generator"),
    "its own seed": (
        [(SMALLEST, f"    generator.manual_seed(0)\n{SMALLEST}")],
        "positions do not depend on the generator"),
    "its own seed for the fates": (
        [(FATE, f"    generator = torch.Generator().manual_seed(0)\n{FATE}")],
        "places of [MASK] among the slots do not depend on the generator"),
    "a count asked for by .item()": (
        [(TOKENS, f"{TOKENS}\n    most = int((places < input_ids.shape[1]).sum(1).max().item())")],
        "this line asks a tensor for its values"),
    "a count asked for by int": (
        [(TOKENS, f"{TOKENS}\n    most = int(attention_mask.sum(1).max())")],
        "this line asks a tensor for its values"),
    "if there is any": (
        [(CHOSEN, "    if not attention_mask.any():\n"
                  "        slots = max(1, slots)\n" + CHOSEN)],
        "this line asks a tensor for its values"),
    "a number as a list": (
        [(TOKENS, f"{TOKENS}\n    lengths = attention_mask.sum(1).tolist()")],
        "this line asks a tensor for its values"),
    "nonzero": ([(TOKENS, f"{TOKENS}\n    rows = places.nonzero()")],
                "this line makes a tensor whose size depends on values"),
    "where with one argument": (
        [(TOKENS, f"{TOKENS}\n    rows, _ = torch.where(places > 0)")],
        "this line makes a tensor whose size depends on values"),
    "a boolean index": (
        [(RETURNED, "shown = torch.where(fate < 9, mask_id, tokens)\n"
                    "    shown[fate < 1] = random_words[fate < 1]\n    return shown")],
        "this line makes a tensor whose size depends on values"),
    "draws on the CPU": ([(DRAWS, "torch.rand(batch, seq, generator=generator)")],
                         "a new tensor was made on the CPU"),
    "numbers of slots on the CPU": ([(WANTED_SLOTS, WANTED_SLOTS.replace(", device=device", ""))],
                                    "a new tensor was made on the CPU"),
    "weights on the CPU": (
        [(RETURN, RETURN.replace("used.float()", "torch.zeros(used.shape) if used.is_meta else "
                                                 "used.float()"))],
        "this tensor was made on the CPU"),
    "a loop over the rows": (
        [(SHOWN, "new = disguised(tokens, generator, mask_id, ordinary_ids)\n"
                 "    shown = torch.stack([roomy[i].scatter(0, places[i], new[i])[:-1] "
                 "for i in range(len(roomy))])")],
        "a Python loop over the rows"),
    "a loop over the tokens": (
        [(CHOSEN, "    known = torch.stack([torch.isin(column, special_ids) for column in "
                  "input_ids.T], 1)\n" + CHOSEN),
         (CANDIDATES, "attention_mask.bool() & ~known,")],
        "a Python loop over the tokens"),
    "in place": (
        [(SHOWN, "used = places < input_ids.shape[1]\n"
                 "    old = input_ids.gather(1, places * used)\n"
                 "    new = disguised(tokens, generator, mask_id, ordinary_ids)\n"
                 "    input_ids += torch.zeros_like(roomy).scatter(1, places, new - tokens)[:, :-1]"
                 "\n    shown = input_ids")],
        "changed its input in place"),
    "always int64": (
        [("roomy = F.pad(input_ids, (0, 1))", "roomy = F.pad(input_ids.long(), (0, 1))")],
        "the wrong type"),
    "whole numbers as weights": ([(RETURN, RETURN.replace("used.float()", "used.long()"))],
                                 "the wrong type"),
    "no weights returned": ([(RETURN, RETURN.replace(", used.float()", ""))],
                            "expected a tuple of 4 values"),
    "random word is never the original": (
        [("random_words = ordinary_ids.to(tokens.dtype)[word]",
          "random_words = ordinary_ids.to(tokens.dtype)[word]\n    random_words = torch.where"
          "(random_words == tokens, ordinary_ids.to(tokens.dtype)[(word + 1) % len(ordinary_i"
          "ds)], random_words)")],
        "a random word is never the word itself",
    ),
    "position 0 never masked": (
        [("attention_mask.bool() & ~torch.isin(input_ids, special_ids),",
          "attention_mask.bool() & ~torch.isin(input_ids, special_ids) & (torch.arange(input_"
          "ids.shape[1], device=input_ids.device) > 0),")],
        "position 0 is never masked",
    ),
    "a [MASK] in the text is no candidate": (
        [("~torch.isin(input_ids, special_ids),",
          "~torch.isin(input_ids, special_ids) & (input_ids != mask_id),")],
        "a token that is mask_id already is a candidate",
    ),
    "rounded to 256ths": (
        [("        torch.rand(batch, seq, generator=generator, device=device)  # in [0, 1)\n    "
           "    .masked",
           "        (torch.rand(batch, seq, generator=generator, device=device) * 256).floor().di"
           "v(256)\n        .masked")],
        "the draws are coarse"),
    "one of a hundred numbers": (
        [("        torch.rand(batch, seq, generator=generator, device=device)  # in [0, 1)\n    "
           "    .masked",
           "        (torch.randint(0, 100, (batch, seq), generator=generator, device=device) / 10"
           "0)\n        .masked")],
        "the draws are coarse"),
    "the generator begins anew": (
        [("    roomy = F.pad(input_ids, (0, 1))",
           "    generator.manual_seed(generator.initial_seed())\n    roomy = F.pad(input_ids, (0,"
           " 1))")],
        "it is seeded anew"),
    "places of 8 bits": (
        [("    tokens = roomy.gather(1, places)",
           "    places = torch.where(places == input_ids.shape[1], places, places.to(torch.uint8)"
           ".long())\n    tokens = roomy.gather(1, places)")],
        "positions are kept in too few bits"),
    # Right for small inputs, and for draws that are counted coarsely.
    "word 15 bits": (
        [("    random_words = ordinary_ids.to(tokens.dtype)[word]",
          "    word = torch.randint(2**15, tokens.shape, generator=generator, device=tokens"
          ".device) % len(ordinary_ids)\n    random_words = ordinary_ids.to(tokens.dtype)[word]")],
        "the share of the first third of 98,304"),
    "empty slots write to the last place": (
        [
            ("    roomy = F.pad(input_ids, (0, 1))  # (batch, seq + 1)\n",
             "    roomy = input_ids\n"
             "    last = input_ids.shape[1] - 1\n"),
            ("    tokens = roomy.gather(1, places)\n"
             "    shown = roomy.scatter(1, places, disguised(tokens, generator, mask_id, "
             "ordinary_ids))[:, :-1]\n"
             "    used = places < input_ids.shape[1]\n"
             "    return shown, places * used, tokens, used.float()",
             "    used = places <= last\n"
             "    places = places.clamp(max=last)\n"
             "    tokens = roomy.gather(1, places)\n"
             "    new = torch.where(used, disguised(tokens, generator, mask_id, "
             "ordinary_ids), tokens)\n"
             "    shown = roomy.scatter(1, places, new)\n"
             "    return shown, places * used, tokens * used, used.float()"),
        ],
        "an empty slot writes over this place",
    ),
    "the rate as a whole percentage": (
        [
            ("        (attention_mask.sum(dim=1, keepdim=True) * "
             "rate).round().clamp(min=1),",
             "        ((attention_mask.sum(dim=1, keepdim=True) * round(rate * 100) + "
             "50) // 100).clamp(min=1),"),
        ],
        "whole percentage",
    ),
    "counts in bfloat16": (
        [
            ("(attention_mask.sum(dim=1, keepdim=True) * rate).round()",
             "((attention_mask.sum(dim=1, keepdim=True).to(torch.bfloat16) * "
             "rate).float()).round()"),
        ],
        None,
    ),
    "tokens counted in the type of the mask": (
        [
            ("attention_mask.bool() & ~torch.isin",
             "(attention_mask > 0) & ~torch.isin"),
            ("(attention_mask.sum(dim=1, keepdim=True) * rate)",
             "(attention_mask.sum(dim=1, keepdim=True, dtype=attention_mask.dtype) * rate)"),
        ],
        None,
    ),
    "a row ends at its last token, holes count": (
        [
            (
                "(attention_mask.sum(dim=1, keepdim=True) * rate)",
                "(((attention_mask != 0) * torch.arange(1, input_ids.shape[1] + 1, "
                "device=input_ids.device)).amax(1, keepdim=True) * rate)",
            ),
        ],
        None,
    ),
    "equal words of a row share one fate": (
        [
            ("        for count in (10, len(ordinary_ids))\n    )\n",
             "        for count in (10, len(ordinary_ids))\n    )\n"
             "    fate = fate.gather(1, (tokens[:, :, None] == tokens[:, None, :])"
             ".int().argmax(-1))\n"),
        ],
        "share one fate",
    ),
    "written into a copy where ids lie by columns": (
        [
            ("    shown = roomy.scatter(1, places, disguised(tokens, generator, mask_id, "
             "ordinary_ids))[:, :-1]\n"
             "    used = places < input_ids.shape[1]\n",
             "    batch, seq = input_ids.shape\n"
             "    used = places < seq\n"
             "    starts = torch.arange(batch, device=input_ids.device)[:, None] * seq\n"
             "    # An empty slot adds 0 to the first token of its row.\n"
             "    change = (disguised(tokens, generator, mask_id, ordinary_ids) - tokens) "
             "* used\n"
             "    shown = input_ids.clone()\n"
             "    shown.reshape(-1).scatter_add_(\n"
             "        0, (starts + places * used).reshape(-1), "
             "change.to(shown.dtype).reshape(-1)\n"
             "    )\n"),
        ],
        "an empty slot writes over this place",
    ),
    "ordinary_ids are kept by their number": (
        [
            ("    random_words = ordinary_ids.to(tokens.dtype)[word]\n",
             "    key = tokens.device, tokens.dtype, len(ordinary_ids)\n"
             "    random_words = MOVED.setdefault(key, ordinary_ids.to(tokens))[word]\n"),
            ("NEVER = 2.0",
             "MOVED = {}  # to the device once, not in every step\n"
             "NEVER = 2.0"),
        ],
        "ordinary_ids are kept from an earlier call",
    ),
    "the fates of half the batch are mirrored": (
        [
            ("    fate, word = (\n"
             "        torch.randint(count, tokens.shape, generator=generator, device=tok"
             "ens.device)\n"
             "        for count in (10, len(ordinary_ids))\n"
             "    )\n",
             "    half = torch.rand((tokens.numel() + 1) // 2, generator=generator, devi"
             "ce=tokens.device)\n"
             "    fate = (torch.cat([half, 1 - half])[: tokens.numel()].view(tokens.shap"
             "e) * 10).long()\n"
             "    word = torch.randint(\n"
             "        len(ordinary_ids), tokens.shape, generator=generator, device=token"
             "s.device\n"
             "    )\n"),
        ],
        "masks that show [MASK], in the order of their slots",
    ),
    "both halves of the batch have the same fates": (
        [
            ("    fate, word = (\n"
             "        torch.randint(count, tokens.shape, generator=generator, device=tok"
             "ens.device)\n"
             "        for count in (10, len(ordinary_ids))\n"
             "    )\n",
             "    half = torch.rand((tokens.numel() + 1) // 2, generator=generator, devi"
             "ce=tokens.device)\n"
             "    fate = (torch.cat([half, half])[: tokens.numel()].view(tokens.shape) *"
             " 10).long()\n"
             "    word = torch.randint(\n"
             "        len(ordinary_ids), tokens.shape, generator=generator, device=token"
             "s.device\n"
             "    )\n"),
        ],
        "masks that show [MASK], in the order of their slots",
    ),
    "the last rows have the draws of the first, mirrored": (
        [
            ("        torch.rand(batch, seq, generator=generator, device=device)  # in ["
             "0, 1)\n",
             "        torch.cat([half, 1 - half.flip(0)])[:batch]\n"),
            ("    smallest, found = (\n",
             "    half = torch.rand((batch + 1) // 2, seq, generator=generator, device=d"
             "evice)\n"
             "    smallest, found = (\n"),
        ],
        "rows of which position 1 is masked",
    ),
    "the random words of half the batch are mirrored": (
        [
            ("    fate, word = (\n"
             "        torch.randint(count, tokens.shape, generator=generator, device=tok"
             "ens.device)\n"
             "        for count in (10, len(ordinary_ids))\n"
             "    )\n",
             "    fate = torch.randint(10, tokens.shape, generator=generator, device=tok"
             "ens.device)\n"
             "    count, half = len(ordinary_ids), (tokens.numel() + 1) // 2\n"
             "    half = torch.randint(count, (half,), generator=generator, device=token"
             "s.device)\n"
             "    word = torch.cat([half, count - 1 - half])[: tokens.numel()].view(toke"
             "ns.shape)\n"),
        ],
        "the random words, each with another",
    ),
    "isin with assume_unique": (
        [
            ("        attention_mask.bool() & ~torch.isin(input_ids, special_ids),\n",
             "        attention_mask.bool() & ~torch.isin(input_ids, special_ids, "
             "assume_unique=True),\n"),
        ],
        "words are lost that come twice",
    ),
    "fates of a shuffled deck for all places": (
        [
            (
                "disguised(tokens, generator, mask_id, ordinary_ids)",
                "disguised(tokens, generator, mask_id, ordinary_ids, roomy, places)",
            ),
            (
                "    ordinary_ids: Int[Tensor, \"ordinary\"],\n"
                ") -> Int[Tensor, \"batch slots\"]:",
                "    ordinary_ids: Int[Tensor, \"ordinary\"],\n"
                "    roomy: Int[Tensor, \"batch more\"],\n"
                "    places: Int[Tensor, \"batch slots\"],\n"
                ") -> Int[Tensor, \"batch slots\"]:",
            ),
            (
                FATE_AND_WORD,
                "    device, (batch, wide) = tokens.device, roomy.shape\n"
                "    deck = torch.randperm(batch * (wide - 1), generator=generator, "
                "device=device) % 10\n"
                "    fate = F.pad(deck.view(batch, wide - 1), (0, 1)).gather(1, places)\n"
                "    word = torch.randint(len(ordinary_ids), tokens.shape, "
                "generator=generator, device=device)\n",
            ),
        ],
        "dealt out evenly",
    ),
    "a generator of its own for each call, from 1,000 seeds": (
        [
            (
                "    roomy = F.pad(input_ids, (0, 1))  # (batch, seq + 1)\n",
                "    roomy = F.pad(input_ids, (0, 1))  # (batch, seq + 1)\n"
                "    seed = int(torch.randint(1000, (), generator=generator))\n"
                "    generator = torch.Generator().manual_seed(seed)\n",
            ),
        ],
        "a generator is seeded in the call",
    ),
    "the fates from 1,000 seeds": (
        [
            (
                FATE_AND_WORD,
                "    own = torch.Generator().manual_seed(int(torch.randint(1000, (), "
                "generator=generator)))\n"
                "    fate = torch.randint(10, tokens.shape, generator=own, "
                "device=tokens.device)\n"
                "    word = torch.randint(len(ordinary_ids), tokens.shape, generator=generator,\n"
                "                         device=tokens.device)\n",
            ),
        ],
        "a generator is seeded in the call",
    ),
    "the random words from 1,000 seeds": (
        [
            (
                FATE_AND_WORD,
                "    own = torch.Generator().manual_seed(int(torch.randint(1000, (), "
                "generator=generator)))\n"
                "    fate = torch.randint(10, tokens.shape, generator=generator, "
                "device=tokens.device)\n"
                "    word = torch.randint(len(ordinary_ids), tokens.shape, generator=own,\n"
                "                         device=tokens.device)\n",
            ),
        ],
        "a generator is seeded in the call",
    ),
    "the fates from the seed of the generator": (
        [
            (
                FATE_AND_WORD,
                "    own = torch.Generator().manual_seed(generator.initial_seed())\n"
                "    fate = torch.randint(10, tokens.shape, generator=own, "
                "device=tokens.device)\n"
                "    word = torch.randint(len(ordinary_ids), tokens.shape, generator=generator,\n"
                "                         device=tokens.device)\n",
            ),
        ],
        "a generator is seeded in the call",
    ),
    "the random words from the seed of the generator": (
        [
            (
                FATE_AND_WORD,
                "    own = torch.Generator().manual_seed(generator.initial_seed())\n"
                "    fate = torch.randint(10, tokens.shape, generator=generator, "
                "device=tokens.device)\n"
                "    word = torch.randint(len(ordinary_ids), tokens.shape, generator=own,\n"
                "                         device=tokens.device)\n",
            ),
        ],
        "a generator is seeded in the call",
    ),
    "the places from the seed of the generator": (
        [
            (
                "        torch.rand(batch, seq, generator=generator, device=device)  # in [0, 1)\n",
                "        torch.rand(\n"
                "            batch, seq, device=device,\n"
                "            generator=torch.Generator().manual_seed(generator.initial_seed()))\n",
            ),
        ],
        "a generator is seeded in the call",
    ),
    "drawn on the CPU, then moved": (
        [
            (
                "torch.rand(batch, seq, generator=generator, device=device)  # in [0, 1)",
                "torch.rand(batch, seq, generator=generator).to(device)",
            ),
        ],
        "a draw is made on the CPU and moved",
    ),
    "a row in which all would be kept is changed": (
        [
            (
                "    # 0 becomes a random word, 1 to 8 [MASK], 9 stays.\n",
                "    is_kept = (fate == 9).all(dim=1, keepdim=True)\n"
                "    first = torch.where(is_kept, 1, fate[:, :1])\n"
                "    fate = torch.cat([first, fate[:, 1:]], dim=1)\n",
            ),
        ],
        "a row in which all would be kept is changed",
    ),
    "a rate of 0 is taken for the default": (
        [
            ("    roomy = F.pad(input_ids, (0, 1))  # (batch, seq + 1)\n",
             "    roomy = F.pad(input_ids, (0, 1))  # (batch, seq + 1)\n"
             "    rate = rate or 0.15\n"),
        ],
        "the rate argument is ignored",
    ),
    "a rate of 0 masks nothing": (
        [
            ("        (attention_mask.sum(dim=1, keepdim=True) * rate).round().cla"
             "mp(min=1),\n",
             "        (attention_mask.sum(dim=1, keepdim=True) * rate).round().cla"
             "mp(min=1 if rate else 0),\n"),
        ],
        "a short row has one mask at least",
    ),
    "the masks that find no slot are the last of the row": (
        [
            ("    return torch.where(is_wanted & (smallest < NEVER), found, seq)\n",
             "    most = wanted.clamp(max=seq)\n"
             "    key = smallest.sort(1).values\n"
             "    is_used = torch.arange(slots, device=device) < wanted\n"
             "    n = torch.minimum(wanted, is_candidate.sum(1, keepdim=True)).lon"
             "g().clamp(min=1)\n"
             "    order = noise.masked_fill(~is_candidate, NEVER).sort(1)\n"
             "    picked = torch.where((torch.arange(seq, device=device) < n) & (o"
             "rder.values < NEVER), order.indices, seq)\n"
             "    return picked.sort(1).values[:, :slots]\n"),
            ("    smallest, found = (\n",
             "    noise = torch.rand(batch, seq, generator=generator, device=devic"
             "e)\n"
             "    smallest, found = (\n"),
            ("        torch.rand(batch, seq, generator=generator, device=device)  "
             "# in [0, 1)\n",
             "        noise\n"),
        ],
        "the positions 1 to 6, only",
    ),
    "words are random in even rows, kept in odd ones": (
        [
            ("    random_words = ordinary_ids.to(tokens.dtype)[word]\n",
             "    fate = torch.where((fate < 1) | (fate > 8), torch.where(torch.ar"
             "ange(len(tokens), device=tokens.device)[:, None] % 2 == 0, 0, 9), fa"
             "te)\n"
             "    random_words = ordinary_ids.to(tokens.dtype)[word]\n"),
        ],
        "has other chances than the rest",
    ),
    "the first row shows [MASK] alone": (
        [
            ("    random_words = ordinary_ids.to(tokens.dtype)[word]\n",
             "    fate = torch.cat([fate[:1] * 0 + 5, fate[1:]])\n"
             "    random_words = ordinary_ids.to(tokens.dtype)[word]\n"),
        ],
        "has other chances than the rest",
    ),
    "the first slot of the first row shows [MASK]": (
        [
            ("    random_words = ordinary_ids.to(tokens.dtype)[word]\n",
             "    fate = torch.cat([fate.flatten()[:1] * 0 + 5, fate.flatten()[1:]"
             "]).view(fate.shape)\n"
             "    random_words = ordinary_ids.to(tokens.dtype)[word]\n"),
        ],
        "has other chances than the rest",
    ),
    "a batch of one row shows [MASK] alone": (
        [
            ("    random_words = ordinary_ids.to(tokens.dtype)[word]\n",
             "    if len(tokens) == 1: fate = fate * 0 + 5\n"
             "    random_words = ordinary_ids.to(tokens.dtype)[word]\n"),
        ],
        "in 1 calls, ",
    ),
    "a small batch shows [MASK] alone": (
        [
            ("    # 0 becomes a random word, 1 to 8 [MASK], 9 stays.\n",
             "    if tokens.numel() < 200: fate = fate * 0 + 5\n"
             "    # 0 becomes a random word, 1 to 8 [MASK], 9 stays.\n"),
        ],
        "in 80 calls, ",
    ),
    "in int32 nothing is kept": (
        [
            ("    # 0 becomes a random word, 1 to 8 [MASK], 9 stays.\n",
             "    if tokens.dtype == torch.int32: fate = torch.where(fate == 9, 0,"
             " fate)\n"
             "    # 0 becomes a random word, 1 to 8 [MASK], 9 stays.\n"),
        ],
        "has other chances than the rest",
    ),
    "a row of two masks shows one [MASK] at least": (
        [
            ("    random_words = ordinary_ids.to(tokens.dtype)[word]\n",
             "    used = tokens != 0\n"
             "    none = ((fate < 1) | (fate > 8) | ~used).all(1, keepdim=True) & "
             "(used.sum(1, keepdim=True) > 1)\n"
             "    fate = torch.cat([torch.where(none, 1, fate[:, :1]), fate[:, 1:]"
             "], 1)\n"
             "    random_words = ordinary_ids.to(tokens.dtype)[word]\n"),
        ],
        "a row without any [MASK] gets one",
    ),
    "the draws of a row are those of another one, moved": (
        [
            ("    smallest, found = (\n",
             "    line = torch.rand(3 * batch + seq, generator=generator, device=d"
             "evice)\n"
             "    line = line.unfold(0, seq, 3)[:batch]\n"
             "    smallest, found = (\n"),
            ("        torch.rand(batch, seq, generator=generator, device=device)  "
             "# in [0, 1)\n",
             "        line\n"),
        ],
        "at other places",
    ),
    "a batch of one draws from the global generator": (
        [
            ("        torch.rand(batch, seq, generator=generator, device=device)  "
             "# in [0, 1)\n",
             "        torch.rand(batch, seq, generator=generator if batch > 1 else"
             " None, device=device)\n"),
        ],
        "a draw does not come from the generator",
    ),
    "a value is asked for where every token has a slot": (
        [
            ("    roomy = F.pad(input_ids, (0, 1))  # (batch, seq + 1)\n",
             "    roomy = F.pad(input_ids, (0, 1))  # (batch, seq + 1)\n"
             "    if slots == input_ids.shape[1]: slots = max(slots, int(attention"
             "_mask.sum(1).max()))\n"),
        ],
        "this line asks a tensor for its values",
    ),
    "a value is asked for in a large batch": (
        [
            ("    roomy = F.pad(input_ids, (0, 1))  # (batch, seq + 1)\n",
             "    roomy = F.pad(input_ids, (0, 1))  # (batch, seq + 1)\n"
             "    if len(input_ids) > 64: attention_mask.sum().item()\n"),
        ],
        "this line asks a tensor for its values",
    ),
    "a loop over stretches of 128 tokens": (
        [
            ("    smallest, found = (\n",
             "    noise = []\n"
             "    for start in range(0, seq, 128):\n"
             "        noise.append(torch.rand(batch, min(128, seq - start), genera"
             "tor=generator, device=device))\n"
             "    noise = torch.cat(noise, 1)\n"
             "    smallest, found = (\n"),
            ("        torch.rand(batch, seq, generator=generator, device=device)  "
             "# in [0, 1)\n",
             "        noise\n"),
        ],
        "a Python loop over the tokens",
    ),
    "the tokens pass through float32": (
        [
            ("    tokens = roomy.gather(1, places)\n",
             "    tokens = roomy.float().gather(1, places).to(input_ids.dtype)\n"),
        ],
        "the tokens of",
    ),
    "int16 becomes int32": (
        [
            ("    return shown, places * used, tokens, used.float()\n",
             "    wide = torch.promote_types(torch.int32, input_ids.dtype)\n"
             "    return shown.to(wide), places * used, tokens.to(wide), used.floa"
             "t()\n"),
        ],
        "the wrong type",
    ),
    "the words of a row are drawn without replacement": (
        [
            ("    fate, word = (\n"
             "        torch.randint(count, tokens.shape, generator=generator, devi"
             "ce=tokens.device)\n"
             "        for count in (10, len(ordinary_ids))\n"
             "    )\n",
             "    fate = torch.randint(10, tokens.shape, generator=generator, devi"
             "ce=tokens.device)\n"
             "    word = torch.randint(len(ordinary_ids), tokens.shape, generator="
             "generator, device=tokens.device)\n"
             "    if 200 >= len(ordinary_ids) >= tokens.shape[1]:\n"
             "        word = torch.rand(len(tokens), len(ordinary_ids), generator="
             "generator, device=tokens.device).argsort(1)[:, :tokens.shape[1]]\n"),
        ],
        "drawn without replacement",
    ),
    "no random word is a special id": (
        [
            ("    tokens = roomy.gather(1, places)\n",
             "    tokens = roomy.gather(1, places)\n"
             "    ordinary_ids = torch.where(torch.isin(ordinary_ids, special_ids)"
             ", mask_id, ordinary_ids)\n"),
        ],
        "a special id is never drawn",
    ),
    "the remainder of 19 bits": (
        [
            ("    fate, word = (\n"
             "        torch.randint(count, tokens.shape, generator=generator, devi"
             "ce=tokens.device)\n"
             "        for count in (10, len(ordinary_ids))\n"
             "    )\n",
             "    fate = torch.randint(10, tokens.shape, generator=generator, devi"
             "ce=tokens.device)\n"
             "    word = torch.randint(2**19, tokens.shape, generator=generator, d"
             "evice=tokens.device) % len(ordinary_ids)\n"),
        ],
        "the remainder of a draw of a few bits",
    ),
    "random words are even in even slots": (
        [
            ("    random_words = ordinary_ids.to(tokens.dtype)[word]\n",
             "    if len(ordinary_ids) % 2 == 0: word = word // 2 * 2 + torch.aran"
             "ge(tokens.shape[1], device=tokens.device) % 2\n"
             "    random_words = ordinary_ids.to(tokens.dtype)[word]\n"),
        ],
        "random word of 120 in a column of slots",
    ),
    "255 masks at most": (
        [
            ("        (attention_mask.sum(dim=1, keepdim=True) * rate).round().cla"
             "mp(min=1),\n",
             "        (attention_mask.sum(dim=1, keepdim=True) * rate).round().cla"
             "mp(min=1, max=255),\n"),
        ],
        None,
    ),
    "what is [MASK] in the text stays": (
        [
            ("    return shown, places * used, tokens, used.float()\n",
             "    shown = torch.where(input_ids == mask_id, input_ids, shown)\n"
             "    return shown, places * used, tokens, used.float()\n"),
        ],
        "it never becomes a random word",
    ),
    "of two candidates the first": (
        [
            ("    smallest, found = (\n",
             "    few = is_candidate.sum(1, keepdim=True) == 2\n"
             "    smallest, found = (\n"),
            ("        torch.rand(batch, seq, generator=generator, device=device)  "
             "# in [0, 1)\n",
             "        torch.where(few, torch.arange(seq, device=device) / seq, tor"
             "ch.rand(batch, seq, generator=generator, device=device))\n"),
        ],
        "has other chances than the rest",
    ),
    "one draw for all rows, where every token has a slot": (
        [
            ("    smallest, found = (\n",
             "    noise = torch.rand(batch, seq, generator=generator, device=devic"
             "e)\n"
             "    if slots == seq: noise = noise[:1].expand(batch, seq)\n"
             "    smallest, found = (\n"),
            ("        torch.rand(batch, seq, generator=generator, device=device)  "
             "# in [0, 1)\n",
             "        noise\n"),
        ],
        None,
    ),
    "special tokens erased from a mask of bytes": (
        [
            (
                '    places = choose(\n'
                '        attention_mask.bool() & ~torch.isin(input_ids, special_ids),\n'
                '        (attention_mask.sum(dim=1, keepdim=True) * rate).round().clamp(min=1),\n',
                '    wanted = (attention_mask.sum(dim=1, keepdim=True) * rate).round()'
                '.clamp(min=1)\n'
                '    free = attention_mask.to(torch.int8)\n'
                '    free *= ~torch.isin(input_ids, special_ids)\n'
                '    places = choose(\n'
                '        free.bool(),\n'
                '        wanted,\n',
            ),
        ],
        None,
    ),
    "in int8 nothing is kept": (
        [(RETURNED, "fate = fate.clamp(max=8) if tokens.dtype == torch.int8 else fate\n"
                    "    " + RETURNED)],
        None),
    "of three masks the last has the fate of the first": (
        [(RETURNED, "if tokens.shape[1] == 3:\n"
                    "        fate = torch.cat([fate[:, :2], fate[:, :1]], 1)\n"
                    "    " + RETURNED)],
        "they share their draws"),
    "special_ids that stand twice are candidates": (
        [(CANDIDATES, "attention_mask.bool() & ((input_ids[..., None] == special_ids).sum(-1) != "
                      "1),")],
        None),
    "a rate that is a whole number is a percentage": (
        [(WANTED, WANTED.replace("* rate", "* (rate / 100 if isinstance(rate, int) else rate)"))],
        None),
    "a random word that is mask_id is not shown": (
        [(RETURNED, "random_words = torch.where(random_words == mask_id, tokens, random_words)\n"
                    "    " + RETURNED)],
        "a random word that is mask_id is not shown"),
    "draws spread evenly over the rows": (
        drawn("within = torch.rand(batch, seq, generator=generator, device=device)\n"
              "    r = (r.argsort(0) + within) / batch"),
        "more evenly than by chance"),
    "two rows have opposite draws": (
        drawn("r = torch.cat([r[:1], 1 - r[:1]]) if batch == 2 else r"),
        "a row is drawn by what was drawn for another one"),
    "rows of a small batch avoid each other's places": (
        drawn("within = torch.rand(batch, seq, generator=generator, device=device)\n"
              "    r = (r.argsort(0) + within) / batch if batch < 8 else r"),
        "a row is drawn by what was drawn for another one"),
    "the first of two equal rows has the draws of the second": (
        drawn("is_equal = (is_candidate[:-1] == is_candidate[1:]).all(1, keepdim=True)\n"
              "    r = torch.cat([torch.where(is_equal, r[1:], r[:-1]), r[-1:]])"),
        "both rows have the same draws"),
    "fates dealt like cards": (
        [(WORDS, "n, device = fate.numel(), fate.device\n"
                 "    deck = torch.rand(n, generator=generator, device=device)\n"
                 "    first = torch.randint(10, (1,), generator=generator, device=device)\n"
                 "    fate = ((deck.argsort() + first) % 10).view(fate.shape)\n    " + WORDS)],
        None),
    "fates are a number of the row and one of the slot": (
        [(WORDS, "fate = (fate[:1] + fate[:, :1]) % 10\n    " + WORDS)], None),
    "random words are a number of the row and one of the slot": (
        [(WORDS, "word = (word[:1] + word[:, :1]) % len(ordinary_ids)\n    " + WORDS)],
        "a draw for each row is added"),
    "random words of 16 bits, scaled to their number": (
        [(FATE_AND_WORD,
          FATE_AND_WORD.replace("len(ordinary_ids)", "1 << 16")
          + "    word = word * len(ordinary_ids) >> 16\n")],
        "the draws are too coarse"),
    "random words of 18 bits, scaled to their number": (
        [(FATE_AND_WORD,
          FATE_AND_WORD.replace("len(ordinary_ids)", "1 << 18")
          + "    word = word * len(ordinary_ids) >> 18\n")],
        "the draws are too coarse"),
    "a row has its random words by the draws of the row below": (
        shared("[1:, :slots]", "word = (again * len(ordinary_ids)).long()"),
        "these go together more, or less, than by chance"),
    "a row has its random words by the draws of the row below, backwards": (
        shared("[1:, :slots].flip(1)", "word = (again * len(ordinary_ids)).long()"),
        "these go together more, or less, than by chance"),
    "a row has its fates by the draws of the row below": (
        shared("[1:, :slots]", "fate = (again * 10).long()"),
        "these go together more, or less, than by chance"),
    "a byte decides the fate": (
        [("(10, len(ordinary_ids))",
          "(256, len(ordinary_ids))"),
         ("    return torch.where(fate < 1, random_words, torch.where(fate < "
          "9, mask_id, tokens))",
          "    return torch.where(fate < 26, random_words, torch.where(fate "
          "< 231, mask_id, tokens))")],
        "the draws are too coarse"),
    "fates and words of a pool of 65,536 draws": (
        [("torch.randint(count, tokens.shape, generator=generator, "
          "device=tokens.device)",
          "torch.randint(count, (min(tokens.numel(), 1 << 16),), "
          "generator=generator, "
          "device=tokens.device)[torch.arange(tokens.numel(), "
          "device=tokens.device) % (1 << 16)].view(tokens.shape)")],
        "draws are used twice"),
    "fates and words repeat after 256 slots": (
        [("torch.randint(count, tokens.shape, generator=generator, "
          "device=tokens.device)",
          "torch.randint(count, (len(tokens), 256), generator=generator, "
          "device=tokens.device)[:, torch.arange(tokens.shape[1], "
          "device=tokens.device) % 256]")],
        "draws are used twice"),
    "long rows are masked in strata of 128 places": (
        [("    smallest, found = (\n"
          "        torch.rand(batch, seq, generator=generator, "
          "device=device)  # in [0, 1)",
          "    wide = F.pad(is_candidate, (0, -seq % 128)).view(batch, -1, "
          "128)\n"
          "    draws = torch.rand(wide.shape, generator=generator, "
          "device=device).masked_fill(~wide, NEVER)\n"
          "    rank = draws.argsort(-1).argsort(-1) + torch.rand(wide.shape, "
          "generator=generator, device=device)\n"
          "    draws = rank / wide.sum(-1, keepdim=True).clamp(min=1)\n"
          "    smallest, found = (\n"
          "        draws.view(batch, -1)[:, :seq]")],
        "the masks are spread over a row"),
    "special ids are compared by their last 16 bits": (
        [("attention_mask.bool() & ~torch.isin(input_ids, special_ids)",
          "attention_mask.bool() & ~torch.isin(input_ids.to(torch.int16), "
          "special_ids.to(torch.int16))")],
        "kept in too few bits"),
    "the fate is the fourth digit of the draw that chose the place": (
        [("    places = choose(\n",
          "    places, draws = choose(\n"),
         ("disguised(tokens, generator, mask_id, ordinary_ids)",
          "disguised(tokens, generator, mask_id, ordinary_ids, draws)"),
         ("found, seq)\n",
          "found, seq), smallest\n"),
         ("    ordinary_ids: Int[Tensor, \"ordinary\"],\n"
          ") -> Int[Tensor, \"batch slots\"]:",
          "    ordinary_ids: Int[Tensor, \"ordinary\"],\n"
          "    draws: Float[Tensor, \"batch slots\"],\n"
          ") -> Int[Tensor, \"batch slots\"]:"),
         ("    random_words = ",
          "    fate = (draws * 10_000).long() % 10\n"
          "    random_words = ")],
        "the draw that chose the place"),
    "fates are dealt to a thousand slots at a time": (
        [("    # 0 becomes a random word,",
          "    flat = fate.flatten()\n"
          "    whole = len(flat) // 1000 * 1000\n"
          "    decks = torch.rand(whole // 1000, 1000, generator=generator, "
          "device=tokens.device)\n"
          "    decks = decks.argsort(1) % 10\n"
          "    fate = torch.cat([decks.flatten(), flat[whole:]]).view(fate.shape)\n"
          "    # 0 becomes a random word,")],
        "dealt out evenly"),
    "a batch without any [MASK] shows [MASK] alone": (
        [("    # 0 becomes a random word,",
          "    is_mask = (fate >= 1) & (fate < 9) & (places < seq)\n"
          "    fate = torch.where(is_mask.sum() == 0, 5, fate)\n"
          "    # 0 becomes a random word,"),
         ("    tokens: Int[Tensor, \"batch slots\"],\n",
          "    tokens: Int[Tensor, \"batch slots\"],\n"
          "    places: Int[Tensor, \"batch slots\"],\n"
          "    seq: int,\n"),
         ("disguised(tokens, generator",
          "disguised(tokens, places, input_ids.shape[1], generator")],
        "a batch without any [MASK] gets one"),
    "the smallest draws are found in 256 rows at a time": (
        [("    smallest, found = (\n"
          "        torch.rand(batch, seq, generator=generator, device=device)  # "
          "in [0, 1)\n"
          "        .masked_fill(~is_candidate, NEVER)\n"
          "        .topk(slots, largest=False)\n"
          "    )\n",
          "    draws = torch.rand(batch, seq, generator=generator, device=device)\n"
          "    draws = draws.masked_fill(~is_candidate, NEVER)\n"
          "    parts = [part.topk(slots, largest=False) for part in draws.split(256)]\n"
          "    smallest, found = map(torch.cat, zip(*parts))\n")],
        "a Python loop over the rows"),
    "the fate of a third token is made of those of two": (
        [("    # 0 becomes a random word,",
          "    u = torch.rand(tokens.shape, generator=generator, "
          "device=tokens.device)\n"
          "    third = u[:, 2::3].shape[1]\n"
          "    u[:, 2::3] = (u[:, 0::3][:, :third] + u[:, 1::3][:, :third]) % 1\n"
          "    fate = (u * 10).long()\n"
          "    # 0 becomes a random word,")],
        "a draw is made of two others"),
    "the draws of a third row are made of those of two": (
        [("    (batch, seq), device = is_candidate.shape, is_candidate.device\n",
          "    (batch, seq), device = is_candidate.shape, is_candidate.device\n"
          "    draws = torch.rand(batch, seq, generator=generator, device=device)\n"
          "    third = len(draws[2::3])\n"
          "    draws[2::3] = (draws[0::3][:third] + draws[1::3][:third]) % 1\n"),
         ("        torch.rand(batch, seq, generator=generator, device=device)  # "
          "in [0, 1)\n",
          "        draws\n")],
        "a draw is made of two others"),
    "two rows show [MASK] equally often": (
        [("    # 0 becomes a random word,",
          "    half = fate[0::2][: len(fate) // 2]\n"
          "    order = torch.rand(half.shape, generator=generator, "
          "device=tokens.device).argsort(1)\n"
          "    fate[1::2] = half.gather(1, order)\n"
          "    # 0 becomes a random word,")],
        None),
    "draws of rows add up from those of lines and columns": (
        [
            (
                'for."""\n',
                'for."""\n'
                "\n"
                "import math\n",
            ),
            (
                "    (batch, seq), device = is_candidate.shape, is_candidate.device\n",
                "    (batch, seq), device = is_candidate.shape, is_candidate.device\n"
                "    # A draw for every place of every row is more than is needed: with a "
                "and b uniform, the fraction\n"
                "    # of a + b is uniform too. So rows stand in a square, and each adds "
                "its line's and column's draws.\n"
                "    side = math.isqrt(max(batch - 1, 0)) + 1\n"
                "    lines, columns = torch.rand(2, side, seq, generator=generator, "
                "device=device)\n"
                "    number = torch.arange(batch, device=device)\n"
                "    draws = (lines[number // side] + columns[number % side]) % 1.0\n",
            ),
            (
                "        torch.rand(batch, seq, generator=generator, device=device)  # in "
                "[0, 1)\n",
                "        draws  # in [0, 1)\n",
            ),
        ],
        "the draws of a row are made of others",
    ),
}  # fmt: skip
