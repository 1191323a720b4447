"""The programs of the corpus and random ones on XLA: value and gradient are dynamic mode's.

XLA takes long to compile, so that each run takes one program of five. All of them: `make xla-corpus`.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.core import tree
from adjoint.testing import fuzz, fuzz_graphs
from adjoint.testing.random_programs import random_program
from corpus import PROGRAMS, Program

STRIDE = 1 if os.environ.get("ADJOINT_WHOLE_CORPUS") else 5
STATIC = [p.name for p in PROGRAMS.values() if p.static]


def arrays(out: Any) -> list[np.ndarray]:
    return [np.asarray(y.asnumpy() if isinstance(y, ad.Tensor) else y) for y in tree.leaves(out)]


def copied(program: Program, point: Any) -> list[Any]:
    """The arguments, those that are differentiated by as Tensors of their own."""
    moving = {i: tree.map(lambda x: ad.Tensor(np.array(x, np.float64)), point[i]) for i in program.positions}
    return [moving.get(i, x) for i, x in enumerate(point)]


@pytest.mark.parametrize("name", STATIC[::STRIDE])
def test_value_and_gradient(name: str) -> None:
    program = PROGRAMS[name]
    both = ad.value_and_grad(program.fn, program.positions)
    compiled = ad.jit(both, backend="xla")
    for point in program.points:
        found, wanted = (arrays(f(*copied(program, point))) for f in (compiled, both))
        scale = 1.0 + max(float(np.max(np.abs(w), initial=0.0)) for w in wanted)
        for x, y in zip(found, wanted, strict=True):
            assert (x.shape, x.dtype) == (y.shape, y.dtype)
            np.testing.assert_allclose(x, y, rtol=0.0, atol=1e-9 * scale)


@pytest.mark.parametrize("seed", range(0, 24, 3))
def test_random_programs(seed: int) -> None:
    program = random_program(seed)
    try:
        both = ad.value_and_grad(program.fn, fuzz.EVERY)
        with np.errstate(all="ignore"):
            found, wanted = ad.jit(both, backend="xla")(*program.inputs), both(*program.inputs)
        assert fuzz.agree(found, wanted), program.source
    finally:
        program.forget()


def test_random_graphs() -> None:
    """Forward, donated, in batches, gradients, and batches of gradients."""
    wrong = {seed: found for seed in range(1, 13) if (found := fuzz_graphs.disagreement(seed, "xla"))}
    assert not wrong
