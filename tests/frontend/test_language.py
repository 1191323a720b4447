"""One program for each construct of Python: the graph gives what the original gives."""

from __future__ import annotations

import contextlib
import functools
import linecache
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.core import tree


def first_defined_in_a_for(x):
    for i in range(12):
        y = x * i
        z, (w, *rest) = y + 1, [y, i, i + 1]
    return y, z, w, rest, i


def first_defined_in_a_while(x):
    n = 0
    while n < 12:
        last = x * n
        n += 1
    return last


def first_defined_in_nested_loops(x):
    for _ in range(10):
        for j in range(9):
            y = x + j
        x = y * 0.5
    return y


def walrus_in_and(x):
    y = x * 0
    if x > 1 and (y := x * 2) > 3:
        return y
    return y - x


def walrus_in_or(x):
    if x < 0 or (y := x * 2) > 100:
        y = x
    return y


def walrus_in_a_ternary(x):
    y = x
    z = (y := x * 2) if x > 0 else (y := x * 3)
    return y, z


def walrus_in_a_comparison(x):
    return 0 < (y := x + 1) < 5, y


def walrus_in_a_comprehension(x):
    rows = [y for k in range(4) if (y := k * 2) > 2]
    return x * sum(rows), y


def walrus_in_a_nested_condition(x):
    while (k := x * 0.5) > 1 and (m := k * 2) > 1:
        x = m - 1
    return x, k


def nonlocal_of_a_nested_function(x):
    total, calls = x * 0, 0

    def add(v):
        nonlocal total, calls
        calls += 1
        if v > 2:
            total = total + v

    for i in range(12):
        add(x * i)
    add(x)
    return total, calls


class Vector:
    def __init__(self, x, scale=2.0):
        if x > 0:
            self.x = x * scale
        else:
            self.x = -x
        self.parts = [self.x]


class Longer(Vector):
    def __init__(self, x, *, by=1.0):
        super().__init__(x, scale=by)
        while self.x > 10:
            self.x = self.x / 2


@dataclass
class Checked:
    x: Any

    def __post_init__(self):
        self.x = self.x if self.x > 0 else -self.x


def constructors(x):
    a, b = Vector(x), Longer(x * 9, by=3.0)
    return a.x, b.x, a.parts[0], Checked(x).x


def for_else(x):
    for i in range(12):
        if x * i > 20:
            found = i * 1.0
            break
    else:
        found = -1.0
    return found * x


def while_else(x):
    k = 0
    while k < 12:
        k += 1
        x = x * 1.1
        if x > 8:
            break
    else:
        x = -x
    return x, k


def matching_plain_values(x):
    total = x
    for kind in ("double", ("add", 3), {"scale": 2.0}, None):
        match kind:
            case "double":
                total = total * 2
            case ("add", n):
                total = total + n
            case {"scale": s} if s > 1:
                total = total * s if total > 0 else total
            case _:
                pass
    return total


def try_around_python(x):
    table = {"a": 1.0}
    try:
        scale = table["b"]
    except KeyError as error:
        scale = len(error.args) * 3.0
    else:
        scale = 0.0
    finally:
        x = x + 1
    return x * scale


def try_inside_a_branch(x):
    if x > 1:
        try:
            y = x * {"a": 1.0}["b"]
        except KeyError:
            y = x * 5
    else:
        y = x
    return y


def with_blocks(x):
    with contextlib.suppress(KeyError), contextlib.nullcontext(3.0) as k:
        if x > 1:  # noqa: SIM108
            x = x * k
        else:
            x = x + {"a": 1.0}["a"]
        x = x + 1
    return x


def star_unpacking(x):
    a, *b = [x, x * 2, x * 3]
    *c, d = (*b, x if x > 0 else -x)
    return a, b, c, d, max(*b, x), {**{"k": a}, "m": d}


def chained_comparisons(x):
    inside = -1 < x <= 4 != 3
    return ops.cast(inside, ad.float64) if 0 < x < 100 > 5 else x


def keyword_only(x, *, scale=2.0, **more):
    return x * scale if x > more.get("limit", 1.0) else x


def keywords(x):
    return keyword_only(x, scale=3.0), keyword_only(x, limit=9.0)


def doubled(fn):
    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        result = fn(*args, **kwargs)
        return result * 2 if result > 0 else result

    return wrapper


@doubled
def decorated(x):
    return x + 1 if x > 1 else -x


def local_decorator(x):
    @doubled
    def inner(v):
        return v if v > 1 else -v

    return inner(x)


