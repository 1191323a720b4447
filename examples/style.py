"""A picture painted in the manner of another one: an image, not a network, is what L-BFGS improves here.

    python examples/style.py [--steps 100] [--number 42] [--picture style.png]

The handwritten digits of the package give the content, swirling brush strokes (made here from noise) the style. A filter bank
looks at both on four scales. The image is changed until the products of its filter responses (Gram matrices: which strokes
occur together, wherever that is) are those of the style, while its coarse shapes stay those of the content.
"""

from __future__ import annotations

import argparse
import sys
import time

import figures
import numpy as np
from scipy import ndimage

import adjoint as ad
from adjoint import nn, ops, optim
from adjoint.data import load_digits

SCALES = 4
SIZE = 7  # of a filter
COARSE = 3  # the scale on which content is compared
EACH = 10  # iterations of L-BFGS between two lines of output
PALETTE = np.array(  # how dark or light a stroke is, and its colour
    [
        [0.00, 0.04, 0.07, 0.25], [0.30, 0.10, 0.22, 0.52], [0.55, 0.25, 0.48, 0.75],
        [0.75, 0.62, 0.77, 0.80], [0.88, 0.95, 0.80, 0.30], [1.00, 1.00, 0.93, 0.62],
    ]
)  # fmt: skip


def strokes(size: int, seed: int = 1) -> np.ndarray:
    """Noise smeared along the lines of a whirling flow, evenly spread between 0 (dark) and 1 (light)."""
    generator = np.random.default_rng(seed)

    def smooth(width: float) -> np.ndarray:
        return ndimage.gaussian_filter(generator.standard_normal((size, size)), width, mode="wrap")

    def read(array: np.ndarray, at: np.ndarray) -> np.ndarray:
        return ndimage.map_coordinates(array, at, order=1, mode="grid-wrap")

    up, right = np.gradient(smooth(size / 9))
    flow, noise = np.stack([right, -up]) / np.hypot(up, right), smooth(1.2)
    total = np.zeros((size, size))
    for way in (1, -1):
        at = np.mgrid[:size, :size].astype(float)
        for _ in range(12):
            total += read(noise, at)
            at = at + way * np.stack([read(part, at) for part in flow])
    return (total.ravel().argsort().argsort() / size**2).reshape(size, size).astype(np.float32)


def digits(number: str, height: int) -> np.ndarray:
    """A number in handwriting, light on dark."""
    images, labels = load_digits()
    small = np.concatenate([np.pad(images[np.flatnonzero(labels == int(d))[5]], ((1, 1), (0, 0))) for d in number], 1)
    large = ndimage.zoom(small / 16, height / len(small), order=3, mode="nearest", grid_mode=True)
    return (0.35 + 0.4 * np.clip(3 * large - 1, 0, 1)).astype(np.float32)


def waves(count: int, seed: int) -> np.ndarray:
    """Filters, each a wave of random length and direction that fades out towards the rim."""
    generator = np.random.default_rng(seed)
    y, x = np.mgrid[:SIZE, :SIZE] - (SIZE - 1) / 2
    turn, phase = generator.uniform(0, 2 * np.pi, (2, count, 1, 1))
    pace = generator.uniform(0.4, 2.4, (count, 1, 1))
    filters = np.cos(pace * (np.cos(turn) * x + np.sin(turn) * y) + phase) * np.exp(-(x**2 + y**2) / (SIZE**2 / 8))
    return (3 * filters / np.linalg.norm(filters, axis=(1, 2), keepdims=True))[:, None].astype(np.float32)


class Eye(nn.Cell):
    """An image on several scales, each half as large as the one before, and what the filters see on each."""

    def __init__(self, count: int) -> None:
        super().__init__()
        blur = np.outer([1, 3, 3, 1], [1, 3, 3, 1])[None, None].astype(np.float32) / 64
        self.half = nn.Conv2d(1, 1, 4, stride=2, pad_mode="valid", weight_init=ad.Tensor(blur))
        self.filters = nn.CellList(
            [nn.Conv2d(1, count, SIZE, pad_mode="valid", weight_init=ad.Tensor(waves(count, k))) for k in range(SCALES)]
        )

    def construct(self, image):
        images, seen = [ops.pad(image, (SIZE, SIZE, SIZE, SIZE), mode="reflect")], []
        for look in self.filters:
            seen.append(ops.relu(look(images[-1] - 0.5)))
            images.append(self.half(images[-1]))
        return images, seen


