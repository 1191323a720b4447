"""Ops that print and check, by themselves and in graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.core.spec import Spec
from adjoint.graph.effects import Check, Each, Field, Print, Template, Text
from adjoint.graph.trace import trace
from adjoint.graph.verify import problem
from adjoint.graph.walk import replay
from adjoint.passes import optimise


def print_of(*parts: Any, **options: Any) -> tuple[Print, list[Any]]:
    template, inputs = Template.of(parts, lambda x: isinstance(x, ad.Tensor))
    return Print(template, options), inputs


def test_texts_are_formatted_as_python_does() -> None:
    text = Text(("a ", Field(1.5, spec="6.2f"), Field("b", "r"), Field("ü", "a"), Field(3, "s", ">3")))
    assert str(text) == f"a {1.5:6.2f}{'b'!r}{'ü'!a}{3!s:>3}"


def test_print_shows_tensors(capsys: Any) -> None:
    x = ad.Tensor(np.float64(2.0))
    op, inputs = print_of("x", x, {"k": x}, Text(("half: ", Field(x, spec=".1e"))), sep="|")
    op(True, *inputs)
    op(False, *inputs)
    assert capsys.readouterr().out == f"x|2.0|{ {'k': x} }|half: 2.0e+00\n"


def test_check_raises_what_it_was_given() -> None:
    template, inputs = Template.of(
        ((Text(("x is ", Field(ad.Tensor(np.float64(2.0))))),), {}), lambda x: isinstance(x, ad.Tensor)
    )
    check = Check(KeyError, template, "here.py:1:1")
    assert check(True, True, *inputs) and not check(False, False, *inputs)
    with pytest.raises(KeyError, match="x is 2.0"):
        check(True, False, *inputs)


def test_each_example_of_a_batch_in_order(capsys: Any) -> None:
    x, y = ad.Tensor(np.arange(6.0).reshape(3, 2)), ad.Tensor(np.float64(9.0))
    op, inputs = print_of(x, y)
    Each(op, (True, True, False))(np.array([True, False, True]), *inputs)
    assert capsys.readouterr().out == "[0. 1.] 9.0\n[4. 5.] 9.0\n"
    Each(Each(op, (False, True, False)), (False, True, False))(True, *inputs)
    assert capsys.readouterr().out.split("\n")[0] == "0.0 9.0"


def test_effects_survive_the_passes_in_their_order(capsys: Any) -> None:
    def f(x: Any) -> list[Any]:
        for k in range(3):
            op, inputs = print_of(k, x * k)
            op(True, *inputs)
        return [x * 2]

    graph, _ = trace(f, [Spec((), np.dtype(np.float64))])
    assert len(graph.effects) == 3 and problem(graph) is None
    better = optimise(graph)[0]
    assert len(better.effects) == 3
    assert replay(better, [np.float64(5.0)])[0] == 10.0
    assert capsys.readouterr().out == "0 0.0\n1 5.0\n2 10.0\n"


# ---------------------------------------------------------------- effects without graph values, in derivative graphs


@ad.custom_vjp
def squared(x):
    return x * x


@squared.defvjp
def squared_vjp(x, out, dout):
    print("rule")
    return (2 * x * dout,)


def in_a_loop(x, n):
    for _ in range(n):
        x = squared(x) * 0.5
    return x


@pytest.mark.parametrize(
    "static", [lambda f: ad.jit(ad.grad(f)), lambda f: ad.grad(ad.jit(f))], ids=["jit(grad)", "grad(jit)"]
)
def test_a_rule_prints_in_each_iteration_of_each_run(static: Any, capsys: Any) -> None:
    expected = ad.grad(in_a_loop)(1.5, 3)
    told = capsys.readouterr().out
    run = static(in_a_loop)
    for _ in range(3):
        np.testing.assert_allclose(float(run(1.5, np.int64(3))), float(expected))
        assert capsys.readouterr().out == told == "rule\n" * 3


def test_a_batch_prints_in_each_run(capsys: Any) -> None:
    def told(x):
        print("here")
        return x * 2.0

    x = ad.ops.ones(3)
    ad.vmap(told)(x)
    expected = capsys.readouterr().out
    for run in (ad.vmap(ad.jit(told)), ad.jit(ad.vmap(told)), ad.jit(ad.vmap(ad.jit(told)))):
        for _ in range(3):
            run(x)
            assert capsys.readouterr().out == expected == "here\n"
