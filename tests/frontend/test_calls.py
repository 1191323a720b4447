"""Calls from converted code: the user's functions, methods and networks are traced, libraries are not."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops
from adjoint.core.spec import Spec
from adjoint.frontend import ControlFlowError, convert
from adjoint.frontend.calls import is_users, traceable
from adjoint.frontend.files import INSTALLED
from adjoint.graph.trace import NeedsNumberError, trace
from adjoint.graph.walk import replay

DATA = np.arange(100.0).reshape(20, 5)


def run(f: Any, x: Any) -> Any:
    """What the graph of a converted function gives."""
    graph, captured = trace(lambda v: [convert(f)(v)], [Spec(np.shape(x), np.asarray(x).dtype)])
    return replay(graph, [x, *(np.asarray(c._plain()) for c in captured)])[0]


def halved(x):
    while x > 1:
        x = x / 2
    return x


class Inner(nn.Cell):
    def construct(self, x):
        for i in range(10):
            if x.sum() > i:
                x = x * 0.9
        return x


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = ad.Parameter(ad.Tensor(np.array([1.0, 2.0, 3.0])), name="w")
        self.inner = Inner()

    def construct(self, x):
        if (x * self.w).sum() > 3:
            x = x * 2
        return self.inner(x).sum()


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_networks_are_traced(sign: float) -> None:
    net = Net()
    x = sign * np.arange(3.0)
    for f in (net, net.construct, lambda v: net(v)):
        np.testing.assert_allclose(run(f, x), net(ad.Tensor(x)).asnumpy())


def test_functions_handed_to_transforms_are_traced() -> None:
    def f(x):
        def square(v):
            if v > 1:
                return v * v
            return v * 3

        return ad.grad(square)(x) + ad.grad(halved)(x)

    for x in (0.5, 2.0):
        assert run(f, np.float64(x)) == f(ad.Tensor(np.float64(x))).asnumpy()


def test_functions_handed_to_builtins_are_traced() -> None:
    def f(x):
        total = functools.reduce(lambda a, b: a if a > b else b, map(halved, [x, x * 3, x * 5]))
        return total + functools.partial(halved)(x)

    assert run(f, np.float64(6.5)) == f(6.5)


def test_vmap_of_a_branch() -> None:
    x = np.arange(4.0)
    assert run(lambda v: ad.vmap(lambda u: u * 2 if u > 1 else -u)(v), x).tolist() == [0.0, -1.0, 4.0, 6.0]


def test_numpy_arrays_are_indexed_by_loop_variables() -> None:
    def f(x):
        s = 0.0
        for i in range(20):
            s = s + DATA[i] * x + DATA[i, 2]
        return s

    np.testing.assert_allclose(run(f, np.float64(2.0)), f(2.0))


def test_recursion_without_end_is_reported() -> None:
    def f(x):
        return x if x > 100 else f(x * 2)

    with pytest.raises(
        ControlFlowError, match="calls itself in a branch of the `if` at .*Write the recursion as a `while`"
    ):
        run(f, np.float64(1.0))


def test_a_number_of_items_that_is_not_known() -> None:
    def f(n):
        return ops.stack([i * 2 for i in range(n)])

    with pytest.raises(NeedsNumberError, match="go through the items with a `for` statement"):
        run(f, np.int64(3))


def test_extremes_of_iterators() -> None:
    def f(x):
        shapes = [(3,), (4, 5)]
        counts = max(len(s) for s in shapes) + min(map(len, shapes)) + max(zip([1.0, 2.0], [3.0, 4.0], strict=True))[1]
        return x * counts * max(iter([1, 2])) * max((v for v in ()), default=2.0) + max(x * k for k in (1.0, 3.0))

    assert run(f, np.float64(1.5)) == f(1.5)


def test_libraries_stay_as_they_are_wherever_they_are_installed() -> None:
    assert not is_users(os.path.join(os.path.dirname(np.__file__), "ma", "core.py"))
    assert os.path.dirname(os.path.dirname(np.__file__)) + os.sep in INSTALLED
    code = (
        "import sys; sys.path.append('/elsewhere/site-packages'); from adjoint.frontend.files import is_users; "
        "print(is_users('/elsewhere/site-packages/scipy/sparse/_csr.py'), is_users('/elsewhere/site-packages/mine.py'))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.split() == ["False", "True"]


def test_libraries_stay_as_they_are() -> None:
    for fn in (json.dumps, np.sum, ad.grad, functools.wraps):
        assert not is_users(getattr(fn, "__code__", json.dumps.__code__).co_filename)
    assert traceable(json.dumps) is json.dumps
    assert traceable(halved) is convert(halved)
    assert is_users(nn.Cell.__call__.__code__.co_filename)
