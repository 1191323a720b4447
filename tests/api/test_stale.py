"""A compiled graph is used only while what it read is as it was: what is changed, times how it is read, times how it is compiled.

The oracle is the function itself, run op by op after the change.
"""

from __future__ import annotations

import itertools
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops

held: Any = None  # a global variable of this module


class Plain:
    shared: Any = None

    def __init__(self, value: Any = None) -> None:
        self.value = value

    def scaled(self, x: Any) -> Any:
        return use(x, self.value)

    @property
    def seen(self) -> Any:
        return self.value


class Operand(Plain):
    def __matmul__(self, x: Any) -> Any:
        return use(x, self.value)


class Slotted:
    __slots__ = ("value",)


def use(x: Any, value: Any) -> Any:
    """Something that depends on all of a value, however it is made."""
    if callable(value):
        return value(x)
    if isinstance(value, Plain):
        return x * value.value
    if isinstance(value, dict):
        return x * sum(value.values())
    if isinstance(value, (list, tuple, set)):
        return x * sum(value)
    if isinstance(value, str):
        return x * len(value)
    return ops.sum(x * value)


# ---------------------------------------------------------------- what is changed

Change = Callable[[], tuple[Any, Callable[[Callable[[Any], None]], None]]]


def replaced(old: Any, new: Any) -> Change:
    """Another value in the same place."""
    return lambda: (old, lambda put: put(new))


def inside(make: Callable[[], Any], change: Callable[[Any], Any]) -> Change:
    """The same object with other contents."""

    def made() -> tuple[Any, Callable[[Callable[[Any], None]], None]]:
        value = make()
        return value, lambda put: change(value)

    return made


CHANGES: dict[str, Change] = {
    "float": replaced(2.0, 5.0),
    "sign of zero and nan": replaced(float("nan"), 3.0),
    "int": replaced(2, 5),
    "float to int": replaced(2.0, 3),
    "str": replaced("ab", "abc"),
    "tuple": replaced((1.0, 2.0), (1.0, 3.0)),
    "function": replaced(lambda x: x * 2, lambda x: x * 5),
    "op": replaced(ops.sin, ops.cos),
    "tensor": replaced(ad.Tensor(np.ones(2)), ad.Tensor(np.full(2, 4.0))),
    "list append": inside(lambda: [1.0, 2.0], lambda v: v.append(7.0)),
    "list item": inside(lambda: [1.0, 2.0], lambda v: v.__setitem__(0, 7.0)),
    "dict item": inside(lambda: {"a": 1.0}, lambda v: v.update(a=7.0)),
    "dict grows": inside(lambda: {"a": 1.0}, lambda v: v.update(b=7.0)),
    "set": inside(lambda: {1.0}, lambda v: v.add(7.0)),
    "array": inside(lambda: np.ones(3), lambda v: v.__setitem__(0, 7.0)),
    "large array": inside(lambda: np.ones(9000), lambda v: v.__setitem__(0, 7.0)),
    "integer array": inside(lambda: np.ones(3, int), lambda v: v.__setitem__(0, 7)),
    "tensor item": inside(lambda: ad.Tensor(np.ones(3)), lambda v: v.__setitem__(0, 7.0)),
    "object": inside(lambda: Plain(2.0), lambda v: setattr(v, "value", 7.0)),
    "code": inside(lambda: _function(), lambda v: setattr(v, "__code__", (lambda x: x * 9).__code__)),
    "defaults": inside(lambda: _function(), lambda v: setattr(v, "__defaults__", (9.0,))),
    "kwdefaults": inside(lambda: _function(), lambda v: v.__kwdefaults__.update(j=9.0)),
}


def _function() -> Any:
    def times(x: Any, k: float = 2.0, *, j: float = 1.0) -> Any:
        return x * k * j

    return times


# ---------------------------------------------------------------- how it is read

Read = Callable[[Any], tuple[Callable[[Any], Any], Callable[[Any], None]]]


def from_a_global(value: Any) -> Any:
    def put(new: Any) -> None:
        global held
        held = new

    put(value)
    return (lambda x: use(x, held)), put


def from_a_closure(value: Any) -> Any:
    def put(new: Any) -> None:
        nonlocal value
        value = new

    return (lambda x: use(x, value)), put


def from_a_function_inside(value: Any) -> Any:
    def put(new: Any) -> None:
        nonlocal value
        value = new

    def f(x: Any) -> Any:
        def inner(y: Any) -> Any:
            return use(y, value)

        return inner(x)

    return f, put


