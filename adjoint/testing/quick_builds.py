"""Native kernels for fuzzing: bounds-checked, and compiled with little effort."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from adjoint.backends.native import compiler
from adjoint.backends.native.runtime import checked_build, llvm_compile, object_cache


@contextmanager
def quick_builds(effort: int = 0, bits: int = 0) -> Iterator[None]:
    """Kernels are checked, compiled with little effort for vectors of so many bits, and not kept on disk."""
    before = llvm_compile.EFFORT, compiler.vector_bits, object_cache._current, object_cache._chosen
    widest = compiler.vector_bits()
    llvm_compile.EFFORT, object_cache._current, object_cache._chosen = effort, None, True
    compiler.vector_bits = lambda: min(bits or widest, widest)
    try:
        with checked_build.build():
            yield
    finally:
        llvm_compile.EFFORT, compiler.vector_bits, object_cache._current, object_cache._chosen = before
