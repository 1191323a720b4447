"""Names for one object, errors that a `try` would catch, objects after a refusal: as Python has them, or refused."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.frontend import ControlFlowError, LeakError


def rebound_and_changed(x: Any) -> Any:
    a = [x, x]
    b = a
    for _ in range(20):
        a[0] = a[0] * 1.1
        a = a
    return b[0]


def changed_by_a_function(x: Any) -> Any:
    def step(s):
        s[0] = s[0] * 1.1
        return s

    a = [x, x]
    b = a
    for _ in range(20):
        a = step(a)
    return a[0] + b[0]


def changed_then_replaced(x: Any) -> Any:
    y = ad.Tensor(np.zeros(2))
    z = y
    for _ in range(20):
        y[0] = y[0] + x
        y = y * 1.5
    return z[0] + y[0]


def array_updated_in_place(x: Any) -> Any:
    a = np.zeros(2)
    b = a
    for _ in range(20):
        a += 1.0
        x = x * 1.01
    return x * b.sum()


def same_list_after_a_branch(x: Any) -> Any:
    a = [x]
    b = a
    if x > 0:
        a[0] = x * 2
        a = a
    a[0] = a[0] + 5.0
    return b[0]


def condition_that_acts(x: Any) -> Any:
    calls = [0]

    def small(y):
        calls[0] += 1
        return y < 9

    while small(x):
        x = x + 4
    return x + calls[0]


def condition_that_binds(x: Any) -> Any:
    n = 0.0
    while (x := x / 2) > 1:
        n = n + 1
    return x + n


@pytest.mark.parametrize("x", [3.0, -3.0, 12.0])
@pytest.mark.parametrize(
    "f",
    [
        rebound_and_changed, changed_by_a_function, changed_then_replaced, array_updated_in_place, same_list_after_a_branch,
        condition_that_acts, condition_that_binds,
    ],
)  # fmt: skip
def test_one_object_under_two_names(f: Any, x: float) -> None:
    for run in (ad.jit(f), lambda x: ad.jit(ad.value_and_grad(f))(x)[0]):
        assert float(run(x)) == pytest.approx(float(f(x)))


def checked(x: Any) -> Any:
    if x > 0:
        raise ValueError("positive")
    return x


def caught_outside(x: Any) -> Any:
    try:
        y = checked(x)
    except ValueError:
        y = x * 10
    return y


def caught_by_all(x: Any) -> Any:
    try:
        y = checked(x)
    except Exception:  # the program under test: a user's catch-all
        y = x * 10
    return y


def python_error_in_a_branch(x: Any) -> Any:
    try:
        y = x * {"a": 1.0}["b"] if x > 0 else x
    except KeyError:
        y = x * 7
    return y


@pytest.mark.parametrize("f", [caught_outside, caught_by_all, python_error_in_a_branch])
def test_what_a_try_around_would_catch_is_refused(f: Any) -> None:
    with pytest.raises(ControlFlowError, match=r"test_identity.py:\d+"):
        ad.jit(f)(1.0)


def test_a_try_inside_the_branch_catches() -> None:
    def f(x: Any) -> Any:
        if x > 0:
            try:
                y = checked(1.0)
            except ValueError:
                y = x * 3
        else:
            y = x
        return y

    assert [float(ad.jit(f)(x)) for x in (2.0, -2.0)] == [6.0, -2.0]


seen: list = []


def test_objects_are_usable_after_a_leak() -> None:
    kept = {"a": [1.0]}

    def f(x: Any) -> Any:
        seen.append(x)
        kept["a"].append(x * 2)
        return x

    with pytest.raises(LeakError):
        ad.jit(f)(1.0)
    assert seen == []
    assert kept == {"a": [1.0]}


def test_objects_are_usable_after_any_error() -> None:
    kept: list = [1.0]

    def f(x: Any) -> Any:
        kept[0] = x
        raise RuntimeError("stop")

    with contextlib.suppress(RuntimeError):
        ad.jit(f)(2.0)
    assert kept == [1.0]


def test_lists_inside_a_nested_jit() -> None:
    def f(x: Any) -> Any:
        outer = []

        @ad.jit
        def inner(y):
            pair = [y, x]
            pair.append(y)
            outer.append(x)
            return pair[0] + pair[1]

        return inner(x * 2) + outer[0]

    assert float(ad.jit(f)(1.0)) == 4.0


def test_keys_in_another_order_are_refused() -> None:
    def f(x: Any) -> Any:
        d = {}
        if x > 0:
            d["a"], d["b"] = x, 2 * x
        else:
            d["b"], d["a"] = x, 3 * x
        return d["a"]

    with pytest.raises(ControlFlowError, match=r"keys \['a', 'b'\]"):
        ad.jit(f)(1.0)


_MADE = {"tensor": "ops.zeros(2, ad.float64) + x", "list": "[x, x]", "dict": "{0: x, 1: x}"}
_MERGES = {
    "the same in both": "c = a if x > 1 else a",
    "one of two": "c = a if x > 1 else b",
    "one of two, by statements": "c = b\n    if x > 1:\n        c = a",
    "itself in a loop": "c = a\n    k = 0\n    while k < x:\n        a[0] = a[0] + x\n        c = c\n        k += 1",
    "exchanged": "c = a\n    k = 0\n    while k < x:\n        a, b = b, a\n        a[0] = a[0] + x\n        k += 1",
}


@pytest.mark.parametrize("written", ["a", "b", "c"])
@pytest.mark.parametrize("merge", _MERGES)
@pytest.mark.parametrize("made", _MADE)
def test_what_is_written_after_a_merge_reaches_all_names_or_is_refused(
    made: str, merge: str, written: str, tmp_path
) -> None:
    source = (
        f"import adjoint as ad\nfrom adjoint import ops\ndef f(x):\n    a = {_MADE[made]}\n    b = {_MADE[made]}\n"
        f"    {_MERGES[merge].format(made=_MADE[made])}\n    {written}[0] = 7 * x\n    return a[0] + 10 * b[0] + 100 * c[0]\n"
    )
    path = tmp_path / "program.py"
    path.write_text(source)
    space: dict[str, Any] = {}
    exec(compile(source, str(path), "exec"), space)
    for x in (0.5, 2.5):
        with contextlib.suppress(ControlFlowError):
            assert float(ad.jit(space["f"])(x)) == pytest.approx(float(space["f"](x)))


def test_a_tensor_that_was_merged_is_read_or_copied() -> None:
    def f(x, a, b):
        c = a if x > 1 else b
        c = c.copy()
        c[0] = x
        return c.sum() + a.sum()

    a, b = ad.Tensor([1.0, 2.0]), ad.Tensor([3.0, 4.0])
    assert float(ad.jit(f)(2.0, a, b)) == float(f(2.0, a, b))
    a[0] = 5.0  # the refusal ends with the trace
