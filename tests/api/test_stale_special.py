"""What a graph read through ways that Python has for itself: wrappers, dispatch, context managers, views, objects made in the trace."""

from __future__ import annotations

import collections
import contextlib
import contextvars
import copy
import dataclasses
import functools
import operator
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops

Made = tuple[Callable[[Any], Any], Callable[[], Any]]


class Owner:
    def __init__(self, k: Any = 2.0) -> None:
        self.k = k


def owned(make: Callable[[Any], Callable[[Any], Any]]) -> Callable[[], Made]:
    """A function of an object whose attribute changes."""

    def made() -> Made:
        owner = Owner()
        return make(owner), lambda: setattr(owner, "k", 5.0)

    return made


def _wrapper(owner: Any) -> Any:
    def decorate(f: Any) -> Any:
        @functools.wraps(f)
        def wrapped(x: Any) -> Any:
            return f(x) * owner.k

        return wrapped

    return decorate(lambda x: x * 3)


def _rule(owner: Any) -> Any:
    @ad.custom_vjp
    def f(x: Any) -> Any:
        return x * owner.k

    f.defvjp(lambda *args: (args[-1] * owner.k * 10,))
    return f


def _hook(owner: Any) -> Any:
    net = nn.Tanh()
    net.register_forward_hook(lambda cell, inputs, out: out * owner.k)
    return lambda x: ops.sum(net(x))


def _manager(owner: Any) -> Any:
    @contextlib.contextmanager
    def manager() -> Iterator[Any]:
        yield owner.k

    def f(x: Any) -> Any:
        with manager() as k:
            y = x * k
        return y

    return f


def _delegate(owner: Any) -> Any:
    class Delegate:
        def __init__(self, inner: Any) -> None:
            self._inner = inner

        def __getattr__(self, name: str) -> Any:
            return getattr(self._inner, name)

    delegate = Delegate(owner)
    return lambda x: x * delegate.k


def _holder(owner: Any) -> Any:
    class Holder:
        def __init__(self, inner: Any) -> None:
            self.inner = inner

        def f(self, x: Any) -> Any:
            return x * self.inner.k

    return lambda x: Holder(owner).f(x)


def _copied(owner: Any) -> Any:
    def f(x: Any) -> Any:
        other = copy.copy(owner)
        other.k = other.k + 1
        return x * other.k

    return f


def _rolled(owner: Any) -> Any:
    def f(x: Any) -> Any:
        for _ in range(30):
            x = x * (1 + owner.k * 0.01)
        return x

    return f


def _cached(owner: Any) -> Any:
    get = functools.lru_cache(lambda: owner)
    return lambda x: x * get().k


OWNED = {
    "wrapper": _wrapper,
    "custom rule": _rule,
    "hook of a Cell": _hook,
    "context manager": _manager,
    "delegate": _delegate,
    "object made in the trace": _holder,
    "copy made in the trace": _copied,
    "rolled loop": _rolled,
    "lru_cache": _cached,
    "vectorize": lambda o: lambda x, g=np.vectorize(lambda v: v * o.k): x * float(g(2.0)),
    "list made in the trace": lambda o: lambda x: x * [o][0].k,
    "attrgetter": lambda o: lambda x, get=operator.attrgetter("k"): x * get(o),
    "vars": lambda o: lambda x: x * vars(o)["k"],
    "dict": lambda o: lambda x: x * o.__dict__["k"],
    "text": lambda o: lambda x: x * float(f"{o.k}"),
    "keyword": lambda o: lambda x, *, owner=o: x * owner.k,
    "inner gradient": lambda o: lambda x: ad.grad(lambda y: y * y * o.k)(x),
    "inner vmap": lambda o: lambda x: ops.sum(ad.vmap(lambda y: y * x * o.k)(ops.ones(3))),
}


def dispatched() -> Made:
    @functools.singledispatch
    def g(x: Any) -> Any:
        return x * 2

    return (lambda x: g(x)), lambda: g.register(object, lambda x: x * 5)


def method_of_a_base() -> Made:
    base = type("Base", (), {"f": lambda self, x: x * 2})
    each = type("Each", (base,), {})()
    return (lambda x: each.f(x)), lambda: setattr(base, "f", lambda self, x: x * 7)


def method_of_an_object_made_in_the_trace() -> Made:
    cls = type("Each", (), {"f": lambda self, x: x * 2})
    return (lambda x: cls().f(x)), lambda: setattr(cls, "f", lambda self, x: x * 7)


def constructor() -> Made:
    class Each:
        def __init__(self) -> None:
            self.k = 2.0

    return (lambda x: x * Each().k), lambda: setattr(Each, "__init__", lambda self: setattr(self, "k", 7.0))


def operator_of_a_class() -> Made:
    cls: Any = type("Each", (), {"__matmul__": lambda self, x: x * 2})
    each = cls()
    return (lambda x: each @ x), lambda: setattr(cls, "__matmul__", lambda self, x: x * 7)


