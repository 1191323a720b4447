"""A graph as an object file: a function for C programs, with nothing of Python in it.

The kernel is the one that `jit` would run, with its constants in the file, its parallel loops run by the calling thread, and no
question to Python between its steps. Around it stands a function with the arguments of C: numbers by value, arrays by address.
"""

from __future__ import annotations

import functools
import platform
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from adjoint.backends.native.compiler import module_text, prepared, vector_bits, write_kernel
from adjoint.backends.native.dtypes import COMPUTED, is_computed
from adjoint.backends.native.emit.function_state import FunctionState
from adjoint.backends.native.emit.llvm_ir import Module
from adjoint.backends.native.emit.polling import FAILED_STATUS
from adjoint.backends.native.kernel_registry import kernel_of, plain
from adjoint.backends.native.plan.stages import Stages, can_compile
from adjoint.backends.native.runtime import llvm_compile, thread_pool
from adjoint.backends.native.runtime.kernel_call import ALIGNMENT
from adjoint.core.errors import ArgumentError, DtypeError, NotExportableError, called_at, shown_place
from adjoint.core.spec import Spec
from adjoint.graph.control import Control
from adjoint.graph.effects import Check, Print
from adjoint.graph.node import Const, Graph, Node, Param

NATIVE = "native"
LARGE = 1 << 14  # bytes of a constant that is not written out as text
CPUS = {
    "x86_64": {"x86-64": 128, "x86-64-v2": 128, "x86-64-v3": 256, "x86-64-v4": 512, "generic": 128},
    "aarch64": {"generic": 128},
    "arm64": {"generic": 128},
}
FINE, OUT_OF_RANGE, NO_MEMORY, NULL_POINTER, FAILED = 0, 1, 2, 3, FAILED_STATUS


@dataclass(frozen=True)
class StandaloneObject:
    """An object file, and what a caller of its function must know."""

    code: bytes
    workspace: int  # bytes
    may_be_out_of_range: bool
    may_fail: bool  # whether it factorises matrices that may have no factors or no inverse
    allocates: bool  # whether it takes memory beyond the workspace: what loops of unknown length keep
    triple: str
    cpu: str


def check_cpu(cpu: str) -> str:
    """The name of a CPU that code can be made for, as LLVM takes it."""
    known = CPUS.get(platform.machine(), {})
    if cpu != NATIVE and cpu not in known:
        raise ArgumentError(f"cpu must be one of {', '.join(map(repr, (NATIVE, *known)))}, got {cpu!r}{called_at()}")
    return cpu


def build(graph: Graph, name: str, cpu: str = NATIVE) -> StandaloneObject:
    """The object file with a function `name` that computes an optimised graph on such a CPU."""
    with tempfile.TemporaryDirectory() as folder:
        return _built(graph, name, cpu, Path(folder))


def _built(graph: Graph, name: str, cpu: str, folder: Path) -> StandaloneObject:
    """The same, with a folder for large constants."""
    check_cpu(cpu)
    check_dtypes(graph)
    graph = prepared(graph)[0]
    part = compiled_part(graph)
    bits = vector_bits() if cpu == NATIVE else CPUS[platform.machine()][cpu]
    shared = FunctionState(Module(), bits, standalone=True)
    body: list[str] = []
    arena, used = 0, None
    if part is not None:
        written = write_kernel(part[0], (), shared)
        check_without_scipy(shared.module)
        used = (*part[1:], len(written.inputs) + len(written.outputs))
        arena = shared.arena.size
        define_constants(shared.module, folder)
        body = renamed(module_text(shared.module, shared, used[2], written.targets), name)
    workspace = arena + ALIGNMENT - 1 if arena else 0
    texts = [*body, entry_text(graph, name, used, workspace, folder)]
    if shared.parallel:
        texts = [text.replace(thread_pool.DECLARE, "") for text in texts]
        texts.append(thread_pool.INLINE.format(linkage="internal", name=thread_pool.SYMBOL))
    llvm_compile.binding().initialize_native_asmparser()
    machine = llvm_compile.target_machine(None if cpu == NATIVE else _llvm_name(cpu))
    code = llvm_compile.emit("\n".join(merged(texts)), machine)
    named = llvm_compile.host()[0] if cpu == NATIVE else cpu
    failures = shared.checks, shared.polls.may_fail, shared.polls.may_lack_memory
    return StandaloneObject(code, workspace, *failures, machine.triple, named)


