"""Tests of the tester: each check fails on a card that is wrong by a little, and says what is wrong."""

from __future__ import annotations

import numpy as np
import pytest

from adjoint.core.errors import ShapeError
from adjoint.core.spec import Spec, complex64, float16, float32, is_half
from adjoint.core.verbs import verbs
from adjoint.ops.arithmetic import Abs, Add, Mul
from adjoint.ops.broadcast import batch_front, cast_like, is_plain, match
from adjoint.ops.compare import Floor
from adjoint.ops.contract import MatMul
from adjoint.ops.movement import Flip, Split
from adjoint.ops.reduce import CumSum
from adjoint.ops.transcendental import Exp, Relu, Softplus, Sqrt, Tanh, tanh
from adjoint.testing import check_op
from adjoint.testing.cases import cases, differences, in_kind
from adjoint.testing.check import check_refusal
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
        return ts[0] * verbs.conj(y)


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


class CallOff(Tanh):
    """The kernel is right, the call is not: only transforms see it."""

    def __call__(self, *xs):
        y = super().__call__(*xs)
        return 1.001 * y if is_plain(*xs) else y


@caught("tape of TapeOff.* against its vjp")
class TapeOff(CallOff):
    pass


@caught("dual numbers of DualOff.* against its jvp")
class DualOff(CallOff):
    def vjp(self, g, y, x):
        return super().vjp(g, tanh(x), x)


@caught("other inputs constant")
class ConstantOff(Mul):
    """Wrong only if the first input alone is followed."""

    def __call__(self, x, y):
        lone = inside(x, Tape) and not inside(y, Tape)
        return super().__call__(x, 1.001 * y if lone else y)


@caught("second derivative of SecondOff.*: jvp of vjp against finite differences")
class SecondOff(Tanh):
    def partials(self, y, x):
        p = 1.0 - y * y
        return (p + 0.001 * (p - verbs.stop_gradient(p)),)


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
        return self(batch_front(x, dims[0])) * (1.0 if is_plain(x) or not inside(x, Batch) else 1.001)


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


# ---------------------------------------------------------------- shapes and dtypes


@caught(r"infer of ShapeOff\(\) on shapes \[\(\)\]: shape \(1,\), eval gave \(\)")
class ShapeOff(Tanh):
    def infer(self, x):
        return Spec((*x.shape, 1), x.dtype)


@caught("infer of DtypeOff.*: dtype float32, eval gave float64")
class DtypeOff(Tanh):
    def infer(self, x):
        return Spec(x.shape, float32)


@caught("infer of ResultMissing")
class ResultMissing(Split):
    def infer(self, x):
        return super().infer(x)[:-1]


@caught(r"WideResult\(\) on shapes \[\(\)\] of float32: the result is float64, expected float32")
class WideResult(Tanh):
    def eval(self, xp, x):
        return xp.tanh(x, dtype=float)


@caught("of float32 against double precision")
class Imprecise(Tanh):
    def eval(self, xp, x):
        return xp.tanh(x) * (1.001 if x.dtype == float32 else 1.0)


@caught("of float16: the result is float32, expected float16")
class HalfLost(Tanh):
    def infer(self, x):
        return Spec(x.shape, float32 if is_half(x.dtype) else x.dtype)


@caught("the result is complex128, expected complex64")
class WideComplex(Exp):
    def infer(self, x):
        return Spec(x.shape, self.eval(np, np.ones((), x.dtype)).dtype)

    def eval(self, xp, x):
        return xp.exp(x, dtype=complex) if x.dtype == complex64 else xp.exp(x)


@caught("vjp of WideCotangent.* of float32: the cotangent")
class WideCotangent(Tanh):
    def vjp(self, g, y, x):
        return (verbs.cast(super().vjp(g, y, x)[0], "complex128" if x.dtype.kind == "c" else "float64"),)


@caught("jvp of WideTangent.* of float32: the tangent")
class WideTangent(Tanh):
    def jvp(self, ts, y, x):
        return verbs.cast(super().jvp(ts, y, x), "complex128" if x.dtype.kind == "c" else "float64")


@caught("infer of FirstDtype.* of float32: dtype float32, eval gave float64")
class FirstDtype(Mul):
    def infer(self, x, y):
        return Spec(super().infer(x, y).shape, x.dtype)


@caught("with a Python number as input . of those with derivatives: the result is float64, expected float32")
class StrongNumbers(Mul):
    def eval(self, xp, x, y):
        return xp.asarray(x) * xp.asarray(y)


