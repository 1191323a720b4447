"""Objects that are hard to watch for changes: large arrays, containers that hold themselves, what cannot be compared, other threads."""

from __future__ import annotations

import collections
import threading
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops


class Owner:
    def __init__(self, k: Any = 2.0) -> None:
        self.k = k


def test_a_large_array_is_an_array_to_the_function() -> None:
    data = np.ones(9000)
    compiled = ad.jit(lambda x: ops.sum(x * data) if isinstance(data, np.ndarray) and type(data) is np.ndarray else x)
    assert compiled(1.0) == 9000.0
    data[0] = 11.0
    assert compiled(1.0) == 9010.0
    assert len(compiled.compilations) == 1


@pytest.mark.parametrize("how", ["item", "in place"])
def test_a_large_array_that_the_function_changes(how: str) -> None:
    def run(wrap: Any) -> list[float]:
        data = np.ones(9000)

        def f(x: Any) -> Any:
            alias = data
            if how == "item":
                alias[0] += 1.0
            else:
                alias += 1.0
            return ops.sum(x * data)

        function = wrap(f)
        return [float(function(1.0)) for _ in range(4)] + [float(data[0])]

    assert run(ad.jit) == run(lambda f: f)


SIZED: dict[str, tuple[Any, Any, Any]] = {
    "list": (lambda: [1.0] * 5, lambda c: c.__setitem__(3, 7.0), lambda c: c.append(1.0)),
    "list of lists": (lambda: [[1.0], [2.0]], lambda c: c[0].append(7.0), lambda c: c.pop()),
    "objects": (lambda: [Owner(), Owner()], lambda c: setattr(c[0], "k", 5.0), lambda c: c.pop()),
    "dict": (lambda: {"a": 1.0, "b": 2.0}, lambda c: c.update(a=7.0), lambda c: c.update(c=1.0)),
    "set": (lambda: {1, 2}, lambda c: (c.add(3), c.remove(1)), lambda c: c.add(9)),
    "deque": (lambda: collections.deque([1, 2]), lambda c: c.rotate(), lambda c: c.append(2)),
    "bytearray": (lambda: bytearray(3), lambda c: c.__setitem__(0, 9), lambda c: c.append(9)),
}


@pytest.mark.parametrize("where", ["variable", "attribute"])
@pytest.mark.parametrize("kind", SIZED)
def test_of_a_length_that_is_asked_for_the_length_alone_counts(kind: str, where: str) -> None:
    make, change, resize = SIZED[kind]
    held = make()
    owner = Owner(held)
    f = (lambda x: x * len(held)) if where == "variable" else (lambda x: x * len(owner.k))
    compiled = ad.jit(f)
    size = len(held)
    assert compiled(1.0) == size
    change(held)
    assert compiled(1.0) == size and len(compiled.compilations) == 1
    if where == "attribute":
        owner.k = held = make()  # another object of the same length
        assert compiled(1.0) == size and len(compiled.compilations) == 1
    resize(held)
    assert compiled(1.0) == f(1.0) != size
    assert len(compiled.compilations) == 2
    assert f"changed from {size} to {len(held)}" in compiled.compilations[-1].reason


def test_a_length_and_an_item() -> None:
    items = [1.0, 2.0, 3.0]
    compiled = ad.jit(lambda x: x * len(items) + items[1])
    for k, compilations in ((0, 1), (1, 2), (2, 2)):
        items[k] = 9.0
        assert compiled(1.0) == 3.0 + items[1] and len(compiled.compilations) == compilations


def test_a_length_inside_a_compiled_function_inside_another() -> None:
    items = [1.0, 2.0]

    @ad.jit
    def inner(x: Any) -> Any:
        return x * len(items)

    outer = ad.jit(lambda x: inner(x) + items[0])
    assert outer(1.0) == 3.0
    items.append(5.0)
    assert outer(1.0) == 4.0
    items[0] = 2.0
    assert outer(1.0) == 5.0


def test_what_has_its_own_length_is_read_as_a_whole() -> None:
    class Half(list):  # type: ignore[type-arg]
        def __len__(self) -> int:
            return int(self[0])

    half = Half([2, 1])
    compiled = ad.jit(lambda x: x * len(half))
    assert compiled(1.0) == 2.0
    half[0] = 5
    assert compiled(1.0) == 5.0


def test_containers_that_hold_themselves() -> None:
    ring: list[Any] = [2.0]
    ring.append(ring)
    first, second = Owner(), Owner(2.0)
    first.k, second.back = second, first  # type: ignore[attr-defined]

    def f(x: Any) -> Any:
        for item in ring:
            if isinstance(item, float):
                x = x * item
        return x * first.k.k * second.back.k.k

    compiled = ad.jit(f)
    assert [float(compiled(1.0)) for _ in range(3)] == [8.0] * 3
    ring[0] = 3.0
    assert compiled(1.0) == 12.0
    second.k = 3.0
    assert compiled(1.0) == 27.0


def test_an_equal_item_of_another_type() -> None:
    items: list[Any] = [1, 2]
    compiled = ad.jit(lambda x: x * sum(7 if type(v) is bool else 1 for v in items))
    assert compiled(1.0) == 2.0
    items[0] = True
    assert compiled(1.0) == 8.0


def test_objects_that_can_neither_be_shown_nor_compared() -> None:
    class Shy:
        k = 2.0
        __hash__ = None  # type: ignore[assignment]

        def __repr__(self) -> str:
            raise ValueError

        def __eq__(self, other: object) -> bool:
            raise ValueError

    items = [Shy()]
    compiled = ad.jit(lambda x: x * items[0].k)
    assert compiled(1.0) == 2.0
    items[0] = Shy()
    items[0].k = 3.0
    assert compiled(1.0) == 3.0
    assert "`items[0]` changed" in compiled.compilations[-1].reason


def test_threads_that_read_what_another_one_changes() -> None:
    owner, wrong = Owner(1.0), []
    compiled = ad.jit(lambda x: x * owner.k)

    def work() -> None:
        for _ in range(200):
            if float(compiled(1.0)) not in (1.0, 2.0, 3.0):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for k in (2.0, 3.0, 1.0) * 20:
        owner.k = k
    for thread in threads:
        thread.join()
    owner.k = 3.0
    assert not wrong
    assert compiled(1.0) == 3.0


def test_a_network_in_a_compiled_function_in_another() -> None:
    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.k = 2.0

        def construct(self, x: Any) -> Any:
            return x * self.k

    net = Net()
    inner = ad.jit(net)
    outer = ad.jit(lambda x: inner(x) + 1.0)
    assert [float(outer(1.0)) for _ in range(4)] == [3.0] * 4
    net.k = 5.0
    assert outer(1.0) == 6.0


def test_a_failed_call_leaves_large_arrays_inputs() -> None:
    data = np.ones(9000)
    compiled = ad.jit(lambda x: ops.sum(x * data))
    with pytest.raises(ValueError, match="shape"):
        compiled(np.ones(3))
    for k in range(4):
        data[0] = k
        assert compiled(1.0) == 8999.0 + k
    assert len(compiled.compilations) == 1
