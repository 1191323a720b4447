"""Backends of one's own: registered, used by every transform, checked on the cards, refused by name."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import backends, ops
from adjoint.backends import interpreter
from adjoint.core import context
from adjoint.testing import check_backend


class Bare:
    """Only what a backend must have."""

    def __init__(self, off: float = 0.0) -> None:
        self.off, self.compiled = off, 0

    def compile(self, graph: Any) -> Any:
        self.compiled += 1
        run = interpreter.compile(graph)
        return lambda *arrays: [y + self.off if y.dtype.kind == "f" else y for y in run(*arrays)]


@pytest.fixture
def bare() -> Iterator[Bare]:
    backend = Bare()
    backends.register("bare", backend)
    yield backend
    del backends.MODULES["bare"]


def newton(x: Any) -> Any:
    y = x
    while abs(y * y - x) > 1e-12:
        y = 0.5 * (y + x / y)
    return y


def test_every_transform_goes_through_it(bare: Bare) -> None:
    at = np.array([0.7, 2.0, 3.1])
    for fn in (ad.grad(newton), ad.grad(ad.grad(newton)), lambda x: ad.jvp(newton, (x,), (1.0,))[1]):
        before = bare.compiled
        got = [float(ad.jit(fn, backend="bare")(float(x))) for x in at]
        assert bare.compiled > before
        np.testing.assert_allclose(got, [float(fn(float(x))) for x in at], rtol=1e-9)
    f = ad.jit(ad.vmap(ad.grad(lambda x: ops.sin(x) * x)), backend="bare")
    np.testing.assert_allclose(f(at).asnumpy(), np.cos(at) * at + np.sin(at))


def test_as_the_backend_of_all(bare: Bare) -> None:
    ad.set_context(backend="bare")
    try:
        assert ad.get_context("backend") == "bare"
        assert float(ad.jit(newton)(9.0)) == pytest.approx(3.0)
    finally:
        context.backend.set(context.backend_default)
    assert bare.compiled == 1


def test_what_it_cannot_do_is_refused_by_name_or_done_without(bare: Bare) -> None:
    f = ad.jit(lambda x: x * 2.0, backend="bare", donate=("x",))
    assert float(f(ad.Tensor(2.0))) == 4.0
    assert "backend 'bare'" in ad.jit(newton, backend="bare").explain(2.0)
    with pytest.raises(ad.ArgumentError, match="the backend 'bare' cannot say what a call takes of memory"):
        ad.jit(newton, backend="bare").memory(2.0)


def test_what_is_no_backend() -> None:
    with pytest.raises(ad.ArgumentError, match="'native' is built in"):
        backends.register("native", interpreter)
    with pytest.raises(ad.ArgumentError, match=r"has no function `compile\(graph\)`"):
        backends.register("mine", object())
    for name in (5, "", None):
        with pytest.raises(ad.ArgumentTypeError, match="the name of a backend must be a text"):
            backends.register(name, interpreter)
    with pytest.raises(ad.ArgumentError, match="there is no backend 'mine'"):
        ad.jit(newton, backend="mine")


def test_results_that_are_not_those_of_the_graph_are_refused() -> None:
    wrong = {
        "`compile\\(graph\\)` returned None": lambda run: None,
        "returned a NoneType, not a list of 1": lambda run: lambda *xs: None,
        "returned 0 results, not a list of 1": lambda run: lambda *xs: [],
        "returned 2 results, not a list of 1": lambda run: lambda *xs: run(*xs) * 2,
        r"result 0 is float64\[7\], the graph says float64\[3\]": lambda run: lambda *xs: [np.ones(7)],
        r"result 0 is float32\[3\], the graph says float64\[3\]": lambda run: lambda *xs: [np.ones(3, np.float32)],
        "result 0 is a list": lambda run: lambda *xs: [[1.0, 2.0, 3.0]],
    }
    for words, change in wrong.items():
        made = SimpleNamespace(compile=lambda graph, change=change: change(interpreter.compile(graph)))
        backends.register("wrong", made)
        with pytest.raises(ad.ArgumentError, match=words):
            ad.jit(lambda x: x * 2.0, backend="wrong")(np.ones(3))
    del backends.MODULES["wrong"]


def test_the_check_passes_and_can_fail(bare: Bare) -> None:
    cards = [ops.Tanh, ops.MatMul, ops.Gather, ops.Sum]
    assert check_backend("bare", cards).startswith("4 cards")
    bare.off = 1e-3
    for card in cards:
        with pytest.raises(AssertionError, match="backend 'bare'"):
            check_backend("bare", [card])