def from_an_attribute(value: Any) -> Any:
    owner = Plain(value)
    return (lambda x: use(x, owner.value)), lambda new: setattr(owner, "value", new)


def from_a_nested_attribute(value: Any) -> Any:
    owner = Plain(Plain(value))

    def f(x: Any) -> Any:
        alias = owner.value
        return use(x, alias.value)

    return f, lambda new: setattr(owner.value, "value", new)


def from_a_method(value: Any) -> Any:
    owner = Plain(value)
    return owner.scaled, lambda new: setattr(owner, "value", new)


def from_a_property(value: Any) -> Any:
    owner = Plain(value)
    return (lambda x: use(x, owner.seen)), lambda new: setattr(owner, "value", new)


def from_an_operator(value: Any) -> Any:
    owner = Operand(value)
    return (lambda x: owner @ x), lambda new: setattr(owner, "value", new)


def from_a_slot(value: Any) -> Any:
    owner = Slotted()
    owner.value = value
    return (lambda x: use(x, owner.value)), lambda new: setattr(owner, "value", new)


def from_a_class(value: Any) -> Any:
    owner = type("Owner", (Plain,), {"shared": staticmethod(value) if callable(value) else value})
    put = lambda new: setattr(owner, "shared", staticmethod(new) if callable(new) else new)
    return (lambda x: use(x, owner().shared)), put


def from_a_module(value: Any) -> Any:
    module: Any = types.ModuleType("settings_of_a_test")
    module.value = value
    return (lambda x: use(x, module.value)), lambda new: setattr(module, "value", new)


def from_a_dict(value: Any) -> Any:
    table = {"k": value}
    return (lambda x: use(x, table["k"])), lambda new: table.update(k=new)


def from_a_dict_by_get(value: Any) -> Any:
    table = {"k": value}
    return (lambda x: use(x, table.get("k"))), lambda new: table.update(k=new)


def from_a_list(value: Any) -> Any:
    items = [None, value]

    def f(x: Any) -> Any:
        for item in items[1:]:
            x = use(x, item)
        return x

    return f, lambda new: items.__setitem__(1, new)


def from_objects_in_a_list(value: Any) -> Any:
    owners = [Plain(value)]

    def f(x: Any) -> Any:
        for owner in owners:
            x = use(x, owner.value)
        return x

    return f, lambda new: setattr(owners[0], "value", new)


def from_getattr(value: Any) -> Any:
    owner, name = Plain(value), "value"
    return (lambda x: use(x, getattr(owner, f"{name}"))), lambda new: setattr(owner, "value", new)


def from_a_generator(value: Any) -> Any:
    owner = Plain(value)

    def each() -> Iterator[Any]:
        yield owner.value

    return (lambda x: use(x, next(each()))), lambda new: setattr(owner, "value", new)


def from_a_default(value: Any) -> Any:
    def f(x: Any, k: Any = value) -> Any:
        return use(x, k)

    return f, lambda new: setattr(f, "__defaults__", (new,))


def from_a_compiled_function(value: Any) -> Any:
    owner = Plain(value)
    inner = ad.jit(lambda x: use(x, owner.value))
    return (lambda x: inner(x) * 2.0), lambda new: setattr(owner, "value", new)


READS = [
    from_a_global, from_a_closure, from_a_function_inside, from_an_attribute, from_a_nested_attribute, from_a_method,
    from_a_property, from_an_operator, from_a_slot, from_a_class, from_a_module, from_a_dict, from_a_dict_by_get,
    from_a_list, from_objects_in_a_list, from_getattr, from_a_generator, from_a_default, from_a_compiled_function,
]  # fmt: skip

# ---------------------------------------------------------------- how it is compiled


class Network(nn.Cell):
    def __init__(self, f: Any) -> None:
        super().__init__()
        self.f = f

    def construct(self, x: Any) -> Any:
        return self.f(x)


MODES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "jit": (ad.jit, lambda f: f),
    "interpreter": (lambda f: ad.jit(f, backend="interpreter"), lambda f: f),
    "jit of grad": (lambda f: ad.jit(ad.grad(f)), ad.grad),
    "grad of jit": (lambda f: ad.grad(ad.jit(f)), ad.grad),
    "vmap of jit": (
        lambda f: lambda x: ad.vmap(ad.jit(f))(np.full(2, x)),
        lambda f: lambda x: ad.vmap(f)(np.full(2, x)),
    ),
    "Cell": (lambda f: ad.jit(Network(f)), lambda f: f),
}