def gram(seen):
    """How strongly each two filters respond together, over the whole image."""
    rows = ops.reshape(seen, (seen.shape[1], -1))
    return rows @ rows.T / float(rows.shape[1])


def objective(image: ad.Parameter, content: np.ndarray, style: np.ndarray, filters: int, weight: float):
    """The function to minimise: how far the image is from the style, and from the content on a coarse scale."""
    eye = Eye(filters)
    with ad.no_grad():
        wanted = [gram(seen) for seen in eye(ad.Tensor(style[None, None]))[1]]
        shapes = eye(ad.Tensor(content[None, None]))[0][COARSE]

    def loss():
        images, seen = eye(image)
        manner = sum(((gram(s) - w) ** 2).sum() / (w**2).sum() for s, w in zip(seen, wanted, strict=True))
        outside = ops.relu(image - 1.0) ** 2 + ops.relu(-image) ** 2
        return manner + weight * ((images[COARSE] - shapes) ** 2).mean() + outside.mean()

    return loss


def coloured(light: np.ndarray) -> np.ndarray:
    return np.stack([np.interp(light, PALETTE[:, 0], PALETTE[:, k]) for k in (1, 2, 3)], -1)


def picture(path: str, content: np.ndarray, style: np.ndarray, found: np.ndarray, losses: list[float]) -> None:
    """Content, style and the loss above, the result below."""
    if (pyplot := figures.pyplot()) is None:
        return
    figure = pyplot.figure(figsize=(10, 8), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=[1, 1.9])
    axes = above.subplots(1, 3)
    axes[0].imshow(content, cmap="gray")
    axes[1].imshow(coloured(style))
    for cell, title in zip(axes, ("content", "style", "loss"), strict=True):
        cell.set_title(title)
        cell.axis("off" if title != "loss" else "on")
    axes[2].semilogy(EACH * np.arange(len(losses)), losses, ".-")
    axes[2].set(xlabel="iterations of L-BFGS")
    axes[2].grid(alpha=0.3)
    result = below.subplots()
    result.imshow(coloured(found), interpolation="bicubic")
    result.axis("off")
    figures.save(figure, path)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Paint a number with brush strokes.")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--number", default="42")
    parser.add_argument("--height", type=int, default=128, help="of the image, in pixels")
    parser.add_argument("--filters", type=int, default=48, help="on each scale")
    parser.add_argument("--weight", type=float, default=9.0, help="of the content")
    parser.add_argument("--goal", type=float, default=0.1, help="the loss to reach, as a share of that at the start")
    parser.add_argument("--picture", default="style.png", help="where to draw; empty for no picture")
    options = parser.parse_args(arguments)

    ad.set_seed(0)
    content, style = digits(options.number, options.height), strokes(128)
    noise = np.random.default_rng(0).standard_normal(content.shape)
    image = ad.Parameter(ad.Tensor((content + 0.2 * noise)[None, None].astype(np.float32)), name="image")
    loss = objective(image, content, style, options.filters, options.weight)
    optimiser = optim.LBFGS([image], max_iter=EACH, max_eval=10 * EACH, history_size=20, jit=True)

    losses, start = [loss().item()], time.perf_counter()
    for step in range(EACH, options.steps + 1, EACH):
        losses.append(optimiser.step(loss).item())
        print(f"step {step:4d}: loss {losses[-1]:.4f}, {time.perf_counter() - start:.1f} s", flush=True)
    print(
        f"{image.size:,} pixels: loss {losses[0]:.3f} -> {losses[-1]:.4f} in {optimiser.evaluations} evaluations, "
        f"{time.perf_counter() - start:.1f} s"
    )
    if options.picture:
        picture(options.picture, content, style, image.asnumpy()[0, 0], losses)
    return 0 if losses[-1] <= options.goal * losses[0] else 1


if __name__ == "__main__":
    sys.exit(main())
