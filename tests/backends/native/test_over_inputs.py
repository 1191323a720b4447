"""Results of units written over inputs that die there: only where each element is read at the index at which it is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adjoint as ad
from adjoint import ops
from adjoint.backends.native.emit import over_inputs

N = 24

STEPS: list[Callable[[Any, Any], Any]] = [
    lambda x, y: x * 0.5 + y,
    lambda x, y: ops.tanh(x) - 0.25 * y,
    lambda x, y: ops.cumsum(x, 0) * 0.1 + y,  # a kernel: what it makes is in memory, and dies in what follows
    lambda x, y: ops.cumsum(x, 1) * 0.1 + ops.transpose(y, (1, 0)),
    lambda x, y: ops.cumsum(y, 0) * 0.1 + ops.cumsum(y, 0)[::-1] * 0.1 + x,
    lambda x, y: ops.tanh(ops.cumsum(x, 0) * 0.1 + ops.cumsum(y, 1)[:, :1]),
    lambda x, y: ops.concat([ops.cumsum(x, 0)[1:], y[:1]], 0) * 0.1,
    lambda x, y: ops.where(ops.cumsum(x, 0) > 0, y, ops.cumsum(x, 0) * 0.1),
    lambda x, y: ops.tanh(ops.matmul(x, y) * 0.1 + x) * y,
    lambda x, y: ops.matmul(x, x) * 0.1 * ops.cumsum(y, 0),
    lambda x, y: ops.matmul(ops.cumsum(y, 0) * 0.1, x) * 0.1 + ops.cumsum(y, 0) * 0.1,
    lambda x, y: x + ops.sum(ops.cumsum(y, 0), 1, keepdims=True) * 0.01,
    lambda x, y: ops.softmax(ops.cumsum(x, 0), 1) * y + ops.max(y, 0),
    lambda x, y: ops.reshape(ops.reshape(ops.cumsum(x, 0), (-1,)) * 0.1, (N, N)) + y,
]


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What has been written over what."""
    found: list[Any] = []
    ask = over_inputs.may_take_over

    def noted(emitter: Any, old: Any, root: Any) -> bool:
        yes = ask(emitter, old, root)
        if yes:
            found.append((old, root))
        return yes

    monkeypatch.setattr(over_inputs, "may_take_over", noted)
    return found


def program(steps: list[tuple[int, int, int]], kept: list[int]) -> Callable[..., Any]:
    def run(x: Any, y: Any) -> Any:
        values = [x, y]
        for step, i, j in steps:
            values.append(STEPS[step](values[i % len(values)], values[-1 - j % len(values)]))
        return [values[-1], *(values[k % len(values)] for k in kept)]

    return run


def check(fn: Any, x: np.ndarray, y: np.ndarray) -> None:
    """Compiled and interpreted: the same results, and the arguments as they were."""
    before = x.copy(), y.copy()
    found, wanted = (ad.jit(fn, backend=backend)(x, y) for backend in ("native", "interpreter"))
    assert (x == before[0]).all()
    assert (y == before[1]).all()
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(np.asarray(a), b, rtol=0, atol=1e-9 * (1 + np.abs(np.asarray(b)).max()))


def test_random_programs(taken: list[Any]) -> None:
    draw = np.random.default_rng(0)

    @given(
        st.lists(
            st.tuples(st.integers(0, len(STEPS) - 1), st.integers(0, 9), st.integers(0, 2)), min_size=2, max_size=9
        ),
        st.lists(st.integers(0, 9), max_size=2),
        st.booleans(),
    )
    @settings(max_examples=40, deadline=None, derandomize=True, database=None)
    def run(steps: list[tuple[int, int, int]], kept: list[int], slope: bool) -> None:
        fn = program(steps, kept)
        whole = ad.grad(lambda x, y: sum(ops.sum(ops.tanh(v)) for v in fn(x, y)), (0, 1)) if slope else fn
        check(whole, draw.normal(size=(N, N)), draw.normal(size=(N, N)))

    run()
    assert len(taken) > 20


def test_what_is_read_elsewhere_too_is_not_written_over(taken: list[Any]) -> None:
    x, y = (np.random.default_rng(k).normal(size=(N, N)) for k in range(2))
    for last in (
        lambda c, y: c + ops.transpose(c, (1, 0)),
        lambda c, y: c * c[::-1],
        lambda c, y: c + c[:1],
        lambda c, y: c + ops.concat([c[1:], c[:1]], 0),
        lambda c, y: c + ops.reshape(ops.transpose(ops.reshape(c, (2, N // 2, N)), (1, 0, 2)), (N, N)),
    ):
        check(lambda x, y, last=last: [ops.cumsum(last(ops.cumsum(x, 0), y), 0)], x, y)
        assert not [pair for pair in taken if "CumSum" in str(pair[0].op)]
        taken.clear()
    check(lambda x, y: [ops.cumsum(ops.cumsum(x, 0) * 2.0 + y, 0)], x, y)
    assert len(taken) == 1


def test_of_a_chain_one_array_exists(taken: list[Any]) -> None:
    """A convolution's gradient and its like: what a kernel makes, and what an elementwise unit makes of it, are one array."""
    x = np.ones((1 << 16, 4))

    def f(x: Any) -> Any:
        return ops.sum(ops.cumsum(ops.cumsum(x, 0) * 2.0, 0) * x)

    report = ad.jit(f).memory(x)
    assert len(taken) == 1
    assert report.peak_bytes < 2.1 * x.nbytes
