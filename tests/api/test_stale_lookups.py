"""A graph that was built on what was not there, on arguments bound before, on identities: it goes when that changes."""

from __future__ import annotations

import functools
import itertools
import operator
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.frontend.errors import ControlFlowError

Made = tuple[Callable[[Any], Any], Callable[[], Any]]


class Empty:
    """An object without attributes."""


def _key() -> Made:
    d: dict[str, float] = {}

    def f(x: Any) -> Any:
        try:
            return x * d["q"]
        except KeyError:
            return -x

    return f, lambda: d.update(q=5.0)


def _key_of_callee() -> Made:
    d: dict[str, dict[str, float]] = {"a": {}}

    def g(x: Any) -> Any:
        return x * d["a"]["q"]

    def f(x: Any) -> Any:
        try:
            return g(x)
        except LookupError:
            return -x

    return f, lambda: d["a"].update(q=5.0)


def _attribute() -> Made:
    o: Any = Empty()

    def f(x: Any) -> Any:
        try:
            return x * o.q
        except AttributeError:
            return -x

    return f, lambda: setattr(o, "q", 5.0)


def _index() -> Made:
    items: list[float] = []

    def f(x: Any) -> Any:
        try:
            return x * items[0]
        except IndexError:
            return -x

    return f, lambda: items.append(5.0)


def _name() -> Made:
    globals().pop("NOT_YET", None)

    def f(x: Any) -> Any:
        try:
            return x * NOT_YET  # type: ignore[name-defined]
        except NameError:
            return -x

    return f, lambda: globals().update(NOT_YET=5.0)


def _name_of_callee() -> Made:
    globals().pop("NOT_YET", None)

    def g(x: Any) -> Any:
        return x * NOT_YET  # type: ignore[name-defined]  # noqa: F821

    def f(x: Any) -> Any:
        try:
            return g(x)
        except NameError:
            return -x

    return f, lambda: globals().update(NOT_YET=5.0)


def _free() -> Made:
    def f(x: Any) -> Any:
        try:
            return x * q
        except NameError:
            return -x

    def later() -> None:
        nonlocal q  # type: ignore[misc]
        q = 5.0

    if len("ab") == 3:
        q = 1.0
    return f, later


def _has() -> Made:
    o: Any = Empty()
    return lambda x: x * o.q if hasattr(o, "q") else -x, lambda: setattr(o, "q", 5.0)


def _default() -> Made:
    o: Any = Empty()
    return lambda x: x * getattr(o, "q", -1.0), lambda: setattr(o, "q", 5.0)


def _get() -> Made:
    d: dict[str, float] = {}
    return lambda x: x * d.get("q", -1.0), lambda: d.update(q=5.0)


def _in() -> Made:
    d: dict[str, float] = {}
    return lambda x: x * d["q"] if "q" in d else -x, lambda: d.update(q=5.0)


def _partial(held: Any, change: Callable[[Any], Any], read: Callable[[Any, Any], Any], direct: bool) -> Made:
    bound = functools.partial(read, held)
    return bound if direct else lambda x: bound(x), lambda: change(bound.args[0])


def _set(key: Any) -> Callable[[Any], Any]:
    return lambda held: held.__setitem__(key, 9.0)


def _keyword(direct: bool) -> Made:
    bound = functools.partial(lambda x, a: x * a, a=2.0)
    return bound if direct else lambda x: bound(x), lambda: bound.keywords.update(a=9.0)


def _called(direct: bool) -> Made:
    class K:
        def __call__(self, x: Any) -> Any:
            return x * 2.0

    k = K()
    return k if direct else lambda x: k(x), lambda: setattr(K, "__call__", lambda self, x: x * 9.0)


def _super() -> Made:
    class A:
        def m(self, x: Any) -> Any:
            return x * 2.0

    class B(A):
        def m(self, x: Any) -> Any:
            return super().m(x) + 1.0

    b = B()
    return lambda x: b.m(x), lambda: setattr(A, "m", lambda self, x: x * 9.0)


def _super_between() -> Made:
    class A:
        def m(self, x: Any) -> Any:
            return x * 2.0

    class M(A):
        pass

    class B(M):
        def m(self, x: Any) -> Any:
            return super().m(x) + 1.0

    b = B()
    return lambda x: b.m(x), lambda: setattr(M, "m", lambda self, x: x * 9.0)


def _identity() -> Made:
    a = [1.0]
    b = a

    def rebind() -> None:
        nonlocal b
        b = [1.0]

    return lambda x: x * 2.0 if a is b else -x, rebind


