"""Rules of the user's own: custom_vjp, custom_jvp, bprop_getters, Cell.bprop."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops


def close(a, b):
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-6)


@ad.custom_vjp
def cube(x, factor):
    return factor * x**3


@cube.defvjp
def cube_vjp(x, factor, out, dout):
    return dout * factor * 3 * x**2, (dout * x**3).sum()


@ad.custom_jvp
def quartic(x):
    return x**4


@quartic.defjvp
def quartic_jvp(inputs, tangents):
    (x,), (t,) = inputs, tangents
    return x**4, 4 * x**3 * t


X = ad.Tensor([1.0, 2.0])


def test_a_vjp_rule_serves_both_modes_and_every_order():
    gx, gf = ad.grad(cube, (0, 1))(X, 2.0)
    close(gx, [6, 24])
    close(gf, 9)
    close(ad.jvp(lambda x: cube(x, 2.0), X, ad.Tensor([1.0, 0.0]))[1], [6, 0])
    close(ad.grad(ad.grad(lambda x: cube(x, 2.0)))(X), [12, 24])
    close(ad.nth_derivative(lambda x: cube(x, 1.0), 3, 5.0), 6)
    close(ad.hessian(lambda x: cube(x, 1.0).sum())(X), np.diag([6, 12]))


def test_a_jvp_rule_serves_both_modes_and_every_order():
    close(ad.grad(quartic)(X), [4, 32])
    close(ad.jvp(quartic, X, X)[1], [4, 64])
    close(ad.grad(ad.grad(quartic))(X), [12, 48])
    close(ad.nth_derivative(quartic, 4, 3.0), 24)


def test_rules_under_vmap():
    x = np.arange(6.0).reshape(3, 2)
    close(ad.vmap(ad.grad(lambda x: cube(x, 2.0)))(x), 6 * x**2)
    close(ad.vmap(ad.grad(cube, 1), in_axes=(0, None))(x, 2.0), (x**3).sum(1))
    close(ad.grad(lambda f: ad.vmap(lambda r: cube(r, f))(x).sum())(2.0), (x**3).sum())
    close(ad.vmap(ad.grad(quartic))(x), 4 * x**3)


def test_the_rule_is_used_not_the_function():
    @ad.custom_vjp
    def straight_through(x):
        return ops.round(x)

    straight_through.defvjp(lambda x, out, dout: (dout,))
    close(ad.grad(lambda x: straight_through(x) ** 2)(X + 0.3), 2 * np.array([1, 2]))


def test_structures_statics_and_several_outputs():
    @ad.custom_vjp
    def scaled(params, power, name="x"):
        return {"up": params["w"] * power, "down": params["w"] / power}

    @scaled.defvjp
    def rule(params, power, out, dout):
        return {"w": dout["up"] * power + dout["down"] / power}, None

    g = ad.grad(lambda p: scaled(p, 2, name="y"))({"w": X})
    close(g["w"], [2.5, 2.5])


def test_a_rule_given_as_an_argument_and_on_a_method():
    double = ad.custom_vjp(lambda x: 2 * x, lambda x, out, dout: (dout * 7,))
    close(ad.grad(double)(X), [7, 7])

    class Model:
        @ad.custom_vjp
        def run(self, x):
            return x * 2

        @run.defvjp
        def run_vjp(self, x, out, dout):
            return None, dout * 5

    close(ad.grad(Model().run)(X), [5, 5])


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (lambda x, out, dout: (dout, dout), "returned 2 gradients for 1 inputs"),
        (lambda x, out, dout: (ops.ones(3),), r"a gradient of shape \(3,\) for input 0 of shape \(2,\)"),
    ],
)
def test_wrong_rules_are_named(rule, words):
    with pytest.raises(ValueError, match=words):
        ad.grad(ad.custom_vjp(lambda x: x * 2, rule))(X)


def test_a_missing_rule_and_a_hidden_input_are_named():
    with pytest.raises(NotImplementedError, match="has no vjp rule"):
        ad.custom_vjp(lambda x: x)(X)

    def f(x):
        inner = ad.custom_vjp(lambda y: x * y, lambda y, out, dout: (dout,))
        return inner(x + 1)

    with pytest.raises(TypeError, match="Pass it as an argument"):
        ad.grad(f)(X)


def test_bprop_getters_replace_and_restore():
    @ad.bprop_getters.register(ops.Add)
    def get_bprop_add(self):
        def bprop(x, y, out, dout):
            return dout * 100, dout

        return bprop

    try:
        close(ad.grad(lambda x: x + x * 1)(X), [101, 101])
    finally:
        ad.bprop_getters.restore(ops.Add)
    close(ad.grad(lambda x: x + x * 1)(X), [2, 2])
    with pytest.raises(TypeError, match="takes an op card or a Cell class"):
        ad.bprop_getters.register(int)


class Clipped(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = ad.Parameter(ad.Tensor([2.0]))

    def construct(self, x):
        return self.w * x * x

    def bprop(self, x, out, dout):
        return (dout * 100 * self.w,)


def test_a_cells_bprop_and_the_true_gradient_of_its_parameters():
    """MindSpore gives zero weight gradients here."""
    net = Clipped()
    gx, (gw,) = ad.grad(net, 0, weights=net.trainable_params())(ad.Tensor([3.0]))
    close(gx, [200])
    close(gw, [9])
    close(ad.grad(lambda x: ad.grad(net)(x) * 1, None, weights=net.w)(ad.Tensor([3.0])), [100])
    close(ad.vmap(ad.grad(net))(ad.Tensor([[3.0], [4.0]])), [[200], [200]])
    net(ad.Tensor([3.0])).sum().backward()
    close(net.w.grad, [9])


def test_bprop_registered_for_a_cell_class():
    class Doubler(nn.Cell):
        def construct(self, x):
            return 2 * x

    @ad.bprop_getters.register(Doubler)
    def get_bprop(self):
        return lambda x, out, dout: (dout * 50,)

    close(ad.grad(Doubler())(X), [50, 50])
    ad.bprop_getters.restore(Doubler)
    close(ad.grad(Doubler())(X), [2, 2])


def test_bprop_with_too_few_gradients():
    class Bad(nn.Cell):
        def construct(self, x, y):
            return x * y

        def bprop(self, x, y, out, dout):
            return (dout,)

    with pytest.raises(ValueError, match="bprop of Bad returned 1 gradients for 2 inputs"):
        ad.grad(Bad())(X, X)


def test_a_rule_on_arrays_under_an_open_tape():
    with ad.GradientTape():
        g = ad.grad(lambda x: cube(x, 1.0).sum())(np.array([1.0, 2.0]))
    close(g, [3, 12])


def test_a_rule_without_any_gradient_in_a_batch():
    @ad.custom_vjp
    def cut(x):
        return x * 1

    cut.defvjp(lambda x, out, dout: (None,))
    close(ad.grad(lambda x: ad.vmap(cut)(x) + x)(ad.Tensor([1.0, 2.0])), [1, 1])


def test_bprop_of_a_cell_with_containers_and_settings_as_inputs():
    class Product(nn.Cell):
        def construct(self, pair, mode, scale=None):
            assert mode == "plain"
            return pair[0] * pair[1]

        def bprop(self, pair, mode, out, dout):
            return (dout * 7, dout * 8), None

    a, b = ad.grad(Product())((ad.Tensor([1.0]), ad.Tensor([2.0])), "plain")
    close(a, [7])
    close(b, [8])


def test_the_tangent_of_a_whole_number_is_zero():
    product = ad.custom_jvp(lambda x, n: x * n, lambda xs, ts: (xs[0] * xs[1], xs[1] * ts[0] + xs[0] * ts[1]))
    close(ad.grad(lambda x: product(x, 3))(2.0), 3)
