"""`ad.export`: a function or derivative as a file that runs without Python."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adjoint.api.inputs import check_function, name_of
from adjoint.core.errors import ArgumentError, ArgumentTypeError, boundary, called_at
from adjoint.core.spec import Spec
from adjoint.deploy import traced_program
from adjoint.deploy.file_names import identifier
from adjoint.deploy.traced_program import Argument

SUFFIXES = {".o": "object", ".so": "shared", ".dylib": "shared", ".onnx": "onnx"}


@dataclass(frozen=True)
class Exported:
    """What was written: the file, the header of a C function, and its inputs and results by name."""

    path: Path
    format: str
    name: str
    inputs: dict[str, Spec]
    outputs: dict[str, Spec]
    header: Path | None = None
    workspace_bytes: int = 0
    opset: int | None = None

    def __str__(self) -> str:
        def shown(named: dict[str, Spec]) -> str:
            return ", ".join(f"{name}: {spec}" for name, spec in named.items())

        return f"{self.path} ({self.format}): {self.name}({shown(self.inputs)}) -> {shown(self.outputs)}"


@boundary
def export(
    fn: Callable[..., Any],
    *args: Any,
    path: str | os.PathLike[str],
    format: str | None = None,
    name: str | None = None,
    outputs: Sequence[str] | None = None,
    parameters: str = "embedded",
    cpu: str | None = None,
    dynamic_batch: str | Sequence[str] = (),
    opset: int | None = None,
) -> Exported:
    """Write a function, or a derivative, to a file that runs without Python: machine code for C programs, or an ONNX model.

    Args:
        fn: a function or Cell, or what a transform made of one: `ad.value_and_grad(loss)`, `ad.jit(f)`.
        args: arguments whose shapes and dtypes the file is for. Integers, strings and other things that are neither arrays
            nor floats become part of the program, as in `jit`. For keyword arguments, export a lambda that gives them.
        path: the file. `.o` is an object file, `.so` or `.dylib` a shared library, each with a C header of the same name
            beside it; `.onnx` is an ONNX model.
        format: "object", "shared" or "onnx", where the suffix does not say it.
        name: of the C function, or of the ONNX graph; by default the name of the file.
        outputs: names of the results. By default gradients are called after what they belong to, `d_x`.
        parameters: "embedded" puts the values of Parameters into the file; with "inputs" they are arguments behind the others.
        cpu: of machine code: "native" (the default) for CPUs like this one, or one such as "x86-64-v3", "generic".
        dynamic_batch: of an ONNX model, the arguments whose first axis may have any size.
        opset: of an ONNX model, the version of the operators.

    A C function takes numbers by value and arrays by address, returns a code that is 0 if all went well, keeps no state,
    and runs on the calling thread. What needs Python is refused by name.

    >>> import pathlib, tempfile
    >>> import adjoint as ad
    >>> def loss(w, x):
    ...     return ad.ops.sum(ad.ops.tanh(x @ w) ** 2)
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "slope.o"
    >>> made = ad.export(ad.value_and_grad(loss), ad.ops.ones((3, 2)), ad.ops.ones((5, 3)), path=file)
    >>> made.header.name, list(made.inputs), list(made.outputs)
    ('slope.h', ['w', 'x'], ['value', 'd_w'])
    """
    check_function("export", fn)
    path = checked_path(path)
    kind = checked_format(path, format)
    name = checked_name(path, name)
    only_onnx = {"dynamic_batch": dynamic_batch, "opset": opset}
    if kind == "onnx":
        if cpu is not None:
            raise ArgumentError(f"export: cpu= is for machine code, an ONNX model runs on any{called_at()}")
        from adjoint.deploy import onnx_files

        batch = (dynamic_batch,) if isinstance(dynamic_batch, str) else dynamic_batch
        if not isinstance(batch, (tuple, list)) or not all(isinstance(x, str) for x in batch):
            raise ArgumentTypeError(
                f"export: dynamic_batch must be the name of an argument, or a list of names, not {dynamic_batch!r}{called_at()}"
            )
        program, opset = onnx_files.write(fn, args, path, name, parameters, outputs, tuple(batch), opset)
        return Exported(path, kind, name, listed(program.inputs), listed(program.outputs), opset=opset)
    if given := [key for key, value in only_onnx.items() if value not in (None, ())]:
        raise ArgumentError(f"export: {given[0]}= is for ONNX models, machine code has fixed sizes{called_at()}")
    from adjoint.backends.native.standalone import check_cpu
    from adjoint.deploy import c_files

    cpu = check_cpu("native" if cpu is None else cpu)
    program = traced_program.trace(fn, args, name, parameters, outputs)
    header, workspace = c_files.write(program, path, name, cpu, kind == "shared", name_of(fn))
    return Exported(path, kind, name, listed(program.inputs), listed(program.outputs), header, workspace)


def listed(arguments: Sequence[Argument]) -> dict[str, Spec]:
    """Specs by name."""
    return {x.name: x.spec for x in arguments}


def checked_path(path: Any) -> Path:
    """The path of a file in a folder that is there."""
    if not isinstance(path, (str, os.PathLike)):
        raise ArgumentTypeError(f"export: path must be the name of a file, not {type(path).__name__}{called_at()}")
    found = Path(path)
    if not found.parent.is_dir():
        raise ArgumentError(f"export: there is no folder {str(found.parent)!r} to write {found.name!r} to{called_at()}")
    if found.is_dir():
        raise ArgumentError(f"export: {str(found)!r} is a folder; path must name a file{called_at()}")
    return found


def checked_format(path: Path, format: str | None) -> str:
    """The kind of file, by its suffix if it is not given."""
    known = dict.fromkeys(SUFFIXES.values())
    if format is not None and format not in known:
        raise ArgumentError(f"export: format must be one of {', '.join(map(repr, known))}, got {format!r}{called_at()}")
    if format is None and path.suffix not in SUFFIXES:
        raise ArgumentError(
            f"export: {path.name!r} does not say what to write: end it with {', '.join(SUFFIXES)}, or give format= "
            f"({', '.join(map(repr, known))}){called_at()}"
        )
    if format is not None and SUFFIXES.get(path.suffix, format) != format:
        raise ArgumentError(
            f"export: format={format!r}, but {path.name!r} is the name of another kind of file{called_at()}"
        )
    if path.suffix == ".dylib" and sys.platform != "darwin":
        raise ArgumentError(f"export: a .dylib is a library of macOS; on this system it is a .so{called_at()}")
    return format or SUFFIXES[path.suffix]


def checked_name(path: Path, name: str | None) -> str:
    """The name of the function: by default the file's."""
    if name is None:
        return identifier(path.stem.removeprefix("lib") or path.stem)
    if not isinstance(name, str) or identifier(name) != name:
        raise ArgumentError(
            f"export: {name!r} is no name for a function in C, {identifier(str(name))!r} would be{called_at()}"
        )
    return name
