# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Many expressions in one model, each a result of its own, beside their references."""

import numpy
from conftest import ATOL, RTOL

NAMES = {"float32": "", "float64": "", "int64": "i64", "int32": "i32", "bool": "bool"}


class Values:
    """The inputs of a run by name: floats as float64, as references want them."""

    def __init__(self, arrays):
        for name, array in arrays.items():
            array = numpy.asarray(array)
            if array.dtype == numpy.float32:
                array = array.astype(numpy.float64)
            setattr(self, name, array)
        self.float32 = arrays


def reference(function, values):
    with numpy.errstate(all="ignore"):
        return numpy.asarray(function(values))


def model_text(inputs, cases, first, body="", states=""):
    """A model that returns each expression of `cases`. Ranks and elements of the
    results are those of the references at the first run, unless a case gives its rank
    (of floats); their sizes are inferred."""
    results, names = [], []
    for i, (expression, function, *rank) in enumerate(cases):
        element = ""
        if not rank:
            expected = reference(function, Values(first))
            rank, element = [expected.ndim], NAMES[expected.dtype.name]
        sizes = ", ".join(f"R{i}x{k}" for k in range(*rank))
        results.append(f"r{i}: {element}[{sizes}]")
        names.append(expression)
    joined = ",\n    ".join(names)
    return (
        f"import cells, attention\n\nmodel m({inputs}) -> ({', '.join(results)}) {{\n"
        f"{body}  return {joined}\n}}\n"
    )


def check_cases(
    compiler, inputs, cases, runs, *options, body="", weights=None, exact=False,
    rtol=RTOL, atol=ATOL, declarations="",
):  # fmt: skip
    """Compiles `cases`, pairs of an expression and its reference over Values, and
    compares at each of `runs`, dictionaries of arrays. `weights` makes the parameters'
    arrays by name from the library; references then find them by `v.weights`, and the
    cases name their rank as a third."""
    text = declarations + model_text(inputs, cases, runs[0], body)
    if declarations:
        text = "import cells, attention\n" + text.replace("import cells, attention\n", "")
    library = compiler.library(text, *options)
    made = weights(library) if weights else {}
    library.prepare(made)
    for run in runs:
        found = library.run(**run)
        values = Values(run)
        values.weights = {n: a.astype(numpy.float64) for n, a in made.items()}
        sizes = {name: numpy.shape(array) for name, array in run.items()}
        wrong = []
        for i, (expression, function, *_) in enumerate(cases):
            expected = reference(function, values)
            message = difference(found[f"r{i}"], expected, exact, rtol, atol)
            if message:
                wrong.append(f"{expression}, inputs {sizes}:\n{message}")
        assert not wrong, "\n".join(wrong)


def difference(found, expected, exact, rtol=RTOL, atol=ATOL):
    """What is wrong with `found`; None if nothing is."""
    if found.shape != expected.shape:
        return f"shape {found.shape}, expected {expected.shape}"
    try:
        if exact or expected.dtype.kind in "bi":
            numpy.testing.assert_array_equal(found, expected.astype(found.dtype))
            if found.dtype.kind == "f":  # -0.0 equals 0.0
                numpy.testing.assert_array_equal(
                    numpy.signbit(found[found == 0]), numpy.signbit(expected[found == 0])
                )
        else:
            numpy.testing.assert_allclose(
                found.astype(numpy.float64), expected, rtol=rtol, atol=atol
            )
    except AssertionError as error:
        return str(error)
    return None
