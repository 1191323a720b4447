"""scipy.interpolate, called as it is: SciPy's numbers, and derivatives by points, nodes and values, in both modes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.interpolate as si

import adjoint as ad
from plain_scipy import agrees

RNG = np.random.default_rng(11)
x = np.array([0.0, 0.7, 1.5, 2.1, 3.2, 4.0])
y = RNG.normal(size=6)
MANY = RNG.normal(size=(2, 6))
at = np.array([-0.3, 0.2, 0.9, 1.6, 2.5, 3.9, 4.2])
inside = at[1:-1]

SPLINES = {
    "not-a-knot": lambda x, y, t: si.CubicSpline(x, y)(t),
    "natural": lambda x, y, t: si.CubicSpline(x, y, bc_type="natural")(t),
    "clamped": lambda x, y, t: si.CubicSpline(x, y, bc_type="clamped")(t, 1),
    "mixed": lambda x, y, t: si.CubicSpline(x, y, bc_type=((1, 0.5), (2, -0.3)))(t),
    "half": lambda x, y, t: si.CubicSpline(x, y, bc_type=("not-a-knot", (2, 0.1)))(t),
    "three": lambda x, y, t: si.CubicSpline(x[:3], y[:3])(t),
    "two": lambda x, y, t: si.CubicSpline(x[:2], y[:2])(t),
    "integral": lambda x, y, t: si.CubicSpline(x, y).integrate(0.3, t[4]),
    "derivative": lambda x, y, t: si.CubicSpline(x, y).derivative()(t),
    "pchip": lambda x, y, t: si.PchipInterpolator(x, y)(t),
    "pchip_two": lambda x, y, t: si.PchipInterpolator(x[:2], y[:2])(t),
    "hermite": lambda x, y, t: si.CubicHermiteSpline(x, y, np.cos(y))(t),
    "akima": lambda x, y, t: si.Akima1DInterpolator(x, y)(t[1:-1]),
    "makima": lambda x, y, t: si.Akima1DInterpolator(x, y, method="makima", extrapolate=True)(t),
    "interp1d": lambda x, y, t: si.interp1d(x, y)(t[1:-1]),
    "interp1d_out": lambda x, y, t: si.interp1d(x, y, fill_value="extrapolate")(t),
    "interp1d_fill": lambda x, y, t: si.interp1d(x, y, bounds_error=False, fill_value=(1.0, 2.0))(t),
    "numpy": lambda x, y, t: np.interp(t, x, y),
}


@pytest.mark.parametrize("name", SPLINES)
def test_by_nodes_values_and_points(name):
    agrees(SPLINES[name], x, y, at)


def test_several_values_and_axes():
    agrees(lambda y, t: si.CubicSpline(x, y, axis=1)(t), MANY, at)
    agrees(lambda y, t: si.PchipInterpolator(x, y)(t), MANY.T.copy(), at.reshape(7, 1))
    agrees(lambda y, t: si.interp1d(x, y)(t), MANY, inside)
    agrees(lambda y: si.interp1d(x, y, axis=0)(1.1), MANY.T.copy())


def test_periodic_splines():
    def f(y, t):
        return si.CubicSpline(x, np.concatenate([y, y[:1]]), bc_type="periodic")(t)

    agrees(f, y[:5], at)


@pytest.mark.parametrize("bc", [None, "natural", "clamped", ([(1, 0.2)], [(2, 0.0)])])
def test_b_splines(bc):
    agrees(lambda y, t: si.make_interp_spline(x, y, bc_type=bc)(t), y, at)


def test_orders_of_b_splines():
    for k in (1, 2, 5):
        agrees(lambda y, t, k=k: si.make_interp_spline(x, y, k)(t), y, inside)
    knots = np.array([0.0, 0, 0, 1, 2, 3, 3, 3])
    agrees(lambda c, t: si.BSpline(knots, c, 2)(t), y[:5], np.array([0.1, 1.2, 2.9]))
    agrees(lambda c, t: si.BSpline(knots, c, 2)(t, nu=1), y[:5], np.array([0.1, 1.2, 2.9]))
    agrees(lambda y, t: si.interp1d(x, y, kind="cubic")(t), y, inside)
    for kind in ("nearest", "previous", "next", "nearest-up"):
        agrees(lambda y, k=kind: si.interp1d(x, y, kind=k)(inside), y)


def test_what_scipy_made_takes_tensors():
    """Objects made outside of a transform, from plain arrays."""
    made = [si.CubicSpline(x, y), si.PchipInterpolator(x, MANY, axis=1), si.make_interp_spline(x, y), si.interp1d(x, MANY),
            si.interp1d(x, y, kind="quadratic"), si.Akima1DInterpolator(x, y)]  # fmt: skip
    for spline in made:
        agrees(spline, inside)
        assert isinstance(spline(inside), np.ndarray)
    assert np.allclose(ad.jit(lambda t: made[0](t))(at), made[0](at))


GRID = (np.array([0.0, 1.0, 2.5]), np.array([0.0, 0.5, 1.0, 2.0]))
VALUES, POINTS = RNG.normal(size=(3, 4)), np.array([[0.2, 0.3], [1.7, 1.4], [2.4, 0.9]])


def test_grids():
    agrees(lambda v, p: si.RegularGridInterpolator(GRID, v)(p), VALUES, POINTS)
    agrees(lambda v: si.RegularGridInterpolator(GRID, v, method="nearest")(POINTS), VALUES)
    agrees(lambda v, p: si.interpn(GRID, v, p + 1.0, bounds_error=False, fill_value=None), VALUES, POINTS)
    agrees(lambda v, p: si.interpn(GRID, v, p), np.stack([VALUES, VALUES**2], -1), POINTS)
    agrees(si.RegularGridInterpolator(GRID, VALUES), POINTS)


def test_second_derivatives_and_compiled_code():
    agrees(lambda x, y, t: si.CubicSpline(x, y)(t).sum(), x, y, at, order=2)

    def f(x, y, t, values, points):
        smooth = si.CubicSpline(x, y, bc_type="natural")(t).sum() + si.PchipInterpolator(x, y)(t)[2]
        rough = si.interp1d(x, y, fill_value="extrapolate")(t).sum() + si.Akima1DInterpolator(x, y)(t[2])
        return (
            smooth + rough + si.make_interp_spline(np.arange(6.0), y)(t).sum() + si.interpn(GRID, values, points).sum()
        )

    args = (x, y, at, VALUES, POINTS)
    want = ad.grad(f, tuple(range(5)))(*args)
    for g, w in zip(ad.jit(ad.grad(f, tuple(range(5))))(*args), want, strict=True):
        assert np.allclose(g, w)


def test_what_is_refused():
    with pytest.raises(ad.ArgumentError, match="outside the interpolation range"):
        ad.grad(lambda t: si.interp1d(x, y)(t))(9.0)
    with pytest.raises(ad.CutGradientError, match="no derivative by x"):
        ad.grad(lambda x: si.make_interp_spline(x, y)(1.0))(x)
    with pytest.raises(ad.ArgumentError, match="method 'cubic'"):
        ad.grad(lambda v: si.RegularGridInterpolator(GRID, v, method="cubic")(POINTS).sum())(VALUES)
    with pytest.raises(ad.CutGradientError, match="scipy.interpolate.griddata"):
        ad.grad(lambda v: si.griddata(POINTS, v, POINTS).sum())(y[:3])


def test_grids_that_fall_and_points_in_a_line():
    grids, values = (np.array([3.0, 2.0, 0.0]), np.array([0.0, 1.0])), np.arange(6.0).reshape(3, 2) ** 2

    def at(grid, values, x):
        return si.RegularGridInterpolator((grid, grids[1]), values)(x)

    for x in (np.array([2.3, 0.4]), np.array([[2.3, 0.4], [0.5, 0.9]])):
        expected = at(grids[0], values, x)
        for found in (ad.jit(at)(grids[0], values, x), ad.jvp(at, (grids[0], values, x), (grids[0], values, x))[0]):
            assert found.shape == expected.shape
            np.testing.assert_allclose(found, expected)
        ad.check_grads(at, grids[0], values, x)
    line = ad.jit(lambda v: si.RegularGridInterpolator(grids[:1], v)([1.5, 2.5]))(values[:, 0])
    np.testing.assert_allclose(line, si.RegularGridInterpolator(grids[:1], values[:, 0])([1.5, 2.5]))


def test_integrals_of_b_splines_are_refused_by_name():
    for f in (
        lambda c: si.BSpline(np.arange(8.0), np.ones(4), 3).integrate(3.0, c),
        lambda c: si.BSpline(np.arange(8.0), c * np.ones(4), 3).integrate(3.0, 4.0),
    ):
        for transform in (ad.grad, ad.jit):
            with pytest.raises(ad.CutGradientError, match=r"scipy.interpolate.BSpline.integrate cannot"):
                transform(f)(4.0)


PERIODIC = {
    "antiderivative": lambda x, y, t: si.CubicSpline(x, y, bc_type="periodic").antiderivative()(t[1:-1]),
    "twice": lambda x, y, t: si.CubicSpline(x, y, bc_type="periodic").antiderivative(2)(t[1:-1]),
    "there_and_back": lambda x, y, t: si.CubicSpline(x, y, bc_type="periodic").derivative(-1)(t[1:-1]),
    "integral": lambda x, y, t: si.CubicSpline(x, y, bc_type="periodic").integrate(0.3, t[4] + 11.0),
    "backwards": lambda x, y, t: si.CubicSpline(x, y, bc_type="periodic").integrate(t[4], -6.0),
    "asked": lambda x, y, t: si.CubicSpline(x, y).integrate(0.3, t[4] + 11.0, extrapolate="periodic"),
}


@pytest.mark.parametrize("name", PERIODIC)
def test_integrals_of_periodic_splines(name: str) -> None:
    def f(y, t):
        return PERIODIC[name](x, np.concatenate([y[:-1], y[:1]]), t)

    agrees(f, y, at)


def test_antiderivatives_of_periodic_splines_end_where_the_nodes_do() -> None:
    def f(y):
        return si.CubicSpline(x, np.concatenate([y[:-1], y[:1]]), bc_type="periodic").antiderivative()(at)

    np.testing.assert_allclose(ad.value_and_grad(lambda y: (f(y).sum(), f(y)), has_aux=True)(y)[0][1], f(y))
    assert np.isnan(f(y)[[0, -1]]).all()


@pytest.mark.parametrize("kind", ["zero", "previous", "next", "nearest", "nearest-up", "linear", "cubic"])
@pytest.mark.parametrize("compiled", [False, True])
def test_interp1d_where_the_point_is_no_number(kind: str, compiled: bool) -> None:
    def f(y):
        return si.interp1d(x, y, kind=kind, bounds_error=False)(np.array([0.2, np.nan]))

    found = (ad.jit(f) if compiled else lambda y: ad.vmap(f)(y[None])[0])(y)
    np.testing.assert_allclose(found, f(y))


@pytest.mark.parametrize("method", ["linear", "nearest"])
@pytest.mark.parametrize("fill", [np.nan, None, 7.0])
def test_grids_where_a_point_is_no_number(method: str, fill) -> None:
    points, grid = np.array([[0.2, np.nan], [1.0, 2.0], [np.nan, 9.0], [0.3, 9.0]]), np.outer(y, y)

    def f(grid):
        return si.RegularGridInterpolator((x, x), grid, method=method, bounds_error=False, fill_value=fill)(points)

    for found in (ad.vmap(f)(grid[None])[0], ad.jit(f)(grid)):
        np.testing.assert_allclose(found, f(grid))
    with pytest.raises(ValueError, match="out of bounds"):
        ad.grad(lambda grid: si.interpn((x, x), grid, points[:2], method=method).sum())(grid)


def test_methods_that_are_not_there_are_refused_by_name() -> None:
    for f, name in (
        (lambda y: si.CubicSpline(x, y).roots(), "CubicSpline.roots"), (lambda y: si.PchipInterpolator(x, y).solve(0.1), "PchipInterpolator.solve"),
        (lambda y: si.make_interp_spline(x, y).integrate(0.0, 1.0), "BSpline.integrate"),
        (lambda y: si.make_interp_spline(x, y).antiderivative(), "BSpline.antiderivative"),
    ):  # fmt: skip
        with pytest.raises(ad.CutGradientError, match=f"scipy.interpolate.{name} cannot"):
            ad.grad(f)(y)
    assert not hasattr(ad.scipy.interpolate.CubicSpline(x, y), "no_such_name")


@pytest.mark.parametrize("kind", ["periodic", "natural"])
def test_integrals_of_splines_that_scipy_made(kind: str) -> None:
    made = si.CubicSpline(x, np.concatenate([y[:-1], y[:1]]), bc_type=kind)
    agrees(lambda a, b: made.integrate(a, b), 0.3, 1.9 if kind == "natural" else 9.1)
    agrees(lambda b: made.antiderivative()(b), 1.9)
    agrees(lambda b: si.PPoly(made.c, made.x).integrate(0.2, b), 1.9)
