"""What the page and the docstrings promise or ask for, and the checks that hold it."""

SHAPES = ("test_names_and_shapes_are_those_of_the_course",)
COUNT = ("test_the_parameters_are_as_many_as_in_the_paper",)
FIELDS = ("test_shapes_and_count_follow_every_field_of_the_config",)
NAMES = ("test_every_name_of_the_table_is_known",)
FILES = ("test_files_of_transformers_old_and_new_are_read",)
SHARED = ("test_shared_arrays_may_stand_under_either_name",)
FUSED = ("test_fused_matrices_are_taken_apart",)
TENSORFLOW = ("test_tensorflow_matrices_are_turned_and_tables_are_not",)
SAID = ("test_what_is_missing_or_unexpected_is_said",)
OTHER_SHAPE = ("test_arrays_of_another_shape_are_neither_taken_nor_missing",)
NO_TRACE = ("test_nothing_is_left_behind",)

PROMISES = {
    "The course's names, with the paper's sizes": SHAPES + FIELDS,
    "in this order. A linear layer is a weight (out, in) and a bias (out,), a norm a weight and a "
    "bias, both (H,)": SHAPES,
    "several lines may apply to one name": NAMES
    + FILES
    + FUSED
    + ("test_checkpoints_of_any_size", "test_names_of_all_kinds_may_stand_in_one_file"),
    "the name without it (left by DistributedDataParallel and torch.compile)": NAMES + FILES,
    "with `bert.` before it (a BertModel)": NAMES + SAID,
    "| `….LayerNorm.gamma`, `….LayerNorm.beta` | weight, bias |": NAMES + FILES,
    "| `cls.predictions.decoder.bias` | `cls.predictions.bias` |": NAMES + SHARED,
    "a name with slashes is TensorFlow's: a dot for each slash, and `layer.7` for `layer_7` "
    "between two of them; other words keep their number (`dense_1`). A name without a slash keeps "
    "its `layer_7`.": NAMES + TENSORFLOW,
    "weight, and the matrix is (in, out): transpose it before anything else is done with it (a "
    "`…/Wqkv/kernel`, or `cls/predictions/decoder/kernel`, too)": TENSORFLOW + FUSED + SHARED,
    "weight as it is (out, in), bias": NAMES + TENSORFLOW,
    "| `…_embeddings` at the end, in a name with dots too | `….weight`, as it is |": (
        NAMES + TENSORFLOW
    ),
    "the rows of query, key and value, one below the other: a third each, whatever the sizes": (
        FUSED
    ),
    "If the checkpoint has no word embeddings, it takes their place; if it equals them, it is not "
    "mentioned; if it differs, it is unexpected, whatever the two shapes are": SHARED,
    "not weights: skipped and not mentioned": FILES + TENSORFLOW + SAID,
    "A name to which no line applies stays as it is: `classifier.weight`; a bare "
    "`output_weights`, which has no slash; `head.submodule.beta`, where `beta` does not follow "
    "`LayerNorm` and `module.` is not at the start.": NAMES,
    "`weights` has an array under each of the course's names that was found and has the right "
    "shape, with its dtype unchanged.": FILES + OTHER_SHAPE,
    "`missing` and `wrong_shape` are names of the course, in the order of `parameter_shapes`": (
        SAID + OTHER_SHAPE
    ),
    "`unexpected` are names of the checkpoint, as they stand there and in its order, each once "
    "(two with one common name are both listed)": SAID + FUSED + SHARED,
    "among them may be kernels of three axes or more, as convolutions have": OTHER_SHAPE,
    "A name is in at most one of the four.": OTHER_SHAPE,
    "`arrays` and `config` are not changed.": NO_TRACE,
    "`count_parameters` counts the numbers in all of `parameter_shapes`.": COUNT + FIELDS,
    '`common_name("module.encoder.layer.0.output.LayerNorm.gamma")`': NAMES,
    '`common_name("bert/encoder/layer_11/output/dense/kernel")`': NAMES,
    "`count_parameters` of BERT-base, uncased | 110,106,428": COUNT,
    "missing: the seven of `cls.…`; unexpected: `classifier.weight`, `classifier.bias`": SAID,
    "Name and shape of every parameter, from the input upwards, the heads last.": SHAPES,
    "`missing` are names that `config` asks for and nothing gives, in the order of "
    "`parameter_shapes`": SAID,
    "`wrong_shape` are names of the course whose array has another shape than the config asks for, "
    "in the order of `parameter_shapes`. They are neither among the weights nor missing.": (
        OTHER_SHAPE
    ),
    "How many numbers BERT has, both heads included.": COUNT,
    "Arrays may be non-contiguous.": NO_TRACE + SHARED,
}
