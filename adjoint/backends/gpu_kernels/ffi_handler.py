"""The function that XLA calls where a program calls a kernel: machine code that launches it on XLA's stream.

Its one argument is the call frame of XLA's C interface, whose header comes with JAX. The places of its fields are those of version 0 of that
interface, in which fields are only added at the end.
"""

from __future__ import annotations

import ctypes
import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adjoint.backends.gpu_kernels.thread_layout import THREADS
from adjoint.backends.native.runtime import llvm_compile

#: Places of fields, in bytes.
EXTENSION, API, CONTEXT, ARGUMENT_COUNT, ARGUMENTS, RESULT_COUNT, RESULTS = 8, 16, 24, 56, 72, 96, 112
ERROR_CREATE, STREAM_GET = 48, 80  # in the table of functions
DATA = 24  # in a buffer
METADATA, METADATA_VERSION, METADATA_TRAITS, METADATA_STATE = 24, 8, 32, 40
VERSION_SIZE, STREAM_SIZE, ERROR_SIZE = 24, 32, 28
MAJOR = 0
RECORDABLE = 1  # a trait: the same is launched in each call, so that it may be part of a CUDA graph
INTERNAL = 13  # a code of error


@dataclass(frozen=True)
class Launch:
    """A launch: which kernel, with how many blocks, and which of arguments and results, counted together, it is given."""

    kernel: int
    blocks: int
    buffers: tuple[int, ...]


@functools.cache
def interface() -> tuple[int, int, bool]:
    """Major and minor version of XLA's interface, and whether what is told of a function has a field for its state."""
    import jax

    header = Path(jax.ffi.include_dir()) / "xla" / "ffi" / "api" / "c_api.h"
    text = header.read_text()
    major, minor = (int(re.search(rf"#define XLA_FFI_API_{n} (\d+)", text)[1]) for n in ("MAJOR", "MINOR"))  # type: ignore[index]
    return major, minor, "state_type_id" in text


def address(library: llvm_compile.Library) -> Any:
    """What JAX takes for the function: its address in a capsule."""
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return make(library["handler"], None, None)


def handler(
    inputs: int, results: int, launches: Sequence[Launch], launch: int, on_gpu: bool, keep: Any = None
) -> llvm_compile.Library:
    """Machine code of the function `handler` for these launches. `launch` is the address of cuLaunchKernel, or what stands in for it."""
    text = handler_text(inputs, results, launches, on_gpu)
    externals = {f"kernel{k}": at.kernel for k, at in enumerate(launches)} | {"launch": launch}
    return llvm_compile.compile_ir(text, ["handler"], externals, keep=keep)


def handler_text(inputs: int, results: int, launches: Sequence[Launch], on_gpu: bool) -> str:
    """The function as LLVM IR."""
    stream = _stream() if on_gpu else "  br label %launch0\n"
    steps = "".join(_launch(k, at, inputs, on_gpu, k == len(launches) - 1) for k, at in enumerate(launches))
    kernels = "".join(f"@kernel{k} = external global i8\n" for k in range(len(launches)))
    return f"""{kernels}declare i32 @launch(ptr, i32, i32, i32, i32, i32, i32, i32, ptr, ptr, ptr)
{_text("refused", "the GPU's driver has refused to launch a kernel of adjoint")}{_text("shapes", "a kernel of adjoint was called with another number of arrays")}
define ptr @handler(ptr %frame) {{
entry:
  %params = alloca [{max(len(at.buffers) for at in launches)} x ptr], align 16
  %asked = alloca [{STREAM_SIZE} x i8], align 16
  %problem = alloca [{ERROR_SIZE + 4} x i8], align 16
{_field("api", "ptr", "frame", API)}{_field("extension", "ptr", "frame", EXTENSION)}  %plain = icmp eq ptr %extension, null
  br i1 %plain, label %checked, label %metadata
metadata:
{_metadata()}  ret ptr null
checked:
{_field("given", "i64", "frame", ARGUMENT_COUNT)}{_field("wanted", "i64", "frame", RESULT_COUNT)}  %same = icmp eq i64 %given, {inputs}
  %alike = icmp eq i64 %wanted, {results}
  %fits = and i1 %same, %alike
  br i1 %fits, label %ready, label %strange
ready:
{_field("arguments", "ptr", "frame", ARGUMENTS)}{_field("results", "ptr", "frame", RESULTS)}{stream}{steps}strange:
  br label %failed
failed:
  %message = phi ptr [ @shapes, %strange ]{"".join(f", [ @refused, %launch{k} ]" for k in range(len(launches)))}
{_error()}}}
"""


