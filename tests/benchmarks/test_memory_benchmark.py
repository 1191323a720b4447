"""The memory benchmark's harness, at tiny sizes and without peers."""

from __future__ import annotations

import importlib
import json
from dataclasses import replace

import numpy as np
import pytest

import adjoint as ad
from benchmarks.memory import main
from benchmarks.memory_contenders import MEMORY_ENTRIES
from benchmarks.memory_report import Measured, MemoryTables
from benchmarks.memory_worker import summary
from benchmarks.memory_workloads import memory_workloads
from benchmarks.race import Settings

TINY = memory_workloads(tiny=True)


@pytest.mark.parametrize("name", TINY)
def test_parts_change_nothing(name: str) -> None:
    workload = TINY[name]
    inputs = workload.inputs(np.random.default_rng(0))
    found = []
    for part in (None, ad.recompute):
        loss = workload.bound("adjoint", importlib.import_module("adjoint.ops"), part)
        value, gradient = ad.value_and_grad(loss)(*inputs)
        found.append(
            [np.asarray(value), *(np.asarray(g) for g in (gradient if isinstance(gradient, list) else [gradient]))]
        )
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)
    first = inputs[0][0] if isinstance(inputs[0], list) else inputs[0]
    assert np.linalg.norm(found[0][1]) > 0 and found[0][1].shape == first.shape


def test_contenders_are_for_their_workloads() -> None:
    loop = [title for title, e in MEMORY_ENTRIES.items() if e.for_workload(TINY["loop_small"])]
    network = [title for title, e in MEMORY_ENTRIES.items() if e.for_workload(TINY["mlp_small"])]
    assert "adjoint static, binomial" in loop and "adjoint static, binomial" not in network
    assert "torch eager, checkpoint" in network and "JAX jit, remat" in loop


def test_it_runs_and_goes_on(tmp_path) -> None:
    options = ["--tiny", "--only", "mlp_small", "--rounds", "1", "--write", str(tmp_path / "m"), "--again"]
    main([*options, "--contenders", "adjoint dynamic, parts"])
    saved = json.loads((tmp_path / "m.json").read_text())["found"]
    assert [m["contender"] for m in saved] == ["adjoint dynamic, parts"]
    assert saved[0]["error"] == "" and saved[0]["seconds"] > 0
    assert saved[0]["results"] == 4 + 8 * 16 * 16 * 4
    tables = main([*options, "--contenders", "adjoint dynamic, parts"])
    assert tables.found == [Measured(**saved[0])]  # known already
    assert "adjoint dynamic, parts" in (tmp_path / "m.md").read_text()


def test_targets_are_judged() -> None:
    title = TINY["mlp_small"].title
    rows = [
        Measured("mlp_small", title, "adjoint static", 110, 10, 1.0),
        Measured("mlp_small", title, "adjoint static, sqrt", 25, 10, 1.3),
        Measured("mlp_small", title, "adjoint static, parts", 12, 10, 2.0),
        Measured("mlp_small", title, "torch eager", 100, 10, 1.0),
        Measured("mlp_small", title, "JAX jit", error="broken"),
    ]
    tables = MemoryTables(Settings(tiny=True))
    tables.add(rows)
    page = tables.markdown()
    assert "sqrt: 15.0% in 1.30 times the time | yes" in page
    assert "| 0.0 MiB, torch eager 0.0 | **no** |" in page
    assert "mlp_small, JAX jit: broken" in page
    tables.add([replace(rows[1], peak=60)])
    assert "sqrt: 50.0% in 1.30 times the time | **no**" in tables.markdown()


def test_a_summary_sees_every_change() -> None:
    x = np.random.default_rng(0).normal(size=(300, 500))
    moved = x.copy()
    moved[17, 3] += 0.5
    swapped = x[:, ::-1]
    assert summary(x) == pytest.approx([np.linalg.norm(x), np.linalg.norm(x) + x.ravel() @ np.cos(np.arange(x.size))])
    for y in (moved, swapped):
        assert abs(summary(y)[1] - summary(x)[1]) > 1e-3
