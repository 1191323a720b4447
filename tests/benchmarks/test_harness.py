"""The benchmark's harness, at tiny sizes and without peers: workloads against finite differences, the race, the report."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np
import pytest
import scipy.optimize

import adjoint as ad
from benchmarks.contenders import DYNAMIC, ENTRIES, STATIC
from benchmarks.race import Outcome, Result, Runner, Settings, difference, judge, run_rounds
from benchmarks.report import Report, cost, share_of_roofline, versus_peers
from benchmarks.roofline import ceiling
from benchmarks.run import main
from benchmarks.worker import Ready, group_of, seconds
from benchmarks.workload import Workload
from benchmarks.workloads import workloads

TINY = workloads(tiny=True)
RATE = 0.01


def doubled(x: Any) -> Any:
    """Inputs in double precision, where finite differences are good."""
    if isinstance(x, list):
        return [doubled(part) for part in x]
    return x.astype(np.float64) if x.dtype in (np.float32, np.float16) else x


def value(workload: Workload, inputs: tuple[Any, ...]) -> np.ndarray:
    args = inputs[:1] if workload.what == "hvp" else inputs
    return np.asarray(ad.Tensor(workload.bound("adjoint", ad.ops)(*args)).asnumpy())


def moved(x: Any, direction: Any, step: float) -> Any:
    if isinstance(x, list):
        return [p + step * d for p, d in zip(x, direction, strict=True)]
    return x + step * direction


def slope(workload: Workload, inputs: tuple[Any, ...], direction: Any, step: float = 1e-5) -> np.ndarray:
    """The derivative along a direction, by central differences of the function's values."""
    ahead, behind = ((moved(inputs[0], direction, s), *inputs[1:]) for s in (step, -step))
    return (value(workload, ahead) - value(workload, behind)) / (2 * step)


def directions(rng: np.random.Generator, x: Any) -> Any:
    return [rng.normal(size=p.shape) for p in x] if isinstance(x, list) else rng.normal(size=x.shape)


@pytest.mark.parametrize("name", [n for n, w in TINY.items() if w.what in ("gradient", "train")])
def test_gradients_of_the_workloads_are_slopes_of_their_values(name: str) -> None:
    workload, rng = TINY[name], np.random.default_rng(1)
    inputs = tuple(doubled(x) for x in workload.inputs(rng))
    contender = ENTRIES[DYNAMIC].make()
    found, *rest = contender.values(contender.prepare(workload, inputs)())
    old = inputs[0] if isinstance(inputs[0], list) else [inputs[0]]
    grads = [(p - new) / RATE for p, new in zip(old, rest, strict=True)] if workload.what == "train" else rest
    direction = directions(rng, inputs[0])
    along = sum(np.sum(g * d) for g, d in zip(grads, direction if isinstance(direction, list) else [direction]))
    np.testing.assert_allclose(found, value(workload, inputs), rtol=1e-12)
    np.testing.assert_allclose(along, slope(workload, inputs, direction), rtol=1e-5, atol=1e-8)


def test_the_other_derivatives_agree_with_differences() -> None:
    rng = np.random.default_rng(2)
    contender = ENTRIES[STATIC].make()

    bundle = TINY["bundle"]
    inputs = bundle.inputs(rng)
    (jacobian,) = contender.values(contender.prepare(bundle, inputs)())
    direction = rng.normal(size=inputs[0].shape)
    expected = slope(bundle, inputs, direction)
    np.testing.assert_allclose(np.einsum("nij,nj->ni", jacobian, direction), expected, rtol=1e-4, atol=1e-3)

    x, v = rng.normal(size=4), rng.normal(size=4)
    (hessian,) = contender.values(contender.prepare(TINY["rosenbrock_hessian"], (x,))())
    (product,) = contender.values(contender.prepare(TINY["rosenbrock_hvp"], (x, v))())
    second = [rosenbrock_gradient(x + 1e-5 * s * v) for s in (1, -1)]
    np.testing.assert_allclose(product, (second[0] - second[1]) / 2e-5, rtol=1e-6)
    np.testing.assert_allclose(hessian @ v, product, rtol=1e-10)


