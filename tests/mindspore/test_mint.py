"""mindspore.mint where MindSpore has no kernel for the CPU: compared with NumPy, gradients with differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint.mindspore as ms
from adjoint.mindspore import Tensor, mint

X = np.cos(np.arange(12)).reshape(3, 4)
Y = np.sin(np.arange(12) * 0.7).reshape(3, 4) + 1.5
INDEX = np.array([[0, 3], [1, 1], [2, 0]])


def scattered(x: Any, y: Any) -> Any:
    out = x.copy()
    np.add.at(out, (np.arange(3)[:, None], INDEX), y)
    return out


F = mint.nn.functional
CASES = {
    "cat": (lambda x, y: mint.cat((x, y), dim=1), lambda x, y: np.concatenate((x, y), 1)),
    "stack": (lambda x, y: mint.stack([x, y], dim=-1), lambda x, y: np.stack([x, y], -1)),
    "index_select": (lambda x, y: mint.index_select(x, 0, Tensor([2, 0, 2])), lambda x, y: x[[2, 0, 2]]),
    "scatter_add": (lambda x, y: mint.scatter_add(x, 1, Tensor(INDEX), y[:, :2]), lambda x, y: scattered(x, y[:, :2])),
    "sort": (lambda x, y: mint.sort(x, dim=0, descending=True)[0], lambda x, y: -np.sort(-x, 0)),
    "topk": (lambda x, y: mint.topk(x, 2)[0], lambda x, y: -np.sort(-x, 1)[:, :2]),
    "cumsum": (lambda x, y: mint.cumsum(x, 1), lambda x, y: np.cumsum(x, 1)),
    "select": (lambda x, y: mint.select(x, 1, 2), lambda x, y: x[:, 2]),
    "narrow": (lambda x, y: mint.narrow(x, 0, 1, 2), lambda x, y: x[1:3]),
    "repeat": (lambda x, y: mint.repeat_interleave(x, 2, dim=0), lambda x, y: np.repeat(x, 2, 0)),
    "norm": (lambda x, y: mint.norm(x), lambda x, y: np.linalg.norm(x)),
    "norm_1": (lambda x, y: mint.norm(x, 1, 1), lambda x, y: np.abs(x).sum(1)),
    "var": (lambda x, y: mint.var(x, dim=1), lambda x, y: x.var(1, ddof=1)),
    "std": (lambda x, y: mint.std(x, 0, correction=0, keepdim=True), lambda x, y: x.std(0, keepdims=True)),
    "logsumexp": (lambda x, y: mint.logsumexp(x, 1), lambda x, y: np.log(np.exp(x).sum(1))),
    "l1_loss": (F.l1_loss, lambda x, y: np.abs(x - y).mean()),
    "mse_loss": (mint.nn.MSELoss(reduction="sum"), lambda x, y: ((x - y) ** 2).sum()),
    "kl_div": (lambda x, y: F.kl_div(x, y, "sum"), lambda x, y: (y * (np.log(y) - x)).sum()),
    "smooth_l1": (lambda x, y: F.smooth_l1_loss(x, y, beta=9.0), lambda x, y: ((x - y) ** 2 / 18).mean()),
    "normalize": (lambda x, y: F.normalize(x, dim=1), lambda x, y: x / np.linalg.norm(x, axis=1, keepdims=True)),
    "layer_norm": (
        lambda x, y: mint.nn.LayerNorm(4, dtype=ms.float64)(x) * y,
        lambda x, y: (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * y,
    ),
    "silu": (lambda x, y: F.silu(x), lambda x, y: x / (1 + np.exp(-x))),
    "roll": (lambda x, y: mint.roll(x, 1, 0), lambda x, y: np.roll(x, 1, 0)),
    "tril": (lambda x, y: mint.tril(x), lambda x, y: np.tril(x)),
}


def differences(f: Any, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The gradient of the sum of f by x, from central differences."""
    out = np.zeros_like(x)
    for k in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[k] = 1e-6
        out[k] = (np.sum(f(x + step, y)) - np.sum(f(x - step, y))) / 2e-6
    return out


@pytest.mark.parametrize("name", CASES)
def test_a_function_and_its_gradient(name: str) -> None:
    ours, theirs = CASES[name]
    np.testing.assert_allclose(ours(Tensor(X), Tensor(Y)).asnumpy(), theirs(X, Y), rtol=1e-6, atol=1e-7)
    gradient = ms.grad(lambda x: ours(x, Tensor(Y)))(Tensor(X)).asnumpy()
    np.testing.assert_allclose(gradient, differences(theirs, X, Y), rtol=1e-4, atol=1e-6)


def test_layers_hold_parameters_by_pytorchs_names() -> None:
    net = mint.nn.Conv2d(2, 3, 2, padding=1)
    assert [(p.name, p.shape) for p in net.trainable_params()] == [("weight", (3, 2, 2, 2)), ("bias", (3,))]
    assert net(mint.ones(1, 2, 4, 4)).shape == (1, 3, 5, 5)
    assert [p.name for p in mint.nn.BatchNorm2d(2).get_parameters()][:2] == ["weight", "bias"]


def test_batch_norm_keeps_running_means_in_training() -> None:
    net = mint.nn.BatchNorm2d(1)
    net.set_train()
    net(Tensor(np.array([1.0, 3.0], np.float32).reshape(2, 1, 1, 1)))
    np.testing.assert_allclose(net.running_mean.asnumpy(), [0.2])
    np.testing.assert_allclose(net.running_var.asnumpy(), [0.9 + 0.1 * 2.0], rtol=1e-6)


def test_what_is_made_is_single_precision() -> None:
    made = (
        mint.ones((2, 3)),
        mint.zeros(2),
        mint.full((2,), 3.5),
        mint.linspace(0, 1, 5),
        mint.rand(2),
        mint.randn(2, 2),
    )
    assert {x.dtype.name for x in made} == {"float32"}
    assert mint.randint(0, 5, (3,)).dtype.name == "int64"


def test_a_transposed_convolution_is_the_transpose_of_the_convolution() -> None:
    from adjoint.mindspore import Tensor, mint

    draw = np.random.default_rng(3)
    net = mint.nn.ConvTranspose2d(2, 4, 3, stride=2, padding=1, output_padding=1, groups=2, bias=False)
    x = Tensor(draw.normal(size=(1, 2, 3, 4)).astype(np.float32))
    z = Tensor(draw.normal(size=(1, 4, 6, 8)).astype(np.float32))
    there = mint.nn.functional.conv2d(z, net.weight, None, 2, 1, 1, 2)
    np.testing.assert_allclose(float((there * x).sum()), float((z * net(x)).sum()), rtol=1e-4)
