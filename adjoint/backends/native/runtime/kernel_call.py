"""The cheap way from Python into a kernel `void kernel(void** buffers)`: inputs, then outputs, then the arena.

There are two ways in, with one meaning. The builtin is a C function, compiled once a process from the IR in
`array_entry.py`: it checks and unpacks arrays in some tens of nanoseconds, and hands whatever it does not know to the
portable way, which converts or refuses. The portable way uses ctypes, and serves alone where the builtin's knowledge
of CPython and NumPy fails its own test.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from types import BuiltinFunctionType
from typing import Any, Literal, NamedTuple

import numpy as np

from adjoint.backends.native.runtime.array_entry import builtin, entry
from adjoint.backends.native.runtime.llvm_compile import Library
from adjoint.backends.native.runtime.object_layout import dtype_code, problem
from adjoint.backends.native.runtime.pages import page_size
from adjoint.backends.native.runtime.result_memory import LARGE, result_memory
from adjoint.core.errors import ArgumentError, ArgumentTypeError, DtypeError, ShapeError
from adjoint.core.spec import Spec, elements

ALIGNMENT = 64  # of the arena; arrays of users are aligned to their elements only
LARGE_ARENA = 1 << 20  # bytes of an arena that begins with a page, of which a kernel may give back parts
C_ALIGNED = 0x1 | 0x100  # NumPy's flags of a C-contiguous and aligned array
RELEASE_GIL, SINGLE = 1, 2
ANY_FLOAT, ONLY_FLOAT32 = 1, 2  # which numbers may stand for a 0-d array, see array_entry.py

Kernel = Callable[..., Any]


def make_callable(
    library: Library,
    symbol: str,
    inputs: Sequence[Spec],
    outputs: Sequence[Spec],
    *,
    arena_bytes: int = 0,
    release_gil: bool = False,
    single: bool = False,
    path: Literal["auto", "builtin", "ctypes"] = "auto",
) -> Kernel:
    """A function from arrays to a list of fresh arrays, or with `single` to the only one.

    The kernel's arrays are C-contiguous and aligned to their elements; its arena is aligned to 64 bytes, holds
    `arena_bytes` of anything, and is its own for the time of the call. `release_gil` lets other Python threads run
    meanwhile: right for kernels of more than some microseconds.
    """
    if single and len(outputs) != 1:
        raise ArgumentError(f"single=True needs one output, got {len(outputs)}")
    portable = portable_callable(library, symbol, inputs, outputs, arena_bytes, release_gil, single)
    if path == "ctypes" or (path == "auto" and problem()):
        return portable
    return builtin_callable(library, symbol, inputs, outputs, arena_bytes, release_gil, single, portable)


def portable_callable(
    library: Library,
    symbol: str,
    inputs: Sequence[Spec],
    outputs: Sequence[Spec],
    arena_bytes: int,
    release_gil: bool,
    single: bool,
) -> Kernel:
    """The way in through ctypes."""
    prototype = ctypes.CFUNCTYPE if release_gil else ctypes.PYFUNCTYPE
    kernel = prototype(None, ctypes.c_void_p)(library[symbol])
    pointers = ctypes.c_void_p * (len(inputs) + len(outputs) + 1)
    results = [(spec.shape, spec.dtype) for spec in outputs]
    # Calls of several threads need an arena each; list.pop and append are atomic.
    arenas: list[tuple[np.ndarray, int]] = []

    def call(*args: Any) -> Any:
        if len(args) != len(inputs):
            raise ArgumentTypeError(f"{symbol} takes {len(inputs)} arrays, got {len(args)}")
        arrays = [x if fits(x, spec) else conform(x, spec, i) for i, (x, spec) in enumerate(zip(args, inputs))]
        fresh = [np.empty(shape, dtype) for shape, dtype in results]
        try:
            arena = arenas.pop()
        except IndexError:
            arena = aligned_arena(arena_bytes)
        try:
            kernel(pointers(*(a.ctypes.data for a in (*arrays, *fresh)), arena[1]))
        except SystemError as error:  # what Python makes of an exception that ctypes does not look for
            raise (error.__cause__ or error) from None
        finally:
            arenas.append(arena)
        return fresh[0] if single else fresh

    call.library = library  # type: ignore[attr-defined]  # the code lives as long as the function
    return call


def fits(x: Any, spec: Spec) -> bool:
    """Whether an argument can be handed to the kernel as it is."""
    return (
        type(x) is np.ndarray
        and x.dtype == spec.dtype
        and x.shape == spec.shape
        and x.flags.num & C_ALIGNED == C_ALIGNED
    )


def conform(x: Any, spec: Spec, position: int) -> np.ndarray:
    """An argument as the array that the kernel takes: copied when its layout differs, refused when its meaning does."""
    if isinstance(x, (bool, int, float, complex)) and np.result_type(spec.dtype, x) == spec.dtype:
        x = np.asarray(x, spec.dtype)
    array = np.asarray(x)
    if array.dtype.newbyteorder("=") != spec.dtype:
        raise DtypeError(f"argument {position} must be {spec}, got {Spec(array.shape, array.dtype)}")
    if array.shape != spec.shape:
        raise ShapeError(f"argument {position} must be {spec}, got {Spec(array.shape, array.dtype)}")
    return np.require(array, spec.dtype, ["C", "A"])


def aligned_arena(size: int) -> tuple[np.ndarray, int]:
    """A block of memory, and the address in it where `size` bytes begin at a multiple of the alignment, or of a page."""
    alignment = page_size(size) if size >= LARGE_ARENA else ALIGNMENT
    block = np.empty(size + alignment, np.uint8)
    address = block.ctypes.data
    return block, address + -address % alignment


def builtin_callable(
    library: Library,
    symbol: str,
    inputs: Sequence[Spec],
    outputs: Sequence[Spec],
    arena_bytes: int,
    release_gil: bool,
    single: bool,
    portable: Kernel,
) -> Kernel:
    """The way in through the compiled entry, which reads all it must know from one table of integers."""
    arena = aligned_arena(arena_bytes)
    table = [
        library[symbol],
        len(inputs),
        len(outputs),
        RELEASE_GIL * release_gil | SINGLE * single,
        arena[1],
        arena_bytes,
        0,  # whether the arena is in use
        id(portable),
    ]
    head = len(table)
    details = [*map(number_kind, inputs), *map(allocator, outputs)]
    for spec, detail in zip((*inputs, *outputs), details, strict=True):
        table += [id(spec.dtype), spec.ndim, detail, dtype_code(spec.dtype), *spec.shape]
    state = State(np.array(table, np.int64), head, tuple(inputs), tuple(outputs), (library, arena, portable))
    return builtin(symbol, entry(), "adj_enter", (state.table,), state)


class State(NamedTuple):
    """What a builtin knows of its kernel."""

    table: np.ndarray
    head: int  # where the records begin
    inputs: tuple[Spec, ...]
    outputs: tuple[Spec, ...]
    keep: Any  # what the table points to


def state_of(run: Kernel) -> State | None:
    """What is known of a kernel that a builtin calls; None for any other way in."""
    held = run.__self__ if isinstance(run, BuiltinFunctionType) else None
    return next((x for x in held if type(x) is State), None) if type(held) is tuple else None


def number_kind(spec: Spec) -> int:
    """Which numbers the entry may take for this input."""
    if spec.shape == () and spec.dtype in (np.float64, np.float32):
        return ANY_FLOAT if spec.dtype == np.float64 else ONLY_FLOAT32
    return 0


def allocator(spec: Spec) -> int:
    """What the memory of such a result comes from, as a record says it: a NumPy allocator's address, or 0 for the usual one."""
    return id(result_memory().capsule) if elements(spec) * spec.dtype.itemsize >= LARGE else 0
