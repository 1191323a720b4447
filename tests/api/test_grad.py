"""grad, value_and_grad, get_grad, vjp: MindSpore's shapes of results, and what it gets wrong."""

from __future__ import annotations

import sys
import weakref
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops


def two(x, y):
    return 3.0 * x + 5.0 * y


X, Y = ad.Tensor([1.0, 2.0]), ad.Tensor([3.0, 4.0])


def close(a, b, **tol):
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), **tol)


def test_one_position_and_a_tuple_of_one_give_a_bare_tensor():
    assert isinstance(ad.grad(two)(X, Y), ad.Tensor)
    close(ad.grad(two, (1,))(X, Y), [5, 5])


def test_several_positions_come_in_the_order_asked_for():
    gy, gx = ad.grad(two, (1, 0))(X, Y)
    close(gy, [5, 5])
    close(gx, [3, 3])


def test_an_output_of_any_shape_counts_as_its_sum():
    close(ad.grad(lambda x: x * x)(X), [2, 4])


def test_several_outputs_are_summed_and_others_ignored():
    def f(x):
        return {"a": x * x, "b": [x, ("text", 3)], "c": None}

    close(ad.grad(f)(X), [3, 5])


def test_the_same_tensor_at_two_positions_is_two_inputs():
    """MindSpore's PyNative mode gives 8 here."""
    close(ad.grad(two)(X, X), [3, 3])
    _, pull = ad.vjp(two, X, X)
    gx, gy = pull(ad.Tensor([1.0, 1.0]))
    close(gx, [3, 3])
    close(gy, [5, 5])
    gx, gy = ad.grad(lambda x, y: x * y, (0, 1))(X, X)
    close(gx, X)
    close(gy, X)


def test_an_unused_input_gets_zeros():
    g = ad.grad(lambda x, y: x, 1)(X, Y)
    close(g, [0, 0])
    assert g.dtype == np.float32


def test_has_aux_returns_the_others_in_a_tuple():
    def f(x):
        return x * x, x + 1, "note"

    g, aux = ad.grad(f, has_aux=True)(X)
    close(g, [2, 4])
    assert isinstance(aux, tuple) and len(aux) == 2 and aux[1] == "note"
    (value, *_), g = ad.value_and_grad(f, has_aux=True)(X)
    close(value, [1, 4])


def test_aux_is_followed_no_longer():
    _, (z,) = ad.grad(lambda x: (x * x, x + 1), has_aux=True)(X)
    assert not z.tracked
    close(z + 1, [3, 4])


def test_weights_in_mindspores_shapes():
    w, b = ad.Parameter(ad.Tensor([2.0]), name="w"), ad.Parameter(ad.Tensor([1.0]), name="b")
    f = lambda x: w * x + b
    x = ad.Tensor([3.0])
    close(ad.grad(f, None, weights=w)(x), [3])
    gw, gb = ad.grad(f, None, weights=[w, b])(x)
    close(gw, [3])
    close(gb, [1])
    assert ad.grad(f, None, weights=[])(x) == ()
    gx, (gw, gb) = ad.grad(f, 0, weights=ad.ParameterTuple([w, b]))(x)
    close(gx, [2])
    (gx,), (gw,) = ad.grad(f, (0,), weights=[w])(x)
    close(gw, [3])


def test_a_weight_that_is_not_trained_still_has_its_true_gradient():
    w = ad.Parameter(ad.Tensor([2.0]), requires_grad=False)
    close(ad.grad(lambda x: w * x, None, weights=w)(ad.Tensor([3.0])), [3])


def test_return_ids_and_get_grad():
    w = ad.Parameter(ad.Tensor([2.0]), name="w")
    got = ad.grad(lambda x, y: w * x * y, (0, 1), weights=[w], return_ids=True)(ad.Tensor([3.0]), ad.Tensor([4.0]))
    assert got[0][0][0] == 0 and got[1][0][0] == "w"
    close(ad.get_grad(got, 1), [6])
    close(ad.get_grad(got, w), [12])
    position, g = ad.grad(lambda x: x, return_ids=True)(X)
    assert position == 0
    with pytest.raises(ValueError, match="get_grad: no gradient for 7"):
        ad.get_grad(got, 7)


