"""Native kernels for fuzzing: bounds-checked, and compiled with little effort."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from adjoint.backends.native import cache, checked, jit, program


@contextmanager
def quick_builds(effort: int = 0, bits: int = 0) -> Iterator[None]:
    """Kernels are checked, compiled with little effort for vectors of so many bits, and not kept on disk."""
    before = jit.EFFORT, program.vector_bits, cache._current, cache._chosen
    widest = program.vector_bits()
    jit.EFFORT, cache._current, cache._chosen = effort, None, True
    program.vector_bits = lambda: min(bits or widest, widest)
    try:
        with checked.build():
            yield
    finally:
        jit.EFFORT, program.vector_bits, cache._current, cache._chosen = before
