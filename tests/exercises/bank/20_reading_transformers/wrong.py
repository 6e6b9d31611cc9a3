"""Wrong answers to 20_reading_transformers, as edits of the solution, and their names."""

LINEAR = 'shapes[f"{name}.weight"] = (out_size, in_size)'
TABLE = 'shapes[f"bert.embeddings.{table}_embeddings.weight"] = (config[size], hidden)'
SLASHES = '        r"/layer_(\\d+)(?=/)": r"/layer.\\1",  # TensorFlow\'s path\n        "/": ".",\n'
LAYER = r'r"/layer_(\d+)(?=/)"'
WRAPPED = r'r"^((module|_orig_mod)\.)+": ""'
BARE = r'r"^(embeddings|encoder|pooler)\.": r"bert.\1."'
GAMMA, BETA = r'r"\.LayerNorm\.gamma$"', r'r"\.LayerNorm\.beta$"'
KERNELS = r'r"\.(kernel|output_weights)$"'
BIASES = r'        r"\.output_bias$": ".bias",'
TABLES = 'r"_embeddings$": "_embeddings.weight"'
ALIAS = r'        r"^cls\.predictions\.decoder\.bias$": "cls.predictions.bias",'
RENAMED = "        name = re.sub(pattern, course, name)\n    return name\n"
SKIP = 'if re.search("(position_ids|adam_m|adam_v|global_step)$", name):'
KERNEL = 'if name.endswith("/kernel"):'
SPLIT = "parts = np.split(array, 3)"
FUSED = 'if ".Wqkv." in ours and ours.replace("Wqkv", "query") in shapes:'
ANY_FUSED = (FUSED, 'if ".Wqkv." in ours:')
TIED = "np.array_equal(found.get(words, found[decoder]), found[decoder])"
ROLES = 'enumerate(("query", "key", "value"))'
DEFAULT = "found.setdefault(words, found[decoder])"
MISSING = "missing = [n for n in shapes if n not in found]"
UNEXPECTED = "unexpected = [origin[name] for name in found if name not in shapes]"
STRANGER = "            split = {ours if ours in shapes or ours == decoder else name: array}\n"
WRONG_SHAPE = "if n in found and found[n].shape != shape]"
WEIGHTS = "weights = {n: found[n].copy() for n in shapes if n in found and n not in wrong_shape}"
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
        [(WRAPPED, r'r"^(_orig_mod\.|[module.])+": ""')], "lstrip takes letters"),
    "one wrapper alone": ([(WRAPPED, WRAPPED.replace(")+", ")"))], "however many"),
    "wrappers left": ([(WRAPPED, 'r"^$": ""')], "the prefixes of wrappers go"),
    "compiled models not known": ([(WRAPPED, WRAPPED.replace("|_orig_mod", ""))],
                                  "the prefixes of wrappers go"),
    "module. anywhere": ([(WRAPPED, WRAPPED.replace("^", ""))], "words inside a name"),
    "no bert. before a name with slashes": (
        [(BARE, r'r"^(embeddings|encoder|pooler)\.(?!.*\.dense\.kernel$)": r"bert.\1."')],
        "several lines of the table"),
    "no bert. put before": ([(BARE, 'r"^$": ""')], "names without bert. get it"),
    "bert. put anywhere": (
        [(BARE, r'r"^(?!bert\.)(.*)(embeddings|encoder|pooler)\.": r"bert.\1\2."')],
        "names without bert. get it"),
    "gamma left": ([(GAMMA, r'r"^$"')], "gamma is the weight"),
    "gamma and beta exchanged": ([(GAMMA + ': ".LayerNorm.weight', GAMMA + ': ".LayerNorm.bias'),
                                  (BETA + ': ".LayerNorm.bias', BETA + ': ".LayerNorm.weight')],
                                 "gamma is the weight"),
    "gamma anywhere": ([(GAMMA + ': ".LayerNorm.', 'r"gamma": "'),
                        (BETA + ': ".LayerNorm.', 'r"beta": "')], "words inside a name"),
    "beta of any owner": ([(BETA + ': ".LayerNorm.', r'r"\bbeta$": "')], "words inside a name"),
    "a norm of another name": ([(GAMMA + ': ".LayerNorm', r'r"LayerNorm\.gamma$": "LayerNorm')],
                               "words inside a name"),
    "layer_ anywhere": ([(LAYER + r': r"/layer.\1"', r'r"layer_(\d+)": r"layer.\1"')],
                        "only a name with slashes is TensorFlow's"),
    "one digit": ([(LAYER, LAYER.replace("+", ""))], "TensorFlow's slashes"),
    "slashes left": ([('        "/": ".",\n', "")], "TensorFlow's slashes"),
    "output_bias left": ([(BIASES, "")], "TensorFlow's slashes"),
    "output_weights left": ([(KERNELS, KERNELS.replace("|output_weights", ""))],
                            "TensorFlow's slashes"),
    "tables without weight": ([(TABLES, 'r"^$": ""')], "TensorFlow's slashes"),
    "tables inside a name": ([(TABLES, 'r"_embeddings(?!.weight)": "_embeddings.weight"')],
                             "words inside a name"),
    "decoder.bias left": ([(ALIAS, "")], "decoder.bias is another name"),
    "decoder.bias of anyone": ([(ALIAS, r'        r"cls\.predictions\.decoder\.bias": '
                                        '"cls.predictions.bias",')], "words inside a name"),
    "a name without a dot gets one": ([(RENAMED, RENAMED.replace(
        "return name", "return '.'.join(name.rpartition('.')[::2])"))],
        "a name without a dot stays"),
    "position_ids unexpected": ([(SKIP, SKIP.replace("position_ids|", ""))],
                                "which are nothing unexpected"),
    "Adam's moments unexpected": (
        [(SKIP, SKIP.replace("adam_m|adam_v|", ""))], "has adam_m"),
    "Adam's moments for weights": (
        [(SKIP, SKIP.replace("adam_m|adam_v|", "")),
         ("        ours = common_name(name)",
          '        ours = common_name(name.removesuffix("/adam_m").removesuffix("/adam_v"))'),
         (KERNEL, 'if "/kernel" in name:')], "Adam's moments: all zeros"),
    "kernels not turned": ([(KERNEL, "if False:")], "kernels are (in, out)"),
    "turned if it does not fit": (
        [(KERNEL, "if name.endswith('/kernel') and array.shape != shapes.get(ours):")],
        "square ones too"),
    "all of TensorFlow turned": ([(KERNEL, 'if "/" in name:')], "only a kernel is turned"),
    "output_weights turned": ([(KERNEL, 'if name.endswith(("/kernel", "/output_weights")):')],
                              "only a kernel is turned"),
    "Wqkv not known": ([(FUSED, "if False:")], "Wqkv is not taken apart"),
    "Wqkv in columns": ([(SPLIT, "parts = np.split(array, 3, axis=-1) if array.shape[-1] % 3 == 0 "
                                 "else np.split(array.T.reshape(-1, 3), 3)")], None),
    "Wqkv every third row": ([(SPLIT, "parts = [array[i::3] for i in range(3)]")],
                             "every third row"),
    "Wqkv in another order": (
        [(ROLES, ROLES.replace('"query", "key"', '"key", "query"'))],
        "the order of the parts"),
    "Wqkv turned": ([(SPLIT, "parts = [part.T for part in np.split(array, 3)]")],
                    "the matrix was turned"),
    "Wqkv unexpected": (
        [(UNEXPECTED, UNEXPECTED + "\n    unexpected += [n for n in arrays if 'Wqkv' in n]")],
        "which was understood"),
    "decoder unexpected": ([(TIED, "False")], "which are nothing unexpected"),
    "parts of a Wqkv unexpected": (
        [ANY_FUSED,
         (UNEXPECTED, UNEXPECTED.replace("origin[name]", "origin[name] if 'self' not in name "
                                         "else name"))], "has the parts of Wqkv"),
    "a Wqkv three times": ([ANY_FUSED], "has a Wqkv three times"),
    "decoder for embeddings of another shape": (
        [(DEFAULT, "found[words] = found[decoder]"),
         (TIED, "(found.get(words, found[decoder]).shape != shapes[words] or " + TIED + ")")],
        "the decoder is taken where"),
    "decoder not looked at in size": (
        [(MISSING, MISSING + "\n    if decoder in arrays and words not in arrays:\n"
          "        found[words] = np.resize(found[words], shapes[words])")],
        "the decoder is taken where"),
    "unexpected decoder under a new name": (
        [(UNEXPECTED, UNEXPECTED + "\n    unexpected = [decoder if n.endswith(decoder) else n "
                                   "for n in unexpected]")], None),
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
        [(MISSING, MISSING.replace("not in found]", "not in found and n.startswith('bert')]"))],
        "`missing` lacks"),
    "silent about the unexpected": ([(UNEXPECTED, "unexpected = []")], None),
    "unexpected under new names": (
        [(UNEXPECTED, UNEXPECTED.replace("origin[name]", "name")),
         (STRANGER, "            split = {ours: array}\n")],
        "as they stand in the checkpoint"),
    "layers too many are taken": (
        [(WEIGHTS, "weights = {n: w for n, w in found.items() if n not in wrong_shape "
                   "and n.startswith(('bert.', 'cls.')) and n != decoder}")],
        "beyond those of the config"),
    "shapes not looked at": ([(WRONG_SHAPE, "if False]")], "shapes are not looked at"),
    "wrong shapes are missing": (
        [(MISSING, MISSING.replace("not in found]",
                                   "not in found or found[n].shape != shapes[n]]"))],
        "they have the wrong shape"),
    "turned until it fits": (
        [(MISSING, "for n, a in found.items():\n        if a.ndim == 2 and n in shapes and "
                   "a.shape != shapes[n] == a.T.shape:\n            found[n] = a.T\n    "
          + MISSING)],
        "was turned until it fitted"),
    "always float32": ([(WEIGHTS, WEIGHTS.replace("copy()", "astype(np.float32)"))],
                       "the wrong type"),
    "arrays popped": ([("in arrays.items():", "in [(n, arrays.pop(n)) for n in list(arrays)]:")],
                      "changed its input in place"),
    "skipped wherever adam_m stands": (
        [("(position_ids|adam_m|adam_v|global_step)$",
          "(position_ids|adam_m|adam_v|global_step)")],
        "names that hold adam_m and the like in the middle",
    ),
    "only a whole last word is skipped": (
        [("(position_ids|adam_m|adam_v|global_step)$",
          "(^|[./])(position_ids|adam_m|adam_v|global_step)$")],
        "names that end in adam_m and the like",
    ),
    "what stands after the last slash is skipped": (
        [("    for name, array in arrays.items():\n"
          "        if re.search(\"(position_ids|adam_m|adam_v|global_step)$\", name):",
          "    none = (\"bert.embeddings.position_ids\", \"adam_m\", \"adam_v\", \"global_step\")\n"
          "    for name, array in arrays.items():\n"
          "        if name.rpartition(\"/\")[2] in none:")],
        "names that end in adam_m and the like",
    ),
    "tables with dots stay without weight": (
        [("    for pattern, course in {",
          "    has_dots = \"/\" not in name and name.endswith(\"_embeddings\")\n"
          "    for pattern, course in {"),
         ("        name = re.sub(pattern, course, name)\n",
          "        if not (has_dots and pattern == r\"_embeddings$\"):\n"
          "            name = re.sub(pattern, course, name)\n")],
        None,
    ),
    "decoder nearly equal": (
        [("np.array_equal(found.get(words, found[decoder]), found[decoder])",
          "(found.get(words, found[decoder]).shape == found[decoder].shape and np.allclose(fo"
          "und.get(words, found[decoder]), found[decoder]))")],
        "`unexpected` lacks a decoder that differs",
    ),
    "counted in int32": (
        [("math.prod(shape) for shape",
          "int(np.prod(shape, dtype=np.int32)) for shape")],
        "the range of 32 bits",
    ),
    "shapes kept between calls": (
        [("    return shapes\n",
          "    return KEPT.setdefault((hidden, wide, config['num_hidden_layers']), shapes)\n"),
         ("def common_name(",
          "KEPT = {}\n\n\ndef common_name(")],
        "the shapes are those of another config",
    ),
    "shapes of the first config": (
        [("    shapes = parameter_shapes(config)\n",
           "    shapes = SHAPES.setdefault((config[\"num_hidden_layers\"], config[\"hidden_size"
           "\"]), "
           "parameter_shapes(config))\n"),
          ("Shapes = dict[",
           "SHAPES = {}\nShapes = dict[")],
        "shapes of an earlier config are remembered"),
    # Right for small inputs, and for draws that are counted coarsely.
    "two digits": (
        [("r\"/layer_(\\d+)(?=/)\"",
          "r\"/layer_(\\d\\d?)(?=/)\"")],
        "the name of bert/encoder/layer_100/attention/self/key/kernel"),
    "shapes kept by the id of the config": (
        [
            ("    shapes = parameter_shapes(config)\n",
             "    shapes = _S.setdefault(id(config), (config, "
             "parameter_shapes(config)))[1]\n"),
            ("def common_name(",
             "_S = {}\n"
             "\n"
             "\n"
             "def common_name("),
        ],
        "found again by the object",
    ),
    "parts of the encoder without their dot": (
        [
            ("r\"^(embeddings|encoder|pooler)\\.\": r\"bert.\\1.\",",
             "r\"^(embeddings|encoder|pooler)(?=[._])\": r\"bert.\\1\","),
        ],
        "a name of today stays",
    ),
    "a decoder in float32 in the place of the words": (
        [
            ("        found.setdefault(words, found[decoder])\n",
             "        found.setdefault(words, found[decoder].astype(np.float32))\n"),
        ],
        None,
    ),
    "kernels in float32 whatever they were": (
        [
            ("            array = array.T  #",
             "            array = np.ascontiguousarray(array.T, np.float32)  #"),
        ],
        None,
    ),
    "layer_ replaced in all of a path": (
        [(r'r"/layer_(\d+)(?=/)": r"/layer.\1",', r'r"(?<=/)layer_(?=.*/)": r"layer.",')],
        "TensorFlow's slashes"),
    "Wqkv is cut by the config's H, not in three": (
        [
            ("            parts = np.split(array, 3)\n",
             '            size = config["hidden_size"]\n'
             "            parts = [array[k * size : (k + 1) * size] for k in range(3"
             ")]\n"),
        ],
        None,
    ),
    "the rows are counted before the name is asked": (
        [
            (f"        {FUSED}",
             f"        rows = array.shape[0] // 3\n        {FUSED}"),
            ("            parts = np.split(array, 3)\n",
             "            parts = [array[:rows], array[rows : 2 * rows], array[2 * r"
             "ows :]]\n"),
        ],
        None,
    ),
    "a kernel that already has the wanted shape is not turned": (
        [
            ('        if name.endswith("/kernel"):\n',
             "        # squares always; another only if it does not stand (out, in) "
             "already\n"
             "        stands = len(set(array.shape)) > 1 and array.shape == paramete"
             "r_shapes(\n"
             "            config\n"
             "        ).get(ours)\n"
             '        if name.endswith("/kernel") and not stands:\n'),
        ],
        None,
    ),
    "decoder and word embeddings are compared byte by byte": (
        [
            ("np.array_equal(found.get(words, found[decoder]), found[decoder]):\n",
             "(\n"
             "        found.get(words, found[decoder]).tobytes() == found[decoder].t"
             "obytes()\n"
             "    ):\n"),
        ],
        None,
    ),
    "a decoder that differs is named last": (
        [
            ("        del found[decoder]\n",
             "        del found[decoder]\n"
             "    elif decoder in found:\n"
             "        found[decoder] = found.pop(decoder)\n"),
        ],
        "in another order",
    ),
    "the heads of the config are asked for": (
        [
            ("    hidden, wide = config[\"hidden_size\"], config[\"intermediate_size\"]\n",
             "    heads, wide = config[\"num_attention_heads\"], config[\"intermediate_size\"]\n"
             "    hidden = config[\"hidden_size\"] // heads * heads\n"),
        ],
        None,
    ),
    "only three tables end in .weight": (
        [
            ("        r\"_embeddings$\": \"_embeddings.weight\",\n",
             "        r\"\\.(word|position|token_type)_embeddings$\": "
             "r\".\\1_embeddings.weight\",\n"),
        ],
        None,
    ),
    "shapes in a cache": (
        [
            ("import math\n",
             "import functools\n"
             "import math\n"),
            ("    \"\"\"Name and shape of every parameter, from the input upwards, the "
             "heads last.\n",
             "    sizes = (\"vocab_size\", \"hidden_size\", \"num_hidden_layers\", "
             "\"intermediate_size\",\n"
             "             \"max_position_embeddings\", \"type_vocab_size\")\n"
             "    return cached_shapes(tuple((size, config[size]) for size in sizes))\n"
             "\n"
             "\n"
             "@functools.cache\n"
             "def cached_shapes(sizes) -> Shapes:\n"
             "    \"\"\"Name and shape of every parameter, from the input upwards, the "
             "heads last.\n"),
            ("    hidden, wide = config[\"hidden_size\"], config[\"intermediate_size\"]\n",
             "    config = dict(sizes)\n"
             "    hidden, wide = config[\"hidden_size\"], config[\"intermediate_size\"]\n"),
        ],
        "an earlier call has returned too",
    ),
    "a Wqkv is cut before it is transposed": (
        [
            ('        if name.endswith("/kernel"):\n'
             "            array = array.T  # (in, out) there. Most are square: no shape would "
             "tell\n",
             ""),
            (STRANGER,
             STRANGER +
             '        if name.endswith("/kernel"):\n'
             "            split = {ours: part.T for ours, part in split.items()}\n"),
            ("parts = np.split(array, 3)",
             "parts = np.array_split(array, 3)"),
        ],
        "transpose it before you cut it",
    ),
    "a Wqkv/kernel is not transposed": (
        [
            ('if name.endswith("/kernel"):',
             'if name.endswith("/kernel") and "Wqkv" not in name:'),
            ("parts = np.split(array, 3)",
             "parts = np.array_split(array, 3)"),
        ],
        "transpose it before you cut it",
    ),
    "the decoder is not transposed": (
        [
            ('if name.endswith("/kernel"):',
             'if name.endswith("/kernel") and ours != "cls.predictions.decoder.weight":'),
        ],
        "transpose it before you compare it",
    ),
    "wrappers in one order alone": (
        [(WRAPPED, r'r"^(module\.)*(_orig_mod\.)*(module\.)*": ""')],
        None,
    ),
    "any embeddings at the end": (
        [('r"_embeddings$": "_embeddings.weight"', 'r"embeddings$": "embeddings.weight"')],
        "words inside a name are changed",
    ),
    "the embeddings are rounded like the decoder": (
        [
            ("    if decoder in found and np.array_equal(found.get(words, "
             "found[decoder]), found[decoder]):\n",
             "    if decoder in found and np.array_equal(\n"
             "        found.get(words, found[decoder]).astype(found[decoder].dtype), "
             "found[decoder]\n"
             "    ):\n"),
        ],
        "compare them",
    ),
    "TensorFlow's last words without a slash": (
        [
            ('r"\\.(kernel|output_weights)$": ".weight"',
             'r"^(kernel|output_weights)$": "weight",\n'
             '        r"\\.(kernel|output_weights)$": ".weight"'),
        ],
        "without one, its last word stays",
    ),
    "each number of TensorFlow's names is a word": (
        [(LAYER + r': r"/layer.\1"', r'r"/([A-Za-z]+)_(\d+)(?=/)": r"/\1.\2"')],
        "only layer_7 becomes two",
    ),
    "whole numbers become float32": (
        [(WEIGHTS, WEIGHTS.replace("copy() for", "astype(np.float32) if "
                                   "found[n].dtype.kind == 'i' else found[n].copy() for"))],
        "the wrong type",
    ),
    "the parameters are counted as a float": (
        [(COUNT, COUNT.replace("sum(", "1.0 * sum("))], "a count is an int"),
    "a bert. that stands twice goes": (
        [(RENAMED, RENAMED.replace("return name", "return name.replace('bert.bert.', 'bert.')"))],
        "words inside a name are changed",
    ),
    "small letters and large ones are the same": (
        [("re.sub(pattern, course, name)", "re.sub(pattern, course, name, flags=re.I)")],
        "words inside a name are changed",
    ),
    "the end :0 of TensorFlow's variables goes": (
        [(RENAMED, RENAMED.replace("return name", "return name.removesuffix(':0')"))],
        "TensorFlow's slashes",
    ),
    "one dot for several slashes": ([('"/": "."', '"/+": "."')], "TensorFlow's slashes"),
    "a kernel of one row is not turned": (
        [(KERNEL, 'if name.endswith("/kernel") and 1 not in array.shape:')], None),
    "skipped in large letters too": (
        [(SKIP, SKIP.replace('"(pos', '"(?i)(pos'))], "adam_m and the like in the middle"),
    "empty arrays are left out": (
        [("    for name, array in arrays.items():\n        if re",
          "    arrays = {n: a for n, a in arrays.items() if a.size or n not in shapes}\n"
          "    for name, array in arrays.items():\n        if re")],
        None,
    ),
    "Wqkv as a part of a word": ([(FUSED, 'if "Wqkv" in ours:')], None),
    "common_name with another name of its argument": (
        [("def common_name(name: str)", "def common_name(parameter: str)"),
         ("    # The lines of the table, one", "    name = parameter\n"
          "    # The lines of the table, one")],
        "unexpected keyword argument",
    ),
    "the decoder is compared in its first 1,024 rows": (
        [
            (
                'np.array_equal(found.get(words, found[decoder]), found[decoder])',
                'np.array_equal(found.get(words, found[decoder])[:1024], '
                'found[decoder][:1024])',
            ),
        ],
        'differs in the last of 3,001 words',
    ),
    "axes of length 1 are dropped": (
        [
            (
                '        ours = common_name(name)\n',
                '        ours = common_name(name)\n'
                '        wanted = shapes.get(ours)\n'
                '        if wanted not in (None, array.shape) and '
                'array.squeeze().shape == wanted:\n'
                '            array = array.squeeze()\n',
            ),
        ],
        None,
    ),
    "a next-sentence head as wide as num_labels": (
        [
            (
                '    linear("cls.seq_relationship", 2, hidden)\n',
                '    linear("cls.seq_relationship", config.get("num_labels", 2), hidden)\n',
            ),
        ],
        'only the six sizes matter',
    ),
    "of a large table about a thousand rows are compared": (
        [
            (
                'np.array_equal(found.get(words, found[decoder]), found[decoder]):',
                'np.array_equal(\n'
                '        found.get(words, found[decoder])['
                ':: max(1, len(found[decoder]) // 1000)],\n'
                '        found[decoder][:: max(1, len(found[decoder]) // 1000)]):',
            ),
        ],
        None,
    ),
    "layer_ at the end of a word": (
        [
            (
                'r"/layer_(\\d+)(?=/)": r"/layer.\\1"',
                'r"layer_(\\d+)(?=/)": r"layer.\\1"',
            ),
        ],
        None,
    ),
    "any Wqkv is taken apart": (
        [
            (
                'if ".Wqkv." in ours and ours.replace("Wqkv", "query") in shapes:',
                'if ".Wqkv." in ours:',
            ),
            (
                'return weights, missing, unexpected, wrong_shape',
                'return weights, missing, list(dict.fromkeys(unexpected)), wrong_shape',
            ),
        ],
        'as head.Wqkv was taken apart',
    ),
    "the arrays of the checkpoint are handed on": (
        [
            (
                'weights = {n: found[n].copy() for n in',
                'weights = {n: found[n] for n in',
            ),
        ],
        'or a view of one',
    ),
    "kernels are handed on as views": (
        [
            (
                'weights = {n: found[n].copy() for n in',
                'weights = {n: found[n] if found[n].base is not None else found[n].copy() for n in',
            ),
        ],
        'or a view of one',
    ),
    "the decoder compared by its ends and by sums": (
        [
            (
                '    if decoder in found and np.array_equal(found.get(words, found[decoder]),'
                ' found[decoder]):\n',
                '    def is_same(a, b):\n'
                '        if a.shape != b.shape or not np.array_equal(a[[0, -1]], b[[0, -1]]):\n'
                '            return False\n'
                '        one, other = ([x.sum(dtype=float), np.square(x, dtype=float).sum()] for x'
                ' in (a, b))\n'
                '        return np.allclose(one, other, rtol=0, atol=1e-9)\n'
                '\n'
                '    if decoder in found and is_same(found.get(words, found[decoder]),'
                ' found[decoder]):\n',
            ),
        ],
        'the same numbers in other places',
    ),
    "the decoder compared by the sums of its rows": (
        [
            (
                '    if decoder in found and np.array_equal(found.get(words, found[decoder]),'
                ' found[decoder]):\n',
                '    def is_same(a, b):\n'
                '        rows = np.sort(a.astype(float), -1), np.sort(b.astype(float), -1)\n'
                '        return np.array_equal(*(x.sum(-1) for x in rows)) and a.shape == b.shape\n'
                '\n'
                '    if decoder in found and is_same(found.get(words, found[decoder]),'
                ' found[decoder]):\n',
            ),
        ],
        'the same numbers in other places',
    ),
    'of two layers in a row the second keeps its number': (
        [
            (
                'r"/layer_(\\d+)(?=/)": r"/layer.\\1",  # TensorFlow\'s path',
                'r"/layer_(\\d+)/": r"/layer.\\1/",',
            ),
        ],
        None,
    ),
    'a decoder that NumPy stretches is taken for tied': (
        [
            (
                'if decoder in found and np.array_equal(found.get(words, '
                'found[decoder]), found[decoder]):',
                'if decoder in found and (words not in found or '
                '(found[words].shape == found[decoder].shape or '
                'min(found[decoder].shape, default=1) == 1) and '
                'bool(np.all(found[words] == found[decoder]))):',
            ),
        ],
        'compare the shapes too',
    ),
    'attention that is missing is not mentioned': (
        [
            (
                'missing = [n for n in shapes if n not in found]',
                'missing = [n for n in shapes if n not in found and not '
                '(".self." in n and found and any(".pooler" in f for f in found))]',
            ),
        ],
        None,
    ),
    'the decoder is compared in float32': (
        [
            (
                'if decoder in found and np.array_equal(found.get(words, '
                'found[decoder]), found[decoder]):',
                'if decoder in found and np.array_equal(found.get(words, '
                'found[decoder]).astype(np.float32), found[decoder].astype(np.float32)):',
            ),
        ],
        None,
    ),
    'whole numbers are no weights': (
        [
            (
                'for name, array in arrays.items():\n',
                'for name, array in arrays.items():\n'
                '        if array.dtype == np.int64:\n'
                '            continue\n',
            ),
        ],
        'their names tell what is skipped',
    ),
    'layers 10 to 12 are taken for layer 1': (
        [
            (
                'unexpected = [origin[name] for name in found if name not in shapes]',
                'unexpected = [origin[name] for name in found if name not in '
                'shapes and not '
                'name.startswith(f"bert.encoder.layer.{config[\'num_hidden_layers\'] - 1}")]',
            ),
        ],
        None,
    ),
    "a Wqkv is cut in three whatever its shape": (
        [(SPLIT, "hidden = config['hidden_size']\n            "
                 "parts = array.reshape(3, hidden, *[hidden] * (array.ndim - 1)) "
                 "if array.size in (3 * hidden, 3 * hidden**2) else np.split(array, 3)")],
        "a Wqkv of another shape was cut all the same"),
    "a layer's number ends before a letter": (
        [(LAYER, LAYER.replace("(?=/)", ""))], "TensorFlow's slashes, numbers and last words"),
    "gammas are gamma": ([(GAMMA, GAMMA.replace("$", ""))], "words inside a name are changed"),
    "betas are beta": ([(BETA, BETA.replace("$", ""))], "words inside a name are changed"),
    "a whole word is no weight": (
        [(SKIP, SKIP.replace('"(pos', '"(^|[./_])(pos'))],
        "has names that end in adam_m and the like"),
    "kernels of three axes raise": (
        [("array = array.T", "array = array.transpose(1, 0) if array.ndim > 1 else array")],
        "axes don't match array"),
    "kernels of four axes raise": (
        [("array = array.T", "array = array.transpose(*(1, 0, 2)[: array.ndim])")],
        "axes don't match array"),
    "the kernel of next sentence is not turned": (
        [(KERNEL, KERNEL[:-1] + ' and "seq_relationship" not in name:')],
        "any layer may have kernel or output_weights"),
    "output_weights are turned outside of the heads": (
        [(KERNEL, KERNEL[:-1] + ' or name.startswith("bert") and name.endswith("output_weights"):'
          )],
        "any layer may have kernel or output_weights"),
    "one number is a list of one": (
        [(WRONG_SHAPE, WRONG_SHAPE.replace("found[n].shape", "np.atleast_1d(found[n]).shape"))],
        None),
    "axes of length 1 do not count": (
        [(WRONG_SHAPE, "if n in found and [k for k in found[n].shape if k > 1] != "
                       "[k for k in shape if k > 1]]")],
        None),
    "of names with one common name the last is told": (
        [(STRANGER, "            split = {ours: array}\n")],
        "lacks one of two names that have one common name"),
    "a config may ask for a decoder": (
        [("    return shapes\n",
          "    if not config.get('tie_word_embeddings', True):\n"
          "        shapes['cls.predictions.decoder.weight'] = (config['vocab_size'], hidden)\n"
          "    return shapes\n")],
        "only the six sizes matter"),
    "a BertForMaskedLM has no next sentence": (
        [('    linear("cls.seq_relationship", 2, hidden)',
          "    if config.get('architectures') != ['BertForMaskedLM']:\n"
          '        linear("cls.seq_relationship", 2, hidden)')],
        "only the six sizes matter"),
    "a decoder whose first rows are the words is tied": (
        [("if decoder in found and np",
          "if decoder in found and found[decoder].ndim == 2 and words in found:\n"
          "        size = len(found[words])\n"
          "        if np.array_equal(found[decoder][:size], found[words]):\n"
          "            found[decoder] = found[words]\n"
          "    if decoder in found and np")],
        None),
    "the bias of a table is not told": (
        [(UNEXPECTED, UNEXPECTED.replace(
            "not in shapes]",
            "not in shapes and name.removesuffix('bias') + 'weight' not in shapes]"))],
        None),
    "a name that goes on after adam_m is skipped": (
        [(SKIP, SKIP.replace("$", r"\\b"))], "in the middle"),
    "layer_7 at the beginning of a name": (
        [(SLASHES, SLASHES.replace('r"/layer_', 'r"\\blayer_').replace("/layer.", "layer."))],
        "where a slash stands before it and after it"),
    "the decoder is compared as it lies in memory": (
        [(TIED, "(words not in found or found[words].shape == found[decoder].shape and "
                'np.array_equal(found[words].ravel("K"), found[decoder].ravel("K")))')],
        None),
    "Wqkv is cut as it lies in memory": (
        [(SPLIT, 'parts = array.reshape((3, -1, *array.shape[1:]), order="A")')],
        "in another order of memory"),
    "an array that was read already is not read again": (
        [("    for name, array in arrays.items():\n",
          "    seen = set()\n    for name, array in arrays.items():\n"),
         (KERNEL, "if id(array) in seen:\n            continue\n"
                  "        seen.add(id(array))\n        " + KERNEL)],
        "`is` compares objects"),
    "unexpected names are found by their arrays": (
        [(UNEXPECTED, "by_array = {id(array): name for name, array in arrays.items()}\n"
                      "    unexpected = [by_array.get(id(found[name]), origin[name])\n"
                      "                  for name in found if name not in shapes]")],
        "`is` compares objects"),
    "the config tells whether a pooler is missing": (
        [(MISSING, MISSING[:-1] + " and ('pooler' not in n or "
                   "config.get('add_pooling_layer', True))]")],
        None),
    "decoder/output_bias is no other name": (
        [(ALIAS, ""), (BIASES, ALIAS + "\n" + BIASES)],
        "several lines of the table apply"),
    "only a tied model has a tied decoder": (
        [("if decoder in found and np",
          "if config.get('tie_word_embeddings', True) and decoder in found and np")],
        None),
    "LayerNorm with a number is a layer norm too": (
        [(GAMMA + ': ".LayerNorm.weight"',
          'r"\\.LayerNorm(_\\d+)?\\.gamma$": r".LayerNorm\\1.weight"')],
        "after LayerNorm alone"),
    "other ids are skipped": (
        [(SKIP, SKIP.replace("(position_ids", "(position_ids|token_type_ids"))],
        "only what ends in"),
    "what differs is counted in 8 bits": (
        [(TIED, "(words not in found or found[words].shape == found[decoder].shape and "
                "not (found[words] != found[decoder]).sum(dtype=np.uint8))")],
        "a count of few bits begins again"),
    "two names that differ by a slash are one": (
        [(STRANGER, STRANGER.replace("else name:", "else name.replace('/', '.'):"))],
        "lacks one of two names"),
    "names of an optimizer are skipped": (
        [("global_step)$", "global_step)$|^(optimizer|scheduler)[./]")],
        "`unexpected` lacks names"),
    "roberta. is bert.": (
        [('        "/": ".",\n', '        "/": ".",\n'
          '        r"^roberta\\.(?=embeddings|encoder|pooler)": "",\n')],
        "words inside a name are changed"),
    "model. is a wrapper": (
        [(WRAPPED, WRAPPED.replace("|_orig_mod", "|_orig_mod|model"))],
        "words inside a name are changed"),
    "all with a slash is turned but the tables": (
        [
            (
                '        if name.endswith("/kernel"):\n'
                "            array = array.T  # (in, out) there. Most are square: no "
                "shape would tell\n",
                "        # (in, out) in all that TensorFlow wrote, but for its tables and "
                "its output_weights. Most\n"
                "        # are square: no shape would tell.\n"
                '        if "/" in name and not name.endswith(("/output_weights", '
                '"_embeddings")):\n'
                "            array = array.T\n",
            ),
        ],
        "only a kernel is transposed",
    ),
}  # fmt: skip
