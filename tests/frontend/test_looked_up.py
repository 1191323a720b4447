"""Loops that look numbers up in arrays and lists that do not change stay loops of the graph."""

from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.graph.control import Loop

force = np.sin(np.arange(40) / 10.0)
single, whole, flags = force.astype(np.float32), np.arange(40) % 7, force > 0.3
table = np.stack([force, 2 * force], axis=1)
large = np.cos(np.arange(6000.0))  # one that is an input of the graph
steps, counts, pair = force.tolist(), whole.tolist(), tuple(force.tolist())


def as_float(x: Any) -> Any:
    for t in range(40):
        x = x * 0.9 + float(force[t])
    return x


def in_single_precision(x: Any) -> Any:
    for t in range(40):
        x = x * 0.9 + float(single[t]) * 2
    return x


def of_a_row(x: Any) -> Any:
    for t in range(40):
        x = x * 0.9 + float(table[t, 1]) * float(table[t][0])
    return x


def by_item(x: Any) -> Any:
    for t in range(40):
        x = x * 0.9 + force[t].item() + force.item(-t - 1) * whole.item(t)
    return x


def of_a_large_one(x: Any) -> Any:
    for t in range(40):
        x = x * 0.9 + float(large[100 * t])
    return x


def computed_from_it(x: Any) -> Any:
    for t in range(40):
        x = x * 0.9 + float(np.sin(force[t]) + 0.5) + max(float(force[t]), 0.1)
    return x


def of_a_list(x: Any) -> Any:
    for t in range(40):
        x = x * 0.9 + steps[t] * steps[-t - 1] + pair[t] ** 2
    return x


def of_a_list_of_its_own(x: Any) -> Any:
    weights = [0.1 * k for k in range(40)]
    for t in range(40):
        x = x * 0.9 + weights[39 - t]
    return x


def as_an_index(x: Any) -> Any:
    y = x * ops.arange(8.0)
    for t in range(40):
        x = x * 0.9 + y[int(whole[t])] + y[counts[t]]
    return x


def in_a_condition(x: Any) -> Any:
    for t in range(40):
        if float(force[t]) > 0.2 and flags[t]:  # noqa: SIM108
            x = x * 0.9 + float(flags[t])
        else:
            x = x + float(force[t])
    return x


def kept_for_later(x: Any) -> Any:
    best = 0.0
    for t in range(40):
        best = max(best, float(force[t]))
        x = x * 0.9 + best
    return x


def in_two_loops(x: Any) -> Any:
    for t in range(40):
        for s in range(30):
            x = x * 0.9 + float(force[(t + s) % 40]) * float(force[s])
    return x


def through_the_array(x: Any) -> Any:
    for u in force:
        x = x * 0.9 + u
    return x


def through_several(x: Any) -> Any:
    for t, u in enumerate(force, 1):
        x = x * 0.9 + u * t
    for t, u, v in zip(range(40), force, single):
        x = x * 0.9 + u * t + float(v)
    return x


ROLLED = [
    as_float, in_single_precision, of_a_row, by_item, of_a_large_one, computed_from_it, of_a_list, of_a_list_of_its_own,
    as_an_index, in_a_condition, kept_for_later, in_two_loops, through_the_array, through_several,
]  # fmt: skip


def a_list_that_changes(x: Any) -> Any:
    held = [1.0, 2.0, 3.0]
    for t in range(40):
        x = x + held[t % 3]
        held[t % 3] = held[t % 3] + 1.0
    return x


def a_list_that_grows(x: Any) -> Any:
    held = [1.0]
    for t in range(40):
        x = x * 0.9 + held[t]
        held.append(held[t] * 0.5)
    return x


def an_array_that_changes(x: Any) -> Any:
    values = np.arange(40.0)
    for t, u in enumerate(values):
        values[(t + 3) % 40] = 7.0
        x = x * 0.9 + u
    return x


def a_list_of_several_kinds(x: Any) -> Any:
    held = [1, 2.0, np.float32(3)] * 10
    for t in range(30):
        x = x * 0.9 + held[t] / 2
    return x


