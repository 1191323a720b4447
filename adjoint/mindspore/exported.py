"""mindspore.export, load and nn.GraphCell: a network as its graph in a file, with the values of its Parameters."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from adjoint.api.graphs import traced
from adjoint.api.inputs import binding
from adjoint.core import context, tree
from adjoint.core.parameter import Parameter, resolve
from adjoint.core.tensor import Tensor
from adjoint.graph import text
from adjoint.graph.node import Graph
from adjoint.graph.walk import replay
from adjoint.mindspore.nn.cell import Cell
from adjoint.nn import Cell as EngineCell

SUFFIX = ".mindir"
LEAF = "leaf"  # in the description of how results are put together


class ExportedGraph:
    """A network read from a file: its graph, the Parameters by name, and how its results are put together."""

    def __init__(self, graph: Graph, parameters: dict[str, np.ndarray], results: Any) -> None:
        self.graph, self.parameters, self.results = graph, parameters, results


def export(net: Any, *inputs: Any, file_name: str, file_format: str, **kwargs: Any) -> None:
    """Write a network for inputs of such shapes and dtypes to a file that `load` reads.

    Inputs that are not Tensors become part of the graph. The format "MINDIR" is ours: MindSpore does not read it, nor we its.
    "ONNX" is what the name says; `ad.export` has more options for it.

    >>> import os, tempfile
    >>> import adjoint.mindspore as mindspore
    >>> from adjoint.mindspore import nn, Tensor
    >>> name = os.path.join(tempfile.mkdtemp(), "net")
    >>> net, x = nn.Dense(2, 1, weight_init="ones", has_bias=False), Tensor([[2.0, 3.0]])
    >>> mindspore.export(net, x, file_name=name, file_format="MINDIR")
    >>> print(nn.GraphCell(mindspore.load(name + ".mindir"))(x), net(x))
    [[5.]] [[5.]]
    """
    if file_format not in ("MINDIR", "ONNX"):
        raise NotImplementedError(
            f"mindspore.export: file_format {file_format!r} is not provided, only 'MINDIR' and 'ONNX'"
        )
    if kwargs:
        raise NotImplementedError(f"mindspore.export: {', '.join(kwargs)} is not provided")
    if file_format == "ONNX":
        from adjoint.deploy.exporting import export as write_onnx

        write_onnx(net, *inputs, path=f"{str(file_name).removesuffix('.onnx')}.onnx")
        return
    parameters = list(net.get_parameters()) if isinstance(net, EngineCell) else []
    compute = net.construct if isinstance(net, EngineCell) else net
    leaves, rebuild = tree.flatten(inputs)
    tensors = [x for x in leaves if isinstance(x, Tensor)]

    def flat(*values: Any) -> Any:
        given = iter(values)
        args = rebuild([next(given) if isinstance(x, Tensor) else x for x in leaves])
        with binding(dict(zip(parameters, given, strict=True))):
            return context.readable(compute)(*args)

    graph, rebuild_results = traced(flat, [*tensors, *(p.value() for p in parameters)])
    try:
        text.read(text.show(graph))
    except text.GraphTextError as error:
        raise NotImplementedError(
            f"mindspore.export: a step of the network cannot be written. If it writes to its state, as layers do that are "
            f"trained, call set_train(False) first ({error})"
        ) from None
    structure = _structure(rebuild_results([LEAF] * len(graph.outputs)))
    _write(Path(file_name), graph, {p.name: p.asnumpy() for p in parameters}, structure)


def _structure(out: Any) -> Any:
    """How results are put together, as JSON keeps it."""
    if isinstance(out, dict):
        return {"dict": [[key, _structure(x)] for key, x in out.items()]}
    if isinstance(out, (tuple, list)):
        return {type(out).__name__: [_structure(x) for x in out]}
    return None if out is None else LEAF


def _together(structure: Any, leaves: Iterator[Any]) -> Any:
    if structure is None or structure == LEAF:
        return None if structure is None else next(leaves)
    ((kind, parts),) = structure.items()
    if kind == "dict":
        return {key: _together(x, leaves) for key, x in parts}
    found = [_together(x, leaves) for x in parts]
    return found if kind == "list" else tuple(found)


def _write(path: Path, graph: Graph, parameters: dict[str, np.ndarray], structure: Any) -> None:
    if path.suffix != SUFFIX:
        path = path.with_name(path.name + SUFFIX)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("graph.txt", text.show(graph))
        file.writestr("results.json", json.dumps({"results": structure, "parameters": list(parameters)}))
        for i, array in enumerate(parameters.values()):
            buffer = io.BytesIO()
            np.save(buffer, array, allow_pickle=False)
            file.writestr(f"{i}.npy", buffer.getvalue())


def load(file_name: str, **kwargs: Any) -> ExportedGraph:
    """Read a network that `export` wrote; `nn.GraphCell` runs it."""
    if kwargs:
        raise NotImplementedError(f"mindspore.load: {', '.join(kwargs)} is not provided")
    if not str(file_name).endswith(SUFFIX):
        raise ValueError(f"For 'load', the file name must end with {SUFFIX!r}, but got {file_name!r}.")
    if not zipfile.is_zipfile(file_name):
        raise ValueError(f"{file_name} is not a file that adjoint.mindspore.export wrote")
    with zipfile.ZipFile(file_name) as file:
        head = json.loads(file.read("results.json"))
        arrays = [np.load(io.BytesIO(file.read(f"{i}.npy"))) for i in range(len(head["parameters"]))]
        graph = text.read(file.read("graph.txt").decode())
    return ExportedGraph(graph, dict(zip(head["parameters"], arrays, strict=True)), head["results"])


class GraphCell(Cell):
    """Runs a network that was read by `load`; its Parameters can be given other values, and be trained."""

    def __init__(self, graph: ExportedGraph, params_init: Any = None, obf_random_seed: Any = None) -> None:
        super().__init__()
        if not isinstance(graph, ExportedGraph):
            raise TypeError(f"For 'GraphCell', the graph must be what `load` gives, but got {type(graph)}.")
        given = params_init or {}
        if not isinstance(given, dict):
            raise TypeError(f"For 'GraphCell', params_init must be a dict, but got {type(given)}.")
        self.exported = graph
        for i, (name, array) in enumerate(graph.parameters.items()):
            setattr(self, f"parameter_{i}", Parameter(Tensor(given.get(name, array)), name=name))

    def construct(self, *inputs: Any) -> Any:
        parameters = [resolve(getattr(self, f"parameter_{i}")) for i in range(len(self.exported.parameters))]
        tensors = [x for x in tree.leaves(inputs) if isinstance(x, Tensor)]
        values = replay(self.exported.graph, [*tensors, *parameters])
        return _together(self.exported.results, iter([Tensor(v) for v in values]))