def comprehensions(x):
    d = {k: x * k if x > k else x for k in range(3)}
    s = {k % 2 for k in range(5)}
    return [v + 1 for v in d.values() if v is not None], len(s), [[x * i * j for i in range(2)] for j in range(2)]


def generators(x):
    powers = list(x**k for k in range(3))  # noqa: C400
    return sum(x * k if x > k else x for k in range(4)), powers, tuple(p * 2 for p in powers), max(p for p in powers)


def iteration_builtins(x):
    total = x * 0
    for a, b in zip([1.0, 2.0], [x, x * 2], strict=True):
        total = total + a * b
    for i, a in enumerate([x, x], start=5):
        total = total + i * a
    for i in reversed(range(3)):
        total = total * 2 + i
    for k in sorted([3, 1, 2], key=lambda v: -v):
        total = total - k
    rows = ops.reshape(x * np.arange(24.0), (12, 2))
    for i, (a, b) in enumerate(zip(rows, rows, strict=True), start=1):
        total = total + (a * b).sum() * i
    return total


def several_lambdas(x):
    fs = [lambda v: v if v > 1 else -v, lambda v: v * 2 if v > 1 else v]
    return [f(x) for f in fs], (lambda v, k=2: v * k if v > 0 else v)(x), list(map(lambda v: v if v > 0 else -v, [x]))  # noqa: C417


def slices(x):
    v = x * np.arange(6.0)
    a, *_ = v[1:3]
    v[2:4] = 0.0
    v[-1] += x
    return a, v[::2], v[None, 1]


def deleted(x):
    y, z = x, [x, x * 2]
    del y, z[0]
    return z if x.ndim == 0 else x


def nested_tuples_and_dicts(x):
    state = {"w": (x, [x * 2]), "n": 0}
    for _ in range(10):
        w, (b,) = state["w"]
        state = {"w": (w * 0.9, [b + w]), "n": state["n"] + 1}
    return state


def early_returns_from_nested_loops(x):
    for i in range(10):
        for j in range(10):
            if x * i * j > 30:
                return x * i, j
    return x, -1


def conditional_expressions_in_arguments(x):
    return ops.maximum(x if x > 0 else -x, 1.0 if not x > 2 else 2.0)


def string_building(x):
    name = "scale"
    return {f"{name}_{i}": x * i for i in range(2)}


def global_constants(x):
    return x * (SCALE if x > 0 else -SCALE) + len(NAMES)


SCALE, NAMES = 3.0, ["a", "b"]

PROGRAMS = [f for f in dict(globals()).values() if getattr(f, "__module__", "") == __name__ and callable(f)]
PROGRAMS = [f for f in PROGRAMS if not isinstance(f, type) and f.__name__ not in ("doubled", "keyword_only")]


@pytest.mark.parametrize("x", [0.5, 3.0, -2.5])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_the_graph_gives_what_the_original_gives(f: Any, x: float) -> None:
    wanted = f(ad.Tensor(np.float64(x)))
    got = ad.jit(f)(ad.Tensor(np.float64(x)))
    assert [p for p, _ in tree.paths(wanted)] == [p for p, _ in tree.paths(got)]
    for left, right in zip(tree.leaves(wanted), tree.leaves(got), strict=True):
        np.testing.assert_allclose(np.asarray(left), np.asarray(right), rtol=1e-12)


def test_float32_stays_float32() -> None:
    def f(x):
        t = 0.0
        for i in range(20):
            x = x * 0.5 + t * i
            t += 0.1
        return x

    x = ad.Tensor(np.float32(2.0))
    got = ad.jit(f)(x)
    assert got.dtype == ad.float32
    np.testing.assert_allclose(got.asnumpy(), f(x).asnumpy(), rtol=1e-6)


def typed(source: str, filename: str) -> Any:
    """A function typed at a prompt."""
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    space: dict[str, Any] = {}
    exec(compile(source, filename, "exec"), space)
    return space["f"]


def test_functions_typed_at_a_prompt() -> None:
    f = typed("def f(x):\n    return x * 2 if x > 0 else -x\n", "<python-input-7>")
    assert ad.jit(f)(np.float64(-3.0)) == 3.0


def test_functions_without_source_run_as_they_are() -> None:
    space: dict[str, Any] = {}
    exec("def f(x):\n    return x * 2 + 1\n", space)
    jitted = ad.jit(space["f"])
    assert jitted(np.float64(3.0)) == 7.0
    assert "source of `f` is not available" in jitted.notes[0]
