"""Gradients of one function that are made again and again are compiled once."""

from __future__ import annotations

import copy
import functools
import pickle

import numpy as np
import pytest

from adjoint.api.tracing import Traced
from adjoint.mindspore import GRAPH_MODE, PYNATIVE_MODE, Parameter, Tensor, grad, nn, set_context


@pytest.fixture(autouse=True)
def _graphs():
    set_context(mode=GRAPH_MODE)
    yield
    set_context(mode=PYNATIVE_MODE)


@pytest.fixture
def traces(monkeypatch: pytest.MonkeyPatch) -> list[Traced]:
    """Every trace of a function from here on."""
    found: list[Traced] = []
    before = Traced._trace

    def counted(self, *args):
        found.append(self)
        return before(self, *args)

    monkeypatch.setattr(Traced, "_trace", counted)
    return found


class Scale(nn.Cell):
    def __init__(self):
        super().__init__()
        self.weight = Parameter(Tensor([2.0]), name="weight")

    def construct(self, x):
        return x * x * self.weight


def cube(x):
    return x * x * x


def test_a_function(traces: list[Traced]) -> None:
    slopes = [grad(cube)(Tensor([float(k)])).item() for k in range(4)]
    assert slopes == [0.0, 3.0, 12.0, 27.0]
    assert len(traces) == 1


def test_a_cell_and_its_weights(traces: list[Traced]) -> None:
    net = Scale()
    slopes = [grad(net, None, [net.weight])(Tensor([3.0]))[0].item() for _ in range(3)]
    assert slopes == [9.0] * 3
    assert len(traces) == 1
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net)), copy.copy(net)):
        assert np.isclose(grad(other)(Tensor([3.0])).item(), 12.0)


def test_what_wraps_a_function_is_another_one() -> None:
    assert grad(cube)(Tensor([2.0])).item() == 12.0

    @functools.wraps(cube)  # which copies its attributes
    def twice(x):
        return cube(x) * 2

    assert grad(twice)(Tensor([2.0])).item() == 24.0


def test_many_kinds_of_gradients_of_one_function() -> None:
    weights = [Parameter(Tensor([float(k)]), name=f"w{k}") for k in range(20)]
    table = dict(enumerate(weights))

    def f(x):
        return x * table[0] + x * table[19]

    for w in weights:
        slope = grad(f, None, [w])(Tensor([5.0]))[0].item()
        assert slope == (5.0 if w.name in ("w0", "w19") else 0.0)
