"""A file here holds a table of calls; each row of it is checked in every way that makes sense for it.

A row is `row(names, call, reference, *shapes, **options)`: the function and its other names, a call of it, what NumPy or
SciPy have for it, the shapes of the inputs, and the options of `Row`. The file asks for the fixture `verify`.
"""

from __future__ import annotations

import importlib.util
import inspect
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.ops.publish import FUNCTIONS

Arrays = list[np.ndarray]
Shape = tuple[int, ...]
F64, F32 = np.dtype("float64"), np.dtype("float32")


@dataclass(frozen=True)
class Row:
    """One call of a public function, and what NumPy or SciPy have for it."""

    names: str  # the function, and its other names
    call: Callable[..., Any]
    reference: Callable[..., Any]
    shapes: tuple[Shape, ...]
    domain: tuple[float, float] = (-2.0, 2.0)
    number: str = "real"  # what the inputs are: real, complex, int, bool
    zero: bool = False  # whether the derivative is zero everywhere
    batches: bool = True  # False if the size of the result depends on the values: no vmap
    dtype: Any = None  # the result's, if the function fixes it
    slack: float = 1.0  # by how much results in half precision may be less precise than usual

    @classmethod
    def of(cls, names: str, call: Any, reference: Any, *shapes: Shape, **options: Any) -> Row:
        return cls(names, call, reference, shapes, **options)

    def inputs(self, seed: int = 0, shapes: Sequence[Shape] | None = None) -> Arrays:
        """Always the same ones for the same seed."""
        rng = np.random.default_rng(zlib.crc32(f"{self.names}{self.shapes}{seed}".encode()))
        return [self._draw(rng, shape) for shape in (self.shapes if shapes is None else shapes)]

    def _draw(self, rng: np.random.Generator, shape: Shape) -> np.ndarray:
        if self.number == "bool":
            return np.asarray(rng.integers(0, 2, shape) == 1)
        if self.number == "int":
            return np.asarray(rng.integers(int(self.domain[0]), int(self.domain[1]) + 1, shape))
        x = np.asarray(rng.uniform(*self.domain, shape))
        return x + 1j * rng.uniform(-0.5, 0.5, shape) if self.number == "complex" else x

    @cached_property
    def smooth(self) -> bool:
        """Whether there is a derivative to check."""
        inputs = bool(self.shapes) and self.number in ("real", "complex") and not self.zero
        return inputs and any(map(inexact, flat(self.reference(*self.inputs()))))

    def outputs(self, *xs: Any) -> list[Any]:
        """The results as a list."""
        return flat(self.call(*xs))

    def floats(self, *xs: Any) -> tuple[Any, ...]:
        """The results that have derivatives."""
        return tuple(y for y in self.outputs(*xs) if inexact(y))

    def values(self, xs: Sequence[np.ndarray]) -> Arrays:
        return [plain(y) for y in self.floats(*map(ad.Tensor, xs))]

    def wanted(self, xs: Sequence[np.ndarray]) -> Arrays:
        """What the reference gives."""
        return [np.asarray(y) for y in flat(self.reference(*xs))]

    def pull(self, xs: Sequence[Any], gs: Sequence[Any]) -> list[Any]:
        """Cotangents by reverse mode."""
        return list(ad.vjp(self.floats, *map(ad.Tensor, xs))[1](*gs))

    def push(self, xs: Sequence[Any], ts: Sequence[Any]) -> list[Any]:
        """Tangents by forward mode."""
        return list(ad.jvp(self.floats, [ad.Tensor(x) for x in xs], [ad.Tensor(t) for t in ts])[1])


# ---------------------------------------------------------------- values


def flat(y: Any) -> list[Any]:
    return list(y) if isinstance(y, (tuple, list)) else [y]


def plain(y: Any) -> np.ndarray:
    return y.asnumpy() if isinstance(y, ad.Tensor) else np.asarray(y)


def inexact(y: Any) -> bool:
    dtype = y.dtype if isinstance(y, ad.Tensor) else np.asarray(y).dtype
    return dtype.kind in "fc" or dtype.name == "bfloat16"


def close(got: Sequence[Any], want: Sequence[Any], rtol: float, what: str) -> None:
    """Equal shapes, and values equal to `rtol` of the largest."""
    assert len(got) == len(want), f"{what}: {len(got)} results, expected {len(want)}"
    for a, b in zip(map(plain, got), map(plain, want), strict=True):
        assert a.shape == b.shape, f"{what}: shape {a.shape}, expected {b.shape}"
        kind = complex if b.dtype.kind == "c" else float
        size = np.abs(b[np.isfinite(b)]).astype(float).max(initial=0.0) if inexact(b) else 0.0
        slack = rtol * max(1.0, size) if inexact(b) else 0.0
        np.testing.assert_allclose(a.astype(kind), b.astype(kind), rtol=rtol, atol=slack, err_msg=what)


