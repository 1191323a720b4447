"""The op cards and the programs of the corpus on a GPU, against the host: values and gradients, as many as fit into a time.

python tests/gpu/check_devices.py [SECONDS] [DEVICE]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "support")]

import adjoint as ad  # noqa: E402
from adjoint.core import tree  # noqa: E402
from adjoint.core.dispatch import wrap  # noqa: E402
from adjoint.ops import REGISTRY  # noqa: E402
from adjoint.testing.cases import cases  # noqa: E402
from corpus import PROGRAMS, Program  # noqa: E402


def arrays(out: Any) -> list[np.ndarray]:
    return [np.asarray(y.asnumpy() if isinstance(y, ad.Tensor) else y) for y in tree.leaves(out)]


def difference(found: Any, wanted: Any) -> str | None:
    """How two results differ, beyond rounding; None if they do not."""
    for x, y in zip(arrays(found), arrays(wanted), strict=True):
        if (x.shape, x.dtype) != (y.shape, y.dtype):
            return f"{x.dtype}{x.shape} is not {y.dtype}{y.shape}"
        scale = 1.0 + float(np.max(np.abs(y[np.isfinite(y)]), initial=0.0)) if y.dtype.kind in "fc" else 1.0
        if not np.allclose(x, y, rtol=0.0, atol=1e-9 * scale, equal_nan=True):
            return f"{np.max(np.abs(x - y))} apart"
    return None


def card(name: str, device: str) -> str | None:
    """The first sample of a card in dynamic mode, on the device and on the host."""
    (call, *_), *_ = cases(REGISTRY[name], rounds=1)
    op, xs = call.op, call.xs
    there = [wrap(np.asarray(x)).to(device) if isinstance(x, (np.ndarray, ad.Tensor)) else x for x in xs]
    return difference(op(*there), op(*xs))


def program(one: Program, device: str) -> str | None:
    """A program's value and gradient, compiled for the device and in dynamic mode on the host."""
    both = ad.value_and_grad(one.fn, one.positions)
    point = one.points[0]

    def given() -> list[Any]:
        moving = {i: tree.map(lambda x: ad.Tensor(np.array(x, np.float64)), point[i]) for i in one.positions}
        return [moving.get(i, x) for i, x in enumerate(point)]

    return difference(ad.jit(both, device=device)(*given()), both(*given()))


def checks(device: str) -> Iterator[tuple[str, Callable[[], str | None]]]:
    """Cards and programs by turns."""
    cards = [n for n, c in REGISTRY.items() if not c.opaque]
    programs = [p for p in PROGRAMS.values() if p.static]
    for k in range(max(len(cards), len(programs))):
        if k < len(cards):
            yield cards[k], lambda name=cards[k]: card(name, device)
        if k < len(programs):
            yield programs[k].name, lambda one=programs[k]: program(one, device)


def main(seconds: float = 200.0, device: str = "gpu") -> int:
    """Say what differs, and how much was looked at."""
    end, done, wrong = time.monotonic() + seconds, 0, 0
    for name, check in checks(device):
        if time.monotonic() > end:
            break
        try:
            found = check()
        except Exception as error:
            found = f"{type(error).__name__}: {str(error)[:300]}"
        done += 1
        if found:
            wrong += 1
            print(f"{name}: {found}", flush=True)
    print(f"{done} cards and programs on {device}, {wrong} differ")
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main(*[kind(x) for kind, x in zip((float, str), sys.argv[1:])]))