def _llvm_name(cpu: str) -> str:
    return "x86-64" if cpu == "generic" and platform.machine() == "x86_64" else cpu


def check_dtypes(graph: Graph) -> None:
    """Refuse arguments and results that C has no type for."""
    for node in (*graph.params, *graph.outputs):
        if not is_computed(node.dtype):
            raise DtypeError(
                f"C has no {node.dtype}, and an argument or result is {node.spec}; there are "
                f"{', '.join(COMPUTED)}{called_at()}"
            )
        if min(node.shape, default=0) < 0:
            raise NotExportableError(f"a result has as many elements as a loop has iterations{_where(node)}")


def check_without_scipy(module: Module) -> None:
    """Refuse what SciPy computes, which is not there where Python is not."""
    if module.scipy:
        names = ", ".join(sorted({f"scipy.special.{name.lstrip('_')}" for name, *_ in module.scipy}))
        raise NotExportableError(f"SciPy computes {names}, and a program without Python has no SciPy{called_at()}")


def compiled_part(graph: Graph) -> tuple[Graph, list[Node], list[Node]] | None:
    """The graph that the kernel computes, and which nodes it takes and gives; None if every result is given or constant."""
    stages = Stages(graph)
    if missing := [m for n in graph.calls for m in without_code(n)]:
        steps = ", ".join(dict.fromkeys(type(plain(n.op)).__name__ + _where(n) for n in missing))
        acts = any(n.op.effect and not isinstance(n.op, (Print, Check)) for n in missing)
        hint = " A network in training changes its state: export it after `set_train(False)`." if acts else ""
        raise NotExportableError(
            f"these steps have no machine code, Python runs them: {steps}. Only a function that `jit` compiles as a whole "
            f"can be written to a file (`ad.jit(f).explain(...)` shows it).{hint}"
        )
    if not stages.parts:
        return None
    ((_, part, inputs, outputs),) = stages.parts
    return part, inputs, outputs


def without_code(node: Node) -> list[Node]:
    """The steps that have no machine code without Python: those inside a branch or a loop, or the node itself."""
    op: Any = node.op
    inside = [n for graph in op.graphs().values() for n in graph.calls] if isinstance(op, Control) else []
    found = [m for n in inside for m in without_code(n)]
    rule = kernel_of(node)
    alone = rule is None or rule.standalone
    return found if found or (alone and can_compile(node)) else [node]


def _where(node: Node) -> str:
    return f" (at {shown_place(node.place)})" if node.place else ""


# ---------------------------------------------------------------- constants


def define_constants(module: Module, folder: Path) -> None:
    """Put the bytes of constants where `Module.constant` left their addresses to be linked."""
    for name, array in zip(module.sizes, module.keep, strict=True):
        del module.declarations[f"@{name} = external constant i8"]
        module.declarations[constant(name, array, folder)] = None


def constant(name: str, array: np.ndarray, folder: Path) -> str:
    """The definition of an array's bytes; many of them are read by LLVM's assembler from a file in the folder."""
    if array.nbytes > LARGE:
        (folder / name).write_bytes(array.tobytes())
        mac = sys.platform == "darwin"
        lines = [
            ".section __TEXT,__const" if mac else ".section .rodata",
            f".p2align {ALIGNMENT.bit_length() - 1}",
            f"{'_' * mac}{name}:",
            f".incbin \\22{folder / name}\\22",
            ".text",
        ]
        return "\n".join([*(f'module asm "{line}"' for line in lines), f"@{name} = external hidden constant i8"])
    text = "".join(map(_escapes().__getitem__, array.tobytes()))
    return f'@{name} = internal constant [{array.nbytes} x i8] c"{text}", align {ALIGNMENT}'


