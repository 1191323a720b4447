"""What compiled functions keep alive, and how they are copied and pickled."""

from __future__ import annotations

import copy
import gc
import pickle
import sys
import weakref
from collections import Counter
from typing import Any

import numpy as np
import pytest

import adjoint as ad
import adjoint.frontend.convert
from adjoint import nn, ops

conversion = sys.modules["adjoint.frontend.convert"]


class Scaler:
    def __init__(self, k: float) -> None:
        self.k = k

    @ad.jit
    def scaled(self, x: Any) -> Any:
        return x * self.k

    @ad.jit(static_argnames="n")
    def power(self, x: Any, n: int = 2) -> Any:
        return self.k * x**n

    @ad.jit
    @ad.grad
    def slope(self: Any, x: Any) -> Any:
        return self * x


class Network(nn.Cell):
    def __init__(self, k: float = 2.0) -> None:
        super().__init__()
        self.k = k

    @ad.jit
    def construct(self, x: Any) -> Any:
        return x * self.k


class Slotted:
    __slots__ = ("k",)

    @ad.jit
    def scaled(self, x: Any) -> Any:
        return x * self.k


@ad.jit
def doubled(x: Any) -> Any:
    return x * 2


# ---------------------------------------------------------------- methods


@pytest.mark.parametrize("make", [Scaler, Network])
def test_methods_do_not_keep_their_objects_alive(make: Any) -> None:
    objects = [make(float(k)) for k in range(20)]
    for _ in range(3):
        for each in objects:
            method = each.scaled if make is Scaler else each
            assert method(2.0) == 2.0 * each.k
    references = [weakref.ref(each) for each in objects]
    del objects, each, method
    gc.collect()
    assert not any(reference() for reference in references)
    assert not Scaler.scaled._methods


def test_a_method_keeps_its_object_alive() -> None:
    method = Scaler(3.0).scaled
    gc.collect()
    assert method(2.0) == 6.0
    assert method.__self__.k == 3.0
    assert len(method.compilations) > 0


def test_a_method_sees_what_changes_in_its_object() -> None:
    one, other = Scaler(2.0), Scaler(5.0)
    for _ in range(3):
        assert [one.scaled(1.0), other.scaled(1.0)] == [2.0, 5.0]
        assert [one.power(3.0, n=2), other.power(3.0, n=1)] == [18.0, 15.0]
    one.k = 7.0
    assert [one.scaled(1.0), other.scaled(1.0), Scaler.scaled(one, 1.0)] == [7.0, 5.0, 7.0]
    assert ad.grad(one.scaled)(3.0) == 7.0
    np.testing.assert_array_equal(ad.vmap(one.scaled)(np.ones(3)).asnumpy(), np.full(3, 7.0))


def test_objects_without_a_place_for_references() -> None:
    each = Slotted()
    each.k = 2.0
    assert [float(each.scaled(1.0)) for _ in range(3)] == [2.0] * 3
    each.k = 5.0
    assert each.scaled(1.0) == 5.0


# ---------------------------------------------------------------- functions


def made_and_dropped(k: int) -> list[weakref.ref]:
    """Functions of several kinds, compiled, used and let go."""
    small, large, kept = np.full(3, float(k)), np.ones(9000), ad.Tensor(np.ones(3))
    owner = Scaler(float(k))

    def recursive(x: Any) -> Any:
        for _ in range(12):
            x = x * 1.01
        return recursive(x) if k < 0 else x

    functions = [
        lambda x: ops.sum(x * small) * owner.k,
        lambda x: ops.sum(x * large),
        lambda x: ops.sum(x * kept),
        recursive,
    ]
    for f in functions:
        compiled = ad.jit(f)
        for _ in range(3):
            compiled(1.0)
        ad.grad(compiled)(1.0)
        ad.jit(ad.grad(f))(1.0)
        ad.vmap(compiled)(np.ones(2))
    space: dict[str, Any] = {}
    exec(f"def text(x): return x * {k}.5", space)
    ad.jit(space["text"])(1.0)
    return [weakref.ref(x) for x in (small, large, kept, owner, recursive, compiled)]


def alive() -> dict[str, int]:
    gc.collect()
    gc.collect()
    counts = Counter(type(x).__name__ for x in gc.get_objects())
    kinds = ("Graph", "Node", "Entry", "Jitted", "BoundJitted", "Guard", "function", "ndarray")
    return {kind: counts[kind] for kind in kinds} | {"converted": len(conversion._compiled)}


def test_dropped_functions_free_what_they_captured() -> None:
    references = made_and_dropped(1)
    gc.collect()
    assert [r() for r in references] == [None] * len(references)


def test_nothing_grows_with_dropped_functions() -> None:
    for k in range(3):
        made_and_dropped(k)
    before = alive()
    for k in range(10):
        made_and_dropped(k)
    assert alive() == before


@pytest.mark.parametrize("hold", [lambda w: [w], lambda w: {"w": w}, lambda w: ([w],)])
def test_a_captured_tensor_in_a_container_compiles_once(hold: Any) -> None:
    w = ad.Tensor(np.ones(2), requires_grad=True)
    held = hold(w)

    def f(x: Any) -> Any:
        inner = held[0] if isinstance(held, tuple) else held
        return ops.sum(sum(v * x for v in (inner.values() if isinstance(inner, dict) else inner)))

    compiled = ad.jit(f)
    for k in range(5):
        assert compiled(float(k)) == 2.0 * k
    assert len(compiled.compilations) == 1
    compiled(3.0).backward()
    np.testing.assert_array_equal(w.grad.asnumpy(), [3.0, 3.0])


# ---------------------------------------------------------------- copies


def test_a_compiled_function_is_pickled_by_its_name() -> None:
    assert pickle.loads(pickle.dumps(doubled)) is doubled
    assert pickle.loads(pickle.dumps(ad.jit(ops.sin, backend="interpreter")))(0.0) == 0.0
    assert copy.deepcopy(doubled) is doubled
    assert copy.copy(ad.jit(lambda x: x * 3))(1.0) == 3.0


def test_options_are_pickled_too() -> None:
    again = pickle.loads(pickle.dumps(ad.jit(doubled._fn.__globals__["plain_power"], static_argnames="n")))
    assert again(3.0, n=2) == 9.0
    assert again._static == {"n"}


def plain_power(x: Any, n: int) -> Any:
    return x**n


@pytest.mark.parametrize("make", [Scaler, Network])
def test_objects_with_compiled_methods_are_pickled_and_copied(make: Any) -> None:
    each = make(3.0)
    call = lambda e, x: e.scaled(x) if make is Scaler else e(x)
    assert call(each, 1.0) == 3.0
    for other in (pickle.loads(pickle.dumps(each)), copy.deepcopy(each), copy.copy(each)):
        other.k = 5.0
        assert [call(other, 1.0), call(each, 1.0)] == [5.0, 3.0]


def test_methods_are_pickled_and_copied_with_their_objects() -> None:
    method = Scaler(3.0).scaled
    assert pickle.loads(pickle.dumps(method))(2.0) == 6.0
    other = copy.deepcopy(method)
    other.__self__.k = 5.0
    assert [other(2.0), method(2.0)] == [10.0, 6.0]


def test_a_compiled_network_is_pickled_and_copied() -> None:
    x = np.ones((1, 2), np.float32)
    net = nn.Dense(2, 2)
    compiled = ad.jit(net)
    want = compiled(x).asnumpy()
    for other in (pickle.loads(pickle.dumps(compiled)), copy.deepcopy(compiled)):
        np.testing.assert_array_equal(other(x).asnumpy(), want)
    assert copy.deepcopy(compiled)._fn is not net
