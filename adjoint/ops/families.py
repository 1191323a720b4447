"""Families of ops: what their members have in common is written once. Families are abstract, ops are final."""

from __future__ import annotations

import abc
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, ClassVar

import numpy as np

from adjoint.core import watching
from adjoint.core.absent import ZERO
from adjoint.core.errors import DtypeError
from adjoint.core.spec import (
    NUMBERS,
    Shape,
    Spec,
    broadcast,
    dtype_of,
    elements,
    float32,
    float64,
    is_half,
    normalize_axis,
    promote,
    sample,
    shape_of,
)
from adjoint.ops import language as F
from adjoint.ops.broadcast import batch_first, batch_front, conj, match, ndim, spread
from adjoint.ops.card import Draw, Op, Sample, lacking
from adjoint.ops.facts import Rewriter

SMALL = 4096  # elements of arrays that short ways are for: where larger ones fail, for want of memory, the op is named
_watched, _NUMBER, _ARRAY, _FLOATS = watching.active, np.float64, np.ndarray, {float32, float64}


@lru_cache(maxsize=4096)
def kernel_dtype(op: Op, specs: tuple[Spec, ...]) -> np.dtype:
    """The dtype of a result is the dtype of the kernel on a sample; half precision is kept if nothing is wider."""
    halves = any(is_half(s.dtype) and not s.weak for s in specs)
    if halves:
        common = promote(specs)
        specs = tuple(
            Spec((), float32) if not s.weak and (is_half(s.dtype) or s.dtype.kind in "iu") else s for s in specs
        )
    with np.errstate(all="ignore"):
        result = np.asarray(op.eval(np, *(sample(s, (1,)) for s in specs))).dtype
    return common if halves and result == float32 else result


def bare(specs: Sequence[Spec]) -> tuple[Spec, ...]:
    """Specs without their shapes."""
    return tuple(Spec((), s.dtype, s.weak) for s in specs)


def _alike(g: np.ndarray, p: np.ndarray, x: np.ndarray) -> bool:
    """Whether a product of two arrays is the cotangent of a third, as it is."""
    same = x.dtype is p.dtype is g.dtype and x.shape == p.shape == g.shape
    return same and x.size <= SMALL and x.dtype in _FLOATS


def python(y: Any, *xs: Any) -> Any:
    """A kernel's result as a Python number, if the inputs are: operators of Python numbers give Python numbers."""
    if type(y) in (np.float64, np.int64, np.complex128) and all(type(x) in NUMBERS for x in xs):
        return y.item()
    return y


class Elementwise(Op):
    """Ops that act on each element: give `eval` and `partials`, get the rest."""

    elementwise, total = True, True
    arity: ClassVar[int] = 1
    domain: ClassVar[tuple[float, float]] = (-2.0, 2.0)  # where samples are drawn
    edges: ClassVar[tuple[float, ...]] = ()  # values, far out or at kinks, where kernels and modes must agree
    keeps_floats: ClassVar[bool] = False  # known without running the kernel, which would import SciPy
    work: ClassVar[int] = 1  # operations on numbers for each element, an estimate
    singular: ClassVar[bool] = False  # whether a partial can be infinite: then 0 * inf is 0, not NaN

    @abc.abstractmethod
    def partials(self, y: Any, /, *xs: Any) -> tuple[Any, ...]:
        """dy/dx for each input, or functions that compute it."""
        raise lacking(self, "partials")

    def flops(self, y: Any, /, *xs: Any) -> int:
        return self.work * elements(y)

    def infer(self, *specs: Spec) -> Spec:
        shape = broadcast(self, specs)
        if self.keeps_floats and specs[0].dtype in (float32, float64):
            return Spec(shape, specs[0].dtype)
        try:
            return Spec(shape, kernel_dtype(self, bare(specs)))
        except TypeError:
            dtypes = " and ".join(str(s.dtype) for s in specs)
            raise DtypeError(f"{self}: not defined for {dtypes}; cast the input first, with ops.cast") from None

    def vjp(self, g: Any, y: Any, /, *xs: Any) -> tuple[Any, ...]:
        ps, pull = self.partials(y, *xs), self._pull
        if len(xs) == 1:
            return (pull(g, ps[0], xs[0]),)
        if len(xs) == 2:
            return lambda: pull(g, ps[0], xs[0]), lambda: pull(g, ps[1], xs[1])
        return tuple([partial(pull, g, p, x) for p, x in zip(ps, xs, strict=True)])

    def _pull(self, g: Any, p: Any, x: Any) -> Any:
        if callable(p):
            p = p()
        kind = type(x)
        if type(p) is kind and type(g) is kind and not _watched:  # the short ways: numbers, and arrays that are alike
            if kind is _NUMBER:
                found = g * p
                if found - found == 0:  # finite: nothing to mask
                    return found
            elif kind is _ARRAY and _alike(g, p, x):
                return F.masked_mul.eval(np, g, p) if self.singular else g * p
        masked = self.singular
        if type(p) is float or type(p) is int:
            constant = math.isfinite(p) and (
                p != 0 or type(x) not in (int, float)
            )  # else the value of a float that is an input
            masked = masked and not constant
        elif dtype_of(p).kind == "c":
            p = conj(p)
        return match(F.masked_mul(g, p) if masked else g * p, x)

    def jvp(self, ts: Sequence[Any], y: Any, /, *xs: Any) -> Any:
        total: Any = ZERO
        for p, t in zip(self.partials(y, *xs), ts, strict=True):
            if t is not ZERO:
                p = p() if callable(p) else p
                term = F.masked_mul(t, p) if self.singular else p * t
                total = term if total is ZERO else total + term
        return total if total is ZERO else spread(total, y)

    def vmap(self, dims: Sequence[int | None], *xs: Any) -> Any:
        rank = max(ndim(x) - (d is not None) for x, d in zip(xs, dims, strict=True))
        return self(*(batch_first(x, d, rank) for x, d in zip(xs, dims, strict=True)))

    @classmethod
    def samples(cls, draw: Draw) -> Iterator[Sample]:
        shapes: list[Shape] = [(), (3,), (2, 3), (1, 3), (0, 3)]
        combos = (
            itertools.product(shapes[:4], repeat=cls.arity)
            if cls.arity < 3
            else zip(*[shapes] * cls.arity, strict=True)
        )
        for combo in [*combos, ((0, 3),) * cls.arity]:
            yield cls(), tuple(draw(*shape, domain=cls.domain) for shape in combo)

    @classmethod
    def errors(cls) -> Iterator[tuple[Op, tuple[Spec, ...], str]]:
        if cls.arity > 1:
            yield cls(), (Spec((3,)), *[Spec((4,))] * (cls.arity - 1)), "do not broadcast"


