"""Rules as JAX has them: `f.defvjp(fwd, bwd)` with residuals, arguments without derivatives, `defjvps`; in both modes."""

from __future__ import annotations

import copy
import functools

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops


def close(a, b):
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-6)


@ad.custom_vjp
def waves(x, y):
    return ops.sin(x) * y


def waves_fwd(x, y):
    return waves(x, y), (ops.cos(x), {"sin": ops.sin(x), "y": y}, "tag", 3, None)


def waves_bwd(residuals, g):
    cosine, held, tag, n, none = residuals
    assert (tag, n, none) == ("tag", 3, None)
    return cosine * g * held["y"], held["sin"] * g


waves.defvjp(waves_fwd, waves_bwd)
plain = lambda x, y: ops.sin(x) * y
X, Y = np.array([0.3, 0.7]), np.array([2.0, 3.0])


def of(f):
    """Derivatives of many kinds, in one function to compile."""
    total = lambda x, y: f(x, y).sum()
    shared = lambda x, y: ad.vmap(f, in_axes=(0, None))(x, y).sum()
    return lambda x, y: (
        f(x, y), ad.grad(total, (0, 1))(x, y), ad.hessian(total)(x, y), ad.jacrev(f)(x, y),
        ad.jvp(lambda v: f(v, y), x, y)[1], ad.vmap(ad.grad(f), in_axes=(0, None))(x, y[0]),
        ad.grad(shared, 1)(x, y[0]), ad.vmap(ad.grad(ad.grad(f)), in_axes=(0, None))(x, y[0]),
        ad.grad(ad.checkpoint(total))(x, y),
    )  # fmt: skip


def test_every_derivative_of_a_rule_with_residuals_in_both_modes():
    expected = of(plain)(X, Y)
    for found in (of(waves)(X, Y), ad.jit(of(waves), backend="interpreter")(X, Y)):
        for a, b in zip(ad.tree.leaves(found), ad.tree.leaves(expected), strict=True):
            close(a, b)
    total = lambda x, y: waves(x, y).sum()
    close(ad.grad(ad.jit(total))(X, Y), np.cos(X) * Y)
    close(ad.hessian(ad.jit(total))(X, Y), np.diag(-np.sin(X) * Y))
    close(ad.grad(lambda x: waves(x, y=Y).sum())(X), np.cos(X) * Y)
    with ad.GradientTape() as tape:
        x = ad.Tensor(X)
        tape.watch(x)
        y = total(x, Y)
    close(tape.gradient(y, x), np.cos(X) * Y)
    x = ad.Tensor(X, requires_grad=True)
    total(x, Y).backward()
    close(x.grad, np.cos(X) * Y)


def test_the_forward_function_runs_once_and_only_where_it_is_differentiated():
    said = []
    f = ad.custom_vjp(lambda x: (said.append("f"), x * 2)[1])
    f.defvjp(lambda x: (said.append("fwd"), (x * 2, None))[1], lambda _, g: (said.append("bwd"), (g * 5,))[1])
    close(f(1.0), 2)
    assert said == ["f"]
    said.clear()
    close(ad.grad(f)(1.0), 5)
    assert said == ["fwd", "bwd"]
    said.clear()
    close(ad.vmap(f)(X), 2 * X)
    assert said == ["f"]


@functools.partial(ad.custom_vjp, nondiff_argnums=(0, 1))
def applied(fn, k, x, p):
    y = fn(x) * p["w"] if x > 0 else x * p["w"]
    for _ in range(20):
        y = y * k
    return y


def applied_fwd(fn, k, x, p):
    s = 2.0 * x
    if x > 0:
        s = 1.0 * x
    return applied(fn, k, x, p), (x, s)


def applied_bwd(fn, k, residuals, g):
    x, s = residuals
    total = 0.0
    for _ in range(12):
        total = total + g
    if x > 0:
        return total * fn(0.0), {"w": s * g, "n": None}
    return -g, {"w": s * g * k, "n": None}


applied.defvjp(applied_fwd, applied_bwd)


def test_bodies_are_read_in_compiled_functions():
    params = {"w": 2.0, "n": "a"}
    gradient = ad.grad(lambda x, p: applied(ops.exp, 1.0, x, p), (0, 1))
    compiled = ad.jit(gradient)
    for x, slope, weight in ((1.5, 12.0, 1.5), (-1.5, -1.0, -3.0)):
        for by_x, by_p in (gradient(x, params), compiled(x, params)):
            close(by_x, slope), close(by_p["w"], weight)
            assert by_p["n"] is None
    assert len(compiled.compilations) == 1
    whole = ad.jit(ad.value_and_grad(lambda x, p: applied(ops.exp, 1.0, x, p))).graph(1.5, params)
    assert "Loop" in str(whole) and "Cond" in str(whole)
    batch = ad.jit(ad.vmap(ad.grad(lambda x: applied(ops.exp, 1.0, x, params))))
    close(batch(np.array([1.5, -1.5])), [12, -1])


