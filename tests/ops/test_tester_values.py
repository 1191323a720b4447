"""Tests of the tester: wrong shapes, dtypes, edges, refusals, texts and facts are each caught."""

from __future__ import annotations

import numpy as np
import pytest

from adjoint.core.errors import ShapeError
from adjoint.core.spec import Spec, complex64, dtype_of, float16, float32, is_half
from adjoint.ops import language as F
from adjoint.ops.along_axis import CumSum
from adjoint.ops.arithmetic import Abs, Mul
from adjoint.ops.joining import Split
from adjoint.ops.reduce import Sum
from adjoint.ops.slicing import Flip
from adjoint.ops.transcendental import Exp, Relu, Softplus, Sqrt
from adjoint.ops.trigonometric import Tanh
from adjoint.testing import check_op
from adjoint.testing.cases import in_kind
from adjoint.testing.check import check_refusal

BROKEN: list[tuple[type, str]] = []


def caught(words):
    """The card below is wrong, and `check_op` says so with these words."""

    def enter(cls):
        BROKEN.append((cls, words))
        return cls

    return enter


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
        return xp.tanh(x) * (1.001 if dtype_of(x) == float32 else 1.0)


@caught("of float16: the result is float32, expected float16")
class HalfLost(Tanh):
    def infer(self, x):
        return Spec(x.shape, float32 if is_half(x.dtype) else x.dtype)


@caught("the result is complex128, expected complex64")
class WideComplex(Exp):
    def infer(self, x):
        return Spec(x.shape, self.eval(np, np.ones((), x.dtype)).dtype)

    def eval(self, xp, x):
        return xp.exp(x, dtype=complex) if dtype_of(x) == complex64 else xp.exp(x)


@caught("vjp of WideCotangent.* of float32: the cotangent")
class WideCotangent(Tanh):
    def vjp(self, g, y, x):
        return (F.cast(super().vjp(g, y, x)[0], "complex128" if dtype_of(x).kind == "c" else "float64"),)


@caught("jvp of WideTangent.* of float32: the tangent")
class WideTangent(Tanh):
    def jvp(self, ts, y, x):
        return F.cast(super().jvp(ts, y, x), "complex128" if dtype_of(x).kind == "c" else "float64")


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
        return (F.where(F.equal(x, 0), 2.0, super().partials(y, x)[0]),)


@caught(r"jvp of TwoKinks\(\) at its edges against its vjp")
class TwoKinks(Relu):
    def jvp(self, ts, y, x):
        return ts[0] * F.where(F.equal(x, 0), 0.5, super().partials(y, x)[0])


@caught(r"Overflows\(\) at its edges .* in float32 against float64")
class Overflows(Softplus):
    edges = (100.0,)

    def eval(self, xp, x):
        return xp.log1p(xp.exp(x))


@caught("vjp of SlopeOverflows.* at its edges .* in float32")
class SlopeOverflows(Softplus):
    edges = (100.0,)

    def partials(self, y, x):
        return (1.0 - 1.0 / (1.0 + F.div(Exp()(x), 1.0)) * (1.0 + 0.0 * Exp()(x)),)


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


@caught(r"the call of CallAccepts\(axes=\(1,\)\) on float64\[3\] accepts what it should refuse")
class CallAccepts(Flip):
    def eval(self, xp, x):
        return xp.flip(x, tuple(a for a in self.axes if a < x.ndim))


@caught("the call of CallSaysOther.* says .*no such axis.*, not .*outside the input")
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


# ---------------------------------------------------------------- facts


@caught("called elementwise, but the element at .* depends on others")
class NotElementwise(CumSum):
    elementwise = True


@caught("called a view, but the kernel copies elements")
class NoView(Tanh):
    view = True


@caught("not the max that it says it is")
class OtherReduction(Sum):
    reduction = "max"


@caught("called total, but fails on nan")
class NotTotal(Exp):
    def eval(self, xp, x):
        if np.isnan(x).any():
            raise FloatingPointError
        return super().eval(xp, x)


@caught("machine code of OtherCode")
class OtherCode(Tanh):
    def eval(self, xp, x):
        return xp.tanh(x)

    def emit(self, b, x):
        return b.mul(1.001, b.call("tanh", x))


@caught("is no number of operations")
class NoCost(Tanh):
    def flops(self, y, x):
        return None


@caught("an element is none of the inputs'")
class NoCopy(Tanh):
    copies = True


@caught("not the same bytes")
class OtherBytes(Flip):
    same_bytes = True


@caught("the element at .* is not read at")
class ReadElsewhere(Flip):
    def index_map(self, shape):
        return [(0, k, 1) for k in range(len(shape))]


@caught(r"not linear in its inputs \(0,\)")
class NotLinear(Tanh):
    linear_in = ((0,),)

    def linear_part(self, b, terms, x):
        return b(self, terms[0])


@caught(r"not linear in its inputs \(0, 1\)")
class NotLinearTogether(Mul):
    linear_in = ((0, 1),)

    def linear_part(self, b, terms, x, y):
        t, s = terms
        return s if t is None else t if s is None else b(Mul(), t, y)


@caught("in simpler ops")
class NotThoseOps(Tanh):
    def expand(self, b, x):
        return b(Exp(), x)


@caught("result 1 alone")
class OtherResult(Split):
    def one_result(self, k):
        return super().one_result(0)


# ---------------------------------------------------------------- the tests


@pytest.mark.parametrize(("card", "words"), BROKEN, ids=[cls.__name__ for cls, _ in BROKEN])
def test_a_wrong_card_is_caught(card, words):
    with pytest.raises(AssertionError, match=f"(?s){words}"):
        check_op(card)


def test_a_refusal_must_name_the_line_of_the_caller():
    op, specs, words = next(Flip.errors())
    with pytest.raises(
        AssertionError, match=r"does not name the line elsewhere.py:1: .*called at test_tester_values.py:\d+"
    ):
        check_refusal(op, specs, words, "elsewhere.py:1")


def test_half_precision_has_no_complex_numbers_of_its_own():
    assert in_kind(np.dtype(complex), float16) == complex64