def property_of_a_class() -> Made:
    cls: Any = type("Each", (), {"p": property(lambda self: 2.0)})
    each = cls()
    return (lambda x: x * each.p), lambda: setattr(cls, "p", property(lambda self: 7.0))


def class_of_an_object() -> Made:
    first, second = type("First", (), {"k": 2.0}), type("Second", (), {"k": 7.0})
    each: Any = first()
    return (lambda x: x * each.k), lambda: setattr(each, "__class__", second)


def fields() -> Made:
    @dataclasses.dataclass
    class Config:
        k: float = 2.0
        j: float = 1.0

    config = Config()
    return (lambda x: x * dataclasses.asdict(config)["k"] + dataclasses.replace(config, j=2.0).k), lambda: setattr(
        config, "k", 7.0
    )


def context_variable() -> Made:
    variable: contextvars.ContextVar[float] = contextvars.ContextVar("variable", default=2.0)
    return (lambda x: x * variable.get()), lambda: variable.set(5.0)


def shadowed_builtin() -> Made:
    space: dict[str, Any] = {}
    exec("def f(x): return abs(x) * 2", space)
    return space["f"], lambda: space.update(abs=lambda x: x * 10)


def contents_of(make: Callable[[], Any], read: Callable[[Any, Any], Any], change: Callable[[Any], Any]) -> Any:
    def made() -> Made:
        value = make()
        return (lambda x: read(x, value)), lambda: change(value)

    return made


BIG = lambda: np.arange(9000.0)
CASES: dict[str, Callable[[], Made]] = {
    **{name: owned(make) for name, make in OWNED.items()},
    "singledispatch": dispatched,
    "method of a base": method_of_a_base,
    "method of an object made in the trace": method_of_an_object_made_in_the_trace,
    "constructor": constructor,
    "operator": operator_of_a_class,
    "property": property_of_a_class,
    "class": class_of_an_object,
    "fields": fields,
    "context variable": context_variable,
    "builtin": shadowed_builtin,
    "deque": contents_of(lambda: collections.deque([1.0]), lambda x, d: x * d[0], lambda d: d.appendleft(5.0)),
    "UserDict": contents_of(lambda: collections.UserDict(a=2.0), lambda x, d: x * d["a"], lambda d: d.update(a=5.0)),
    "UserList": contents_of(lambda: collections.UserList([2.0]), lambda x, d: x * sum(d), lambda d: d.append(5.0)),
    "ChainMap": contents_of(
        lambda: collections.ChainMap({"a": 2.0}), lambda x, d: x * d["a"], lambda d: d.update(a=5.0)
    ),
    "view": contents_of(lambda: {"a": 2.0}, lambda x, d, v=None: x * sum(d.values()), lambda d: d.update(b=5.0)),
    "object array": contents_of(lambda: np.array([2.0, None]), lambda x, a: x * a[0], lambda a: a.__setitem__(0, 5.0)),
    "memoryview": contents_of(
        lambda: memoryview(bytearray(b"ab")), lambda x, m: x * m[0], lambda m: m.__setitem__(0, 7)
    ),
    "proxy": contents_of(
        lambda: {"a": 2.0}, lambda x, d: x * types.MappingProxyType(d)["a"], lambda d: d.update(a=5.0)
    ),
    "large, sliced": contents_of(BIG, lambda x, a: ops.sum(x * a[5:9]), lambda a: a.__setitem__(6, 1.0)),
    "large, masked": contents_of(BIG, lambda x, a: ops.sum(x * a[a > 8990]), lambda a: a.__setitem__(0, 1e5)),
    "large, by NumPy": contents_of(BIG, lambda x, a: x * float(np.sum(a)), lambda a: a.__setitem__(0, 1.0)),
    "large, copied": contents_of(BIG, lambda x, a: ops.sum(x * a.copy()), lambda a: a.__setitem__(0, 1.0)),
    "large, cast": contents_of(BIG, lambda x, a: ops.sum(x * a.astype(int)), lambda a: a.__setitem__(0, 3.0)),
}
MODES: dict[str, tuple[Any, Any]] = {
    "jit": (ad.jit, lambda f: f),
    "jit of grad": (lambda f: ad.jit(ad.grad(f)), ad.grad),
    "grad of jit": (lambda f: ad.grad(ad.jit(f)), ad.grad),
}


def number(y: Any) -> np.ndarray:
    return np.asarray(y.asnumpy() if isinstance(y, ad.Tensor) else y)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", CASES)
def test_a_change_is_seen(case: str, mode: str) -> None:
    f, change = CASES[case]()
    make, plain = MODES[mode]
    compiled = make(f)
    before = number(plain(f)(1.5))
    for _ in range(4):
        np.testing.assert_allclose(number(compiled(1.5)), before)
    change()
    want = number(plain(f)(1.5))
    assert not np.array_equal(want, before)
    for _ in range(3):
        np.testing.assert_allclose(number(compiled(1.5)), want)
