"""The header of an exported function: what a C program includes, with a page on how to call it."""

from __future__ import annotations

import textwrap
from math import prod

import adjoint
from adjoint.backends.native.standalone import FAILED, NO_MEMORY, NULL_POINTER, OUT_OF_RANGE, StandaloneObject
from adjoint.deploy.file_names import unique
from adjoint.deploy.traced_program import Argument, TracedProgram

C_TYPES = {"float32": "float", "float64": "double", "int32": "int32_t", "int64": "int64_t", "bool": "bool"}
PRINTED = {"float32": "%g", "float64": "%g", "int32": "%d", "int64": "%lld", "bool": "%d"}
CASTS = {"int64": "(long long)"}


def header_text(name: str, header: str, file: str, program: TracedProgram, made: StandaloneObject, origin: str) -> str:
    """The header of a function, for a file of that name."""
    guard, big = f"{name}_H".upper(), name.upper()
    words = "\n".join(
        [
            f"{name}: {origin}, compiled by adjoint {adjoint.__version__} for {made.triple}, {made.cpu}.",
            "",
            *wrapped(_arguments(program)),
            "",
            *wrapped(_conduct(name, made)),
            "",
            f"Build: cc program.c {file} -lm" + ("" if file.endswith(".o") else " -Wl,-rpath,."),
            "",
            *example(name, header, program).splitlines(),
        ]
    )
    comment = "\n".join(f" * {line}".rstrip() for line in words.split("\n"))
    arguments = [*(_declared(x, False) for x in program.inputs), *(_declared(x, True) for x in program.outputs)]
    listed = ",\n    ".join([*arguments, "void *workspace"])
    return f"""/*
{comment}
 */
#ifndef {guard}
#define {guard}

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define {big}_OK 0
#define {big}_INDEX_OUT_OF_RANGE {OUT_OF_RANGE}
#define {big}_NO_MEMORY {NO_MEMORY}
#define {big}_NULL_POINTER {NULL_POINTER}
#define {big}_MATRIX_FAILED {FAILED}

#ifdef __cplusplus
extern "C" {{
#endif

int {name}(
    {listed});

/* Bytes of a workspace, {made.workspace} here. */
size_t {name}_workspace_size(void);

#ifdef __cplusplus
}}
#endif

#endif
"""


def wrapped(text: str) -> list[str]:
    """Paragraphs in lines of a hundred characters."""
    return [line for part in text.split("\n") for line in textwrap.wrap(part, 100) or [""]]


def _arguments(program: TracedProgram) -> str:
    fixed = [f"Part of the program, and no arguments here: {safe('; '.join(program.fixed))}."] if program.fixed else []
    held = [f"The Parameters {safe(', '.join(program.embedded))} are in the file."] if program.embedded else []
    return "\n".join(
        [
            "Numbers are passed by value, arrays by the address of their elements in C order (the last axis is contiguous), "
            "aligned as their type is. Results are written to memory of the caller's, which must not overlap with the inputs.",
            *fixed,
            *held,
        ]
    )


def _conduct(name: str, made: StandaloneObject) -> str:
    big = name.upper()
    checks = (
        f", {big}_INDEX_OUT_OF_RANGE if an index is (results are then undefined)" if made.may_be_out_of_range else ""
    )
    failing = (
        f", {big}_MATRIX_FAILED if a matrix is singular or not positive definite, or nearly so (results are then undefined)"
        if made.may_fail
        else ""
    )
    lacking = f"{big}_NO_MEMORY if there is none to be had" if made.workspace or made.allocates else ""
    workspace = (
        f"`workspace` is NULL, or {name}_workspace_size() bytes that this call has to itself; with NULL it takes them from "
        f"malloc and gives them back."
        if made.workspace
        else "It needs no workspace: `workspace` may be NULL."
    )
    grows = " Its loops of unknown length take memory as they need it, and give it back." if made.allocates else ""
    codes = ", ".join(filter(None, [f"{big}_NULL_POINTER if an address is missing", lacking]))
    return (
        f"Returns {big}_OK, {codes}{checks}{failing}. {workspace}{grows} It runs on the thread that calls it, keeps nothing from call "
        f"to call, and may be called by several threads at a time. It needs the C library and its libm, nothing else."
    )


def _declared(x: Argument, result: bool) -> str:
    kind = C_TYPES[x.spec.dtype.name]
    if not result and not x.spec.shape:
        return f"{kind} {x.name} {described(x)}"
    return f"{'' if result else 'const '}{kind} *{x.name} {described(x)}"


def described(x: Argument) -> str:
    """The comment on an argument: shape, dtype, and what the program calls it."""
    called = f": {safe(x.label)}" if x.label and x.label != x.name else ""
    size = f", shape {x.spec.shape}" if x.spec.shape else ""
    return f"/* {x.spec.dtype.name}{size}{called} */"


def safe(text: str) -> str:
    """Text that does not end a comment, nor leave its line or the plain letters."""
    plain = text.encode("ascii", "replace").decode().replace("*/", "* /").replace("/*", "/ *").replace("\\", "/")
    return " ".join(plain.split())


def example(name: str, header: str, program: TracedProgram) -> str:
    """A program that calls the function with zeros, and prints what comes first of each result."""
    lines = ["#include <stdio.h>", f'#include "{header}"', "", "int main(void)", "{"]
    lines += [f"    static {_memory(x)}" for x in (*program.inputs, *program.outputs)]
    given = [x.name for x in program.inputs]
    taken = [x.name if x.spec.shape else f"&{x.name}" for x in program.outputs]
    (code,) = unique(["code"], [name, *given, *(x.name for x in program.outputs)])
    lines.append(f"    int {code} = {name}({', '.join([*given, *taken, 'NULL'])});")
    for x in program.outputs:
        kind = x.spec.dtype.name
        if prod(x.spec.shape):
            first = f"{x.name}[0]" if x.spec.shape else x.name
            lines.append(f'    printf("{x.name} {PRINTED[kind]}\\n", {CASTS.get(kind, "")}{first});')
    return "\n".join([*lines, f"    return {code};", "}"])


def _memory(x: Argument) -> str:
    size = f"[{max(prod(x.spec.shape), 1)}]" if x.spec.shape else ""
    return f"{C_TYPES[x.spec.dtype.name]} {x.name}{size};"
