"""Tests of the tester: a derivative or vmap rule that is wrong by a little is caught, and the message says which."""

from __future__ import annotations

import numpy as np
import pytest

from adjoint.core.absent import ZERO
from adjoint.ops import language as F
from adjoint.ops.arithmetic import Add, Mul
from adjoint.ops.broadcast import batch_front, cast_like, match
from adjoint.ops.compare import Floor
from adjoint.ops.contract import MatMul
from adjoint.ops.joining import Split
from adjoint.ops.transcendental import Exp
from adjoint.ops.trigonometric import Tanh
from adjoint.testing import check_op
from adjoint.testing.cases import cases, differences
from adjoint.transforms.batch import Batch
from adjoint.transforms.dual import Dual
from adjoint.transforms.tape import Tape

BROKEN: list[tuple[type, str]] = []


def caught(words):
    """The card below is wrong, and `check_op` says so with these words."""

    def enter(cls):
        BROKEN.append((cls, words))
        return cls

    return enter


def inside(x, trace):
    """Whether a transform of this kind follows x."""
    return isinstance(getattr(x, "_trace", None), trace)


# ---------------------------------------------------------------- first derivatives


@caught(r"jvp of JvpOff\(\) on shapes \[\(\)\] against finite differences")
class JvpOff(Tanh):
    def jvp(self, ts, y, x):
        return 1.001 * super().jvp(ts, y, x)


@caught(r"vjp of VjpOff\(\) on shapes \[\(\)\] against its jvp, input 0")
class VjpOff(Tanh):
    def vjp(self, g, y, x):
        return (1.001 * super().vjp(g, y, x)[0],)


@caught(r"jvp of PartialOff\(\) on shapes .* against finite differences")
class PartialOff(Mul):
    def partials(self, z, x, y):
        return y, 1.001 * x


@caught("against its jvp, input 1 of those with derivatives")
class SecondCotangentOff(Mul):
    def vjp(self, g, z, x, y):
        first, second = super().vjp(g, z, x, y)
        return first, lambda: 1.001 * second()


@caught("jvp of SecondResultOff")
class SecondResultOff(Split):
    def jvp(self, ts, ys, x):
        first, *rest = self(ts[0])
        return first, *(1.001 * t for t in rest)


@caught("jvp of Conjugated.* of complex128 against finite differences")
class Conjugated(Exp):
    def jvp(self, ts, y, x):
        return ts[0] * F.conj(y)


@caught("vjp of NotConjugated.* of complex128 against its jvp")
class NotConjugated(Exp):
    def vjp(self, g, y, x):
        return (match(g * y, x),)


@caught("with ZERO for all inputs but one")
class ZeroTaken(Mul):
    def jvp(self, ts, z, x, y):
        t = super().jvp(ts, z, x, y)
        return t if all(hasattr(t, "shape") for t in ts) else 1.001 * t


@caught("a rule raised TypeError: unsupported operand")
class ZeroForgotten(Mul):
    def jvp(self, ts, z, x, y):
        return ts[0] * y + ts[1] * x


@caught("jvp of TangentNarrow.*: the tangent")
class TangentNarrow(Add):
    def jvp(self, ts, z, x, y):
        return ts[0] if not hasattr(ts[1], "shape") else super().jvp(ts, z, x, y)


@caught(r"vjp of CotangentWide\(\) on shapes \[\(\), \(3,\)\]: the cotangent: float64\(3,\) for a value float64\(\)")
class CotangentWide(Add):
    def vjp(self, g, z, x, y):
        return cast_like(g, x), cast_like(g, y)


@caught("a rule raised ValueError: output array is read-only")
class WritesToInput(Tanh):
    def eval(self, xp, x):
        return xp.tanh(x, out=x)


# ---------------------------------------------------------------- transforms and second derivatives


def of_tensor(x):
    """Whether an array came out of a Tensor: the samples themselves cannot be written to."""
    return np.asarray(x).flags.writeable


@caught("tape of TapeOff.* against its vjp")
class TapeOff(Tanh):
    def vjp(self, g, y, x):
        return super().vjp(1.001 * g if of_tensor(x) else g, y, x)


@caught("dual numbers of DualOff.* against its jvp")
class DualOff(Tanh):
    def jvp(self, ts, y, x):
        return super().jvp([1.001 * ts[0] if of_tensor(x) else ts[0]], y, x)


@caught("other inputs constant")
class ConstantOff(Mul):
    def __call__(self, x, y):
        lone = inside(x, Tape) and not inside(y, Tape)
        return super().__call__(x, 1.001 * y if lone else y)


