# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every attention of the library and the bodies of one's own in f64, in the view that hides in most ways."""

import numpy
import test_attention_variants as variants
from test_half_attentions import CORE

VIEW = "lengths and causal of each row"
BODIES = CORE | variants.BODIES
# What stays of a double's 1.1e-16 behind sums and exponentials.
TOLERANCE = 2e-12


def no_f32(array):
    """Numbers that f32 cannot hold."""
    return array.astype(numpy.float64) * (1 + 2**-33)


def assert_close(found, expected, what):
    assert found.dtype == numpy.float64 and found.shape == expected.shape, what
    numpy.testing.assert_allclose(found, expected, TOLERANCE, TOLERANCE, err_msg=str(what))


def test_every_attention(compiler):
    library = compiler.library(variants.text(variants.VIEWS[VIEW], BODIES), "--float", "f64").prepare({})
    variants.check(library, VIEW, BODIES, rounded=no_f32, assert_close=assert_close)
