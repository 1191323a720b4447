"""Values that a tape keeps, packed by the user: those that rules read, and no others."""

from __future__ import annotations

import numpy as np

import adjoint as ad
from adjoint.core import context


def test_what_rules_read_is_packed_and_unpacked():
    packed: list[np.ndarray] = []

    def pack(x):
        packed.append(x.asnumpy())
        return len(packed) - 1

    def f(x, y):
        with context.setting(context.packing, (pack, lambda place: ad.Tensor(packed[place]))):
            z = ad.ops.exp(x) + y  # the sum keeps nothing, exp its result
        return z * x

    x, y = ad.Tensor([0.5, 1.0]), ad.Tensor([2.0, 3.0])
    dx, dy = ad.grad(f, (0, 1))(x, y)
    assert len(packed) == 1
    np.testing.assert_allclose(packed[0], np.exp(x.asnumpy()), rtol=1e-6)
    want = ad.grad(lambda x, y: (ad.ops.exp(x) + y) * x, (0, 1))(x, y)
    np.testing.assert_array_equal(dx, want[0])
    np.testing.assert_array_equal(dy, want[1])