def directions(like: Sequence[np.ndarray], seed: int) -> Arrays:
    """Random tangents or cotangents for some values."""
    rng = np.random.default_rng(seed)
    pairs = [(x, rng.uniform(-1, 1, (2, *x.shape))) for x in like]
    return [np.asarray(a + 1j * b if x.dtype.kind == "c" else a) for x, (a, b) in pairs]


def units(xs: Arrays) -> Iterator[tuple[int, int, complex, Arrays]]:
    """Every direction along one number of the inputs, as (input, element, 1 or i, direction)."""
    for i, x in enumerate(xs):
        for k in range(x.size):
            for one in (1.0, 1j) if x.dtype.kind == "c" else (1.0,):
                ts = [np.zeros_like(v) for v in xs]
                ts[i].flat[k] = one
                yield i, k, one, ts


def slope(f: Callable[[Arrays], Arrays], xs: Arrays, ts: Arrays, h: float = 1e-3) -> Arrays:
    """The derivative of `f` along `ts`, by central differences of the fourth order."""
    at = {k: f([x + k * h * t for x, t in zip(xs, ts, strict=True)]) for k in (-2, -1, 1, 2)}
    return [(a - 8 * b + 8 * c - d) / (12 * h) for a, b, c, d in zip(at[-2], at[-1], at[1], at[2], strict=True)]


def inner(a: Sequence[Any], b: Sequence[Any]) -> float:
    return sum(float(np.vdot(plain(x), plain(y)).real) for x, y in zip(a, b, strict=True))


def stacked(examples: Sequence[Sequence[Any]]) -> Arrays:
    """The results of several examples, each kind in one array."""
    return [np.stack([plain(y) for y in ys]) for ys in zip(*examples, strict=True)]


# ---------------------------------------------------------------- the checks


def expected_dtype(r: Row, want: np.ndarray, narrow: Any) -> Any:
    """The result has the precision of the inputs, unless the function fixes another."""
    if r.dtype is not None:
        return r.dtype
    if want.dtype.kind not in "fc" or r.number in ("int", "bool"):
        return want.dtype
    if want.dtype.kind == "c":
        return np.result_type(np.complex64, narrow if narrow in (F32, F64) else F32)
    return narrow


def check_value(r: Row, dtype: np.dtype) -> None:
    """The value and the dtype, for Tensors and for plain arrays."""
    narrow = {"real": dtype, "complex": np.result_type(dtype, np.complex64)}.get(r.number)
    xs = [x.astype(narrow) if narrow else x for x in r.inputs()]
    want = r.wanted([x.astype(np.result_type(x, float)) if narrow else x for x in xs])
    tolerance = 1e-12 if dtype == F64 and r.dtype != F32 else 2e-5
    got = r.outputs(*map(ad.Tensor, xs))
    close(got, want, tolerance, r.names)
    for y, w in zip(got, want, strict=True):
        assert y.dtype == expected_dtype(r, w, dtype), f"{r.names} of {dtype}: the result is {y.dtype}"
    close(r.outputs(*xs), want, tolerance, f"{r.names} of plain arrays")


def check_half_precision(r: Row, name: str, tolerance: float) -> None:
    """Results and gradients keep the dtype, and are near those of double precision."""
    dtype = getattr(ad, name)
    tolerance *= r.slack
    xs = [x.astype(dtype) for x in r.inputs()]
    wide = [x.astype(float) for x in xs]
    for y, w in zip(r.outputs(*map(ad.Tensor, xs)), r.wanted(wide), strict=True):
        assert y.dtype == expected_dtype(r, w, dtype), f"{r.names} of {name}: the result is {y.dtype}"
        if w.dtype.kind in "fc" and not r.zero:
            close([y], [w], tolerance, f"{r.names} of {name}")
    if r.smooth:
        gs = directions(r.values(wide), 9)
        found = r.pull(xs, gs)
        assert all(g.dtype == dtype for g in found), f"{r.names} of {name}: gradients are {[g.dtype for g in found]}"
        close(found, r.pull(wide, gs), tolerance, f"gradient of {r.names} of {name}")


