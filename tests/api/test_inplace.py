"""Writes in place: to Tensors, leaves, Parameters, and the arguments of compiled functions."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.core.errors import AdjointError, DtypeError, ShapeError

X = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])

# ---------------------------------------------------------------- what is in place, and what is not


def test_numbers_are_replaced_arrays_are_written_to():
    x = y = ad.Tensor(2.0)
    y += 1
    assert float(x) == 2.0 and float(y) == 3.0
    x = y = ad.Tensor([2.0])
    y += 1
    assert y is x and float(x) == 3.0


@pytest.mark.parametrize("compile", [lambda f: f, ad.jit])
def test_what_numpy_refuses_is_refused(compile):
    def wider(x):
        x += np.ones((2, 3))
        return x

    def fractional(x):
        y = ops.zeros(3, ad.int64)
        y += 0.5
        return x + y

    with pytest.raises(ShapeError, match=r"write x = x \+ v"):
        compile(wider)(ad.Tensor(X[0]))
    with pytest.raises(DtypeError, match=r"write x = x \+ v"):
        compile(fractional)(ad.Tensor(X[0]))


def test_leaves_are_written_to_only_without_a_record():
    x = ad.Tensor([1.0, 2.0], requires_grad=True)
    for write in ("x += 1.0", "x[:1][0] = 5.0", "x[0] = 5.0", "x.T[0] = 1.0"):
        with pytest.raises(AdjointError, match="a leaf that backward"):
            exec(write, {}, {"x": x})
    (x * x).sum().backward()
    with ad.no_grad():
        x -= 0.5 * x.grad
    np.testing.assert_array_equal(x, [0.0, 0.0])
    x.grad = None
    (x * 3.0).sum().backward()
    assert x.requires_grad
    np.testing.assert_array_equal(x.grad, [3.0, 3.0])


def test_parameters_are_written_to_in_place():
    p = ad.Parameter(ad.Tensor([[1.0, 2.0]]), name="p")
    for q in [p]:
        q -= 1.0
    p[0][1] = 7.0
    np.testing.assert_array_equal(p, [[0.0, 7.0]])
    for grad in (ad.grad(assigned_to_a_part), ad.jit(ad.grad(assigned_to_a_part))):
        np.testing.assert_array_equal(grad(ad.Tensor(2.0), p), 3.0 * 4)  # of x * (0 + 3 * x)
        np.testing.assert_array_equal(p, [[0.0, 6.0]])


def assigned_to_a_part(x, p):
    p[0][1] = 3.0 * x
    return p.sum() * x


def test_a_transform_does_not_write_to_the_callers_tensors():
    def f(x):
        x[0] = 5.0
        x *= 2.0
        return x.sum()

    for transform in (ad.grad, ad.value_and_grad, ad.jacrev, ad.hessian, lambda f: lambda v: ad.vjp(f, v)):
        x = ad.Tensor(X[0])
        transform(f)(x)
        np.testing.assert_array_equal(x, X[0])


# ---------------------------------------------------------------- arguments of compiled functions


def changes(x, y):
    x[0] = y[1] * 2
    x += 1.0
    if y[0] > 0:
        x *= 2
    return (x * y).sum()


@pytest.mark.parametrize("backend", ["native", "interpreter"])
@pytest.mark.parametrize("kind", [ad.Tensor, np.array])
def test_a_compiled_function_writes_to_its_arguments_as_the_function_does(kind, backend):
    run = ad.jit(changes, backend=backend)
    for _ in range(4):
        a, b, c, d = (kind(v) for v in (X[0], X[1], X[0], X[1]))
        np.testing.assert_allclose(run(c, d), changes(a, b))
        np.testing.assert_allclose(c, a)
        np.testing.assert_allclose(d, b)


def test_a_compiled_function_writes_to_tensors_that_are_followed():
    run = ad.jit(changes)

    def f(x, g=run):
        y = x * 2.0
        whole = ops.stack([y, y])
        return g(y, x + 1) + (y**2).sum() + g(whole[0], x) + (whole**2).sum()

    want = ad.grad(lambda x: f(x, changes))(X[0])
    for way in (ad.grad(f), ad.jit(ad.grad(f)), lambda x: ad.vmap(ad.grad(f))(x[None])[0]):
        np.testing.assert_allclose(way(X[0]), want)


def test_arguments_that_share_elements_may_not_be_written_to():
    run, t, array = ad.jit(changes), ad.Tensor(np.arange(4.0)), np.arange(4.0)
    for x, y in ((t, t), (t[:3], t[1:]), (array[:3], array[1:])):
        with pytest.raises(AdjointError, match="Pass a copy of one of them"):
            run(x, y)
    with pytest.raises(AdjointError, match=r"f\(x.copy\(\)\)"):
        run(ad.Tensor(X[0], requires_grad=True), X[1])


def test_views_do_not_gather():
    x = ad.Tensor(np.zeros((4, 3)))
    for _ in range(1000):
        x[0]
    assert len(x._kin[0].views) < 100
