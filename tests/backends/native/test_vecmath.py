"""Every vector function alone, over its whole range, in units of the last place."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest
import scipy.special

from adjoint.backends.native.emit import vecmath

DTYPES = {"float": np.float32, "double": np.float64}
WIDTHS = (1, 8)
Long = np.longdouble

# The largest error in units of the last place, for float and for double.
BOUNDS = {
    "exp": (1.0, 1.1), "exp2": (1.0, 1.1), "expm1": (1.1, 1.3), "sigmoid": (0.8, 0.8), "softplus": (1.1, 1.1),
    "sinh": (1.1, 1.1), "cosh": (0.9, 0.9), "tanh": (1.1, 1.1), "logaddexp": (2.0, 2.0),
    "log": (0.9, 0.9), "log2": (1.0, 1.0), "log10": (0.9, 0.9), "log1p": (0.9, 0.9),
    "asinh": (1.0, 1.0), "acosh": (1.0, 1.0), "atanh": (1.0, 1.0),
    "sin": (1.0, 1.0), "cos": (1.0, 1.0), "tan": (1.4, 1.4),
    "asin": (1.1, 1.1), "acos": (1.1, 1.1), "atan": (1.3, 1.3), "atan2": (1.5, 1.5),
    "erf": (1.3, 1.5), "erfc": (1.6, 2.5), "pow": (0.6, 0.9), "cbrt": (0.6, 0.6),
}  # fmt: skip

# Beyond random bits: where a function is neither constant nor infinite in double precision.
RANGES = {
    "exp": 750, "exp2": 1080, "expm1": 720, "sinh": 712, "cosh": 712, "tanh": 20, "sigmoid": 750, "softplus": 750,
    "erf": 6, "erfc": 28, "sin": 1.2e9, "cos": 1.2e9, "tan": 1.2e9, "logaddexp": 40,
}  # fmt: skip
FLOAT_RANGES = {**{n: r / 7 for n, r in RANGES.items() if r > 500}, "erfc": 11, "sin": 7e4, "cos": 7e4, "tan": 7e4}


def loop(name: str, dtype: str, width: int) -> str:
    """A function that applies a vector function along arrays."""
    ty, names = dtype if width == 1 else f"<{width} x {dtype}>", ("a", "b")[: vecmath.arity(name)]
    align = DTYPES[dtype]().itemsize
    loads = "\n".join(
        f"  %p{a} = getelementptr {dtype}, ptr %{a}, i64 %i\n  %v{a} = load {ty}, ptr %p{a}, align {align}"
        for a in names
    )
    return f"""define void @run_{name}_{dtype}_{width}({", ".join(f"ptr %{a}" for a in names)}, ptr %out, i64 %n) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
{loads}
  %r = call {ty} @{vecmath.symbol(name, dtype, width)}({", ".join(f"{ty} %v{a}" for a in names)})
  %q = getelementptr {dtype}, ptr %out, i64 %i
  store {ty} %r, ptr %q, align {align}
  %j = add i64 %i, {width}
  %more = icmp slt i64 %j, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""


