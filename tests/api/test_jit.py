"""jit: the same results as dynamic mode, composed with every transform, and what it says of itself."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops
from adjoint.core.errors import AdjointError

X = np.array([1.0, 2.0])


def f(x):
    return ops.sin(x) * x


def close(a, b):
    a, b = (v.asnumpy() if isinstance(v, ad.Tensor) else np.asarray(v) for v in (a, b))
    np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


def test_pain_12_compiled_functions_are_differentiated_any_number_of_times():
    g = ad.jit(f)
    close(g(X), f(X))
    close(ad.grad(g)(X), ad.grad(f)(X))
    close(ad.grad(ad.grad(g))(X), ad.grad(ad.grad(f))(X))
    close(ad.jit(ad.grad(g))(X), ad.grad(f)(X))
    close(ad.grad(ad.jit(ad.grad(g)))(X), ad.grad(ad.grad(f))(X))
    close(ad.jit(ad.vmap(ad.grad(g)))(X), ad.grad(f)(X))
    close(ad.vmap(g)(X), f(X))
    close(ad.jvp(g, X, X)[1], ad.jvp(f, X, X)[1])
    close(ad.jit(ad.hessian(lambda x: g(x).sum()))(X), ad.hessian(lambda x: f(x).sum())(X))
    close(ad.jit(lambda x: g(g(x)))(X), f(f(X)))


def test_pain_4_each_compilation_has_its_reason():
    g = ad.jit(lambda x, n=1, scale=1.0: x.sum() * n * scale)
    g(X)
    g(X + 1)
    g(np.ones(3))
    g(np.ones(3, np.float32))
    g(np.ones(3, np.float32), 2)
    g(np.ones(3, np.float32), 3)
    assert [c.reason for c in g.compilations] == [
        "first call",
        "shape of `x` changed from (2,) to (3,)",
        "dtype of `x` changed from float64 to float32",
        "the arguments have another structure: `n` is new: 2",
        "static value of `n` changed from 2 to 3",
    ]


def test_floats_do_not_recompile_and_static_names_do():
    g = ad.jit(lambda x, scale: x * scale)
    for scale in (1.0, 2.0, 3.0):
        close(g(X, scale), X * scale)
    assert len(g.compilations) == 1
    h = ad.jit(lambda x, scale: x * scale, static_argnames="scale")
    for scale in (1.0, 2.0):
        close(h(X, scale), X * scale)
        close(h(X, scale=scale), X * scale)
    assert len(h.compilations) == 2
    with pytest.raises(ValueError, match=r"static_argnames names \['z'\]"):
        ad.jit(lambda x: x, static_argnames="z")


def test_containers_in_and_out():
    g = ad.jit(lambda p, k: {"y": p["w"] * k, "z": (p["b"], "note")})
    out = g({"w": X, "b": 2.0}, 3)
    close(out["y"], 3 * X)
    assert float(out["z"][0]) == 2 and out["z"][1] == "note"
    grads = ad.grad(lambda p: g(p, 3)["y"])({"w": X, "b": 2.0})
    close(grads["w"], [3, 3])


def test_parameters_are_inputs_not_constants():
    w = ad.Parameter(np.ones(2), name="w")
    g = ad.jit(lambda x: (x * w).sum())
    close(g(X), 3)
    w.set_data([3.0, 4.0])
    close(g(X), 11)
    assert len(g.compilations) == 1
    close(ad.grad(g, None, weights=w)(X), X)
    close(ad.jit(ad.grad(g, None, weights=w))(X), X)
    g(X).backward()
    close(w.grad, X)


def test_networks_and_methods():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = ad.Parameter(np.array([2.0, 3.0]))

        def construct(self, x):
            return self.twice(x) * self.w

        @ad.jit
        def twice(self, x):
            return 2 * x

    net = Net()
    close(ad.jit(net)(X), 2 * X * [2, 3])
    close(ad.grad(ad.jit(net))(X), [4, 6])


def test_values_of_outer_transforms():
    close(ad.grad(lambda a: ad.jit(lambda x: x * a)(X).sum())(2.0), 3)
    close(ad.vmap(lambda a: ad.jit(lambda x: x * a)(X))(X), np.outer(X, X))


def test_a_kept_graph_value_is_reported():
    kept = []
    g = ad.jit(lambda x: kept.append(x) or x * 2)
    with pytest.raises(AdjointError, match=r"`kept.append\(x\)` at test_jit.py:\d+:26 keeps float64\[2\]"):
        g(X)


def test_explain_and_graph():
    g = ad.jit(lambda x: (x * 1.0 - 0.0).sum())
    text = g.explain(X)
    assert text.startswith("jit(<lambda>): first call; ")
    assert "algebra" in text
    assert [type(n.op).__name__ for n in g.graph(X).calls] == ["Sum"]
    assert len(ad.jit(lambda x: (x * 1.0).sum(), passes_off=["algebra"]).graph(X).calls) == 2


def test_errors_name_the_users_line():
    with pytest.raises(ValueError, match=r"(?s)MatMul.*called at test_jit.py:\d+: ad.jit\(lambda x: x @ ops.ones"):
        ad.jit(lambda x: x @ ops.ones((4, 2)))(X)
    with pytest.raises(ValueError, match="returned nothing"):
        ad.jit(lambda x: None)(X)


def test_parameters_that_are_not_asked_for_are_inputs_too():
    a, b = ad.Parameter(np.array(2.0), name="a"), ad.Parameter(np.array(3.0), name="b")
    g = ad.jit(ad.grad(lambda x: (x * a * b).sum(), None, weights=[a]))
    close(g(X)[0], 9)
    b.set_data(np.array(11.0))
    close(g(X)[0], 33)
    assert len(g.compilations) == 1


@pytest.mark.parametrize("backend", ["interpreter", "native"])
def test_half_precision_is_computed_as_in_dynamic_mode(backend):
    x = np.random.default_rng(0).normal(size=(4, 5)).astype(np.float32)

    def f(x):
        h = ad.ops.cast(x, ad.float16)
        return ad.ops.matmul(h, h.T) * 3.0 + ad.ops.exp(h[:, :4]), ad.ops.sum(h * h)

    for found, wanted in zip(ad.jit(f, backend=backend)(x), f(ad.Tensor(x)), strict=True):
        assert found.dtype == wanted.dtype == np.float16
        np.testing.assert_array_equal(found.asnumpy(), wanted.asnumpy())
