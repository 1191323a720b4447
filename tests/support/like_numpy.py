"""Programs written for NumPy: every mode must give NumPy's values, and the derivatives that differences of them give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import adjoint as ad

Function = Callable[[Any], Any]
POINT = np.array([0.5, 0.9, 1.3, 1.1, 0.7])


class Programs(dict[str, Function]):
    """Programs by their names; as a decorator it takes one in."""

    def __call__(self, f: Function) -> Function:
        self[f.__name__] = f
        return f


def modes(f: Function, loss: Function, traced: bool = False) -> dict[str, tuple[Function, bool]]:
    """Ways to run a program, each with whether it gives a gradient; `traced` programs need a graph under `vmap`."""
    graph = ad.jit if traced else lambda g: g
    return {
        "dynamic": (f, False),
        "jit": (ad.jit(f), False),
        "jit, interpreter": (ad.jit(f, backend="interpreter"), False),
        "vmap": (lambda x: graph(ad.vmap(f))(x[None])[0], False),
        "grad": (ad.grad(loss), True),
        "jit of grad": (ad.jit(ad.grad(loss)), True),
        "grad of jit": (ad.grad(ad.jit(loss)), True),
        "forward": (ad.jacfwd(loss), True),
        "vmap of grad": (lambda x: graph(ad.vmap(ad.grad(loss)))(x[None])[0], True),
    }


def disagreements(f: Function, x: np.ndarray, traced: bool = False, eps: float = 1e-6) -> list[str]:
    """The modes in which a program does not do what NumPy does."""
    want = np.asarray(f(x.copy()))
    weights = np.cos(np.arange(want.size)).reshape(want.shape)

    def loss(v: Any) -> Any:
        return (f(v) * weights).sum()

    slope = differences(loss, x, eps)
    found = []
    for name, (run, is_gradient) in modes(f, loss, traced).items():
        got, right = np.asarray(run(ad.Tensor(x))), slope if is_gradient else want
        if got.shape != right.shape or not np.allclose(got, right, rtol=1e-5, atol=1e-5):
            found.append(f"{name}: {got} in place of {right}")
    return found


def differences(f: Function, x: np.ndarray, h: float = 1e-6) -> np.ndarray:
    """The gradient of a NumPy function by central differences."""
    steps = h * np.eye(x.size).reshape(x.size, *x.shape)
    return np.array([(f(x + s) - f(x - s)) / (2 * h) for s in steps]).reshape(x.shape)


def check_gradient(f: Function, x: np.ndarray = POINT, rtol: float = 1e-6) -> None:
    """Value and gradient of a function written for NumPy, by both modes, against NumPy itself."""
    expected = differences(f, x)
    value, slope = ad.value_and_grad(f)(x)
    np.testing.assert_allclose(np.asarray(value, float), f(x), rtol=1e-10)
    np.testing.assert_allclose(slope.asnumpy(), expected, rtol=rtol, atol=1e-7)
    t = np.cos(np.arange(x.size)).reshape(x.shape)
    pushed = ad.jvp(f, ad.Tensor(x), ad.Tensor(t))[1]
    np.testing.assert_allclose(pushed.asnumpy(), (expected * t).sum(), rtol=1e-5, atol=1e-6)