def _identity_of_attributes() -> Made:
    o: Any = Empty()
    o.a = o.b = {"k": [1.0]}
    return lambda x: -x if o.a is not o.b else x * 2.0, lambda: setattr(o, "b", {"k": [1.0]})


def _getter(get: Callable[[Any], Any]) -> Made:
    o: Any = Empty()
    o.a = Empty()
    o.a.b, o.items = 2.0, [2.0]
    return lambda x: x * get(o), lambda: (vars(o.a).update(b=9.0), vars(o).update(items=[9.0]))


def _module(whole: bool, replace: bool) -> Made:
    module: Any = types.ModuleType("module_of_stale_lookups")
    module.c = 2.0
    sys.modules[module.__name__] = module

    def part(x: Any) -> Any:
        from module_of_stale_lookups import c  # type: ignore[import-not-found]

        return x * c

    def all_of_it(x: Any) -> Any:
        import module_of_stale_lookups as m

        return x * m.c

    def change() -> None:
        new: Any = types.ModuleType(module.__name__)
        sys.modules[module.__name__] = now = new if replace else module
        now.c = 9.0

    return all_of_it if whole else part, change


def _text() -> Made:
    class Shown:
        k = "a"

        def __str__(self) -> str:
            return self.k

    o = Shown()
    return lambda x: x * len(f"{o}"), lambda: setattr(o, "k", "abc")


def _globals() -> Made:
    globals().update(BY_NAME=2.0)
    return lambda x: x * globals()["BY_NAME"], lambda: globals().update(BY_NAME=9.0)


def _weak() -> Made:
    held = [Empty()]
    ref = weakref.ref(held[0])
    return lambda x: x * 2.0 if ref() is not None else -x, held.clear


MADE: dict[str, Callable[[], Made]] = {
    "key": _key,
    "key of callee": _key_of_callee,
    "attribute": _attribute,
    "index": _index,
    "name": _name,
    "name of callee": _name_of_callee,
    "free variable": _free,
    "hasattr": _has,
    "getattr": _default,
    "get": _get,
    "in": _in,
    "text": _text,
    "globals": _globals,
    "weakref": _weak,
    "super": _super,
    "super, class between": _super_between,
    "is": _identity,
    "is not": _identity_of_attributes,
}
MADE["attrgetter"] = functools.partial(_getter, operator.attrgetter("a.b"))
_first = operator.itemgetter(0)
MADE["itemgetter"] = functools.partial(_getter, lambda o: _first(o.items))
for _whole, _replace in itertools.product((False, True), repeat=2):
    MADE[f"import, {_whole}, {_replace}"] = functools.partial(_module, _whole, _replace)
for _direct in (False, True):
    for _kind, _held, _change, _read in [
        ("list", lambda: [2.0], _set(0), lambda c, x: c[0] * x),
        ("dict", lambda: {"k": 2.0}, _set("k"), lambda c, x: c["k"] * x),
        ("nested", lambda: [[2.0]], lambda c: c[0].__setitem__(0, 9.0), lambda c, x: c[0][0] * x),
        ("array", lambda: np.array([2.0, 2.0]), _set(0), lambda c, x: (c * x).sum()),
    ]:
        MADE[f"partial, {_kind}, {_direct}"] = functools.partial(
            lambda held, *more: _partial(held(), *more), _held, _change, _read, _direct
        )
    MADE[f"partial, keyword, {_direct}"] = functools.partial(_keyword, _direct)
    MADE[f"__call__, {_direct}"] = functools.partial(_called, _direct)


@pytest.mark.parametrize("backend", ["native", "interpreter"])
@pytest.mark.parametrize("name", MADE)
def test_follows_the_change(name: str, backend: str) -> None:
    f, change = MADE[name]()
    compiled = ad.jit(f, backend=backend)
    x = ad.Tensor(3.0)
    for _ in range(2):
        assert float(compiled(x)) == float(f(3.0))
    change()
    for _ in range(2):
        assert float(compiled(x)) == float(f(3.0))


@pytest.mark.parametrize("make", [lambda: iter([1.0, 2.0]), itertools.count, lambda: (k for k in [1.0, 2.0])])
def test_iterator_from_outside_is_refused(make: Callable[[], Any]) -> None:
    it, box = make(), [make()]
    for f in (lambda x: x * next(it), lambda x: x * next(box[0]), lambda x: x * sum(v for v in it)):
        with pytest.raises(ControlFlowError, match="iterator from outside"):
            ad.jit(f)(ad.Tensor(3.0))


def test_iterator_of_the_function_itself() -> None:
    values = [1.0, 2.0]

    def f(x: Any) -> Any:
        it = iter(values)
        return x * next(it) + next(it)

    assert float(ad.jit(f)(ad.Tensor(3.0))) == 5.0
