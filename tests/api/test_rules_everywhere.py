"""A rule registered for a card is the card's derivative, whatever asks for it: every card, every mode, compiled or not."""

from __future__ import annotations

import itertools
from contextlib import contextmanager

import numpy as np
import pytest

import adjoint as ad
from adjoint.core.absent import ZERO
from adjoint.ops.card import REGISTRY
from adjoint.testing import cases as samples
from adjoint.testing.cases import flat, inexact, plain

NAMES = sorted(name for name, cls in REGISTRY.items() if cls.differentiable)


@contextmanager
def tripled(cls):
    """The card with three times its own derivative."""
    own = cls.vjp

    @ad.bprop_getters.register(cls)
    def getter(self):
        def bprop(*args):
            *xs, out, dout = args
            found = own(self, dout, out, *xs)  # one for each input, of which integers have none
            found = [c() if callable(c) and inexact(x) else c for c, x in itertools.zip_longest(found, xs)]
            return tuple(None if c is ZERO or callable(c) else c * 3 for c in found)

        return bprop

    try:
        yield
    finally:
        ad.bprop_getters.restore(cls)


def cases(name, count=2):
    """A few calls of a card on real arrays that are not empty."""
    found = (c for (c,) in samples.cases(REGISTRY[name], rounds=1))
    real = (c for c in found if c.smooth and all(x.dtype == np.float64 and x.size for x in c.floats))
    return list(itertools.islice(real, count))


def total(case):
    """The sum of all results, as a function of the inputs that have derivatives: ops of other cards only."""

    def fn(*floats):
        return [y for y in flat(case.op(*case.filled(floats))) if inexact(y)]

    return fn


def gradients(case):
    """The gradients of a case by way of every reverse transform."""
    fn, floats = total(case), case.floats
    places = tuple(range(len(floats)))
    ones = [np.ones(y.shape, y.dtype) for y in case.outputs()]
    cotangent = ones if len(ones) > 1 else [ones]
    as_tuple = lambda g: list(g) if isinstance(g, tuple) else [g]
    by_grad = lambda f: as_tuple(ad.grad(f, places)(*floats))
    yield "grad", by_grad(fn)
    yield "vjp", list(ad.vjp(fn, *floats)[1](*cotangent))
    yield "jit(grad)", as_tuple(ad.jit(ad.grad(fn, places))(*floats))
    yield "jit(grad) interpreted", as_tuple(ad.jit(ad.grad(fn, places), backend="interpreter")(*floats))
    yield "grad(jit)", by_grad(ad.jit(fn))
    batch = [np.stack([x, x]) for x in floats]
    yield "vmap(grad)", [g[1] for g in as_tuple(ad.vmap(ad.grad(fn, places))(*batch))]
    yield "grad(vmap)", [g[1] for g in as_tuple(ad.grad(ad.vmap(fn), places)(*batch))]
    yield "grad(jit(vmap))", [g[1] for g in as_tuple(ad.grad(ad.jit(ad.vmap(fn)), places)(*batch))]
    tensors = [ad.Tensor(x) for x in floats]
    for x in tensors:
        x.requires_grad = True
    for y, g in zip(fn(*tensors), ones, strict=True):
        y.backward(g)
    yield "backward", [np.zeros(x.shape) if x.grad is None else x.grad for x in tensors]
    with ad.GradientTape() as tape:
        watched = [tape.watch(ad.Tensor(x)) for x in floats]
        ys = fn(*watched)
    yield "GradientTape", tape.gradient(ys, watched)


