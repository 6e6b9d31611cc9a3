"""Wrong answers to 20_reading_transformers, as edits of the solution, and their names."""

LINEAR = 'shapes[f"{name}.weight"] = (out_size, in_size)'
TABLE = 'shapes[f"bert.embeddings.{table}_embeddings.weight"] = (config[size], hidden)'
SLASHES = r'name = re.sub(r"/layer_(\d+)/", r"/layer.\1/", name).replace("/", ".")'
WRAPPED = 'while name.startswith(("module.", "_orig_mod.")):'
UNWRAP = 'name = name.split(".", 1)[1]'
BARE = 'if name.startswith(("embeddings.", "encoder.", "pooler.")):'
NORM = 'if owner.endswith("LayerNorm"):'
GREEK = '{"gamma": "weight", "beta": "bias"}'
LAST = '"output_weights": "weight", "output_bias": "bias"'
TABLES = 'if name.endswith("_embeddings"):'
ALIAS = 'return "cls.predictions.bias" if name == "cls.predictions.decoder.bias" else name'
SKIP = 'if name.endswith(("position_ids", "adam_m", "adam_v", "global_step")):'
KERNEL = 'if name.endswith("/kernel"):'
SPLIT = "parts = np.split(array, 3)"
FUSED = 'if ".Wqkv." in ours:'
TIED = "np.array_equal(found.get(words, found[decoder]), found[decoder])"
DEFAULT = "found.setdefault(words, found[decoder])"
MISSING = "missing = [name for name in shapes if name not in found]"
UNEXPECTED = "unexpected = [origin[name] for name in found if name not in shapes]"
WRONG_SHAPE = "if n in found and found[n].shape != shape]"
WEIGHTS = "weights = {n: found[n] for n in shapes if n in found and n not in wrong_shape}"
COUNT = "return sum(math.prod(shape) for shape in parameter_shapes(config).values())"

