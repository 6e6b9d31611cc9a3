"""Wrong answers to 24_frozen_features, as edits of the solution, and the words that name each."""

LAST = 'if feature == "last":\n        return [layers]'
FIRST = 'first = 1 if feature.endswith("-all") else max(1, layers - 3)'
RANGE = "return list(range(first, layers + 1))"
PLACES = "places = starts.clamp(min=0)[:, :, None].expand(-1, -1, states.shape[-1])"
WHERE = "return torch.where(is_word[:, :, None], states.gather(1, places), 0.0)"
READ = "read = layers_of(feature, len(hidden_states) - 1)"
VECTORS = ("vectors = torch.stack([first_pieces(hidden_states[i].detach(), starts) for i in read], "
           "dim=2)")  # fmt: skip
FLAT = "return vectors.flatten(2)"
SHARES = 'shares = mix["scale"] * mix["weights"].softmax(dim=0)'
WEIGHTED = "return (vectors * shares[:, None]).sum(dim=2)"
SUM = "return vectors.sum(dim=2)"


def piece(line):
    """Other places in the sequence."""
    return [(PLACES, f"{line}\n    {PLACES}")]


WRONG = {
    "one layer too low": (
        [(LAST, LAST.replace("[layers]", "[layers - 1]")),
         ("return [layers - 1]\n    first", "return [layers - 2]\n    first"),
         (FIRST, FIRST.replace("1 if", "0 if").replace("max(1, layers - 3)",
                                                      "max(1, layers - 3) - 1")),
         (RANGE, RANGE.replace("layers + 1", "layers"))], "for number layers - 1"),
    "embeddings among all": ([(FIRST, FIRST.replace("1 if", "0 if"))],
                             "the embeddings are among all"),
    "five layers": ([(FIRST, FIRST.replace("layers - 3", "layers - 4"))], "five layers, not four"),
    "three layers": ([(FIRST, FIRST.replace("layers - 3", "layers - 2"))],
                     "three layers, not four"),
    "falling order": ([(RANGE, "return list(range(layers, first - 1, -1))")], "in falling order"),
    "embeddings among the last four": (
        [(FIRST, FIRST.replace("max(1, layers - 3)", "max(0, layers - 3)"))],
        "the last four hold the embeddings"),
    "places from the end": ([(LAST, LAST.replace("[layers]", "[-1]"))], "places below 0"),
    "always 12 layers": ([(LAST, LAST.replace("[layers]", "[12]"))], "there are always 12"),
    "-1 as an index": (
        [(WHERE, "return torch.stack([row[at] for row, at in zip(states, starts)])")],
        "-1 is taken for an index"),
    "[CLS] for no word": ([(WHERE, "return states.gather(1, places)")], "[CLS] stands"),
    "starts of the first row": (
        piece("starts = starts[:1].expand_as(starts)"), "the starts of the first row"),
    "token i for word i": (
        piece("starts = torch.arange(starts.shape[1]).expand_as(starts)"), "read from token i:"),
    "one token early": (piece("starts = starts - 1"), "one token too early"),
    "one token late": (
        piece("starts = torch.where(is_word, (starts + 1).clamp(max=states.shape[1] - 1), -1)"),
        "one token too late"),
    "last piece": (
        piece("after = torch.cat([starts[:, 1:], torch.full_like(starts[:, :1], -1)], 1)\n"
              "    starts = torch.where(after > 0, after - 1, starts)"), "the last piece"),
    "product for zeros": (
        [(WHERE, "return states.gather(1, places) * is_word[:, :, None].to(states.dtype)")],
        "0 · inf is NaN"),
    "states in place": (
        [(WHERE, "found = torch.where(is_word[:, :, None], states.gather(1, places), 0.0)\n"
                 "    states[:, 0] = 0\n    return found")],
        "changed its input in place"),
    "always float64": ([(WHERE, WHERE + ".double()")], "the wrong type"),
    "always the last layer": ([(READ, "read = [len(hidden_states) - 1]")],
                              "the last layer is read, whatever"),
    "one layer too many": (
        [(READ, "read = layers_of(feature, len(hidden_states) - 2)")], "one layer too low"),
    "mean for sum": ([(SUM, "return vectors.mean(dim=2)")], "averaged, not summed"),
    "side by side in falling order": (
        [(FLAT, "return vectors.flip(2).flatten(2)")], "side by side in falling order"),
    "interleaved": ([(FLAT, "return vectors.transpose(2, 3).flatten(2)")],
                    "the layers are interleaved"),
    "no side by side": ([(FLAT, "return vectors.sum(2)")], "summed, not put side by side"),
    "no softmax": ([(SHARES, SHARES.replace(".softmax(dim=0)", ""))], "without softmax"),
    "no scale": ([(SHARES, SHARES.replace('mix["scale"] * ', ""))], "the scale is left out"),
    "weights over their sum": (
        [(SHARES, SHARES.replace('.softmax(dim=0)', ' / mix["weights"].sum()'))],
        "divided by their sum: it is softmax"),
    "exponentials": ([(SHARES, SHARES.replace("softmax(dim=0)", "exp()"))],
                     "the exponentials are not divided"),
    "scale inside": (
        [(SHARES, 'shares = (mix["scale"] * mix["weights"]).softmax(dim=0)')],
        "inside the softmax"),
    "mix not used": ([(WEIGHTED, "return vectors.mean(dim=2)")], "all layers weigh the same"),
    "weights in falling order": ([(WEIGHTED, WEIGHTED.replace("shares[", "shares.flip(0)["))],
                                 "meet the layers in falling order"),
    "mean of the weighted": ([(WEIGHTED, WEIGHTED.replace(".sum(dim=2)", ".mean(dim=2)"))],
                             "add up to 1 already"),
    "encoder not frozen": ([(VECTORS, VECTORS.replace(".detach()", ""))],
                           "the encoder is not frozen"),
    "mix does not learn": ([(WEIGHTED, WEIGHTED.replace("shares[", "shares.detach()["))],
                           "the mix does not learn"),
    "no_grad around everything": (
        [(READ, "torch.set_grad_enabled(False)\n    " + READ)], "something global"),
    "scale does not learn": (
        [(SHARES, SHARES.replace('mix["scale"]', 'mix["scale"].item()'))],
        "the mix does not learn"),
}  # fmt: skip
