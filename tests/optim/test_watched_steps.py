"""What a compiled step calls besides the loss is watched: the function of its gradients, a rule of the user's."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import adjoint as ad

HELD = SimpleNamespace(k=2.0)


class Scaling:
    factor = 1.0

    def __init__(self) -> None:
        self.k = 2.0

    def __call__(self, gs: Any) -> Any:
        return [g * self.k * self.factor for g in gs]

    def scaled(self, gs: Any) -> Any:
        return [g * self.k for g in gs]


@dataclass(frozen=True)
class Slowed(ad.optim.SGDRule):
    by = 1.0

    def one(self, w: Any, g: Any, old: Any, lr: Any, shared: Any, decay: Any) -> Any:
        return w - lr * g * self.by * HELD.k, old


def by_two(held: Any, gs: Any) -> Any:
    return [g * held.k for g in gs]


def branching(gs: Any) -> Any:
    return [g * 2.0 for g in gs] if HELD.k < 3.0 else [g * 7.0 for g in gs]


#: The function of the gradients, and what is changed.
CHANGED: dict[str, tuple[Callable[[], Any], Callable[[Any], None]]] = {
    "global": (lambda: lambda gs: [g * HELD.k for g in gs], lambda f: setattr(HELD, "k", 5.0)),
    "branch": (lambda: branching, lambda f: setattr(HELD, "k", 5.0)),
    "object": (Scaling, lambda f: setattr(f, "k", 5.0)),
    "class": (Scaling, lambda f: setattr(Scaling, "factor", 5.0)),
    "method": (lambda: Scaling().scaled, lambda f: setattr(f.__self__, "k", 5.0)),
    "partial": (lambda: functools.partial(by_two, SimpleNamespace(k=2.0)), lambda f: setattr(f.args[0], "k", 5.0)),
}


def steps(optimiser: Callable[[Any], Any], step: Callable[[Any, Any], Any], change: Callable[[], None]) -> list[float]:
    w = ad.Parameter(ad.Tensor([1.0]), name="w")
    run, found = step(w, optimiser([w])), []
    for i in range(5):
        if i == 3:
            change()
        run()
        found.append(float(w[0]))
    return found


def loss(w: Any) -> Callable[[], Any]:
    return lambda: (w * w).sum()


@pytest.mark.parametrize("name", CHANGED)
def test_what_the_function_of_the_gradients_reads(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make, change = CHANGED[name]

    def found(compiled: bool) -> list[float]:
        monkeypatch.setattr(HELD, "k", 2.0)
        monkeypatch.setattr(Scaling, "factor", 1.0)
        function = make()

        def step(w: Any, optimiser: Any) -> Any:
            if compiled:
                return ad.optim.compiled_step(loss(w), [w], optimiser, gradients=function)
            return lambda: optimiser(function([2 * w]))

        return steps(lambda ws: ad.optim.SGD(ws, learning_rate=0.01, jit=compiled), step, lambda: change(function))

    np.testing.assert_allclose(found(True), found(False), rtol=1e-6)


@pytest.mark.parametrize(("owner", "name"), [(HELD, "k"), (Slowed, "by")])
def test_what_a_rule_of_the_users_reads(owner: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def found(way: str) -> list[float]:
        monkeypatch.setattr(HELD, "k", 2.0)
        monkeypatch.setattr(Slowed, "by", 1.0)

        def step(w: Any, optimiser: Any) -> Any:
            return ad.optim.compiled_step(loss(w), [w], optimiser) if way == "step" else lambda: optimiser([2 * w])

        return steps(
            lambda ws: ad.optim.Optimizer(Slowed(), ws, learning_rate=0.01, jit=way != "dynamic"),
            step,
            lambda: setattr(owner, name, 5.0),
        )

    expected = found("dynamic")
    np.testing.assert_allclose(found("step"), expected, rtol=1e-6)
    np.testing.assert_allclose(found("update"), expected, rtol=1e-6)
