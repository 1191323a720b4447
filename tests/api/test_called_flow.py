"""Loops and branches as functions: in both modes the same numbers and derivatives, in graphs loops that stay loops."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops
from adjoint.graph.control import Cond, Loop

XS = np.linspace(0.1, 1.0, 12)
UNREAD: dict = {}
exec(
    "def step(c, x):\n    return c * x + 1.0, c\n"
    "below = lambda v: v[1] < 50.0\nsquare = lambda v: (v[0] + 1, v[1] * v[1])\nyes = lambda x: x ** 2\nno = lambda x: -x\n",
    UNREAD,
)


class Damped:
    def __init__(self, k):
        self.k = k

    def step(self, c, x):
        if c > 1:
            return c * 0.5, c
        return c + x * self.k, c

    __call__ = step


def swinging(c, x):
    return c * ops.cos(x) + x, {"y": c * x, "z": (c,)}


def all_scans(xs):
    """One compiled function for many scans."""
    damped = Damped(2.0)
    tree = {"w": np.zeros(2), "s": "k", "n": 0}
    return {
        "tree of outputs": ad.scan(swinging, 0.5, xs),
        "reverse": ad.scan(swinging, 0.5, xs, reverse=True),
        "unroll": ad.scan(swinging, 0.5, xs, unroll=5),
        "unroll all": ad.scan(swinging, 0.5, xs, unroll=True),
        "no source": ad.scan(UNREAD["step"], 0.5, xs),
        "method": ad.scan(damped.step, 0.5, xs),
        "object": ad.scan(damped, 0.5, xs),
        "partial": ad.scan(functools.partial(lambda a, c, x: (c * a + x, c), 0.9), 0.5, xs),
        "length": ad.scan(lambda c, _: (c * xs[0], None), 1.0, length=9),
        "integers": ad.scan(lambda c, _: ((c[0] + 1, c[1] * xs), c[0]), (0, 1.0 + xs), length=9),
        "trees": ad.scan(
            lambda c, x: ({**c, "w": c["w"] + x["a"] * x["b"]}, None), tree, {"a": xs, "b": np.ones((12, 2))}
        ),
        "nested": ad.scan(lambda c, x: (ad.fori_loop(2, 12, lambda i, v: v * x + i * 0.1, c), None), 0.5, xs),
        "map": ad.map(lambda x: {"sq": x**2}, xs),
        "in branches": ad.scan(lambda c, x: (ad.cond(x > 0.5, lambda c: c * x, lambda c: c + x, c), None), 0.5, xs),
    }


def leaves_close(left, right, tol=1e-9):
    assert ad.tree.structure(left) == ad.tree.structure(right)
    for (path, x), y in zip(ad.tree.paths(left), ad.tree.leaves(right), strict=True):
        if isinstance(x, str):
            assert x == y
        else:
            a, b = (v.asnumpy() if isinstance(v, ad.Tensor) else np.asarray(v) for v in (x, y))
            np.testing.assert_allclose(a, b, rtol=tol, atol=tol, err_msg=path)
            assert a.dtype == b.dtype, path


def all_sums(xs):
    return sum(ad.tree.leaves(ad.tree.map(lambda x: 0.0 if isinstance(x, str) else (x * 1.0).sum(), all_scans(xs))))


def test_scans_are_the_same_in_both_modes():
    eager = all_scans(XS)
    compiled = ad.jit(all_scans)
    leaves_close(eager, compiled(XS))
    ops_used = [n.op for n in compiled.graph(XS).calls]
    assert sum(isinstance(op, Loop) for op in ops_used) >= 11  # loops stay loops, but for the one that is unrolled
    expected, c = [], 0.5
    for x in XS:
        expected.append(c * x)
        c = c * np.cos(x) + x
    np.testing.assert_allclose(eager["tree of outputs"][1]["y"], expected)
    np.testing.assert_allclose(eager["tree of outputs"][0], c)
    leaves_close(eager["unroll"], eager["tree of outputs"])


def test_derivatives_of_scans():
    f = lambda xs: ops.sum(ops.stack([ops.sum(ops.array(x)) for x in ad.tree.leaves(part(xs))]))
    part = lambda xs: {k: v for k, v in all_scans(xs).items() if k not in ("trees", "integers")}
    ad.check_grads(f, XS)
    compiled = ad.jit(ad.grad(f))
    np.testing.assert_allclose(compiled(XS), ad.grad(f)(XS), rtol=1e-9)
    final = lambda xs: ad.scan(lambda c, x: (c * x + ops.sin(c), c), 0.5, xs)[0]
    np.testing.assert_allclose(ad.jit(ad.hessian(final))(XS), ad.hessian(final)(XS), rtol=1e-8)
    np.testing.assert_allclose(ad.jit(ad.jacfwd(final))(XS), ad.grad(final)(XS), rtol=1e-9)
    np.testing.assert_allclose(ad.vmap(ad.grad(final))(np.stack([XS, XS**2]))[1], ad.grad(final)(XS**2), rtol=1e-9)
    kept = lambda xs: ad.scan(ad.checkpoint(lambda c, x: (c * x + ops.sin(c), c)), 0.5, xs)[0]
    np.testing.assert_allclose(ad.jit(ad.grad(kept))(XS), ad.grad(final)(XS), rtol=1e-9)


def test_a_number_in_the_carry_takes_the_dtype_of_what_it_becomes():
    f = lambda xs: ad.scan(lambda c, x: (c + x, c), 0.0, xs)
    x32 = XS.astype(np.float32)
    leaves_close(f(x32), ad.jit(f)(x32), 1e-5)
    assert f(x32)[0].dtype == np.float32 and f(x32)[1].dtype == np.float32
    g = lambda x: ad.scan(lambda c, x: (0.0, x), x[0], x)  # a number for an array takes the array's dtype
    leaves_close(g(x32), ad.jit(g)(x32), 1e-5)


def test_no_iterations():
    f = lambda xs: ad.scan(lambda c, x: (c + x.sum(), {"q": x * 2.0}), ad.Tensor(1.5), xs)
    carry, ys = f(np.zeros((0, 3), np.float32))
    assert float(carry) == 1.5 and ys["q"].shape == (0, 3) and ys["q"].dtype == np.float32
    leaves_close(ad.jit(f)(np.zeros((0, 3), np.float32)), (carry, ys))
    assert float(ad.fori_loop(3, 1, lambda i, x: x * 0.0, 2.0)) == 2


# ---------------------------------------------------------------- while, for, cond, switch

squared = lambda x: ad.while_loop(lambda y: y < 100.0, lambda y: y * y, x)
unread = lambda x: ad.while_loop(UNREAD["below"], UNREAD["square"], (0, x))[1]
powers = lambda n, x: ad.fori_loop(0, n, lambda i, v: v * x + i, 1.0)
either = lambda x: ad.cond(x > 0, lambda x: {"a": x**2}, lambda x: {"a": -x}, x)["a"]
either_unread = lambda x: ad.cond(x > 0, UNREAD["yes"], UNREAD["no"], x)
one_of = lambda k, x: ad.switch(k, [ops.sin, ops.exp, lambda x: x * 2, ops.cos], x)


def test_loops_and_branches_with_derivatives_in_both_modes():
    for f, x, slope in [(squared, 3.0, 17496.0), (unread, 3.0, 108.0), (either, -2.0, -1.0), (either_unread, 2.0, 4.0)]:
        np.testing.assert_allclose(ad.grad(f)(x), slope)
        np.testing.assert_allclose(ad.jvp(f, x, 1.0)[1], slope)
        compiled = ad.jit(lambda x, f=f: (f(x), ad.grad(f)(x), ad.jvp(f, x, 1.0)[1], ad.grad(ad.grad(f))(x)))
        value, first, forward, second = compiled(x)
        np.testing.assert_allclose([float(value), float(first), float(forward)], [float(f(x)), slope, slope])
        np.testing.assert_allclose(second, ad.grad(ad.grad(f))(x))
    graph = ad.jit(lambda x: (squared(x), either(x))).graph(2.0)
    assert {type(n.op) for n in graph.calls} >= {Loop, Cond}


def test_examples_of_a_batch_go_their_own_ways():
    x = np.array([2.0, 3.0, 4.0, -1.0, 100.0])
    for f in (squared, unread, either, either_unread):
        xs = x[x > 1] if f is squared or f is unread else x
        one_by_one = [f(float(v)) for v in xs]
        slopes = [ad.grad(f)(float(v)) for v in xs]
        np.testing.assert_allclose(ad.vmap(f)(xs), one_by_one)
        np.testing.assert_allclose(ad.vmap(ad.grad(f))(xs), slopes)
        np.testing.assert_allclose(ad.grad(lambda xs, f=f: ad.vmap(f)(xs).sum())(xs), slopes)
    counts = np.arange(4)
    np.testing.assert_allclose(ad.vmap(powers)(counts, np.full(4, 2.0)), [powers(int(n), 2.0) for n in counts])
    which, at = np.arange(-1, 6), np.linspace(0, 1, 7)
    expected = [np.sin(at[0]), np.sin(at[1]), np.exp(at[2]), at[3] * 2, np.cos(at[4]), np.cos(at[5]), np.cos(at[6])]
    together = lambda k, x, y: (ad.vmap(one_of)(k, x), ad.vmap(squared)(y), ad.vmap(either)(x - 0.5))
    for run in (together, ad.jit(together)):
        chosen, loops, branches = run(which, at, x[:3])
        np.testing.assert_allclose(chosen, expected)
        np.testing.assert_allclose(loops, [256, 6561, 256])
        np.testing.assert_allclose(branches, [either(float(v)) for v in at - 0.5])


def test_bounds_that_are_known_when_it_runs():
    f = ad.jit(lambda n, x: (powers(n, x), ad.grad(powers, 1)(n, x)))
    for n in (0, 1, 7):
        leaves_close(f(ad.Tensor(n), 1.5), (ops.array(powers(n, 1.5)), ad.grad(powers, 1)(n, 1.5)))
    assert len(f.compilations) == 1
    assert one_of(np.int64(99), 0.0) == 1 and float(ad.jit(one_of)(ad.Tensor(-5), 1.0)) == pytest.approx(np.sin(1.0))


def test_effects_random_numbers_and_networks(capsys):
    net = nn.Dense(2, 2)

    def run(xs, x0):
        def step(c, x):
            print("x is", x)
            return net(c) + ops.randn(2) * 0.01, ops.rand(1)

        return ad.scan(step, x0, xs)

    args = XS[:9], ad.Tensor(np.ones((1, 2), np.float32))
    ad.set_seed(3)
    eager, said = run(*args), capsys.readouterr().out
    ad.set_seed(3)
    leaves_close(eager, ad.jit(run)(*args), 1e-5)
    assert capsys.readouterr().out == said
    assert said.count("\n") == 9
    weights = net.trainable_params()
    quiet = lambda x: ad.scan(lambda c, _: (net(c), None), x, length=9)[0].sum()
    eager = ad.grad(quiet, None, weights)(args[1])
    leaves_close(ad.jit(ad.grad(quiet, None, weights))(args[1]), eager, 1e-5)


def test_what_the_function_writes_to_its_carry_stays_there():
    def step(c, x):
        c[0] = x
        return c, c[0]

    start = ad.Tensor(np.zeros(3))
    for run in (lambda t: ad.scan(step, t, XS)[0], ad.jit(lambda t: ad.scan(step, t, XS)[0])):
        np.testing.assert_allclose(run(start), [1, 0, 0])
        np.testing.assert_allclose(start, 0)


def test_errors_at_run_time_are_the_user_s():
    def step(v):
        if v > 1e6:
            raise ValueError("too big")
        return v * v

    f = lambda x: ad.while_loop(lambda v: v < 1e20, step, x)
    for run in (f, ad.jit(f)):
        with pytest.raises(ValueError, match="too big"):
            run(3.0)


# ---------------------------------------------------------------- refusals

W = {"w": [np.ones(2)]}
REFUSED = {
    "shape": (lambda: ad.scan(lambda c, x: ({"w": [np.ones(3)]}, None), W, XS), r"carry\['w'\]\[0\] changes from shape \(2,\) to \(3,\)"),
    "dtype": (lambda: ad.scan(lambda c, x: ({"w": [c["w"][0].astype("float32")]}, None), W, XS), r"carry\['w'\]\[0\] changes from float64 to float32"),
    "structure": (lambda: ad.scan(lambda c, x: ({"v": 1}, None), W, XS), r"carry\['v'\] has no counterpart"),
    "text": (lambda: ad.fori_loop(0, 9, lambda i, c: (c[0], "b"), (1.0, "a")), r"carry\[1\] changes from 'a' to 'b'"),
    "count": (lambda: ad.while_loop(lambda c: c[0] < 3, lambda c: (*c, 1), (0, 1.0)), "carry is a tuple of 3, before it is a tuple of 2"),
    "no pair": (lambda: ad.scan(lambda c, x: c, 0.0, XS), r"must return a pair \(carry, output\)"),
    "list": (lambda: ad.scan(lambda c, x: (c, x), 0.0, [1.0, 2.0]), "A list is a tree of its items here: make it an array"),
    "lengths": (lambda: ad.scan(lambda c, x: (c, x), 0.0, XS, length=3), r"xs: 12, length: 3"),
    "nothing": (lambda: ad.scan(lambda c, x: (c, x), 0.0), "length says how many"),
    "output": (lambda: ad.scan(lambda c, x: (c, {"t": "a"}), 0.0, XS), r"output\['t'\] is 'a', which cannot be stacked"),
    "several truths": (lambda: ad.cond(XS > 0, lambda: 1.0, lambda: 2.0), r"the truth of shape \(12,\) is ambiguous"),
    "no function": (lambda: ad.cond(True, 3, 4), "true_fun must be a function, not int"),
    "bound": (lambda: ad.fori_loop(0, 2.5, lambda i, c: c, 0.0), "upper must be an integer"),
    "index": (lambda: ad.switch(0.5, [ops.sin], 1.0), "the index must be an integer"),
    "branches": (lambda: ad.switch(0, ops.sin, 1.0), "a list of functions"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_name_the_leaf_in_both_modes(name):
    run, said = REFUSED[name]
    with pytest.raises(ad.AdjointError, match=said):
        run()
    with pytest.raises(ad.AdjointError, match=said):
        ad.jit(lambda x: (x, run()), backend="interpreter")(1.0)


def test_branches_that_differ_are_refused_by_the_leaf():
    f = lambda x: ad.cond(x > 0, lambda: {"b": (x, x)}, lambda: {"b": (x, np.ones(2))})
    with pytest.raises(
        ad.ControlFlowError, match=r"the value\['b'\]\[1\] float64\[\] if the condition holds and float64\[2\]"
    ):
        ad.jit(f)(1.0)


def test_numbers_that_a_loop_of_known_values_carries_stay_numbers():
    def loops(w):
        i8 = ad.Tensor(np.array([1, 2], np.int8))
        return (
            ad.fori_loop(0, 3, lambda i, c: c + 0.1, 0.1) * w,
            ad.fori_loop(0, 3, lambda i, c: c + i, 100) * i8,
            ad.while_loop(lambda c: c < 1.0, lambda c: c * 2.0, 0.1) * w,
            ad.scan(lambda c, x: ((c[0] + 0.1, c[1] * 2), x), (0.1, 1), np.ones(3))[0][0] * w,
            ad.fori_loop(0, 0, lambda i, c: c + 0.1, 0.1) * w,
            ad.fori_loop(0, 3, lambda i, c: not c, True) * i8,
        )

    w = ad.Tensor([1.0, 3.0])
    for a, b in zip(loops(w), ad.jit(loops, backend="interpreter")(w), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
    with pytest.raises(ad.AdjointError, match="a number that may be of several types"):
        ad.jit(lambda w: ad.while_loop(lambda c: c > 3, lambda c: c * 0.5, 2) * w)(w)
