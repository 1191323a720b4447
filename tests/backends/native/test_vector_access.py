"""Rows that end inside a vector: what is stored ends where the row does, whatever LLVM makes of a store under a mask."""

from __future__ import annotations

import ctypes
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from adjoint.backends.native import compiler
from adjoint.backends.native.runtime import kernel_call
from adjoint.core.spec import Spec
from adjoint.graph.node import Builder, Graph
from adjoint.ops.casting import Cast

SPARE = 64  # bytes behind each result


def with_room_behind(library: Any, symbol: str, inputs: Any, outputs: Any, *, arena_bytes: int = 0, **how: Any) -> Any:
    """Like `make_callable`; behind each result there is memory in which nothing may be written."""
    kernel = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(library[symbol])

    def call(*arrays: np.ndarray) -> list[np.ndarray]:
        sizes = [int(np.prod(s.shape)) * s.dtype.itemsize for s in outputs]
        memory = [np.full(n + SPARE, 0x41, np.uint8) for n in sizes]
        arena, address = kernel_call.aligned_arena(arena_bytes)
        places = [*(a.ctypes.data for a in (*arrays, *memory)), address]
        pointers = (ctypes.c_void_p * len(places))(*places)
        kernel(ctypes.addressof(pointers))
        assert all((m[n:] == 0x41).all() for m, n in zip(memory, sizes, strict=True)), "written beyond the result"
        return [m[:n].view(s.dtype).reshape(s.shape) for m, n, s in zip(memory, sizes, outputs, strict=True)]

    call.library = library  # type: ignore[attr-defined]  # the code lives as long as the function
    return call


CASTS = [
    ("int64", "int32"),
    ("float64", "float32"),
    ("float32", "bool"),
    ("float32", "float16"),
    ("float64", "bfloat16"),
]


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize(("old", "new"), CASTS)
def test_narrow_results_end_where_their_rows_do(monkeypatch: pytest.MonkeyPatch, old: str, new: str, rows: int) -> None:
    monkeypatch.setattr(kernel_call, "make_callable", with_room_behind)
    dtype = np.dtype(ml_dtypes.bfloat16 if new == "bfloat16" else new)
    draw = np.random.default_rng(0)
    sizes = [1, 2, 9, 15, 17, 33, 40_001] if rows == 1 else [9, 17]
    builder = Builder()
    xs = [draw.integers(0, 1 << 20, (rows, n)).astype(old) for n in sizes]
    params = [builder.param(Spec(x.shape, x.dtype)) for x in xs]
    graph = Graph(tuple(params), tuple(builder.build(Cast(dtype), (p,)) for p in params))
    with np.errstate(over="ignore"):
        for got, x in zip(compiler.Program(graph)(*xs), xs, strict=True):
            np.testing.assert_array_equal(got.astype(np.float64), x.astype(dtype).astype(np.float64))
