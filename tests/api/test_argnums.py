"""JAX's words for positions: `argnums`, `static_argnums`; and `has_aux` of a Hessian."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad

X, Y = np.array([1.0, 2.0]), np.array([3.0, 4.0])
f = lambda x, y: (x**2 * y).sum()


def close(a, b):
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-9)


@pytest.mark.parametrize("of", [ad.grad, ad.jacfwd, ad.jacrev, ad.jacobian])
def test_argnums_is_grad_position(of):
    close(of(f, argnums=1)(X, Y), X**2)
    by_x, by_y = of(f, argnums=(0, 1))(X, Y)
    close(by_x, 2 * X * Y), close(by_y, X**2)
    close(of(f, argnums=[1, 0])(X, Y)[1], 2 * X * Y)
    (alone,) = of(f, argnums=(1,))(X, Y)  # a tuple of one, as in JAX
    close(alone, X**2)
    close(of(f, (1,))(X, Y), X**2)  # bare, as in MindSpore
    with pytest.raises(ValueError, match="argnums is another name for grad_position: give one"):
        of(f, 1, argnums=0)
    with pytest.raises(TypeError, match="must be an int or a tuple of ints"):
        of(f, argnums="x")


def test_values_hessians_and_products():
    value, (by_y,) = ad.value_and_grad(f, argnums=(1,))(X, Y)
    close(value, 19), close(by_y, X**2)
    close(ad.hessian(f, argnums=0)(X, Y), np.diag(2 * Y))
    blocks = ad.hessian(f, argnums=(0, 1))(X, Y)
    close(blocks[0][1], np.diag(2 * X)), close(blocks[1][1], np.zeros((2, 2)))
    close(ad.hessian(f, argnums=(0,))(X, Y)[0][0], np.diag(2 * Y))
    close(ad.hvp(f, argnums=0)(X, Y, np.ones(2)), 2 * Y)
    with_aux = lambda x, y: (f(x, y), {"n": x * 3})
    second, aux = ad.hessian(with_aux, has_aux=True)(X, Y)
    close(second, np.diag(2 * Y)), close(aux["n"], 3 * X)
    rows, aux = ad.hessian(with_aux, (0, 1), has_aux=True)(X, Y)
    close(rows[0][1], np.diag(2 * X)), close(aux["n"], 3 * X)
    second, aux = ad.jit(ad.hessian(with_aux, has_aux=True))(X, Y)
    close(second, np.diag(2 * Y)), close(aux["n"], 3 * X)
    with pytest.raises(ValueError, match="returned no second output"):
        ad.hessian(f, has_aux=True)(X, Y)


def test_static_arguments_by_position():
    for options in ({"static_argnums": 1}, {"static_argnums": (-1,)}, {"static_argnames": "k"}):
        g = ad.jit(lambda x, k: x * int(k), **options)
        close(g(X, 2.0), 2 * X), close(g(X, 3.0), 3 * X)
        assert len(g.compilations) == 2

    @ad.jit(static_argnums=(0,))
    def power(n, x):
        return x ** int(n)

    close(power(2.0, X), X**2)
    with pytest.raises(ValueError, match="static_argnums names the argument 5"):
        ad.jit(lambda x: x, static_argnums=5)