@functools.cache
def _escapes() -> list[str]:
    return [f"\\{byte:02X}" for byte in range(256)]


def renamed(texts: Sequence[str], name: str) -> list[str]:
    """The texts of a kernel with another name for what is called as the function is to be."""
    wanted = (name, f"{name}_workspace_size")
    together = "\n".join([*texts, *DECLARATIONS])
    if clash := set(wanted) & set(re.findall(r"^declare .*?@([\w.]+)", together, re.MULTILINE)):
        raise ArgumentError(
            f"name={min(clash)!r} is a function that the code itself calls: choose another{called_at()}"
        )
    return [re.sub(rf"(@|asm \"_?)({'|'.join(wanted)})\b", r"\1\2.inside", text) for text in texts]


def merged(texts: Sequence[str]) -> list[str]:
    """The lines of several texts as one module, which declares everything once."""
    seen: set[str] = set()
    lines = []
    for line in "\n".join(texts).split("\n"):
        if line.startswith("declare "):
            if line in seen:
                continue
            seen.add(line)
        lines.append(line)
    return lines


# ---------------------------------------------------------------- the function around the kernel


def c_type(spec: Spec, result: bool) -> str:
    """The type of an argument of the function, as LLVM calls it."""
    if result or spec.shape:
        return "ptr"
    kind = COMPUTED[spec.dtype.name]
    return f"{kind} zeroext" if kind == "i8" else kind


def entry_text(
    graph: Graph, name: str, used: tuple[list[Node], list[Node], int] | None, workspace: int, folder: Path
) -> str:
    """The function `name`, which calls the kernel, and `name`_workspace_size."""
    writer = EntryWriter(graph, name, workspace, folder)
    lines = writer.lines
    kinds = [c_type(p.spec, False) for p in graph.params] + ["ptr"] * (len(graph.outputs) + 1)
    names = [*(f"%in{k}" for k in range(len(graph.params))), *(f"%out{k}" for k in range(len(graph.outputs)))]
    arguments = ", ".join(f"{kind} {x}" for kind, x in zip(kinds, [*names, "%workspace"], strict=True))
    writer.check_pointers()
    if used is not None:
        writer.call_kernel(*used)
    else:
        writer.copy_others([])
        lines.append("  ret i32 0")
    return "\n".join(
        [
            *writer.globals,
            *DECLARATIONS,
            f"define i32 @{name}({arguments}) nounwind {{",
            "entry:",
            *lines,
            f"bad:\n  ret i32 {NULL_POINTER}\n}}",
            f"define i64 @{name}_workspace_size() nounwind {{\n  ret i64 {workspace}\n}}",
        ]
    )


DECLARATIONS = (
    "declare ptr @malloc(i64)",
    "declare void @free(ptr)",
    "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
)


