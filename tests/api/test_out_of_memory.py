"""What a gradient says that runs out of memory in dynamic mode."""

from __future__ import annotations

import gc
import re

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.api.memory_errors import kept_results
from adjoint.core.errors import MemoryBudgetError

MUCH = 10**14  # numbers, which no machine has room for


def layers(x):
    for _ in range(20):
        x = ops.tanh(x)
    return x


def too_much(x):
    x = layers(x)
    return ops.sum(ops.broadcast_to(x, (MUCH, *x.shape)) + x)  # here


@pytest.mark.parametrize("gradient", [ad.grad, ad.value_and_grad, lambda f: lambda x: ad.vjp(f, x)])
def test_the_line_the_bytes_and_what_would_help(gradient):
    with pytest.raises(MemoryError) as found:
        gradient(too_much)(np.ones(1000))
    text = str(found.value)
    assert re.search(r"Add.* Unable to allocate \S+ \wiB", text)
    assert text.endswith("ops.sum(ops.broadcast_to(x, (MUCH, *x.shape)) + x)  # here")
    count, size = re.search(r"([\d.]+) KiB are kept for the backward pass, in (\d+) arrays", text).group(2, 1)
    assert int(count) >= 20 and float(size) >= 20 * 8000 / 1024
    assert 'grad(f, checkpoint="sqrt")` (of what is kept so far, about' in text
    assert "GradientAccumulation(k)" in text
    assert text.count("kept for the backward pass") == 1


def test_it_is_said_once_where_gradients_are_nested():
    with pytest.raises(MemoryError) as found:
        ad.grad(lambda x: ops.sum(ad.grad(too_much)(x)))(np.ones(1000))
    assert str(found.value).count("kept for the backward pass") == 1


def test_in_the_backward_pass():
    @ad.custom_vjp
    def f(x):
        return ops.sum(x)

    @f.defvjp
    def rule(x, out, dout):
        return (ops.sum(ops.broadcast_to(x, (MUCH, 1000)) + x, 0),)

    with pytest.raises(MemoryError, match="kept for the backward pass"):
        ad.grad(lambda x: f(layers(x)))(np.ones(1000))


def test_without_a_gradient_the_line_is_said():
    with pytest.raises(MemoryError, match="Unable to allocate") as found:
        too_much(ad.Tensor(np.ones(10)))
    assert str(found.value).endswith("# here")


def test_what_users_and_budgets_say_stays():
    def mine(x):
        raise MemoryBudgetError("the budget is spent")

    with pytest.raises(MemoryBudgetError, match="^the budget is spent"):
        ad.grad(mine)(1.0)


def test_views_count_once():
    gc.collect()
    before = kept_results()
    x = ad.Tensor(np.ones((100, 50)))
    y, pull = ad.vjp(lambda x: ops.sum(ops.sin(x).reshape(50, 100)[3:7]), x)
    count, size = (a - b for a, b in zip(kept_results(), before, strict=True))
    assert 1 <= count <= 4 and 40_000 <= size < 3 * 40_000
    assert pull(y)[0].shape == (100, 50)
