"""What is refused when a graph is built: each by its text, and by its file, line and column. For syntax see test_fence.py."""

from __future__ import annotations

import linecache
from itertools import count
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.frontend import ControlFlowError

NUMBER = count().__next__

# source, line and column of the position in the message, a part of the message
REFUSED = {
    "shape in a branch": (
        "def f(x):\n    if x.sum() > 0:\n        y = x\n    else:\n        y = x[:2]\n    return y\n", 2, 5,
        "`y` is float64[4] after the `if` branch and float64[2] after the `else` branch",
    ),
    "dtype in a branch": (
        "def f(x):\n    y = x\n    if x.sum() > 0:\n        y = ops.cast(x, ad.float32)\n    return y\n", 3, 5,
        "`y` is float32[4] after the `if` branch and float64[4] after the `else` branch",
    ),
    "structure in a branch": (
        "def f(x):\n    y = [x]\n    if x.sum() > 0:\n        y = [x, x]\n    return y\n", 3, 5, "`y` is a list of 2 after the `if` branch",
    ),
    "shape in a while": (
        "def f(x):\n    while x.sum() > 0:\n        x = ops.concat([x, x])\n    return x\n", 2, 5,
        "`x` changes from float64[4] to float64[8] in the body of the `while`",
    ),
    "dtype in a while": (
        "def f(x):\n    y = ops.cast(x, ad.float32)\n    while y.sum() > 0:\n        y = x\n    return y\n", 3, 5,
        "`y` changes from float32[4] to float64[4] in the body of the `while`",
    ),
    "growing list": (
        "def f(x):\n    s = []\n    while x.sum() > 1:\n        x = x / 2\n        s.append(x)\n    return s\n", 3, 5,
        "`s` changes from a list of 0 to a list of 1",
    ),
    "undefined on one branch": (
        "def f(x):\n    if x.sum() > 0:\n        z = x\n    return z\n", 2, 5,
        "`z` is only defined in one branch of the `if`",
    ),
    "undefined without rounds": (
        "def f(x):\n    while x.sum() > 1:\n        x = last = x / 2\n    return last\n", 2, 5,
        "`last` is only defined in the body of the `while`",
    ),
    "undefined without items": (
        "def f(x):\n    n = ops.cast(x.sum(), ad.int64)\n    for i in range(n):\n        y = x * i\n    return y\n", 3, 5,
        "`y` is only defined in the body of the `for`",
    ),
    "returns nothing": (
        "def f(x):\n    if x.sum() > 0:\n        return x\n", 2, 5, "the function returns float64[4] in the `if` branch and None otherwise",
    ),
    "returns another structure": (
        "def f(x):\n    if x.sum() > 0:\n        return x, x\n    return x\n", 2, 5, "the function returns a tuple of 2 in the `if` branch",
    ),
    "ternary": (
        "def f(x):\n    return x if x.sum() > 0 else x[0]\n", 2, 17,
        "the ternary gives float64[4] if the condition holds and float64[] if not",
    ),
    "attribute in a branch": (
        "class O: pass\ndef f(x):\n    o = O()\n    o.y = x\n    if x.sum() > 0:\n        o.y = x[:2]\n    return o.y\n", 5, 5,
        "`o.y` is float64[2] after the `if` branch",
    ),
    "strings": (
        "def f(x):\n    n = 'a'\n    if x.sum() > 0:\n        n = 'b'\n    return {'a': x, 'b': x}[n]\n", 3, 5,
        "`n` is 'b' after the `if` branch and 'a' after the `else` branch",
    ),
    "match": (
        "def f(x):\n    match x.sum():\n        case 0 | 1:\n            return x\n    return -x\n", 2, 5,
        "compares float64[] with values, but it is known only when the graph runs. Write it as a chain of `if`",
    ),
    "raise in a try": (
        "def f(x):\n    try:\n        if x.sum() > 0:\n            raise ValueError\n    except ValueError:\n        x = -x\n    return x\n", 4, 13,
        "Move it out of the `try`",
    ),
    "both raise": (
        "def f(x):\n    if x.sum() > 0:\n        raise ValueError\n    else:\n        raise KeyError\n", 2, 5, "both branches of the `if`",
    ),
    "recursion": (
        "def f(x):\n    return x if x.sum() > 100 else f(x * 2)\n", 2, 17, "Write the recursion as a `while` loop",
    ),
}  # fmt: skip


def defined(source: str) -> tuple[Any, str]:
    filename = f"refusal{NUMBER()}.py"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    space: dict[str, Any] = {"ad": ad, "ops": ad.ops}
    exec(compile(source, filename, "exec"), space)
    return space["f"], filename


@pytest.mark.parametrize("case", REFUSED)
def test_refused_at_its_place(case: str) -> None:
    source, line, column, message = REFUSED[case]
    f, filename = defined(source)
    with pytest.raises(ControlFlowError) as caught:
        ad.jit(f)(np.arange(4.0))
    assert message in str(caught.value)
    assert f"{filename}:{line}:{column}" in str(caught.value)


@pytest.mark.parametrize(
    "source",
    ["def f(x):\n    return x if x > 0 else -x\n", "def f(x):\n    while x > 0:\n        x = x - 1\n    return x\n"],
    ids=["ternary", "while"],
)
def test_a_condition_of_several_elements(source: str) -> None:
    f, filename = defined(source)
    with pytest.raises(
        TypeError, match=rf"shape \(4,\) is ambiguous; use .any\(\) or .all\(\)\n    called at {filename}:2"
    ):
        ad.jit(f)(np.arange(4.0))
