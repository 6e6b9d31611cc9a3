"""What the page and the starter of 13_encoder_real_weights promise, and the checks that hold it."""

FILES = "test_every_kind_of_file_gives_the_same_names"
STATES = "test_every_state_and_the_pooled_vector_agree"
CONFIG = "test_the_config_says_how_many_layers_and_heads_which_gelu_and_eps"
NO_EPS = "test_without_an_eps_in_the_config_it_is_1e_12"
TRANSFORMERS = "test_a_folder_is_opened_and_computes_what_transformers_computes"
PADDING = "test_padding_is_never_seen_and_a_row_of_it_gives_no_nan"
NO_POOLER = "test_without_a_pooler_there_is_no_pooled_vector"
EXAMPLE = "test_the_example_of_the_page"
SIZES = "test_encoders_and_batches_of_any_size"
TRACE = "test_nothing_is_left_behind"

PROMISES = {
    "`config` is what `config.json` holds, as a dict.": (FILES,),
    "`weights` is a dict of the encoder's tensors from `model.safetensors` (all that are there, "
    "whatever `config` says), in float64, under today's names, which begin with `embeddings.`, "
    "`encoder.` or `pooler.`": (FILES, EXAMPLE, SIZES),
    "| `encoder.layer.0.output.dense.weight` (saved from BertModel) | the same |": (FILES,),
    "| `bert.encoder.layer.0.output.dense.weight` (from BertForPreTraining) | without `bert.` |":
        (FILES,),
    "| `….LayerNorm.gamma`, `….LayerNorm.beta` (old files) | `….LayerNorm.weight`, "
    "`….LayerNorm.bias` |": (FILES, EXAMPLE),
    "| `cls.…`, `classifier.…`, `qa_outputs.…` or another head, whatever its name; "
    "`embeddings.position_ids` and `embeddings.token_type_ids` (buffers) | left out |":
        (FILES, EXAMPLE),
    "Numbers may be stored as float64, float32, float16 or bfloat16, even mixed in one "
    "file.": (FILES,),
    "A file may have no pooler.": (FILES,),
    "returns what `transformers.BertModel` returns in evaluation mode.": (TRANSFORMERS,),
    "`states` is a list of (batch, seq, hidden): after the embeddings, then after each layer.":
        (STATES,),
    "`pooled` is (batch, hidden), or None if `weights` has no pooler.": (STATES, NO_POOLER),
    "x = LN(word + position + segment)": (STATES, SIZES),
    "pooled = tanh(pooler.dense(x of the first token))": (STATES,),
    "Four entries of `config` say what the tensors' shapes do not: `num_hidden_layers`, "
    "`num_attention_heads`": (CONFIG,),
    "`layer_norm_eps` (1e-12 if it is absent)": (NO_EPS, CONFIG),
    'and `hidden_act`: "gelu" is the form with erf; "gelu_new" and "gelu_pytorch_tanh" that with '
    "tanh.": (CONFIG,),
    "`attention_mask`, in int64, int32, int16, int8 or uint8, is 1 for a token and 0 for "
    "padding, to which no query attends.": (SIZES, PADDING, STATES),
    "A row that is all padding may give any finite numbers.": (PADDING,),
    "There is no dropout": (STATES, TRACE),
    "Tensors may be non-contiguous.": ("test_encoders_and_batches_of_any_size",),
    "No argument is changed.": (TRACE,),
    "gives `weights` with `embeddings.word_embeddings.weight` and `embeddings.LayerNorm.weight`, "
    "both float64, and without the last one. For 7 tokens, `states` is then a list of two tensors "
    "(1, 7, 128).": (EXAMPLE,),
    "its heads (`cls.`, `classifier.`, `qa_outputs.`) are left out": (FILES,),
    "Buffers such as `embeddings.position_ids` are no weights.": (FILES,),
    "Four entries of `config` say what the tensors' shapes do not": (
        SIZES,),
}  # fmt: skip
