"""`ad.profile`: the right ops at the right lines, both passes apart, sums that fit, and a trace file that viewers can read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.core import watching
from adjoint.core.parsing import line_of

X = ad.Tensor(np.linspace(0.1, 1.0, 600).reshape(20, 30))


def loss(x: Any) -> Any:
    a = ops.sin(x)
    b = a @ a.T
    return ops.sum(b * b)


def repeated(x: Any, n: Any) -> Any:
    for _ in range(n):
        x = ops.tanh(x)
    return ops.sum(x)


def rows(report: Any) -> set[tuple[str, str, str]]:
    return {(r.op, r.stage, line_of(*r.place).strip()) for r in report.nodes if r.place and r.place[0] == __file__}


@pytest.mark.parametrize("static", [False, True])
def test_ops_and_lines(static: bool) -> None:
    gradient = ad.grad(loss)
    report = ad.profile(ad.jit(gradient) if static else gradient)(X)
    assert np.allclose(report.result.asnumpy(), gradient(X).asnumpy())
    found = rows(report)
    for op, line in (("Sin", "a = ops.sin(x)"), ("MatMul", "b = a @ a.T")):
        assert (op, "forward", line) in found
        assert any((stage, text) == ("backward", line) for _, stage, text in found)
    assert {r.mode for r in report.nodes if r.op == "Sin"} == {"static" if static else "dynamic"}
    (line,) = [r for r in report.lines if r.place and "a @ a.T" in r.text]
    assert line.forward > 0
    assert line.backward > 0
    assert line.text.startswith("test_profile.py:")


@pytest.mark.parametrize("static", [False, True])
def test_sums_fit(static: bool) -> None:
    report = ad.profile(ad.jit(ad.grad(loss)) if static else ad.grad(loss))(X)
    by_node, by_line = sum(r.seconds for r in report.nodes), sum(r.seconds for r in report.lines)
    assert by_node == pytest.approx(by_line) == pytest.approx(report.op_seconds)
    assert 0 < report.op_seconds <= report.seconds
    assert all(e.own <= e.seconds for e in report.events)


def test_memory() -> None:
    """Sine and product of float64: 20x30 and 20x20 numbers, and the squares."""
    report = ad.profile(loss)(X)
    sizes = {r.op: r.bytes for r in report.nodes}
    assert (sizes["Sin"], sizes["MatMul"]) == (20 * 30 * 8, 20 * 20 * 8)
    assert report.peak_bytes >= (20 * 30 + 2 * 20 * 20) * 8
    assert report.peak_bytes < 2 * (20 * 30 + 2 * 20 * 20) * 8
    assert report.peak_place is not None

    def lets_go(x: Any) -> Any:
        for _ in range(50):
            x = x + 1.0
        return x

    small = ad.profile(lets_go)(X)
    assert sum(r.bytes for r in small.nodes) == 50 * X.size * 8
    assert small.peak_bytes <= 3 * X.size * 8


def test_loops_and_nested_graphs() -> None:
    report = ad.profile(ad.jit(repeated))(X, ad.Tensor(7))
    (tanh,) = [r for r in report.nodes if r.op == "Tanh"]
    assert tanh.calls == 7
    assert [e.iterations for e in report.events if e.name == "Tanh"] == [(k,) for k in range(7)]
    (loop,) = [e for e in report.events if e.name == "Loop"]
    assert loop.inside <= loop.seconds
    back = ad.profile(ad.jit(ad.grad(repeated)))(X, ad.Tensor(7))
    assert any(r.stage == "backward" and r.calls >= 7 for r in back.nodes)


def test_forward_mode_batches_and_backward() -> None:
    assert any(r.stage == "tangent" for r in ad.profile(lambda x: ad.jvp(loss, (x,), (x,)))(X).nodes)
    assert any(r.op == "Sin" for r in ad.profile(ad.vmap(ops.sin))(X).nodes)
    x = ad.Tensor(X.asnumpy())
    x.requires_grad = True
    with ad.profile() as report:
        loss(x).backward()
    assert ("Sin", "backward", "a = ops.sin(x)") in rows(report)
    assert ad.profile(ad.grad(lambda x: ad.grad(loss)(x).sum()))(X).result.shape == X.shape


def test_the_text_and_the_page() -> None:
    report = ad.profile(ad.jit(ad.grad(loss)))(X)
    text = str(report)
    for part in ("forward", "backward", "MatMul", "b = a @ a.T", "step by step in the interpreter", "at the peak"):
        assert part in text
    assert "interpreter" not in str(ad.profile(loss)(X))
    page = report._repr_html_()
    assert page.count("<table>") == page.count("</table>") == 2
    assert "b = a @ a.T" in page
    tricky = ad.profile(lambda x: ops.where(x < 1.0, x, 0.0))(X)._repr_html_()
    assert "x &lt; 1.0" in tricky


def test_the_trace_file(tmp_path: Path) -> None:
    """Slices of one track lie one inside the other or apart, as the format demands."""
    report = ad.profile(ad.jit(ad.grad(repeated)))(X, ad.Tensor(3))
    report.save(tmp_path / "trace.json")
    found = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    slices = [e for e in found if e["ph"] == "X"]
    assert len(slices) == len(report.events) + 1
    assert {e["ph"] for e in found} == {"X", "M", "C"}
    assert all(e["ts"] >= 0 and e["dur"] >= 0 and e["pid"] and e["name"] for e in slices)
    assert any("ops.tanh(x)" in e["args"].get("line", "") for e in slices)
    assert any(e["args"].get("iterations") == [2] for e in slices)
    for track in {e["tid"] for e in slices}:
        ends: list[float] = []
        for e in sorted((e for e in slices if e["tid"] == track), key=lambda e: (e["ts"], -e["dur"])):
            while ends and ends[-1] <= e["ts"] + 1e-3:
                ends.pop()
            assert not ends or e["ts"] + e["dur"] <= ends[-1] + 1e-3
            ends.append(e["ts"] + e["dur"])
    memory = [e["args"]["bytes"] for e in found if e["ph"] == "C"]
    assert max(memory) == report.peak_bytes


def test_misuse_and_errors() -> None:
    with pytest.raises(ad.ArgumentTypeError, match="is no function"):
        ad.profile(3)  # type: ignore[arg-type]
    with pytest.raises(ad.ArgumentTypeError, match="give the function first"):
        ad.profile()(X)
    with pytest.raises(ad.ArgumentTypeError, match="by calling it"), ad.profile(loss):
        pass
    with pytest.raises(ad.ArgumentError, match="debug_nan inside profile"), ad.profile(), ad.debug_nan():
        pass
    with pytest.raises(ad.ArgumentError, match="profile inside profile"), ad.profile():
        ad.profile(loss)(X)
    with pytest.raises(ZeroDivisionError):
        ad.profile(lambda: 1 / 0)()
    assert not watching.active
    with ad.profile() as empty:
        pass
    assert empty.nodes == []
    assert "in ops" in str(empty)


def test_units_of_machine_code() -> None:
    """The ops of the graph, each in a unit with the line it came from; results and the other tables are as without."""
    compiled = ad.jit(ad.grad(loss))
    report = ad.profile(compiled, native=True)(X)
    assert np.allclose(report.result.asnumpy(), compiled(X).asnumpy())
    assert {"MatMul", "Sin", "Cos"} <= {op for unit in report.units for op in unit.ops}
    assert all(unit.seconds >= 0 and unit.calls == 1 for unit in report.units)
    assert sum(unit.seconds for unit in report.units) > 0
    lines = {line_of(*place).strip() for unit in report.units for place in unit.places}
    assert {"a = ops.sin(x)", "b = a @ a.T"} <= lines
    assert "machine code" in str(report)
    assert report._repr_html_().count("<table>") == 3
    assert report.op_seconds <= report.seconds
    assert ("Sin", "forward", "a = ops.sin(x)") in rows(report)
    (loop,) = ad.profile(ad.jit(repeated), native=True)(X, ad.Tensor(7)).units[:1]
    assert "Loop" in loop.ops or "Tanh" in loop.ops
    twice = ad.profile(lambda x: (compiled(x), compiled(x)), native=True)(X)
    assert {unit.calls for unit in twice.units} == {2}
    assert ad.profile(loss, native=True)(X).units == []  # dynamic mode has none


def test_what_has_effects_is_not_run_once_more(capsys: pytest.CaptureFixture[str]) -> None:
    @ad.jit
    def shows(x: Any) -> Any:
        print("here", ops.sum(x))
        return x * 2.0

    report = ad.profile(shows, native=True)(ad.Tensor([1.0, 2.0]))
    assert capsys.readouterr().out.count("here") == 1
    assert report.units == []
