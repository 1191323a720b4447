"""Runs compiled kernels in memory that ends where it should: a page that may not be touched lies right behind (or before)
each input, result, constant and the arena, and what is left of its own pages is checked afterwards.

python guarded.py NAME...    # each a set of graphs below; run as a process of its own, since a wrong access ends it
python guarded.py --reads    # a kernel that goes too far, to see that it is noticed (or --writes)
"""

from __future__ import annotations

import ctypes
import faulthandler
import mmap
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.backends.native import compiler
from adjoint.backends.native.emit import llvm_ir
from adjoint.backends.native.runtime import llvm_compile
from adjoint.backends.native.runtime.kernel_call import conform
from adjoint.core.spec import Spec
from corpus.graph_sets import SETS, check

PAGE = mmap.PAGESIZE
PROT_NONE = 0
libc = ctypes.CDLL(None, use_errno=True)
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


class Room:
    """So many bytes at one end of pages of their own, between two pages that may not be touched."""

    def __init__(self, size: int, at_end: bool, filling: int) -> None:
        inner = -(-max(size, 1) // PAGE) * PAGE
        self.pages = np.frombuffer(mmap.mmap(-1, inner + 2 * PAGE), np.uint8)
        address = self.pages.ctypes.data
        for guard in (address, address + PAGE + inner):
            if libc.mprotect(guard, PAGE, PROT_NONE):
                raise OSError(ctypes.get_errno(), "mprotect")
        self.pages[PAGE:-PAGE] = filling
        self.filling, self.begin = filling, PAGE + (inner - size if at_end else 0)
        self.address = address + self.begin
        self.bytes = self.pages[self.begin : self.begin + size]
        self.spare = (self.pages[PAGE : self.begin], self.pages[self.begin + size : -PAGE])

    def intact(self) -> bool:
        return all(bool((part == self.filling).all()) for part in self.spare)

    def array(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        return self.bytes.view(dtype).reshape(shape)


def guarded_callable(library: Any, symbol: str, inputs: Any, outputs: Any, *, arena_bytes: int = 0, **how: Any) -> Any:
    """Like `make_callable`, in guarded memory: twice, at both ends of the pages, over different rubbish."""
    kernel = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(library[symbol])

    def once(arrays: Sequence[np.ndarray], at_end: bool, filling: int) -> list[np.ndarray]:
        rooms = [Room(a.nbytes, at_end, filling) for a in arrays]
        for room, a in zip(rooms, arrays, strict=True):
            room.bytes[:] = np.frombuffer(a.tobytes(), np.uint8)
        sizes = [int(np.prod(s.shape, dtype=int)) * s.dtype.itemsize for s in outputs]
        results = [Room(n, at_end, filling) for n in sizes]
        everything = [*rooms, *results, Room(arena_bytes, at_end, filling)]
        pointers = (ctypes.c_void_p * len(everything))(*(r.address for r in everything))
        kernel(ctypes.addressof(pointers))
        assert all(r.intact() for r in everything), "something was written outside its place"
        for room, a in zip(rooms, arrays, strict=True):
            assert room.bytes.tobytes() == a.tobytes(), "an input was overwritten"
        return [r.array(s.shape, s.dtype).copy() for r, s in zip(results, outputs, strict=True)]

    def call(*args: Any) -> list[np.ndarray]:
        arrays = [conform(x, spec, k) for k, (x, spec) in enumerate(zip(args, inputs, strict=True))]
        one, other = once(arrays, True, 0xFF), once(arrays, False, 0x41)
        for a, b in zip(one, other, strict=True):
            assert a.tobytes() == b.tobytes(), "the result depends on what was in memory before"
        return one

    call.library = library  # type: ignore[attr-defined]
    return call


def guarded_constant(module: llvm_ir.Module, array: np.ndarray) -> str:
    """Like `Module.constant`, in guarded memory."""
    room = Room(array.nbytes, True, 0xFF)
    room.bytes[:] = np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8)
    name = module.fresh("const")
    module.externals[name] = room.address
    module.keep.append(room)
    module.declarations[f"@{name} = external constant i8"] = None
    return f"@{name}"


def trespass(how: str) -> None:
    """Run a kernel that copies one element more than it may."""
    sizes = {"--reads": (3, 4), "--writes": (4, 3)}[how]
    text = """
        declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
        define void @kernel(ptr %b) {
          %to.at = getelementptr ptr, ptr %b, i64 1
          %from = load ptr, ptr %b
          %to = load ptr, ptr %to.at
          call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 32, i1 false)
          ret void
        }"""
    given, result = (Spec((n,), np.dtype(np.float64)) for n in sizes)
    guarded_callable(llvm_compile.compile_ir(text, ["kernel"], {}), "kernel", [given], [result])(np.zeros(sizes[0]))


def main() -> None:
    if sys.argv[1] in ("--reads", "--writes"):
        return trespass(sys.argv[1])
    faulthandler.enable()
    compiler.kernel_call.make_callable = guarded_callable  # type: ignore[assignment]
    llvm_ir.Module.constant = guarded_constant  # type: ignore[method-assign]
    for chosen in sys.argv[1:]:
        count = 0
        for name, graph, xs in SETS[chosen]():
            print(name, flush=True)  # the last line names the culprit if the process ends
            count += check(name, graph, xs)
        print(f"{chosen}: {count} graphs ran within their memory")


if __name__ == "__main__":
    main()
