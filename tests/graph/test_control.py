"""Branches and loops of graphs: values, both modes, every order, batches, and their refusals."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.api.graph_call import GraphCall
from adjoint.core.spec import Spec
from adjoint.graph.flow import MismatchError, cond, for_loop, while_loop
from adjoint.graph.trace import NeedsNumberError, trace
from adjoint.graph.verify import problem
from adjoint.graph.walk import replay

F = np.dtype(float)


def as_function(fn, *shapes):
    """A function of graph values as a function of arrays, by its graph."""
    graph, _ = trace(lambda *xs: [fn(*xs)], [Spec(s, F) for s in shapes])
    assert problem(graph) is None
    return lambda *xs: GraphCall(graph)(*xs)[0]


def close(a, b, rtol=1e-8):
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=rtol, atol=1e-12)


def newton(a):
    (x,) = while_loop(lambda x: ops.abs(x * x - a) > 1e-13, lambda x: [0.5 * (x + a / x)], [a * 1.0])
    return x


def test_pain_1_reverse_mode_through_a_data_dependent_while():
    """The number of rounds is known only at run time; every order and every nesting works."""
    f = as_function(newton, ())
    a = 2.0
    derivatives = [0.5 * a**-0.5, -0.25 * a**-1.5, 0.375 * a**-2.5]
    close(f(a), a**0.5)
    close(ad.grad(f)(a), derivatives[0])
    close(ad.jvp(f, a, 1.0)[1], derivatives[0])
    for outer in (ad.jacfwd, ad.jacrev):
        for inner in (ad.jacfwd, ad.jacrev):
            close(outer(inner(f))(a), derivatives[1])
    close(ad.nth_derivative(f, 3, a), derivatives[2], rtol=1e-6)


def test_a_batch_of_loops_that_end_at_different_times():
    f = as_function(newton, ())
    a = np.array([2.0, 3.0, 1e6])
    close(ad.vmap(f)(a), np.sqrt(a))
    close(ad.vmap(ad.grad(f))(a), 0.5 / np.sqrt(a))
    close(ad.grad(lambda v: ad.vmap(f)(v))(a), 0.5 / np.sqrt(a))
    close(ad.vmap(ad.grad(ad.grad(f)))(a), -0.25 * a**-1.5)


def branch(x):
    return cond(x[0] > 0, lambda: [ops.sin(x) * 2.0], lambda: [x * x])[0]


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_branches(sign):
    f = as_function(branch, (3,))
    x = np.array([sign, 2.0, 3.0])
    plain = (lambda v: ops.sin(v) * 2.0) if sign > 0 else (lambda v: v * v)
    close(f(x), plain(x))
    close(ad.grad(f)(x), ad.grad(plain)(x))
    close(ad.jacfwd(f)(x), ad.jacfwd(plain)(x))
    close(ad.grad(ad.grad(f))(x), ad.grad(ad.grad(plain))(x))


def test_a_batch_of_branches_takes_both():
    f = as_function(branch, (3,))
    xs = np.array([[1.0, 2.0, 3.0], [-1.0, 2.0, 3.0]])
    close(ad.vmap(f)(xs), np.stack([np.asarray(f(x)) for x in xs]))
    close(ad.vmap(ad.grad(f))(xs), np.stack([np.asarray(ad.grad(f)(x)) for x in xs]))


def test_a_branch_not_taken_leaves_no_trace_in_the_gradient():
    f = as_function(lambda x: cond(x > 0, lambda: [ops.log(x)], lambda: [x * 0])[0], ())
    close(ad.grad(f)(-1.0), 0.0)


def test_counted_loops():
    def f(x):
        s, p = for_loop(5, lambda i, s, p: [s + x[i] * i, p * x[i]], [x[0] * 0, x[0] * 0 + 1])
        return s * p

    def plain(x):
        return (x * np.arange(5)).sum() * ops.prod(x)

    g, x = as_function(f, (5,)), np.arange(1.0, 6.0)
    close(g(x), plain(x))
    close(ad.grad(g)(x), ad.grad(plain)(x))
    close(ad.hessian(g)(x), ad.hessian(plain)(x))
    close(ad.vmap(ad.grad(g))(np.stack([x, x + 1])), np.stack([ad.grad(plain)(v) for v in (x, x + 1)]))


def test_a_loop_whose_count_is_a_value_of_the_graph():
    graph, _ = trace(
        lambda x, n: for_loop(n, lambda i, y: [y * x], [x * 0 + 1]), [Spec((), F), Spec((), np.dtype(np.int64))]
    )
    for n in (0, 1, 4):
        f = lambda x, n=n: GraphCall(graph)(x, np.int64(n))[0]
        close(f(3.0), 3.0**n)
        close(ad.grad(f)(3.0), n * 3.0 ** (n - 1) if n else 0.0)


def test_loops_in_branches_in_loops():
    def f(x):
        def body(i, y):
            inner = cond(
                y > 2.0,
                lambda: [y * 0.5],
                lambda: [while_loop(lambda z: z < 3.0, lambda z: [z * x], [y])[0]],
            )
            return inner

        return for_loop(4, body, [x * 1.0])[0]

    def plain(x):
        y = x * 1.0
        for _ in range(4):
            if y > 2.0:
                y = y * 0.5
            else:
                while y < 3.0:
                    y = y * x
        return y

    g = as_function(f, ())
    for x in (1.3, 1.7, 2.9):
        close(g(x), plain(x))
        close(ad.grad(g)(x), ad.grad(plain)(x))
        close(ad.jvp(g, x, 1.0)[1], ad.grad(plain)(x))
        close(ad.grad(ad.grad(g))(x), ad.grad(ad.grad(plain))(x))


def test_values_from_transforms_around_are_inputs():
    x = np.array([1.0, 2.0])

    def f(w):
        graph, captured = trace(lambda v: cond(v[0] > 0, lambda: [v * w], lambda: [w]), [Spec((2,), F)])
        assert len(captured) == 1
        return GraphCall(graph)(x, *captured)[0]

    close(ad.grad(f)(np.array([3.0, 4.0])), x)


def test_the_graph_does_not_grow_with_the_number_of_rounds():
    sizes = {
        n: len(trace(lambda x, n=n: for_loop(n, lambda i, y: [ops.sin(y)], [x]), [Spec((), F)])[0].nodes)
        for n in (2, 2000)
    }
    assert sizes[2] == sizes[2000]


def test_what_changes_its_shape_is_named():
    with pytest.raises(MismatchError, match=r"float64\[3\] .* float64\[2\]"):
        trace(lambda x: cond(x[0] > 0, lambda: [x], lambda: [x[:2]]), [Spec((3,), F)])
    with pytest.raises(MismatchError) as caught:
        trace(lambda x: while_loop(lambda v: v[0] > 0, lambda v: [ops.concat([v, v])], [x]), [Spec((3,), F)])
    assert caught.value.index == 0
    with pytest.raises(ValueError, match="a condition must be one truth value"):
        trace(lambda x: cond(x > 0, lambda: [x], lambda: [x]), [Spec((3,), F)])


def test_python_numbers_take_the_dtype_of_the_other_way():
    graph, _ = trace(lambda x: cond(x > 0, lambda: [x], lambda: [0]), [Spec((), np.dtype(np.float32))])
    assert replay(graph, [np.float32(-1)])[0].dtype == np.float32


def test_a_number_asked_for_too_early_is_refused():
    with pytest.raises(NeedsNumberError, match=r"bool\[\] inside jit, known only when the graph runs"):
        trace(lambda x: [x if x > 0 else -x], [Spec((), F)])