def tangents(case):
    """The tangents of a case along ones by way of every forward transform."""
    fn, floats = total(case), tuple(case.floats)
    ts = tuple(np.ones_like(x) for x in floats)
    yield "jvp", ad.jvp(fn, floats, ts)[1]
    yield "linearize", ad.linearize(fn, floats)[1](*ts)
    yield "jit(jvp)", ad.jit(lambda xs, ts: ad.jvp(fn, xs, ts)[1])(floats, ts)
    yield "jvp(jit)", ad.jvp(ad.jit(fn), floats, ts)[1]
    if len(floats) == 1:
        yield "make_dual", [ad.get_dual_part(y) for y in fn(ad.make_dual(*floats, *ts))]
    batch = tuple(np.stack([x, x]) for x in floats), tuple(np.stack([t, t]) for t in ts)
    yield "vmap(jvp)", [t[1] for t in ad.vmap(lambda xs, ts: ad.jvp(fn, xs, ts)[1])(*batch)]
    yield "jvp(vmap)", [t[1] for t in ad.jvp(ad.vmap(lambda *xs: fn(*xs)), *batch)[1]]


def jacobians(case):
    """The Jacobian of the first result by the first input, both ways."""
    first, *others = case.floats
    fn = lambda x: total(case)(x, *others)[0]
    yield "jacrev", [ad.jacrev(fn)(first)]
    yield "jacfwd", [ad.jacfwd(fn)(first)]
    yield "ForwardModeAD", [ad.ForwardModeAD(fn).jacobian(first)]
    yield "jit(jacfwd)", [ad.jit(ad.jacfwd(fn))(first)]


@pytest.mark.parametrize("ways", [gradients, tangents, jacobians])
@pytest.mark.parametrize("name", NAMES)
def test_a_registered_rule_is_the_derivative(name, ways):
    for case in cases(name):
        _, own = next(ways(case))
        with tripled(REGISTRY[name]):
            for way, found in ways(case):
                for a, b in zip(found, own, strict=True):
                    np.testing.assert_allclose(plain(a), 3 * plain(b), rtol=1e-7, atol=1e-9, err_msg=f"{way} of {case}")


