"""A GPT that computes in bfloat16 learns as in float32, to within what bfloat16 can hold."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad
from benchmarks.gpu_programs import gpt

pytest.importorskip("jax")


def test_the_losses_of_a_gpt_in_bfloat16_are_those_of_float32(monkeypatch):
    monkeypatch.setattr(gpt, "RATE", 3e-3)
    size = gpt.Size(layers=1, dim=16, heads=2, length=12, batch=2, words=30)
    ids = [ad.Tensor(x) for x in gpt.batch(size)]
    single = gpt.training(size, half=False, backend="native")
    half = gpt.training(size, half=True, backend="xla")
    wanted, found = (np.array([float(step(*ids)) for _ in range(25)]) for step in (single, half))
    assert wanted[-1] < 0.75 * wanted[0], "nothing was learnt"
    np.testing.assert_allclose(found, wanted, rtol=2**-8)
    np.testing.assert_allclose(found[0], wanted[0], rtol=2**-10)