def test_sens_param_is_the_last_argument():
    close(ad.grad(two, 0, sens_param=True)(X, Y, ad.Tensor([1.0, 10.0])), [3, 30])


def test_keyword_arguments_work_and_can_be_differentiated():
    def f(x, y=2.0, *, scale=1.0):
        return x * y * scale

    assert float(ad.grad(f)(3.0, scale=10.0)) == 20
    assert float(ad.grad(f, 1)(3.0, y=4.0)) == 3


class Pair(NamedTuple):
    a: float
    b: float


@dataclass
class Params:
    w: ad.Tensor
    rest: list


def test_containers_are_differentiable_inputs():
    g = ad.grad(lambda p: p["w"] * p["x"][0] + p["x"][1] ** 2)({"w": 2.0, "x": (3.0, 4.0)})
    assert float(g["w"]) == 3 and float(g["x"][0]) == 2 and float(g["x"][1]) == 8
    g = ad.grad(lambda p: p.a * p.b)(Pair(2.0, 5.0))
    assert isinstance(g, Pair) and float(g.a) == 5
    g = ad.grad(lambda p: (p.w * p.rest[0]).sum())(Params(X, [2.0]))
    assert isinstance(g, Params)
    close(g.w, [2, 2])
    assert float(g.rest[0]) == 3


def test_numpy_arrays_and_numbers_keep_their_precision():
    assert ad.grad(lambda x: x * x)(np.ones(2)).dtype == np.float64
    assert ad.grad(lambda x: x * x)(np.ones(2, np.float32)).dtype == np.float32
    assert ad.grad(lambda x: x * x)(0.1).dtype == np.float64
    value, _ = ad.value_and_grad(lambda x: x * ad.Tensor([1.0]))(0.1)
    assert value.dtype == np.float32  # a Python number is weak


def test_each_gradient_has_its_inputs_dtype():
    ga, gb = ad.grad(lambda a, b: a * b, (0, 1))(ad.Tensor([2.0], ad.float16), ad.Tensor([3.0], ad.float32))
    assert (ga.dtype, gb.dtype) == (np.float16, np.float32)


def test_nested_closures_differentiate_the_right_variable():
    inner = lambda x: x * ad.grad(lambda y: x + y)(1.0)
    assert float(ad.grad(inner)(2.0)) == 1
    assert float(ad.jvp(lambda x: x * ad.jvp(lambda y: x + y, 1.0, 1.0)[1], 2.0, 1.0)[1]) == 1
    assert float(ad.grad(lambda x: x * ad.jvp(lambda y: x * y, 3.0, 1.0)[1])(2.0)) == 4


def test_orders_and_modes_nest():
    f = lambda x: ops.sin(x) * x
    second = -np.sin(1.3) * 1.3 + 2 * np.cos(1.3)
    third = -np.cos(1.3) * 1.3 - 3 * np.sin(1.3)
    g, j = ad.grad, lambda h: lambda x: ad.jvp(h, x, 1.0)[1]
    for outer in (g, j):
        for inner in (g, j):
            close(outer(inner(f))(1.3), second)
            close(outer(outer(inner(f)))(1.3), third)
    close(ad.nth_derivative(f, 3, 1.3), third)
    close(ad.nth_derivative(ops.sin, 7, 0.5), -np.cos(0.5))


def test_vjp_returns_a_tuple_even_for_one_input():
    out, pull = ad.vjp(lambda x: x * x, X)
    close(out, [1, 4])
    assert isinstance(pull(Y), tuple)
    close(pull(Y)[0], [6, 16])
    close(pull(X)[0], [2, 8])  # and can be called again


