"""What cannot become a graph runs op by op where that is allowed: right numbers, nothing done twice, Python's own results."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import adjoint as ad
from adjoint.api import lenient
from adjoint.core import context
from adjoint.graph.number_types import NeedsNumberError


@pytest.fixture
def _lenient() -> Iterator[None]:
    lenient.refusals.clear()
    with context.setting(context.lenient, True):
        yield


def by_numpy(x):
    return ad.Tensor(np.sin(x.asnumpy()))


def test_without_it_a_refusal_is_an_error() -> None:
    with pytest.raises(NeedsNumberError):
        ad.jit(by_numpy)(ad.Tensor([0.5]))


@pytest.mark.usefixtures("_lenient")
def test_python_runs_what_has_no_graph_and_it_is_remembered() -> None:
    f = ad.jit(by_numpy)
    assert np.allclose(f(ad.Tensor([0.5])).asnumpy(), np.sin([0.5]))
    assert np.allclose(f(ad.Tensor([0.7])).asnumpy(), np.sin([0.7]))
    assert [name for name, _ in lenient.refusals] == ["jit(by_numpy)"]


@pytest.mark.usefixtures("_lenient")
def test_effects_take_place_once(capsys: pytest.CaptureFixture[str]) -> None:
    seen = []

    @ad.jit
    def f(x):
        print("once", x)
        seen.append(len(seen))
        return x * x.asnumpy()

    f(ad.Tensor([2.0]))
    assert (seen, capsys.readouterr().out) == ([0], "once [2.]\n")
    f(ad.Tensor([3.0]))
    assert (seen, capsys.readouterr().out) == ([0, 1], "once [3.]\n")


@pytest.mark.usefixtures("_lenient")
def test_what_a_function_stores_outside_is_stored_in_every_call() -> None:
    counts = {"calls": 0}

    @ad.jit
    def f(x):
        counts["calls"] += 1
        return x * 2

    assert [float(f(ad.Tensor(k * 1.0))) for k in range(3)] == [0.0, 2.0, 4.0]
    assert counts == {"calls": 3}


@pytest.mark.usefixtures("_lenient")
def test_results_are_those_of_python() -> None:
    f = ad.jit(lambda x, n: (n + 1, n * 0.5, x.shape, "text", None, [True], x + n))
    for n in (2, 2.5):
        *others, y = f(ad.Tensor([1.0]), n)
        assert others == [n + 1, n * 0.5, (1,), "text", None, [True]]
        assert [type(a) for a in others[:2]] == [type(n), float]
        assert y.tolist() == [1 + n]
    assert ad.jit(lambda x: None)(ad.Tensor(1.0)) is None


@pytest.mark.usefixtures("_lenient")
def test_errors_of_the_program_are_its_own() -> None:
    @ad.jit
    def f(x, key):
        return x * {"a": 2.0}[key]

    with pytest.raises(KeyError):
        f(ad.Tensor(1.0), "b")
    assert float(f(ad.Tensor(1.0), "a")) == 2.0
    assert not lenient.refusals


@pytest.mark.usefixtures("_lenient")
def test_gradients_through_a_refused_function() -> None:
    f = ad.jit(lambda x: (x * x * float(x.asnumpy().max())).sum())
    x = ad.Tensor([1.0, 3.0])
    for g in (ad.grad(f), ad.jit(ad.grad(f)), ad.grad(ad.jit(f))):
        assert g(x).tolist() == [6.0, 18.0]


def test_numbers_of_what_is_differentiated_may_be_taken_where_that_is_allowed() -> None:
    with context.setting(context.cutting, True):
        assert ad.grad(lambda x: x * float(x))(3.0) == 3.0
        assert ad.grad(lambda x: (x * np.array(x)).sum())(ad.Tensor([3.0])).tolist() == [3.0]