def test_every_form_of_the_decorator():
    @ad.custom_vjp(nondiff_argnums=0)
    def power(n, x):
        return x**n

    power.defvjp(lambda n, x: (x**n, x), lambda n, x, g: (g * n * x ** (n - 1),))
    close(ad.grad(lambda x: power(3, x))(2.0), 12)
    by_name = ad.custom_vjp(lambda x, n: x**n, nondiff_argnames="n")
    by_name.defvjp(lambda x, n: (x**n, x), lambda n, x, g: (g * n * x ** (n - 1),))
    close(ad.jit(ad.grad(lambda x: by_name(x, 3)))(2.0), 12)

    @functools.partial(ad.custom_jvp, nondiff_argnums=(0,))
    def forward(n, x):
        return x**n

    @forward.defjvp
    def _(n, primals, tangents):
        (x,), (t,) = primals, tangents
        return forward(n, x), n * x ** (n - 1) * t

    close(ad.jit(ad.grad(lambda x: forward(3, x)))(2.0), 12)
    close(ad.grad(ad.grad(lambda x: forward(3, x)))(2.0), 12)
    close(ad.vmap(ad.grad(lambda x: forward(3, x)))(X), 3 * X**2)
    product = ad.custom_jvp(lambda x, y: x * y)
    product.defjvps(lambda t, out, x, y: t * y, None)
    for gradient in (ad.grad(product, (0, 1)), ad.jit(ad.grad(product, (0, 1)))):
        close(np.stack([np.asarray(g) for g in gradient(2.0, 3.0)]), [3, 0])


class Ramp:
    @ad.custom_vjp
    def value(self, x):
        return x * 1.0


Ramp.value.defvjp(lambda self, x: (x * 1.0, None), lambda _, g: (None, g * 7))


def test_a_method_with_a_rule():
    close(ad.grad(Ramp().value)(1.0), 7)
    close(ad.jit(ad.grad(Ramp().value))(1.0), 7)


def test_a_copy_has_the_rule():
    close(ad.grad(lambda x: copy.deepcopy(waves)(x, 2.0))(0.0), 2)


def test_refusals():
    f = ad.custom_vjp(lambda x: x * 1.0)
    cases = [
        (lambda x: x, lambda r, g: (g,), r"must return \(output, residuals\)"),
        (lambda x: (x, None), lambda r, g: (g, g), "returned 2 gradients for 1 inputs"),
        (lambda x: (x, None), lambda r, g: ({"a": g},), r"the gradient of input 0 is a dict with the keys \['a'\]"),
        (lambda x: (x, None), lambda r, g: (np.ones(3),), r"shape \(3,\) for input 0 of shape \(\)"),
    ]
    for fwd, bwd, said in cases:
        f.defvjp(fwd, bwd)
        with pytest.raises(ad.AdjointError, match=said):
            ad.grad(f)(1.0)
    with pytest.raises(TypeError, match="takes a function, not 1"):
        f.defvjp(1)
    with pytest.raises(ValueError, match="has no argument 'q'"):
        ad.custom_vjp(lambda x: x, nondiff_argnames="q")
    held = ad.custom_vjp(lambda n, x: x * n, nondiff_argnums=(0,))
    held.defvjp(lambda n, x: (x * n, None), lambda n, r, g: (g * n,))
    with pytest.raises(
        ad.CutGradientError, match="uses a Tensor or Parameter from outside that is being differentiated"
    ):
        ad.grad(lambda z: held(z, 2.0))(3.0)
    with pytest.raises(ad.CutGradientError):
        ad.jit(ad.grad(lambda z: held(z, z)))(3.0)


class _Scaled:
    """An object with a method that has a rule."""

    def __init__(self, c):
        self.c = c

    @ad.custom_vjp
    def times(self, x):
        return x * self.c

    times.defvjp(lambda self, x: (x * self.c, self.c), lambda c, g: (None, g * c * 10))

    @ad.custom_jvp
    def plus(self, x):
        return x + self.c

    @plus.defjvp
    def _(inputs, tangents):
        return inputs[1] + inputs[0].c, tangents[1] * 5

    def _both(self, a, x):
        return a * x * self.c

    thrice = functools.partialmethod(_both, 3.0)


def test_methods_with_rules_of_objects_made_in_compiled_functions():
    def f(x):
        made = _Scaled(2.0)
        return made.times(x) + made.plus(x) + made.thrice(x)

    assert float(f(1.0)) == float(ad.jit(f)(1.0)) == 11.0
    assert float(ad.grad(f)(1.0)) == float(ad.jit(ad.grad(f))(1.0)) == 31.0


def test_defaults_are_inputs():
    f = ad.custom_vjp(lambda x, k=2.0: x * k)
    f.defvjp(lambda x, k: (x * k, (x, k)), lambda r, g: (g * r[1], g * r[0]))
    assert float(ad.grad(f)(3.0)) == float(ad.jit(ad.grad(f))(3.0)) == 2.0
    assert float(ad.grad(lambda x: f(k=5.0, x=x))(3.0)) == 5.0
    fixed = ad.custom_vjp(lambda x, k=2.0: x * k, nondiff_argnums=(1,))
    fixed.defvjp(lambda x, k: (x * k, None), lambda k, r, g: (g * k,))
    assert float(ad.grad(fixed)(3.0)) == 2.0
    forward = ad.custom_jvp(lambda x, k=2.0: x * k, nondiff_argnums=(1,))
    forward.defjvp(lambda k, xs, ts: (xs[0] * k, ts[0] * k))
    assert float(ad.grad(forward)(3.0)) == float(ad.grad(lambda x: forward(x, k=2.0))(3.0)) == 2.0
    with pytest.raises(TypeError, match="missing a required argument: 'x'"):
        f()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nondiff_argnums": (3,)}, "position 3, but .* has 2 arguments"),
        ({"nondiff_argnums": -3}, "position -3"),
        ({"nondiff_argnums": ("k",)}, "are positions, not 'k'"),
        ({"nondiff_argnames": "z"}, "has no argument 'z'"),
        ({"nondiff_argnames": "named"}, "has no position"),
    ],
)
def test_positions_without_derivatives_are_checked(options, message):
    for kind in (ad.custom_vjp, ad.custom_jvp):
        with pytest.raises(ad.AdjointError, match=message):
            kind(lambda x, k=2.0, *, named=1: x * k, **options)
