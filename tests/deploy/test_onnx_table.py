"""Every card becomes ONNX and is run by onnxruntime on its own samples, or is refused by name; what is exported may only grow."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented as NotImplemented_

import adjoint as ad
from adjoint.backends.interpreter import Steps
from adjoint.core.spec import spec_of
from adjoint.deploy import onnx_files
from adjoint.deploy.onnx_table import FORMS, REFUSED
from adjoint.deploy.traced_program import Argument, TracedProgram
from adjoint.graph.node import Builder, Graph
from adjoint.ops import REGISTRY
from adjoint.testing.cases import cases, flat
from adjoint.testing.random_graphs import random_graph

LEAST = 100  # cards with a form: raise it with them
CONSTANT = {"ScatterSet"}  # cards whose indices must be known
LOOSE = {"Cbrt": 1e-5, "Tan": 1e-5, "Det": 1e-5, "Pow": 1e-5}


def session(model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def narrow(x: np.ndarray) -> np.ndarray:
    return x.astype({"float64": "float32", "complex128": "complex64"}.get(x.dtype.name, x.dtype))


def test_every_card_has_a_form_or_a_reason() -> None:
    assert set(FORMS) | set(REFUSED) == set(REGISTRY), "a card needs a form or a reason in deploy/onnx_table.py"
    assert not set(FORMS) & set(REFUSED)
    assert len(FORMS) >= LEAST
    assert all(len(reason) > 10 for reason in REFUSED.values())


def written(name: str, samples: list[Any]) -> tuple[Any, list[np.ndarray], list[np.ndarray]]:
    """A model with all samples of a card, its inputs, and the results of the card's kernel."""
    builder, given, wanted, outputs = Builder(), [], [], []
    for case in samples:
        xs = [narrow(x) for x in case.xs]
        fixed = [name in CONSTANT and k > 1 for k in range(len(xs))]
        nodes = [builder.const(x) if yes else builder.param(spec_of(x)) for x, yes in zip(xs, fixed, strict=True)]
        given += [x for x, yes in zip(xs, fixed, strict=True) if not yes]
        call = builder.build(case.op, nodes)
        count = len(call.spec) if isinstance(call.spec, tuple) else 0
        outputs += [builder.pick(call, k) for k in range(count)] if count else [call]
        wanted += [np.asarray(y) for y in flat(case.op.eval(np, *xs))]
    graph = Graph(tuple(builder.params), tuple(outputs), name)
    inputs = [Argument(f"x{k}", p.spec) for k, p in enumerate(graph.params)]
    results = [Argument(f"y{k}", o.spec) for k, o in enumerate(graph.outputs)]
    writer, *infos = onnx_files.written(TracedProgram(graph, inputs, results, [], [], {}))
    return onnx_files.assembled(name, writer, *infos, 18), given, wanted


def can_be_written(name: str, case: Any) -> bool:
    try:
        written(name, [case])
    except ad.NotExportableError:
        return False
    return True


@pytest.mark.parametrize("name", FORMS)
def test_onnxruntime_computes_what_the_card_does(name: str) -> None:
    samples = [case for (case,) in cases(REGISTRY[name], rounds=1)]
    possible = [case for case in samples if can_be_written(name, case)]
    assert possible, f"no sample of {name} can be exported"
    model, given, wanted = written(name, possible)
    onnx.checker.check_model(model, full_check=True)
    run = session(model)
    used = {x.name for x in run.get_inputs()}
    found = run.run(None, {f"x{k}": x for k, x in enumerate(given) if f"x{k}" in used})
    for mine, theirs in zip(found, wanted, strict=True):
        assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype)
        if theirs.dtype.kind == "f":
            np.testing.assert_allclose(mine, theirs, rtol=LOOSE.get(name, 2e-6), atol=2e-6)
        else:
            np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("name", REFUSED)
def test_a_card_without_a_form_is_refused_by_name(name: str) -> None:
    (case,) = next(cases(REGISTRY[name], rounds=1))
    with pytest.raises(ad.NotExportableError, match=rf"\b{name}\b.* has no form in ONNX"):
        written(name, [case])


def test_random_graphs_of_integers_to_the_last_bit() -> None:
    """With branches and loops inside; what onnxruntime or ONNX has no kernel for is left out."""
    compared = 0
    for seed in range(30):
        random = Random(seed)
        graph, inputs = random_graph(random, random.randrange(3, 12), empty=seed % 5 == 0)
        given = [Argument(f"x{k}", p.spec) for k, p in enumerate(graph.params)]
        results = [Argument(f"y{k}", o.spec) for k, o in enumerate(graph.outputs)]
        try:
            writer, *infos = onnx_files.written(TracedProgram(graph, given, results, [], [], {}))
            run = session(onnx_files.assembled("random", writer, *infos, 18))
        except (ad.NotExportableError, NotImplemented_):
            continue
        used = {x.name for x in run.get_inputs()}
        found = run.run(None, {x.name: np.asarray(v) for x, v in zip(given, inputs, strict=True) if x.name in used})
        for mine, theirs in zip(found, Steps(graph)(*inputs), strict=True):
            np.testing.assert_array_equal(mine, np.asarray(theirs), strict=True)
        compared += 1
    assert compared > 20


def test_the_product_of_a_transposed_matrix_and_a_vector(tmp_path: Path) -> None:
    """Which onnxruntime's optimiser would get wrong."""
    a, b = np.arange(12.0).reshape(4, 3), np.arange(4.0)
    made = ad.export(lambda a, b: (a.T @ b, b @ a, b @ b), a, b, path=tmp_path / "m.onnx")
    run = onnxruntime.InferenceSession(made.path, providers=["CPUExecutionProvider"])
    for mine, theirs in zip(run.run(None, {"a": a, "b": b}), (a.T @ b, b @ a, b @ b), strict=True):
        np.testing.assert_array_equal(mine, theirs, strict=True)


def test_slices_of_every_kind(tmp_path: Path) -> None:
    x = np.arange(20.0).reshape(4, 5)
    places = (None, -9, -2, 0, 2, 9)
    kinds = [slice(a, b, c) for a in places for b in places for c in (None, 2, -1, -3)]
    made = ad.export(lambda x: [x[s, None, -2] for s in kinds], x, path=tmp_path / "s.onnx")
    found = onnxruntime.InferenceSession(made.path, providers=["CPUExecutionProvider"]).run(None, {"x": x})
    for mine, s in zip(found, kinds, strict=True):
        np.testing.assert_array_equal(mine, x[s, None, -2], strict=True)
