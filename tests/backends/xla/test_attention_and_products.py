"""Attention as one part of a graph, products in half precision, and the backend without llvmlite."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.backends.xla import fused_attention
from adjoint.backends.xla.preparing import prepared
from adjoint.graph.fused import FusedPart
from adjoint.ops.einstein_sum import Einsum
from adjoint.ops.movement import Transpose

jax = pytest.importorskip("jax")


def drawn(*shapes, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(s).astype(np.float32) for s in shapes]


def attended(q, k, v, g, causal):
    return (ops.scaled_dot_product_attention(q, k, v, is_causal=causal) * g).sum()


@pytest.fixture
def kernel(monkeypatch):
    """JAX's own attention in place of cuDNN's, which a CPU does not have; how often it is asked for is counted."""
    asked = []
    monkeypatch.setattr(fused_attention, "kernel_on", lambda platform, dtype: asked.append(platform) or "xla")
    return asked


@pytest.mark.parametrize(("lead", "causal"), [((2, 3), True), ((), False), ((2, 1, 3), True)])
def test_the_kernel_gives_what_single_steps_give_and_so_do_its_derivatives(kernel, lead, causal):
    q, k, v, g = drawn(*[(*lead, 5, 8)] * 4)
    f = ad.value_and_grad(lambda q, k, v: attended(q, k, v, g, causal), (0, 1, 2))
    value, slopes = ad.jit(f, backend="xla")(q, k, v)
    assert kernel, "the kernel was not used"
    expected, wanted = f(q, k, v)
    np.testing.assert_allclose(value, expected, rtol=2e-5)
    for found, want in zip(slopes, wanted, strict=True):
        np.testing.assert_allclose(found, want, rtol=2e-4, atol=2e-5)


def test_other_derivatives_and_other_shapes(kernel):
    q, k, v, g = drawn((3, 8), (7, 8), (7, 2), (3, 2))
    f = lambda q: attended(q, k, v, g, False)
    second = ad.grad(lambda q: (ad.grad(f)(q) ** 2).sum())
    np.testing.assert_allclose(ad.jit(second, backend="xla")(q), second(q), rtol=1e-3, atol=1e-5)
    push = lambda q: ad.jvp(f, (q,), (q,))[1]
    np.testing.assert_allclose(ad.jit(push, backend="xla")(q), push(q), rtol=1e-4)
    qs, ks, gs = drawn((2, 3, 8), (2, 7, 8), (2, 3, 8), seed=1)
    whole = ad.vmap(ad.grad(lambda q, k, g: attended(q, k, k, g, False)))
    np.testing.assert_allclose(ad.jit(whole, backend="xla")(qs, ks, gs), whole(qs, ks, gs), rtol=1e-3, atol=1e-5)


def test_only_xla_takes_attention_as_a_whole():
    q, g = drawn((2, 5, 4), (2, 5, 4))
    f = lambda q: attended(q, q, q, g, True)
    parts = [n for n in ad.jit(ad.grad(f), backend="xla").graph(q).calls if isinstance(n.op, FusedPart)]
    assert [n.op.kernel for n in parts] == ["pull of attention"]  # the forward pass alone gives no result here
    assert not any(isinstance(n.op, FusedPart) for n in ad.jit(ad.grad(f), backend="native").graph(q).calls)
    inner = ad.jit(f, backend="xla")
    np.testing.assert_allclose(ad.jit(ad.grad(inner), backend="native")(q), ad.grad(f)(q), rtol=1e-4, atol=1e-6)


def test_products_of_half_precision_are_rounded_once():
    x, y = (ad.Tensor(a).astype(ad.bfloat16) for a in drawn((6, 33, 70), (70, 9)))
    found = ad.jit(lambda x, y: [x @ y, ops.einsum("aij,jk->ik", x, y)], backend="xla")(x, y)
    a, b = (np.asarray(t.astype(ad.float64)) for t in (x, y))
    for got, exact in zip(found, [a @ b, np.einsum("aij,jk->ik", a, b)], strict=True):
        assert got.dtype == ad.bfloat16
        np.testing.assert_allclose(np.asarray(got.astype(ad.float64)), exact, rtol=2**-8, atol=1e-4)


def test_the_gradient_of_a_shared_weight_is_one_product():
    x, w = drawn((3, 5, 4), (4, 2))
    f = ad.jit(ad.grad(lambda w, x: ((x @ w) ** 2).sum()), backend="xla")
    assert [n.op for n in prepared(f.graph(w, x)).calls if isinstance(n.op, Einsum)]
    np.testing.assert_allclose(f(w, x), ad.grad(lambda w, x: ((x @ w) ** 2).sum())(w, x), rtol=1e-4, atol=1e-5)


def stepped(loss, w, *batch, backend, optimiser):
    held = ad.Parameter(ad.Tensor(w), name="w")
    step = ad.optim.compiled_step(lambda *xs: loss(held, *xs), [held], optimiser([held]), backend=backend)
    losses = [float(step(*batch)) for _ in range(3)]
    return [n.op for n in prepared(step.graph(*batch)).calls], losses, held.asnumpy()


@pytest.mark.parametrize(
    ("loss", "turned"),
    [
        (lambda w, x: ((x @ w.T) ** 2).mean(), True),
        (lambda w, x: ((x @ w.swapaxes(0, 1)) ** 2).mean() + (w**2).sum(), None),  # two gradients in one
        (lambda w, x: ((x @ w.T) ** 2).mean() + ops.relu(x @ w[:4, :4]).sum(), None),
        (lambda w, x: ((x @ w.T[:, :2]) ** 2).mean(), None),
    ],
)
@pytest.mark.parametrize(
    "rule", [lambda ps: ad.optim.AdamW(ps, 0.1, weight_decay=0.0), lambda ps: ad.optim.SGD(ps, 0.1)]
)
def test_a_gradient_that_the_optimiser_reads_transposed_is_taken_so_at_once(loss, turned, rule):
    x, w = drawn((3, 5, 4), (7, 4))
    calls, *found = stepped(loss, w, x, backend="xla", optimiser=rule)
    _, *expected = stepped(loss, w, x, backend="interpreter", optimiser=rule)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    if turned:
        (product,) = (op for op in calls if isinstance(op, Einsum))
        assert product.result == "db"
        after = [op for op in calls[calls.index(product) :] if isinstance(op, Transpose)]
        assert not after


def test_a_gradient_that_is_also_read_as_it_is_stays_so():
    x, w = drawn((3, 5, 4), (2, 4))

    def both(w, x):
        g = ad.grad(lambda v: ((x @ v) ** 2).sum())(ops.transpose(w, (1, 0)))
        return ops.transpose(ops.exp(g * 0.01), (1, 0)), ops.tanh(g)

    f = ad.jit(both, backend="xla")
    for a, b in zip(f(w, x), both(ad.Tensor(w), ad.Tensor(x)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


WITHOUT_LLVMLITE = """
import sys
class Without:
    def __init__(self, finder):
        self.finder = finder
    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] == "llvmlite" else self.finder.find_spec(name, path, target)
