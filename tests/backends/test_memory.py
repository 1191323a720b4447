"""The memory of a call, known beforehand: the report against what the operating system says, and what it lists."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.backends import fitting
from adjoint.backends.memory_report import HeldMemory, MemoryReport
from adjoint.backends.native.runtime import available_memory

MEASURED = Path(__file__).parent / "measured_memory.py"


@pytest.mark.skipif(
    not os.path.exists("/proc/self/clear_refs"), reason="reads the highest memory of a process from Linux"
)
@pytest.mark.parametrize(("backend", "tolerance"), [("native", 0.05), ("interpreter", 0.1)])
def test_the_report_is_what_a_call_takes(backend: str, tolerance: float) -> None:
    this = {**os.environ, "PYTHONPATH": str(Path(ad.__file__).parents[1]), "MALLOC_MMAP_THRESHOLD_": "65536"}
    done = subprocess.run(
        [sys.executable, str(MEASURED), backend], capture_output=True, text=True, timeout=200, env=this
    )
    assert done.returncode == 0, done.stderr[-2000:]
    for name, (said, measured) in json.loads(done.stdout).items():
        assert measured > 15_000_000, name
        assert abs(said - measured) <= tolerance * measured, (name, said / 2**20, measured / 2**20)


def loss(ws: Any, x: Any) -> Any:
    for w in ws:
        x = ops.tanh(x @ w)  # layer
    return ops.sum(x * x)


WS, X = [np.full((64, 64), 0.01, np.float32)] * 6, np.ones((128, 64), np.float32)


@pytest.mark.parametrize("backend", ["native", "interpreter"])
def test_what_lives_at_the_peak(backend: str) -> None:
    report = ad.jit(ad.grad(loss), backend=backend).memory(WS, X)
    assert report.result_bytes == 6 * 64 * 64 * 4
    assert report.argument_bytes == report.result_bytes + X.nbytes
    layers = [h for h in report.at_peak if h.shape == (128, 64) and h.what == "Tanh"]
    line = next(k for k, text in enumerate(Path(__file__).read_text().splitlines(), 1) if text.endswith("# layer"))
    assert len(layers) >= 5
    assert {h.place for h in layers} == {(__file__, line)}
    assert f"Tanh (128, 64)  {Path(__file__).name}:{line}" in str(report)
    assert max(m.bytes for m in report.timeline) <= report.peak_bytes
    assert sum(h.bytes for h in report.at_peak) >= max(m.bytes for m in report.timeline) * 0.95
    assert report.peak_bytes == report.arena_bytes + report.result_bytes


def test_nothing_runs() -> None:
    report = ad.jit(lambda x: ops.sum(ops.exp(x) * x)).memory(np.broadcast_to(1.0, (1 << 13, 1 << 12)))
    assert report.argument_bytes == 1 << 28
    assert report.peak_bytes < 1 << 20  # one pass over memory


@pytest.mark.parametrize("backend", ["native", "interpreter"])
def test_a_loop_of_unknown_length_is_reported_by_iteration(backend: str) -> None:
    def f(x: Any, n: Any) -> Any:
        k = 0.0
        while k < n:
            x = ops.sin(x) * 1.01
            k = k + 1.0
        return ops.sum(x)

    report = ad.jit(ad.grad(f), backend=backend).memory(np.ones(1000), 3.0)
    assert 8000 in [h.bytes for h in report.per_iteration]
    assert all(h.place is not None and h.place[0] == __file__ for h in report.per_iteration)
    assert "for each iteration" in str(report)


def test_stages_in_the_interpreter_count(tmp_path: Path) -> None:
    """`argsort` has no code: the graph runs in three stages."""
    report = ad.jit(lambda x: ops.sum(ops.exp(ops.argsort(ops.sin(x), 0) * 1.0) @ x.T, 0)).memory(np.ones((300, 200)))
    assert report.peak_bytes > 3 * 300 * 200 * 8
    pytest.importorskip("matplotlib")
    report.draw(tmp_path / "memory.png")
    assert (tmp_path / "memory.png").stat().st_size > 1000


@pytest.mark.parametrize("backend", ["native", "interpreter"])
def test_what_cannot_fit_says_so_before_it_starts(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is needed, what can be had, what would help; the next call is asked again."""
    compiled = ad.jit(ad.grad(loss), backend=backend)
    monkeypatch.setattr(fitting, "CHECKED_BYTES", 1000)
    monkeypatch.setattr(available_memory, "available_bytes", lambda: 200_000)
    with pytest.raises(MemoryError, match=r"needs \d\d\d\.\d KiB .* 195\.3 KiB can be had") as found:
        compiled(WS, X)
    text = str(found.value)
    assert "ad.checkpoint" in text
    assert "jit(f, memory=180000)" in text
    assert "at the peak" in text
    monkeypatch.setattr(available_memory, "available_bytes", lambda: 50_000)
    with pytest.raises(MemoryError, match="results alone are 96.0 KiB"):
        compiled(WS, X)
    monkeypatch.setattr(available_memory, "available_bytes", lambda: 1 << 30)
    assert len(compiled(WS, X)) == 6


def test_settings_that_would_fit_are_named() -> None:
    mib = 1 << 20
    layers = tuple([HeldMemory("Tanh", 10 * mib)] * 100)
    report = MemoryReport("native", 1000 * mib, 8 * mib, 0, 0, 0, layers, ())
    said = fitting.settings_that_fit(report, 500 * mib)
    assert 'checkpoint="sqrt")` (about 208.0 MiB)' in said
    assert "in 4 parts by `GradientAccumulation(4)` (about 266.0 MiB)" in said
    said = fitting.settings_that_fit(report, 100 * mib)
    assert "sqrt" not in said
    assert "in 16 parts" in said
    assert "By estimate" not in fitting.settings_that_fit(report, 12 * mib)


def test_the_estimate_for_parts_is_near(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the message says of parts, against the report of a gradient in so many parts."""
    ws, x = [np.full((32, 32), 0.01, np.float32)] * 12, np.ones((4096, 32), np.float32)
    whole = ad.jit(ad.grad(loss), backend="interpreter").memory(ws, x)
    found = fitting.parts_that_fit(whole, whole.peak_bytes // 3)
    assert found is not None
    parts, said = found
    run = ad.optim.GradientAccumulation(parts).value_and_grad(loss, reduction="sum")
    measured = ad.jit(run, backend="interpreter").memory(ws, x).peak_bytes
    assert measured < 1.3 * said + x.nbytes
    assert measured < whole.peak_bytes / 2


@pytest.mark.skipif(sys.platform != "linux", reason="Linux says how much memory is free")
def test_what_is_available(tmp_path: Path) -> None:
    found = available_memory.available_bytes()
    assert found is not None
    assert 0 < found < 1 << 50
    (tmp_path / "memory.max").write_text("1000000\n")
    (tmp_path / "memory.current").write_text("900000\n")
    (tmp_path / "memory.stat").write_text("anon 500000\nactive_file 10000\ninactive_file 20000\n")
    assert available_memory._of_group(tmp_path) == 130_000
    (tmp_path / "memory.max").write_text("max\n")
    assert available_memory._of_group(tmp_path) is None
    assert available_memory._of_group(tmp_path / "nothing") is None
