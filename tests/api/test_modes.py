"""Dynamic and static mode give the same results."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops


@pytest.fixture
def static():
    ad.set_context(mode=ad.GRAPH_MODE)
    yield
    ad.set_context(mode=ad.PYNATIVE_MODE)


def test_gradients_in_static_mode(static):
    assert ad.get_context("mode") == ad.GRAPH_MODE
    f = ad.grad(lambda x, y: ops.sin(x) * y, (0, 1))
    for x in (0.5, 1.5):
        gx, gy = f(x, 3.0)
        np.testing.assert_allclose([gx, gy], [3 * np.cos(x), np.sin(x)])
    np.testing.assert_allclose(ad.grad(ad.grad(ops.sin))(0.5), -np.sin(0.5))


def test_weights_and_aux_in_static_mode(static):
    w = ad.Parameter(np.array([2.0]), name="w")
    (value, aux), g = ad.value_and_grad(lambda x: (w * x, x + 1), None, weights=w, has_aux=True)(np.array([3.0]))
    assert (value.item(), aux.item(), g.item()) == (6, 4, 3)
    w.set_data([5.0])
    assert ad.grad(lambda x: w * x)(np.array([3.0])).item() == 5


def test_pain_numpy_conversion_in_static_mode_is_refused(static):
    with pytest.raises(TypeError, match="Python needs a number here"):
        ad.grad(lambda x: x * x.asnumpy())(3.0)


def test_names():
    with pytest.raises(ValueError, match="mode must be GRAPH_MODE or PYNATIVE_MODE, not 7"):
        ad.set_context(mode=7)
    with pytest.raises(ValueError, match="there is no 'device', only 'mode'"):
        ad.get_context("device")


def test_public_graph_functions():
    forward, gradient = ad.graph.build_computational_graph(lambda x, y: ops.log(x) + x * y - ops.sin(y), [2.0, 5.0])
    assert [type(n.op).__name__ for n in forward.calls] == ["Log", "Mul", "Add", "Sin", "Sub"]
    assert [n.op for n in forward.topological_order()[:2]] == [p.op for p in forward.params]
    from adjoint.backends import interpreter

    g1, g2 = interpreter.compile(gradient)(2.0, 5.0)
    np.testing.assert_allclose([g1, g2], [5.5, 2 - np.cos(5)])