def an_iterator_that_has_begun(x: Any) -> Any:
    items = enumerate(force)
    next(items)
    for t, u in items:
        x = x * 0.9 + t * u
    return x


def a_generator_beside_a_range(x: Any) -> Any:
    for t, u in zip(range(40), (0.5 * k for k in range(40))):
        x = x * 0.9 + t * u
    return x


UNROLLED = [
    a_generator_beside_a_range,
    a_list_that_changes, a_list_that_grows, an_array_that_changes, a_list_of_several_kinds, an_iterator_that_has_begun,
]  # fmt: skip


@pytest.mark.parametrize("f", [*ROLLED, *UNROLLED], ids=lambda f: f.__name__)
def test_values_derivatives_and_batches_are_those_of_python(f):
    xs = np.array([0.7, -1.3])
    for x in xs:
        np.testing.assert_allclose(ad.jit(f)(x), f(x), rtol=1e-12)
        np.testing.assert_allclose(ad.jit(ad.grad(f))(x), (f(x + 1e-4) - f(x - 1e-4)) / 2e-4, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(ad.jit(ad.vmap(ad.grad(f)))(xs), [ad.grad(f)(x) for x in xs], rtol=1e-12)


@pytest.mark.parametrize("f", ROLLED, ids=lambda f: f.__name__)
def test_the_loop_stays_a_loop(f):
    compiled = ad.jit(f)
    compiled(0.5)
    (made,) = compiled.compilations
    assert any(isinstance(node.op, Loop) for node in made.graph.calls)
    assert len(made.graph.nodes) < 60


def test_a_number_of_a_float32_program_stays_in_float32():
    def f(x):
        for t in range(40):
            x = x * float(force[t]) + x
        return x

    x = ad.Tensor(np.array([0.1, 0.2], np.float32))
    found, want = ad.jit(f)(x), f(x)
    assert found.dtype == want.dtype == np.float32
    np.testing.assert_allclose(found, want, rtol=1e-5)


def test_what_the_list_or_array_holds_later_counts():
    held, array = [0.5] * 40, np.full(40, 0.25)

    @ad.jit
    def f(x):
        for t in range(40):
            x = x + held[t] * float(array[t])
        return x

    for _ in range(3):
        assert f(1.0) == 1.0 + 40 * 0.125
    held[3] = 4.5
    assert f(1.0) == 1.0 + 40 * 0.125 + 1.0
    array[3] = 0.5
    assert f(1.0) == 1.0 + 39 * 0.125 + 4.5 * 0.5  # 8.125


@pytest.mark.parametrize("way", ["global", "attribute", "item", "by an argument"])
def test_an_array_that_is_indexed_by_the_graph_is_read_as_a_whole(way):
    def f(x, k):
        for t in range(40):
            x = x + {"global": changing[t], "attribute": holder.array[t], "item": changing.item(t)}.get(way, 0.0)
        return x + changing[k] if way == "by an argument" else x

    compiled = ad.jit(f)
    changing[3] = 0.25
    first = [float(compiled(1.0, np.array(3))) for _ in range(3)][-1]
    changing[3] = 0.5
    assert compiled(1.0, np.array(3)) == first + 0.25


class Holder:
    array = changing = np.full(40, 0.25)


changing, holder = Holder.array, Holder()


def test_float_of_what_is_computed_is_still_refused():
    def of_argument(x, rows):
        for t in range(40):
            x = x + float(rows[t])
        return x

    with pytest.raises(TypeError, match="would cut the gradient"):
        ad.jit(of_argument)(1.0, force)

    def of_state(x):
        y = x * force
        for t in range(40):
            x = x + float(y[t])
        return x

    with pytest.raises(TypeError, match="would cut the gradient"):
        ad.jit(ad.grad(of_state))(1.0)


def test_an_index_outside_is_an_error():
    def f(x):
        for t in range(41):
            x = x + float(force[t])
        return x

    with pytest.raises(IndexError):
        ad.jit(f)(1.0)
