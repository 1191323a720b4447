"""Converted functions do on plain values exactly what the originals do."""

from __future__ import annotations

import contextlib
import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from adjoint.frontend import convert

LOG: list[Any] = []


def noted(x: Any) -> Any:
    """Notes that it was evaluated."""
    LOG.append(x)
    return x


def elif_chain(x):
    if x < 0:
        return "neg"
    elif x == 0:
        return "zero"
    elif x > 100:
        r = "big"
    else:
        r = "small"
    return r


def only_in_one_branch(x):
    if x > 0:
        y = x
    return y


def unbound_until_used(x):
    if x > 0:
        y = 1
    z = 3
    if x > 5:
        z += y
    return z


def loop_variable_after(n):
    for i in range(n):  # noqa: B007
        pass
    return i


def for_else(n):
    for i in range(5):
        if i == n:
            break
    else:
        return "none", i
    return "found", i


def while_else(n):
    k = 0
    while k < 5:
        k += 1
        if k == n:
            continue
        if k * 2 == n:
            break
    else:
        k = -k
    return k


def nested_breaks(n):
    seen = []
    for i in range(4):
        for j in range(4):
            if j == n:
                break
            if i == j:
                continue
            if i * j == 6:
                return seen, "product"
            seen.append((i, j))
        else:
            continue
        seen.append("broke")
    return seen


def evaluation_order(x):
    LOG.clear()
    a = noted(x) and noted(0) and noted(3)
    b = noted(0) or noted(x) or noted(5)
    c = noted(1) < noted(x) < noted(4) < noted(9)
    d = noted("t") if noted(x) else noted("f")
    e = not noted([])
    return a, b, c, d, e, list(LOG)


def values_of_boolean_operators(x):
    return x and [], x or "other", None or x, (x or 3) and "yes", [] or {} or x


def walruses(xs):
    if (n := len(xs)) > 1 and (m := n + 1):
        n = m
    while (k := n - 1) > 0:
        n = k
    total = [y := v * 2 for v in range(3)]
    return n, k, y, total, (z := 5) if xs else 6  # noqa: F841


def try_and_finally(x):
    log = []
    for i in range(4):
        try:
            if i == x:
                continue
            if i == 2:
                raise ValueError(i)
            log.append(i)
        except ValueError as error:
            log.append(str(error))
            if x == 7:
                return log
        else:
            log.append("else")
        finally:
            log.append("finally")
    return log


def with_blocks(x):
    with contextlib.suppress(ZeroDivisionError):
        if x > 1:
            return 1 / (x - 2)
        x = x / x
    return x, "after"


def matching(x):
    for item in ([x], {"k": x}, x, "s"):
        match item:
            case [v]:
                if v > 1:
                    continue
            case {"k": w} if w == 1:
                return "one", w
            case str() as s:
                return s, x
            case _:
                x += 1


def closures(n):
    fs = [lambda y: y + n if y > 1 else n]
    for i in range(3):

        def g(y, i=i):
            if y > i:
                return y * n
            return i

        fs.append(g)
    n += 1
    counter = 0

    def bump(by):
        nonlocal counter
        while by > 0:
            counter += by
            by -= 1
        return counter

    return [f(2) for f in fs], bump(n), counter


def recursion(n):
    return n * recursion(n - 1) if n > 1 else 1


def comprehensions(n):
    rows = [[i * j if i != j else -1 for j in range(n) if j % 2 or i] for i in range(n) if not i == 3]  # noqa: SIM201
    return rows, {k: v for k, v in enumerate("abc") if k < n}, {i % 2 for i in range(n)}, sum(x for x in range(n) if x)


def containers(xs):
    d, s = {}, set()
    for i, (k, *rest) in enumerate(zip("abc", xs, xs[::-1])):
        d[k] = d.get(k, 0) + rest[0]
        if rest[0] in s or i > 1:
            d[k] += 1
        s.add(rest[-1])
    a, *b = xs
    return d, sorted(s, key=lambda v: -v), a, b, max(xs), min(xs, key=abs), list(map(lambda v: v if v > 1 else 0, xs))  # noqa: C417


def starred(*args, k=1, **more):
    t = (*args, k)
    if more:
        t += tuple(more.values())
    return call_through(*t, **{"last": k} if k > 1 else {})


def call_through(*args, last=0):
    return [a for a in args if a] + [last]


def asserts(x):
    assert x > 1, f"{x} is not more than 1"
    assert isinstance(x, int)
    return x


def raises(x):
    if x > 2:
        raise KeyError(x)
    for i in range(x):
        if i == 1:
            raise IndexError from ValueError("cause")
    return x


def annotations(x):
    y: int = 3
    z: undefined_name  # noqa: F821, F842
    if x:
        y: float = x / 2
    return y


def imports_and_classes(x):
    if x:
        import math as m

        @dataclass
        class P:
            v: float = 2.0

            def norm(self):
                if self.v > 1:
                    return m.sqrt(self.v)
                return 0

        return P(x).norm()
    from math import pi

    return pi


def chained_comparisons_of_arrays(x):
    try:
        return 0 < np.array([x, 1]) < 2
    except ValueError as error:
        return str(error)


def formatting(x):
    return f"{x if x > 1 else 'small'}: {x:>{4 if x else 2}} {x!r}"


def infinite(x):
    while True:
        x += 1
        if x % 7 == 0:
            return x
        if x > 100:
            break
    return "never"


def iterators(n):
    it = iter(range(10))
    for a in it:
        if a == n:
            break
    return list(it), next(it, "end")


def globals_and_builtins(x):
    LOG.append(x)
    return LOG.pop(), [abs, len][x > 1](str(x)) if x > 1 else "LOG" in globals()


def partials(x):
    f = functools.partial(call_through, 1, last=x)
    return f(2), functools.reduce(lambda a, b: a if a > b else b, [1, x, 3])


CASES: list[tuple[Any, list[tuple]]] = [
    *[(f, [(v,) for v in (-1, 0, 1, 2, 3, 7, 200)]) for f in (
        elif_chain, only_in_one_branch, unbound_until_used, for_else, while_else, nested_breaks, evaluation_order, try_and_finally,
        with_blocks, matching, closures, recursion, asserts, raises, annotations, imports_and_classes, formatting, infinite,
        chained_comparisons_of_arrays, globals_and_builtins, partials,
    )],
    (loop_variable_after, [(0,), (3,)]),
    (values_of_boolean_operators, [(0,), (1,), ("",), ([],), (None,)]),
    (walruses, [([],), ([1],), ([1, 2, 3],)]),
    (comprehensions, [(0,), (3,), (5,)]),
    (containers, [([1, 2, 3],), ([5, 5, -9],)]),
    (starred, [(), (1, 2), (0, 3)]),
    (iterators, [(3,), (9,), (20,)]),
]  # fmt: skip


def outcome(f: Any, args: tuple) -> Any:
    try:
        return f(*args)
    except NameError as error:  # an unbound local of a function is a free variable of a block of ours
        return "NameError", str(error).split("'")[1]
    except AssertionError as error:  # pytest adds lines to those of the original
        return "AssertionError", str(error).splitlines()[0]
    except Exception as error:
        return type(error), error.args, type(error.__cause__)


@pytest.mark.parametrize(
    "f, args", [(f, a) for f, rows in CASES for a in rows], ids=lambda v: getattr(v, "__name__", str(v))
)
def test_as_the_original(f: Any, args: tuple) -> None:
    assert outcome(convert(f), args) == outcome(f, args)
