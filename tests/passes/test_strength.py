"""Cheaper forms: each law before and after, at special values, and what must be left alone."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.core.spec import Spec
from adjoint.graph.node import Builder, Graph
from adjoint.graph.trace import trace
from adjoint.graph.walk import replay
from adjoint.ops.arithmetic import Mul, masked_mul
from adjoint.ops.broadcasting import BroadcastTo
from adjoint.ops.laws import STRENGTH
from adjoint.ops.strength_laws import finite, nonnegative
from adjoint.passes.pipeline import optimise
from adjoint.passes.strength import strength

TINY, HUGE = 5e-324, 1.7e308
SPECIAL = np.array(
    [
        0.0,
        -0.0,
        1.0,
        -1.0,
        3.7,
        -2.2,
        np.inf,
        -np.inf,
        np.nan,
        TINY,
        -TINY,
        1e-310,
        1e-160,
        -1e-110,
        1e110,
        -1e160,
        HUGE,
        -HUGE,
    ]
)


def names(graph):
    return [type(n.op).__name__ for n in graph.calls]


def both(fn, xs):
    """A function's graph before and after the pass."""
    graph, _ = trace(lambda *v: [fn(*v)], [Spec(np.shape(x), np.asarray(x).dtype) for x in xs])
    return graph, optimise(graph, passes=[("strength", strength)])[0]


EXTREME = ["Add", "Equal", "Abs", "Where"]  # -0.0 and -inf become 0.0 and inf

#: name: (function, ops after the pass, tolerance in units of the last place)
CHEAPER = {
    "x**3": (lambda x: x**3, ["Mul", "Mul"], 2), "x**4": (lambda x: x**4.0, ["Mul", "Mul"], 3),
    "x**-1": (lambda x: x**-1.0, ["Div"], 1), "x**-2": (lambda x: x**-2.0, ["Div", "Mul"], 3),
    "x**-3": (lambda x: x**-3.0, ["Div", "Mul", "Mul"], 4),
    "(x*x)**0.5": (lambda x: (x * x) ** 0.5, ["Mul", "Sqrt"], 1), "|x|**-0.5": (lambda x: ops.abs(x) ** -0.5, ["Abs", "Sqrt", "Div"], 2),
    "x**1.5": (lambda x: x**1.5, [*EXTREME, "Sqrt", "Mul"], 1),
    "x**2.5": (lambda x: x**2.5, [*EXTREME, "Sqrt", "Mul", "Mul"], 2), "x**-0.5": (lambda x: x**-0.5, [*EXTREME, "Sqrt", "Div"], 2),
    "x**-1.5": (lambda x: x**-1.5, [*EXTREME, "Sqrt", "Div", "Div"], 2), "|x|**1.5": (lambda x: ops.abs(x) ** 1.5, ["Abs", "Sqrt", "Mul"], 1),
    "x/4": (lambda x: x / 4.0, ["Mul"], 0), "x/-0.125": (lambda x: x / -0.125, ["Mul"], 0), "x/2 (int)": (lambda x: x / 2, ["Mul"], 0),
    "x/powers": (lambda x: x / np.resize([2.0, -8.0, 0.25], 18), ["Mul"], 0),
    "x*3*5": (lambda x: x * 3.0 * 5.0, ["Mul"], 1), "x*.3*.5": (lambda x: 0.3 * (0.5 * x), ["Mul"], 1),
    "x+(-y)": (lambda x: 2.0 + ops.neg(x), ["Sub"], 0), "-x+y": (lambda x: ops.neg(x) + ops.sin(x), ["Sin", "Sub"], 0),
    "x-(-y)": (lambda x: 1.5 - ops.neg(x), ["Add"], 0), "(-x)*(-y)": (lambda x: ops.neg(x) * ops.neg(ops.sin(x)), ["Sin", "Mul"], 0),
    "(-x)/(-y)": (lambda x: ops.neg(x) / ops.neg(ops.sin(x)), ["Sin", "Div"], 0), "(-x)*c": (lambda x: ops.neg(x) * 3.0, ["Mul"], 0),
    "c/(-x)": (lambda x: 3.0 / ops.neg(x), ["Div"], 0), "-(x*c)": (lambda x: ops.neg(x * 3.0), ["Mul"], 0),
    "-((-x)*y)": (lambda x: ops.neg(ops.neg(x) * ops.sin(x)), ["Sin", "Mul"], 0),
    "|x|*|x|": (lambda x: ops.abs(x) * ops.abs(x), ["Mul"], 0), "|-x|": (lambda x: ops.abs(ops.neg(x)), ["Abs"], 0),
    "||x||": (lambda x: ops.abs(ops.abs(x)), ["Abs"], 0), "cos(-x)": (lambda x: ops.cos(ops.neg(x)), ["Cos"], 0),
}  # fmt: skip


@pytest.mark.parametrize("name", CHEAPER)
def test_cheaper(name):
    fn, wanted, ulps = CHEAPER[name]
    graph, better = both(fn, [SPECIAL])
    assert names(better) == wanted
    with np.errstate(all="ignore"):
        before, after = replay(graph, [SPECIAL])[0], replay(better, [SPECIAL])[0]
        same = (before == after) & (np.signbit(before) == np.signbit(after)) | (np.isnan(before) & np.isnan(after))
        near = np.abs(before - after) <= ulps * np.spacing(np.abs(before))
    assert (same | near).all(), (SPECIAL[~(same | near)], before[~(same | near)], after[~(same | near)])
    assert strength(better) is better


