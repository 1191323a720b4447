"""Taylor mode: against forward mode nested as often as the order, exact values, and other transforms around and inside."""

from __future__ import annotations

import gc
import math
import weakref

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.core.absent import instantiate
from adjoint.core.dispatch import Value
from adjoint.ops.card import REGISTRY, Op
from adjoint.transforms.dual import Dual
from adjoint.transforms.taylor import Taylor

ORDER = 4
DIFFERENTIABLE = [name for name, card in sorted(REGISTRY.items()) if card.differentiable]


def drawn(rng):
    return lambda *shape, domain=(-2.0, 2.0), **_: np.asarray(rng.uniform(*domain, size=shape))


def samples(name, rng, count=4):
    found = list(REGISTRY[name].samples(drawn(rng)))[:count]
    return [(op, xs) for op, xs in found if all(np.size(x) < 2000 for x in xs)]


def listed(y):
    return y if type(y) is tuple else (y,)


def plain(x):
    while isinstance(x, Value):
        x = x._value
    return np.asarray(x)


def nested(op, xs, directions, order):
    """Derivatives along a line by dual numbers of dual numbers."""
    if order == 0:
        return listed(op(*xs))
    dual = Dual()
    duals = [x if d is None else dual.track(x, d) for x, d in zip(xs, directions, strict=True)]
    ys = nested(op, duals, directions, order - 1)
    return [instantiate(dual.split(y)[1], dual.split(y)[0]) for y in ys]


#: Cards whose third derivatives by all inputs but the last are refused by name.
TO_SECOND_ORDER = {"Betainc"}


def varying(name, xs):
    """Which inputs of a card a series is taken along."""
    last = len(xs) - 1
    return [np.asarray(x).dtype.kind == "f" and (name not in TO_SECOND_ORDER or k == last) for k, x in enumerate(xs)]


@pytest.mark.parametrize("name", sorted(TO_SECOND_ORDER))
def test_third_orders_that_are_refused(name):
    (op, xs), *_ = samples(name, np.random.default_rng(0), 1)
    with pytest.raises(ad.NoRuleError, match="third order"):
        op(Taylor(3).track([np.asarray(xs[0]), np.ones(np.shape(xs[0]))]), *xs[1:])


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_every_card_along_a_line(name):
    rng = np.random.default_rng(3)
    for op, given in samples(name, rng):
        floats = varying(name, given)
        xs = [np.asarray(x) if f else x for x, f in zip(given, floats, strict=True)]
        directions = [rng.normal(size=np.shape(x)) if f else None for x, f in zip(xs, floats, strict=True)]
        trace = Taylor(ORDER)
        ys = listed(op(*(x if d is None else trace.track([x, d]) for x, d in zip(xs, directions, strict=True))))
        found = [trace.coefficients(y) for y in ys]
        with np.errstate(all="ignore"):
            for k in range(1, ORDER + 1):
                for coefficients, want in zip(found, map(plain, nested(op, xs, directions, k)), strict=True):
                    got = plain(instantiate(coefficients[k], coefficients[0])) * math.factorial(k)
                    assert got.shape == want.shape
                    scale = 1e-7 * (1 + np.abs(want).max(initial=0))
                    np.testing.assert_allclose(got, want, rtol=1e-7, atol=scale, err_msg=f"{op}, order {k}")


class TooManyCallsError(Exception):
    pass


def calls_of(name, order, most=20_000):
    """How many ops a card's series of an order takes."""
    rng, count = np.random.default_rng(0), 0
    call = Op.__call__
    (op, xs), *_ = samples(name, rng, 1)
    trace = Taylor(order)
    floats = varying(name, xs)
    series = [
        trace.track([np.asarray(x), rng.normal(size=np.shape(x))]) if f else x for x, f in zip(xs, floats, strict=True)
    ]

    def counted(self, *args):
        nonlocal count
        count += 1
        if count > most:
            raise TooManyCallsError
        return call(self, *args)

    with pytest.MonkeyPatch.context() as patch, np.errstate(all="ignore"):
        patch.setattr(Op, "__call__", counted)
        try:
            op(*series)
        except TooManyCallsError:
            return math.inf
    return count


SUBSETS = {
    "Cofactor",
    "Det",
}  # their derivatives are sums over sets of directions, of which there are as many as rows at most


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_the_cost_of_a_card_is_at_most_cubic_in_the_order(name):
    assert (calls_of(name, 12) <= 8 * calls_of(name, 6)) == (name not in SUBSETS)


