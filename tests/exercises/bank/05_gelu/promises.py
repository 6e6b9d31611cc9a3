"""What the page and the starter of 05_gelu promise, and the checks that hold it."""

ERF, TANH = "test_the_form_with_erf", "test_the_form_with_tanh"
SIZE = "test_numbers_of_any_size_and_sign"
DERF, DTANH = "test_the_gradient_of_the_form_with_erf", "test_the_gradient_of_the_form_with_tanh"
TYPES = "test_the_type_of_the_numbers_and_gaps_in_memory_make_no_difference"
TRACE = "test_nothing_is_left_behind"
KINDS = "test_sizes_and_kinds_of_numbers"

PROMISES = {
    # the page
    'gelu_forward(x, approximation="none") -> out': (ERF, TANH),
    'gelu_backward(dout, x, approximation="none") -> dx': (DERF, DTANH),
    r"\quad x\,\Phi(x)": (ERF,),
    r"\Phi(x) = \tfrac12\left(1 + \operatorname{erf}\frac{x}{\sqrt2}\right)": (ERF,),
    r"\tfrac12\,x\left(1 + \tanh\left(\sqrt{2/\pi}\,\left(x + 0.044715\,x^3\right)\right)\right)": (
        TANH,),
    "`x` has any shape, of one axis or more, and `out` has its shape and its dtype, "
    "float32 or float64.": (ERF, TANH, TYPES, KINDS),
    "the derivative of the chosen form times `dout`. `dout`, `x` and `dx` have the same "
    "dtype.": (
        DERF, DTANH, TYPES, KINDS, "test_arrays_of_any_shape_and_size"),
    "All results are finite for numbers up to 10,000 of either sign, in float32 too.": (SIZE,),
    "No input is changed": (TRACE,),
    "| `gelu_forward(x)` | -0.0455 | -0.1543 | 0 | 0.8413 | 2.9960 |": (ERF,),
    '| `gelu_forward(x, "tanh")` | -0.0454 | -0.1543 | 0 | 0.8412 | 2.9964 |': (TANH,),
    "| `gelu_backward(dout, x)` | -0.1705 | 0.2650 | 1 | 2.1666 | 2.0239 |": (DERF,),
    '| `gelu_backward(dout, x, "tanh")` | -0.1722 | 0.2653 | 1 | 2.1659 | 2.0232 |': (DTANH,),
    # the starter
    '`approximation` "none" uses Φ itself, as Hugging Face does; "tanh" uses the formula of '
    "Google's released code.": (ERF, TANH),
    "`x` is not changed, and the result has its type.": (TYPES, TRACE),
    "The gradient for `x`, given the gradient `dout` for `gelu_forward(x, approximation)`.": (
        DERF, DTANH),
    "Both arrays have the same type, and so has the result. None of them is changed.": (
        TYPES, TRACE),
    '`x` has any shape, of one axis or more, and `out` has its shape': (
        'test_any_scale_of_gradient_any_size_and_no_number_at_all',),
    "arrays may be non-contiguous": (TRACE,),
    '`x` has any shape': (
        "test_arrays_of_any_shape_and_size",),
}  # fmt: skip