class EntryWriter:
    """Writes the body of the function that C programs call."""

    def __init__(self, graph: Graph, name: str, workspace: int, folder: Path) -> None:
        self.graph, self.workspace, self.folder = graph, workspace, folder
        self.kernel = "kernel.inside" if name == "kernel" else "kernel"
        self.lines: list[str] = []
        self.globals: list[str] = []

    def check_pointers(self) -> None:
        """Leave if an array with elements has no address."""
        graph = self.graph
        given = [f"%in{k}" for k, p in enumerate(graph.params) if p.shape and 0 not in p.shape]
        given += [f"%out{k}" for k, o in enumerate(graph.outputs) if 0 not in o.shape]
        for k, x in enumerate(given):
            self.lines += [f"  %no{k} = icmp eq ptr {x}, null", f"  br i1 %no{k}, label %bad, label %ok{k}", f"ok{k}:"]
        if not given:
            self.lines += ["  br i1 false, label %bad, label %begin", "begin:"]

    def call_kernel(self, inputs: list[Node], outputs: list[Node], count: int) -> None:
        """Give the kernel its buffers; what it does not write itself is copied afterwards."""
        lines = self.lines
        place = {p: k for k, p in enumerate(self.graph.params)}
        first = {o: k for k, o in reversed(list(enumerate(self.graph.outputs)))}
        lines.append(f"  %buffers = alloca [{count + 1} x ptr]")
        for k, node in enumerate(inputs):
            x = f"%in{place[node]}"
            if not node.shape:
                kind = COMPUTED[node.spec.dtype.name]
                lines += [f"  %held{k} = alloca {kind}", f"  store {kind} {x}, ptr %held{k}"]
                x = f"%held{k}"
            self._buffer(k, x)
        for k, node in enumerate(outputs):
            self._buffer(len(inputs) + k, f"%out{first[node]}")
        if self.workspace:
            lines += WORKSPACE.format(size=self.workspace, mask=ALIGNMENT - 1, no_memory=NO_MEMORY).split("\n")
            self._buffer(count, "%arena")
        lines.append(f"  %status = call i64 @{self.kernel}(ptr %buffers)")
        self.copy_others(outputs)
        if self.workspace:
            lines.append("  call void @free(ptr %own)")
        lines += ["  %rc = trunc i64 %status to i32", "  ret i32 %rc"]

    def _buffer(self, k: int, address: str) -> None:
        self.lines += [f"  %b{k} = getelementptr ptr, ptr %buffers, i64 {k}", f"  store ptr {address}, ptr %b{k}"]

    def copy_others(self, computed: Sequence[Node]) -> None:
        """Results that are arguments, constants, or the same as another result."""
        outputs = self.graph.outputs
        place: dict[Node, int] = {p: k for k, p in enumerate(self.graph.params)}
        for k, node in enumerate(outputs):
            size = prod(node.shape) * node.spec.dtype.itemsize
            earlier = outputs.index(node)
            if earlier < k:
                source = f"%out{earlier}"
            elif isinstance(node.op, Const):
                value = np.ascontiguousarray(node.op.value, node.spec.dtype)
                self.globals.append(constant(f"constant.result{k}", value, self.folder))
                source = f"@constant.result{k}"
            elif isinstance(node.op, Param) and not node.shape:
                kind: Any = COMPUTED[node.spec.dtype.name]
                self.lines.append(f"  store {kind} %in{place[node]}, ptr %out{k}")
                continue
            elif isinstance(node.op, Param):
                source = f"%in{place[node]}"
            else:
                assert node in computed, f"nothing computes {node}"
                continue
            if size:
                self.lines.append(
                    f"  call void @llvm.memcpy.p0.p0.i64(ptr %out{k}, ptr {source}, i64 {size}, i1 false)"
                )


# The caller's workspace, or one that is taken for this call; it begins at a multiple of the alignment.
WORKSPACE = """\
  %take = icmp eq ptr %workspace, null
  br i1 %take, label %allocate, label %given
allocate:
  %fresh = call ptr @malloc(i64 {size})
  %lacking = icmp eq ptr %fresh, null
  br i1 %lacking, label %none, label %given.fresh
none:
  ret i32 {no_memory}
given.fresh:
  br label %ready
given:
  br label %ready
ready:
  %own = phi ptr [ null, %given ], [ %fresh, %given.fresh ]
  %raw = phi ptr [ %workspace, %given ], [ %fresh, %given.fresh ]
  %address = ptrtoint ptr %raw to i64
  %minus = sub i64 0, %address
  %gap = and i64 %minus, {mask}
  %arena = getelementptr i8, ptr %raw, i64 %gap"""