def check_gradient(r: Row) -> None:
    """Reverse mode, every partial derivative, against differences of the function's own values."""
    xs = r.inputs()
    gs = directions(r.values(xs), 1)
    found = r.pull(xs, gs)
    tolerance = 1e-3 if r.dtype == F32 else 1e-8
    for i, k, one, ts in units(xs):
        want = inner(gs, slope(r.values, xs, ts))
        got = plain(found[i]).flat[k]
        got = got.imag if one == 1j else got.real
        assert got == pytest.approx(want, rel=tolerance, abs=tolerance), f"{r.names}: element {k} of input {i}"


def check_forward(r: Row) -> None:
    """Forward mode against reverse mode: <g, J t> = <J' g, t>."""
    xs = r.inputs()
    ts, gs = directions(xs, 2), directions(r.values(xs), 3)
    tolerance = 1e-5 if r.dtype == F32 else 1e-10
    assert inner(gs, r.push(xs, ts)) == pytest.approx(inner(r.pull(xs, gs), ts), rel=tolerance, abs=tolerance)


def check_second_order(r: Row) -> None:
    """The gradient of the gradient along a direction, by both modes, against differences of the gradient."""
    xs = r.inputs()
    gs, ts, us = directions(r.values(xs), 4), directions(xs, 5), directions(xs, 6)
    want = slope(lambda v: [plain(g) for g in r.pull(v, gs)], xs, ts)

    def gradient(*values: Any) -> Any:
        return ad.vjp(r.floats, *values)[1](*gs)

    inputs = [ad.Tensor(x) for x in xs]
    forward = ad.jvp(gradient, inputs, [ad.Tensor(t) for t in ts])[1]
    close(forward, want, 1e-7, f"{r.names}: forward over reverse")
    reverse = ad.vjp(gradient, *inputs)[1](*us)
    assert inner(reverse, ts) == pytest.approx(inner(us, want), rel=1e-7, abs=1e-7), f"{r.names}: reverse over reverse"


def check_zero_derivative(r: Row) -> None:
    """No derivative flows, and none is NaN."""
    xs = r.inputs()

    def total(*values: Any) -> Any:
        return sum(ops.sum(ops.cast(y, F64)) for y in r.outputs(*values)) + 0.0 * sum(x.sum() for x in values)

    for g in flat(ad.grad(total, tuple(range(len(xs))))(*map(ad.Tensor, xs))):
        assert not plain(g).any()
    ts = [ad.Tensor(t) for t in directions(xs, 7)]
    assert not plain(ad.jvp(total, [ad.Tensor(x) for x in xs], ts)[1]).any()


def check_vmap(r: Row) -> None:
    """A batch against a loop: all inputs batched, and each alone, from its last axis."""
    batch = [r.inputs(seed) for seed in range(2)]
    full = stacked(batch)
    loop = stacked([r.outputs(*map(ad.Tensor, xs)) for xs in batch])
    close(ad.vmap(r.outputs)(*map(ad.Tensor, full)), loop, 1e-12, f"vmap({r.names})")
    for i in range(len(full)):
        alone = [[b[j] if j == i else batch[0][j] for j in range(len(full))] for b in batch]
        loop = stacked([r.outputs(*map(ad.Tensor, xs)) for xs in alone])
        args = [np.moveaxis(x, 0, -1) if j == i else batch[0][j] for j, x in enumerate(full)]
        axes = tuple(-1 if j == i else None for j in range(len(full)))
        close(ad.vmap(r.outputs, axes)(*map(ad.Tensor, args)), loop, 1e-12, f"vmap({r.names}), input {i} alone")


def check_vmap_of_gradient(r: Row) -> None:
    """The gradient of each example of a batch against a loop."""
    batch = [r.inputs(seed) for seed in range(2)]
    gs = directions(r.values(batch[0]), 8)
    got = ad.vmap(lambda *xs: ad.vjp(r.floats, *xs)[1](*gs))(*map(ad.Tensor, stacked(batch)))
    close(flat(got), stacked([r.pull(xs, gs) for xs in batch]), 1e-10, f"vmap of the gradient of {r.names}")


def check_shapes(r: Row, shapes: Sequence[Shape]) -> None:
    """Other shapes: the value is NumPy's, and there is a gradient."""
    xs = r.inputs(0, shapes)
    want = r.wanted(xs)
    close(r.outputs(*map(ad.Tensor, xs)), want, 1e-12, f"{r.names} of shapes {shapes}")
    if want and r.smooth:
        gs, ts = [np.ones_like(y) for y in r.values(xs)], [np.ones_like(x) for x in xs]
        pulled = r.pull(xs, gs)
        assert [g.shape for g in pulled] == list(shapes)
        assert inner(gs, r.push(xs, ts)) == pytest.approx(inner(pulled, ts), abs=1e-9)