class Discrete(Elementwise):
    """Elementwise ops whose derivative is zero wherever it exists: comparisons, rounding, logic on bits."""

    differentiable = False

    def partials(self, y: Any, /, *xs: Any) -> tuple[Any, ...]:
        return (ZERO,) * len(xs)

    def vjp(self, g: Any, y: Any, /, *xs: Any) -> tuple[Any, ...]:
        return (ZERO,) * len(xs)

    def jvp(self, ts: Sequence[Any], y: Any, /, *xs: Any) -> Any:
        return ZERO


class NotDifferentiable(Op):
    """Ops with a result that has no derivative: an index, a count, a permutation."""

    differentiable = False

    def vjp(self, g: Any, y: Any, /, *xs: Any) -> tuple[Any, ...]:
        return (ZERO,) * len(xs)

    def jvp(self, ts: Sequence[Any], y: Any, /, *xs: Any) -> Any:
        return ZERO


class Linear(Op):
    """Ops linear in their first input, the others being indices: the tangent goes through the op itself."""

    def jvp(self, ts: Sequence[Any], y: Any, /, *xs: Any) -> Any:
        return ZERO if ts[0] is ZERO else self(ts[0], *xs[1:])


class MatrixWork(Op):
    """Ops on whole matrices: each element takes part in `work` operations for every row."""

    work: ClassVar[int] = 2
    dense, expensive = True, True

    def flops(self, y: Any, /, *xs: Any) -> int:
        return self.work * elements(xs[0]) * (xs[0].shape or (1,))[-1]


@dataclass(frozen=True)
class Reduction(Op):
    """Ops that collapse `axes` (non-negative, sorted), keeping them with size 1 if `keepdims`. Fields: axes, keepdims."""

    axes: Shape
    keepdims: bool = False

    saved = True

    def flops(self, y: Any, /, *xs: Any) -> int:
        return elements(xs[0])

    def may_fail(self, y: Any, /, *xs: Any) -> bool:
        return not self.total and any(0 in x.shape for x in xs)  # there is no largest of no elements

    def infer(self, x):
        for a in self.axes:
            normalize_axis(self, a, x.ndim)
        return Spec(self.reduced(x.shape), kernel_dtype(type(self)((0,)), (Spec((), x.dtype),)))

    def reduced(self, shape: Shape) -> Shape:
        """The shape of the result."""
        if self.keepdims:
            return tuple(1 if a in self.axes else n for a, n in enumerate(shape))
        return tuple(n for a, n in enumerate(shape) if a not in self.axes)

    def kept(self, shape: Shape) -> Shape:
        """The shape of the result with the collapsed axes at size 1, for broadcasting against the input."""
        return tuple(1 if a in self.axes else n for a, n in enumerate(shape))

    def of_copies(self, b: Rewriter, x: Any, count: int) -> Any:
        """What `count` copies of x are reduced to; not asked where there is none."""
        return x

    def spread(self, g: Any, x: Any) -> Any:
        """A cotangent of the result repeated along the collapsed axes."""
        shape = shape_of(x)
        if not self.keepdims and shape_of(g):
            g = F.reshape(g, self.kept(shape))
        return F.broadcast_to(g, shape)

    def vmap(self, dims: Sequence[int | None], *xs: Any) -> Any:
        axes = tuple(a + 1 for a in self.axes)
        return type(self)(axes, self.keepdims)(batch_front(xs[0], dims[0]))

    @classmethod
    def samples(cls, draw: Draw) -> Iterator[Sample]:
        yield cls((0,)), (draw(3),)
        yield cls((0, 2)), (draw(2, 3, 2),)
        yield cls((1,), True), (draw(2, 3),)
        yield cls((0, 1)), (draw(1, 4),)
        yield cls(()), (draw(2),)

    @classmethod
    def errors(cls) -> Iterator[tuple[Op, tuple[Spec, ...], str]]:
        yield cls((1,)), (Spec((3,)),), "outside the input's 1 axes"
