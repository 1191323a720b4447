"""vmap: axes, nesting, and its company with derivatives."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops

RNG = np.random.default_rng(0)
M = RNG.normal(size=(4, 3))
W = RNG.normal(size=(3, 3))


def close(a, b, rtol=1e-10):
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=rtol)


def test_in_and_out_axes():
    f = lambda r: r * r.sum()
    expected = M * M.sum(1, keepdims=True)
    close(ad.vmap(f)(M), expected)
    close(ad.vmap(f, in_axes=1)(M.T), expected)
    close(ad.vmap(f, out_axes=1)(M), expected.T)
    close(ad.vmap(f, in_axes=-1, out_axes=-1)(M.T), expected.T)


def test_shared_inputs_and_nested_axes():
    close(ad.vmap(lambda r, w: w @ r, in_axes=(0, None))(M, W), M @ W.T)
    close(ad.vmap(lambda p: p["r"] * p["s"], in_axes=({"r": 0, "s": None},))({"r": M, "s": 2.0}), 2 * M)
    a, b = ad.vmap(lambda r: (r.sum(), r * 2), out_axes=(0, 1))(M)
    close(a, M.sum(1))
    close(b, 2 * M.T)


def test_nested_vmap():
    outer = ad.vmap(lambda x: ad.vmap(lambda y: x * y)(M[0]))(M[:, 0])
    close(outer, np.outer(M[:, 0], M[0]))
    pairs = ad.vmap(ad.vmap(lambda a, b: (a - b) ** 2, in_axes=(None, 0)), in_axes=(0, None))(M[:, 0], M[:, 1])
    close(pairs, (M[:, :1] - M[None, :, 1]) ** 2)


def test_per_example_gradients():
    loss = lambda w, x: ops.tanh(w @ x).sum()
    each = ad.vmap(ad.grad(loss), in_axes=(None, 0))(W, M)
    close(each, np.stack([ad.grad(loss)(W, x) for x in M]))
    total = ad.grad(lambda w: ad.vmap(lambda x: loss(w, x))(M).sum())(W)
    close(total, np.asarray(each).sum(0))
    close(ad.vmap(ad.hessian(lambda x: (x**3).sum()))(M), np.stack([np.diag(6 * x) for x in M]))
    _, t = ad.jvp(ad.vmap(lambda x: x * x), M, np.ones_like(M))
    close(t, 2 * M)


def test_constants_and_random_access_under_vmap():
    close(ad.vmap(lambda x: ad.Tensor(7.0, ad.float64))(M), np.full(4, 7.0))
    close(ad.vmap(lambda x, i: x[i])(M, np.array([0, 2, 1, 0])), M[np.arange(4), [0, 2, 1, 0]])
    close(ad.vmap(lambda x: ops.where(x > 0, x, 0.0))(M), np.maximum(M, 0))

    def assign(x, i):
        y = x.copy()
        y[i] = 100.0
        return y

    expected = M.copy()
    expected[np.arange(4), [0, 2, 1, 0]] = 100
    close(ad.vmap(assign)(M, np.array([0, 2, 1, 0])), expected)


def test_networks_under_vmap():
    w = ad.Parameter(W)
    close(ad.vmap(lambda x: w @ x)(M), M @ W.T)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ad.vmap(lambda a, b: a)(np.ones(3), np.ones(4)), r"differ in size \(input 0: 3, input 1: 4\)"),
        (lambda: ad.vmap(lambda a: a, in_axes=None)(np.ones(3)), "no input of .* has a batch axis"),
        (lambda: ad.vmap(lambda a: a, in_axes=2)(np.ones(3)), r"in_axes 2 for input 0 .* has shape \(3,\)"),
        (lambda: ad.vmap(lambda a, b: a, in_axes=(0,))(np.ones(3), np.ones(3)), "in_axes has 1 entries for 2 values"),
        (lambda: ad.vmap(lambda a: None)(np.ones(3)), "returned nothing"),
        (lambda: ad.vmap(lambda a: a, out_axes=None)(np.ones(3)), "out_axes is None for an output that differs"),
        (lambda: ad.vmap(lambda a: a, out_axes=3)(np.ones(3)), "out_axes 3 for an output of 1 axes"),
    ],
)
def test_refusals(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_a_python_branch_on_a_batch_is_refused_with_the_rewrite():
    with pytest.raises(TypeError, match="Use ops.where for a choice"):
        ad.vmap(lambda x: x if x > 0 else -x)(np.ones(3))


def test_truth_of_a_batch_stays_a_batch():
    """`not`, `bool`, `in` and comparisons of each example, inside a graph."""

    def f(a, v):
        if not v[a.astype("int64")] < -1.0:
            return a * 2.0
        return v.sum()

    def g(a, v):
        return a * 2.0 if bool(a > 1.0) and not bool(a > 2.0) else v.sum()

    a, v = np.array([0.1, 1.2, 2.3]), np.array([1.0, -2.0, 1.0]) * np.ones((3, 1))
    for fn in (f, g):
        wanted = [float(fn(ad.Tensor(x), ad.Tensor(y))) for x, y in zip(a, v, strict=True)]
        np.testing.assert_allclose(ad.jit(ad.vmap(fn))(a, v), wanted)
        np.testing.assert_allclose(ad.vmap(ad.jit(fn))(a, v), wanted)
