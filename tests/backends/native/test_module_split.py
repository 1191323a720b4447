"""Modules cut into parts: together they do what the whole does."""

from __future__ import annotations

import ctypes
import math

import pytest

from adjoint.backends.native.emit import vecmath
from adjoint.backends.native.runtime import module_split
from adjoint.backends.native.runtime.llvm_compile import compile_ir

DECLARATIONS = ["declare double @llvm.fabs.f64(double)", "@table = external constant double"]
ADD = (
    "define internal double @add{k}(double %x) noinline nounwind {{\n  %y = fadd double %x, {k}.0\n  ret double %y\n}}"
)


def main(functions: list[str]) -> str:
    lines = ["define double @main(double %v0) nounwind {"]
    for k, name in enumerate(functions):
        lines.append(f"  %v{k + 1} = call double @{name}(double %v{k})")
    return "\n".join([*lines, f"  ret double %v{len(functions)}", "}"])


def run(texts: list[str], x: float) -> float:
    table = ctypes.c_double(1.0)
    library = compile_ir(texts, ["main"], {"table": ctypes.addressof(table)}, threads=2)
    return ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(library["main"])(x)


def test_short_modules_are_not_cut() -> None:
    functions = [*(ADD.format(k=k) for k in range(3)), main(["add0", "add1", "add2", "llvm.fabs.f64"])]
    (text,) = module_split.split(DECLARATIONS, functions)
    assert all(line in text for line in DECLARATIONS)
    assert run([text], -10.0) == 7.0


def test_parts_call_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module_split, "SIZE", 8)
    functions = [*(ADD.format(k=k) for k in range(10)), main([*(f"add{k}" for k in range(10)), "llvm.fabs.f64"])]
    texts = module_split.split(DECLARATIONS, functions)
    assert len(texts) == 6
    assert [len(t) for t in texts] == sorted(map(len, texts), reverse=True)
    assert all("".join(texts).count(f"define double @add{k}(") == 1 for k in range(10))
    assert sum("llvm.fabs" in t for t in texts) == 1, "a part declares what it uses"
    assert run(texts, -100.0) == 55.0


@pytest.mark.parametrize("calls", [4, 400])
def test_what_is_inlined_goes_where_it_is_called(calls: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module_split, "SIZE", 30)
    declared, definitions = vecmath.parts([("sin", "double", 1)])
    sin = vecmath.symbol("sin", "double", 1)
    other = main([sin, sin]).replace("define double @main", "define internal double @twice")
    texts = module_split.split(declared, [*definitions, other, main([sin] * calls + ["twice"])])
    copies = sum(f"double @{sin}(double %x)" in text for text in texts)
    assert copies == (2 if calls == 4 else 1)
    assert ("alwaysinline" in "".join(texts)) == (calls == 4)
    expected = 1.0
    for _ in range(calls + 2):
        expected = math.sin(expected)
    assert run(texts, 1.0) == pytest.approx(expected, rel=1e-12)
