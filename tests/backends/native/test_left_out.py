"""`explain` names what has no machine code, with its line, and that a loop around it is interpreted; long constants are cut short."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import expm

import adjoint as ad
from adjoint import ops
from adjoint.graph.text import read, show

BIG = np.random.default_rng(0).normal(size=(60, 60))
MASK = np.tri(60, dtype=bool)


def exponential(x: Any) -> Any:
    y = ops.tanh(x)
    return expm(y + y.T)  # exponential


def looped(x: Any, n: Any) -> Any:
    s = 0.0
    for _ in range(n):  # loop
        s = s + ops.sum(exponential(x * s))
    return s


def told(x: Any) -> Any:
    print("the sum is", ops.sum(x))  # told
    return x * 2.0


def line_of(mark: str) -> str:
    with open(__file__, encoding="utf-8") as file:
        (found,) = [f"{k}: {text.strip()}" for k, text in enumerate(file, 1) if text.rstrip().endswith(f"  # {mark}")]
    return f"test_left_out.py:{found}"


def test_a_step_without_machine_code_is_named_with_its_line() -> None:
    text = ad.jit(lambda x: ops.sum(exponential(x))).explain(BIG)
    assert f"for want of machine code:\n  Expm at {line_of('exponential')}\n" in text


def test_a_loop_around_it_is_said_to_be_interpreted() -> None:
    text = ad.jit(looped).explain(BIG, ad.Tensor(3))
    assert (
        f"  Loop at {line_of('loop')}\n    every iteration is interpreted, one NumPy call for each step, because of\n"
        f"      Expm at {line_of('exponential')}\n"
    ) in text


def test_what_acts_is_named_too() -> None:
    assert f"  Print at {line_of('told')} (it acts, or calls Python)\n" in ad.jit(told).explain(1.0)


def test_nothing_is_said_where_all_is_compiled() -> None:
    assert "in the interpreter" not in ad.jit(lambda x: ops.sum(ops.tanh(x))).explain(BIG)


def test_long_constants_are_cut_short() -> None:
    f = ad.jit(lambda x: ops.sum(np.where(MASK, x, 0.0) * np.arange(60.0)))
    text, graph = f.explain(BIG), f.graph(BIG)
    assert len(text) < 3000
    assert "bool[60, 60] = const [True, False, False, False, …]" in text
    assert "float64[60] = const [0, 1, 2, 3, …]" in text
    for shown in (str(graph), repr(graph), f.compilations[-1].reports[0].shown()):
        assert max(map(len, shown.splitlines())) < 250
    assert show(read(show(graph))) == show(graph)  # which has them whole
    assert "const [1.0, 2.0, 3.0]" in str(ad.jit(lambda x: x * np.array([1.0, 2.0, 3.0])).graph(np.ones(3)))


def test_the_trace_of_explain_is_short_too() -> None:
    assert len(str(ad.explain(lambda x: ops.sum(BIG @ x), np.ones(60)))) < 2000