EXACT = {
    "sin": (ops.sin, 0.0, [1, 0, -1, 0, 1, 0, -1]),
    "exp": (ops.exp, 0.0, [1] * 7),
    "log1p": (ops.log1p, 0.0, [(-1) ** k * math.factorial(k) for k in range(7)]),
    "1/(1-x)": (lambda x: 1 / (1 - x), 0.0, [math.factorial(k) for k in range(1, 8)]),
    "x**5": (lambda x: x**5, 0.0, [0, 0, 0, 0, 120, 0, 0]),
    "x*x*x": (lambda x: x * x * x, 0.0, [0, 0, 6, 0, 0, 0, 0]),
    "sqrt": (ops.sqrt, 1.0, [0.5, -0.25, 0.375, -0.9375, 3.28125, -14.765625, 81.2109375]),
    "tan": (ops.tan, 0.0, [1, 0, 2, 0, 16, 0, 272]),
    "constant": (lambda x: x * 0.0 + 3.0, 1.0, [0] * 7),
}  # fmt: skip


@pytest.mark.parametrize("name", EXACT)
def test_exact_values(name):
    f, at, want = EXACT[name]
    along_line = np.eye(1, 7)[0]
    for g in (f, ad.jit(f)):
        _, found = ad.jet(g, at, along_line)
        np.testing.assert_allclose(found, want, rtol=1e-12, atol=1e-12)
        for k in range(1, 8) if g is f else (2, 7):
            np.testing.assert_allclose(ad.nth_derivative(g, k, at), want[k - 1], rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(ad.derivative(g, at, k)[1], want[k - 1], rtol=1e-12, atol=1e-12)


def rolled(x):
    y = x
    for _ in range(12):
        y = ops.sin(y) * 1.1 + x
    return y


def until(x):
    n = x
    while n < 5.0:
        n = n * 1.5 + ops.sin(x)
    return n


def branched(x):
    if x > 0:
        return ops.exp(x) * x
    return x * x * x


def collected(x):
    out, y = [], x
    for _ in range(10):
        y = y * x
        out.append(y)
    return ops.stack(out).sum()


def checkpointed(x):
    return ad.recompute(lambda y: ops.sin(y) * y, x) * x


@ad.custom_vjp
def cube(x):
    return x * x * x


cube.defvjp(lambda x, out, g: (3 * x * x * g,))


@pytest.mark.parametrize("backend", ["native", "interpreter"])
@pytest.mark.parametrize("f", [rolled, until, branched, collected, checkpointed], ids=lambda f: f.__name__)
def test_control_flow(f, backend):
    compiled = ad.jit(f, backend=backend)
    for x in (0.7, -0.3) if f is branched else (0.7,):
        want = f
        for k in range(1, 5):
            want = ad.grad(want)
            found = [ad.nth_derivative(f, k, x), ad.derivative(f, x, k)[1]]
            if k in (2, 4):
                whole = ad.jit(lambda x, k=k: ad.nth_derivative(f, k, x), backend=backend)
                found += [whole(x), ad.nth_derivative(compiled, k, x), ad.derivative(compiled, x, k)[1]]
            np.testing.assert_allclose(np.array(found, float), float(want(x)), rtol=1e-9)


def test_what_grad_gives_n_times_for_functions_that_are_not_elementwise():
    f = lambda x: (x[0] ** 3 * x[1] + ops.exp(x[1] * x[2])) * x.sum()
    x, want = np.array([0.3, -0.7, 1.1]), f
    for n in range(1, 5):
        want = ad.grad(want)
        np.testing.assert_allclose(ad.nth_derivative(f, n, x), want(x), rtol=1e-9)


def test_several_inputs_and_outputs_along_a_curve():
    def f(x, p):
        return {"a": x * p["w"], "b": (ops.sin(x).sum(), p["w"] * p["w"]), "n": 3}

    x, w = np.array([0.5, 1.5]), np.array([2.0, -1.0])
    dx, dw = np.array([[1.0, 2.0], [0.5, 0.0], [3.0, 1.0]]), np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 0.0]])
    values, found = ad.jet(f, (x, {"w": w}), (dx, {"w": dw}))
    np.testing.assert_allclose(values["a"], x * w)
    assert found["n"] == 3 and values["n"] == 3
    np.testing.assert_allclose(found["a"][0], dx[0] * w + x * dw[0])
    np.testing.assert_allclose(found["a"][1], dx[1] * w + 2 * dx[0] * dw[0] + x * dw[1])
    np.testing.assert_allclose(found["b"][1][2], 2 * (w * dw[2]) + 6 * dw[0] * dw[1])
    third = (-np.cos(x) * dx[0] ** 3 - 3 * np.sin(x) * dx[0] * dx[1] + np.cos(x) * dx[2]).sum()
    np.testing.assert_allclose(found["b"][0][2], third)


def test_other_transforms_around_and_inside():
    f = lambda x: ops.sin(x) * ops.exp(0.3 * x)
    along = lambda x, k: ad.derivative(f, x, k)[1]
    x = np.linspace(-1, 1, 5)
    want = [ad.nth_derivative(f, k, x).asnumpy() for k in range(1, 6)]
    np.testing.assert_allclose(ad.grad(lambda x: along(x, 3))(x), want[3])
    np.testing.assert_allclose(ad.jvp(lambda x: along(x, 3), x, np.ones(5))[1], want[3])
    np.testing.assert_allclose(ad.vmap(lambda x: along(x, 3))(x), want[2])
    np.testing.assert_allclose(ad.derivative(ad.vmap(f), x, 3)[1], want[2])
    np.testing.assert_allclose(ad.derivative(ad.grad(f), x, 2)[1], want[2])
    np.testing.assert_allclose(ad.derivative(lambda x: along(x, 2), x, 2)[1], want[3])
    np.testing.assert_allclose(ad.derivative(lambda x: ad.jvp(f, x, np.ones(5))[1], x, 2)[1], want[2])
    np.testing.assert_allclose(ad.jit(lambda x: along(x, 5))(x), want[4], rtol=1e-9)


