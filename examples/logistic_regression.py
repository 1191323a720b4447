"""Logistic regression in 20 lines of mathematics: no layers, no classes, gradients and curvature of a plain function.

    python examples/logistic_regression.py

The handwritten digits of the package are told apart, even from odd, by Newton's method on the exact Hessian.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

import adjoint as ad
from adjoint import ops
from adjoint.data import load_digits


def loss(w, x, y):
    """Cross-entropy of sigmoid(x·w) against y, with a small penalty that makes the minimum unique."""
    return ops.binary_cross_entropy_with_logits(x @ w, y) + 1e-3 * (w * w).sum()


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Tell even digits from odd ones.")
    parser.add_argument("--steps", type=int, default=8)
    options = parser.parse_args(arguments)

    images, labels = load_digits()
    x = np.c_[images.reshape(len(images), -1) / 16.0, np.ones(len(images))]
    y = (labels % 2).astype(np.float64)
    train, test = slice(0, 1400), slice(1400, None)

    value_and_gradient = ad.jit(ad.value_and_grad(loss))
    curvature = ad.jit(ad.hessian(loss))
    w = np.zeros(x.shape[1])
    print("step        loss    |gradient|")
    for step in range(options.steps):
        value, gradient = value_and_gradient(w, x[train], y[train])
        size = float(np.linalg.norm(gradient.asnumpy()))
        print(f"{step:4d}  {value.item():.8f}      {size:.1e}")
        w = w - np.linalg.solve(curvature(w, x[train], y[train]).asnumpy(), gradient.asnumpy())
    right = np.mean((x[test] @ w > 0) == y[test])
    print(f"Test accuracy: {right:.1%} of {len(y[test])}")
    return 0 if size < 1e-8 and right > 0.85 else 1


if __name__ == "__main__":
    sys.exit(main())
