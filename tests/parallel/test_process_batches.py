"""Batches of several processes, and processes that meet too late; two real ones are in test_two_processes.py."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from jax.sharding import PartitionSpec

import adjoint as ad
from adjoint import parallel


def test_initialize_comes_first() -> None:
    assert jax.devices()
    with pytest.raises(ad.ProcessGroupError, match="JAX has begun to work in this process"):
        parallel.initialize("127.0.0.1:1", 2, 1, timeout=1)
    assert parallel.processes() == 1


def test_the_examples_of_a_process() -> None:
    """Those of its devices: in one process, all."""
    mesh = parallel.mesh(data=4, model=2)
    batch = {"x": np.arange(24).reshape(8, 3), "y": ad.Tensor(np.arange(8.0))}
    local = parallel.local_batch(batch, mesh)
    assert np.array_equal(local["x"], batch["x"]) and local["y"].shape == (8,)
    joined = parallel.global_batch(local, mesh)
    assert np.array_equal(joined["x"].asnumpy(), batch["x"]) and joined["x"].dtype == np.int64
    assert joined["y"]._value.sharding.spec == PartitionSpec("data")
    assert parallel.local_rows(16, mesh, ("data", "model")).tolist() == list(range(16))
    with pytest.raises(ad.ShapeError, match="6 elements, which do not make 4 equal parts"):
        parallel.local_rows(6, mesh)
    with pytest.raises(ad.ShapeError, match="6 examples of this process do not make 4 equal parts"):
        parallel.global_batch(np.ones((6, 2)), mesh)
    for count in (8.0, -2, True, "8"):
        with pytest.raises(ad.ArgumentError, match="a number of examples"):
            parallel.local_rows(count, mesh)  # type: ignore[arg-type]
    with pytest.raises(ad.ArgumentError, match="has no axes"):
        parallel.local_batch({"n": np.float32(3)}, mesh)
