"""A notebook, run in a kernel of its own: Tensors, networks, graphs, reports and progress bars show themselves there."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]

CELLS = {
    "tensor": "import numpy as np\nimport adjoint as ad\nfrom adjoint import nn, ops\nad.Tensor([[1.5, 2.0], [3.0, 4.0]])",
    "parameter": "ad.Parameter(ad.Tensor([7.0]), name='weight')",
    "network": "net = nn.SequentialCell(nn.Dense(2, 3), nn.ReLU(), nn.Dense(3, 1))\nnet",
    "summary": "nn.summary(net, ops.ones((4, 2)))",
    "graph": "ad.graph.trace_function(lambda x: ops.sin(x) * 2.0, [ad.Tensor(1.0)])",
    "profile": "def loss(x):\n    return ops.sum(ops.sin(x))\n\n\nad.profile(ad.grad(loss))(ad.Tensor([1.0, 2.0]))",
    "nan": "try:\n    with ad.debug_nan():\n        ops.log(ad.Tensor([-1.0]))\nexcept ad.NonFiniteError as error:\n    print(error)",
    "progress": (
        "from adjoint.core.progress import Progress\n"
        "progress = Progress(every=0.0)\n"
        "progress.begin('epoch 1', 3)\n"
        "for _ in range(3):\n    progress.advance()\n"
        "progress.end(lambda: 'loss 0.5')\nprogress.close()"
    ),
}


@pytest.fixture(scope="module")
def outputs() -> dict[str, list[Any]]:
    """What each cell of the notebook has put out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the tools that run notebooks
        import nbformat
        from nbclient import NotebookClient

        cells = [nbformat.v4.new_code_cell(code) for code in CELLS.values()]
        notebook = nbformat.v4.new_notebook(cells=cells)
        client = NotebookClient(
            notebook, timeout=60, kernel_name="python3", resources={"metadata": {"path": str(ROOT)}}
        )
        client.execute(env={**os.environ, "PYTHONPATH": str(ROOT)})
    return dict(zip(CELLS, [cell.outputs for cell in notebook.cells], strict=True))


def page(found: list[Any]) -> str:
    return "".join(out["data"].get("text/html", "") for out in found if out["output_type"] == "execute_result")


def text(found: list[Any]) -> str:
    return "".join(out.get("text", "") for out in found if out["output_type"] == "stream")


def test_a_notebook(outputs: dict[str, list[Any]]) -> None:
    for name, parts in {
        "tensor": ["Tensor", "shape (2, 2)", "float32", "from 1.5 to 4", "<td"],
        "parameter": ["Parameter weight", "7"],
        "network": ["SequentialCell", "Dense", "13 parameters", "<table>"],
        "summary": ["output shape", "(4, 3)", "(4, 1)", "13 trainable"],
        "profile": ["Sin", "backward", "return ops.sum(ops.sin(x))"],
    }.items():
        shown = page(outputs[name])
        assert [part for part in parts if part not in shown] == [], (name, shown)
    (graph,) = outputs["graph"]
    assert "Sin" in graph["data"]["text/plain"] + graph["data"].get("text/html", "")
    assert "ops.log(ad.Tensor([-1.0]))" in text(outputs["nan"])


def test_a_progress_bar(outputs: dict[str, list[Any]]) -> None:
    shown = text(outputs["progress"])
    widgets = [out for out in outputs["progress"] if "application/vnd.jupyter.widget-view+json" in out.get("data", {})]
    assert widgets or ("3/3" in shown and "epoch 1" in shown and "loss 0.5" in shown and "█" in shown), shown
