"""What the checks work with: seeded calls of an op, its rules on plain arrays, and difference quotients."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from adjoint.core.absent import ZERO
from adjoint.core.spec import Spec, is_half, is_inexact, spec_of
from adjoint.core.tensor import Tensor
from adjoint.ops.card import Draw, Op

Arrays = list[np.ndarray]


# ---------------------------------------------------------------- values


def flat(y: Any) -> list[Any]:
    """The results of an op as a list, whether it has one or several."""
    return list(y) if type(y) is tuple else [y]


def plain(x: Any) -> np.ndarray:
    """The array of a Tensor or of anything like an array."""
    return x.asnumpy() if isinstance(x, Tensor) else np.asarray(x)


def inexact(x: Any) -> bool:
    return is_inexact(x.dtype)


def dense(derivative: Any, like: np.ndarray) -> np.ndarray:
    """A derivative as an array: zeros for ZERO, the value of a thunk."""
    derivative = derivative() if callable(derivative) else derivative
    return np.zeros_like(like) if derivative is ZERO else plain(derivative)


def wide(x: Any) -> np.ndarray:
    """The same values in double precision; integers as they are."""
    x = plain(x)
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64) if inexact(x) else x


def in_kind(dtype: np.dtype, narrow: np.dtype) -> np.dtype:
    """What a dtype of double precision becomes if computed in `narrow`: complex numbers stay complex.

    >>> in_kind(np.dtype("complex128"), np.dtype("float32"))
    dtype('complex64')
    """
    if not is_inexact(dtype):
        return dtype
    real = np.dtype("float32") if is_half(narrow) and dtype.kind == "c" else np.zeros(0, narrow).real.dtype
    return np.result_type(real, np.complex64) if dtype.kind == "c" else real


def assert_inner(a: Arrays, b: Arrays, c: Arrays, d: Arrays, what: str, rtol: float) -> None:
    """The real inner products <a, b> and <c, d> agree."""
    left, right = (sum(np.vdot(x, y).real for x, y in zip(*pair, strict=True)) for pair in ((a, b), (c, d)))
    size = 1.0 + sum(np.linalg.norm(x) * np.linalg.norm(y) for x, y in zip(a, b, strict=True))
    np.testing.assert_allclose(left, right, rtol=0.0, atol=rtol * size, err_msg=what)


def assert_close(got: Sequence[Any], want: Sequence[Any], what: str, rtol: float = 1e-9) -> None:
    """Equal shapes, and values equal to `rtol` of the largest."""
    for a, b in zip(map(plain, got), map(plain, want), strict=True):
        assert a.shape == b.shape, f"{what}: shape {a.shape}, expected {b.shape}"
        if not b.size:
            continue
        if not inexact(b):
            np.testing.assert_array_equal(a, b, err_msg=what)
            continue
        a, b = wide(a), wide(b)
        largest = np.abs(b[np.isfinite(b)]).max(initial=1.0)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * largest, err_msg=what)


def assert_like(got: Sequence[Any], values: Sequence[Any], what: str) -> None:
    """A derivative has the shape and dtype of the value it belongs to."""
    for d, x in zip(got, values, strict=True):
        assert (d.shape, d.dtype) == (x.shape, x.dtype), f"{what}: {d.dtype}{d.shape} for a value {x.dtype}{x.shape}"


# ---------------------------------------------------------------- one call


@dataclass(frozen=True)
class Case:
    """One call of an op, and its rules as functions of the inputs that have derivatives."""

    op: Op
    xs: tuple[np.ndarray, ...]
    rng: np.random.Generator

    def __str__(self) -> str:
        dtypes = sorted({x.dtype.name for x in self.xs} - {"float64"})
        shapes = f"{self.op} on shapes {[x.shape for x in self.xs]}"
        return f"{shapes} of {', '.join(dtypes)}" if dtypes else shapes

    @property
    def floats(self) -> Arrays:
        """The inputs that have derivatives."""
        return [x for x in self.xs if inexact(x)]

    @property
    def smooth(self) -> bool:
        """Whether there is a derivative to check."""
        return bool(self.op.differentiable and self.floats and any(map(inexact, self.specs())))

    def specs(self) -> list[Spec]:
        """What `infer` says of each result."""
        return flat(self.op.infer(*map(spec_of, self.xs)))

    def filled(self, floats: Sequence[Any]) -> list[Any]:
        """All inputs, those with derivatives exchanged."""
        fresh = iter(floats)
        return [next(fresh) if inexact(x) else x for x in self.xs]

    def call(self, *floats: Any) -> Any:
        """The op as a function of the inputs that have derivatives."""
        return self.op(*self.filled(floats))

    def call_floats(self, *floats: Any) -> tuple[Any, ...]:
        """The same, without results that have no derivative."""
        return tuple(y for y in flat(self.call(*floats)) if inexact(y))

    def results(self, floats: Sequence[Any] | None = None) -> Arrays:
        """All results of the kernel."""
        xs = self.xs if floats is None else self.filled(floats)
        return [np.asarray(y) for y in flat(self.op.eval(np, *xs))]

    def outputs(self, floats: Sequence[Any] | None = None) -> Arrays:
        """The results that have derivatives."""
        return [y for y in self.results(floats) if inexact(y)]

    def push(self, ts: Sequence[Any], floats: Sequence[Any] | None = None) -> Arrays:
        """The jvp rule on plain arrays; inputs without derivatives get ZERO."""
        xs = self.filled(self.floats if floats is None else floats)
        given = iter(ts)
        y = self.op.eval(np, *xs)
        t = self.op.jvp([next(given) if inexact(x) else ZERO for x in self.xs], y, *xs)
        ys = flat(y)
        parts = [ZERO] * len(ys) if t is ZERO else flat(t)
        return [dense(p, v) for p, v in zip(parts, ys, strict=True) if inexact(v)]

    def pull(self, gs: Sequence[Any], floats: Sequence[Any] | None = None) -> Arrays:
        """The vjp rule on plain arrays, as cotangents of the inputs that have derivatives."""
        xs = self.filled(self.floats if floats is None else floats)
        given = iter(gs)
        y = self.op.eval(np, *xs)
        g = tuple(next(given) if inexact(v) else np.zeros_like(v) for v in flat(y))
        cotangents = self.op.vjp(g if type(y) is tuple else g[0], y, *xs)
        return [dense(c, x) for c, x in zip(cotangents, xs, strict=True) if inexact(x)]

    def directions(self, like: Sequence[np.ndarray]) -> Arrays:
        """Random tangents or cotangents for some values."""
        return [self._direction(x) for x in like]

    def _direction(self, x: np.ndarray) -> np.ndarray:
        v = self.rng.uniform(-1.0, 1.0, x.shape)
        return np.asarray(v + 1j * self.rng.uniform(-1.0, 1.0, x.shape) if x.dtype.kind == "c" else v, x.dtype)

    def cast(self, *dtypes: np.dtype) -> Case:
        """The same call with the inputs that have derivatives in other dtypes, one for all or one for each."""
        dtypes = dtypes if len(dtypes) > 1 else dtypes * len(self.floats)
        pairs = zip(self.floats, dtypes, strict=True)
        return replace(self, xs=tuple(self.filled([(x.real if d.kind != "c" else x).astype(d) for x, d in pairs])))

    def widened(self) -> Case:
        """The same values in double precision."""
        return replace(self, xs=tuple(map(wide, self.xs)))


# ---------------------------------------------------------------- samples


def drawing(rng: np.random.Generator, number: str) -> Draw:
    """The function that a card draws its samples with; floats are drawn as `number`."""

    def draw(*shape: int, domain: tuple[float, float] = (-2.0, 2.0), dtype: str = "float64") -> np.ndarray:
        if dtype == "bool":
            return np.asarray(rng.integers(0, 2, shape) == 1)
        if np.dtype(dtype).kind in "iu":
            return np.asarray(rng.integers(int(domain[0]), int(domain[1]) + 1, shape), dtype)
        x = rng.uniform(*domain, shape)
        # The imaginary part stays small: no branch cut of a real function's domain is crossed.
        return np.asarray(x + 1j * rng.uniform(-0.5, 0.5, shape) if "complex" in (number[:7], dtype[:7]) else x)

    return draw


def cases(cls: type[Op], number: str = "float64", rounds: int = 3) -> Iterator[tuple[Case, ...]]:
    """For each sample of a card, `rounds` calls of the same op with other values; always the same ones."""
    rng = np.random.default_rng(zlib.crc32(cls.__name__.encode()))
    for calls in zip(*(list(cls.samples(drawing(rng, number))) for _ in range(rounds)), strict=True):
        ops = [op for op, _ in calls]
        assert all(op == ops[0] and hash(op) == hash(ops[0]) for op in ops), f"{ops[0]!r} does not equal its copy"
        yield tuple(Case(ops[0], tuple(_varied(x, k) for x in xs), rng) for k, (_, xs) in enumerate(calls))


def _varied(x: Any, k: int) -> np.ndarray:
    """The sample as an array that no kernel can write to; fixed indices and masks differ from round to round."""
    x = np.array(x if inexact(np.asarray(x)) else np.roll(x, k))
    x.flags.writeable = False
    return x


# ---------------------------------------------------------------- difference quotients

Function = Callable[[list[Any]], Arrays]


def differences(f: Function, xs: Sequence[np.ndarray], ts: Sequence[np.ndarray], step: float = 3e-4) -> Arrays:
    """The derivative of `f` along `ts`: central differences with one step of Richardson's extrapolation."""

    def quotient(h: float) -> Arrays:
        up, down = (f([x + s * t for x, t in zip(xs, ts, strict=True)]) for s in (h, -h))
        return [(u - d) / (2 * h) for u, d in zip(up, down, strict=True)]

    pairs = list(zip(quotient(step), quotient(step / 2), strict=True))
    # Two steps that disagree have a kink or a jump between them: look closer.
    if step > 1e-6 and any(np.any(np.abs(a - b) > 1e-4 * (1.0 + np.abs(b))) for a, b in pairs):
        return differences(f, xs, ts, step / 20)
    return [(4 * fine - coarse) / 3 for coarse, fine in pairs]


def complex_step(f: Function, xs: Sequence[np.ndarray], ts: Sequence[np.ndarray], step: float = 1e-30) -> Arrays:
    """The derivative of a real function along `ts` from its continuation to complex numbers: exact to rounding."""
    return [y.imag / step for y in f([x + 1j * step * t for x, t in zip(xs, ts, strict=True)])]