WAYS = {
    "grad": lambda f: ad.grad(f)(0.3),
    "vjp": lambda f: ad.vjp(f, 0.3)[1](1.0)[0],
    "jvp": lambda f: ad.jvp(f, 0.3, 1.0)[1],
    "linearize": lambda f: ad.linearize(f, 0.3)[1](1.0),
    "jacfwd": lambda f: ad.jacfwd(f)(0.3),
    "jacrev": lambda f: ad.jacrev(f)(0.3),
    "nth_derivative": lambda f: ad.nth_derivative(f, 1, 0.3),
    "vmap": lambda f: ad.grad(lambda x: ad.vmap(f)(x * np.ones(2)).sum())(0.3) / 2,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("compiled", [False, True, "inside"])
def test_rules_of_discrete_cards(way, compiled):
    """A rule makes rounding differentiable: a straight-through estimator."""
    fn = lambda x: ad.ops.round(x) * 5.0
    fn = ad.jit(fn) if compiled is True else fn
    ways = ad.jit(lambda x: WAYS[way](fn)) if compiled == "inside" else lambda x: WAYS[way](fn)
    ad.bprop_getters.register(ad.ops.Round)(lambda self: lambda x, out, dout: (dout,))
    try:
        assert float(ways(0.3)) == pytest.approx(5.0)
    finally:
        ad.bprop_getters.restore(ad.ops.Round)
    assert float(WAYS[way](lambda x: ad.ops.round(x) * 5.0)) == 0.0


@pytest.mark.parametrize("way", ["jvp", "linearize", "jacfwd"])
@pytest.mark.parametrize(
    "rule",
    [
        lambda x, out, dout: (ad.ops.clamp(dout * 10, -1, 1),),
        lambda x, out, dout: (ad.ops.abs(dout),),
        lambda x, out, dout: (ad.ops.full_like(x, 5.0),),
        lambda x, out, dout: (dout + 1,),
        lambda x, out, dout: (dout * dout.item(),),
    ],
)
def test_a_rule_that_has_no_transpose_is_refused_forward(way, rule):
    once = ad.custom_vjp(lambda x: x * 10, rule)
    ad.grad(once)(0.3)
    with pytest.raises(NotImplementedError, match="the vjp rule of .* has no transpose rule"):
        WAYS[way](once)
    for registered in (lambda x: ad.ops.sin(x), ad.jit(lambda x: ad.ops.sin(x))):
        ad.bprop_getters.register(ad.ops.Sin)(lambda self: rule)
        try:
            with pytest.raises(NotImplementedError, match="has no transpose rule"):
                WAYS[way](registered)
        finally:
            ad.bprop_getters.restore(ad.ops.Sin)


def test_a_forward_rule_that_is_not_linear_is_refused_in_reverse():
    bent = ad.custom_jvp(lambda x: x * 2, lambda xs, ts: (xs[0] * 2, ad.ops.abs(ts[0])))
    assert ad.jvp(bent, 1.0, -1.0)[1] == 1
    with pytest.raises(NotImplementedError, match="jvp rule of .* has no transpose rule"):
        ad.grad(bent)(1.0)


def test_cards_of_integers_take_no_rule():
    with pytest.raises(TypeError, match="integers or truth values"):
        ad.bprop_getters.register(ad.ops.Less)


@pytest.mark.parametrize("way", WAYS)
def test_a_rule_replaced_after_compiling(way):
    """Graphs and derivative graphs that were made before do not keep the old rule."""
    fn = ad.custom_vjp(lambda x: x * x, lambda x, out, dout: (dout * 7,))
    compiled, outside = ad.jit(lambda x: fn(x) * 1.0), ad.jit(lambda x: WAYS[way](lambda y: fn(y) * 1.0) + 0.0 * x)
    sine = ad.jit(lambda x: ad.ops.sin(x) * 1.0)
    slopes = [ad.jit(lambda x, f=f: WAYS[way](f) + 0.0 * x) for f in (ad.ops.sin, sine)]
    for _ in range(3):
        assert float(WAYS[way](compiled)) == float(outside(0.3)) == 7.0
        assert all(float(f(0.3)) == pytest.approx(np.cos(0.3)) for f in slopes)
    fn.defvjp(lambda x, out, dout: (dout * 9,))
    ad.bprop_getters.register(ad.ops.Sin)(lambda self: lambda x, out, dout: (dout * 4,))
    try:
        for _ in range(3):
            assert float(WAYS[way](compiled)) == float(outside(0.3)) == 9.0
            assert all(float(f(0.3)) == 4.0 for f in slopes) and float(WAYS[way](sine)) == 4.0
    finally:
        ad.bprop_getters.restore(ad.ops.Sin)
    assert all(float(f(0.3)) == pytest.approx(np.cos(0.3)) for f in slopes)


@pytest.mark.parametrize("backend", ["native", "interpreter"])
@pytest.mark.parametrize("batched", [False, True])
def test_control_flow_in_functions_and_rules_of_ones_own(backend, batched):
    @ad.custom_vjp
    def root(a):
        x = a
        while abs(x * x - a) > 1e-12:
            x = 0.5 * (x + a / x)
        return x

    @root.defvjp
    def root_vjp(a, out, dout):
        if out > 1.5:
            return (dout / (2 * out),)
        return (dout * 100,)

    points = [2.0, 9.0, 100.0]
    want, slopes = np.sqrt(points), [100.0, 1 / 6, 1 / 20]
    jit = lambda f: ad.jit(f, backend=backend)
    if batched:
        values, grads = jit(ad.vmap(root))(np.array(points)), jit(ad.vmap(ad.grad(root)))(np.array(points))
        others = jit(ad.grad(ad.vmap(root)))(np.array(points)), ad.grad(jit(ad.vmap(root)))(np.array(points))
    else:
        values, grads = [jit(root)(x) for x in points], [jit(ad.grad(root))(x) for x in points]
        others = [ad.grad(jit(root))(x) for x in points], [ad.jvp(jit(root), x, 1.0)[1] for x in points]
    for found, expected in ((values, want), (grads, slopes), (others[0], slopes), (others[1], slopes)):
        np.testing.assert_allclose(np.array([float(v) for v in found]), expected, rtol=1e-9)