def rosenbrock_gradient(x: np.ndarray) -> np.ndarray:
    return scipy.optimize.rosen_der(x)


def test_a_race_is_run_and_written(tmp_path: Any) -> None:
    names = ["--contenders", DYNAMIC, STATIC]
    report = main(["--tiny", "--quick", "--rounds", "2", "--only", "chain", *names, "--write", str(tmp_path / "b")])
    saved = json.loads((tmp_path / "b.json").read_text())["workloads"][0]
    assert [r["contender"] for r in saved["results"]] == [DYNAMIC, STATIC]
    assert all(r["seconds"] > 0 and r["first"] > 0 and r["primal"] > 0 for r in saved["results"])
    assert saved["machine_rate"] > 0
    assert "elementwise chain" in (tmp_path / "b.md").read_text()
    assert len(report.outcomes) == 1


def test_who_differs_from_a_peer_is_found() -> None:
    right, wrong = [np.array([1.0, 2.0])], [np.array([1.0, 2.1])]
    known = {DYNAMIC: Ready(values=wrong), "JAX jit": Ready(values=right), "autograd": Ready(values=right)}
    results = [Result(name) for name in known]
    judge(known, 1e-6, results)
    assert [bool(r.error) for r in results] == [True, False, False]
    assert "JAX jit" in results[0].error


def test_a_process_that_dies_in_the_race_is_lost_alone() -> None:
    settings = Settings(rounds=2, turn=0.001, limit=20.0, tiny=True)
    runners = [
        Runner(name, sys.executable, "measure_machine", settings, {"kind": "sgemm", "threads": 1})
        for name in ("a", "b")
    ]
    try:
        assert not any(runner.ready(20.0).error for runner in runners)
        runners[0].process.kill()
        lost = run_rounds(runners, settings, lambda text: None)
    finally:
        for runner in runners:
            runner.close()
    assert list(lost) == ["a"] and "died" in lost["a"]
    assert len(runners[1].times("derivative")) == 2


def test_slow_calls_now_and_then_do_not_count() -> None:
    """The first calls, and every tenth, take a hundred times as long as the others."""
    count = 0

    def step() -> None:
        nonlocal count
        count += 1
        time.sleep(0.02 if count < 3 or count % 10 == 0 else 0.0002)

    group = group_of(step, 0.2)
    assert group == 1
    assert seconds(step, group, 0.1) < 0.005


def test_differences_of_shape_and_nan_are_not_small() -> None:
    one = [np.ones(2)]
    assert not difference([np.ones(3)], one) <= 1.0
    assert not difference([np.array([np.nan, 1.0])], one) <= 1.0
    assert difference(one, one) == 0.0


def test_figures_of_the_report() -> None:
    results = [Result(STATIC, 1.0, primal=0.5), Result("JAX jit", 3.0), Result("autograd", error="broken")]
    outcome = Outcome(TINY["mlp"], results, rate=4 * TINY["mlp"].work.amount)
    assert versus_peers(outcome) == ["3x", ""]
    assert cost(outcome, results[0]) == "2"
    assert share_of_roofline(outcome, results[0]) == "25%"
    assert versus_peers(Outcome(TINY["mlp"], [Result(DYNAMIC, 1.0), Result("torch eager", 0.5)])) == ["", "0.5x"]
    alone = Outcome(TINY["mlp"], [Result(STATIC, 1.0), Result("JAX jit", 12.0)], threads=1)
    page = Report(Settings(), [STATIC, "JAX jit", "autograd"], [outcome, alone]).markdown()
    assert "mlp, autograd, 2 threads: broken" in page and "see notes" in page
    assert "Geometric means: static vs best peer 3.00x." in page
    assert "### One thread" in page and "static vs best peer 12.00x" in page
    assert f"| JAX jit | {ENTRIES['JAX jit'].how} |" in page


@pytest.mark.parametrize("kind", ["sgemm", "dgemm", "copy"])
def test_ceilings_run(kind: str) -> None:
    top = ceiling(kind, threads=2, tiny=True)
    top.step()
    assert top.amount > 0
