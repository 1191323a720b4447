"""The one function that all guards of a graph are compiled to tells what each of them tells alone."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest
import scipy.interpolate as si
import scipy.optimize as so
import scipy.sparse as ss
import scipy.stats as st

import adjoint as ad
from adjoint.frontend.guards import Guard, compiled, image
from adjoint.frontend.places import Global


class Sub(list):
    pass


THING, OTHER = object(), object()
ARRAY = np.arange(3.0)
VALUES = [
    None, True, 1, 1.0, -0.0, 0.0, float("nan"), "a", (), [], {}, (1,), [1], (1.0,), [True], [1, 2, 3], [THING], [OTHER], (THING,),
    [THING, 1], {"a": 1}, {"a": 2}, {"b": 1}, {"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": THING}, {"a": OTHER}, {1: 1}, [[]], [[1]],
    {"a": [1]}, {"a": [2]}, ({"a": 1},), list(range(100)), list(range(99)), OrderedDict(a=1), Sub([1]), {1}, ARRAY, [None], [-0.0],
    [0.0], [1000], [10**9], [ARRAY], THING,
]  # fmt: skip


@pytest.mark.parametrize("first", range(len(VALUES)))
def test_what_is_compiled_sees_what_the_guard_sees(first):
    space = {"k": VALUES[first]}
    guard = Guard(Global(space, "k", "`k`"), image(VALUES[first]))
    check = compiled([guard])
    assert check()
    for k, now in enumerate(VALUES):
        space["k"] = now
        assert check() == guard.holds() == (k == first), now


@pytest.mark.parametrize("made", [lambda n: [n, "ab"], lambda n: (n, "ab"), lambda n: {"a": n, "b": "ab"}])
def test_equal_numbers_that_are_not_the_same_will_do(made):
    space = {"k": made(10**9)}
    check = compiled([Guard(Global(space, "k", "`k`"), image(space["k"]))])
    space["k"] = made(int("1000000000"))
    assert check()
    space["k"] = made(10**9 + 1)
    assert not check()


@pytest.mark.parametrize(
    ("box", "change"),
    [
        ([THING, 2], lambda x: x.append(1)),
        ([THING, 2], lambda x: x.reverse()),
        ([], lambda x: x.append(THING)),
        ({}, lambda x: x.update(a=1)),
        ({"a": THING}, lambda x: x.update(a=OTHER)),
        ({"a": 1, "b": 2}, lambda x: x.update(a=x.pop("a"))),  # another order
        ({"a": [1]}, lambda x: x["a"].append(2)),
    ],
)
def test_a_container_that_is_written_to_is_another(box, change):
    check = compiled([Guard(Global({"k": box}, "k", "`k`"), image(box))])
    assert check()
    change(box)
    assert not check()


_adjusted, _ad_rate = 2.0, 2.0


def test_names_that_begin_like_ours(monkeypatch):
    """A variable of the user's is read anew in every call, also `_adjusted`; and `_ad` is a name like others."""
    _ad = ad

    @ad.jit
    def scaled(x):
        y = x * _adjusted + _ad_rate
        for _ in range(2):
            y = _ad.numpy.sin(y) if y > 0 else y
        return y

    def want(x, a, b):
        return np.sin(np.sin(x * a + b))

    assert np.allclose(scaled(0.1), want(0.1, 2.0, 2.0))
    monkeypatch.setitem(globals(), "_adjusted", 3.0)
    assert np.allclose(scaled(0.1), want(0.1, 3.0, 2.0))
    monkeypatch.setitem(globals(), "_ad_rate", 1.0)
    assert np.allclose(scaled(0.1), want(0.1, 3.0, 1.0))


def _set(name, value):
    return lambda x: setattr(x, name, value)


