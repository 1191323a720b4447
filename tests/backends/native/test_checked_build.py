"""Bounds-checked kernels: what goes too far is noticed and named, and nothing that the backend writes goes too far."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.backends.native import compiler
from adjoint.backends.native.emit import iteration_stack, loop_nest, vector_access
from adjoint.backends.native.emit.llvm_ir import Code
from adjoint.backends.native.kernels import gemm, gemm_blocking, matmul
from adjoint.backends.native.kernels.gemm_packing import Packing
from adjoint.backends.native.plan import arena, matmul_operands
from adjoint.backends.native.runtime import bounds_checks, checked_build, llvm_compile, object_cache
from corpus import graph_sets


@pytest.fixture(autouse=True)
def checked_builds(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Checked, quick to compile, and not kept."""
    monkeypatch.setattr(llvm_compile, "EFFORT", 0)
    monkeypatch.setattr(object_cache, "_current", None)
    monkeypatch.setattr(object_cache, "_chosen", True)
    with checked_build.build():
        yield


def run(fn: Callable[..., Any], *xs: np.ndarray) -> list[np.ndarray]:
    return compiler.Program(ad.jit(fn).graph(*xs))(*xs)


x17, w9 = np.arange(17.0), np.ones((9, 9))


# ---------------------------------------------------------------- kernels that go too far


def store_beyond(patch: pytest.MonkeyPatch) -> None:
    def put(code: Code, value: str, base: str, *rest: Any) -> None:
        vector_access.put(code, value, code.put(f"getelementptr i8, ptr {base}, i64 1"), *rest)

    patch.setattr(loop_nest, "put", put)


def load_before(patch: pytest.MonkeyPatch) -> None:
    def get(code: Code, base: str, *rest: Any) -> str:
        return vector_access.get(code, code.put(f"getelementptr double, ptr {base}, i64 -1"), *rest)

    patch.setattr("adjoint.backends.native.emit.expression_code.get", get)


