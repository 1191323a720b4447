"""x[i] and x[i] = v against NumPy: values, gradients, tangents, batches, and what is said of an index that does not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays as st_arrays

import adjoint as ad
from adjoint import ops
from adjoint.core.errors import AdjointError, IndexingError

# What NumPy before 2.3 says of its own booleans as an index.
pytestmark = pytest.mark.filterwarnings("ignore:In future, it will be an error for 'np.bool':DeprecationWarning")

SHAPE = (3, 4, 2)
X = np.arange(24.0).reshape(SHAPE) / 7 + 0.1
ROWS, COLUMNS = np.array([2, 0, 2]), np.array([[1], [-1]])
MASK = np.array([[True, False, False, True], [False, False, True, False], [True, True, False, False]])

INDICES: list[Any] = [
    # integers and slices
    0, -1, (1, 2), (1, 2, 1), (-3, -4, -2), np.int64(1), (np.int32(1), 2), np.array(2),
    slice(None), slice(1, None), slice(None, -1), slice(None, None, 2), slice(None, None, -1), slice(2, 0, -1),
    slice(5, 9), slice(-100, 100), slice(2, 1), (slice(1, 3), slice(None, None, -2)), (0, slice(None), 1),
    (slice(None), slice(None), 0), (), ...,
    # new axes and the ellipsis
    None, (None, 0), (0, None), (None, None), (slice(None), None, 1), (..., 0), (0, ...), (1, ..., 0), (..., None),
    (None, ..., slice(1, 2)), (0, 1, 1, ...), (..., slice(None, None, -1)),
    # one array of integers
    ROWS, [2, 0, 2], [-1], [], [[]], [[0, 1], [1, 2]], (slice(None), [3, 0]), (slice(None), slice(None), [1, 1]),
    (..., [1, 0, 1]), (None, [1]), ([1], None), (slice(None), None, [1, 2]), (slice(None, None, -1), [1, 2]), COLUMNS,
    (slice(1, 3), slice(None), [1, 1, 0]), np.array([0, 1], "uint8"), np.zeros((0, 2), int),
    # several arrays side by side
    (ROWS, [1, 3, 0]), (ROWS, COLUMNS), ([0, 1], [1, 2], [0, 1]), (slice(None), [0, 1], [1, 0]),
    (slice(None), COLUMNS, [0, 1, 1]), ([0, 1], [1, 2], slice(None, None, -1)), ([0], [0, 1]), (..., [0, 1], [1, 0]),
    # arrays and integers: a number is an array without axes
    (0, [1, 2]), ([1, 2], 0), (slice(None), [1, 2], 0), (slice(None), 0, [1, 0]), (1, slice(None), [1, 0]), (1, [2, 3], 0),
    # arrays apart: their axes come first
    ([0, 1], slice(None), [0, 1]), ([0, 2], ..., 1), (0, ..., [0, 1]), (ROWS, None, [1, 3, 0]), (COLUMNS, slice(1, 3), 0),
    (slice(None), [0, 1], ..., [0, 1]), ([0, 1], ..., [1, 2], slice(None)), (None, ROWS, None, [0, 1, 2]),
    # masks
    X > 1.5, MASK, MASK[:, 0], (slice(None), MASK[0]), (slice(None), slice(None), [True, False]), (MASK, 0), (MASK, [0, 1, 0, 1, 0]),
    (slice(None), MASK[0], 1), ([0, 1], MASK[0]), (..., MASK[0], slice(None)), (MASK[:, 0], slice(None), [0, 1]),
    np.zeros(SHAPE, bool), np.ones(SHAPE, bool), np.zeros(3, bool), [True, False, True], (MASK[:, 0], None),
    # masks without axes
    True, False, *([np.True_] if np.lib.NumpyVersion(np.__version__) >= "2.3.0" else []), np.array(True), (True, 0), (0, True), (slice(None), True), (True, [0, 1]), (True, True, None),
    (slice(None), True, [0, 1]), (True, slice(None), [0, 1]), (..., False),
]  # fmt: skip


def shown(index: Any) -> str:
    return str(index).replace("\n", "").replace("slice", "").replace("None, None, None", ":")[:60]


def tensors(index: Any) -> Any:
    """The same index with Tensors in place of arrays."""
    if isinstance(index, tuple):
        return tuple(map(tensors, index))
    return ad.Tensor(index) if isinstance(index, np.ndarray) else index


def normal(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    return np.asarray(np.random.default_rng(seed).normal(size=shape))


def scattered(index: Any, g: np.ndarray, shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    """The transpose of taking x[index]."""
    total = np.zeros(shape)
    np.add.at(total, index, g)
    return total


def winners(index: Any, shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    """1 for values that stay after x[index] = values, 0 for those that a later one replaces."""
    part = np.zeros(shape)[index].shape
    order = np.arange(int(np.prod(part)), dtype=float).reshape(part)
    kept = np.full(shape, -1.0)
    kept[index] = order
    return np.asarray(kept[index] == order, float)


def put(x: np.ndarray, index: Any, v: Any) -> np.ndarray:
    y = x.copy()
    y[index] = v
    return y


def assigned(index: Any) -> Any:
    def f(x: Any, v: Any) -> Any:
        y = x.copy()
        y[index] = v
        return y

    return f


def check_get(x: np.ndarray, index: Any) -> None:
    """Value, gradient, tangent and second derivative of x[index]."""
    want = np.asarray(x[index])
    np.testing.assert_array_equal(ad.Tensor(x)[index], want)
    g, t = normal(want.shape), normal(x.shape, 1)
    _, pull = ad.vjp(lambda x: x[index], ad.Tensor(x))
    np.testing.assert_allclose(pull(g)[0], scattered(index, g, x.shape), rtol=1e-12)
    np.testing.assert_array_equal(ad.jvp(lambda x: x[index], ad.Tensor(x), ad.Tensor(t))[1], t[index])
    second = ad.jvp(ad.grad(lambda x: (x[index] ** 3).sum()), ad.Tensor(x), ad.Tensor(t))[1]
    np.testing.assert_allclose(second, scattered(index, 6 * x[index] * t[index], x.shape), rtol=1e-12)


def check_set(x: np.ndarray, index: Any, v: np.ndarray) -> None:
    """Value, gradients and tangent of x[index] = v."""
    f, y = assigned(index), put(x, index, v)
    np.testing.assert_array_equal(f(ad.Tensor(x), ad.Tensor(v)), y)
    g, t, s = normal(x.shape), normal(x.shape, 1), normal(v.shape, 2)
    _, pull = ad.vjp(f, ad.Tensor(x), ad.Tensor(v))
    by_x, by_v = pull(g)
    np.testing.assert_array_equal(by_x, put(g, index, 0.0))
    # Of several values for one place only the last has an influence.
    part = winners(index, x.shape) * g[index]
    lead = tuple(range(part.ndim - v.ndim)) if part.ndim > v.ndim else ()
    part = part.sum(lead).reshape((1,) * max(v.ndim - part.ndim, 0) + part.shape[len(lead) :])
    stretched = tuple(a for a, (n, m) in enumerate(zip(v.shape, part.shape, strict=True)) if n != m)
    np.testing.assert_allclose(by_v, part.sum(stretched, keepdims=True), rtol=1e-12, atol=1e-12)
    moved = ad.jvp(f, (ad.Tensor(x), ad.Tensor(v)), (ad.Tensor(t), ad.Tensor(s)))[1]
    np.testing.assert_array_equal(moved, put(t, index, s))


@pytest.mark.parametrize("index", INDICES, ids=shown)
def test_getitem(index: Any) -> None:
    check_get(X, index)
    np.testing.assert_array_equal(ad.Tensor(X)[tensors(index)], X[index])
    np.testing.assert_array_equal(ops.getitem(X, index), X[index])


@pytest.mark.parametrize("index", INDICES, ids=shown)
def test_setitem(index: Any) -> None:
    part = X[index].shape
    check_set(X, index, normal(part, 3))
    check_set(X, index, normal((), 3))
    if part and not (
        isinstance(index, np.ndarray) and index.shape == SHAPE
    ):  # NumPy refuses it for one mask of all axes
        check_set(X, index, normal((1, *part), 3))
    if part:
        check_set(X, index, normal((*part[:-1], 1), 3))
        check_set(X, index, normal(part[1:], 3))
    y = ad.Tensor(X)
    y[tensors(index)] = 5
    np.testing.assert_array_equal(y, put(X, index, 5))


@pytest.mark.parametrize("index", INDICES, ids=shown)
def test_vmap(index: Any) -> None:
    """Batched input, batched values, or both."""
    batch = normal((2, *SHAPE))
    want = np.stack([x[index] for x in batch])
    np.testing.assert_array_equal(ad.vmap(lambda x: x[index])(ad.Tensor(batch)), want)
    last = ad.vmap(lambda x: x[index], in_axes=-1)(ad.Tensor(np.moveaxis(batch, 0, -1)))
    np.testing.assert_array_equal(last, want)
    values = normal(want.shape, 1)
    both = ad.vmap(assigned(index))(ad.Tensor(batch), ad.Tensor(values))
    np.testing.assert_array_equal(both, np.stack([put(x, index, v) for x, v in zip(batch, values, strict=True)]))
    alone = ad.vmap(lambda v: assigned(index)(ad.Tensor(X), v))(ad.Tensor(values))
    np.testing.assert_array_equal(alone, np.stack([put(X, index, v) for v in values]))
    shared = ad.vmap(lambda x: assigned(index)(x, ad.Tensor(values[0])))(ad.Tensor(batch))
    np.testing.assert_array_equal(shared, np.stack([put(x, index, values[0]) for x in batch]))
    grads = ad.vmap(ad.grad(lambda x: (x[index] ** 2).sum()))(ad.Tensor(batch))
    np.testing.assert_allclose(grads, np.stack([scattered(index, 2 * x[index]) for x in batch]), rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int32", "bool", "complex64"])
@pytest.mark.parametrize("index", [1, (slice(None), [0, 3, 3]), MASK, ([0, 1], ..., [0, 1]), True], ids=shown)
def test_dtypes(index: Any, dtype: str) -> None:
    x = X.astype(getattr(ad, dtype, dtype))
    y = ad.Tensor(x)
    assert y[index].dtype == x.dtype
    np.testing.assert_array_equal(y[index].asnumpy(), x[index])
    y[index] = ad.Tensor(x)[index] * 0
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(y.asnumpy(), put(x, index, 0))
    if x.dtype.kind != "i" and dtype != "bool":
        assert ad.grad(lambda x: ops.real(x[index]).sum())(ad.Tensor(x)).dtype == x.dtype


@pytest.mark.parametrize(
    "index", [[], slice(None), (slice(None), [0, 2, 2]), np.zeros((0, 3), bool), (..., 1), None], ids=shown
)
def test_an_axis_without_elements(index: Any) -> None:
    x = np.zeros((0, 3))
    check_get(x, index)
    check_set(x, index, np.ones(x[index].shape))


# ---------------------------------------------------------------- indices made at random


def axis_items(n: int, lead: tuple[int, ...]) -> st.SearchStrategy[Any]:
    """What can index an axis of size n; arrays broadcast to `lead`."""
    bound = st.none() | st.integers(-n - 2, n + 2)
    slices = st.builds(slice, bound, bound, st.sampled_from([None, 1, 2, 3, -1, -2]))
    shapes = st.tuples(*(st.sampled_from([1, m]) for m in lead)).flatmap(
        lambda shape: st.integers(0, len(shape)).map(lambda k: shape[k:])
    )
    arrays = shapes.flatmap(lambda shape: st_arrays(np.int64, shape, elements=st.integers(-n, n - 1)))
    masks = st_arrays(np.bool_, n)
    return st.integers(-n, n - 1) | slices | slices | arrays | arrays | masks


@st.composite
def indexed_shapes(draw: st.DrawFn) -> tuple[tuple[int, ...], Any]:
    """A shape, and an index that NumPy takes for it, or refuses because its arrays do not broadcast."""
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    lead = draw(st.sampled_from([(), (1,), (3,), (2, 3)]))
    front = draw(st.integers(0, len(shape)))
    back = draw(st.integers(0, len(shape) - front))
    items = [draw(axis_items(n, lead)) for n in (*shape[:front], *shape[len(shape) - back :])]
    if back or draw(st.booleans()):
        items.insert(front, ...)
    for _ in range(draw(st.integers(0, 2))):
        items.insert(draw(st.integers(0, len(items))), draw(st.sampled_from([None, None, True])))
    return shape, tuple(items)


@settings(max_examples=160, deadline=None)
@given(indexed_shapes())
def test_random_indices(case: tuple[tuple[int, ...], Any]) -> None:
    """Whatever NumPy makes of an index, so do we; what it refuses, we refuse."""
    shape, index = case
    x = normal(shape)
    try:
        part = x[index].shape
    except IndexError:
        with pytest.raises((IndexError, ValueError)):
            ad.Tensor(x)[index]
        return
    check_get(x, index)
    check_set(x, index, normal(part, 3))


# ---------------------------------------------------------------- duplicates, indices that vary, programs


def test_of_values_for_one_place_the_last_stays() -> None:
    def f(v: Any) -> Any:
        x = ad.Tensor(np.zeros(3))
        x[[0, 1, 1, 0]] = v
        return x

    v = ad.Tensor(np.array([1.0, 2.0, 3.0, 4.0]))
    np.testing.assert_array_equal(f(v), [4.0, 3.0, 0.0])
    np.testing.assert_array_equal(ad.grad(lambda v: (f(v) ** 2).sum())(v), [0.0, 0.0, 6.0, 8.0])
    np.testing.assert_array_equal(ad.jacfwd(f)(v), ad.jacrev(f)(v))


def test_an_index_that_differs_between_examples() -> None:
    x, rows, places = normal((2, *SHAPE)), np.array([[0, 2], [1, 1]]), np.array([3, 0])
    got = ad.vmap(lambda x, i, k: x[i, :, 0] * x[1, k, 1])(*map(ad.Tensor, (x, rows, places)))
    np.testing.assert_array_equal(got, [v[i, :, 0] * v[1, k, 1] for v, i, k in zip(x, rows, places, strict=True)])
    shared = ad.vmap(lambda i: ad.Tensor(X)[:, i])(ad.Tensor(places))
    np.testing.assert_array_equal(shared, np.moveaxis(X[:, places], 1, 0))
    moved = ad.vmap(lambda i: assigned((slice(None), i))(ad.Tensor(X), 9.0))(ad.Tensor(places))
    np.testing.assert_array_equal(moved, [put(X, (slice(None), i), 9.0) for i in places])


def test_a_mask_that_differs_between_examples_is_refused() -> None:
    with pytest.raises(ValueError, match="differ within a batch"):
        ad.vmap(lambda x: x[x > 0])(ad.Tensor(X))


def test_tensors_within_an_index() -> None:
    x, two = ad.Tensor(X), ad.Tensor(2)
    np.testing.assert_array_equal(x[two], X[2])
    np.testing.assert_array_equal(x[: ad.Tensor(1), two], X[:1, 2])
    np.testing.assert_array_equal(x[[two, ad.Tensor(0)]], X[[2, 0]])
    np.testing.assert_array_equal(x[two, [0, 1]], X[2, [0, 1]])
    np.testing.assert_array_equal(x[x[0, 0, 0] > 0], X[None])


def test_a_loop_that_fills_an_array() -> None:
    """Assignments in a loop, some over one another, and reads between them."""

    def powers(x: Any) -> Any:
        y = ops.zeros((4,), ad.float64)
        y[0] = x
        for i in range(1, 4):
            y[i] = y[i - 1] * x
        y[1:3] = y[1:3] + y[3]
        return y

    want = [1.0, 2 * 1.5 + 4 * 1.5**3, 3 * 1.5**2 + 4 * 1.5**3, 4 * 1.5**3]
    np.testing.assert_allclose(ad.jacfwd(powers)(ad.Tensor(np.array(1.5))), want)
    np.testing.assert_allclose(ad.jacrev(powers)(ad.Tensor(np.array(1.5))), want)


def test_assignment_is_seen_in_views_alone() -> None:
    x = ad.Tensor(X)
    row, copy, array = x[0], x.copy(), np.asarray(x)
    x[0] = 0.0
    np.testing.assert_array_equal(row, 0 * X[0])
    np.testing.assert_array_equal(copy, X)
    np.testing.assert_array_equal(array, X)
    np.testing.assert_array_equal(x, put(X, 0, 0.0))


def test_assigning_a_list_of_tensors() -> None:
    def f(a: Any) -> Any:
        x = ops.zeros((2, 2), ad.float64)
        x[0] = [a, 2 * a]
        x[:, 1] = (1.0, a * a)
        return x

    np.testing.assert_array_equal(ad.jacfwd(f)(ad.Tensor(np.array(3.0))), [[1.0, 0.0], [0.0, 6.0]])


# ---------------------------------------------------------------- refusals

REFUSED: list[tuple[Any, str]] = [
    (3, r"index \[3\] does not fit the shape \(3, 4, 2\)"),
    ((0, -5), r"index \[0, -5\] does not fit the shape \(3, 4, 2\)"),
    ((0, 0, 0, 0), r"index \[0, 0, 0, 0\] does not fit the shape \(3, 4, 2\)"),
    ((slice(None), [0, 4]), r"index \[:, int64\[2\]\] does not fit the shape \(3, 4, 2\): 4 is outside axis 1 of size 4"),
    ((..., [0, 1], [0, -3]), r"\(3, 4, 2\): -3 is outside axis 2 of size 2"),
    ((5, [0, 1]), r"\(3, 4, 2\): 5 is outside axis 0 of size 3"),
    (([0], 0, 0, 0), r"\(3, 4, 2\): it names 4 axes"),
    ([True, False], r"\(3, 4, 2\): the mask has 2 elements along axis 0 of size 3"),
    (MASK.T, r"\(3, 4, 2\): the mask has 4 elements along axis 0 of size 3"),
    ((..., ...), r"`\.\.\.` once"),
    (1.0, r"1\.0 cannot be an index; use integers"),
    ([0.0, 1.0], r"\[0\.0, 1\.0\] cannot be an index"),
    ("name", "'name' cannot be an index"),
    (np.zeros(2), "a Tensor of float64 cannot be an index; cast it to int64"),
    (slice(0.5, 2), r"a slice is bounded by integers, not by 0\.5"),
    ([[0], [1, 2]], "rows of different lengths"),
]  # fmt: skip


@pytest.mark.parametrize(("index", "words"), REFUSED, ids=[shown(i) for i, _ in REFUSED])
def test_errors(index: Any, words: str) -> None:
    """An IndexError that names the index, the shape, and the user's line, in every mode, for reading and writing."""
    here = "called at test_indexing.py"
    for f in (lambda x: x[index], lambda x: assigned(index)(x, 0.0)):
        for run in (f, ad.grad(lambda x, f=f: f(x).sum()), ad.vmap(f, in_axes=0)):
            x = ad.Tensor(X if run is f or "vmap" not in run.__name__ else X[None])
            with pytest.raises(IndexError, match=words) as caught:
                run(x)
            assert here in str(caught.value)
            assert isinstance(caught.value, IndexingError)


def test_values_that_do_not_fit() -> None:
    x = ad.Tensor(X)
    with pytest.raises(ValueError, match=r"called at test_indexing\.py.*x\[0\] = np\.zeros\(3\)"):
        x[0] = np.zeros(3)
    with pytest.raises(ValueError, match=r"values of shape \(3,\) do not fill the indexed part of shape \(2, 4, 2\)"):
        x[[0, 1]] = np.zeros(3)
    with pytest.raises(ValueError, match="do not broadcast"):
        x[[0, 1], [0, 1, 2]]


def test_a_leaf_is_not_assigned_to() -> None:
    x = ad.Tensor(X, requires_grad=True)
    with pytest.raises(AdjointError, match="Write to a copy"):
        x[0] = 0.0
