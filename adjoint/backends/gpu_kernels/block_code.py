"""LLVM IR of a kernel: the threads of a block together.

On a GPU the threads of a warp hand their sums to one another, and warps by shared memory. On the CPU, where kernels are tested, a loop over
threads leaves the sums in an array, and they are added up in the same order: both give the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.backends.gpu_kernels import branch_free
from adjoint.backends.gpu_kernels.huge_arguments import parts_without_libm
from adjoint.backends.gpu_kernels.point_code import ThreadFunction, struct
from adjoint.backends.gpu_kernels.thread_layout import THREADS, WARP, WARPS, BlockReduction, ThreadLayout
from adjoint.backends.native.emit.lanes import Lanes
from adjoint.backends.native.emit.llvm_ir import Code, Module, in_register
from adjoint.backends.native.emit.loop_nest import combine, neutral
from adjoint.core.errors import GpuKernelError

NO_LIBM = frozenset(("sin", "cos", "tan"))  # their code for huge arguments is for numbers that float32 holds
OFFSETS = (16, 8, 4, 2, 1)  # of the threads of a warp whose sums are put together
ACROSS = (4, 2, 1)  # the same for the warps of a block


class KernelText:
    """The kernels of a nest as text: `kernel`, and `finish` where blocks leave partial results."""

    def __init__(self, geometry: ThreadLayout, gpu: bool) -> None:
        self.geometry, self.gpu = geometry, gpu
        self.module = Module()
        self.thread = ThreadFunction(self.module, geometry)
        if libm := sorted(name for name, kind, _ in self.module.maths if name in NO_LIBM and kind == "double"):
            raise GpuKernelError(f"{', '.join(libm)} in double precision")
        self.shared: list[str] = []
        self._kernel()
        if geometry.kind == "full":
            self._finish()

    @property
    def names(self) -> list[str]:
        return ["kernel", "finish"] if self.geometry.kind == "full" else ["kernel"]

    def text(self) -> str:
        """The whole module."""
        declared, defined = parts_without_libm(self.module.maths)
        more = branch_free.parts(sorted(self.thread.flagged), self.gpu)
        declared, defined = [*declared, *more[0]], [*defined, *more[1]]
        declarations = {text.split("@")[1].split("(")[0]: text for text in (*declared, *self.module.declarations)}
        return "\n".join([*declarations.values(), *self.shared, *defined, *self.module.functions, ""])

    # ------------------------------------------------------------ the two kernels

    def _kernel(self) -> None:
        g, code = self.geometry, Code(self.module)
        count = len(g.inputs) + len(g.stores)
        names = [f"%p{k}" for k in range(count + len(g.folds))]
        kind = struct(self.thread.parts)

        def one_thread(block: str, thread: str) -> list[str]:
            given = ", ".join(f"ptr {p}" for p in names[:count])
            call = f"call {kind} @thread({given}, i32 {block}, i32 {thread})"
            if not g.folds:
                code.do(call)
                return []
            found = code.put(call)
            return [code.put(f"extractvalue {kind} {found}, {k}") for k in range(len(g.folds))]

        reads = len(g.inputs)
        self._threads("kernel", code, names, reads, g.folds, one_thread, g.warp_rows, g.kind == "full")

    def _finish(self) -> None:
        """Adds up what the blocks have left, in an order that depends on their number alone."""
        g, code = self.geometry, Code(self.module)
        names = [f"%p{k}" for k in range(2 * len(g.folds))]

        def one_thread(_: str, thread: str) -> list[str]:
            head, body, after = (code.new_label(n) for n in ("head", "body", "after"))
            before = code.label
            code.jump(head)
            code.begin(head)
            i, place = code.phi("i32", (thread, before))
            one = Lanes(code, 1)
            phis = [
                code.phi(in_register(f.total), (one.number(neutral(f.kind, f.total), f.total), before)) for f in g.folds
            ]
            code.branch(code.put(f"icmp ult i32 {i}, {g.blocks}"), body, after)
            code.begin(body)
            wide = code.put(f"zext i32 {i} to i64")
            for fold, pointer, (old, at) in zip(g.folds, names, phis, strict=False):
                x = code.load(code.element(pointer, wide, fold.total), fold.total)
                code.arrive(at, combine(one, fold.kind, fold.total, old, x), body)
            code.arrive(place, code.put(f"add i32 {i}, {THREADS}"), body)
            code.jump(head)
            code.begin(after)
            return [name for name, _ in phis]

        self._threads("finish", code, names, len(g.folds), g.folds, one_thread, False, False)

    def _threads(
        self,
        name: str,
        code: Code,
        names: Sequence[str],
        reads: int,
        folds: Sequence[BlockReduction],
        one_thread: Any,
        warps: bool,
        partial: bool,
    ) -> None:
        """A kernel of which each thread does `one_thread`; the sums of a block, or of each warp, go into the last pointers."""
        targets = names[len(names) - len(folds) :]
        if self.gpu:
            self._on_gpu(name, code, names, reads, folds, one_thread, warps, partial, targets)
        else:
            self._on_cpu(name, code, names, folds, one_thread, warps, partial, targets)

    def _store(self, code: Code, fold: BlockReduction, value: str, target: str, index: str, partial: bool) -> None:
        dtype = fold.total if partial else fold.node.spec.dtype
        place = code.element(target, code.put(f"zext i32 {index} to i64"), dtype)
        code.store(value if partial else Lanes(code, 1).cast(value, fold.total, dtype), place, dtype)

    # ------------------------------------------------------------ on a GPU

    def _on_gpu(
        self,
        name: str,
        code: Code,
        names: Any,
        reads: int,
        folds: Any,
        one_thread: Any,
        warps: bool,
        partial: bool,
        targets: Any,
    ) -> None:
        thread, block = (self._special(code, r) for r in ("tid", "ctaid"))
        values = one_thread(block, thread)
        if folds:
            lane = code.put(f"and i32 {thread}, {WARP - 1}")
            warp = code.put(f"lshr i32 {thread}, {WARP.bit_length() - 1}")
            values = [self._down(code, f, v, OFFSETS) for f, v in zip(folds, values, strict=True)]
            first = code.put(f"icmp eq i32 {lane}, 0")
            if warps:
                row = code.put(f"add i32 {code.put(f'mul i32 {block}, {WARPS}')}, {warp}")
                there = code.put(f"and i1 {first}, {code.put(f'icmp ult i32 {row}, {self.geometry.rows}')}")
                self._if(code, there, lambda: self._all(code, folds, values, targets, row, partial))
            else:
                places = [self._slots(code, name, k, f) for k, f in enumerate(folds)]

                def leave() -> None:
                    for f, v, place in zip(folds, values, places, strict=True):
                        code.do(f"store {in_register(f.total)} {v}, ptr {place(warp)}")

                self._if(code, first, leave)
                self.module.declare("void @llvm.nvvm.barrier0()")
                code.do("call void @llvm.nvvm.barrier0()")
                self._if(
                    code,
                    code.put(f"icmp eq i32 {warp}, 0"),
                    lambda: self._across(code, folds, places, lane, targets, block, partial),
                )
        given = [f"ptr noalias {'readonly ' if k < reads else ''}align 16 {n}" for k, n in enumerate(names)]
        head = f'define ptx_kernel void @{name}({", ".join(given)}) nounwind "nvvm.maxntid"="{THREADS}" {{'
        self.module.functions.append("\n".join([head, "entry:", *code.lines, "  ret void", "}"]))

    def _across(self, code: Code, folds: Any, places: Any, lane: str, targets: Any, block: str, partial: bool) -> None:
        """The first warp puts the sums of all warps together."""
        slot = code.put(f"and i32 {lane}, {WARPS - 1}")
        found = [
            code.put(f"load {in_register(f.total)}, ptr {place(slot)}") for f, place in zip(folds, places, strict=True)
        ]
        totals = [self._down(code, f, v, ACROSS) for f, v in zip(folds, found, strict=True)]
        self._if(
            code,
            code.put(f"icmp eq i32 {lane}, 0"),
            lambda: self._all(code, folds, totals, targets, block, partial),
        )

    def _all(self, code: Code, folds: Any, values: Any, targets: Any, index: str, partial: bool) -> None:
        for f, v, target in zip(folds, values, targets, strict=True):
            self._store(code, f, v, target, index, partial)

    def _slots(self, code: Code, name: str, k: int, fold: BlockReduction) -> Any:
        """Shared memory for the sums of warps: a function from a warp to the address of its sum."""
        kind, table = in_register(fold.total), f"@{name}_warps{k}"
        self.shared.append(f"{table} = internal addrspace(3) global [{WARPS} x {kind}] undef, align 16")
        base = f"addrspacecast (ptr addrspace(3) {table} to ptr)"

        def place(warp: str) -> str:
            return code.put(f"getelementptr {kind}, ptr {base}, i32 {warp}")

        return place

    def _special(self, code: Code, register: str) -> str:
        name = f"llvm.nvvm.read.ptx.sreg.{register}.x"
        self.module.declare(f"i32 @{name}()")
        return code.put(f"call i32 @{name}()")

    def _if(self, code: Code, test: str, write: Any) -> None:
        yes, after = code.new_label("yes"), code.new_label("after")
        code.branch(test, yes, after)
        code.begin(yes)
        write()
        code.jump(after)
        code.begin(after)

    def _down(self, code: Code, fold: BlockReduction, value: str, offsets: Sequence[int]) -> str:
        """The sums of a warp in its first thread: each thread adds that of another, farther and nearer."""
        for offset in offsets:
            other = self._shuffled(code, value, fold.total, offset)
            value = combine(Lanes(code, 1), fold.kind, fold.total, value, other)
        return value

    def _shuffled(self, code: Code, value: str, dtype: np.dtype, offset: int) -> str:
        """The value that the thread so much farther in the warp has."""
        kind, bits = in_register(dtype), dtype.itemsize * 8
        whole = value if dtype.kind == "i" else code.put(f"bitcast {kind} {value} to i{bits}")
        if bits == 32:
            new = self._shuffle(code, whole, offset)
        else:
            low = self._shuffle(code, code.put(f"trunc i64 {whole} to i32"), offset)
            high = self._shuffle(code, code.put(f"trunc i64 {code.put(f'lshr i64 {whole}, 32')} to i32"), offset)
            upper = code.put(f"shl i64 {code.put(f'zext i32 {high} to i64')}, 32")
            new = code.put(f"or i64 {upper}, {code.put(f'zext i32 {low} to i64')}")
        return new if dtype.kind == "i" else code.put(f"bitcast i{bits} {new} to {kind}")

    def _shuffle(self, code: Code, word: str, offset: int) -> str:
        self.module.declare("i32 @llvm.nvvm.shfl.sync.down.i32(i32, i32, i32, i32)")
        return code.put(f"call i32 @llvm.nvvm.shfl.sync.down.i32(i32 -1, i32 {word}, i32 {offset}, i32 {WARP - 1})")

    # ------------------------------------------------------------ on the CPU

    def _on_cpu(
        self, name: str, code: Code, names: Any, folds: Any, one_thread: Any, warps: bool, partial: bool, targets: Any
    ) -> None:
        for k, pointer in enumerate(names):
            address = code.put(f"load ptr, ptr {code.put(f'getelementptr ptr, ptr %params, i64 {k}')}")
            code.do(f"{pointer} = load ptr, ptr {address}")
        tables = [code.put(f"alloca [{THREADS} x {in_register(f.total)}], align 64") for f in folds]
        with code.loop(0, THREADS) as iteration:
            values = one_thread("%block", code.put(f"trunc i64 {iteration.i} to i32"))
            for f, v, table in zip(folds, values, tables, strict=True):
                code.store(v, code.element(table, iteration.i, f.total), f.total)
        for f, table, target in zip(folds, tables, targets, strict=True):
            self._added_up(code, f, table, THREADS, OFFSETS)
            if warps:
                self._rows_stored(code, f, table, target)
                continue
            with code.loop(0, WARPS) as iteration:  # what the warps leave in shared memory
                x = code.load(code.element(table, code.mul(iteration.i, WARP), f.total), f.total)
                code.store(x, code.element(table, iteration.i, f.total), f.total)
            self._added_up(code, f, table, WARPS, ACROSS)
            self._store(code, f, code.load(table, f.total), target, "%block", partial)
        head = f"define void @{name}(i32 %block, ptr %params) nounwind {{"
        self.module.functions.append("\n".join([head, "entry:", *code.lines, "  ret void", "}"]))

    def _added_up(self, code: Code, fold: BlockReduction, table: str, count: int, offsets: Sequence[int]) -> None:
        for offset in offsets:
            with code.loop(0, count - offset) as iteration:
                here = code.element(table, iteration.i, fold.total)
                there = code.element(here, offset, fold.total)
                x, y = code.load(here, fold.total), code.load(there, fold.total)
                code.store(combine(Lanes(code, 1), fold.kind, fold.total, x, y), here, fold.total)

    def _rows_stored(self, code: Code, fold: BlockReduction, table: str, target: str) -> None:
        with code.loop(0, WARPS) as iteration:
            warp = code.put(f"trunc i64 {iteration.i} to i32")
            row = code.put(f"add i32 {code.put(f'mul i32 %block, {WARPS}')}, {warp}")
            x = code.load(code.element(table, code.mul(iteration.i, WARP), fold.total), fold.total)
            there = code.put(f"icmp ult i32 {row}, {self.geometry.rows}")
            self._if(code, there, lambda: self._store(code, fold, x, target, row, False))
