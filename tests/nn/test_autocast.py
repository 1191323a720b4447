"""`amp.autocast`: products in half precision for a block or a function, in every mode."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops, optim
from adjoint.amp import autocast

RNG = np.random.default_rng(0)
X, W = (ad.Tensor(RNG.standard_normal(s).astype(np.float32)) for s in ((5, 4), (4, 3)))
HALF = (X.asnumpy().astype(np.float16).astype(np.float32) @ W.asnumpy().astype(np.float16).astype(np.float32)).astype(
    np.float16
)


def loss(x, w):
    return ops.tanh(x @ w).sum()


def test_products_are_rounded_and_nothing_else() -> None:
    with autocast():
        y = X @ W
        assert y.dtype == np.float32
        np.testing.assert_allclose(y.asnumpy(), HALF, rtol=2e-3, atol=1e-3)
        assert (ops.sin(X) == X.sin()).all() and (ad.Tensor(X.asnumpy() @ W.asnumpy()) != X @ W).any()
        assert np.array_equal((X.double() @ W.double()).asnumpy(), X.double().asnumpy() @ W.double().asnumpy())
        conv = nn.Conv2d(1, 1, 3)(ops.ones((1, 1, 4, 4)) / 3)
        assert conv.dtype == np.float32
        with autocast(enabled=False):
            assert np.array_equal((X @ W).asnumpy(), X.asnumpy() @ W.asnumpy())
    assert np.array_equal((X @ W).asnumpy(), X.asnumpy() @ W.asnumpy())


def test_gradients_in_dynamic_and_compiled_code_agree() -> None:
    run = ad.jit(ad.value_and_grad(loss, (0, 1)))
    plain = [run(X, W) for _ in range(3)][-1]
    with autocast():
        dynamic = ad.value_and_grad(loss, (0, 1))(X, W)
        compiled = [run(X, W) for _ in range(3)][-1]
    again = run(X, W)
    for d, c, p, a in zip(dynamic[1], compiled[1], plain[1], again[1], strict=True):
        assert d.dtype == np.float32 and np.array_equal(p.asnumpy(), a.asnumpy())
        np.testing.assert_allclose(d.asnumpy(), c.asnumpy(), rtol=1e-3, atol=1e-3)
        assert not np.array_equal(c.asnumpy(), p.asnumpy())
        np.testing.assert_allclose(d.asnumpy(), p.asnumpy(), rtol=2e-2, atol=1e-2)
    assert [c.reason for c in run.compilations] == ["first call", "autocast changed from none to float16"]


def test_a_decorator_and_a_block_inside_compiled_code() -> None:
    @autocast()
    def decorated(x):
        if x.sum() > 100:
            x = x * 2
        return x @ W

    @ad.jit
    def inside(x):
        with autocast():
            y = x @ W
        return y, x @ W

    low, full = inside(X)
    for found in (decorated(X), ad.jit(decorated)(X), low):
        np.testing.assert_allclose(found.asnumpy(), HALF, rtol=2e-3, atol=1e-3)
    np.testing.assert_allclose(full.asnumpy(), X.asnumpy() @ W.asnumpy(), rtol=1e-6)
    assert not np.array_equal(full.asnumpy(), low.asnumpy())
    with autocast():
        np.testing.assert_allclose(ad.vmap(lambda r: r @ W)(X).asnumpy(), HALF, rtol=2e-3, atol=1e-3)


def test_a_compiled_step() -> None:
    w = ad.Parameter(W, name="w")
    step = optim.compiled_step(autocast()(lambda x: loss(x, w)), [w], optim.SGD([w], lr=0.0))
    assert float(step(X)) == pytest.approx(float(np.tanh(HALF.astype(np.float32)).sum()), abs=5e-3)
    assert w.dtype == np.float32


def test_mistakes_are_named() -> None:
    for wrong in ("cuda", np.float32, loss):
        with pytest.raises(ValueError, match="must be float16 or bfloat16"):
            autocast(wrong)
