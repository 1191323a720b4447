"""ONNX models for a batch of any size: the program is written for several sizes, and what differs becomes a formula of the size.

Where constants of the models (shapes, places, numbers of iterations) are a * n + b in the batch size n, they are computed from the
shape of an input. Anything else that differs is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from adjoint.api.arguments import Signature
from adjoint.backends import interpreter
from adjoint.core import context, tree
from adjoint.core.errors import ArgumentError, NotExportableError, ShapeError, called_at
from adjoint.deploy.onnx_writer import Writer, element_type, int64, library
from adjoint.deploy.traced_program import INPUTS, TracedProgram, array, trace
from adjoint.frontend import loops
from adjoint.graph.node import constants_apart
from adjoint.graph.ruled import without_rules

PROBES = (37, 46, 83)
OTHERS = (1, 2, 3, 5, 9, 17, 150)  # sizes at which the model is tried: the function may branch on its size
AXIS = "batch"

Sized = list[tuple[int, TracedProgram]]


@dataclass(frozen=True)
class AnyBatch:
    """The nodes of a model for any batch size, and the descriptions of its inputs and results."""

    writer: Writer
    inputs: list[Any]
    outputs: list[Any]


def traced_at_sizes(
    fn: Callable[..., Any],
    args: Sequence[Any],
    name: str,
    outputs: Sequence[str] | None,
    batch: tuple[str, ...],
) -> tuple[Sized, Sized, list[str]]:
    """The program at several batch sizes, the last of them that of the arguments; at others, small ones among them; and the
    inputs with a batch, by name."""
    signature = Signature(getattr(fn, "_fn", fn))
    if missing := set(batch) - set(signature.names):
        raise ArgumentError(
            f"export: dynamic_batch names {sorted(missing)}, which the function does not take{called_at()}"
        )
    mine = [signature.names.index(x) for x in batch]
    if any(k >= len(args) for k in mine):
        raise ArgumentError(f"export: dynamic_batch names an argument that is not given{called_at()}")
    found = {array(x).shape[:1] for k in mine for x in tree.leaves(args[k])}
    if len(found) != 1 or () in found:
        raise ShapeError(f"export: the arguments with a batch must share the size of their first axis{called_at()}")
    ((size,),) = found

    def traced(n: int) -> TracedProgram:
        sized = [tree.map(lambda x: resized(x, n), x) if k in mine else x for k, x in enumerate(args)]
        with context.setting(loops.few, 0), context.setting(constants_apart, True):
            return trace(fn, sized, name, INPUTS, outputs, optimised=False)

    programs = [(n, traced(n)) for n in (PROBES if size in PROBES else (*PROBES, size))]
    others = []
    for n in OTHERS:
        with suppress(Exception):  # a size that the function refuses: the model is not for it
            others.append((n, traced(n)))
    labels = programs[0][1].inputs
    batched = [x.name for x in labels if x.label.split("[")[0].split(".")[0] in batch]
    return programs, others, batched


def resized(x: Any, n: int) -> np.ndarray:
    """An array like this one with another first axis."""
    value = array(x)
    return np.zeros((n, *value.shape[1:]), value.dtype)


def any_batch(models: Sequence[tuple[int, tuple[Writer, list[Any], list[Any]]]], batched: Sequence[str]) -> AnyBatch:
    """One model for all sizes."""
    sizes = [size for size, _ in models]
    writers = [writer for _, (writer, _, _) in models]
    if len({tuple(map(_text, w.nodes)) for w in writers}) > 1 or len({tuple(w.constants) for w in writers}) > 1:
        raise NotExportableError(
            f"export: the program is another one for another batch size, so that no model serves all: leave "
            f"dynamic_batch out{called_at()}"
        )
    writer = writers[0]
    computed = {}
    for name in list(writer.constants):
        values = [w.constants[name] for w in writers]
        if all(v.shape == values[0].shape and v.tobytes() == values[0].tobytes() for v in values):
            continue
        computed[name] = affine(values, sizes)
        del writer.constants[name]
    writer.nodes[:0] = formulas(writer, batched[0], computed)
    inputs = [described([m[1][k] for _, m in models], sizes) for k in range(len(models[0][1][1]))]
    outputs = [described([m[2][k] for _, m in models], sizes) for k in range(len(models[0][1][2]))]
    return AnyBatch(writer, inputs, outputs)


def _text(node: Any) -> bytes:
    return node.SerializeToString(deterministic=True)  # type: ignore[no-any-return]


def affine(values: Sequence[np.ndarray], sizes: Sequence[int]) -> tuple[np.ndarray, np.ndarray, np.dtype]:
    """Slope and offset of a constant in the batch size."""
    first, second = values[:2]
    fits = all(v.shape == first.shape and v.dtype == first.dtype for v in values)
    if fits and first.dtype.kind in "iuf":
        slope = (second.astype(float) - first) / (sizes[1] - sizes[0])
        offset = first - slope * sizes[0]
        if all(np.array_equal(slope * n + offset, v) for n, v in zip(sizes, values, strict=True)):
            whole = [np.rint(x).astype(np.int64) for x in (slope, offset)]
            if np.array_equal(whole[0], slope) and np.array_equal(whole[1], offset):
                return whole[0], whole[1], first.dtype
    raise NotExportableError(
        f"export: an array or number in the program depends on the batch size in another way than a * n + b, so that no "
        f"model serves all sizes: leave dynamic_batch out{called_at()}"
    )


def differs(sized: Sequence[tuple[int, Writer]], n: int, other: Writer) -> bool:
    """Whether the program at a size is another one than the formulas say: other steps, or other numbers in them."""
    first = sized[0][1]
    if [*map(_text, first.nodes)] != [*map(_text, other.nodes)] or [*first.constants] != [*other.constants]:
        return True
    for name, value in first.constants.items():
        values = [w.constants[name] for _, w in sized] + [other.constants[name]]
        if all(v.shape == value.shape and v.tobytes() == value.tobytes() for v in values):
            continue
        try:
            affine(values, [*(size for size, _ in sized), n])
        except NotExportableError:
            return True
    return False


def check_at(model: Any, program: TracedProgram, n: int) -> None:
    """Refuse a model that does not compute what the program does at a size."""
    rng = np.random.default_rng(0)
    arrays = {x.name: program.weights.get(x.name, _drawn(rng, x.spec)) for x in program.inputs}
    names = {x.name for x in model.graph.input}
    try:
        with np.errstate(all="ignore"):
            want = interpreter.compile(without_rules(program.graph))(*arrays.values())
            evaluator = import_module("onnx.reference").ReferenceEvaluator(model)
            found = evaluator.run(None, {k: v for k, v in arrays.items() if k in names})
        same = all(
            a.shape == np.shape(b) and np.allclose(a, b, 1e-3, 1e-3, equal_nan=True)
            for a, b in zip(found, want, strict=True)
        )
    except Exception:  # neither can it be tried
        same = False
    if not same:
        raise NotExportableError(
            f"export: the program is another one for a batch of {n}, so that no model serves all sizes: leave dynamic_batch "
            f"out{called_at()}"
        )


def _drawn(rng: np.random.Generator, spec: Any) -> np.ndarray:
    return rng.uniform(0.1, 0.9, spec.shape).astype(spec.dtype)


def formulas(writer: Writer, source: str, computed: dict[str, tuple[np.ndarray, np.ndarray, np.dtype]]) -> list[Any]:
    """Nodes that compute these constants from the first axis of an input."""
    with writer.inside() as nodes:
        if computed:
            shape = writer.add("Shape", source)
            size = writer.add("Gather", shape, writer.constant(np.array(0), int64), axis=0)
            for name, (slope, offset, dtype) in computed.items():
                product = writer.add("Mul", writer.constant(slope, int64), size)
                total = writer.add("Add", product, writer.constant(offset, int64))
                nodes.append(
                    library().helper.make_node("Cast", [total], [name], name=f"{name}_node", to=element_type(dtype))
                )
    return nodes


def described(infos: Sequence[Any], sizes: Sequence[int]) -> Any:
    """An input or result whose axes that differ have a name, or none where they are not the batch itself."""
    shapes = [[d.dim_value for d in info.type.tensor_type.shape.dim] for info in infos]
    dims: list[int | str | None] = []
    for axis in zip(*shapes, strict=True):
        dims.append(axis[0] if len(set(axis)) == 1 else AXIS if list(axis) == list(sizes) else None)
    kind = infos[0].type.tensor_type.elem_type
    return library().helper.make_tensor_value_info(infos[0].name, kind, dims)
