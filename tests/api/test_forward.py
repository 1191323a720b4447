"""jvp, linearize, dual numbers, Jacobians, Hessians."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops

RNG = np.random.default_rng(0)
A = RNG.normal(size=(4, 3))


def f(x):
    return ops.tanh(A @ x)


X, V = RNG.normal(size=3), RNG.normal(size=3)


def central(fn, x, v, h=1e-6):
    return (np.asarray(fn(x + h * v)) - np.asarray(fn(x - h * v))) / (2 * h)


def numerical_jacobian(fn, x):
    return np.stack([central(fn, x, e.reshape(x.shape)) for e in np.eye(x.size)], axis=-1)


def close(a, b, rtol=1e-6, atol=1e-8):
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=rtol, atol=atol)


def test_jvp_against_differences():
    y, t = ad.jvp(f, X, V)
    close(y, np.tanh(A @ X))
    close(t, central(lambda x: np.tanh(A @ x), X, V))


def test_jvp_with_several_inputs_aux_and_structures():
    y, t = ad.jvp(lambda a, b: a * b, (2.0, 3.0), (1.0, 10.0))
    assert (float(y), float(t)) == (6, 23)
    y, t, aux = ad.jvp(lambda x: (x * x, x + 1), 3.0, 1.0, has_aux=True)
    assert (float(t), float(aux)) == (6, 4)
    y, t = ad.jvp(lambda p: {"out": p["a"] * p["b"]}, ({"a": 2.0, "b": 3.0},), ({"a": 1.0, "b": 0.0},))
    assert float(t["out"]) == 3


def test_a_constant_output_has_a_zero_tangent():
    assert float(ad.jvp(lambda x: 3.0 + 0.0 * ad.stop_gradient(x), 1.0, 1.0)[1]) == 0


def test_linearize_runs_the_function_once():
    calls = []

    def counted(x):
        calls.append(1)
        return f(x)

    y, push = ad.linearize(counted, X)
    for v in (V, 2 * V):
        close(push(v), central(lambda x: np.tanh(A @ x), X, v))
    assert len(calls) == 1
    y, push = ad.linearize(lambda a, b: a * b, (2.0, 3.0))
    assert float(push((1.0, 10.0))) == 23


@pytest.mark.parametrize("jac", [ad.jacfwd, ad.jacrev, ad.jacobian])
def test_jacobians(jac):
    close(jac(f)(X), numerical_jacobian(lambda x: np.tanh(A @ x), X))
    m = RNG.normal(size=(2, 3))
    found = jac(lambda m: ops.sin(m) @ X)(m)
    assert found.shape == (2, 2, 3)
    close(found, numerical_jacobian(lambda m: np.sin(m) @ X, m).reshape(2, 2, 3))


@pytest.mark.parametrize("jac", [ad.jacfwd, ad.jacrev])
def test_jacobians_of_several_inputs_and_aux(jac):
    ja, jb = jac(lambda a, b: a * b[0], (0, 1))(X, V)
    close(ja, V[0] * np.eye(3))
    close(jb, np.outer(X, [1, 0, 0]))
    j, aux = jac(lambda x: (x * x, x.sum()), has_aux=True)(X)
    close(j, np.diag(2 * X))
    close(aux, X.sum())


def test_jacobian_of_containers():
    forward = ad.jacfwd(lambda p: p["a"] * p["b"])({"a": X, "b": 2.0})
    reverse = ad.jacrev(lambda p: p["a"] * p["b"])({"a": X, "b": 2.0})
    for j in (forward, reverse):
        close(j["a"], 2 * np.eye(3))
        close(j["b"], X)


def scalar(x):
    return ops.exp(x[0]) * x[1] ** 2 + ops.sin(x[1] * x[2])


def numpy_scalar(x):
    return np.exp(x[0]) * x[1] ** 2 + np.sin(x[1] * x[2])


def test_hessian_in_all_mode_combinations():
    g = lambda x: numerical_jacobian(numpy_scalar, x)
    expected = np.stack([(g(X + 1e-4 * e) - g(X - 1e-4 * e)) / 2e-4 for e in np.eye(3)], axis=-1)
    close(ad.hessian(scalar)(X), expected, rtol=1e-4, atol=1e-5)
    exact = ad.hessian(scalar)(X)
    for outer in (ad.jacfwd, ad.jacrev):
        for inner in (ad.jacfwd, ad.jacrev):
            close(outer(inner(scalar))(X), exact, rtol=1e-12)
    close(ad.hvp(scalar)(X, V), np.asarray(exact) @ V, rtol=1e-12)
    close(ad.jit(ad.hvp(scalar))(X, V), np.asarray(exact) @ V, rtol=1e-12)
    g, hv = ad.jvp(ad.grad(scalar), X, V)
    close(hv, np.asarray(exact) @ V, rtol=1e-12)
    close(g, ad.grad(scalar)(X))


def of_two(x, y, scale=1.0):
    return (ops.sin(x * y[0]) * y[1] ** 3).sum() * scale


@pytest.mark.parametrize("mode", [lambda f: f, ad.jit], ids=["dynamic", "static"])
@pytest.mark.parametrize("position", [0, 1, (0,), (1,), (0, 1), (1, 0)], ids=str)
def test_a_product_with_the_hessian_is_called_as_the_hessian(position, mode):
    x, y = RNG.normal(size=(2, 3)), RNG.normal(size=2)
    several = isinstance(position, tuple) and len(position) > 1
    chosen = [(x, y)[i] for i in (position if isinstance(position, tuple) else (position,))]
    vs = [RNG.normal(size=c.shape) for c in chosen]
    H = ad.hessian(of_two, position)(x, y, scale=2.0)
    rows = H if several else ((H,),)
    expected = [sum(np.tensordot(np.asarray(b), v, v.ndim) for b, v in zip(row, vs, strict=True)) for row in rows]
    found = mode(ad.hvp(of_two, position))(x, y, tuple(vs) if several else vs[0], scale=2.0)
    for p, e in zip(found if several else (found,), expected, strict=True):
        close(p, e, rtol=1e-10)


def test_a_product_with_the_hessian_takes_structures_and_keywords():
    x, v = {"a": X, "b": [V]}, {"a": V, "b": [X]}
    found = ad.hvp(lambda d: (d["a"] ** 2 * d["b"][0]).sum())(x, v)
    close(found["a"], 2 * V * V + 2 * X * X)
    close(found["b"][0], 2 * X * V)
    close(ad.hvp(of_two, 1)(V[:2], x=X, y=X[:2]), np.asarray(ad.hessian(of_two, 1)(X, X[:2])) @ V[:2])
    batch = ad.vmap(ad.hvp(scalar), (None, 0))(X, np.eye(3))
    close(batch, ad.hessian(scalar)(X), rtol=1e-12)


def test_a_product_with_the_hessian_says_how_it_is_called():
    with pytest.raises(TypeError, match=r"hvp\(fn\)\(x, v\), not hvp\(fn, x, v\)"):
        ad.hvp(scalar, X, V)
    with pytest.raises(TypeError, match=r"hvp\(scalar\): the vector is missing"):
        ad.hvp(scalar)(X)


def test_hessian_wants_a_scalar():
    with pytest.raises(ValueError, match=r"hessian: f must return one scalar, it returned shape \(4,\)"):
        ad.hessian(f)(X)
    with pytest.raises(ValueError, match="hvp: f must return one scalar"):
        ad.hvp(f)(X, V)


def test_dual_numbers_by_hand():
    x = ad.make_dual(ad.Tensor(X), 1)
    close(ad.get_dual_part(x * x), [0, 2 * X[1], 0])
    close(ad.get_primal_part(x * x), X * X)
    x = ad.make_dual(2.0)
    y = ad.make_dual(3.0)
    mixed = ad.get_dual_part(ad.get_dual_part(x * x * y))  # d/dx d/dy
    assert float(mixed) == 4
    assert float(ad.get_dual_part(5.0 * ad.stop_gradient(x))) == 0
    with pytest.raises(ValueError, match="make_dual: element 7 of a value with 3 elements"):
        ad.make_dual(ad.Tensor(X), 7)


def test_forward_mode_ad_class():
    close(ad.ForwardModeAD(f).jacobian(X), ad.jacrev(f)(X), rtol=1e-12)
    close(ad.ForwardModeAD(lambda m: m @ X).jacobian(A).shape, (4, 4, 3))


def test_jvp_refuses_what_does_not_fit():
    with pytest.raises(ValueError, match="jvp: 1 tangents for 2 inputs"):
        ad.jvp(lambda a, b: a * b, (1.0, 2.0), (1.0,))
    with pytest.raises(ValueError, match=r"the tangent of input 0 has shape \(2,\), its value \(3,\)"):
        ad.jvp(f, X, np.ones(2))
    with pytest.raises(TypeError, match="argument 0 is the int 3; integers"):
        ad.jvp(lambda x: x, 3, 1.0)


@pytest.mark.parametrize("jac", [ad.jacfwd, ad.jacrev, ad.jacobian])
def test_jacobians_leave_the_caller_alone(jac):
    def swapped(x):
        first = x[0]
        x[0] = x[1]
        x[1] = first
        return x.exp() * 0 + x

    for x in (np.array([1.0, 2.0]), ad.Tensor([1.0, 2.0])):
        close(jac(swapped)(x), [[0, 1], [1, 0]])
        close(x, [1, 2])


@pytest.mark.parametrize("jac", [ad.jacfwd, ad.jacrev, ad.jacobian])
def test_jacobians_have_the_outputs_structure_outside(jac):
    def f(d):
        return {"p": d["a"] * 2, "q": d["b"].sum(), "n": 3}

    found = jac(f)({"a": X, "b": V[:2]})
    shapes = {k: {i: j.shape for i, j in row.items()} for k, row in found.items()}
    assert shapes == {"p": {"a": (3, 3), "b": (3, 2)}, "q": {"a": (3,), "b": (2,)}, "n": {"a": (3,), "b": (2,)}}
    close(found["p"]["a"], 2 * np.eye(3))
    close(found["n"]["b"], np.zeros(2))


@pytest.mark.parametrize("jac", [ad.jacfwd, ad.jacrev])
def test_aux_of_a_jacobian_may_be_anything(jac):
    assert jac(lambda x: (x * 2, "text"), has_aux=True)(X)[1] == "text"
    assert jac(lambda x: (x * 2, 5), has_aux=True)(np.zeros(0))[1] == 5


def test_hessian_blocks_have_the_shapes_of_their_row_and_column():
    f = lambda a, b: (a.sum() * b.sum()) ** 2
    blocks = ad.hessian(f, (0, 1))(X, V[:2])
    assert [[h.shape for h in row] for row in blocks] == [[(3, 3), (3, 2)], [(2, 3), (2, 2)]]
    named = ad.hessian(lambda d: f(d["a"], d["b"]))({"a": X, "b": V[:2]})
    close(named["a"]["b"], blocks[0][1])
    close(named["b"]["a"], blocks[1][0])


@pytest.mark.parametrize("jac", [ad.jacfwd, ad.jacrev, ad.hessian])
def test_a_jacobian_of_complex_inputs_is_refused_with_the_rewrite(jac):
    with pytest.raises(TypeError, match=r"lambda re, im: fn\(ops.complex\(re, im\)\)"):
        jac(lambda z: ops.abs(z) ** 2)(1 + 2j)
    j = ad.jacrev(lambda re, im: ops.abs(ops.complex(re, im)) ** 2, (0, 1))(1.0, 2.0)
    close([float(v) for v in j], [2, 4])


def test_a_tangent_of_an_integer_in_a_tree_is_refused_by_its_path_unless_it_is_zero():
    f = lambda d: d["a"] * d["k"][0]
    point = {"z": None, "a": 2.0, "k": [3, "text", np.arange(2)]}
    for k in ([0, "text", np.zeros(2)], [None, None, None], None, [ad.Tensor(0), "text", 0]):
        close(ad.jvp(f, (point,), ({"z": None, "a": 1.0, "k": k},))[1], 3)
    for k in ([5.0, None, None], [True, None, None], [ad.Tensor(1.0), None, None]):
        for run in (lambda t: ad.jvp(f, (point,), (t,)), lambda t: ad.linearize(f, (point,))[1](t)):
            with pytest.raises(
                ad.ArgumentError, match=r"the tangent of input 0\['k'\]\[0\] must be None or 0: its value, 3"
            ):
                run({"z": None, "a": 1.0, "k": k})