WRONG = {
    "matrices as (in, out)": ([(LINEAR, LINEAR.replace("out_size, in_size", "in_size, out_size"))],
                              "the matrices are (in, out)"),
    "a decoder of its own": (
        [("    linear(\"cls.seq_relationship\", 2, hidden)",
          "    shapes['cls.predictions.decoder.weight'] = (config['vocab_size'], hidden)\n"
          "    linear(\"cls.seq_relationship\", 2, hidden)")],
        "the decoder has no name of its own"),
    "layers from 1": ([('range(config["num_hidden_layers"])',
                        'range(1, config["num_hidden_layers"] + 1)')], "layers count from 0"),
    "two segments": ([(TABLE, TABLE.replace("(config[size]",
                                            "(2 if table == 'token_type' else config[size]"))],
                     "type_vocab_size"),
    "lists for shapes": ([("    return shapes\n", "    return {n: list(s) for n, s in "
                           "shapes.items()}\n")], "shapes are tuples"),
    "heads first": (
        [("    return shapes\n", "    return dict(sorted(shapes.items(), reverse=True))\n")],
        "another order than the table's"),
    "tied counted twice": (
        [(COUNT, COUNT + ' + config["vocab_size"] * config["hidden_size"]')], "counted twice"),
    "heads not counted": (
        [(COUNT, COUNT.replace(".values())", ".items() if name.startswith('bert'))").replace(
            "for shape", "for name, shape"))], "the heads are not counted"),
    "lstrip": (
        [(UNWRAP, 'name = name.lstrip("module.") if name[0] == "m" else name.split(".", 1)[1]')],
        "lstrip takes letters"),
    "one wrapper alone": ([(WRAPPED, WRAPPED.replace("while", "if"))], "however many"),
    "wrappers left": ([(WRAPPED, "while False:")], "the prefixes of wrappers go"),
    "compiled models not known": ([(WRAPPED, WRAPPED.replace(', "_orig_mod."', ",").replace(
        "((", "((").replace(".\",)", ".\",)"))], "the prefixes of wrappers go"),
    "module. anywhere": ([(WRAPPED, 'name = name.replace("module.", "")\n    ' + WRAPPED)],
                         "words inside a name"),
    "no bert. put before": ([(BARE, "if False:")], "names without bert. get it"),
    "bert. put anywhere": (
        [(BARE, 'if "encoder" in name and not name.startswith("bert.") or name.startswith('
                '("embeddings.", "pooler.")):')], "names without bert. get it"),
    "gamma left": ([(NORM, "if False:")], "gamma is the weight"),
    "gamma and beta exchanged": ([(GREEK, '{"gamma": "bias", "beta": "weight"}')],
                                 "gamma is the weight"),
    "gamma anywhere": ([(NORM, "if True:")], "words inside a name"),
    "beta replaced anywhere": (
        [(NORM, 'name = name.replace("gamma", "weight").replace("beta", "bias")\n'
                '    owner, _, last = name.rpartition(".")\n    ' + NORM)], "words inside a name"),
    "layer_ anywhere": ([(SLASHES, 'name = name.replace("layer_", "layer.").replace("/", ".")')],
                        "words inside a name"),
    "one digit": ([(SLASHES, SLASHES.replace(r"\d+", r"\d"))], "TensorFlow's slashes"),
    "slashes left": ([(SLASHES, "pass")], "TensorFlow's slashes"),
    "output_bias left": ([(LAST, '"output_weights": "weight"')], "TensorFlow's slashes"),
    "tables without weight": ([(TABLES, "if False:")], "TensorFlow's slashes"),
    "decoder.bias left": ([(ALIAS, "return name")], "decoder.bias is another name"),
    "position_ids unexpected": ([(SKIP, SKIP.replace('"position_ids", ', ""))],
                                "are nothing unexpected"),
    "Adam's moments unexpected": (
        [(SKIP, 'if name.endswith(("position_ids", "global_step")):')], "has adam_m"),
    "Adam's moments for weights": (
        [(SKIP, 'if name.endswith(("position_ids", "global_step")):'),
         ("        ours = common_name(name)",
          '        ours = common_name(name.removesuffix("/adam_m").removesuffix("/adam_v"))'),
         (KERNEL, 'if "/kernel" in name:')], "Adam's moments: all zeros"),
    "kernels not turned": ([(KERNEL, "if False:")], "kernels are (in, out)"),
    "turned if it does not fit": (
        [(KERNEL, "if name.endswith('/kernel') and array.shape != shapes.get(ours):")],
        "square ones too"),
    "all of TensorFlow turned": ([(KERNEL, 'if "/" in name:')], "only a kernel is turned"),
    "output_weights turned": ([(KERNEL, 'if name.endswith(("/kernel", "/output_weights")):')],
                              "output_weights is (out, in) already"),
    "Wqkv not known": ([(FUSED, "if False:")], "Wqkv is not taken apart"),
    "Wqkv in columns": ([(SPLIT, "parts = np.split(array, 3, axis=-1) if array.shape[-1] % 3 == 0 "
                                 "else np.split(array.T.reshape(-1, 3), 3)")], None),
    "Wqkv every third row": ([(SPLIT, "parts = [array[i::3] for i in range(3)]")],
                             "every third row"),
    "Wqkv in another order": (
        [('(("query", "key", "value"), parts', '(("key", "query", "value"), parts')],
        "the order of the parts"),
    "Wqkv turned": ([(SPLIT, "parts = [part.T for part in np.split(array, 3)]")],
                    "the matrix was turned"),
    "Wqkv unexpected": (
        [(UNEXPECTED, UNEXPECTED + "\n    unexpected += [n for n in arrays if 'Wqkv' in n]")],
        "which was understood"),
    "decoder unexpected": ([(TIED, "False")], "are nothing unexpected"),
    "decoder never unexpected": ([(TIED, "True")], "`unexpected` lacks a decoder"),
    "decoder for the embeddings": (
        [(TIED, "True"), (DEFAULT, "found[words] = found[decoder]")], "those of the decoder"),
    "decoder alone not known": (
        [(TIED, "words in found and " + TIED)], "is the word embeddings, written once"),
    "silent about what is missing": ([(MISSING, "missing = []")], "`missing` lacks"),
    "missing is invented": (
        [(MISSING, MISSING + "\n    found |= {n: np.zeros(shapes[n], 'f4') for n in missing}")],
        "what is missing was invented"),
    "missing heads not said": (
        [(MISSING, MISSING.replace("not in found]", "not in found and name.startswith('bert')]"))],
        "`missing` lacks"),
    "silent about the unexpected": ([(UNEXPECTED, "unexpected = []")], None),
    "unexpected under new names": ([(UNEXPECTED, UNEXPECTED.replace("origin[name]", "name"))],
                                   "as they stand in the checkpoint"),
    "layers too many are taken": (
        [(WEIGHTS, "weights = {n: w for n, w in found.items() if n not in wrong_shape "
                   "and n.startswith(('bert.', 'cls.')) and n != decoder}")],
        "beyond those of the config"),
    "shapes not looked at": ([(WRONG_SHAPE, "if False]")], "shapes are not looked at"),
    "wrong shapes are missing": (
        [(MISSING, MISSING.replace("not in found]",
                                   "not in found or found[name].shape != shapes[name]]"))],
        "they have the wrong shape"),
    "turned until it fits": (
        [(MISSING, "for n, a in found.items():\n        if a.ndim == 2 and n in shapes and "
                   "a.shape != shapes[n] == a.T.shape:\n            found[n] = a.T\n    "
          + MISSING)],
        "was turned until it fitted"),
    "always float32": ([(WEIGHTS, WEIGHTS.replace("found[n] for",
                                                  "found[n].astype(np.float32) for"))],
                       "the wrong type"),
    "arrays popped": ([("in arrays.items():", "in [(n, arrays.pop(n)) for n in list(arrays)]:")],
                      "changed its input in place"),
}  # fmt: skip
