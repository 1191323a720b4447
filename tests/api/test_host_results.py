"""What a call of Python gave is used in the derivative too: no call is made again, whatever goes through loops, branches and checkpoints."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad

N = 6
XS = np.linspace(0.1, 1, N)


class Count:
    """A function with a state: the k-th call gives k times the sine."""

    def __init__(self):
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        return self.calls * np.sin(x)


def called(host):
    return lambda x: ad.host_callback(host, x, x, vjp=lambda x, out, dout: (dout * out,))


def straight(c, xs):
    return (c(xs) ** 2).sum()


def scanned(c, xs):
    return ad.scan(lambda s, x: (s * 0.5 + c(s * x) ** 2, None), 0.3, xs)[0]


def counted(c, xs):
    return ad.fori_loop(0, N, lambda i, s: s * 0.5 + c(s * xs[i]) ** 2, ad.Tensor(0.3, dtype="float64"))


def while_loop(c, xs):
    s, i = 0.3, 0
    while s < 20 and i < N:
        s, i = s * 0.5 + c(s * xs[i]) ** 2 + 0.5, i + 1
    return s


def branched(c, xs):
    s = 0.3
    for i in range(N):
        s = s * 1.1 + c(s * xs[i]) ** 2 if s < 0.5 else s * 0.3
    return s


def nested(c, xs):
    s = 0.3
    for i in range(N // 2):
        for j in range(2):
            s = s * 0.5 + c(s * xs[i + j]) ** 2
    return s


def expected(program):
    """Plain dynamic mode, which records each call: its gradient and how many calls there were."""
    host = Count()
    return np.asarray(ad.grad(lambda xs: program(called(host), xs))(XS)), host.calls


WAYS = {
    "jit(grad)": lambda f: ad.jit(ad.grad(f)),
    "grad(jit)": lambda f: ad.grad(ad.jit(f)),
    "jit(grad(checkpoint))": lambda f: ad.jit(ad.grad(ad.checkpoint(f))),
    "sqrt": lambda f: ad.jit(ad.grad(f, checkpoint="sqrt")),
    "binomial": lambda f: ad.jit(ad.grad(f, checkpoint="binomial")),
    "grad(checkpoint)": lambda f: ad.grad(ad.checkpoint(f)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("program", [straight, scanned, counted, while_loop, branched, nested])
def test_reverse_mode_makes_each_call_once(program, way):
    gradient, calls = expected(program)
    host = Count()
    found = WAYS[way](lambda xs: program(called(host), xs))(XS)
    np.testing.assert_allclose(np.asarray(found), gradient, rtol=1e-9)
    assert host.calls == calls


@pytest.mark.parametrize("program", [scanned, while_loop, branched])
def test_forward_mode_makes_each_call_once(program):
    gradient, calls = expected(program)
    host = Count()
    slope = ad.jit(lambda xs: ad.jvp(lambda xs: program(called(host), xs), xs, np.ones(N))[1])(XS)
    np.testing.assert_allclose(float(slope), gradient.sum(), rtol=1e-9)
    assert host.calls == calls


@pytest.mark.parametrize("program", [scanned, while_loop])
def test_on_xla(program):
    pytest.importorskip("jax")
    gradient, calls = expected(program)
    host = Count()
    found = ad.jit(ad.grad(lambda xs: program(called(host), xs)), backend="xla")(XS)
    np.testing.assert_allclose(np.asarray(found), gradient, rtol=1e-9)
    assert host.calls == calls


def test_second_order_and_batches():
    c = lambda x: ad.host_callback(np.sin, x, x, vjp=lambda x, out, dout: (dout * ad.ops.cos(x),))
    f = lambda sine: lambda x: ad.scan(lambda s, _: (sine(s) ** 2 + s + 0.1, None), x, None, length=3)[0]
    x = np.array([1.3, 0.4])
    for d in (lambda g: ad.grad(ad.grad(g)), ad.hessian, ad.grad):
        np.testing.assert_allclose(ad.jit(d(f(c)))(1.3), d(f(ad.ops.sin))(1.3), rtol=1e-9)
    for d in (
        lambda g: ad.vmap(ad.grad(g)),
        lambda g: ad.grad(lambda x: ad.vmap(g)(x).sum()),
        lambda g: ad.vmap(ad.grad(lambda x: ad.while_loop(lambda s: s < 9, g, x))),
    ):
        np.testing.assert_allclose(ad.jit(d(f(c)))(x), d(f(ad.ops.sin))(x), rtol=1e-9)


def test_what_cannot_be_kept_is_refused():
    host = Count()

    def unknown(n, x):
        c = called(host)
        inner = lambda i, s: ad.while_loop(lambda t: t < i, lambda t: t + 1 + c(t) ** 2, s)
        return ad.fori_loop(0, n, inner, x)

    with pytest.raises(ad.NoRuleError, match="host_callback inside it gives a result in a while loop"):
        ad.jit(ad.grad(unknown, 1))(3, 0.5)


def test_known_arrays_are_called_when_the_graph_runs():
    host, k = Count(), np.arange(4.0)
    sine = called(host)
    f = ad.jit(lambda x: ad.vmap(lambda k: ad.host_callback(host, k, k))(k) * x)
    g = ad.jit(ad.grad(lambda x: (ad.vmap(sine)(k) * x).sum()))
    assert host.calls == 0
    for run in range(2):
        scale = np.arange(1, 5) + run * 4
        np.testing.assert_allclose(np.asarray(f(2.0)), scale * np.sin(k) * 2, rtol=1e-12)
    np.testing.assert_allclose(float(g(2.0)), (np.arange(9, 13) * np.sin(k)).sum(), rtol=1e-12)


def test_a_rule_inside_a_branch():
    f = lambda x: called(np.exp)(x) * x if x > 0 else x
    for x in (1.5, -1.5):
        np.testing.assert_allclose(float(ad.jit(ad.grad(f))(x)), np.exp(x) * (1 + x) if x > 0 else 1, rtol=1e-12)
    bare = lambda x: ad.host_callback(np.sin, x, x) if x > 0 else x
    with pytest.raises(ad.NoRuleError, match=r"(?s)host_callback\(sin\) has no bprop rule.*give vjp= or jvp="):
        ad.jit(ad.grad(bare))(1.0)


def test_a_fwd_that_calls_is_not_computed_again():
    host = Count()

    @ad.custom_vjp
    def f(x):
        return ad.host_callback(host, x, x) * x

    def fwd(x):
        y = ad.host_callback(host, x, x)
        return y * x, y

    f.defvjp(fwd, lambda y, g: (g * y,))
    straight, loop = (lambda x: f(f(x))), (lambda x: ad.scan(lambda c, _: (f(c), None), x, None, length=3)[0])
    found = float(ad.jit(ad.grad(straight))(0.5))
    assert host.calls == 2
    host.calls = 0
    np.testing.assert_allclose(float(ad.grad(straight)(0.5)), found, rtol=1e-12)
    for way in (ad.jit(ad.grad(loop)), ad.grad(ad.jit(straight)), ad.jit(ad.grad(ad.checkpoint(straight)))):
        with pytest.raises(ad.CutGradientError, match="the fwd of f, which calls .*, is computed again"):
            way(0.5)