@pytest.fixture(scope="module")
def apply() -> Callable[..., np.ndarray]:
    """apply(name, width, *arrays): every function compiled once, in one module."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    wanted = [(n, d, w) for n in vecmath.NAMES for d in DTYPES for w in WIDTHS]
    module = llvm.parse_assembly(vecmath.library(wanted) + "".join(loop(*key) for key in wanted))
    module.verify()
    features = llvm.get_host_cpu_features().flatten()
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=features, opt=1, jit=True)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()

    def run(name: str, width: int, *arrays: np.ndarray) -> np.ndarray:
        dtype = "float" if arrays[0].dtype == np.float32 else "double"
        address = engine.get_function_address(f"run_{name}_{dtype}_{width}")
        out = np.empty_like(arrays[0])
        assert out.size % width == 0
        call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (len(arrays) + 1), ctypes.c_int64)(address)
        call(*(a.ctypes.data for a in arrays), out.ctypes.data, out.size)
        return out

    return run


def specials(dtype: Any) -> np.ndarray:
    info = np.finfo(dtype)
    sizes = [0, 1, 0.5, 1.5, 2, 3, 4, 10, 27, 1e3, 1e4, info.tiny, info.tiny * 3.3, info.smallest_subnormal]
    sizes += [info.smallest_subnormal * 1001, info.max, info.eps, 1 + info.eps, 1 - info.epsneg, np.inf, np.nan]
    sizes += [np.pi / 4, np.pi / 2, 0.3466, 0.7071, 1.4142, 2.0**16, 2.0**30, 2.0**60, 88.73, 709.79, 710.5, 2.5, 1e22]
    return np.array(sizes + [-s for s in sizes], dtype)


def points(name: str, dtype: Any, count: int, seed: int) -> np.ndarray:
    """Random bits, the interesting range, the neighbourhoods of 0, 1 and the zeros of sines, and special values."""
    rng = np.random.default_rng(seed)
    part = count // 5
    bits = rng.integers(0, 2 ** (8 * dtype().itemsize), 2 * part, dtype=np.uint64)
    ranges = {**RANGES, **FLOAT_RANGES} if dtype == np.float32 else RANGES
    span = ranges.get(name, 10)
    near_one = 1 + rng.standard_normal(part // 2) * 10 ** rng.uniform(-8, 0, part // 2)
    multiples = np.round(rng.uniform(0, 7e4 if dtype == np.float32 else 1e9, part // 2)) * (np.pi / 2)
    tail = [rng.uniform(-span, span, part), near_one, multiples, rng.uniform(-1.2, 1.2, part)]
    with np.errstate(all="ignore"):
        found = np.concatenate([bits.astype(f"u{dtype().itemsize}").view(dtype), *tail, specials(dtype)]).astype(dtype)
    return found[: found.size // 8 * 8] if found.size % 8 == 0 else np.resize(found, found.size // 8 * 8 + 8)


def arguments(name: str, dtype: Any, count: int) -> list[np.ndarray]:
    x = points(name, dtype, count, 1)
    if vecmath.arity(name) == 1:
        return [x]
    rng = np.random.default_rng(2)
    y = rng.permutation(x)
    if name == "pow":  # half of the exponents such that the result is finite; some are whole numbers
        with np.errstate(all="ignore"):
            reach = 745 if dtype == np.float64 else 103
            finite = (rng.uniform(-reach, reach, x.size) / np.log(np.abs(x))).astype(dtype)
            y = np.where(rng.random(x.size) < 0.5, finite, y)
            y = np.where(rng.random(x.size) < 0.2, np.round(y), y)
    return [x, y]


def long_erfc(x: np.ndarray) -> np.ndarray:
    """erfc in extended precision: a series of positive terms below 3/2, a continued fraction above."""
    a = np.minimum(np.abs(x), 200)
    coarse = np.round(a * 1024) / 1024  # so that its square is exact
    decay = np.exp(-coarse * coarse) * np.exp(-(a - coarse) * (a + coarse))
    root_pi = np.sqrt(np.arccos(Long(-1)))
    b = np.minimum(a, 1.5)
    term = total = b
    for n in range(1, 60):
        term = term * 2 * b * b / (2 * n + 1)
        total = total + term
    b, fraction = np.maximum(a, 1.5), Long(0)
    for n in range(160, 0, -1):
        fraction = Long(n) / 2 / (b + fraction)
    result = np.where(a < 1.5, 1 - 2 / root_pi * decay * total, decay / ((b + fraction) * root_pi))
    return np.where(x < 0, 2 - result, result)


def long_erf(x: np.ndarray) -> np.ndarray:
    """erf in extended precision, with its own series near 0, where 1 - erfc cancels."""
    b = np.clip(x, -1, 1)
    term = total = b
    for n in range(1, 40):
        term = term * -b * b / n
        total = total + term / (2 * n + 1)
    return np.where(np.abs(x) < 1, 2 / np.sqrt(np.arccos(Long(-1))) * total, 1 - long_erfc(x))


def sigmoid(x: np.ndarray) -> np.ndarray:
    decay = np.exp(-np.abs(x))
    return np.where(x > 0, 1, decay) / (1 + decay)


NUMPY = {
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2, "pow": np.power,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "sigmoid": sigmoid, "softplus": lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))),
}  # fmt: skip


def reference(name: str, arrays: list[np.ndarray]) -> np.ndarray:
    """The result in more precision than the arrays have."""
    dtype = Long if arrays[0].dtype == np.float64 or name == "pow" else np.float64
    wide = [a.astype(dtype) for a in arrays]
    if name in ("erf", "erfc"):
        exact = {"erf": long_erf, "erfc": long_erfc} if dtype is Long else vars(scipy.special)
        return exact[name](*wide).astype(Long)
    return (NUMPY.get(name) or getattr(np, name))(*wide).astype(Long)


def ulps(got: np.ndarray, exact: np.ndarray, unit: np.ndarray | None = None) -> np.ndarray:
    """The error in units of the last place; infinite for a wrong infinity, NaN or sign of zero."""
    rounded = exact.astype(got.dtype)
    unit = np.spacing(np.minimum(np.abs(rounded if unit is None else unit), np.finfo(got.dtype).max)).astype(Long)
    error = np.abs(got - exact) / unit
    both_zero = (got == 0) & (rounded == 0)
    error = np.where((np.isnan(got) & np.isnan(rounded)) | ((got == rounded) & np.isinf(got)), 0, error)
    error = np.where(np.isinf(got) & (np.abs(exact) >= np.finfo(got.dtype).max), 0, error)
    error = np.where(both_zero & (np.signbit(got) != np.signbit(rounded)), np.inf, error)
    return np.where(np.isnan(error), np.inf, error)


def needs_long(dtype: str) -> None:
    if dtype == "double" and np.finfo(Long).eps >= np.finfo(np.float64).eps:
        pytest.skip("no extended precision to compare with")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", sorted(vecmath.NAMES))
def test_accuracy_over_the_whole_range(apply: Callable[..., np.ndarray], name: str, dtype: str) -> None:
    needs_long(dtype)
    count = 200_000 if dtype == "float" else 100_000
    arrays = arguments(name, DTYPES[dtype], count)
    with np.errstate(all="ignore"):
        got, exact = apply(name, 8, *arrays), reference(name, arrays)
        # log(e^x + e^y) near 0 is as good as its arguments are.
        unit = np.maximum.reduce([*map(np.abs, arrays), np.abs(got)]) if name == "logaddexp" else None
        error = ulps(got, exact, unit)
    worst = int(np.argmax(error))
    where = f"{name}({', '.join(str(a[worst]) for a in arrays)}) = {got[worst]}, not {exact[worst]}"
    assert error[worst] <= BOUNDS[name][dtype == "double"], f"{error[worst]:.3f} ulp: {where}"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", sorted(vecmath.NAMES))
def test_one_lane_gives_the_bits_of_eight(apply: Callable[..., np.ndarray], name: str, dtype: str) -> None:
    """So a result depends neither on its place in an array nor on its neighbours."""
    arrays = arguments(name, DTYPES[dtype], 8_000)
    np.testing.assert_array_equal(apply(name, 1, *arrays), apply(name, 8, *arrays))


@pytest.mark.parametrize("dtype", DTYPES.values())
@pytest.mark.parametrize("name", ["pow", "atan2"])
def test_every_pair_of_special_values(apply: Callable[..., np.ndarray], name: str, dtype: Any) -> None:
    values = np.resize(specials(dtype), 72)
    x, y = (np.ascontiguousarray(a.ravel()) for a in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        error = ulps(apply(name, 8, x, y), reference(name, [x, y]))
    assert error.max() < 1.5


@pytest.mark.parametrize("dtype", DTYPES.values())
def test_exact_results_are_exact(apply: Callable[..., np.ndarray], dtype: Any) -> None:
    k = np.arange(-120, 120).astype(dtype)
    np.testing.assert_array_equal(apply("exp2", 8, k), np.ldexp(dtype(1), k.astype(int)))
    np.testing.assert_array_equal(apply("log2", 8, np.ldexp(dtype(1), k.astype(int))), k)
    np.testing.assert_array_equal(apply("cbrt", 8, k**3), k)
    np.testing.assert_array_equal(apply("pow", 8, k, np.full_like(k, 3)), k**3)


def test_a_library_defines_each_symbol_once() -> None:
    text = vecmath.library([("sin", "float", 8), ("cos", "float", 8), ("sin", "float", 8), ("sin", "double", 1)])
    names = [line.split("@")[1].split("(")[0] for line in text.splitlines() if line.startswith(("define", "declare"))]
    assert len(names) == len(set(names))
    assert {"adj_sin_v8f32", "adj_cos_v8f32", "adj_sin_f64", "llvm.fma.v8f32", "llvm.fma.f64", "sin"} <= set(names)


@pytest.mark.parametrize("key", [("lgamma", "float", 8), ("exp", "half", 8), ("exp", "float", 0)])
def test_what_is_not_there_is_refused(key: tuple[str, str, int]) -> None:
    with pytest.raises(ValueError, match="no vector function|dtype|width"):
        vecmath.library([key])
