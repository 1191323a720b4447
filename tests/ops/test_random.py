"""Random draws: they repeat from a seed, have the distribution they say, and are differentiable in their parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare, kstest

import adjoint as ad
from adjoint import ops
from adjoint.ops.functional import random

N = 20_000
P = np.array([0.2, 0.5, 0.3])

#: Every function that draws, as a function of its seed.
DRAWS: dict[str, Callable[..., Any]] = {
    "rand": lambda **k: ops.rand(5, 2, **k),
    "randn": lambda **k: ops.randn((5, 2), **k),
    "rand_like": lambda **k: ops.rand_like(ops.ones(9), **k),
    "randn_like": lambda **k: ops.randn_like(ops.ones(9), **k),
    "randint": lambda **k: ops.randint(0, 1000, (9,), **k),
    "randperm": lambda **k: ops.randperm(50, **k),
    "normal": lambda **k: ops.normal((9,), 1.0, 2.0, **k),
    "uniform": lambda **k: ops.uniform((9,), -1.0, 2.0, **k),
    "exponential": lambda **k: ops.exponential((9,), 3.0, **k),
    "bernoulli": lambda **k: ops.bernoulli(ops.full((99,), 0.5), **k),
    "gumbel": lambda **k: ops.gumbel((9,), **k),
    "gumbel_softmax": lambda **k: ops.gumbel_softmax(ops.zeros(9), **k),
    "multinomial": lambda **k: ops.multinomial(ops.ones(50), 9, **k),
    "shuffle": lambda **k: ops.shuffle(ops.arange(50), **k),
    "dropout": lambda **k: ops.dropout(ops.ones(99), **k),
}


def draw(name: str, **options: Any) -> np.ndarray:
    return DRAWS[name](**options).asnumpy()


def test_every_function_that_draws_is_in_the_table() -> None:
    public = {n for n, f in vars(ops).items() if inspect.isfunction(f) and f.__module__ == random.__name__}
    assert public - {"set_seed"} == set(DRAWS)


@pytest.mark.parametrize("name", DRAWS)
def test_draws_repeat_from_a_seed(name: str) -> None:
    ad.set_seed(7)
    first, second = draw(name), draw(name)
    assert not np.array_equal(first, second)
    ad.set_seed(7)
    np.testing.assert_array_equal(draw(name), first)
    np.testing.assert_array_equal(draw(name), second)
    ad.set_seed(8)
    assert not np.array_equal(draw(name), first)


@pytest.mark.parametrize("name", DRAWS)
def test_a_seed_of_its_own(name: str) -> None:
    """`seed=` repeats one draw, and leaves the common generator where it is."""
    ad.set_seed(7)
    after = draw(name)
    ad.set_seed(7)
    mine = draw(name, seed=3)
    np.testing.assert_array_equal(draw(name), after)
    np.testing.assert_array_equal(draw(name, seed=3), mine)
    assert not np.array_equal(draw(name, seed=4), mine)


@pytest.mark.parametrize("seed", [-1, 1.5, True, "1", None])
def test_a_seed_that_is_none(seed: Any) -> None:
    with pytest.raises(ValueError, match="the seed must be an integer >= 0"):
        ad.set_seed(seed)


def test_threads_draw_from_one_generator() -> None:
    """No draw is lost or given twice: together the threads get what one thread would get."""
    ad.set_seed(1)
    alone = np.sort(np.concatenate([ops.rand(100, dtype=ad.float64).asnumpy() for _ in range(64)]))
    ad.set_seed(1)
    with ThreadPoolExecutor(8) as pool:
        parts = list(pool.map(lambda _: ops.rand(100, dtype=ad.float64).asnumpy(), range(64)))
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), alone)


# ---------------------------------------------------------------- distributions

MOMENTS: list[tuple[str, Callable[[], Any], float, float]] = [
    ("rand", lambda: ops.rand(N, seed=1), 0.5, 12**-0.5),
    ("randn", lambda: ops.randn(N, seed=2), 0.0, 1.0),
    ("rand_like", lambda: ops.rand_like(ops.zeros((N // 2, 2)), seed=3), 0.5, 12**-0.5),
    ("randn_like", lambda: ops.randn_like(ops.zeros((N // 2, 2)), seed=4), 0.0, 1.0),
    ("normal", lambda: ops.normal((N,), 3.0, 2.0, seed=5), 3.0, 2.0),
    ("uniform", lambda: ops.uniform((N,), -1.0, 5.0, seed=6), 2.0, 6 * 12**-0.5),
    ("exponential", lambda: ops.exponential((N,), 4.0, seed=7), 0.25, 0.25),
    ("bernoulli", lambda: ops.bernoulli(ops.full((N,), 0.3), seed=8), 0.3, 0.21**0.5),
    ("bernoulli with p", lambda: ops.bernoulli(ops.zeros(N), 0.3, seed=9), 0.3, 0.21**0.5),
    ("gumbel", lambda: ops.gumbel((N,), seed=10), np.euler_gamma, np.pi / 6**0.5),
    ("randint", lambda: ops.randint(2, 6, (N,), seed=11), 3.5, 1.25**0.5),
    ("multinomial", lambda: ops.multinomial(P, N, seed=12), P @ [0, 1, 2], (P @ np.array([0, 1, 4]) - (P @ [0, 1, 2]) ** 2) ** 0.5),
    ("dropout", lambda: ops.dropout(ops.ones(N), 0.2, seed=13), 1.0, 0.5),
    ("gumbel_softmax", lambda: ops.gumbel_softmax(ops.log(ad.Tensor(np.tile(P, (N, 1)))), hard=True, seed=14)[:, 1], 0.5, 0.5),
    ("shuffle", lambda: ops.shuffle(ops.arange(N), seed=15)[: N // 2] / N, 0.5, 12**-0.5),
]  # fmt: skip


@pytest.mark.parametrize(("sample", "mean", "deviation"), [m[1:] for m in MOMENTS], ids=[m[0] for m in MOMENTS])
def test_moments(sample: Callable[[], Any], mean: float, deviation: float) -> None:
    x = sample().asnumpy().astype(float)
    assert x.mean() == pytest.approx(mean, abs=5 * deviation / x.size**0.5)
    assert x.std() == pytest.approx(deviation, rel=0.05)


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_dtypes_and_bounds(name: str) -> None:
    """Draws below 1 stay below 1 after rounding."""
    dtype = getattr(ad, name)
    u = ops.rand(100_000, dtype=dtype, seed=0)
    assert u.dtype == dtype and u.asnumpy().min() >= 0 and u.asnumpy().max() < 1
    assert ops.randn(3, dtype=dtype).dtype == dtype
    x = ad.Tensor(np.ones((2, 3)), dtype)
    hard = lambda x: ops.gumbel_softmax(x, hard=True)
    for f in (ops.rand_like, ops.randn_like, ops.bernoulli, ops.dropout, ops.shuffle, hard):
        y = f(x)
        assert (y.shape, y.dtype) == ((2, 3), dtype)
    assert ad.grad(lambda x: x * ops.dropout(x))(x).dtype == dtype


def test_shapes() -> None:
    for f in (ops.rand, ops.randn):
        for size, shape in (
            ((), ()),
            ((3,), (3,)),
            ((2, 3), (2, 3)),
            (((2, 3),), (2, 3)),
            (((),), ()),
            ((0, 2), (0, 2)),
        ):
            assert f(*size).shape == shape
    assert ops.normal((2, 3), ops.zeros(3), ops.ones((2, 1))).shape == (2, 3)
    assert ops.randint(0, 2, (2, 3), dtype=ad.int8).dtype == ad.int8
    np.testing.assert_array_equal(np.sort(ops.randperm(9).asnumpy()), np.arange(9))


def test_multinomial() -> None:
    rows = ops.multinomial(ad.Tensor([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]), 4, seed=1)
    np.testing.assert_array_equal(rows, [[1] * 4, [0] * 4])
    once = ops.multinomial(ops.ones(5), 5, replacement=False, seed=1)
    np.testing.assert_array_equal(np.sort(once.asnumpy()), np.arange(5))


def test_dropout() -> None:
    x = ad.Tensor(np.arange(1.0, 9.0))
    for same in (ops.dropout(x, 0.5, training=False), ops.dropout(x, 0.0)):
        np.testing.assert_array_equal(same, x.asnumpy())
    np.testing.assert_array_equal(ops.dropout(x, 1.0), np.zeros(8))
    kept = ops.dropout(x, 0.25, seed=1).asnumpy()
    assert set(np.round(kept / x.asnumpy(), 12)) == {0.0, round(1 / 0.75, 12)}
    with pytest.raises(ValueError, match="p must lie between 0 and 1"):
        ops.dropout(x, 1.5)


# ---------------------------------------------------------------- derivatives


def slope(f: Callable[[float], Any], x: float, h: float = 1e-5) -> np.ndarray:
    return (f(x + h).asnumpy() - f(x - h).asnumpy()) / (2 * h)


@pytest.mark.parametrize(
    "f",
    [
        lambda m: ops.normal((5,), m, 2.0, seed=1),
        lambda s: ops.normal((5,), 1.0, s, seed=1),
        lambda a: ops.uniform((5,), a, 3.0, seed=1),
        lambda b: ops.uniform((5,), -1.0, b, seed=1),
        lambda r: ops.exponential((5,), r, seed=1),
        lambda z: ops.gumbel_softmax(z * np.arange(3.0), 0.7, seed=1),
        lambda x: ops.dropout(x * np.arange(5.0), 0.4, seed=1) ** 2,
        lambda x: ops.shuffle(x**2 * np.arange(5.0), seed=1),
    ],
    ids=["mean", "stddev", "minval", "maxval", "rate", "logits", "dropout", "shuffle"],
)
def test_gradients_in_the_parameters(f: Callable[[Any], Any]) -> None:
    """The draws stand still while a parameter moves."""
    x = ad.Tensor(np.array(0.8))
    want = slope(lambda v: f(ad.Tensor(np.array(v))), 0.8)
    np.testing.assert_allclose(ad.jacfwd(f)(x), want, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(ad.jacrev(f)(x), want, rtol=1e-6, atol=1e-8)


def test_hard_gumbel_softmax_has_the_soft_derivative() -> None:
    z = ad.Tensor(np.array([0.1, 0.7, -0.3]))
    weights = np.array([1.0, 2.0, 3.0])
    for axis, logits in ((-1, z), (0, z)):
        hard = ops.gumbel_softmax(logits, hard=True, axis=axis, seed=5)
        np.testing.assert_array_equal(np.sort(hard.asnumpy().round(12)), [0, 0, 1])
    soft_gradient = ad.grad(lambda z: (ops.gumbel_softmax(z, seed=5) * weights).sum())(z)
    hard_gradient = ad.grad(lambda z: (ops.gumbel_softmax(z, hard=True, seed=5) * weights).sum())(z)
    np.testing.assert_allclose(hard_gradient, soft_gradient)


def test_draws_without_derivatives() -> None:
    x = ad.Tensor(np.array([0.2, 0.9]))
    np.testing.assert_array_equal(ad.grad(lambda p: ops.bernoulli(p) * 2.0 + p)(x), [1, 1])


def test_draws_inside_transforms() -> None:
    """A tape sees the same draws as plain evaluation; a batch draws for each example what a draw with one more axis is."""
    ad.set_seed(2)
    want = ops.randn(3, dtype=ad.float64).asnumpy()
    ad.set_seed(2)
    np.testing.assert_array_equal(ad.grad(lambda x: x * ops.randn(3, dtype=ad.float64))(ad.Tensor(np.ones(3))), want)
    ad.set_seed(2)
    want = ops.randn(4, 3, dtype=ad.float64).asnumpy()
    ad.set_seed(2)
    batch = ad.vmap(lambda x: x * ops.randn(3, dtype=ad.float64))(ad.Tensor(np.ones((4, 3))))
    np.testing.assert_array_equal(batch, want)


# ---------------------------------------------------------------- the bits themselves


def fits(counts: np.ndarray) -> bool:
    """Whether counts are those of even chances, by the chi-square test."""
    return chisquare(counts.ravel()).pvalue > 1e-4


def test_bits_are_even_and_do_not_follow_from_one_another() -> None:
    """Along one long draw, and from counter to counter in many short ones."""
    long = ops.Bits((1 << 18,))(np.int64(12345))
    short = ops.Bits((1 << 16, 4), 1)(np.arange(1 << 16) + 999)
    for bits, after in ((long[:-1], long[1:]), (short[:-1, 0], short[1:, 0]), (short[:, 0], short[:, 1])):
        for shift in (0, 29, 58):
            a, b = bits >> shift & 63, after >> shift & 63
            assert fits(np.bincount(a, minlength=64)) and fits(np.bincount(a * 64 + b, minlength=4096))


def test_every_bit_of_a_counter_changes_half_of_the_bits() -> None:
    counters = np.random.default_rng(0).integers(0, 2**62, 1000)
    before = ops.Bits((1000, 1), 1)(counters)
    for k in range(62):
        changed = np.unpackbits((ops.Bits((1000, 1), 1)(counters ^ (1 << k)) ^ before).view(np.uint8))
        assert abs(changed.mean() - 0.5) < 5 * 0.5 / 64000**0.5


def test_distributions() -> None:
    for drawn, name in ((ops.rand, "uniform"), (ops.randn, "norm")):
        for dtype in (ad.float32, ad.float64):
            x = drawn(100_000, dtype=dtype, seed=1).asnumpy().astype(float)
            assert kstest(x, name).pvalue > 1e-4
    assert kstest(ops.exponential((100_000,), seed=2).asnumpy().astype(float), "expon").pvalue > 1e-4
    assert kstest(ops.gumbel((100_000,), seed=3).asnumpy().astype(float), "gumbel_r").pvalue > 1e-4
