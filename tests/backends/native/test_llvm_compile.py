"""From IR to addresses, with and without the cache."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from adjoint.backends.native.runtime import llvm_compile, object_cache
from adjoint.backends.native.runtime.llvm_compile import compile_ir

SCALE = "define double @scale(double %x) {{\n %y = fmul double %x, {factor}\n ret double %y\n}}"


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object_cache.Cache:
    store = object_cache.Cache(tmp_path / "objects")
    monkeypatch.setattr(object_cache, "_current", store)
    monkeypatch.setattr(object_cache, "_chosen", True)
    return store


def scale(library: llvm_compile.Library, x: float) -> float:
    return ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(library["scale"])(x)


def test_compile_and_call() -> None:
    assert scale(compile_ir(SCALE.format(factor=2.5), ["scale"]), 3.0) == 7.5


CALLER = """
declare double @{next}(double)
define double @{name}(double %x) {{
  %y = call double @{next}(double %x)
  %z = fadd double %y, 1.0
  ret double %z
}}"""


@pytest.mark.parametrize("threads", [1, 3, 100])
def test_modules_that_call_each_other_are_one_library(threads: int, own_cache: object_cache.Cache) -> None:
    names = [f"f{k}" for k in range(20)]
    texts = [CALLER.format(name=name, next=after) for name, after in zip(names, [*names[1:], "scale"], strict=True)]
    library = compile_ir([*texts, SCALE.format(factor=3.0)], ["f0", "scale"], threads=threads)
    assert scale(library, 2.0) == 6.0
    assert ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(library["f0"])(2.0) == 26.0
    assert len(list(own_cache.directory.iterdir())) == 21


def test_an_error_in_one_of_several_modules_is_raised() -> None:
    good = [SCALE.format(factor=1.0).replace("@scale", f"@f{k}") for k in range(4)]
    with pytest.raises(RuntimeError, match="ret double %nothing"):
        compile_ir([*good, "define double @f() {\n ret double %nothing\n}"], ["f"], threads=3)


def test_two_modules_with_one_name() -> None:
    two, three = (compile_ir(SCALE.format(factor=f), ["scale"]) for f in (2.0, 3.0))
    assert (scale(two, 1.0), scale(three, 1.0)) == (2.0, 3.0)


def test_externals_are_functions_and_data() -> None:
    text = """
    declare double @double_it(double)
    @offset = external global double
    declare double @cos(double)
    define double @scale(double %x) {
      %o = load double, ptr @offset
      %d = call double @double_it(double %x)
      %c = call double @cos(double 0.0)
      %s = fadd double %d, %o
      %r = fadd double %s, %c
      ret double %r
    }"""
    double_it = compile_ir(SCALE.format(factor=2.0).replace("@scale", "@f"), ["f"])
    offset = ctypes.c_double(100.0)
    library = compile_ir(
        text, ["scale"], {"double_it": double_it["f"], "offset": ctypes.addressof(offset)}, keep=(double_it, offset)
    )
    assert scale(library, 3.0) == 107.0
    offset.value = 200.0
    assert scale(library, 3.0) == 207.0


def test_a_missing_external_is_named() -> None:
    text = "@gone = external global i8\ndeclare void @nowhere(ptr)\ndeclare double @llvm.fabs.f64(double)\n"
    text += "define void @f() {\n call void @nowhere(ptr @gone)\n ret void\n}"
    with pytest.raises(RuntimeError, match="not defined anywhere: gone, nowhere$"):
        compile_ir(text, ["f"])


def test_wrong_ir_is_refused_with_its_line() -> None:
    with pytest.raises(RuntimeError, match=r"2:.*\n.*ret double %nothing"):
        compile_ir("define double @f() {\n ret double %nothing\n}", ["f"])


def test_the_second_compilation_comes_from_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    text = SCALE.format(factor=4.0)
    compile_ir(text, ["scale"])
    monkeypatch.setattr(llvm_compile, "emit", lambda *_: pytest.fail("compiled again"))
    assert scale(compile_ir(text, ["scale"]), 2.0) == 8.0


def test_a_tampered_object_is_compiled_again(own_cache: object_cache.Cache) -> None:
    text = SCALE.format(factor=4.0)
    compile_ir(text, ["scale"])
    (path,) = own_cache.directory.iterdir()
    good = path.read_bytes()
    path.write_bytes(good[:-100] + bytes(100))
    assert scale(compile_ir(text, ["scale"]), 2.0) == 8.0
    assert path.read_bytes() == good


def test_without_a_cache(monkeypatch: pytest.MonkeyPatch, own_cache: object_cache.Cache) -> None:
    object_cache.set_cache(None)
    assert scale(compile_ir(SCALE.format(factor=5.0), ["scale"]), 2.0) == 10.0
    assert list(own_cache.directory.iterdir()) == []


def test_the_key_holds_all_that_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {llvm_compile.cache_key("a"), llvm_compile.cache_key("b")}
    cpu, features, version = llvm_compile.host()
    for host in (("other", features, version), (cpu, features + ",-avx", version), (cpu, features, "1.0.0")):
        with monkeypatch.context() as patch:
            patch.setattr(llvm_compile, "host", lambda host=host: host)
            keys.add(llvm_compile.cache_key("a"))
    assert len(keys) == 5


def test_what_asks_for_it_is_inlined() -> None:
    helper = "define internal double @half(double %x) {inline} {{\n %y = fmul double %x, 0.5\n ret double %y\n}}\n"
    caller = "define double @scale(double %x) {\n %y = call double @half(double %x)\n ret double %y\n}"
    inlined, called = (helper.format(inline=how) + caller for how in ("alwaysinline", "noinline"))
    assert b"half" in llvm_compile.emit(called)
    assert b"half" not in llvm_compile.emit(inlined)
    assert scale(compile_ir(inlined, ["scale"]), 3.0) == scale(compile_ir(called, ["scale"]), 3.0) == 1.5


def test_several_threads_compile_at_once() -> None:
    results: dict[int, float] = {}

    def work(i: int) -> None:
        results[i] = scale(compile_ir(SCALE.format(factor=float(i)), ["scale"]), 2.0)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {i: 2.0 * i for i in range(1, 9)}


def test_code_is_unloaded_with_its_library() -> None:
    def mappings() -> int:
        return Path("/proc/self/maps").read_text().count("\n")

    if not sys.platform.startswith("linux"):
        pytest.skip("counts mappings in /proc")
    libraries = [compile_ir(SCALE.format(factor=float(i)), ["scale"]) for i in range(40)]
    loaded = mappings()
    del libraries
    assert mappings() <= loaded


def test_importing_loads_no_llvm() -> None:
    modules = ", ".join(
        f"adjoint.backends.native.runtime.{m}" for m in ("llvm_compile", "thread_pool", "kernel_call", "object_cache")
    )
    code = f"import sys, {modules}; print('llvmlite' in sys.modules, 'scipy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False False"