LIBRARY_OBJECTS = {
    **{
        kind: (lambda kind=kind: ss.csr_array(np.diag([1.0, 2.0])).asformat(kind), lambda x: x.data.fill(7.0))
        for kind in ("csr", "csc", "coo", "dia", "bsr")
    },
    "lil": (lambda: ss.lil_array(np.diag([1.0, 2.0])), lambda x: x.__setitem__((0, 0), 7.0)),
    "dok": (lambda: ss.dok_array(np.diag([1.0, 2.0])), lambda x: x.__setitem__((0, 0), 7.0)),
    "a method": (lambda: ss.csr_array(np.eye(2)).dot, lambda x: x.__self__.data.fill(7.0)),
    "CubicSpline": (lambda: si.CubicSpline([0.0, 1.0, 2.0], [1.0, 2.0, 0.0]), lambda x: x.c.fill(1.0)),
    "BSpline": (lambda: si.make_interp_spline([0.0, 1.0], [1.0, 2.0], k=1), lambda x: x.c.fill(1.5)),
    "interp1d": (lambda: si.interp1d([0.0, 1.0], [1.0, 2.0]), lambda x: x.y.fill(1.5)),
    "grid": (lambda: si.RegularGridInterpolator(([0.0, 1.0],), [1.0, 2.0]), lambda x: x.values.fill(1.5)),
    "its method": (lambda: si.RegularGridInterpolator(([0.0, 1.0],), [1.0, 2.0]), _set("method", "nearest")),
    "norm": (lambda: st.norm(np.zeros(2), 1.0), lambda x: x.args[0].fill(1.0)),
    "norm by name": (lambda: st.norm(loc=0.0), lambda x: x.kwds.update(loc=1.0)),
    "multivariate": (lambda: st.multivariate_normal(np.zeros(2)), lambda x: x.mean.fill(1.0)),
    "poly1d": (lambda: np.poly1d([1.0, 2.0]), lambda x: x.coeffs.fill(3.0)),
    "Polynomial": (lambda: np.polynomial.Polynomial([1.0, 2.0]), lambda x: x.coef.fill(3.0)),
    "its domain": (lambda: np.polynomial.Polynomial([1.0, 2.0]), _set("domain", np.array([0.0, 5.0]))),
    "LinearConstraint": (lambda: so.LinearConstraint(np.eye(2), 0.0, 1.0), _set("ub", np.array([2.0, 2.0]))),
    "Bounds": (lambda: so.Bounds(np.zeros(2), np.ones(2)), lambda x: x.ub.fill(2.0)),
    "objects": (lambda: np.array([[1.0], None], object), lambda x: x[0].append(2.0)),
    "from_dlpack": (lambda: (a := np.ones(2), ad.from_dlpack(a)), lambda x: x[0].fill(2.0)),
}


@pytest.mark.parametrize("name", LIBRARY_OBJECTS)
def test_objects_of_numpy_and_scipy_are_compared_by_what_they_hold(name):
    make, change = LIBRARY_OBJECTS[name]
    found = make()
    for deep in (True, False):
        x = found[1] if name == "from_dlpack" else found
        guard = Guard(Global({"k": x}, "k", "`k`"), image(x, deep))
        check = compiled([guard])
        if deep or name != "objects":
            assert check() and guard.holds()
            change(found)
            assert not check() and not guard.holds()
            assert "`k` changed" in guard.reason()
        found = make()


def test_compiled_code_sees_sparse_matrices_distributions_and_shared_memory_that_change():
    matrix, loc, memory = ss.csr_array(np.diag([1.0, 2.0])), np.zeros(2), np.ones(2)
    frozen, poly, shared = st.norm(loc, 1.0), np.poly1d([1.0, 2.0]), ad.from_dlpack(memory)

    def f(x):
        return matrix @ x + frozen.logpdf(x) + poly(x) * shared

    fast, x = ad.jit(f), np.array([0.5, 1.5])
    for change in (
        lambda: None,
        lambda: None,
        lambda: matrix.data.fill(7.0),
        lambda: loc.fill(1.0),
        lambda: poly.coeffs.fill(3.0),
        lambda: memory.fill(4.0),
    ):
        change()
        np.testing.assert_allclose(fast(x), matrix @ x + frozen.logpdf(x) + poly(x) * memory, rtol=1e-12)
    assert len(fast.compilations) == 5
