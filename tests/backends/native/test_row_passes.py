"""Passes over the rows of large arrays: they follow one another, hand memory on, and results are as the interpreter has them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adjoint as ad
from adjoint import ops
from adjoint.backends.native.plan import node_order

ROWS, COLUMNS = 61, 1100  # more elements than what is large, and rows that fill no whole number of vectors

STEPS: list[Callable[[Any, Any, Any], Any]] = [
    lambda x, y, labels: ops.softmax(x, 1) * COLUMNS,
    lambda x, y, labels: ops.log_softmax(x, 1) * 0.1 + y,
    lambda x, y, labels: x - ops.max(x, 1, keepdims=True),
    lambda x, y, labels: x / (1.0 + ops.sum(x * x, 1, keepdims=True)) + 0.5 * y,
    lambda x, y, labels: x * ops.mean(ops.take_along_axis(y, labels[:, None], 1)),  # a number that all rows wait for
    lambda x, y, labels: ops.tanh(x) * ops.sum(ops.exp(-y * y), 1, keepdims=True) * 0.01,
    lambda x, y, labels: ops.where(x > ops.mean(x, 1, keepdims=True), x, 0.5 * y),
    lambda x, y, labels: x + ops.sum(y, 0) * 0.01,  # goes over the columns
    lambda x, y, labels: ops.cumsum(x, 1) * 0.01 + y,  # a kernel
]


def program(steps: list[tuple[int, int]], kept: list[int]) -> Callable[..., Any]:
    def run(x: Any, y: Any, labels: Any) -> Any:
        values = [x, y]
        for step, j in steps:
            values.append(STEPS[step](values[-1], values[-1 - j % len(values)], labels))
        rows = ops.cross_entropy(values[-1], labels)
        return [rows, values[-1], *(values[k % len(values)] for k in kept)]

    return run


def data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    draw = np.random.default_rng(0)
    return (*draw.standard_normal((2, ROWS, COLUMNS)), draw.integers(0, COLUMNS, ROWS))


def check(fn: Callable[..., Any]) -> None:
    """Compiled and interpreted: the same results, and the arguments as they were."""
    x, y, labels = data()
    before = x.copy(), y.copy()
    found, wanted = (ad.jit(fn, backend=backend)(x, y, labels) for backend in ("native", "interpreter"))
    assert (x == before[0]).all()
    assert (y == before[1]).all()
    for a, b in zip(ad.tree.leaves(found), ad.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=0, atol=1e-9 * (1 + np.abs(np.asarray(b)).max()))


Programs = st.lists(st.tuples(st.integers(0, len(STEPS) - 1), st.integers(0, 5)), min_size=1, max_size=5)


@given(Programs, st.lists(st.integers(0, 5), max_size=2), st.booleans())
@settings(max_examples=12, deadline=None)
def test_random_programs(steps: list[tuple[int, int]], kept: list[int], differentiated: bool) -> None:
    run = program(steps, kept)
    check(ad.value_and_grad(lambda x, y, labels: run(x, y, labels)[0], (0, 1)) if differentiated else run)


def test_random_programs_within_their_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADJOINT_CHECKED", "1")
    for steps in ([(0, 0), (1, 1)], [(4, 1), (5, 2)], [(6, 0), (3, 1), (0, 0)]):
        check(ad.grad(lambda x, y, labels, steps=steps: program(steps, [])(x, y, labels)[0], (0, 1)))


def test_the_gradient_of_a_cross_entropy_takes_no_memory_but_its_result() -> None:
    x, _, labels = data()
    step = ad.jit(ad.value_and_grad(ops.cross_entropy))
    report = step.memory(x, labels)
    assert report.result_bytes == x.nbytes + 8
    assert report.arena_bytes < x.nbytes / 20  # the scores' exponentials are in the result
    space = f"({ROWS}, {COLUMNS})"
    assert f"row-fused loops over {space} then {space} then {space}" in step.explain(x, labels)


def test_a_softmax_takes_no_memory_but_its_result() -> None:
    x, _, _ = data()
    assert ad.jit(lambda x: ops.softmax(x, 1)).memory(x).arena_bytes < x.nbytes / 20


def test_what_a_later_pass_still_reads_is_not_written_over() -> None:
    def both(x: Any, y: Any, labels: Any) -> Any:
        exponentials = ops.exp(x - ops.max(x, 1, keepdims=True))
        shares = exponentials / ops.sum(exponentials, 1, keepdims=True)
        return shares, shares - exponentials * ops.sum(shares * shares, 1, keepdims=True)

    check(both)


def test_an_update_of_a_result_whose_base_is_read_afterwards_keeps_the_base() -> None:
    def updated(x: Any, y: Any, labels: Any) -> Any:
        base = x * 2.0 + y
        moved = base * 1.0
        moved[np.arange(ROWS), labels] += 1.0
        return moved, ops.sum(base * moved, 1)

    check(updated)


def test_small_programs_keep_their_order() -> None:
    x = np.ones((4, 5))
    seen: list[bool] = []
    order = node_order.rows_together

    def noted(nodes: Any) -> Any:
        found = order(nodes)
        seen.append(found == list(nodes))
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("adjoint.backends.native.plan.units.rows_together", noted)
        ad.jit(lambda x: ops.softmax(x, 1) + ops.sum(x))(x)
    assert seen
    assert all(seen)
