"""Programs written for NumPy: every mode must give NumPy's values, and the derivatives that differences of them give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import adjoint as ad

Function = Callable[[Any], Any]


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

    slope = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[i] = eps
        slope[i] = (loss(x + step) - loss(x - step)) / (2 * eps)
    found = []
    for name, (run, is_gradient) in modes(f, loss, traced).items():
        got, right = np.asarray(run(ad.Tensor(x))), slope if is_gradient else want
        if got.shape != right.shape or not np.allclose(got, right, rtol=1e-5, atol=1e-5):
            found.append(f"{name}: {got} in place of {right}")
    return found
