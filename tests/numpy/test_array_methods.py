"""Methods of NumPy's arrays on Tensors: NumPy's own numbers in every mode, derivatives, or a refusal that names the method."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.interpolate
import scipy.spatial
import scipy.special
from scipy.spatial.transform import Rotation
from scipy.stats import qmc

import adjoint as ad

X = np.array([[3.0, 1.0, 2.0], [6.0, 5.0, 4.0]])


@pytest.fixture(autouse=True)
def without_other_faces(monkeypatch) -> None:
    """MindSpore's Tensors, once imported, have a `fill` and a `resize` of their own."""
    for name in ("fill", "resize"):
        monkeypatch.delitem(ad.Tensor.extensions, name, raising=False)


def written(name, *args):
    def program(x):
        y = x * 1.0
        getattr(y, name)(*args)
        return y

    return program


PROGRAMS = {
    "fill": written("fill", 2.0), "put": written("put", [0, -1], [7.0, 8.0]), "put_one": written("put", [0, 4, 2], 7.0),
    "partition": written("partition", 1, 1), "compress": lambda x: x.compress([True, False, True], axis=1),
    "compress_line": lambda x: x.compress([False, True, True]), "searchsorted": lambda x: x[0][1:].searchsorted(x[1] - 3.5) * x[0],
    "choose": lambda x: (x[0] > 1.5).astype(int).choose([x[0], x[1]], mode="clip"), "argpartition": lambda x: x[0].argpartition(1)[1] * x[0],
    "copy_F": lambda x: x.copy("F").ravel("K") if isinstance(x, np.ndarray) else x.copy("F").T.ravel(), "copy_C": lambda x: x.T.copy(order="C"),
    "copy_K": lambda x: x.copy(order="K"), "view": lambda x: x.view() * 2, "view_of_dtype": lambda x: x.view(np.float64),
    "put_in_view": lambda x: written("put", [0], 5.0)(x.T), "fill_of_tensor": lambda x: written("fill", x[0, 0])(x),
}  # fmt: skip


@pytest.mark.parametrize("mode", [lambda f: lambda x: ad.vjp(f, x)[0], ad.jit], ids=["differentiated", "compiled"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_method_does_as_numpys(name: str, mode) -> None:
    np.testing.assert_array_equal(mode(PROGRAMS[name])(X), PROGRAMS[name](X))


@pytest.mark.parametrize("name", ["fill_of_tensor", "put", "partition", "compress", "choose", "view"])
def test_their_derivatives(name: str) -> None:
    ad.check_grads(PROGRAMS[name], X)


def test_a_view_is_seen_through() -> None:
    def f(x):
        y = x * 1.0
        y.view()[0, 0] = 0.0
        return y.sum()

    np.testing.assert_array_equal(ad.grad(f)(X), [[0, 1, 1], [1, 1, 1]])


def set_shape(x):
    x.shape = (3, 2)


REFUSED = {
    "shape": (set_shape, AttributeError, r"x.shape = \(3, 2\).*write x = x.reshape\(\(3, 2\)\)"),
    "view": (lambda x: x.view(np.int64), TypeError, r"x.view\(int64\).*x.astype"),
    "tobytes": (lambda x: x.tobytes(), TypeError, r"x.tobytes\(\) would cut"),
    "flat": (lambda x: x.flat, AttributeError, "'flat'; x.ravel"), "flags": (lambda x: x.flags, AttributeError, "'flags'; x.asnumpy"),
    "resize": (lambda x: x.resize(2), AttributeError, "'resize'; x = np.resize"),
    "copy": (lambda x: x.copy("Z"), ValueError, "order must be"), "put": (lambda x: x.put([9], 1.0, "wrap"), TypeError, "x.put: mode='wrap'"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_says_what_to_write(name: str) -> None:
    f, kind, message = REFUSED[name]
    for transform in (ad.grad, ad.jit):
        with pytest.raises(kind, match=message):
            transform(f)(X)


def test_what_waits_for_its_numbers_is_a_tensor_by_name() -> None:
    for _ in range(5):  # after some calls an expression is put off until its numbers are asked for
        y = ad.Tensor(X) * 2.0 + 1.0
        with pytest.raises(AttributeError, match="'Tensor' object has no attribute 'nothing'"):
            _ = y.nothing
        with pytest.raises(AttributeError, match="'Tensor' object has no attribute 'nothing'"):
            y.nothing = 1
        assert repr(type(y)) == "<class 'adjoint.core.tensor.Tensor'>"


NAMED = {
    "scipy.special.legendre_p": lambda x: scipy.special.legendre_p(2, x), "scipy.stats.qmc.scale": lambda x: qmc.scale(x / 9, 0.0, 1.0),
    "scipy.spatial.transform.Rotation.apply": lambda x: Rotation.from_rotvec(np.ones(3)).apply(x),
    "scipy.spatial.KDTree": lambda x: scipy.spatial.KDTree(x), "scipy.interpolate.BSpline.basis_element": lambda x: scipy.interpolate.BSpline.basis_element(x[0]),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMED)
def test_functions_of_scipy_are_refused_by_the_name_that_users_write(name: str) -> None:
    with pytest.raises(ad.CutGradientError, match=f"^{name} was given a Tensor .* adjoint does not provide it"):
        ad.grad(lambda x: NAMED[name](x).sum())(np.sort(X))


@pytest.mark.parametrize("edge_order", [1, 2])
@pytest.mark.parametrize("kind", ["unit", "step", "coordinates", "even"])
def test_gradient_is_rounded_as_numpys(kind: str, edge_order: int) -> None:
    rng = np.random.default_rng(3)
    y = rng.normal(size=(7, 300))
    spacing = {
        "unit": (),
        "step": (0.1,),
        "coordinates": (np.cumsum(rng.uniform(0.1, 1, 300)),),
        "even": (np.arange(300.0),),
    }[kind]

    def f(y):
        return np.gradient(y, *spacing, axis=1, edge_order=edge_order)

    for found in (ad.vjp(f, y)[0], ad.jit(f)(y)):
        np.testing.assert_array_equal(found, f(y))


@pytest.mark.parametrize("edge_order", [1, 2])
def test_gradient_by_values_and_coordinates(edge_order: int) -> None:
    ad.check_grads(
        lambda y, x: np.gradient(y, x, edge_order=edge_order),
        np.array([1.0, 3.0, 2.0, 5.0]),
        np.array([0.0, 1.0, 2.5, 3.0]),
    )
    ad.check_grads(lambda y, h: np.gradient(y, h, edge_order=edge_order), np.array([1.0, 3.0, 2.0, 5.0]), 0.3)


@pytest.mark.parametrize("name", ["max", "min", "sum", "prod"])
@pytest.mark.parametrize("options", [{}, {"axis": 0}, {"axis": 0, "keepdims": True}, {"axis": (0, 1)}])
def test_reductions_of_nothing_with_a_start(name: str, options) -> None:
    def f(x):
        return getattr(np, name)(x[:0], initial=1.5, **options)

    for found in (ad.vjp(f, X)[0], ad.jit(f)(X)):
        np.testing.assert_array_equal(found, f(X))
    assert ad.grad(lambda s: np.max(X[:0] * s, initial=s))(2.0) == 1.0
