"""Dtypes and values of random expressions: the same in dynamic mode, in both backends, and in NumPy."""

import operator
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adjoint as ad
from adjoint.graph.numbers import NeedsNumberError

DTYPES = (
    "bool",
    "int8",
    "uint8",
    "int16",
    "int32",
    "int64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "complex128",
)
ARITHMETIC = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
REAL = {
    **ARITHMETIC, "//": operator.floordiv, "%": operator.mod, "<": operator.lt, "<=": operator.le, "==": operator.eq,
    "!=": operator.ne, "**": operator.pow,
}  # fmt: skip
WHOLE = {
    "+": operator.add,
    "*": operator.mul,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<": operator.lt,
}
UNARY = {"neg": operator.neg, "abs": abs}

PYTHON = st.sampled_from([True, False, 1, 2, 3, 1.5, 0.1, 2.0])
KINDS = st.sampled_from(["array", "scalar", "nothing", "tensor"])


@st.composite
def leaves(draw, dtypes=DTYPES):
    """A Python number; or an array, a NumPy scalar, an array without axes, a Tensor of some dtype."""
    if draw(st.booleans()):
        return draw(PYTHON)
    dtype, kind = np.dtype(draw(st.sampled_from(dtypes))), draw(KINDS)
    if dtype == np.float16:
        kind = "tensor"  # with NumPy's own arrays it would be computed by NumPy's rules, without the graph by ours
    numbers = np.asarray(draw(st.sampled_from([[1, 2, 3], [3, 1, 2]])), dtype)
    if kind == "scalar":
        return numbers[0]
    return {"array": numbers, "nothing": numbers[0].reshape(()), "tensor": ad.Tensor(numbers)}[kind]


@st.composite
def expressions(draw, operators, depth=2):
    """A tree of operators over places of leaves, as (sign, left, right), (sign, inner) or a place."""
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return draw(st.integers(0, 3))
    if draw(st.integers(0, 5)) == 0:
        return draw(st.sampled_from(sorted(UNARY))), draw(expressions(operators, depth - 1))
    sign = draw(st.sampled_from(sorted(operators)))
    return sign, draw(expressions(operators, depth - 1)), draw(expressions(operators, depth - 1))


def value(tree, xs, operators):
    if isinstance(tree, int):
        return xs[tree]
    inner = [value(t, xs, operators) for t in tree[1:]]
    return UNARY[tree[0]](*inner) if len(inner) == 1 else operators[tree[0]](*inner)


def outcome(fn, xs):
    """The dtype and numbers of the result, or that it is refused."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            y = fn(*xs)
        except (TypeError, ValueError, OverflowError, ZeroDivisionError) as error:
            return None, error
    return np.asarray(y).dtype, np.asarray(y.asnumpy() if isinstance(y, ad.Tensor) else y)


def same(got, want, xs, tree):
    if isinstance(want[1], (ZeroDivisionError, OverflowError)) and got[0] is not None and not np.isfinite(got[1]).all():
        return  # floats that a graph holds follow IEEE 754
    if want[0] == np.complex128 and got[0] == np.float64 and np.isnan(got[1]).any():
        return  # and a power of a negative one is no complex number
    assert (got[0] is None) == (want[0] is None), (tree, xs, got, want)
    if want[0] is None:
        return
    assert got[0] == want[0], (tree, xs, got, want)
    tolerance = {2: 2e-3, 4: 2e-6}.get(want[0].itemsize // (2 if want[0].kind == "c" else 1), 1e-12)
    np.testing.assert_allclose(got[1], want[1], rtol=tolerance if want[0].kind in "fc" else 0, err_msg=str((tree, xs)))


def plain(x):
    return x.asnumpy() if isinstance(x, ad.Tensor) else x


def check(tree, xs, operators):
    """All ways to compute an expression; one leaf more is a Tensor, so that adjoint computes it at all."""
    xs = [*xs[:3], ad.Tensor(plain(xs[3])) if isinstance(xs[3], (np.ndarray, np.generic)) else xs[3]]

    def fn(*xs):
        return value(tree, xs, operators)

    want = outcome(fn, xs)
    for backend in ("native", "interpreter"):
        got = outcome(lambda *xs, run=ad.jit(fn, backend=backend): run(*xs), xs)
        if isinstance(got[1], NeedsNumberError) or "returned no number" in str(got[1]):
            continue
        same(got, want, xs, tree)
    arrays = [plain(x) for x in xs]
    halves = any(np.asarray(x).dtype == np.float16 for x in arrays)  # which integers give way to here
    if want[0] is not None and not halves:
        same(want, outcome(fn, arrays), xs, tree)


@pytest.mark.parametrize("operators", [REAL, ARITHMETIC, WHOLE], ids=["real", "complex", "whole"])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_expressions(operators, data):
    kinds = {"real": DTYPES[:-2], "complex": DTYPES, "whole": DTYPES[:6]}
    name = "whole" if operators is WHOLE else "real" if operators is REAL else "complex"
    numbers = PYTHON.filter(lambda x: not isinstance(x, float)) if operators is WHOLE else PYTHON
    leaf = st.one_of(numbers, leaves(kinds[name]).filter(lambda x: operators is not WHOLE or not isinstance(x, float)))
    check(data.draw(expressions(operators)), data.draw(st.lists(leaf, min_size=4, max_size=4)), operators)


@pytest.mark.parametrize(
    "half",
    [np.float16(1.5), np.array(1.5, np.float16), np.float16([1.5, 2.0, 3.0])],
    ids=lambda h: f"{type(h).__name__}{np.shape(h)}",
)
@pytest.mark.parametrize("dtype", ["int64", "int32", "int8", "bool", "float32"])
def test_half_precision_that_is_no_tensor_yet(half, dtype):
    """A NumPy array or number of half precision beside a Tensor: integers give way to it in every mode."""
    x = np.arange(3).astype(dtype)
    for f in (lambda v, h: v * h, lambda v, h: h + v, np.maximum, lambda v, h: ad.ops.where(v > 0, v, h)):
        results = [
            f(ad.Tensor(x), half), ad.jit(f)(x, half), ad.jit(lambda v, f=f: f(v, half))(x),
            ad.vmap(lambda v, f=f: f(v, half))(x[None])[0],
        ]  # fmt: skip
        for y in results:
            assert y.dtype == (np.float32 if dtype == "float32" else np.float16)
            np.testing.assert_array_equal(y.asnumpy(), results[0].asnumpy())