@caught("infer of SmallSum.* of bool: .*eval gave int64")
class SmallSum(CumSum):
    def infer(self, x):
        return Spec(x.shape, x.dtype)


# ---------------------------------------------------------------- edges


@caught(r"vjp of NanAtZero\(\) at its edges .* is NaN where the result is finite")
class NanAtZero(Abs):
    complex = False

    def partials(self, y, x):
        return (x / y,)

    def vjp(self, g, y, x):
        return (g * x / y,)


@caught(r"vjp of SteepKink\(\) at its edges .*one-sided slopes")
class SteepKink(Relu):
    def partials(self, y, x):
        return (verbs.where(verbs.equal(x, 0), 2.0, super().partials(y, x)[0]),)


@caught(r"jvp of TwoKinks\(\) at its edges .* against its vjp")
class TwoKinks(Relu):
    def jvp(self, ts, y, x):
        return ts[0] * verbs.where(verbs.equal(x, 0), 0.5, super().partials(y, x)[0])


@caught(r"Overflows\(\) at its edges .* in float32 against float64")
class Overflows(Softplus):
    edges = (100.0,)

    def eval(self, xp, x):
        return xp.log1p(xp.exp(x))


@caught("vjp of SlopeOverflows.* at its edges .* in float32")
class SlopeOverflows(Softplus):
    edges = (100.0,)

    def partials(self, y, x):
        return (1.0 - 1.0 / (1.0 + verbs.div(Exp()(x), 1.0)) * (1.0 + 0.0 * Exp()(x)),)


@caught("masked Unmasked.*: the gradient is not zero: .*nan")
class Unmasked(Sqrt):
    singular = False


@caught("masked TangentUnmasked.*: the tangent is not zero")
class TangentUnmasked(Sqrt):
    def jvp(self, ts, y, x):
        return ts[0] * (0.5 / y)


# ---------------------------------------------------------------- refusals and text


@caught(r"infer of OtherWords\(axes=\(1,\)\) on float64\[3\] says .*, not 'beyond the end'")
class OtherWords(Flip):
    @classmethod
    def errors(cls):
        yield cls((1,)), (Spec((3,)),), "beyond the end"


@caught(r"infer of InferAccepts\(axes=\(1,\)\) on float64\[3\] accepts what it should refuse")
class InferAccepts(Flip):
    def infer(self, x):
        return Spec(x.shape, x.dtype)


@caught(r"the call of CallAccepts\(axes=\(1,\)\) on float64\[3\] accepts what infer refuses")
class CallAccepts(Flip):
    def eval(self, xp, x):
        return xp.flip(x, tuple(a for a in self.axes if a < x.ndim))


@caught("the call of CallSaysOther.* says .*no such axis.*, not \"outside the input's 1 axes\"")
class CallSaysOther(Flip):
    def eval(self, xp, x):
        if max(self.axes) >= x.ndim:
            raise ShapeError("no such axis")
        return xp.flip(x, self.axes)


@caught("repr of Nameless does not name it: op")
class Nameless(Tanh):
    def __repr__(self):
        return "op"


@caught("does not equal its copy")
class NeverEqual(Tanh):
    __eq__, __hash__ = object.__eq__, object.__hash__


# ---------------------------------------------------------------- the tests


@pytest.mark.parametrize(("card", "words"), BROKEN, ids=[cls.__name__ for cls, _ in BROKEN])
def test_a_wrong_card_is_caught(card, words):
    with pytest.raises(AssertionError, match=f"(?s){words}"):
        check_op(card)


def test_a_refusal_must_name_the_line_of_the_caller():
    op, specs, words = next(Flip.errors())
    with pytest.raises(AssertionError, match=r"does not name the line elsewhere.py:1: .*called at test_tester.py:\d+"):
        check_refusal(op, specs, words, "elsewhere.py:1")


def test_samples_are_the_same_each_time_and_cannot_be_written_to():
    first, again = (next(iter(cases(Mul)))[0] for _ in range(2))
    np.testing.assert_array_equal(first.xs, again.xs)
    with pytest.raises(ValueError, match="read-only"):
        first.xs[0][...] = 0.0


def test_differences_look_closer_at_a_kink():
    x = np.array([1e-4, 2.0])
    (found,) = differences(lambda xs: [np.abs(xs[0]) ** 3 + np.abs(xs[0])], [x], [np.ones(2)])
    np.testing.assert_allclose(found, 3 * x**2 + 1, rtol=1e-9)


def test_half_precision_has_no_complex_numbers_of_its_own():
    assert in_kind(np.dtype(complex), float16) == complex64