def test_a_half_power_is_the_square_root_as_numpys_operator_has_it():
    _, better = both(lambda x: x**0.5, [SPECIAL])
    assert names(better) == ["Sqrt"]
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(replay(better, [SPECIAL])[0], SPECIAL**0.5)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("name", ["x**3", "x**-2", "|x|**1.5", "x/4", "x*3*5", "(x*x)**0.5"])
def test_narrow_floats_stay_so(name, dtype):
    fn, _, ulps = CHEAPER[name]
    x = ad.Tensor(np.array([0.5, -3.0, 20.0], dtype))
    graph, better = both(fn, [np.asarray(x)])
    assert better.specs[0].dtype == dtype
    a, b = (np.asarray(replay(g, [x])[0]).astype(float) for g in (graph, better))
    np.testing.assert_allclose(a, b, rtol=4 * np.finfo(dtype).eps)


def test_sigmoid():
    x = np.array([-1e3, -700.0, -30.0, -1.0, 0.0, 1.0, 30.0, 1e3, np.inf, -np.inf, np.nan])
    graph, better = both(lambda x: 1.0 / (1.0 + ops.exp(-x)), [x])
    assert names(better) == ["Sigmoid"]
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(replay(better, [x])[0], replay(graph, [x])[0], rtol=1e-15, atol=1e-300)


def test_integers():
    x = np.array([-9, -8, -1, 0, 1, 7, 8, 100])
    for fn, wanted in [
        (lambda x: x // 8, ["RightShift"]), (lambda x: x % 8, ["BitwiseAnd"]), (lambda x: x**3, ["Mul", "Mul"]),
        (lambda x: ~(x < 3), ["GreaterEqual"]), (lambda x: x // 6, ["FloorDiv"]), (lambda x: x / 2, ["Mul"]),
    ]:  # fmt: skip
        graph, better = both(fn, [x])
        assert names(better) == wanted
        np.testing.assert_array_equal(replay(better, [x])[0], replay(graph, [x])[0])


LEFT = {
    "-(a-b): the sign of zero": lambda x: ops.neg(x - 1.0), "x**3.5": lambda x: x**3.5, "x/3: not exact": lambda x: x / 3.0,
    "x/0": lambda x: x / 0.0, "x/2**1000: a subnormal reciprocal": lambda x: x / 2.0**1023, "x*big*small: order": lambda x: x * 1e200 * 1e-200,
    "x*big*big: overflow": lambda x: x * 1e200 * 1e200, "x+c+d: cancellation": lambda x: x + 1e16 - 1e16, "exp*exp": lambda x: ops.exp(x) * ops.exp(-1.0 - x),
    "not (x<y): NaN": lambda x: ~(x < 1.0), "log(1+x)": lambda x: ops.log(1.0 + x), "x**5": lambda x: x**5.0,
    "masked": lambda x: masked_mul(x, ops.sin(x)),
}  # fmt: skip


@pytest.mark.parametrize("name", LEFT)
def test_left_alone(name):
    graph, better = both(LEFT[name], [SPECIAL])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(replay(better, [SPECIAL])[0], replay(graph, [SPECIAL])[0])
    assert better is graph or "exp" in name


def test_masked_product():
    x = np.array([np.inf, np.nan, 0.0, 2.0])
    graph, better = both(lambda x: masked_mul(x, np.array([1.0, 2.0, 3.0, -1.0])), [x])
    assert names(better) == ["Mul"]
    graph, better = both(lambda x: masked_mul(x, np.array([0.0, 2.0, 3.0, -1.0])), [x])
    assert better is graph
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(replay(better, [x])[0], [0.0, np.nan, 0.0, -2.0])
    graph, better = both(lambda x: masked_mul(ops.cast(x > 0, "float64"), np.array([0.0, 2.0, 3.0, -1.0])), [x])
    assert "Mul" in names(better) and "MaskedMul" not in names(better)


def test_facts():
    def node(fn):
        return trace(lambda x: [fn(x)], [Spec((3,))])[0].outputs[0]

    assert all(
        nonnegative(node(f))
        for f in [lambda x: ops.exp(x) + x * x, lambda x: ops.sum(ops.abs(x)), lambda x: x**2 / 3.0]
    )
    assert not any(
        nonnegative(node(f)) for f in [lambda x: x, lambda x: x * 2.0, lambda x: ops.relu(x), lambda x: x * x - 1.0]
    )
    assert finite(node(lambda x: ops.where(x > 0, 1.0, np.array([2.0, 3.0, 4.0]))))
    assert not any(finite(node(f)) for f in [lambda x: ops.tanh(x), lambda x: ops.where(x > 0, np.inf, 0.0)])


def test_derivatives_of_cheaper_forms():
    """A graph may be differentiated after the pass: at a kink and at 0 too."""
    x = np.array([0.0, -0.7, 2.0])
    for fn in [
        lambda x: x**3,
        lambda x: (x * x + 1.0) ** -0.5,
        lambda x: ops.abs(x) * ops.abs(x),
        lambda x: 1.0 / (1.0 + ops.exp(-x)),
    ]:
        graph, better = both(fn, [x])
        a, b = (replay(ad.graph.generate_grad_graph(g), [x])[0] for g in (graph, better))
        np.testing.assert_allclose(a, b, rtol=1e-14, atol=1e-15)


def test_random_programs(unchanged):
    assert unchanged(strength) > 20


def test_laws_are_named_once():
    assert len(set(STRENGTH.names)) == len(STRENGTH.names)


def test_factors_that_are_broadcasts_of_numbers_stay():
    b = Builder()
    x = b.param(Spec((3,)))
    two, three = (b.build(BroadcastTo((3,)), [b.const(np.float64(n))]) for n in (2, 3))
    graph = Graph((x,), (b.build(Mul(), [b.build(Mul(), [x, two]), three]),))
    np.testing.assert_array_equal(replay(strength(graph), [np.ones(3)])[0], np.full(3, 6.0))
