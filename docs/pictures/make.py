"""The pictures of the documentation, made anew: python docs/pictures/make.py [names]."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

import adjoint as ad
from adjoint import numeric, symbolic

FOLDER = Path(__file__).parent


def logistic(x):
    return 4 * x * (1 - x)


def loss(x):
    return math.exp(math.exp(x) + math.exp(x) ** 2) + math.sin(math.exp(x) + math.exp(x) ** 2)


def recursion(x, n=4):
    for _ in range(n - 1):
        x = logistic(x)
    return x


def by_hand(x):
    x2 = 4 * x * (1 - x)
    x3 = 4 * x2 * (1 - x2)
    return 4 * (1 - 2 * x3) * 4 * (1 - 2 * x2) * 4 * (1 - 2 * x)


def error_curve(path: Path) -> None:
    numeric.error_curve(np.exp, 1.0).draw(path)


def error_curve_all(path: Path) -> None:
    numeric.error_curve(np.exp, 1.0, methods=("forward", "central", "richardson", "complex")).draw(path)


def swell_logistic(path: Path) -> None:
    symbolic.swell(logistic, 8).draw(path)


def swell_loss(path: Path) -> None:
    symbolic.swell(loss, 4).draw(path)


def four_ways(path: Path) -> None:
    ad.compare(recursion, 0.2, manual=by_hand).draw(path)


PICTURES: dict[str, Callable[[Path], None]] = {
    f.__name__: f for f in (error_curve, error_curve_all, swell_logistic, swell_loss, four_ways)
}

if __name__ == "__main__":
    for name in sys.argv[1:] or PICTURES:
        PICTURES[name](FOLDER / f"{name}.png")
        print(FOLDER / f"{name}.png")
