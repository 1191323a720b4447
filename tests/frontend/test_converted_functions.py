"""What a converted function keeps of the original: signature, closure, traceback, what is known of it."""

from __future__ import annotations

import inspect
import itertools
import traceback
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.frontend import convert
from tests.frontend.test_convert import raises, starred


def test_keywords_and_defaults() -> None:
    def f(a, b=2, *, c=3, **rest):
        return (a, b, c, rest) if c else None

    assert convert(f)(1, c=4, d=5) == f(1, c=4, d=5)
    assert inspect.signature(convert(f)) == inspect.signature(f)
    assert convert(f).__name__ == "f" and convert(f).__qualname__ == f.__qualname__
    assert starred(1, k=2, z=3) == convert(starred)(1, k=2, z=3)


def test_the_closure_is_shared_not_copied() -> None:
    n = 1

    def f():
        return n if n else -1

    converted = convert(f)
    n = 7
    assert converted() == 7


def test_tracebacks_show_the_users_lines() -> None:
    with pytest.raises(KeyError) as caught:
        convert(raises)(5)
    last = traceback.extract_tb(caught.tb)[-1]
    assert (last.name, last.line) == ("raises", "raise KeyError(x)")
    assert last.filename == raises.__code__.co_filename


def test_results_of_numpy() -> None:
    def f(x):
        total = 0.0
        for row in x:
            if row.sum() > 2 and not (row < 0).any():
                total += np.sqrt(row).sum()
        return total if total else None

    for x in (np.arange(6.0).reshape(3, 2), -np.ones((2, 2))):
        assert convert(f)(x) == f(x)


def test_deeply_nested_guards() -> None:
    lines = "".join(f"    if x == {i}:\n        return {i} * 2\n" for i in range(60))
    namespace = _defined("def f(x):\n" + lines + "    return -1\n")
    for x in (0, 31, 59, 99):
        assert convert(namespace["f"])(x) == namespace["f"](x)


def _defined(source: str, number: Any = itertools.count()) -> dict[str, Any]:
    import linecache

    filename = f"<convert {next(number)}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    namespace: dict[str, Any] = {}
    exec(compile(source, filename, "exec"), namespace)
    return namespace


def test_functions_that_need_nothing_of_the_runtime_are_known_as_converted() -> None:
    """Read again, by a transform inside the graph, they are neither looked up in their file nor warned about."""

    def marked(fn: Any) -> Any:
        return fn

    @marked
    def product(x: Any, y: Any) -> Any:
        return (x[:, None] - y[None, :]) ** 2

    x, y = np.array([1.0, 2.0]), np.array([0.5, 3.0])
    wanted = 2 * (x[:, None] - y[None, :])
    np.testing.assert_allclose(
        ad.jit(lambda x, t: ad.jvp(lambda x: product(x, y), (x,), (t,))[1])(x, np.ones(2)), wanted
    )
    np.testing.assert_allclose(
        ad.jit(lambda xs, ts: ad.jvp(product, xs, ts)[1])((x, y), (np.ones(2), np.zeros(2))), wanted
    )
