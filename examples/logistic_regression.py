"""Logistic regression in 20 lines of mathematics: no layers, no classes, gradients and curvature of a plain function.

    python examples/logistic_regression.py [--picture logistic_regression.png]

The handwritten digits of the package are told apart, even from odd, by Newton's method on the exact Hessian.
"""

from __future__ import annotations

import argparse
import sys

import figures
import numpy as np

import adjoint as ad
from adjoint import ops
from adjoint.data import load_digits


def loss(w, x, y):
    """Cross-entropy of sigmoid(x·w) against y, with a small penalty that makes the minimum unique."""
    return ops.binary_cross_entropy_with_logits(x @ w, y) + 1e-3 * (w * w).sum()


def picture(path: str, sizes: list[float], w: np.ndarray) -> None:
    """How fast the gradient vanishes, and which pixels speak for an odd digit."""
    if (pyplot := figures.pyplot()) is None:
        return
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 4), layout="constrained")
    left.semilogy(sizes, "o-")
    left.set(xlabel="step of Newton's method", title="Length of the gradient")
    left.grid(alpha=0.3)
    largest = np.abs(w[:-1]).max()
    shown = right.imshow(w[:-1].reshape(8, 8), cmap="RdBu_r", vmin=-largest, vmax=largest)
    right.set(title="Weight of each pixel: red for odd, blue for even")
    right.axis("off")
    figure.colorbar(shown, ax=right)
    figures.save(figure, path)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Tell even digits from odd ones.")
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--picture", default="logistic_regression.png", help="where to draw; empty for no picture")
    options = parser.parse_args(arguments)

    images, labels = load_digits()
    x = np.c_[images.reshape(len(images), -1) / 16.0, np.ones(len(images))]
    y = (labels % 2).astype(np.float64)
    train, test = slice(0, 1400), slice(1400, None)

    value_and_gradient = ad.jit(ad.value_and_grad(loss))
    curvature = ad.jit(ad.hessian(loss))
    w, sizes = np.zeros(x.shape[1]), []
    print("step        loss    |gradient|")
    for step in range(options.steps):
        value, gradient = value_and_gradient(w, x[train], y[train])
        sizes.append(float(np.linalg.norm(gradient.asnumpy())))
        print(f"{step:4d}  {value.item():.8f}      {sizes[-1]:.1e}")
        w = w - np.linalg.solve(curvature(w, x[train], y[train]).asnumpy(), gradient.asnumpy())
    right = np.mean((x[test] @ w > 0) == y[test])
    print(f"Test accuracy: {right:.1%} of {len(y[test])}")
    if options.picture:
        picture(options.picture, sizes, w)
    return 0 if sizes[-1] < 1e-8 and right > 0.85 else 1


if __name__ == "__main__":
    sys.exit(main())
