"""Loops of unknown length on XLA: derivatives of derivatives, batches, checkpoints, no iterations, more than a buffer holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.core import tree
from adjoint.passes import PASSES

EVERY_PASS = tuple(name for name, _ in PASSES)


def same(f: Any, *args: Any, **options: Any) -> None:
    found, wanted = (tree.leaves(ad.jit(f, backend=b, **options)(*args)) for b in ("xla", "interpreter"))
    for x, y in zip(map(np.asarray, found), map(np.asarray, wanted), strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        np.testing.assert_allclose(x, y, rtol=2e-6 if x.dtype == np.float32 else 1e-9)


def one_in_another(x, n):
    total, i = 0.0, 0
    while i < n:
        y, k = x, 0
        while y < 10:
            y = y * y + 0.3 * k
            k = k + 1
        total = total + ops.sin(y) * x
        i = i + 1
        x = x * 0.9 + 0.7
    return total


def growing(x):
    while (x * x).sum() < 100:
        x = x + 0.3 * x / (1 + x)
    return (x * x).sum()


def second(f: Any) -> Any:
    return ad.grad(lambda x: ad.grad(f)(x).sum())


def third(x):
    return ad.grad(lambda x: second(growing)(x).sum())(x)


X, BATCH = np.array([0.4, 0.5, 0.6]), np.array([[0.4, 0.5, 0.6], [9.0, 8.0, 7.0], [1.0, 1.0, 0.2]])


def test_a_loop_in_a_loop():
    def both(x, n):
        push = ad.jvp(ad.grad(lambda x: one_in_another(x, n)), (x,), (1.0,))
        return ad.value_and_grad(one_in_another)(x, n), ad.grad(ad.grad(one_in_another))(x, n), push

    run, reference = (ad.jit(both, backend=b) for b in ("xla", "interpreter"))
    for n in (0, 3):
        found, wanted = (tree.leaves(f(1.3, ad.Tensor(n))) for f in (run, reference))
        np.testing.assert_allclose(found, wanted, rtol=1e-9)


def test_a_third_derivative():
    same(third, X)


def test_a_batch_of_which_each_example_has_its_own_number_of_iterations():
    same(ad.vmap(ad.value_and_grad(one_in_another)), np.array([1.3, 1.5, 2.0]), np.array([3, 0, 2]))


@pytest.mark.parametrize("off", [(), EVERY_PASS], ids=["passes", "no passes"])
@pytest.mark.parametrize(
    ("f", "x"),
    [
        (second(growing), X),
        (ad.vmap(ad.grad(growing)), BATCH),
        (ad.vmap(second(growing)), BATCH),
        (second(lambda x: ad.vmap(growing)(x).sum()), BATCH),
    ],
    ids=["second", "batch of gradients", "batch of second", "second of a batch"],
)
def test_what_a_loop_has_stacked_in_other_ops(f, x, off):
    same(f, x, passes_off=off)


def longer(x):
    while x < 300:
        x = x + 0.3 * x / (1 + x)
    return x


def test_the_length_of_buffers_is_remembered():
    run = ad.jit(ad.value_and_grad(longer), backend="xla")
    made = [run(1.3), run(1.4)]
    assert len(run.compilations) == 1
    for x, found in zip((1.3, 1.4), made, strict=True):
        np.testing.assert_allclose(found, ad.value_and_grad(longer)(x), rtol=1e-12)


def test_arguments_are_not_overwritten_by_a_run_that_may_have_to_be_done_again():
    x = ad.Tensor(np.full(3, 1.3), device="cpu:0")

    def f(x):
        y = x
        while y.sum() < 900:
            y = y + 0.3 * y / (1 + y)
        return y

    found = ad.jit(ad.grad(lambda x: f(x).sum()), backend="xla", donate=["x"])(x)
    np.testing.assert_allclose(np.asarray(found), ad.grad(lambda x: f(x).sum())(np.full(3, 1.3)), rtol=1e-12)


def of_two_dtypes(x):
    y, z = 1, 0
    while y < 50:
        y = y * 2.5 + x
        z = z + y
    return y * x, z


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_that_become_arrays_on_the_way(dtype):
    same(lambda x: ad.jvp(of_two_dtypes, (x,), (x * 0 + 1,)), dtype(1.3))


def left_early(xs):
    total = 0.0
    for x in xs:
        if x < 0:
            break
        if x > 3:
            continue
        total = total + x * x
    return total


@pytest.mark.parametrize("xs", [[1.0, 2.0, 4.0, -1.0, 2.0], [-1.0, 2.0]])
def test_loops_that_are_left_early(xs):
    same(lambda x: (ad.value_and_grad(left_early)(x), ad.hessian(left_early)(x)), np.array(xs))
    same(ad.vmap(ad.grad(left_early)), np.array([xs, xs[::-1]]))


@pytest.mark.parametrize("policy", ["sqrt", "binomial"])
def test_states_that_are_computed_again(policy):
    same(ad.value_and_grad(longer, checkpoint=policy), 1.3)
