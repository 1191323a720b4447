"""Reductions by segments, logcumsumexp, top-k by selection, and cubic interpolation."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops

RNG = np.random.default_rng(3)
IDS = np.array([2, 0, 2, 3, 0, 2])
DATA = RNG.normal(size=(6, 2))
BY = {
    "sum": (ops.segment_sum, np.sum, 0.0),
    "mean": (ops.segment_mean, np.mean, 0.0),
    "max": (ops.segment_max, np.max, -np.inf),
    "min": (ops.segment_min, np.min, np.inf),
    "prod": (ops.segment_prod, np.prod, 1.0),
}


def by_hand(reduce, nothing, data, ids, count):
    rows = [data[ids == i] for i in range(count)]
    return np.stack([reduce(r, axis=0) if len(r) else np.full(data.shape[1:], nothing) for r in rows])


@pytest.mark.parametrize("name", BY)
@pytest.mark.parametrize("data", [DATA, DATA[:, 0], DATA.astype(np.float32), RNG.normal(size=(6, 2, 3))], ids=str)
def test_values(name, data):
    function, reduce, nothing = BY[name]
    got = function(ad.Tensor(data), IDS, 5)
    np.testing.assert_allclose(got, by_hand(reduce, nothing, data, IDS, 5), rtol=1e-6)
    assert got.dtype == data.dtype
    assert function(ad.Tensor(data), ad.Tensor(IDS)).shape == (4, *data.shape[1:])


@pytest.mark.parametrize("name", BY)
def test_derivatives(name):
    function = BY[name][0]
    weights = RNG.normal(size=(4, 2))

    def f(x):
        y = function(x, IDS)
        return ops.sum(ops.where(ops.isfinite(y), y, 0.0) * weights)

    ad.check_grads(f, DATA)
    ad.check_grads(lambda x: ops.sum(ad.grad(f)(x) * DATA[::-1]), DATA)
    np.testing.assert_allclose(ad.vmap(ad.grad(f))(np.stack([DATA, 2 * DATA]))[1], ad.grad(f)(2 * DATA))


def test_segments_in_a_compiled_function():
    def f(x, ids):
        return [ops.sum(ops.tanh(BY[name][0](x, ids, 5)) * DATA[:5]) for name in BY]

    def total(x, ids):
        return sum(f(x, ids)[:2]) + f(x, ids)[2] * f(x, ids)[3] + f(x, ids)[4]

    ids = ad.Tensor(IDS)
    np.testing.assert_allclose(ad.jit(f)(DATA, ids), f(ad.Tensor(DATA), IDS), rtol=1e-12)
    np.testing.assert_allclose(ad.jit(ad.grad(total))(DATA, ids), ad.grad(total)(DATA, IDS), rtol=1e-10, atol=1e-12)
    with pytest.raises(ad.ArgumentError, match="num_segments must be given"):
        ad.jit(lambda x, ids: ops.segment_sum(x, ids))(DATA, ids)
    for name, (function, *_) in BY.items():
        compiled = ad.jit(lambda x, ids, function=function: function(x, ids, 5))
        for wrong in (-1, -5, -6, 5, 90):
            with pytest.raises(ad.IndexingError, match=f"segment_{name}: the segment {wrong} is not one of the 5"):
                compiled(DATA, ad.Tensor([0, wrong, 0, 0, 0, 0]))


def test_ids_may_differ_within_a_batch():
    ids = np.array([IDS, IDS[::-1]])
    for name, (function, reduce, nothing) in BY.items():
        got = ad.vmap(lambda i, function=function: function(DATA, i, 4))(ids)
        np.testing.assert_allclose(got[1], by_hand(reduce, nothing, DATA, IDS[::-1], 4), err_msg=name)


def test_ties_zeros_and_infinities():
    x = np.array([1.0, 1.0, 0.0, -np.inf, 1.0])
    ids = [0, 0, 1, 2, 0]
    np.testing.assert_allclose(ad.grad(lambda x: ops.segment_max(x, ids)[0])(x), [1 / 3, 1 / 3, 0, 0, 1 / 3])
    np.testing.assert_allclose(ops.segment_max(ad.Tensor(x), ids), [1.0, 0.0, -np.inf])
    np.testing.assert_allclose(
        ad.grad(lambda x: ops.segment_prod(x, [0, 0, 0])[0])(np.array([0.0, 2.0, 3.0])), [6, 0, 0]
    )
    assert np.isnan(ops.segment_max(ad.Tensor([np.nan, 1.0]), [0, 0])[0].item())
    whole = ad.Tensor(np.array([3, -7], np.int8))
    assert ops.segment_max(whole, [1, 1]).tolist() == [-128, 3] and ops.segment_min(whole, [1, 1]).tolist() == [127, -7]
    for function in (ops.segment_sum, ops.segment_max, ops.segment_prod, ops.segment_mean):
        assert function(ad.Tensor(np.zeros((0, 2))), np.zeros(0, int), 2).shape == (2, 2)


def test_wrong_segments_are_refused():
    for ids, words in (
        ([0, 5], "the segment 5 is not one of the 2"),
        ([0, -1], "the segment -1"),
        ([0], "for each row"),
    ):
        with pytest.raises(ad.AdjointError, match=words):
            ops.segment_sum(ad.Tensor([1.0, 2.0]), ids, 2)
    with pytest.raises(ad.DtypeError, match="must be integers, not float64"):
        ops.segment_sum(ad.Tensor([1.0]), np.array([0.5]))


# ---------------------------------------------------------------- logcumsumexp


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_logcumsumexp(axis):
    x = RNG.normal(size=(5, 3)) * 10
    np.testing.assert_allclose(ops.logcumsumexp(ad.Tensor(x), axis), np.logaddexp.accumulate(x, axis))
    f = (
        ad.jit(lambda x: ops.sum(ops.logcumsumexp(x, axis) * x))
        if axis == 0
        else lambda x: ops.sum(x.logcumsumexp(axis) * x)
    )
    ad.check_grads(f, x)
    big = ad.Tensor([1e4, -1e4, 1e4])
    np.testing.assert_allclose(ops.logcumsumexp(big, 0), [1e4, 1e4, 1e4 + np.log(2)])
    assert ops.logcumsumexp(ad.Tensor(np.zeros((0, 2))), 0).shape == (0, 2)
    masked = np.array([-np.inf, -np.inf, 2.0, -np.inf])
    np.testing.assert_array_equal(ops.logcumsumexp(ad.Tensor(masked), 0), [-np.inf, -np.inf, 2.0, 2.0])
    np.testing.assert_allclose(ad.grad(lambda x: ops.logcumsumexp(x, 0)[2:].sum())(masked), [0, 0, 2, 0])


# ---------------------------------------------------------------- top-k


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("n", [5, 300])
def test_topk_by_selection_is_that_by_sorting(n, largest):
    from adjoint.ops.along_axis import ArgSort, ArgTopK

    for x in (
        RNG.integers(0, 9, (n, 3)).astype(float),  # ties
        RNG.integers(-9, 9, (n, 3)),
        np.where(RNG.random((n, 3)) < 0.1, np.nan, RNG.normal(size=(n, 3))),
        np.full((n, 3), np.inf),
        RNG.random((n, 3)) < 0.5,
    ):
        for axis, array in ((0, x), (1, x.T.copy())):
            for k in (0, 1, 4):
                got = ArgTopK(axis, k, largest).eval(np, array)
                want = np.take(ArgSort(axis, largest).eval(np, array), range(k), axis)
                np.testing.assert_array_equal(got, want)
                assert got.dtype == np.int64


def test_topk_does_not_sort_everything(monkeypatch):
    sizes = []
    argsort = np.argsort
    monkeypatch.setattr(np, "argsort", lambda x, *a, **k: sizes.append(np.shape(x)) or argsort(x, *a, **k))
    values, places = ops.topk(ad.Tensor(RNG.normal(size=(2, 10_000))), 3)
    assert sizes == [(2, 3)] and values.shape == places.shape == (2, 3)


def test_topk_in_both_modes():
    x = RNG.normal(size=(2, 400))
    w = RNG.normal(size=(2, 3))
    f = lambda x: ops.sum(ops.topk(x, 3)[0] ** 2 * w)
    want = np.zeros_like(x)
    order = np.argsort(-x, 1)[:, :3]
    np.put_along_axis(want, order, 2 * np.take_along_axis(x, order, 1) * w, 1)
    np.testing.assert_allclose(ad.grad(f)(x), want)
    np.testing.assert_allclose(ad.jit(ad.grad(f))(x), want)
    np.testing.assert_array_equal(ad.jit(lambda x: ops.topk(x, 3)[1])(x), order)
    np.testing.assert_array_equal(ad.vmap(lambda r: ops.topk(r, 3)[1])(x), order)


# ---------------------------------------------------------------- cubic interpolation


def kernel(d, a=-0.75):
    d = abs(d)
    return (
        (a + 2) * d**3 - (a + 3) * d**2 + 1 if d <= 1 else a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a if d < 2 else 0.0
    )


def inside(i, n, mode):
    if mode == "border":
        return min(max(i, 0), n - 1)
    if mode == "reflection":  # at the ends of the axis, half an element beyond the outer ones
        i = i % (2 * n)
        return 2 * n - 1 - i if i >= n else i
    return i if 0 <= i < n else None


def read(image, y, x, mode):
    """A point of an image by its sixteen neighbours, one by one."""
    total = 0.0
    for i in range(int(np.floor(y)) - 1, int(np.floor(y)) + 3):
        for j in range(int(np.floor(x)) - 1, int(np.floor(x)) + 3):
            at = inside(i, image.shape[0], mode), inside(j, image.shape[1], mode)
            total += kernel(y - i) * kernel(x - j) * (0.0 if None in at else image[at])
    return total


@pytest.mark.parametrize("align", [False, True])
def test_bicubic_resize(align):
    image = RNG.normal(size=(4, 5))
    got = ops.interpolate(ad.Tensor(image[None, None]), (7, 3), mode="bicubic", align_corners=align)
    at = [
        np.arange(m) * (n - 1) / (m - 1) if align else (np.arange(m) + 0.5) * n / m - 0.5 for n, m in ((4, 7), (5, 3))
    ]
    want = [[read(image, y, x, "border") for x in at[1]] for y in at[0]]
    np.testing.assert_allclose(got[0, 0], want, atol=1e-12)
    f = lambda x: ops.sum(ops.interpolate(x, (7, 3), mode="bicubic", align_corners=align) ** 2)
    ad.check_grads(f if align else ad.jit(f), image[None, None])
    assert ops.interpolate(ad.Tensor(image[None, None]), scale_factor=2, mode="bicubic").shape == (1, 1, 8, 10)
    with pytest.raises(ad.ArgumentError, match="bicubic"):
        ops.interpolate(ad.Tensor(np.ones((1, 1, 4))), 2, mode="bicubic")


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_grid_sample_bicubic(padding):
    image, points = RNG.normal(size=(4, 5)), RNG.uniform(-1.4, 1.4, (6, 2))
    got = ops.grid_sample(ad.Tensor(image[None, None]), ad.Tensor(points[None, None]), "bicubic", padding)
    want = [read(image, ((y + 1) * 4 - 1) / 2, ((x + 1) * 5 - 1) / 2, padding) for x, y in points]
    np.testing.assert_allclose(got[0, 0, 0], want, atol=1e-12)
    ad.check_grads(
        lambda x: ops.sum(ops.grid_sample(x, points[None, None], "bicubic", padding) ** 2), image[None, None]
    )
    ad.check_grads(
        lambda p: ops.sum(ops.grid_sample(image[None, None], p, "bicubic", padding) ** 2), points[None, None]
    )
    with pytest.raises(ad.ArgumentError, match="two axes in space"):
        ops.grid_sample(np.ones((1, 1, 2, 2, 2)), np.zeros((1, 1, 1, 1, 3)), "bicubic")


def test_a_negative_number_of_segments_is_refused():
    with pytest.raises(ad.ArgumentError, match="num_segments is -1, and must be 0 or more"):
        ops.segment_sum(ad.Tensor([1.0]), [0], -1)
