"""A blurred and noisy image made sharp again: gradients through the Fourier transform.

    python examples/deblur.py [--size 128] [--steps 120] [--picture deblur.png]

Blurring is a product of Fourier coefficients. The image is sought that, blurred, is what was photographed, and whose neighbouring
pixels differ in few places (total variation). The gradient goes back through `np.fft`, in code that is plain NumPy.
"""

from __future__ import annotations

import argparse
import sys

import figures
import numpy as np
from scipy import ndimage, optimize

import adjoint as ad

LENGTHS, TURN = (3.0, 1.0), 0.6  # of the blur: its axes in pixels, and how they are turned


def town(size: int) -> np.ndarray:
    """An image of houses before a sky, with a moon."""
    draw, image = np.random.default_rng(4), np.zeros((size, size))
    y, x = np.mgrid[:size, :size] / size
    image += 0.25 + 0.3 * (1 - y)
    image[(x - 0.78) ** 2 + (y - 0.2) ** 2 < 0.008] = 1.0
    left = 0.02
    while left < 0.95:
        width, top = draw.uniform(0.1, 0.2), draw.uniform(0.35, 0.7)
        wall = (x > left) & (x < left + width) & (y > top)
        image[wall] = draw.uniform(0.05, 0.35)
        for i in np.arange(left + 0.025, left + width - 0.025, 0.05):
            for j in np.arange(top + 0.05, 0.95, 0.08):
                if draw.uniform() < 0.6:
                    image[(x > i) & (x < i + 0.025) & (y > j) & (y < j + 0.04)] = 0.95
        left += width + 0.02
    return ndimage.gaussian_filter(image, 0.4)


def blurred(image):
    """The image under a Gaussian blur with two axes, by the Fourier transform; it goes on at the other side."""
    n = image.shape[0]
    v, u = 2 * np.pi * np.fft.fftfreq(n)[:, None], 2 * np.pi * np.fft.rfftfreq(n)[None, :]
    along, across = np.cos(TURN) * u + np.sin(TURN) * v, np.cos(TURN) * v - np.sin(TURN) * u
    passed = np.exp(-0.5 * ((LENGTHS[0] * along) ** 2 + (LENGTHS[1] * across) ** 2))
    return np.fft.irfft2(np.fft.rfft2(image) * passed, (n, n))


def misfit(x, seen, strength):
    """How far the blurred image is from the one seen, and how much neighbouring pixels differ."""
    image = np.reshape(x, seen.shape)
    down, right = np.roll(image, -1, 0) - image, np.roll(image, -1, 1) - image
    return np.sum((blurred(image) - seen) ** 2) + strength * np.sum(np.sqrt(down**2 + right**2 + 1e-5))


def picture(path: str, images: list[np.ndarray], titles: list[str], losses: list[float]) -> None:
    """The image as it was, as it was seen, as it was found, and the misfit of each step."""
    if (pyplot := figures.pyplot()) is None:
        return
    figure, axes = pyplot.subplots(2, 2, figsize=(9, 9), layout="constrained")
    for axis, image, title in zip(axes.flat, images, titles, strict=False):
        axis.imshow(image, cmap="bone", vmin=0, vmax=1)
        axis.set(title=title)
        axis.axis("off")
    axes[1, 1].semilogy(losses)
    axes[1, 1].set(title="misfit", xlabel="iterations of L-BFGS")
    axes[1, 1].grid(alpha=0.3)
    figures.save(figure, path)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Make a blurred image sharp again.")
    parser.add_argument("--size", type=int, default=128, help="of the image, in pixels")
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--noise", type=float, default=0.005)
    parser.add_argument("--strength", type=float, default=0.0005, help="of the penalty for differences")
    parser.add_argument("--picture", default="deblur.png", help="where to draw; empty for no picture")
    options = parser.parse_args(arguments)

    sharp = town(options.size)
    draw = np.random.default_rng(0)
    seen = np.asarray(blurred(sharp)) + options.noise * draw.standard_normal(sharp.shape)

    gradient, losses = ad.jit(ad.value_and_grad(misfit)), []
    found = optimize.minimize(
        gradient,
        seen.ravel(),
        args=(seen, options.strength),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, 1)] * sharp.size,
        callback=lambda intermediate_result: losses.append(intermediate_result.fun),
        options={"maxiter": options.steps, "maxcor": 20, "ftol": 1e-12},
    )
    image = found.x.reshape(sharp.shape)
    before, after = (np.sqrt(np.mean((x - sharp) ** 2)) for x in (seen, image))
    print(
        f"{sharp.size:,} pixels: misfit {losses[0]:.3f} -> {losses[-1]:.3f} in {found.nit} iterations, {found.nfev} gradients"
    )
    print(f"Error of a pixel {before:.4f} -> {after:.4f}")
    if options.picture:
        titles = ["as it was", f"as it was seen: error {before:.3f}", f"made sharp: error {after:.3f}"]
        picture(options.picture, [sharp, seen, image], titles, losses)
    return 0 if after < 0.9 * before else 1


if __name__ == "__main__":
    sys.exit(main())