sys.meta_path[:] = [Without(finder) for finder in sys.meta_path]
import adjoint as ad
from adjoint import ops
f = ad.jit(ad.value_and_grad(lambda x: (ops.tanh(x) * x).sum()), backend="xla")
print(*f(ad.Tensor([1.0, 2.0])))
assert "llvmlite" not in sys.modules
w = ad.Parameter(ad.Tensor([3.0]), name="w")
step = ad.optim.compiled_step(lambda x: ((w * x - 1.0) ** 2).sum(), [w], ad.optim.SGD([w], learning_rate=0.25), backend="xla")
print(step(ad.Tensor([1.0])), step(ad.Tensor([1.0])), w)
"""


def test_without_llvmlite():
    run = subprocess.run([sys.executable, "-c", WITHOUT_LLVMLITE], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[1] == "4.0 1.0 [1.5]"


def test_the_gradient_of_a_choice_along_an_axis_is_no_scatter():
    rng = np.random.default_rng(0)
    x, classes = rng.standard_normal((2, 4, 3)), rng.integers(-4, 4, (2, 1, 3))
    f = ad.grad(lambda x: (ops.take_along_axis(x, classes, 1) ** 3).sum())
    compiled = ad.jit(f, backend="xla")
    np.testing.assert_allclose(compiled(x), f(x), rtol=1e-12)


def test_what_half_precision_computes_again_is_what_single_steps_give():
    rng = np.random.default_rng(0)
    shapes = ((3, 5, 16), (16, 16), (16,), (16,))
    x, w, gamma, beta = (ad.Tensor(rng.standard_normal(s).astype(np.float32)).astype(ad.bfloat16) for s in shapes)

    def f(x, w, gamma, beta):
        return ops.cast(ops.gelu(ops.layer_norm(x @ w.T, (16,), gamma, beta), "tanh"), ad.float32).sum()

    both = ad.value_and_grad(f, (0, 1, 2, 3))
    compiled = ad.jit(both, backend="xla")
    kernels = [n.op.kernel for n in compiled.graph(x, w, gamma, beta).calls if isinstance(n.op, FusedPart)]
    assert kernels == ["layer_norm", "gelu", "pull of gelu", "pull of layer_norm"]
    (value, slopes), (expected, wanted) = compiled(x, w, gamma, beta), both(x, w, gamma, beta)
    np.testing.assert_allclose(float(value), float(expected), rtol=1e-5)
    for found, want in zip(slopes, wanted, strict=True):
        found, want = (np.asarray(t.astype(ad.float64)) for t in (found, want))
        np.testing.assert_allclose(found, want, rtol=2**-7, atol=2**-7 * np.abs(want).max())


@pytest.mark.parametrize(
    ("shape", "inner"), [((3, 5, 16), (16,)), ((4, 3, 6), (3, 6)), ((7,), (7,)), ((2, 1), (1,)), ((0, 4), (4,))]
)
@pytest.mark.parametrize("wanted", [(0, 1, 2), (0,), (1, 2), (0, 2)])
def test_layer_norm_in_half_precision_by_its_formula(shape, inner, wanted):
    x, gamma, beta, g = (ad.Tensor(v).astype(ad.bfloat16) for v in drawn(shape, inner, inner, shape))

    def f(x, gamma, beta):
        return ops.cast(ops.layer_norm(x, inner, gamma, beta, 1e-3) * g, ad.float32).sum()

    both = ad.value_and_grad(f, wanted)
    (value, slopes), (expected, others) = ad.jit(both, backend="xla")(x, gamma, beta), both(x, gamma, beta)
    np.testing.assert_allclose(float(value), float(expected), rtol=2e-2, atol=2e-2)
    for found, want in zip(slopes, others, strict=True):
        assert found.dtype == want.dtype
        found, want = (np.asarray(t.astype(ad.float64)) for t in (found, want))
        np.testing.assert_allclose(found, want, rtol=2**-6, atol=2**-7 * np.abs(want).max(initial=1.0))


def test_a_cotangent_of_zero_stays_one_beside_rows_that_are_not_finite():
    x = np.ones((3, 4), np.float32) * np.arange(4)
    x[1] = np.inf
    x, gamma, beta = (ad.Tensor(v).astype(ad.bfloat16) for v in (x, np.ones(4, np.float32), np.zeros(4, np.float32)))
    both = ad.grad(
        lambda x, gamma, beta: ops.cast(ops.layer_norm(x, (4,), gamma, beta)[::2] ** 3, ad.float32).sum(), (0, 1, 2)
    )
    with np.errstate(invalid="ignore"):
        found, wanted = ad.jit(both, backend="xla")(x, gamma, beta), both(x, gamma, beta)
    for a, b in zip(found, wanted, strict=True):
        a, b = (np.asarray(t.astype(ad.float64)) for t in (a, b))
        np.testing.assert_allclose(a, b, rtol=2**-6, atol=2**-6)
        assert np.isfinite(a).all()
