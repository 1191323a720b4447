"""Calls of compiled functions that a C function does as a whole: the same results as by the long way, and the same limits."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from typing import Any, NamedTuple

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops
from adjoint.api.compiled import executable
from adjoint.api.quick import is_brief, whole_quick
from adjoint.backends.native.runtime import available_memory, kernel_call, object_layout
from adjoint.core import context, tree

pytestmark = pytest.mark.skipif(object_layout.problem() is not None, reason=str(object_layout.problem()))

X, Y = np.array([1.0, 2.0]), np.array([3.0, 5.0])


def native(fn: Any, **options: Any) -> Any:
    return ad.jit(fn, backend="native", **options)


def warm(function: Any, *args: Any, **kwargs: Any) -> Any:
    """The result of a call after the ones that prepare it, for which nothing but a C function is left."""
    for _ in range(5):
        function(*args, **kwargs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(function, "_quick", {})
        patch.setattr(function, "_call", lambda *_: pytest.fail("the call took the long way"))
        return function(*args, **kwargs)


def is_long(function: Any, *args: Any, **kwargs: Any) -> bool:
    """Whether no C function takes such a call."""
    return all(run(args, kwargs) is NotImplemented for run in function._whole)


def same(found: Any, wanted: Any) -> None:
    assert tree.shape(found) == tree.shape(wanted)
    for a, b in zip(tree.leaves(found), tree.leaves(wanted), strict=True):
        if isinstance(b, np.ndarray):
            assert type(a) is ad.Tensor and a.dtype == b.dtype and not a.tracked and not a.requires_grad
            np.testing.assert_array_equal(a.asnumpy(), b, strict=True)
        else:
            assert type(a) is type(b) and a == b


def tensor(x: Any) -> Any:
    return ad.Tensor(x) if isinstance(x, np.ndarray) else x


STRUCTURES = {
    "one": (lambda x: x * 2.0, (X,), 2 * X),
    "tuple": (lambda x: (x * 2.0, x + 1.0), (X,), (2 * X, X + 1)),
    "nested": (
        lambda x: [x * 2.0, (x + 1.0, [x * 3.0], []), [x - 1.0]],
        (X,),
        [2 * X, (X + 1, [3 * X], []), [X - 1]],
    ),
    "dict": (lambda x: {"b": x * 2.0, "a": {"c": (x + 1.0,)}}, (X,), {"b": 2 * X, "a": {"c": (X + 1,)}}),
    "others": (lambda x: (x * 2.0, "note", None), (X,), (2 * X, "note", None)),
    "list in": (lambda xs, y: [x * y for x in xs], ([X, Y], X), [X * X, Y * X]),
    "dict in": (lambda p: p["w"] * p["b"][0] - p["b"][1], ({"w": X, "b": [Y, X]},), X * Y - X),
    "part of the program": (lambda x, n, p: x * n if p["on"] else x, (X, 3, {"on": True, "no": None}), 3 * X),
    "number": (lambda x, a, b: (x * a) * b, (X, 2.0, np.float64(3.0)), X * 2 * 3),
    "scalars": (lambda x: (x * 2.0, x + x), (np.array(1.5),), (np.array(3.0), np.array(3.0))),
    "dtypes": (lambda x, i: (x * 2.0, i + i), (X.astype("f4"), np.array([1, 2])), (2 * X.astype("f4"), np.array([2, 4]))),
    "empty": (lambda x: x * 2.0, (np.zeros((0, 3)),), np.zeros((0, 3))),
}  # fmt: skip


@pytest.mark.parametrize("fn, args, wanted", STRUCTURES.values(), ids=STRUCTURES)
def test_structures(fn: Any, args: tuple, wanted: Any) -> None:
    function = native(fn)
    same(warm(function, *tree.map(tensor, args)), wanted)
    same(function(*args), wanted)  # NumPy's arrays will do as well


def test_every_call_has_results_of_its_own() -> None:
    function = native(lambda x: (x * 2.0, [x + 1.0]))
    x = ad.Tensor(X)
    kept = [warm(function, x) for _ in range(3)]
    assert len({id(leaf) for leaf in tree.leaves(kept)}) == 6
    assert len({leaf._value.ctypes.data for leaf in tree.leaves(kept)}) == 6
    x[0] = 7.0
    same(function(x), (np.array([14.0, 4.0]), [np.array([8.0, 3.0])]))
    same(kept, [(2 * X, [X + 1])] * 3)


def test_keyword_and_static_arguments() -> None:
    function = native(lambda x, y=Y, scale=1.0: (x - y) * scale)
    same(warm(function, X, y=Y), X - Y)
    same(warm(function, x=X, scale=2.0), (X - Y) * 2)
    same(function(X, Y), X - Y)
    same(function(y=Y, x=X), X - Y)
    given = native(lambda *args, **kwargs: args[0][0] * 2.0 if not kwargs else args[0] * kwargs["k"])
    for _ in range(3):
        same(given((X,), {"k": Y}), 2 * X)
        same(given(X, k=Y), X * Y)
    static = native(lambda x, k: x * k, static_argnames="k")
    same(warm(static, X, 2.5), 2.5 * X)
    same(static(X, 3.5), 3.5 * X)
    same(static(X, k=2.5), 2.5 * X)


def test_what_is_part_of_the_program_is_not_mixed_up() -> None:
    function = native(lambda x, n: x * n)
    for n in (1, True, 1.0, 2, 1000, 1001):
        for _ in range(3):
            same(function(X, n), X * n)
    same(function(X.astype("f4"), 2), X.astype("f4") * 2)
    same(native(lambda x, flag: x * 2.0 if flag else x)(X, False), X)


class Factor:
    """Equal by what it holds, which may change."""

    def __init__(self, k: float) -> None:
        self.k = k

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Factor) and other.k == self.k

    def __hash__(self) -> int:
        return hash(self.k)


def test_an_object_that_changes_is_looked_at() -> None:
    function, factor = native(lambda x, f: x * f.k), Factor(2.0)
    for _ in range(3):
        same(function(X, factor), 2 * X)
    factor.k = 3.0
    same(function(X, factor), 3 * X)


class Pair(NamedTuple):
    a: Any
    b: Any


def test_other_containers_take_the_long_way() -> None:
    function = native(lambda p: Pair(p.a * 2.0, p.b))
    for _ in range(4):
        found = function(Pair(X, Y))
        assert type(found) is Pair
        same(tuple(found), (2 * X, Y))


def test_many_shapes() -> None:
    function = native(lambda x: x * 2.0)
    for _ in range(3):
        for n in range(1, 20):
            same(function(np.ones(n)), np.full(n, 2.0))
    assert len(function.compilations) == 19
    dynamic = native(lambda x: x * 2.0, dynamic="x")
    for n in (4, 5):
        same(warm(dynamic, np.ones(n)), np.full(n, 2.0))
    assert len(dynamic.compilations) == 1


def test_odd_arguments_take_the_long_way() -> None:
    function = native(lambda xs: xs[0] * xs[1])
    warm(function, [X, Y])
    for odd in ([X, Y, X], (X, Y), [X, Y[::-1]], [X.astype("f4"), Y], [X, 2.0], [np.ones((2, 1)), Y]):
        assert is_long(function, odd)
        same(function(odd), np.asarray(odd[0] * odd[1]))
    assert is_long(function) and is_long(function, [X, Y], 1) and is_long(function, [X, Y], k=1)
    with pytest.raises(TypeError):
        function([X, Y], 1)
    with pytest.raises(ValueError, match="called at test_jit_calls.py"):
        function([X, np.ones(3)])


def test_transforms_see_the_call() -> None:
    function = native(lambda x: x * x)
    warm(function, ad.Tensor(X))
    same(ad.grad(lambda x: function(x).sum())(X), 2 * X)
    same(ad.vmap(function)(np.array([X, Y])), np.array([X * X, Y * Y]))
    same(ad.jit(lambda x: function(x) + 1.0)(X), X * X + 1)
    x = ad.Tensor(X, requires_grad=True)
    function(x).sum().backward()
    same(x.grad, 2 * X)
    plain = ad.Tensor(X)
    with ad.GradientTape() as tape:
        tape.watch(plain)
        y = function(plain).sum()
    same(tape.gradient(y, plain), 2 * X)


class Scaled(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.w = ad.Parameter(np.array([2.0, 3.0]), name="w")
        self.k = 1.0

    def construct(self, x: Any) -> Any:
        return x * self.w * self.k


@pytest.mark.parametrize("backend", ["native", "interpreter"])
def test_networks_are_looked_at_in_each_call(backend: str) -> None:
    net = Scaled()
    function, w = ad.jit(net, backend=backend), net.w.asnumpy()
    for _ in range(4):
        np.testing.assert_array_equal(function(X).asnumpy(), X * w)
    function(X).sum().backward()
    np.testing.assert_array_equal(net.w.grad.asnumpy(), X)
    same(ad.grad(lambda x: function(x).sum(), None, weights=net.w)(X), X)
    slope = ad.jit(ad.grad(lambda x: function(x).sum(), None, weights=net.w), backend=backend)(X)
    np.testing.assert_array_equal(slope.asnumpy(), X)
    net.w.set_data(10 * w)
    np.testing.assert_array_equal(function(X).asnumpy(), X * 10 * w)
    net.k = 5.0
    for _ in range(4):
        np.testing.assert_array_equal(function(X).asnumpy(), X * 50 * w)
    assert [c.reason for c in function.compilations] == [
        "first call",
        "attribute `k` of Scaled changed from 1.0 to 5.0",
    ]


def test_the_backend_follows_the_context() -> None:
    function = ad.jit(lambda x: ops.sin(x))
    ran = []
    for name in ("native", "interpreter", "native", "interpreter"):
        with context.setting(context.backend, name):
            for _ in range(3):
                same(function(np.zeros(2)), np.zeros(2))
            ran.append((function.backend, is_long(function, np.zeros(2))))
    assert ran == [("native", False), ("interpreter", True)] * 2
    assert len(function.compilations) == 1


def test_a_backend_of_its_own_does_not_follow() -> None:
    function = native(lambda x: ops.sin(x))
    with context.setting(context.backend, "interpreter"):
        same(warm(function, np.zeros(2)), np.zeros(2))


def test_nothing_leaks() -> None:
    function = native(lambda p, y: {"a": (p["w"] * y, "note"), "b": [y + 1.0]})
    w, y = ad.Tensor(X), ad.Tensor(Y)
    p, odd = {"w": w}, ad.Tensor(np.ones(3))
    warm(function, p, y)
    watched = (
        w,
        y,
        p,
        w._value,
        y._value,
        ad.Tensor,
        None,
        NotImplemented,
        "note",
        w._trace,
        w._value.dtype,
        np.ndarray,
    )
    gc.collect()
    before = [sys.getrefcount(x) for x in watched]
    for _ in range(1000):
        function(p, y)
    for _ in range(100):
        assert is_long(function, p, odd) and is_long(function, [w], y)
    gc.collect()
    after = [sys.getrefcount(x) for x in watched]
    assert max(abs(b - a) for a, b in zip(before, after, strict=True)) < 20
    found = function(p, y)
    alive = weakref.ref(found["b"][0])
    assert gc.is_tracked(found["b"][0])
    del found
    assert alive() is None


def test_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(available_memory, "available_bytes", lambda: None)  # else it is refused when it is compiled
    function = native(lambda x: [x + 1.0, (x * 2.0, ops.broadcast_to(x, (2**22, 2**16, 2**4)))])
    x = ad.Tensor(np.ones(2**4))
    graph = function.graph(x)
    ((entry,),) = function._entries.values()
    run = whole_quick(executable(graph, "native"), graph, ((x,), {}), [True], entry.rebuild, [])
    assert run is not None
    before = sys.getrefcount(x._value)
    for _ in range(3):
        with pytest.raises(MemoryError):
            run((x,), {})
    after = sys.getrefcount(x._value)
    assert after == before


def test_threads_that_take_the_arguments_away() -> None:
    """The kernel is long, so other threads run meanwhile; the arrays it reads must stay."""
    function = native(lambda xs: ops.sin(xs[0]) * 2.0)
    n = 200_000
    xs, stop, wrong = [ad.Tensor(np.zeros(n))], threading.Event(), []
    warm(function, xs)

    def replace() -> None:
        while not stop.is_set():
            xs[0] = ad.Tensor(np.zeros(n))

    def compute() -> None:
        for _ in range(50):
            if function(xs).asnumpy().any():
                wrong.append(1)

    other = threading.Thread(target=replace)
    callers = [threading.Thread(target=compute) for _ in range(2)]
    other.start()
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    stop.set()
    other.join()
    assert wrong == []


def test_threads_have_results_and_scratch_memory_of_their_own() -> None:
    function = native(lambda x: ops.sum(ops.tanh(x @ x) @ x))
    inputs = [np.random.default_rng(k).normal(size=(100, 100)) for k in range(4)]
    wanted = [np.sum(np.tanh(x @ x) @ x) for x in inputs]
    warm(function, inputs[0])
    found: list[list[float]] = [[] for _ in inputs]
    callers = [
        threading.Thread(target=lambda k=k: found[k].extend(float(function(inputs[k])) for _ in range(20)))
        for k in range(4)
    ]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    for results, value in zip(found, wanted, strict=True):
        np.testing.assert_allclose(results, [value] * 20, rtol=1e-9)


def test_without_knowledge_of_the_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the C functions cannot be trusted, calls take the portable way."""
    monkeypatch.setattr(kernel_call, "problem", lambda: "for a test")
    function = native(lambda xs: (xs[0] * xs[1], [xs[0]]))
    for _ in range(4):
        same(function([X, Y]), (X * Y, [X]))
    assert function._whole == ()


def test_when_other_threads_run_meanwhile() -> None:
    assert is_brief(native(lambda x: ops.sin(x) * x).graph(X))
    assert not is_brief(native(lambda x: ops.sin(x) * x).graph(np.ones(100_000)))

    def halved(x: Any) -> Any:
        while x > 1.0:
            x = x * 0.5
        return x

    assert not is_brief(native(halved).graph(100.0))


def test_static_names_beside_open_arguments() -> None:
    """What stands behind `*rest` is no argument of another name, and `**named` has what no other takes."""
    traced: list[int] = []

    def f(x: Any, *rest: Any, k: Any, **named: Any) -> Any:
        traced.append(1)
        return x * rest[0] * rest[1] * k * named["a"]

    def graphs(name: str) -> int:
        traced.clear()
        compiled = ad.jit(f, static_argnames=name)
        for rest, k, a in ((3.0, 4.0, 5.0), (6.0, 4.0, 5.0), (6.0, 7.0, 5.0), (6.0, 7.0, 8.0)):
            assert compiled(ad.Tensor([1.0]), 2.0, rest, k=k, a=a).item() == 2.0 * rest * k * a
        return len(traced)

    assert graphs("rest") == graphs("k") == graphs("named") == 2
