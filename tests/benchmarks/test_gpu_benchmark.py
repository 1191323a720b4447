"""The GPU benchmark at tiny sizes, on the CPU: everything runs, agrees and is written."""

from __future__ import annotations

import json

import pytest

from benchmarks import gpu

pytest.importorskip("jax")


def test_the_benchmark_runs_and_the_contenders_agree(tmp_path):
    page = tmp_path / "gpu.md"
    without = ["torch eager", "torch.compile", "JAX, cuDNN attention"]
    found = gpu.main(["--small", "--device", "cpu", "--write", str(page), "--without", *without])
    assert [set(result["seconds"]) for result in found] == [{"adjoint", "JAX"}] * 3
    assert all(result["difference"]["JAX"] < 1e-2 for result in found)
    assert page.read_text().count("| GPT training step") == 2
    assert json.loads(page.with_suffix(".json").read_text())["programs"][0]["seconds"]["adjoint"] > 0
