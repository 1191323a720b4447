"""Elementwise ops in lanes against the interpreter: every rule, every dtype, at the edges of their numbers."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any

import numpy as np
import pytest

from adjoint.backends.interpreter import Steps
from adjoint.backends.native.compiler import Program
from adjoint.backends.native.node_facts import is_elementwise
from adjoint.core.errors import AdjointError
from adjoint.core.spec import Spec
from adjoint.graph.node import Builder, Graph, Node
from adjoint.ops import arithmetic as a
from adjoint.ops import compare as c
from adjoint.ops import transcendental as t
from adjoint.ops.card import REGISTRY, Op
from adjoint.ops.casting import Cast
from adjoint.ops.trigonometric import Tanh
from lowering import samples_of

DTYPES = ("float64", "float32", "int64", "int32", "bool")
MIXTURES = [
    *((d, d) for d in DTYPES),
    ("int32", "float32"),
    ("bool", "int32"),
    ("float32", "float64"),
    ("int64", "float32"),
    ("bool", "float32"),
]
NUMBERS = (0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 1e-3, -7.25, 100.0, -745.0, 709.5, 123456789.0, 1e17, 3e38)
ULPS = 4


def edges(name: str) -> np.ndarray:
    """Numbers of a dtype at which things go wrong: signed zeros, ties, denormals, infinities, the largest."""
    dtype = np.dtype(name)
    if dtype.kind == "b":
        return np.array([True, False])
    if dtype.kind == "i":
        i = np.iinfo(dtype)
        return np.array([0, 1, -1, 2, -2, 7, -13, 1 << 30, i.max, i.min, i.max - 1, i.min + 1], dtype)
    f = np.finfo(dtype)
    special = [np.inf, -np.inf, np.nan, f.tiny, -f.tiny / 4, f.smallest_subnormal, f.max, -f.max]
    return np.array([*NUMBERS, *special]).astype(dtype)


def every_pair(names: tuple[str, str]) -> list[np.ndarray]:
    return [x.ravel() for x in np.meshgrid(*map(edges, names), indexing="ij")]


def calls(builder: Builder, params: list[Node]) -> list[Node]:
    """Every op that has a rule, on such inputs; those that refuse them are left out."""
    found = []
    for op in (op for op in REGISTRY.values() if op.emit is not Op.emit):
        if op is Cast:
            found += [builder.build(Cast(np.dtype(name)), params[:1]) for name in DTYPES]
            continue
        made = op() if all(f.default is not MISSING for f in fields(op)) else next(samples_of(op)).op
        arity = getattr(made, "arity", 1)
        if op is a.Pow and all(p.dtype.kind in "ib" for p in params):
            continue  # negative powers of whole numbers are refused at run time
        inputs = params[:arity] if arity < 3 else [builder.build(c.Greater(), params), *params]
        try:
            found.append(builder.build(made, inputs))
        except AdjointError:
            continue
    return found


def ulps(found: np.ndarray, wanted: np.ndarray, size: Any = 0.0) -> np.ndarray:
    """How many units in the last place two arrays differ by; `size` is the least magnitude to measure by."""
    with np.errstate(all="ignore"):
        least = np.where(np.isfinite(size), size, 0).astype(wanted.dtype)
        unit = np.spacing(np.maximum(np.abs(wanted), least)).astype(np.float64)
        apart = np.abs(found.astype(np.float64) - wanted.astype(np.float64)) / unit
        same = (found == wanted) | (np.isnan(found) & np.isnan(wanted))
    return np.where(same, 0.0, np.where(np.isnan(apart), np.inf, apart))


@pytest.mark.parametrize("names", MIXTURES, ids="-".join)
def test_every_rule_at_the_edges_of_its_numbers(names: tuple[str, str]) -> None:
    xs = every_pair(names)
    builder = Builder()
    params = [builder.param(Spec(x.shape, x.dtype)) for x in xs]
    outputs = calls(builder, params)
    assert len(outputs) > 20
    graph = Graph(tuple(params), tuple(outputs))
    largest = np.maximum(*(np.abs(x.astype(np.float64)) for x in xs))
    for node, found, wanted in zip(outputs, Program(graph)(*xs), Steps(graph)(*xs), strict=True):
        at = f"{node.op} of {names}"
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), at
        if wanted.dtype.kind != "f":
            np.testing.assert_array_equal(found, wanted, err_msg=at)
            continue
        # log(exp(x) + exp(y)) near 0 is a difference of larger numbers: no way to compute it is exact
        apart = ulps(found, wanted, largest.astype(wanted.dtype) if isinstance(node.op, t.LogAddExp) else 0.0)
        worst = int(np.argmax(apart))
        assert apart[worst] <= ULPS, f"{at} at {[x[worst] for x in xs]}: {found[worst]!r}, not {wanted[worst]!r}"
        signs = (np.signbit(found) == np.signbit(wanted)) | np.isnan(wanted)
        assert signs.all(), f"{at}: the sign of zero at {[x[~signs][0] for x in xs]}"


def test_single_elements_are_computed_like_vectors() -> None:
    """The same ops on numbers in registers, at one point after another, give the same as in lanes."""
    xs = every_pair(("float64", "float64"))
    builder = Builder()
    params = [builder.param(Spec((), np.dtype("float64"))) for _ in xs]
    alone = Graph(tuple(params), tuple(calls(builder, params)))
    builder = Builder()
    params = [builder.param(Spec(x.shape, x.dtype)) for x in xs]
    together = Graph(tuple(params), tuple(calls(builder, params)))
    one, many = Program(alone), Program(together)(*xs)
    assert not one.left_out
    for k in range(0, len(xs[0]), 7):
        for node, found, wanted in zip(alone.outputs, one(*(x[k] for x in xs)), many, strict=True):
            np.testing.assert_array_equal(found, wanted[k], err_msg=f"{node.op} at {[x[k] for x in xs]}")


def test_whole_numbers_wrap_around() -> None:
    builder = Builder()
    x = builder.param(Spec((4,), np.dtype("int32")))
    doubled = builder.build(a.Mul(), [builder.build(a.Add(), [x, x]), x])
    big = np.array([2**31 - 1, -(2**31), 2**30, 65537], np.int32)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(Program(Graph((x,), (doubled,)))(big)[0], (big + big) * big)


def test_python_numbers_are_weak() -> None:
    builder = Builder()
    x = builder.param(Spec((3,), np.dtype("float32")))
    y = builder.build(a.Mul(), [x, builder.const(0.1)])
    [found] = Program(Graph((x,), (y,)))(np.array([1, 2, 3], np.float32))
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, np.array([1, 2, 3], np.float32) * np.float32(0.1))


def one_call(op: Op) -> Graph:
    builder = Builder()
    x = builder.param(Spec((5,), np.dtype("float64")))
    return Graph((x,), (builder.build(op, [x]),))


def test_a_kernel_of_ones_own_is_not_computed_by_the_inherited_code() -> None:
    class Doubled(Tanh):
        def eval(self, xp, x):
            return 2 * xp.tanh(x)

    class Renamed(Tanh):
        pass

    class Both(Doubled):
        def emit(self, b, x):
            return b.mul(2, b.call("tanh", x))

    x = np.linspace(-1, 1, 5)
    for op, lowered in ((Doubled(), False), (Renamed(), True), (Both(), True)):
        graph = one_call(op)
        assert is_elementwise(graph.outputs[0]) is lowered
        np.testing.assert_allclose(Program(graph)(x)[0], op.eval(np, x), rtol=1e-15)


def test_code_of_another_dtype_is_refused() -> None:
    class Mistaken(Tanh):
        def emit(self, b, x):
            return b.compare("lt", x, 0)

    with pytest.raises(TypeError, match="emit of .*Mistaken.* gives bool, the result is float64: cast it with b.cast"):
        Program(one_call(Mistaken()))(np.ones(5))

    class Mixed(Tanh):
        def emit(self, b, x):
            return b.add(x, b.cast(x, np.dtype("float32")))

    with pytest.raises(TypeError, match="operands of float64 and float32"):
        Program(one_call(Mixed()))(np.ones(5))


def test_every_step_of_the_builder() -> None:
    """What no card uses yet, and numbers beside values."""

    class Steps3(Tanh):
        def emit(self, b, x):
            return b.sub(b.fma(x, 2.0, b.constant(1.0, np.dtype("float64"))), b.div(1.0, b.neg(b.minimum(x, 3))))

    x = np.linspace(0.5, 4, 5)
    np.testing.assert_allclose(Program(one_call(Steps3()))(x)[0], x * 2 + 1 + 1 / np.minimum(x, 3), rtol=1e-15)
