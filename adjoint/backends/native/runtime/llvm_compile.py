"""LLVM IR as text -> machine code in memory, through the object cache."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import itertools
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adjoint.backends.native.runtime import object_cache
from adjoint.core.errors import AdjointError

FORMAT = 2  # part of every cache key: raise it when the same text must compile to something else
EFFORT = 2  # of LLVM's code generator; with 0, for tests that compile very much, nothing is inlined either


class CompilationError(AdjointError, RuntimeError):
    """LLVM refuses a module, or lacks something to link it: a fault of the backend, not of the program."""


@dataclass(frozen=True, slots=True, eq=False)
class Library:
    """Linked machine code. Its addresses are good only while this object lives, so a caller keeps it.

    llvmlite unloads nothing once the interpreter shuts down, so threads still in the code stay safe to the end.
    """

    addresses: Mapping[str, int]
    owner: Any
    keep: Any = None

    def __getitem__(self, symbol: str) -> int:
        return self.addresses[symbol]


def compile_ir(
    text: str | Sequence[str],
    symbols: Iterable[str],
    externals: Mapping[str, int] | None = None,
    *,
    keep: Any = None,
    threads: int = 1,
) -> Library:
    """Compile a module, or several on some threads, and link them into this process as one library.

    `symbols` are the functions whose addresses are wanted, `externals` the addresses of what the modules declare and none
    of them defines; what is in neither is looked for in the process (libm, memcpy). `keep` is whatever must live as long
    as the code: arrays and libraries it has addresses of.
    """
    texts, names, externals = [text] if isinstance(text, str) else list(text), list(symbols), externals or {}
    objects = at_once(object_code, texts, threads)
    try:
        owner = link(objects, names, externals)
    except RuntimeError as error:
        raise CompilationError(f"{error}{missing_symbols(texts, externals)}") from error
    return Library({name: owner[name] for name in names}, owner, keep)


def at_once(work: Callable[[str], bytes], items: Sequence[str], threads: int) -> list[bytes]:
    """The results of `work` on every item, in order; this thread is one of those that work."""
    found = [b""] * len(items)
    errors: list[Exception] = []
    left = iter(range(len(items)))  # to take the next number is atomic

    def worker() -> None:
        try:
            for k in left:
                found[k] = work(items[k])
        except Exception as error:
            errors.append(error)

    helpers = [threading.Thread(target=worker) for _ in range(min(len(items), threads) - 1)]
    for helper in helpers:
        helper.start()
    worker()
    for helper in helpers:
        helper.join()
    if errors:
        raise errors[0]
    return found


def object_code(text: str) -> bytes:
    """The object file of a module, from the cache when it is there."""
    store, key = object_cache.current(), cache_key(text)
    found = store.get(key) if store else None
    if found is None:
        found = emit(text)
        if store:
            store.put(key, found)
    return found


def cache_key(text: str) -> str:
    """A name for what `text` compiles to on this machine: all that the object depends on, hashed."""
    cpu, features, version = host()
    parts = (str(FORMAT), version, cpu, features, str(EFFORT), text)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def emit(text: str, machine: Any = None) -> bytes:
    """Parse, verify, inline what asks for it, and generate code: for this CPU, or for another machine.

    The rest of LLVM's optimiser stays out, which would take most of the time: what it does to code written in vectors is
    worth little.
    """
    llvm = binding()
    machine = machine or target_machine()
    with llvm.create_context() as context, llvm.parse_assembly(text, context) as module:
        module.triple = machine.triple
        module.data_layout = str(machine.target_data)
        module.verify()
        if "alwaysinline" in text and EFFORT:
            inline(module, machine)
        return generate(machine, module)


def inline(module: Any, machine: Any) -> None:
    """Put functions where they are called, and compute once what several of them compute: sin and cos have much in common."""
    llvm = binding()
    options = llvm.create_pipeline_tuning_options(speed_level=1)
    options.loop_unrolling = options.loop_vectorization = False
    builder = llvm.create_pass_builder(machine, options)
    inliner = llvm.create_new_module_pass_manager()
    inliner.add_always_inliner_pass()
    inliner.run(module, builder)
    simplifier = builder.getFunctionPassManager()
    for function in module.functions:
        if not function.is_declaration:
            simplifier.run(function, builder)


def generate(machine: Any, module: Any) -> bytes:
    """The object file of a module, as `machine.emit_object` makes it, but without llvmlite's lock on all of LLVM.

    The lock would let one thread compile at a time. LLVM needs none here: machine and module are ours alone.
    """
    ffi = binding().ffi
    locked = ffi.lib.LLVMPY_TargetMachineEmitToMemory
    with ffi.OutputString() as problem:
        made = getattr(locked, "_cfn", locked)(machine, module, True, problem)
        if not made:
            raise CompilationError(str(problem))
    code = ctypes.string_at(ffi.lib.LLVMPY_GetBufferStart(made), ffi.lib.LLVMPY_GetBufferSize(made))
    ffi.lib.LLVMPY_DisposeMemoryBuffer(made)
    return code


_names = itertools.count()


def link(objects: Iterable[bytes], symbols: Iterable[str], externals: Mapping[str, int]) -> Any:
    """Load object files into this process; the code lives as long as what is returned."""
    builder = binding().JITLibraryBuilder().add_current_process()
    for code in objects:
        builder.add_object_img(code)
    for name, address in externals.items():
        builder.import_symbol(name, address)
    for name in symbols:
        builder.export_symbol(name)
    return builder.link(linker(), f"adjoint{next(_names)}")


def missing_symbols(texts: Sequence[str], externals: Mapping[str, int]) -> str:
    """What modules declare and nobody defines: the linker does not say."""
    together = "\n".join(texts)
    declared = re.findall(r"^(?:declare .*?|(?=@\S+ = external))@([\w.]+)", together, re.MULTILINE)
    known = {*externals, *re.findall(r"^define .*?@([\w.]+)", together, re.MULTILINE)}
    missing = [n for n in declared if not (n in known or n.startswith("llvm.") or binding().address_of_symbol(n))]
    return f"\nnot defined anywhere: {', '.join(missing)}" if missing else ""


@functools.cache
def binding() -> Any:
    """llvmlite, loaded and set up at first use: importing adjoint stays light."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


@functools.cache
def host() -> tuple[str, str, str]:
    """The CPU, its features, and the version of LLVM that generates code for it."""
    llvm = binding()
    version = ".".join(map(str, llvm.llvm_version_info))
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten(), version


def target_machine(cpu: str | None = None) -> Any:
    """A code generator for this CPU, or for one that LLVM calls so, for one thread.

    Position-independent code in the small model reads its constants relative to the instruction, and reaches what is
    far away through tables that the linker makes.
    """
    cpu, features = host()[:2] if cpu is None else (cpu, "")
    target = binding().Target.from_default_triple()
    return target.create_target_machine(cpu=cpu, features=features, opt=EFFORT, reloc="pic", codemodel="small")


_setup = threading.Lock()
_linker: Any = None


def linker() -> Any:
    """The one ORC linker of the process; libraries die with theirs, so there must not be a second."""
    global _linker
    with _setup:
        if _linker is None:
            _linker = binding().create_lljit_compiler(use_jit_link=True, suppress_errors=True)
        return _linker