def test_vjp_with_weights_aux_and_several_outputs():
    w = ad.Parameter(ad.Tensor([2.0]), name="w")
    out, pull = ad.vjp(lambda x: w * x, X, weights=[w])
    (gx,), (gw,) = pull(ad.Tensor([1.0, 1.0]))
    close(gx, [2, 2])
    close(gw, [3])
    out, pull, aux = ad.vjp(lambda x: (x * x, x + 1), X, has_aux=True)
    close(aux, [2, 3])
    (a, b), pull = ad.vjp(lambda x: (x * x, 3 * x), X)
    close(pull(X, Y)[0], [2 + 9, 8 + 12])


def test_vjp_refuses_a_cotangent_that_does_not_fit():
    _, pull = ad.vjp(lambda x: x * x, X)
    with pytest.raises(ValueError, match=r"vjp: the cotangent has shape \(3,\), its value \(2,\)"):
        pull(np.ones(3))
    with pytest.raises(ValueError, match="2 cotangents for the 1 outputs"):
        pull(X, X)


def test_stop_gradient_and_no_grad():
    assert float(ad.grad(lambda x: x * ad.stop_gradient(x))(3.0)) == 3
    assert float(ad.grad(ad.grad(lambda x: x * x * ad.stop_gradient(x)))(3.0)) == 6
    assert float(ad.jvp(lambda x: x * ad.stop_gradient(x), 3.0, 1.0)[1]) == 3

    def f(x):
        with ad.no_grad():
            y = x * x
            assert float(ad.grad(lambda z: z * z)(5.0)) == 10  # a transform begun inside works
        return x * y

    assert float(ad.grad(f)(3.0)) == 9

    @ad.no_grad()
    def scale(x):
        return x * 10.0

    assert float(ad.grad(lambda x: scale(x) + x)(3.0)) == 1


def test_index_assignment_is_differentiable():
    def f(x):
        y = ops.zeros(3)
        y[0] = x[0] * 2
        y[1:] = x * x
        y[1] += 5 * x[0]
        return (y * ad.Tensor([1.0, 10.0, 100.0])).sum()

    close(ad.grad(f)(X), [2 + 20 + 50, 400])
    close(ad.jvp(f, X, ad.Tensor([1.0, 0.0]))[1], 72)
    x = ad.Tensor([1.0, 2.0])
    y = x
    z = x.copy()
    x[0] = 9.0
    close(y, [9, 2])
    close(z, [1, 2])


def test_gradients_of_a_long_program_do_not_recurse():
    def f(x):
        for _ in range(20_000):
            x = x + 0.0001
        return x

    assert float(ad.grad(f)(1.0)) == 1


def test_hooks_inside_grad():
    def f(x, y):
        z = x * x * y
        z.register_hook(lambda g: g * 2)
        return z * y

    gx, gy = ad.grad(f, (0, 1))(ad.Tensor(1.0), ad.Tensor(2.0))
    close(gx, 2 * 2 * (2 * 1 * 2))  # dz doubled
    close(gy, 2 * 2 * 1 + 2)


def test_assigning_to_an_input_keeps_its_gradient():
    def f(x):
        x[0] = x[1] * 5
        return x * 2

    x = ad.Tensor([1.0, 2.0, 3.0])
    for g in (ad.grad(f)(x), ad.value_and_grad(f)(x)[1], ad.vjp(f, x)[1](ops.ones(3))[0]):
        close(g, [0, 12, 2])
    close(ad.linearize(f, x)[1](ad.Tensor([0.0, 1.0, 0.0])), [10, 2, 0])
    close(ad.grad(lambda d: f(d["a"]))({"a": x})["a"], [0, 12, 2])
    close(x, [1, 2, 3])


def test_a_weight_named_twice_gets_its_gradient_twice():
    w = ad.Parameter(ad.Tensor([2.0]), name="w")
    for g in ad.grad(lambda x: (w * x).sum(), None, weights=[w, w])(ad.Tensor([3.0])):
        close(g, [3])