def check_names(r: Row) -> None:
    """The other names of a function are the function itself, beyond the words from elsewhere that each understands."""
    first, *others = r.names.split()
    assert all(inspect.unwrap(getattr(ops, name)) is inspect.unwrap(getattr(ops, first)) for name in others)


# ---------------------------------------------------------------- which check for which row


def small_shapes(r: Row) -> Iterator[list[Shape]]:
    """Axes of size 2 or 3 replaced by ones without elements or with one, wherever NumPy has an answer."""
    for old, new in ((2, 0), (2, 1), (3, 0), (3, 1)):
        shapes = [tuple(new if n == old else n for n in shape) for shape in r.shapes]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                r.wanted(r.inputs(0, shapes))
        except (ValueError, IndexError, RuntimeWarning):
            continue
        if tuple(shapes) != r.shapes:
            yield shapes


def checks(r: Row) -> Iterator[tuple[str, Callable[[], None]]]:
    """The checks that make sense for a row, by name."""
    yield "float64", partial(check_value, r, F64)
    yield "float32", partial(check_value, r, F32)
    if r.shapes and r.number == "real":
        yield "float16", partial(check_half_precision, r, "float16", 1e-2)
        yield "bfloat16", partial(check_half_precision, r, "bfloat16", 8e-2)
    if r.smooth:
        yield "gradient", partial(check_gradient, r)
        yield "forward", partial(check_forward, r)
    if r.smooth and r.dtype != F32:
        yield "second_order", partial(check_second_order, r)
    if r.zero:
        yield "zero_derivative", partial(check_zero_derivative, r)
    if r.shapes and r.batches:
        yield "vmap", partial(check_vmap, r)
    if r.smooth and r.batches:
        yield "vmap_of_gradient", partial(check_vmap_of_gradient, r)
    for shapes in small_shapes(r):
        yield f"{shapes}", partial(check_shapes, r, shapes)
    if " " in r.names:
        yield "names", partial(check_names, r)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "verify" in metafunc.fixturenames:
        rows = enumerate(metafunc.module.table(Row.of))
        found = [(f"{r.names.split()[0]}-{i}-{name}", check) for i, r in rows for name, check in checks(r)]
        metafunc.parametrize("verify", [check for _, check in found], ids=[name for name, _ in found])


@pytest.fixture(scope="session")
def rows() -> set[str]:
    """The functions that are in a table of this folder."""
    names: set[str] = set()
    for path in Path(__file__).parent.glob("test_*.py"):
        spec: Any = importlib.util.spec_from_file_location(f"tables_{path.stem}", path)
        spec.loader.exec_module(module := importlib.util.module_from_spec(spec))
        if hasattr(module, "table"):
            names |= {name for r in module.table(Row.of) for name in r.names.split()}
    return names


#: Files of functions that a test file covers beside those of its own name.
FURTHER = {
    "convolution": ("conv", "unfolding"),
    "elementwise": ("casting", "compare", "special"),
    "joining": ("functional.repeating", "padding"),
    "movement": ("broadcasting",),
    "pooling": ("pool", "sum_pool"),
}


@pytest.fixture
def without_a_row(request: pytest.FixtureRequest, rows: set[str]) -> list[str]:
    """Public functions of the family that the test file is named after, or beside its cards, which are in no table."""
    stem = request.path.stem.removeprefix("test_")
    family = {f"adjoint.ops.{stem}", f"adjoint.ops.functional.{stem}"}
    family |= {f"adjoint.ops.{name}" for name in FURTHER.get(stem, ())}
    functions = {n for n, f in vars(ops).items() if inspect.isfunction(f) and f.__module__ in family}
    if stem == "elementwise":  # those that `register` has made
        functions |= {n for n, f in FUNCTIONS.items() if f.__module__ in ("adjoint.ops", *family)}
    return sorted(functions - rows)


@pytest.fixture
def caught() -> Callable[..., set[str]]:
    """The names of the checks that a row fails, for a test of the checks themselves."""

    def failing(*entry: Any, **options: Any) -> set[str]:
        found = set()
        for name, check in checks(Row.of(*entry, **options)):
            try:
                check()
            except AssertionError:
                found.add(name)
        return found

    return failing
