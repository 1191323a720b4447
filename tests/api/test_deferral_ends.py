"""What ends a deferred call, inside of any block: what was noted is computed as if nothing had been deferred."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops
from deferred_calls import X, alike, at_once

__all__ = ["at_once"]

BLOCKS: dict[str, Callable[[], Any]] = {
    "nothing": contextlib.nullcontext,
    "no_grad": ad.no_grad,
    "errstate": lambda: np.errstate(all="ignore"),
    "autocast": lambda: ad.amp.autocast(ad.float16),
    "tape": ad.GradientTape,
}


def fails(y: Any) -> None:
    with contextlib.suppress(ValueError):
        y @ ops.ones((5, 2))


ENDS: dict[str, Callable[[Any], Any]] = {
    "print": str,
    "numbers": lambda y: y.asnumpy(),
    "item": lambda y: y.mean().item(),
    "detached": lambda y: y.detach().sum().item(),
    "branch": lambda y: bool(y.sum() > 0),
    "error": fails,
}


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("end", ENDS)
def test_a_call_that_asks_within_a_block(end: str, block: str) -> None:
    def loss(x: Any) -> Any:
        y = ops.tanh(x)
        z = y * ops.exp(-x * x)
        with BLOCKS[block]():
            ENDS[end](y)
        return (z * y).sum()

    alike(lambda: ad.value_and_grad(loss)(ad.Tensor(X)), 9)


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("end", ENDS)
def test_a_call_that_asks_once_it_is_machine_code(end: str, block: str) -> None:
    asks = [False]

    def loss(x: Any) -> Any:
        y = ops.tanh(x)
        z = y * ops.exp(-x * x)
        if asks[0]:
            with BLOCKS[block]():
                ENDS[end](y)
        return (z * y).sum()

    alike(lambda: ad.value_and_grad(loss)(ad.Tensor(X)))
    asks[0] = True
    alike(lambda: ad.value_and_grad(loss)(ad.Tensor(X)))
    asks[0] = False
    alike(lambda: ad.value_and_grad(loss)(ad.Tensor(X)))


@pytest.mark.parametrize("block", ["no_grad", "nothing"])
def test_another_number_within_a_block(block: str) -> None:
    k = [1]

    def loss(x: Any) -> Any:
        y = ops.tanh(x)
        with BLOCKS[block]():
            w = ops.exp(-x * x) * k[0]
        return (y * w).sum()

    alike(lambda: ad.grad(loss)(ad.Tensor(X)))
    k[0] = 2
    alike(lambda: ad.grad(loss)(ad.Tensor(X)))


def test_a_network_that_logs() -> None:
    ad.set_seed(0)
    net = nn.Dense(3, 1)

    def loss(x: Any) -> Any:
        y = net(x)
        with ad.no_grad():
            y.mean().item()
        return (y * y).mean()

    step = ad.value_and_grad(loss, None, weights=net.trainable_params())
    alike(lambda: step(ad.Tensor(X)), 9)


@pytest.mark.parametrize(
    "transform", [ad.grad, ad.value_and_grad, ad.jacrev, ad.jacfwd, ad.hessian, lambda f: ad.vmap(ad.grad(f))]
)
def test_a_rule_in_two_functions_is_asked_in_every_call(transform: Any) -> None:
    @ad.custom_vjp
    def rough(x: Any) -> Any:
        return ops.tanh(x)

    rough.defvjp(lambda x: (ops.tanh(x), x), lambda x, d: (d * x * 100.0,))
    found = alike(lambda: transform(lambda x: (rough(x) * x).sum())(ad.Tensor(X)), 6)
    assert np.abs(found[-1]).max() > 20


def test_a_rule_in_two_functions_of_a_product_with_the_hessian() -> None:
    @ad.custom_vjp
    def rough(x: Any) -> Any:
        return ops.tanh(x)

    rough.defvjp(lambda x: (ops.tanh(x), x), lambda x, d: (d * x * 100.0,))
    alike(lambda: ad.hvp(lambda x: (rough(x) * x).sum())(ad.Tensor(X), ad.Tensor(np.ones_like(X))), 6)


def test_errors_of_indices_have_one_class() -> None:
    places = np.arange(3)
    gradient = ad.grad(lambda x: (ops.tanh(x)[places] * ops.exp(x)[places]).sum())
    for call in range(8):
        places[0] = 10**6 if call in (0, 7) else 0
        if call in (0, 7):
            with pytest.raises(ad.AdjointError, match="1000000"):
                gradient(ad.Tensor(X))
        else:
            gradient(ad.Tensor(X))


def test_errors_of_numpys_arithmetic_are_raised_in_every_call() -> None:
    def guarded(x: Any) -> Any:
        with np.errstate(all="raise"):
            try:
                y = ops.log(x)
            except FloatingPointError:
                y = x * 3.0
        return (ops.tanh(x) * y).sum()

    gradient = ad.grad(guarded)
    for call in range(8):
        x = np.linspace(0.1, 1.0, 9)
        if call == 7:
            x[5] = 0.0
        found = np.asarray(gradient(x))
    np.testing.assert_allclose(found[5], 0.0, atol=1e-12)
    np.testing.assert_allclose(found[4], 3 * (np.tanh(x[4]) + x[4] / np.cosh(x[4]) ** 2))


def test_numpys_arithmetic_that_raises_around_a_gradient() -> None:
    gradient = ad.grad(lambda x: ops.log(x).sum() + ops.tanh(x).sum())
    for _ in range(5):
        gradient(ad.Tensor(np.ones(3)))
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        gradient(ad.Tensor(np.zeros(3)))


def test_values_of_a_batch_that_are_kept_by_the_function() -> None:
    """They belong to the batch, which is over at the end of the call: only their use is an error, as without deferral."""
    held: list[Any] = []

    def leaking(x: Any) -> Any:
        y = ops.tanh(x)
        held[:] = [y]
        return (y * x).sum()

    alike(lambda: ad.vmap(leaking)(ad.Tensor(X)), 6)
    alike(lambda: ad.vmap(ad.grad(leaking))(ad.Tensor(X)), 6)
    with pytest.raises(ad.AdjointError, match="ended"):
        held[0] + 1.0


def unneeded(x: Any) -> Any:
    ops.linalg.inv(x)
    return (x * x).sum()


def linear(x: Any) -> Any:
    return (x * x).sum() + ops.linalg.inv(ops.stop_gradient(x)).sum()


@pytest.mark.parametrize("transform", [ad.grad, ad.hessian, ad.jacrev])
@pytest.mark.parametrize("function", [unneeded, linear])
def test_errors_of_steps_that_no_result_needs(transform: Any, function: Any) -> None:
    gradient = transform(function)
    for _ in range(6):
        gradient(ad.Tensor([[1.0, 0.0], [0.0, 1.0]]))
    with pytest.raises(np.linalg.LinAlgError):
        gradient(ad.Tensor([[0.0, 0.0], [0.0, 0.0]]))


def test_what_is_known_before_an_error() -> None:
    held: list[Any] = []

    def f(x: Any) -> Any:
        y = ops.exp(x)
        z = ops.linalg.inv(x)
        held.extend((y, z) if len(held) >= 6 else (None,))
        return (y * z).sum()

    gradient = ad.grad(f)
    for _ in range(6):
        gradient(ad.Tensor([[1.0, 0.0], [0.0, 1.0]]))
    with pytest.raises(np.linalg.LinAlgError):
        gradient(ad.Tensor([[0.0, 0.0], [0.0, 0.0]]))
    np.testing.assert_allclose(held[-2].asnumpy(), np.ones((2, 2)))
    with pytest.raises(np.linalg.LinAlgError):
        held[-1].asnumpy()
