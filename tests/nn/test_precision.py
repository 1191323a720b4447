"""Mixed precision by levels and by lists: what is rounded, and what stays in float32."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint import amp, nn, ops

THIRD = np.float32(1 / 3)
X = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)


def rounded(x):
    return np.float32(np.float16(x))


class Net(nn.Cell):
    """A product in a layer, one in a branch, and one in a loop."""

    def __init__(self):
        super().__init__()
        self.first, self.norm, self.gru = nn.Dense(3, 8), nn.LayerNorm((8,)), nn.GRU(3, 4)

    def construct(self, x):
        y = self.norm(self.first(x))
        y = y @ y.T if ops.sum(x) > 0 else 2 * (y @ y.T)
        z, _ = self.gru(ops.stack([x * k for k in range(12)]))
        return ops.mean(y * y) + ops.mean(z)


@pytest.mark.parametrize("mode", ["dynamic", "static"])
def test_products_are_rounded_and_the_rest_is_not(mode):
    class Sums(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = ad.Parameter(np.full((1, 1), THIRD))

        def construct(self, x):
            return x @ self.w + self.w * x

    net = amp.auto_mixed_precision(Sums(), "O1")
    run = net if mode == "dynamic" else ad.jit(net)
    y = run(np.full((1, 1), THIRD))
    assert y.dtype == "float32"
    product = rounded(rounded(THIRD) * rounded(THIRD))
    np.testing.assert_array_equal(y.asnumpy(), [[product + THIRD * THIRD]])
    (g,) = ad.grad(net, None, weights=net.trainable_params())(np.full((1, 1), THIRD))
    assert g.dtype == "float32"
    np.testing.assert_array_equal(g.asnumpy(), [[rounded(THIRD) + THIRD]])


def test_in_branches_and_loops_of_a_compiled_graph():
    ad.set_seed(0)
    net = Net()
    weights = net.trainable_params()
    exact, _ = ad.value_and_grad(net, None, weights=weights)(X)
    amp.auto_mixed_precision(net, "O1")
    run = ad.value_and_grad(net, None, weights=weights)
    value, grads = run(X)
    compiled = ad.jit(run)
    again, same = compiled(X)
    assert 0 < abs(value.item() - exact.item()) < 1e-2 * abs(exact.item())
    np.testing.assert_allclose(again.item(), value.item(), rtol=1e-6)  # rounded in another order
    for a, b in zip(grads, same, strict=True):
        np.testing.assert_allclose(
            a.asnumpy(), b.asnumpy(), rtol=2e-3, atol=1e-4
        )  # sums over time are rounded in another order
    assert {g.dtype.name for g in grads} == {"float32"}


def test_second_derivatives_and_batches_go_through():
    net = amp.auto_mixed_precision(nn.SequentialCell(nn.Dense(3, 5), nn.Tanh(), nn.Dense(5, 1)), "O1")
    f = lambda x: ops.sum(net(x))
    h = ad.jvp(ad.grad(f), (X[0],), (X[1],))[1]
    assert h.dtype == "float32" and np.isfinite(h.asnumpy()).all() and h.asnumpy().any()
    np.testing.assert_allclose(ad.vmap(net)(X).asnumpy(), net(X).asnumpy(), rtol=2e-3)


@pytest.mark.parametrize(
    ("level", "dtypes"), [("O0", ["float32"] * 2), ("O2", ["float16", "float32"]), ("O3", ["float16"] * 2)]
)
def test_levels_switch_cells(level, dtypes):
    net = nn.SequentialCell(nn.Dense(3, 4), nn.LayerNorm((4,)))
    seen = []
    for cell in net.cells():
        cell.register_forward_hook(lambda cell, inputs, output: seen.append(output.dtype.name))
    assert amp.auto_mixed_precision(net, level)(X).dtype == "float32"
    assert seen == dtypes


def test_lists_of_ones_own():
    net = nn.SequentialCell(nn.Dense(3, 4), nn.Softmax())
    seen = []
    net[1].register_forward_pre_hook(lambda cell, inputs: seen.append(inputs[0]))
    amp.custom_mixed_precision(net, white_list=[nn.Dense])
    net(X)
    assert seen[0].dtype == "float32"
    np.testing.assert_array_equal(
        seen[0].asnumpy(), rounded(seen[0].asnumpy())
    )  # the whole layer was in half precision
    half = amp.custom_mixed_precision(nn.SequentialCell(nn.Dense(3, 4)), black_list=[nn.Dense])
    np.testing.assert_array_equal(
        half(np.zeros((1, 3), np.float32)).asnumpy(), rounded(0) + half.network[0].bias.asnumpy()[None]
    )


def test_mistakes():
    with pytest.raises(ValueError, match="the level must be O0, O1, O2 or O3, not 'O7'"):
        amp.auto_mixed_precision(nn.Dense(1, 1), "O7")
    with pytest.raises(ValueError, match="one of white_list and black_list"):
        amp.custom_mixed_precision(nn.Dense(1, 1))
    with pytest.raises(TypeError, match="classes of ops and Cells, not 'MatMul'"):
        amp.custom_mixed_precision(nn.Dense(1, 1), white_list=["MatMul"])