def number(y: Any) -> np.ndarray:
    return np.asarray(y.asnumpy() if isinstance(y, ad.Tensor) else y)


def combinations() -> Iterator[Any]:
    """Every change with every way to read, each in two of the modes, all of which come up in turn."""
    modes = itertools.cycle(MODES)
    for read, change in itertools.product(READS, CHANGES):
        for mode in itertools.islice(modes, 2):
            yield pytest.param(read, change, mode, id=f"{read.__name__}-{change}-{mode}")
        next(modes)


@pytest.mark.parametrize("read, change, mode", list(combinations()))
def test_a_changed_value_is_seen(read: Read, change: str, mode: str) -> None:
    value, apply = CHANGES[change]()
    f, put = read(value)
    make, plain = MODES[mode]
    compiled = make(f)
    for _ in range(4):  # until the shortest way is taken
        np.testing.assert_allclose(number(compiled(1.5)), number(plain(f)(1.5)))
    before = number(plain(f)(1.5))
    apply(put)
    want = number(plain(f)(1.5))
    assert want.shape != before.shape or not np.array_equal(want, before)  # a change that changes nothing tests nothing
    for _ in range(3):
        np.testing.assert_allclose(number(compiled(1.5)), want)


@pytest.mark.parametrize("change", ["float", "array", "list item"])
def test_the_reason_names_what_changed(change: str) -> None:
    value, apply = CHANGES[change]()
    f, put = from_an_attribute(value)
    compiled = ad.jit(f)
    compiled(1.5)
    apply(put)
    compiled(1.5)
    first, second = (c.reason for c in compiled.compilations)
    assert first == "first call"
    assert second.startswith("`owner.value` changed")


def test_an_equal_number_makes_no_new_graph() -> None:
    f, put = from_an_attribute(2.5)
    compiled = ad.jit(f)
    for _ in range(20):
        put(float("2.5"))
        assert compiled(2.0) == 5.0
    assert len(compiled.compilations) == 1


def test_what_is_not_read_makes_no_new_graph() -> None:
    owner = Plain(2.0)
    table = {"k": 1.0, "other": 0}
    compiled = ad.jit(lambda x: x * owner.value * table["k"])
    for k in range(5):
        owner.other = table["other"] = k  # type: ignore[attr-defined]
        assert compiled(2.0) == 4.0
    assert len(compiled.compilations) == 1


def test_values_that_go_to_and_fro_find_their_graphs_again() -> None:
    f, put = from_an_attribute("ab")
    compiled = ad.jit(f)
    for k in range(10):
        put("ab" if k % 2 else "abc")
        assert compiled(2.0) == (4.0 if k % 2 else 6.0)
    assert len(compiled.compilations) == 2


@pytest.mark.parametrize("read", [from_a_global, from_a_closure, from_an_attribute, from_a_dict])
@pytest.mark.parametrize("make", [float, lambda k: np.full(2, float(k)), lambda k: ad.Tensor(np.full(2, float(k)))])
def test_a_number_that_keeps_changing_becomes_an_input(read: Read, make: Callable[[int], Any]) -> None:
    f, put = read(make(1))
    compiled, slope = ad.jit(f), ad.grad(ad.jit(f))
    for k in range(12):
        put(make(k))
        np.testing.assert_allclose(number(compiled(2.0)), number(f(2.0)))
        np.testing.assert_allclose(number(slope(2.0)), number(ad.grad(f)(2.0)))
    assert len(compiled.compilations) <= 5


def test_of_other_things_that_keep_changing_there_is_a_warning() -> None:
    f, put = from_a_closure(1)
    compiled = ad.jit(f)

    def run() -> None:
        for k in range(12):
            put(k)
            assert compiled(2.0) == 2.0 * k

    with pytest.warns(UserWarning, match=r"`value` changes \(last values: 4, 5, 6\): pass it as an argument"):
        run()


def test_what_the_function_changes_itself() -> None:
    owner = Plain(1.0)

    def f(x: Any) -> Any:
        owner.value += 1.0
        return x * owner.value

    compiled = ad.jit(f)
    assert [float(compiled(1.0)) for _ in range(3)] == [2.0, 3.0, 4.0]


def test_a_large_array_that_python_needs_the_numbers_of() -> None:
    data = np.ones(9000)
    compiled = ad.jit(lambda x: x * float(data.sum()))
    assert compiled(1.0) == 9000.0
    data[0] = 11.0
    assert compiled(1.0) == 9010.0
