"""An exported function as an object file or a shared library, and its header."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from adjoint.backends.native import standalone
from adjoint.core.errors import ArgumentError, NotExportableError, called_at
from adjoint.deploy.c_header import header_text
from adjoint.deploy.traced_program import TracedProgram
from adjoint.graph.ruled import without_rules
from adjoint.passes import optimise
from adjoint.passes.dead import dead

LARGEST = 1 << 30  # bytes of constants that code reaches


def write(program: TracedProgram, path: Path, name: str, cpu: str, shared: bool, origin: str) -> tuple[Path, int]:
    """Write the function to a file and its header beside it: where that is, and the bytes of the workspace."""
    graph = dead(optimise(without_rules(program.graph))[0], final=True)
    check_constants(program)
    made = standalone.build(graph, name, cpu)
    header = path.with_suffix(".h")
    if shared:
        link(made.code, path)
    else:
        path.write_bytes(made.code)
    header.write_text(header_text(name, header.name, path.name, program, made, origin))
    return header, made.workspace


def check_constants(program: TracedProgram) -> None:
    """Refuse constants that position-independent code in the small model does not reach."""
    size = sum(n.op.value.nbytes for n in program.graph.nodes if hasattr(getattr(n.op, "value", None), "nbytes"))
    if size > LARGEST:
        raise NotExportableError(
            f"export: {size} bytes of Parameters and other constants are more than a file holds ({LARGEST}): give "
            f"parameters='inputs'{called_at()}"
        )


def compiler() -> list[str]:
    """The command of the C compiler that links shared libraries: CC, else cc, gcc or clang."""
    chosen = os.environ.get("CC")
    found = shlex.split(chosen) if chosen else [c for c in ("cc", "gcc", "clang") if shutil.which(c)][:1]
    if not found or shutil.which(found[0]) is None:
        what = f"CC={chosen!r} is not found" if chosen else "there is no cc, gcc or clang"
        raise NotExportableError(
            f"export: a shared library is linked by a C compiler, and {what}. Install one, or export an object file "
            f"(path='....o'), which needs none{called_at()}"
        )
    return found


def link(code: bytes, path: Path) -> None:
    """Make a shared library of an object file."""
    with tempfile.TemporaryDirectory() as folder:
        inside = Path(folder) / "code.o"
        inside.write_bytes(code)
        command = [*compiler(), "-shared", "-o", str(path), str(inside), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise ArgumentError(f"export: {shlex.join(command)} failed:\n{done.stderr.strip()}{called_at()}")
