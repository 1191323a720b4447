"""Compare cells with what PyTorch gave for the same weights and inputs (see fixtures/make.py)."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, ops
from adjoint.core import tree

HERE = Path(__file__).parent / "fixtures"
RENAMED = {
    "dense1": "linear1",
    "dense2": "linear2",
    "gamma": "weight",
    "beta": "bias",
    "embedding_table": "weight",
    "w": "weight",
}
SKIPPED = ("moving_mean", "moving_variance")


@cache
def load(name: str) -> dict[str, np.ndarray]:
    return dict(np.load(HERE / f"{name}.npz"))


def torch_name(name: str) -> str:
    return ".".join(RENAMED.get(part, part) for part in name.split("."))


class Reference:
    """One layer of a fixture."""

    def __init__(self, data: dict[str, np.ndarray], name: str) -> None:
        self.found = {k[len(name) + 1 :]: v for k, v in data.items() if k.startswith(name + ".")}
        assert self.found, name

    def numbered(self, letter: str) -> list[np.ndarray]:
        keys = sorted(k for k in self.found if k.startswith(letter) and k[len(letter) :].isdigit())
        return [self.found[k] for k in keys]

    def give_weights(self, cell: nn.Cell, prefix: str = "") -> None:
        """Set the cell's Parameters, in float64, to the fixture's; all of the fixture must be used."""
        left = {k for k in self.found if k.startswith("w.")}
        for name, p in cell.parameters_and_names():
            p._value = p._value.astype(np.float64)
            if name.split(".")[-1] in SKIPPED:
                continue
            key = f"w.{prefix}{torch_name(name)}"
            assert self.found[key].shape == p.shape, key
            p.set_data(self.found[key])
            left.remove(key)
        assert not left

    def check(self, cell: nn.Cell, prefix: str = "", call=None, tol: float = 1e-10) -> None:
        """Values and gradients, dynamic and static."""
        self.give_weights(cell, prefix)
        xs, ys, cs = self.numbered("x"), self.numbered("y"), self.numbered("c")
        net = call or cell

        def loss(*xs):
            out = tree.leaves(net(*xs))
            return sum((ops.sum(y * c) for y, c in zip(out, cs, strict=True)), 0.0), *out

        spots = tuple(k for k, x in enumerate(xs) if f"gx{k}" in self.found)
        named = [(n, p) for n, p in cell.parameters_and_names() if n.split(".")[-1] not in SKIPPED]
        weights = [p for _, p in named]
        run = lambda *xs: ad.value_and_grad(loss, spots or None, weights=weights or None, has_aux=True)(*xs)
        for mode in (run, ad.jit(run)):
            value, grads = mode(*xs)
            by_input, by_weight = grads if spots and weights else (grads, ()) if spots else ((), grads)
            by_input = by_input if isinstance(by_input, tuple) else (by_input,)
            pairs = [(y, want) for y, want in zip(value[1:], ys, strict=True)]
            pairs += [(g, self.found[f"gx{k}"]) for k, g in zip(spots, by_input, strict=True)]
            keys = [f"gw.{prefix}{torch_name(name)}" for name, _ in named]
            pairs += [(g, self.found[key]) for key, g in zip(keys, by_weight, strict=True)]
            for got, want in pairs:
                np.testing.assert_allclose(got.asnumpy(), want, rtol=tol, atol=tol)


@pytest.fixture
def reference():
    """A layer of a fixture, by the names of the file and the layer."""
    return lambda file, name: Reference(load(file), name)