def _text(name: str, words: str) -> str:
    data = words.encode() + b"\0"
    return f'@{name} = internal constant [{len(data)} x i8] c"{"".join(f"{chr(b)}" if b else chr(92) + "00" for b in data)}"\n'


def _field(name: str, kind: str, base: str, place: int) -> str:
    return (
        f"  %{name}_at = getelementptr i8, ptr %{base}, i64 {place}\n  %{name} = load {kind}, ptr %{name}_at, align 8\n"
    )


def _put(name: str, base: str, place: int, kind: str, value: Any) -> str:
    return f"  %{name}_at = getelementptr i8, ptr %{base}, i64 {place}\n  store {kind} {value}, ptr %{name}_at, align {4 if kind == 'i32' else 8}\n"


def _metadata() -> str:
    """Says which version of the interface this is written for, and that calls may be recorded."""
    major, minor, state = interface()
    lines = _field("about", "ptr", "extension", METADATA)
    for name, place, kind, value in (
        ("size", 0, "i64", VERSION_SIZE),
        ("more", 8, "ptr", "null"),
        ("major", 16, "i32", major),
        ("minor", 20, "i32", minor),
    ):
        lines += _put(name, "about", METADATA_VERSION + place, kind, value)
    lines += _put("traits", "about", METADATA_TRAITS, "i32", RECORDABLE)
    return lines + (_put("state", "about", METADATA_STATE, "i64", 0) if state else "")


def _stream() -> str:
    """Asks XLA for the stream on which it computes."""
    return f"""{_put("asked_size", "asked", 0, "i64", STREAM_SIZE)}{_put("asked_more", "asked", 8, "ptr", "null")}{_field("context", "ptr", "frame", CONTEXT)}{_put("asked_context", "asked", 16, "ptr", "%context")}{_put("asked_stream", "asked", 24, "ptr", "null")}{_field("stream_get", "ptr", "api", STREAM_GET)}  %refusal = call ptr %stream_get(ptr %asked)
  %has = icmp eq ptr %refusal, null
  br i1 %has, label %streaming, label %refused_stream
refused_stream:
  ret ptr %refusal
streaming:
{_field("stream", "ptr", "asked", 24)}  br label %launch0
"""


def _launch(k: int, at: Launch, inputs: int, on_gpu: bool, last: bool) -> str:
    """A launch: its parameters are the addresses of the fields in which the buffers' addresses are."""
    lines = [f"launch{k}:"]
    for n, number in enumerate(at.buffers):
        table, index = ("arguments", number) if number < inputs else ("results", number - inputs)
        name = f"b{k}_{n}"
        lines += [
            f"  %{name}_place = getelementptr ptr, ptr %{table}, i64 {index}",
            f"  %{name} = load ptr, ptr %{name}_place, align 8",
            f"  %{name}_data = getelementptr i8, ptr %{name}, i64 {DATA}",
            f"  %{name}_to = getelementptr ptr, ptr %params, i64 {n}",
            f"  store ptr %{name}_data, ptr %{name}_to, align 8",
        ]
    stream = "%stream" if on_gpu else "null"
    sizes = f"i32 {at.blocks}, i32 1, i32 1, i32 {THREADS}, i32 1, i32 1, i32 0"
    lines += [
        f"  %code{k} = call i32 @launch(ptr @kernel{k}, {sizes}, ptr {stream}, ptr %params, ptr null)",
        f"  %good{k} = icmp eq i32 %code{k}, 0",
        f"  br i1 %good{k}, label %{'done' if last else f'launch{k + 1}'}, label %failed",
    ]
    if last:
        lines += ["done:", "  ret ptr null"]
    return "\n".join(lines) + "\n"


def _error() -> str:
    """An error of XLA's, with a message."""
    return f"""{_put("problem_size", "problem", 0, "i64", ERROR_SIZE)}{_put("problem_more", "problem", 8, "ptr", "null")}{_put("problem_message", "problem", 16, "ptr", "%message")}{_put("problem_code", "problem", 24, "i32", INTERNAL)}{_field("create", "ptr", "api", ERROR_CREATE)}  %error = call ptr %create(ptr %problem)
  ret ptr %error
"""
