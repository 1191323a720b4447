"""Special functions as machine code: SciPy's own numbers, at odd arguments too, and loops around them that stay compiled."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.backends.native.runtime import scipy_functions
from adjoint.ops.bessel import Bessel
from adjoint.ops.incomplete import Gammainc, Gammaincc, Zeta
from adjoint.ops.incomplete_beta import Betainc
from adjoint.ops.special import Erfinv, Lgamma, Polygamma
from adjoint.ops.special_table import TABLE, Special

TINY = np.finfo(float).tiny
ODD = [0.0, -0.0, 1.0, -1.0, 2.0, -2.5, 0.5, 1e-8, 1e8, np.inf, -np.inf, np.nan, 5e-324, TINY / 8, 171.0, -171.3]
#: How many inputs each takes. Lambert's function is one of complex numbers.
CARDS: dict[Any, int] = {
    **{Special(name): len(domains) for name, (_, domains) in TABLE.items() if not name.startswith("lambertw")},
    **{Bessel(kind, order): 1 for kind in ("jv", "yv", "iv", "kv", "ive", "kve") for order in (0, 3)},
    **dict.fromkeys((Erfinv(), Lgamma(), Polygamma(0), Polygamma(1), Polygamma(4)), 1),
    **dict.fromkeys((Gammainc(), Gammaincc(), Zeta()), 2),
    Betainc(): 3,
}
OF_WHOLE_ORDER = ("yn", "kn", "expn")


def points(count: int, dtype: str) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    return [
        np.concatenate([rng.permutation(ODD), rng.normal(size=9), rng.random(6)]).astype(dtype) for _ in range(count)
    ]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_function_gives_what_scipy_gives(dtype: str) -> None:
    """Computed in double precision, where SciPy has some in single precision."""
    cards = list(CARDS)
    for begin in range(0, len(cards), 20):
        some = cards[begin : begin + 20]
        inputs = [points(CARDS[op], dtype) for op in some]
        for op, xs in zip(some, inputs, strict=True):
            if getattr(op, "name", "") in OF_WHOLE_ORDER:
                xs[0] = np.arange(xs[0].size).astype(dtype) % 5
        compiled = ad.jit(lambda inputs, some=some: tuple(op(*xs) for op, xs in zip(some, inputs, strict=True)))
        assert "in the interpreter" not in compiled.explain(inputs)
        with np.errstate(all="ignore"):
            for op, y, xs in zip(some, compiled(inputs), inputs, strict=True):
                wanted = op.eval(np, *(x.astype(np.float64) for x in xs)).astype(dtype)
                np.testing.assert_array_equal(y, wanted, strict=True, err_msg=str(op))


def test_no_warning_comes_from_an_order_that_is_no_whole_number() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = ad.jit(lambda n, x: Special("expn")(n, x))(np.array([2.5, 1.0]), np.array([0.5, 0.5]))
    np.testing.assert_array_equal(found, Special("expn").eval(np, np.array([2.0, 1.0]), np.array([0.5, 0.5])))


def likelihood(x: Any, n: Any) -> Any:
    """Steps of Newton's method for a gamma distribution, in a loop and a branch."""
    a = 1.5
    for _ in range(n):
        if a < 3.0:
            a = a - (ops.digamma(a) - ops.mean(ops.log(x))) / ops.polygamma(1, a)
        else:
            a = a + 0.1 * ops.gammainc(2.0, a) - 0.01 * ops.erfinv(ops.tanh(a))
    return ops.sum((a - 1.0) * ops.log(x) - x) - 5 * ops.lgamma(a)


def test_loops_and_branches_around_them_stay_compiled() -> None:
    x, n = np.array([0.5, 1.7, 2.2, 4.0, 0.9]), ad.Tensor(6)
    run = ad.jit(ad.value_and_grad(likelihood))
    assert "in the interpreter" not in run.explain(x, n)
    (value, slope), (wanted, dynamic) = run(x, n), ad.value_and_grad(likelihood)(x, 6)
    np.testing.assert_allclose(value, wanted, rtol=1e-12)
    np.testing.assert_allclose(slope, dynamic, rtol=1e-11)
    differences = [(likelihood(x + e, 6) - likelihood(x - e, 6)) / 2e-6 for e in 1e-6 * np.eye(5)]
    np.testing.assert_allclose(slope, differences, rtol=1e-6, atol=1e-8)
    second = ad.grad(lambda x: (ad.grad(lambda x: ops.lgamma(x).sum())(x) ** 2).sum())
    np.testing.assert_allclose(ad.jit(second)(x), second(x), rtol=1e-12)
    rows = np.stack([x, x[::-1]])[:, ::2]
    np.testing.assert_array_equal(ad.jit(ad.vmap(ops.lgamma))(rows), ops.lgamma(rows))


def test_a_function_that_is_not_there_is_left_to_the_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    assert scipy_functions.scipy_function("no_such_function") is None
    loop = scipy_functions.scipy_function("_zeta")
    assert loop is not None and loop.form == scipy_functions.LOOP
    monkeypatch.setattr(scipy_functions, "problem", lambda: "another interpreter")
    assert scipy_functions._loop("_zeta") is None
