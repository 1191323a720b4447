"""An exported function as an ONNX model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import adjoint
from adjoint.core.errors import ArgumentError, NotExportableError, called_at
from adjoint.deploy import onnx_table
from adjoint.deploy.file_names import unique
from adjoint.deploy.onnx_batch import any_batch, check_at, differs, traced_at_sizes
from adjoint.deploy.onnx_writer import Writer, library
from adjoint.deploy.traced_program import EMBEDDED, INPUTS, TracedProgram, check_parameters, trace
from adjoint.graph.node import Graph
from adjoint.graph.ruled import without_rules
from adjoint.passes import PASSES, optimise
from adjoint.passes.dead import dead

OPSET, NEWEST, IR = 18, 21, 9  # versions of the operators that are written, and of the file's format
LARGEST = 1 << 31  # bytes of a model in one file
PASSED = ("cse", "dead", "fold", "again")  # the passes that leave ops as the program has them


def write(
    fn: Callable[..., Any],
    args: Sequence[Any],
    path: Path,
    name: str,
    parameters: str,
    outputs: Sequence[str] | None,
    batch: tuple[str, ...],
    opset: int | None,
) -> tuple[TracedProgram, int]:
    """Write the model: the program in it, and the version of its operators."""
    library()
    version = OPSET if opset is None else opset
    if not isinstance(version, int) or not OPSET <= version <= NEWEST:
        raise ArgumentError(f"export: opset must be a number from {OPSET} to {NEWEST}, got {opset!r}{called_at()}")
    check_parameters(parameters)
    inside = parameters == EMBEDDED
    unsure: list[tuple[int, TracedProgram]] = []
    if batch:
        programs, others, batched = traced_at_sizes(fn, args, name, outputs, batch)
        models = [(size, written(program, inside, one_size=False)) for size, program in programs]
        sized = [(size, writer) for size, (writer, _, _) in models]
        unsure = [(n, p) for n, p in others if differs(sized, n, written(p, inside, one_size=False)[0])]
        made = any_batch(models, batched)
        program, writer, inputs, results = programs[-1][1], made.writer, made.inputs, made.outputs
    else:
        program = trace(fn, args, name, INPUTS, outputs, optimised=False)
        writer, inputs, results = written(program, inside)
    model = assembled(name, writer, inputs, results, version)
    check_model(model)
    for size, other in unsure:
        check_at(model, other, size)
    path.write_bytes(model.SerializeToString())
    if inside:
        program = replace(program, inputs=program.inputs[: len(inputs)])
    return program, version


def check_model(model: Any) -> None:
    """Refuse what ONNX itself says is no model: an operator on a dtype that it is not for."""
    onnx = library()
    try:
        onnx.checker.check_model(model, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise NotExportableError(f"export: ONNX has no such model: {error}{called_at()}") from None


def prepared(graph: Graph) -> Graph:
    """The graph with the ops of the program, without what is useless or known."""
    better = optimise(without_rules(graph), [name for name, _ in PASSES if name not in PASSED])[0]
    return dead(better, final=True)


def written(program: TracedProgram, inside: bool = False, one_size: bool = True) -> tuple[Writer, list[Any], list[Any]]:
    """The nodes of a program, and the descriptions of its inputs and results; with `inside`, Parameters are initializers."""
    given, results = [x.name for x in program.inputs], [x.name for x in program.outputs]
    writer = onnx_table.writer([*given, *results], one_size)
    open_inputs = [x for x in program.inputs if not inside or x.name not in program.weights]
    if inside:
        held = [x for x in program.inputs if x.name in program.weights]
        labels = unique([x.label for x in held], [*(x.name for x in open_inputs), *results])
        writer.taken.update(labels)
        writer.constants |= {label: program.weights[x.name] for label, x in zip(labels, held, strict=True)}
        given = [*(x.name for x in open_inputs), *labels]
    found = writer.graph(prepared(program.graph), given)
    for name, value in zip(results, found, strict=True):
        writer.nodes.append(library().helper.make_node("Identity", [value], [name], name=f"{name}_node"))
    infos = [[writer.info(x.name, x.spec) for x in group] for group in (open_inputs, program.outputs)]
    return writer, infos[0], infos[1]


def used_names(nodes: Sequence[Any]) -> set[str]:
    """The names that nodes read, those in graphs inside among them."""
    found: set[str] = set()
    for node in nodes:
        found.update(node.input)
        for attribute in node.attribute:
            if attribute.HasField("g"):
                found |= used_names(attribute.g.node)
    return found


def assembled(name: str, writer: Writer, inputs: list[Any], results: list[Any], opset: int) -> Any:
    """The model of nodes and constants."""
    onnx = library()
    used = used_names(writer.nodes)
    for key in [key for key in writer.constants if key not in used]:
        del writer.constants[key]
    size = sum(x.nbytes for x in writer.constants.values())
    if size >= LARGEST:
        raise NotExportableError(
            f"export: {size} bytes of Parameters and other constants do not fit one ONNX file: give parameters='inputs'"
            f"{called_at()}"
        )
    constants = [onnx.numpy_helper.from_array(x, key) for key, x in writer.constants.items()]
    graph = onnx.helper.make_graph(writer.nodes, name, inputs, results, initializer=constants)
    return onnx.helper.make_model(
        graph,
        producer_name="adjoint",
        producer_version=adjoint.__version__,
        opset_imports=[onnx.helper.make_opsetid("", opset)],
        ir_version=IR if opset < 21 else 10,
    )
