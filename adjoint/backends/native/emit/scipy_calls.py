"""Functions that SciPy computes, in double precision: lane by lane, or all lanes of a vector by the loop of a ufunc."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from adjoint.backends.native.runtime.scipy_functions import LOOP, RETURNS, SciPyFunction, scipy_function

BITS = {"double": 64, "float": 32}
#: Name, number of the result, type of an element, lanes.
Wanted = tuple[str, int, str, int]


def symbol(name: str, part: int, kind: str, width: int) -> str:
    """The LLVM name of the function for one result of a function of scipy.special."""
    return f"adj_scipy_{name}_{part}_v{width}f{BITS[kind]}"


def _found(name: str) -> SciPyFunction:
    found = scipy_function(name)
    assert found is not None, f"scipy.special has no {name} that can be called"
    return found


def parts(wanted: Iterable[Wanted]) -> tuple[list[str], list[str]]:
    """Declarations and definitions of all functions."""
    declared: dict[str, None] = {}
    defined = []
    for name, part, kind, width in sorted(wanted):
        function = _found(name)
        declared |= dict.fromkeys(_declarations(name, function))
        defined.append(_definition(name, part, kind, width, function))
    return list(declared), defined


def externals(wanted: Iterable[Wanted]) -> dict[str, int]:
    """The addresses that are linked."""
    found: dict[str, int] = {}
    for name in {name for name, *_ in wanted}:
        function = _found(name)
        found[f"scipy_{name}"] = function.code
        if function.form == LOOP:
            found[f"scipy_{name}_data"] = function.data
    return found


def _declarations(name: str, function: SciPyFunction) -> list[str]:
    given = ", ".join(["double"] * function.inputs)
    if function.form == RETURNS:
        return [f"declare double @scipy_{name}({given}, i32) nounwind"]
    if function.form == LOOP:
        return [
            f"declare void @scipy_{name}(ptr, ptr, ptr, ptr) nounwind",
            f"@scipy_{name}_data = external global i8",
        ]
    return [f"declare void @scipy_{name}({given}{', ptr' * function.outputs}) nounwind"]


def _definition(name: str, part: int, kind: str, width: int, function: SciPyFunction) -> str:
    """The function of a vector, around one of vectors of doubles."""
    vector, wide = (f"<{width} x {t}>" for t in (kind, "double"))
    outside = vector if width > 1 else kind
    given = ", ".join(f"{outside} %given{k}" for k in range(function.inputs))
    lines = [f"define internal {outside} @{symbol(name, part, kind, width)}({given}) noinline nounwind {{", "entry:"]
    for k in range(function.inputs):
        value = f"%given{k}"
        if width == 1:
            lines.append(f"  %vector{k} = insertelement {vector} poison, {kind} {value}, i32 0")
            value = f"%vector{k}"
        same = f"bitcast {vector} {value} to {wide}"
        lines.append(f"  %x{k} = {same if kind == 'double' else f'fpext {vector} {value} to {wide}'}")
    body = _by_loop if function.form == LOOP else _lane_by_lane
    lines += body(name, part, wide, width, function)
    back = f"bitcast {wide} %y to {vector}" if kind == "double" else f"fptrunc {wide} %y to {vector}"
    lines.append(f"  %result = {back}")
    if width == 1:
        return "\n".join([*lines, f"  %one = extractelement {vector} %result, i32 0", f"  ret {kind} %one", "}"])
    return "\n".join([*lines, f"  ret {vector} %result", "}"])


def _lane_by_lane(name: str, part: int, wide: str, width: int, function: SciPyFunction) -> Sequence[str]:
    lines = [f"  %out{k} = alloca double" for k in range(function.outputs) if function.form != RETURNS]
    last = "poison"
    for lane in range(width):
        given = []
        for k in range(function.inputs):
            lines.append(f"  %x{k}.{lane} = extractelement {wide} %x{k}, i32 {lane}")
            given.append(f"double %x{k}.{lane}")
        if function.form == RETURNS:
            lines.append(f"  %y.{lane} = call double @scipy_{name}({', '.join(given)}, i32 0)")
        else:
            places = [f"ptr %out{k}" for k in range(function.outputs)]
            lines.append(f"  call void @scipy_{name}({', '.join([*given, *places])})")
            lines.append(f"  %y.{lane} = load double, ptr %out{part}")
        new = "%y" if lane == width - 1 else f"%to.{lane}"
        lines.append(f"  {new} = insertelement {wide} {last}, double %y.{lane}, i32 {lane}")
        last = new
    return lines


def _by_loop(name: str, part: int, wide: str, width: int, function: SciPyFunction) -> Sequence[str]:
    count = function.inputs + function.outputs
    lines = [f"  %lanes{k} = alloca {wide}, align 64" for k in range(count)]
    lines += [f"  %places = alloca [{count} x ptr]", f"  %steps = alloca [{count} x i64]", "  %count = alloca i64"]
    lines += [f"  store {wide} %x{k}, ptr %lanes{k}, align 64" for k in range(function.inputs)]
    for k in range(count):
        lines += [
            f"  %place{k} = getelementptr ptr, ptr %places, i64 {k}",
            f"  store ptr %lanes{k}, ptr %place{k}",
            f"  %step{k} = getelementptr i64, ptr %steps, i64 {k}",
            f"  store i64 8, ptr %step{k}",
        ]
    return [
        *lines,
        f"  store i64 {width}, ptr %count",
        f"  call void @scipy_{name}(ptr %places, ptr %count, ptr %steps, ptr @scipy_{name}_data)",
        f"  %y = load {wide}, ptr %lanes{function.inputs + part}, align 64",
    ]
