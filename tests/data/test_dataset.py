"""Datasets: order, reproducible shuffles, batches, errors from the thread that reads ahead."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import adjoint as ad
from adjoint.data import ArrayDataset, GeneratorDataset


def values(dataset):
    return [row[0].tolist() for row in dataset]


def numbers(n=10):
    return ArrayDataset(np.arange(n), np.arange(n) ** 2)


def test_order_is_kept_and_columns_stay_together():
    seen = [(int(x), int(y)) for x, y in numbers()]
    assert seen == [(k, k * k) for k in range(10)]


def test_samples_are_tensors_with_the_dtype_of_the_array():
    ((x, y), *_) = ArrayDataset(np.zeros((2, 3), "float32"), np.zeros(2, "int32"))
    assert isinstance(x, ad.Tensor) and (x.dtype, y.dtype) == ("float32", "int32") and x.shape == (3,)


def test_changing_a_batch_leaves_the_data_alone():
    data = np.zeros((4, 2))
    for (x,) in ArrayDataset(data).batch(2):
        x[0] = 5.0
    assert not data.any()


@pytest.mark.parametrize(
    "n, drop, sizes", [(4, False, [4, 4, 2]), (4, True, [4, 4]), (10, False, [10]), (99, True, [])]
)
def test_batches(n, drop, sizes):
    for dataset in (numbers(), GeneratorDataset(lambda: ((k, k) for k in range(10)), 10), numbers().shuffle(3)):
        batched = dataset.batch(n, drop)
        assert [len(x.asnumpy()) for x, _ in batched] == sizes
        assert len(batched) == len(sizes)


def test_shuffle_is_a_permutation_another_one_each_pass_and_repeats_with_its_seed():
    one, two, other = (numbers(50).shuffle(seed) for seed in (7, 7, 8))
    first, second = values(one), values(one)
    assert sorted(first) == list(range(50)) and first != second
    assert [values(two), values(two)] == [first, second]
    assert values(other) != first
    assert all(int(y) == int(x) ** 2 for x, y in one)


def test_shuffled_batches_have_the_order_of_shuffled_samples():
    singly = values(numbers().shuffle(5))
    assert [x for batch in values(numbers().shuffle(5).batch(3)) for x in batch] == singly
    through_a_generator = GeneratorDataset(list(zip(range(10), range(10), strict=True))).shuffle(5)
    assert values(through_a_generator) == singly


def test_shuffle_without_a_seed_follows_set_seed():
    def run():
        ad.set_seed(3)
        return values(numbers(30).shuffle())

    assert run() == run()
    ad.set_seed(4)
    assert values(numbers(30).shuffle()) != run()


def test_a_buffer_mixes_nearby_samples_only():
    seen = values(numbers(100).shuffle(1, buffer_size=10))
    assert sorted(seen) == list(range(100)) and seen != sorted(seen)
    assert all(place >= value - 10 for place, value in enumerate(seen))


def test_map_of_all_columns_and_of_one():
    assert [(int(a), int(b)) for a, b in numbers(3).map(lambda x, y: (y, x))] == [(0, 0), (1, 1), (4, 2)]
    assert [int(b) for a, b in numbers(3).map(lambda y: -y, column=1)] == [0, -1, -4]
    assert [x.shape for (x,) in numbers(4).batch(2).map(lambda x, y: x + y)] == [(2,), (2,)]


def test_repeat_and_take():
    assert values(numbers(2).repeat(3)) == [0, 1] * 3 and len(numbers(2).repeat(3)) == 6
    assert values(numbers(3).repeat().take(7)) == [0, 1, 2, 0, 1, 2, 0]
    assert len(numbers(3).repeat().take(7)) == 7
    with pytest.raises(TypeError, match="no length"):
        len(numbers().repeat())
    assert list(GeneratorDataset(lambda: iter(())).repeat()) == []


def test_repeated_shuffles_differ():
    seen = values(numbers(20).shuffle(0).repeat(2))
    assert sorted(seen[:20]) == sorted(seen[20:]) and seen[:20] != seen[20:]


def test_split_covers_everything_once():
    left, right = numbers(10).split(0.7, seed=1)
    assert sorted(values(left) + values(right)) == list(range(10)) and len(left) == 7
    again, _ = numbers(10).split(0.7, seed=1)
    assert values(again) == values(left)


def test_prefetch_keeps_the_order_and_really_reads_ahead():
    drawn = []

    def source():
        for k in range(20):
            drawn.append(k)
            yield k

    rows = iter(GeneratorDataset(source).prefetch(4))
    assert int(next(rows)[0]) == 0
    deadline = time.monotonic() + 5
    while len(drawn) < 5 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert 5 <= len(drawn) <= 6
    assert [int(x) for (x,) in rows] == list(range(1, 20))


def test_errors_of_the_thread_surface_after_the_samples_before_them():
    def source():
        yield 1
        yield 2
        raise KeyError("broken sample")

    seen = []
    with pytest.raises(KeyError, match="broken sample"):
        for (x,) in GeneratorDataset(source).prefetch(1):
            seen.append(int(x))
    assert seen == [1, 2]


def test_a_loop_that_is_left_early_ends_the_thread():
    before = threading.active_count()
    for _ in GeneratorDataset(lambda: iter(range(10**9))).prefetch(2):
        break
    deadline = time.monotonic() + 5
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() == before


@pytest.mark.parametrize(
    "make, error, words",
    [
        (lambda: ArrayDataset(), ValueError, "at least one"),
        (lambda: ArrayDataset([1, 2], [1]), ValueError, r"\(2,\), \(1,\)"),
        (lambda: ArrayDataset(1.0), ValueError, "first axes"),
        (lambda: ArrayDataset(["a"]), ValueError, "numbers"),
        (lambda: ArrayDataset(np.array([None])), ValueError, "numbers"),
        (lambda: numbers().batch(0), ValueError, "at least 1"),
        (lambda: numbers().batch(2.5), ValueError, "integer"),
        (lambda: numbers().prefetch(0), ValueError, "at least 1"),
        (lambda: numbers().split(1.5), ValueError, "between 0 and 1"),
        (lambda: GeneratorDataset(iter([1])), ValueError, "only once"),
        (lambda: len(GeneratorDataset(lambda: iter([1]))), TypeError, "not known"),
        (lambda: list(GeneratorDataset([np.zeros(2), np.zeros(3)]).batch(2)), ValueError, "column 0 have shapes"),
        (lambda: list(GeneratorDataset([(1, 2), (1,)]).batch(2)), ValueError, "columns"),
    ],
)
def test_refusals(make, error, words):
    with pytest.raises(error, match=words):
        make()
