"""Functions with rules of their own inside programs: every mode gives what dynamic mode gives."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops
from adjoint.core.errors import CutGradientError

PROGRAMS = {}


def program(fn):
    PROGRAMS[fn.__name__] = fn
    return fn


@ad.custom_vjp
def cubed(x):
    return x**3


@cubed.defvjp
def cubed_vjp(x, out, dout):
    return (dout * 5 * x,)


@ad.custom_jvp
def pushed(x):
    return x**3


@pushed.defjvp
def pushed_jvp(inputs, tangents):
    return inputs[0] ** 3, 7 * inputs[0] * tangents[0]


@ad.custom_vjp
def parts(x, y):
    return {"a": x * y, "b": (x + y,)}


@parts.defvjp
def parts_vjp(x, y, out, dout):
    return dout["a"] * y * 2 + dout["b"][0], dout["a"] * x


@ad.custom_vjp
def power(x, n, mode="power"):
    return x**n if mode == "power" else x


@power.defvjp
def power_vjp(x, n, out, dout):
    return dout * n * 10, None


@ad.custom_vjp
def twice(x):
    return cubed(x) * 2


@twice.defvjp
def twice_vjp(x, out, dout):
    return (dout * cubed(x) * 2,)


@ad.custom_vjp
def filled(x):
    y = ops.zeros(3, ad.float64)
    y[0] = x
    y[1:] = x * 2
    return y


@filled.defvjp
def filled_vjp(x, out, dout):
    return (dout.sum() * 9,)


@program
def in_a_loop(x):
    for _ in range(30):
        x = cubed(x) * 0.5 + 0.1
    return x


@program
def forward_rule_in_a_loop(x):
    for _ in range(30):
        x = pushed(x) * 0.5 + 0.1
    return x


@program
def in_a_while(x):
    i = 0.0
    while i < 5 * x:
        i = i + 1.0
        x = x * 0.9 + cubed(x) * 0.01
    return x


@program
def in_a_branch(x):
    if x > 0.5:
        return cubed(x)
    return pushed(x) * 2


@program
def containers(x):
    found = parts(x, x * 2)
    return found["a"] * 3 + found["b"][0]


@program
def static_arguments(x):
    return power(x, 2) + power(x, 3, mode="other")


@program
def one_in_another(x):
    return twice(x) + x


@program
def derivative_inside(x):
    return ad.grad(lambda y: cubed(y) * pushed(y))(x) * x


@program
def batch_inside(x):
    return ad.vmap(lambda a: cubed(a * x) + parts(a, x)["a"])(np.arange(3.0)).sum()


@program
def made_inside(x):
    return ad.custom_vjp(lambda y: y * 2, lambda y, out, dout: (dout * 3,))(x)


@program
def second_derivative(x):
    return ad.hessian(lambda y: cubed(y) * y)(x)


@program
def compiled_inside(x):
    return ad.jit(cubed)(x) + ad.jit(lambda y: pushed(y) * y)(x)


@program
def a_rule_with_a_branch(x):
    def rule(y, out, dout):
        if y > 0.2:
            return (dout * 2,)
        return (dout * -3,)

    size = ad.custom_vjp(lambda y: abs(y), rule)
    return size(x) + size(-x)


@program
def arrays_inside(x):
    square = np.ones((3, 3)) * x
    return cubed(square).sum() + cubed(square @ square)[0, 0] + filled(x).sum()


class Scaled(nn.Cell):
    def construct(self, x):
        for _ in range(12):
            x = x * 1.1
        return x

    def bprop(self, x, out, dout):
        return (dout * 11 * x,)


HOOKED, AGAIN, SCALED = nn.Tanh(), nn.Tanh().recompute(), Scaled()
HOOKED.register_backward_hook(lambda cell, grad_input, grad_output: (grad_input[0] * 10,))


@program
def networks(x):
    return HOOKED(x) + AGAIN(x) * x + SCALED(x) * x


INTERPRETED = {"backend": "interpreter"}
ASKED = {
    "value": (lambda f: f, [ad.jit, lambda f: ad.jit(f, **INTERPRETED)]),
    "gradient": (
        ad.grad,
        [lambda f: ad.jit(ad.grad(f)), lambda f: ad.grad(ad.jit(f)), lambda f: ad.grad(ad.jit(f, **INTERPRETED))],
    ),
    "tangent": (
        lambda f: lambda x: ad.jvp(f, x, 1.0)[1],
        [lambda f: ad.jit(lambda x: ad.jvp(f, x, 1.0)[1]), lambda f: lambda x: ad.jvp(ad.jit(f), x, 1.0)[1]],
    ),
    "second": (
        lambda f: ad.grad(ad.grad(f)),
        [lambda f: ad.jit(ad.grad(ad.grad(f))), lambda f: ad.grad(ad.jit(ad.grad(f)))],
    ),
    "batch": (
        lambda f: lambda x: [f(np.float64(x)), f(np.float64(x / 2))],
        [lambda f: lambda x: ad.jit(ad.vmap(f))(np.array([x, x / 2]))],
    ),
}


def number(y):
    return np.array([float(v) for v in y]) if isinstance(y, list) or np.ndim(y) else float(y)


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("name", PROGRAMS)
def test_modes_agree(name, asked):
    dynamic, static = ASKED[asked]
    for x in (0.3, 0.8):
        want = number(dynamic(PROGRAMS[name])(x))
        for way in static:
            np.testing.assert_allclose(number(way(PROGRAMS[name])(x)), want, rtol=1e-9, err_msg=f"{asked} at {x}")


@pytest.mark.parametrize("name", PROGRAMS)
def test_forward_and_reverse_agree(name):
    for x in (0.3, 0.8):
        slope = float(ad.grad(PROGRAMS[name])(x))
        np.testing.assert_allclose(float(ad.jvp(PROGRAMS[name], x, 1.0)[1]), slope, rtol=1e-9)
        np.testing.assert_allclose(float(ad.jacfwd(PROGRAMS[name])(x)), slope, rtol=1e-9)


def test_effects_take_place_in_every_run(capsys):
    @ad.custom_vjp
    def spoken(x):
        assert x > 0, "must be positive"
        print("x is", x)
        return x * 2

    spoken.defvjp(lambda x, out, dout: (dout * 3,))
    for way in (spoken, ad.jit(spoken), ad.grad(spoken), ad.jit(ad.grad(spoken)), ad.grad(ad.jit(spoken))):
        for x in (1.5, 2.5):
            way(x)
            assert capsys.readouterr().out == f"x is {x}\n"
        with pytest.raises(AssertionError, match="^must be positive"):
            way(-1.0)


def test_draws_are_the_same_in_all_modes():
    noisy = ad.custom_vjp(lambda x: x + ops.randn(3), lambda x, out, dout: (dout * 2,))
    found = []
    for way in (noisy, ad.jit(noisy), ad.jit(noisy, backend="interpreter")):
        ad.set_seed(1)
        found.append([np.asarray(way(np.zeros(3))) for _ in range(2)])
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-5)
    assert not np.allclose(*found[0])


@pytest.mark.parametrize(
    "way", [lambda f: ad.grad(f), lambda f: ad.jit(ad.grad(f)), lambda f: ad.grad(ad.jit(f)), ad.jacfwd]
)
def test_values_from_outside_are_used_but_not_differentiated(way):
    def outside(x):
        y = x * 2
        return ad.custom_vjp(lambda z: z * y, lambda z, out, dout: (dout * 5,))(x * 0 + 3.0)

    assert float(outside(2.0)) == float(ad.jit(outside)(2.0)) == 12.0
    with pytest.raises(CutGradientError, match="Pass it as an argument"):
        way(outside)(2.0)


FACTOR = 2.0


def test_what_a_rule_reads_may_change(monkeypatch):
    read = ad.custom_vjp(lambda x: x * x, lambda x, out, dout: (dout * FACTOR,))
    compiled, inside = ad.jit(lambda x: read(x) * 1.0), ad.jit(ad.grad(lambda x: read(x) * 1.0))
    for factor in (2.0, 5.0, 7.0):
        monkeypatch.setitem(globals(), "FACTOR", factor)
        for _ in range(2):
            assert float(ad.grad(compiled)(1.0)) == float(inside(1.0)) == factor
            assert float(ad.jvp(compiled, 1.0, 1.0)[1]) == factor


def test_what_a_registered_rule_reads_may_change(monkeypatch):
    ad.bprop_getters.register(ops.Sin)(lambda self: lambda x, out, dout: (dout * FACTOR,))
    try:
        compiled, inside = ad.jit(lambda x: ops.sin(x) * 1.0), ad.jit(ad.grad(lambda x: ops.sin(x) * 1.0))
        for factor in (2.0, 5.0, 7.0):
            monkeypatch.setitem(globals(), "FACTOR", factor)
            for _ in range(2):
                assert float(ad.grad(compiled)(1.0)) == float(inside(1.0)) == factor
                assert float(ad.jvp(compiled, 1.0, 1.0)[1]) == factor
    finally:
        ad.bprop_getters.restore(ops.Sin)


def test_python_floats_stay_weak():
    scaled = ad.custom_vjp(lambda x, s: x * s, lambda x, s, out, dout: (dout * s, None))
    x = np.ones(2, np.float32)
    for way in (lambda f: f, ad.jit, ad.grad, lambda f: ad.jit(ad.grad(f)), lambda f: ad.grad(ad.jit(f))):
        assert way(lambda x: scaled(x, 2.0))(x).dtype == np.float32


def test_functions_with_rules_are_let_go_of():
    class Big:
        total = 3.0

    held = []

    def make():
        big = Big()
        fn = ad.custom_vjp(lambda x: x * big.total, lambda x, out, dout: (dout * big.total,))
        compiled = ad.jit(lambda x: fn(x))
        held.extend([weakref.ref(big), weakref.ref(compiled)])
        return float(compiled(2.0)), float(ad.grad(compiled)(2.0))

    for _ in range(3):
        assert make() == (6.0, 3.0)
    gc.collect()
    assert all(reference() is None for reference in held)
