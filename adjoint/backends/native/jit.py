"""LLVM IR as text -> machine code in memory, through the object cache."""

from __future__ import annotations

import functools
import hashlib
import itertools
import re
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from adjoint.backends.native import cache

Level = Literal["quick", "full"]

FORMAT = 1  # part of every cache key: raise it when the same text must compile to something else
CODEGEN = {"quick": 2, "full": 3}  # effort of LLVM's code generator
MIDDLE_END = {"full": 2}  # speed level of the optimiser in front of it; none for "quick"


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
    text: str,
    symbols: Iterable[str],
    externals: Mapping[str, int] | None = None,
    *,
    level: Level = "quick",
    keep: Any = None,
) -> Library:
    """Compile a module and link it into this process.

    `symbols` are the functions whose addresses are wanted, `externals` the addresses of what the module declares; what
    is in neither is looked for in the process (libm, memcpy). "quick" generates code from the module as it stands,
    "full" optimises it first. `keep` is whatever must live as long as the code: arrays and libraries it has addresses of.
    """
    names, externals = list(symbols), externals or {}
    code = object_code(text, level)
    try:
        owner = link(code, names, externals)
    except RuntimeError as error:
        raise RuntimeError(f"{error}{missing_symbols(text, externals)}") from error
    return Library({name: owner[name] for name in names}, owner, keep)


def object_code(text: str, level: Level) -> bytes:
    """The object file of a module, from the cache when it is there."""
    store, key = cache.current(), cache_key(text, level)
    found = store.get(key) if store else None
    if found is None:
        found = emit(text, level)
        if store:
            store.put(key, found)
    return found


def cache_key(text: str, level: Level) -> str:
    """A name for what `text` compiles to on this machine: all that the object depends on, hashed."""
    cpu, features, version = host()
    parts = (str(FORMAT), version, cpu, features, level, str(CODEGEN[level]), str(MIDDLE_END.get(level)), text)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def emit(text: str, level: Level) -> bytes:
    """Parse, verify, optimise and generate code."""
    llvm = binding()
    machine = target_machine(level)
    with llvm.create_context() as context, llvm.parse_assembly(text, context) as module:
        module.triple = machine.triple
        module.data_layout = str(machine.target_data)
        module.verify()
        if level in MIDDLE_END:
            optimise(module, machine, MIDDLE_END[level])
        return machine.emit_object(module)


def optimise(module: Any, machine: Any, speed: int) -> None:
    """Run LLVM's optimiser over the module, in place."""
    llvm = binding()
    options = llvm.create_pipeline_tuning_options(speed_level=speed)
    options.slp_vectorization = False  # our code is in vectors already, and this pass is slow on long straight code
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)


_names = itertools.count()


def link(code: bytes, symbols: Iterable[str], externals: Mapping[str, int]) -> Any:
    """Load an object file into this process; the code lives as long as what is returned."""
    builder = binding().JITLibraryBuilder().add_object_img(code).add_current_process()
    for name, address in externals.items():
        builder.import_symbol(name, address)
    for name in symbols:
        builder.export_symbol(name)
    return builder.link(linker(), f"adjoint{next(_names)}")


def missing_symbols(text: str, externals: Mapping[str, int]) -> str:
    """What a module declares and nobody defines: the linker does not say."""
    declared = re.findall(r"^(?:declare .*?|(?=@\S+ = external))@([\w.]+)", text, re.MULTILINE)
    missing = [
        name
        for name in declared
        if not (name in externals or name.startswith("llvm.") or binding().address_of_symbol(name))
    ]
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


@functools.cache
def target_machine(level: Level) -> Any:
    """The code generator for this CPU.

    Position-independent code in the small model reads its constants relative to the instruction, and reaches what is
    far away through tables that the linker makes.
    """
    cpu, features, _ = host()
    target = binding().Target.from_default_triple()
    return target.create_target_machine(cpu=cpu, features=features, opt=CODEGEN[level], reloc="pic", codemodel="small")


_setup = threading.Lock()
_linker: Any = None


def linker() -> Any:
    """The one ORC linker of the process; libraries die with theirs, so there must not be a second."""
    global _linker
    with _setup:
        if _linker is None:
            _linker = binding().create_lljit_compiler(use_jit_link=True, suppress_errors=True)
        return _linker