def no_mask(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(loop_nest, "mask_of", lambda code, width, left: "<" + ", ".join(["i1 true"] * width) + ">")


def columns_of_the_result(patch: pytest.MonkeyPatch) -> None:
    """The last axis of a stack times a vector taken for columns, in the epilogue and not in the product."""
    patch.setattr(matmul, "_product", (lambda old: lambda node: _with(old, node))(matmul._product))
    patch.setattr(matmul_operands, "columns", lambda node: node.shape[-1])


def _with(product: Callable[..., Any], node: Any) -> Any:
    own, matmul_operands.columns = matmul_operands.columns, lambda n: 1  # type: ignore[assignment]
    try:
        return product(node)
    finally:
        matmul_operands.columns = own


def small_places(patch: pytest.MonkeyPatch) -> None:
    take = arena.Arena.take
    patch.setattr(arena.Arena, "take", lambda self, size, *more, **what: take(self, size - 1, *more, **what))


def copy_more(patch: pytest.MonkeyPatch) -> None:
    copy = Code.copy
    patch.setattr(Code, "copy", lambda self, to, source, size: copy(self, to, source, size + 1))


def too_little_room(patch: pytest.MonkeyPatch) -> None:
    make_room = iteration_stack.make_room

    def less(emitter: Any, loop: Any, stacks: Any, iterations: str) -> None:
        make_room(emitter, loop, stacks, emitter.code.add(iterations, -100))

    patch.setattr(iteration_stack, "make_room", less)


def panels_further_on(patch: pytest.MonkeyPatch) -> None:
    panel = Packing._packed_panel
    patch.setattr(Packing, "_packed_panel", lambda self, k, term: panel(self, self.code.add(k, 1), term))


def doubled(x: Any) -> Any:
    while ops.sum(x) < 1e9:
        x = x * 2.0 + ops.sin(x)
    return x


FAULTS: dict[str, tuple[Callable[..., None], Callable[..., Any], tuple[np.ndarray, ...], str]] = {
    "a store too far": (store_beyond, lambda x: ops.sin(x) + 1.0, (x17,), "Add"),
    "a load too early": (load_before, lambda x: ops.sin(x) + 1.0, (x17,), "Add"),
    "a tail without a mask": (no_mask, lambda x: ops.sin(x) + 1.0, (x17,), "Add"),
    "an epilogue": (columns_of_the_result, lambda a, v: a @ v + 1.0, (np.ones((3, 9, 9)), np.ones(9)), "MatMul"),
    "a place in the arena": (small_places, lambda x: ops.cumsum(ops.cumsum(x)), (x17,), "CumSum"),
    "a copy": (copy_more, lambda x: ops.sin(x.reshape(1, 17)), (x17,), "kernel"),
    "a stack of residuals": (too_little_room, ad.grad(lambda x: ops.sum(doubled(x))), (x17 * 1e-12 + 1e-9,), "Add"),
    "a packed panel": (panels_further_on, lambda a, b: a @ b, (np.ones((200, 300)), np.ones((300, 70))), "MatMul"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_goes_too_far_is_noticed_and_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fault, fn, xs, node = FAULTS[name]
    run(fn, *xs)  # as it should be
    fault(monkeypatch)
    if name == "a copy":
        fn = lambda x: (x.reshape(1, 17), ops.reshape(x, (17, 1)))
    with pytest.raises(checked_build.BoundsError, match=node):
        run(fn, *xs)


def test_an_unknown_instruction_is_refused() -> None:
    with pytest.raises(AssertionError, match="does not know this instruction"):
        bounds_checks.Checker([8], {}).rewritten(
            [], "define void @kernel(ptr %b) {\nentry:\n  %x = atomicrmw add ptr %b, i32 1\n}"
        )


def test_it_is_an_option(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr(
        llvm_compile, "emit", (lambda old: lambda text: seen.append(text) or old(text))(llvm_compile.emit)
    )

    def is_checked() -> bool:
        seen.clear()
        run(lambda x: x + 1.0, x17)
        return any(checked_build.CHECK in text for text in seen)

    assert is_checked()
    with checked_build.build(False):
        assert not is_checked()
    checked_build._wanted.set(None)
    assert not is_checked()
    monkeypatch.setenv("ADJOINT_CHECKED", "1")
    assert is_checked()


# ---------------------------------------------------------------- everything else


@pytest.mark.parametrize("name", ["registry", "graphs", "a third of the corpus"])
def test_nothing_goes_too_far(name: str) -> None:
    count = sum(graph_sets.check(*case) for case in graph_sets.SETS[name]())
    assert count > 25


#: Rows, terms, columns, and whether the factors are transposed: every way to pack them.
PRODUCTS = [
    (5, 9, 9, 0, 0), (5, 9, 9, 0, 1), (5, 9, 9, 1, 1), (5, 300, 9, 0, 0), (5, 300, 9, 1, 1), (300, 9, 70, 1, 1),
    (300, 300, 70, 0, 0), (131, 257, 65, 0, 0),
    (5, 1300, 9, 0, 0), (5, 1300, 9, 1, 1), (300, 1300, 70, 0, 0), (300, 1300, 70, 1, 1),  # too deep for one panel of narrow vectors too
]  # fmt: skip
LAYOUTS = {
    ("", "", False, False), ("", "", True, False), ("", "ahead", False, False), ("", "ahead", False, True),
    ("", "part", False, False), ("", "part", False, True), ("ahead", "part", False, False), ("part", "ahead", False, False),
    ("part", "ahead", False, True),
}  # fmt: skip


@pytest.mark.parametrize(("dtype", "most"), [("float64", 1 << 22), ("float32", 1)])
def test_every_way_to_pack_a_product(dtype: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With and without something that follows, several products with the same right factor, and packed in slices."""
    seen = set()

    def layout(p: Any, bits: int, *how: bool) -> Any:
        found = gemm_blocking.layout(p, bits, *how)
        seen.add((found.left, found.right, found.dots, found.deep < p.k))
        return found

    monkeypatch.setattr(gemm, "layout", layout)
    monkeypatch.setattr(gemm_blocking, "AHEAD", most)
    draw = np.random.default_rng(0)
    for m, k, n, *flips in PRODUCTS:
        sides = [s[::-1] if flip else s for s, flip in zip(((m, k), (k, n)), flips, strict=True)]
        xs = [draw.integers(-3, 4, s).astype(dtype) for s in (*sides, (n,))]

        def product(a: Any, b: Any, flips: Any = flips) -> Any:
            return (a.T if flips[0] else a) @ (b.T if flips[1] else b)

        def once(a: Any, b: Any, v: Any, product: Any = product) -> Any:
            return product(a, b), ops.relu(product(a, b) + v) * 2.0

        def often(a: Any, b: Any, v: Any, product: Any = product) -> Any:
            return [ops.relu(product(a + float(i), b) + v) for i in range(4)]

        for fn in (once, often):
            for found, wanted in zip(run(fn, *xs), fn(*map(ad.Tensor, xs)), strict=True):
                np.testing.assert_array_equal(found, np.asarray(wanted))
    assert dtype == "float32" or seen >= LAYOUTS, LAYOUTS - seen