def test_hooks_of_a_parameter_see_functional_gradients():
    w = ad.Parameter(ad.Tensor([2.0]), name="w")
    handle = w.register_hook(lambda g: g * 10)
    gradient = ad.grad(lambda x: (w * x).sum(), None, weights=w)
    close(gradient(ad.Tensor([3.0])), [30])
    handle.remove()
    close(gradient(ad.Tensor([3.0])), [3])


def test_arrays_may_be_overwritten_after_the_call():
    x, g = np.ones(2), np.ones(2)
    value, _ = ad.value_and_grad(lambda v: v)(x)
    _, pull = ad.vjp(lambda v: v * v, x)
    x[:] = 50
    close(value, [1, 1])
    close(pull(g)[0], [2, 2])
    (pulled,) = ad.vjp(lambda v: v + 1, x)[1](g)
    g[:] = 7
    close(pulled, [1, 1])


def test_dicts_are_matched_by_their_keys():
    f = lambda d: d["a"] * 2 + d["b"] * 3
    inputs = {"a": 2.0, "b": 1.0}
    close(ad.jvp(f, inputs, {"b": 1.0, "a": 0.0})[1], 3)
    close(ad.linearize(f, inputs)[1]({"b": 1.0, "a": 0.0}), 3)
    twice = lambda x: {"a": x * 2, "b": x * 3}
    close(ad.vjp(twice, 2.0)[1]({"b": 1.0, "a": 0.0})[0], 3)
    close(ad.grad(twice, sens_param=True)(2.0, {"b": 1.0, "a": 0.0}), 3)
    with pytest.raises(
        ValueError, match=r"input 0\['c'\] has no counterpart, its value is a dict with the keys \['a', 'b'\]"
    ):
        ad.jvp(f, inputs, {"c": 1.0, "a": 0.0})
    rule = ad.custom_vjp(f, lambda d, out, dout: ({"b": 3 * dout, "a": 2 * dout},))
    close([ad.grad(rule)(inputs)[k] for k in "ab"], [2, 3])


def test_a_parameter_as_the_output_and_one_without_a_derivative():
    w = ad.Parameter(ad.Tensor([2.0]), name="w")
    value, g = ad.value_and_grad(lambda x: w, None, weights=w)(1.0)
    close(g, [1])
    w.set_data(ad.Tensor([5.0]))
    close(value, [2])
    with pytest.raises(TypeError, match="the weight 'n' is of dtype int64; integers"):
        ad.grad(lambda x: x, None, weights=ad.Parameter(np.array([1]), name="n"))(1.0)


def test_a_hook_must_keep_the_shape():
    def f(x):
        x.register_hook(lambda g: 5.0)
        return x * x

    with pytest.raises(ValueError, match=r"a hook returned a gradient of shape \(\) in place of one of shape \(2,\)"):
        ad.grad(f)(X)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="a caller's stack holds the arguments of a call")
def test_the_sweep_frees_what_it_has_passed():
    late, alive = [], []

    def f(x):
        first = ops.sin(x)
        first.register_hook(lambda g: alive.extend(r() is not None for r in late))
        y = first
        for _ in range(3):
            y = ops.exp(y)
            late.append(weakref.ref(y._value))
        return (y * y).sum()

    ad.grad(f)(ad.Tensor([0.1, 0.2]))
    assert alive[1:] == [False, False]  # the first one's own rule is just being evaluated


def test_pain_7_indexing_in_a_loop_is_linear():
    """The cotangents of x[i] are put in place once, not each into an array of its own."""
    import tracemalloc

    def f(x):
        s = x.sum() * 0.5
        for i in range(len(x)):
            s = s + x[i] * x[i]
        return s + (x * x).sum()

    x = np.arange(2000.0)
    close(ad.grad(f)(x), 0.5 + 4 * x)
    close(ad.grad(lambda v: ad.grad(f)(v).sum())(x[:5]), np.full(5, 4.0))
    tracemalloc.start()
    ad.grad(f)(x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 800 * x.nbytes  # one array for each element would be 2000 of them; this call's steps are learned too