@caught("Python numbers as inputs")
class NumberOff(Mul):
    def vjp(self, g, z, x, y):
        first, second = super().vjp(g, z, x, y)
        return first, ZERO if type(y) is float else second


@caught("second derivative of SecondOff.*: jvp of vjp against finite differences")
class SecondOff(Tanh):
    def partials(self, y, x):
        p = 1.0 - y * y
        return (p + 0.001 * (p - F.stop_gradient(p)),)


@caught("second derivative of ReverseOff.*: vjp of vjp against jvp of vjp")
class ReverseOff(Tanh):
    def partials(self, y, x):
        return (1.0 - VjpOff()(x) ** 2,)


@caught("second derivative of ForwardOff.*: jvp of jvp against finite differences")
class ForwardOff(Tanh):
    def jvp(self, ts, y, x):
        return ts[0] * (1.0 - JvpOff()(x) ** 2)


@caught(r"a rule raised CutGradientError")
class NumpyRule(Tanh):
    def partials(self, y, x):
        return (1.0 - np.asarray(y, float) ** 2,)


@caught("vjp of CotangentOfFloor")
class CotangentOfFloor(Floor):
    def vjp(self, g, y, x):
        return (0.0 * g,)


@caught("jvp of TangentOfFloor")
class TangentOfFloor(Floor):
    def jvp(self, ts, y, x):
        return ts[0]


@caught("tape of FloorWithTape.*: the gradient is not zero")
class FloorWithTape(Floor):
    def __call__(self, x):
        return super().__call__(x) + x if inside(x, Tape) else super().__call__(x)


@caught("dual numbers of FloorWithDual.*: the tangent is not zero")
class FloorWithDual(Floor):
    def __call__(self, x):
        return super().__call__(x) + x if inside(x, Dual) else super().__call__(x)


# ---------------------------------------------------------------- vmap


@caught(r"vmap of VmapOff\(\) .* with in_axes \(0,\) against a loop")
class VmapOff(Tanh):
    def vmap(self, dims, x):
        return 1.001 * super().vmap(dims, x)


@caught(r"vmap of LastAxisOff\(\) on shapes \[\(3,\)\] with in_axes \(1,\) against a loop")
class LastAxisOff(Tanh):
    def vmap(self, dims, x):
        return self(x)


@caught(r"vmap of OneBatched\(\) .* with in_axes \(None, 0\)")
class OneBatched(MatMul):
    def vmap(self, dims, x, y):
        return super().vmap(dims, x, y) * (1.001 if dims[0] is None else 1.0)


@caught("vmap of vmap of NestedOff.* against two loops")
class NestedOff(Tanh):
    def vmap(self, dims, x):
        return self(batch_front(x, dims[0])) * (1.001 if inside(x, Batch) else 1.0)


@caught("in its first input over vmap in the others")
class OuterOff(Mul):
    def vmap(self, dims, x, y):
        return super().vmap(dims, x, y) * (1.001 if dims[0] is None and inside(x, Batch) else 1.0)


@caught("vmap of the vjp of BatchedRuleOff")
class BatchedRuleOff(Tanh):
    def vjp(self, g, y, x):
        return super().vjp(1.001 * g if inside(g, Batch) else g, y, x)


@caught("vjp of the vmap of TapedVmapOff")
class TapedVmapOff(Tanh):
    def vmap(self, dims, x):
        return super().vmap(dims, x) * (1.001 if inside(x, Tape) else 1.0)


# ---------------------------------------------------------------- the tests


@pytest.mark.parametrize(("card", "words"), BROKEN, ids=[cls.__name__ for cls, _ in BROKEN])
def test_a_wrong_card_is_caught(card, words):
    with pytest.raises(AssertionError, match=f"(?s){words}"):
        check_op(card)


def test_samples_are_the_same_each_time_and_cannot_be_written_to():
    first, again = (next(iter(cases(Mul)))[0] for _ in range(2))
    np.testing.assert_array_equal(first.xs, again.xs)
    with pytest.raises(ValueError, match="read-only"):
        first.xs[0][...] = 0.0


def test_differences_look_closer_at_a_kink():
    x = np.array([1e-4, 2.0])
    (found,) = differences(lambda xs: [np.abs(xs[0]) ** 3 + np.abs(xs[0])], [x], [np.ones(2)])
    np.testing.assert_allclose(found, 3 * x**2 + 1, rtol=1e-9)