def test_rules_of_the_users_own_and_parts_without_derivatives():
    np.testing.assert_allclose(
        [float(ad.derivative(cube, 2.0, k)[1]) for k in (1, 2, 3, 4)], [12, 12, 6, 0], atol=1e-12
    )
    _, second = ad.derivative(lambda x: ad.stop_gradient(x) * x * x, 3.0, 2)
    assert float(second) == 6

    def under_no_grad(x):
        with ad.no_grad():
            y = x * x
        return y * x

    assert float(ad.derivative(under_no_grad, 3.0, 1)[1]) == 9
    assert float(ad.derivative(lambda x: x * (x > 0), 2.0, 2)[1]) == 0


OF_ONE_NUMBER = {
    "abs": ops.abs, "relu": ops.relu, "maximum": lambda x: ops.maximum(x, 0.5), "where": lambda x: ops.where(x > 0, x * x, x),
    "x**x": lambda x: x**x, "atan2": lambda x: ops.atan2(x, x * x + 1), "hypot": lambda x: ops.sqrt(x * x + 1),
    "norm": lambda x: ops.norm(ops.stack([x, x * x])), "std": lambda x: ops.std(ops.stack([x, x * x, x + 3])),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_ONE_NUMBER)
@pytest.mark.parametrize(
    "x", [1.5, np.float32(1.5), np.array(1.5), ad.Tensor(1.5)], ids=["float", "float32", "array", "Tensor"]
)
def test_functions_of_one_number(name, x):
    f = g = OF_ONE_NUMBER[name]
    for k in range(1, 4):
        g = ad.grad(g)
        found = [ad.derivative(f, x, k)[1], ad.nth_derivative(f, k, x)]
        np.testing.assert_allclose(np.array(found, float), float(g(1.5)), rtol=2e-4, atol=2e-5)


def test_high_orders_of_single_precision():
    x = ad.Tensor(0.0, ad.float32)
    np.testing.assert_allclose(float(ad.derivative(ops.exp, x, 40)[1]), 1.0, rtol=1e-4)
    np.testing.assert_allclose(float(ad.derivative(ops.exp, 0.0, 200)[1]), 1.0, rtol=1e-10)


def test_single_precision_stays():
    _, found = ad.jet(lambda x: ops.exp(x) / (1 + x), ad.Tensor([1.0], ad.float32), np.eye(1, 5).T.astype(np.float32))
    assert found.dtype == ad.float32
    assert ad.nth_derivative(ops.tanh, 4, ad.Tensor([1.0], ad.float32)).dtype == ad.float32


def test_what_a_call_holds_is_free_when_it_is_over():
    big, gone = np.ones(1000), []

    def f(x):
        y = ops.tanh(ops.sin(x) / (1 + x * x))
        gone.append(weakref.ref(y))
        return y.sum()

    gc.disable()
    try:
        ad.derivative(f, big, 4)
        assert gone[0]() is None
    finally:
        gc.enable()


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: ad.derivative(ops.sin, 1.0, 0), ValueError, "order must be an integer above zero, not 0"),
        (lambda: ad.derivative(ops.sin, 1.0, True), ValueError, "not True"),
        (lambda: ad.nth_derivative(ops.sin, 1.5, 1.0), ValueError, "n must be an integer >= 0"),
        (lambda: ad.jet(ops.sin, 1.0, []), ValueError, "above zero"),
        (lambda: ad.jet(ops.mul, (1.0, 2.0), ([1.0], [1.0, 0.0])), ValueError, r"\[1, 2\]"),
        (lambda: ad.jet(ops.mul, (1.0, 2.0), [1.0]), ValueError, "a tuple of 2"),
        (lambda: ad.jet(ops.sin, np.ones(2), np.ones((3, 4))), ValueError, "shape"),
        (lambda: ad.jet(ops.sin, 1.0, 1.0), ValueError, "an axis of derivatives in front"),
        (lambda: ad.jet(ops.sin, 1, [1.0]), TypeError, "no derivative"),
        (lambda: ad.derivative(lambda x: 3, 1.0, 2), TypeError, "no derivative"),
    ],
)
def test_misuse(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_a_tensor_kept_from_inside_is_refused():
    kept = []
    ad.derivative(lambda x: kept.append(x) or x * x, 1.0, 2)
    with pytest.raises(ad.EndedTransformError, match="derivative had ended"):
        ops.sin(kept[0])
