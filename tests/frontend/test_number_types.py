"""Numbers that are of one type on one way and of another on another way: as Python has them, or refused; never another result.

Every pair of types, every way to come to such a number, every use that might tell the types apart.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import math
from itertools import count
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.core.errors import AdjointError

NUMBER = count().__next__
#: (a number, a number of another type)
PAIRS = [
    ("7", "2.5"),
    ("True", "3"),
    ("2.5", "False"),
    ("-4", "0.0"),
    ("math.floor(x)", "1.5"),
    ("round(x * 3)", "2"),
    ("x", "0"),
]
#: How n becomes one or the other.
WAYS = {
    "ternary": "n = A if x > 0 else B",
    "if": "n = B\n    if x > 0:\n        n = A",
    "returned": "def pick():\n        if x > 0:\n            return A\n        return B\n    n = pick()",
    "max": "n = max(x, A, B)",
    "or": "n = (x > 0 and A) or B",
    "while": "n, k = B, 0.0\n    while k < x:\n        n = A\n        k = k + 1",
    "for": "n = B\n    for k in range(12):\n        n = A if k < x else n",
    "nested": "m = A if x > 0 else B\n    n = m + 1 if x > -9 else 0.5",
    "list": "l = [B]\n    if x > 0:\n        l[0] = A\n    n = l[0]",
}
USES = [
    "n + 1", "n * 2", "n - x", "n / 2", "n // 2", "n % 3", "-n", "abs(n)", "n ** 2", "2 ** n", "n == 7", "n < 3", "n in (7, 2.5)", "n and 1.0", "not n",
    "float(n)", "round(n)", "divmod(n, 2)[0]", "sum([n, 1])", "min(n, 2)", "x * n",
    "isinstance(n, int)", "isinstance(n, float)", "isinstance(n, (int, float))", "isinstance(n, bool)", "isinstance(n, str)", "type(n) is int",
    "hasattr(n, 'bit_length')", "hasattr(n, 'real')", "hasattr(n, 'foo')", "n is True", "len(f'{n}')", "len(str(n))", "len('%s' % n)", "n & 1", "n << 1", "~n",
    "[x, 2 * x, 3 * x][n]", "(np.arange(5.0) * x)[n]", "len(range(n))", "hash(n)", "{7: 1.0, 2.5: 2.0}.get(n, 3.0)", "int(n)",
    "np.arange(3) * n", "np.arange(3.0) * n", "np.arange(3) / n", "np.arange(3) < n", "np.ones(3, np.float32) * n", "np.arange(3, dtype=np.int8) + n",
    "np.array([True, False]) + n", "ops.sin(n)", "print(n) or 1.0",
]  # fmt: skip


def defined(pair: tuple[str, str], way: str, uses: list[str]) -> Any:
    body = WAYS[way].replace("A", pair[0]).replace("B", pair[1])
    source = f"def f(x):\n    {body}\n    return {', '.join(uses)},\n"
    filename = f"types{NUMBER()}.py"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    space: dict[str, Any] = {"math": math, "np": np, "ops": ad.ops}
    exec(compile(source, filename, "exec"), space)
    return space["f"], source


def ran(f: Any, x: float) -> tuple[list[Any] | None, BaseException | None, str]:
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed), np.errstate(all="ignore"):
            values = [np.asarray(y.asnumpy() if isinstance(y, ad.Tensor) else y) for y in f(x)]
    except Exception as error:  # whatever Python, NumPy or the graph raises for the program
        return None, error, ""
    return values, None, printed.getvalue()


def agree(pair: tuple[str, str], way: str, uses: list[str]) -> bool:
    """Whether a graph gives what Python gives for all uses; False if it refuses."""
    f, source = defined(pair, way, uses)
    compiled = ad.jit(f, backend="interpreter")
    for x in (2.0, -2.0):
        (expected, failed, said), (found, error, told) = ran(f, x), ran(compiled, x)
        if found is None:  # refused by name, or with Python's own complaint on one of the ways
            assert isinstance(
                error, (AdjointError, TypeError, ZeroDivisionError, ValueError, IndexError, OverflowError)
            ), (source, error)
            return False
        if expected is None:
            assert isinstance(failed, ZeroDivisionError), (source, failed, found)  # a graph computes with infinities
            continue
        assert told == said, source
        for y, want in zip(found, expected, strict=True):
            assert y.shape == want.shape, source
            if want.shape:
                assert y.dtype == want.dtype, (source, y.dtype, want.dtype)
            np.testing.assert_allclose(y, want, rtol=1e-6, err_msg=source)
    return True


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("pair", PAIRS, ids=" or ".join)
def test_as_python_or_refused(pair: tuple[str, str], way: str) -> None:
    start = PAIRS.index(pair) + list(WAYS).index(way)
    for k, use in enumerate(USES):
        if (k + start) % 3 == 0:
            agree(pair, way, [use])


@pytest.mark.parametrize("way", WAYS)
def test_arithmetic_is_not_refused(way: str) -> None:
    assert agree(
        ("7", "2.5"),
        way,
        [u for u in USES[:15] if "**" not in u] + ["isinstance(n, (int, float))", "np.arange(3.0) * n"],
    )


def test_after_a_loop_the_type_is_known() -> None:
    def f(x: Any) -> Any:
        total = 0
        for k in range(12):
            total = total + x * k
        return x if isinstance(total, float) else -x

    assert float(ad.jit(f)(2.0)) == 2.0


def counted(x: Any) -> Any:
    n = 0
    for i in range(10):
        if x * i > 1.05:
            n += 1
    return n


def halved(x: Any) -> Any:
    n = 0
    while x > 0.01:
        x, n = x / 2, n + 1
    return n


#: Python numbers that differ within a batch.
CHOSEN = {
    "int": lambda x: 1 if x > 0 else 2,
    "float": lambda x: 1.5 if x > 0 else 2.5,
    "sum": lambda x: (1 if x > 0 else 2) + 3,
    "counted": counted,
    "halved": halved,
    "truth": lambda x: 3 > 2 if x > 0 else 2 > 3,
}
ASKED = {
    "int": lambda k: 3.0 if isinstance(k, int) else 5.0,
    "float": lambda k: 3.0 if isinstance(k, float) else 5.0,
    "several": lambda k: 3.0 if isinstance(k, (bool, complex, str)) else 5.0,
    "text": lambda k: 3.0 if isinstance(k, (str, list)) else 5.0,
    "type": lambda k: 3.0 if type(k) is int else 5.0,
    "hasattr": lambda k: 3.0 if hasattr(k, "shape") else 5.0,
    "number's": lambda k: 3.0 if hasattr(k, "real") else 5.0,
    "getattr": lambda k: getattr(k, "ndim", 3) + 5.0,
    "either": lambda k: 3.0 if isinstance(k, (int, float, ad.Tensor)) else 5.0,
    "none": lambda k: 3.0 if k is None else 5.0,
}


@pytest.mark.parametrize("ask", ASKED)
@pytest.mark.parametrize("number", CHOSEN)
def test_what_a_number_of_a_batch_is(number: str, ask: str) -> None:
    def f(x: Any) -> Any:
        k = CHOSEN[number](x)
        return x * ASKED[ask](k) + k

    xs = np.array([1.31, -0.73, 0.217])
    for transform in (lambda f: ad.jit(ad.vmap(f)), lambda f: ad.vmap(ad.jit(f))):
        try:
            found = transform(f)(xs)
        except AdjointError as error:
            assert "test_number_types.py" in str(error)  # noqa: PT017
        else:
            np.testing.assert_allclose(found, [f(float(x)) for x in xs])


def test_what_is_batched_is_a_tensor() -> None:
    f = lambda x: x * (3.0 if isinstance(x, float) else 5.0) * (2.0 if isinstance(x + 1, (float, ad.Tensor)) else 7.0)
    assert ad.vmap(f)(np.ones(2)).tolist() == ad.jit(ad.vmap(f))(np.ones(2)).tolist() == [10.0, 10.0]
    g = lambda i: 3.0 if isinstance(i, int) else 5.0 * i
    assert ad.vmap(g)(np.arange(2)).tolist() == ad.jit(ad.vmap(g))(np.arange(2)).tolist() == [0.0, 5.0]

    @ad.custom_vjp
    def ruled(x: Any) -> Any:
        return x * 2

    ruled.defvjp(lambda x, out, dout: (dout * 3,))
    h = lambda x: (
        ruled(x) * (3.0 if isinstance(ruled(x), float) else 5.0) * (2.0 if hasattr(ruled(x), "shape") else 7.0)
    )
    assert ad.vmap(h)(np.ones(2)).tolist() == ad.jit(ad.vmap(h))(np.ones(2)).tolist() == [20.0, 20.0]


ROUNDED = {
    "ternary": lambda v, w: (0.1 if v.sum() > 0 else v.sum()) * w,
    "operators": lambda v, w: ((0.1 if v.sum() > 0 else v.sum()) * 2 + 1) * w,
    "cond": lambda v, w: ad.cond(v.sum() > 0, lambda: 0.1, lambda: v.sum()) * w,
    "switch": lambda v, w: ad.switch(v.sum().astype("int64"), [v.sum, v.sum, lambda: 0.1]) * w,
    "comparison": lambda v, w: (0.1 if v.sum() > 0 else v.sum()) < w,
    "cast": lambda v, w: ad.ops.cast(0.1 if v.sum() > 0 else v.sum(), ad.float64),
    "inner": lambda v, w: (lambda y: w if v.sum() > 9 else w * y)(0.1 if v.sum() > 0 else v.sum()),
}


@pytest.mark.parametrize("name", ROUNDED)
def test_a_number_rounded_by_the_other_branch_is_refused_beside_wider_arrays(name):
    f = ROUNDED[name]
    v, w = np.ones(2, np.float32), np.ones(2)
    with pytest.raises(ad.DtypeError, match="Python would not have rounded the number to float32"):
        ad.jit(f, backend="interpreter")(v, w)
    if name not in ("comparison", "cast"):
        a, b = (g(v, v) for g in (f, ad.jit(f, backend="interpreter")))
        assert a.dtype == b.dtype
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-7)


def test_numbers_that_the_other_branch_holds_exactly_pass_and_integers_that_do_not_fit_are_refused():
    f = lambda v, w: (0.5 if v.sum() > 0 else v.sum()) * w
    np.testing.assert_array_equal(np.asarray(ad.jit(f, backend="interpreter")(np.ones(2, np.float32), np.ones(2))), 0.5)
    with pytest.raises(ad.ControlFlowError, match="int8"):
        ad.jit(lambda v: (300 if v[0] > 0 else v[0]) + 1, backend="interpreter")(np.ones(2, np.int8))


def test_attributes_that_no_number_has() -> None:
    """`hasattr` says no, as of Python's number; what numbers have and Tensors do not asks for the number."""

    def f(x):
        return x * (2.0 if hasattr(x, "covariance") else 3.0) + (0.0 if getattr(x, "variable", None) is None else 1.0)

    assert ad.jit(f)(1.5) == f(1.5) == ad.jit(ad.grad(lambda x: f(x) * x))(1.5) / 2
    with pytest.raises(ad.NeedsNumberError):
        ad.jit(lambda x: x if x.is_integer() else -x)(1.5)


@pytest.mark.parametrize(
    "given", [None, "a", {1}, object(), range(3), np.datetime64("2020"), slice(1)], ids=lambda x: type(x).__name__
)
def test_what_is_no_operand_is_named(given):
    for f in (lambda x: x * given, lambda x: given + x, lambda x: ad.ops.add(x, given)):
        with pytest.raises(ad.DtypeError, match=r"input \d is (None|the str 'a'|of type \w+); pass a number"):
            ad.jit(f)(1.5)


def test_integers_beyond_64_bits_are_returned_as_they_are() -> None:
    def f(x):
        n = 1
        for _ in range(80):
            n *= 2
        return x * 2, {"n": n, "low": -(2**63) - 1, "fits": -(2**63)}

    y, found = ad.jit(f)(1.5)
    assert y == 3.0
    assert (found["n"], found["low"], int(found["fits"])) == (2**80, -(2**63) - 1, -(2**63))
    with pytest.raises(ValueError, match="returned no number of at most 64 bits"):
        ad.jit(lambda x: 2**70)(1.5)
