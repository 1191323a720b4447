"""Random samples, from the seed of the whole program or from a seed of their own.

`set_seed` makes a program repeat itself exactly: the same samples, whether it runs in dynamic mode, in the interpreter or as machine
code. A compiled function samples anew in each call. Samples with parameters (`normal`, `uniform`, `gumbel_softmax`, ...) are
differentiable in those parameters.

Under `vmap` each example samples for itself. A sample of a given shape with a seed of its own (`rand(3, seed=0)`) is one for all of them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint.core import context, views
from adjoint.core.dispatch import Value, new, wrap
from adjoint.core.errors import ArgumentError, called_at
from adjoint.core.random_counters import PROGRAM, first_counter, lanes, source
from adjoint.core.spec import dtype_of, float32, float64, int64, is_inexact, shape_of
from adjoint.ops.along_axis import argsort, cumsum
from adjoint.ops.card import card
from adjoint.ops.functional.creation import _size, one_hot
from adjoint.ops.indexing import take
from adjoint.ops.language import (
    bitwise_and,
    cast,
    greater_equal,
    less,
    log,
    mod,
    right_shift,
    sqrt,
    stop_gradient,
    where,
)
from adjoint.ops.publish import public
from adjoint.ops.random import Bits
from adjoint.ops.reduce import argmax
from adjoint.ops.trigonometric import cos

#: Bits of a number below 1 in each dtype; in others the sample is made in float32.
_DIGITS = {"float64": 53, "complex128": 53, "float32": 24, "float16": 11, "bfloat16": 8}


def set_seed(seed: int) -> None:
    """Start all samples anew from this seed.

    >>> import adjoint as ad
    >>> ad.set_seed(1)
    >>> a = ad.ops.randn(2)
    >>> ad.set_seed(1)
    >>> bool((ad.ops.randn(2) == a).all())
    True
    """
    _outside_graphs("set_seed")
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise ArgumentError(f"set_seed: the seed must be an integer >= 0, not {seed!r}{called_at()}")
    PROGRAM.restart(int(seed))


def get_rng_state() -> int:
    """Where the program's samples stand: an integer, for `set_rng_state`, which may be saved anywhere.

    What is sampled from here on (dropout, `ops.randn`, `shuffle()` without a seed) follows from it, in dynamic mode and in compiled functions.

    >>> import adjoint as ad
    >>> state = ad.get_rng_state()
    >>> a = ad.ops.randn(2)
    >>> ad.set_rng_state(state)
    >>> bool((ad.ops.randn(2) == a).all())
    True
    """
    _outside_graphs("get_rng_state")
    return PROGRAM.state()


def set_rng_state(state: int) -> None:
    """Let samples go on from where they stood when `get_rng_state` was called.

    >>> import adjoint as ad
    >>> state = ad.get_rng_state()
    >>> x = ad.ops.rand(3)
    >>> ad.set_rng_state(state)
    >>> bool((x == ad.ops.rand(3)).all())
    True
    """
    _outside_graphs("set_rng_state")
    if isinstance(state, bool) or not isinstance(state, (int, np.integer)) or not 0 <= state < 2**63:
        raise ArgumentError(
            f"set_rng_state: the state is what get_rng_state gave, an integer of 63 bits, not {state!r}{called_at()}"
        )
    PROGRAM.resume(int(state))


def _outside_graphs(what: str) -> None:
    if source.get() is not PROGRAM:
        raise ArgumentError(
            f"{what}: inside a function that is being compiled, where samples have no state yet and only its runs draw: call it outside{called_at()}"
        )


# ---------------------------------------------------------------- from bits to numbers


def _bits(shape: tuple[int, ...], seed: int | None, like: Any = None) -> Any:
    """64 random bits for each element and each example of a batch; with a seed, for each example only if `like` is a batch."""
    counter, around = (source.get().take(), lanes()) if seed is None else (first_counter(seed), [])
    if not isinstance(like, Value) and context.device.get() is not None:
        like = new(np.zeros((), float32))  # the samples are made there
    return card(Bits, shape)(counter, *around, *([like] if isinstance(like, Value) else []))


def _top(bits: Any, count: int) -> Any:
    """The first bits as an integer >= 0."""
    return bitwise_and(right_shift(bits, 64 - count), 2**count - 1)


def _working(dtype: Any) -> np.dtype:
    """The dtype in which a sample is made that is to have this dtype."""
    return float64 if np.dtype(dtype) in (float64, np.complex128) else float32


def _below_one(bits: Any, dtype: Any) -> Any:
    """Uniform between 0 and 1, without 1 also after rounding."""
    digits = _DIGITS.get(np.dtype(dtype).name, 24)
    work = _working(dtype)
    return cast(cast(_top(bits, digits), work) * work.type(2.0**-digits), dtype)


def _inside(bits: Any, dtype: Any) -> Any:
    """Uniform between 0 and 1, without both."""
    digits = _DIGITS[dtype.name]
    return cast(_top(bits, digits - 1) * 2 + 1, dtype) * dtype.type(2.0**-digits)


def _standard_normal(bits: Any, dtype: Any) -> Any:
    """A radius from one half of the bits and an angle from the other."""
    work = _working(dtype)
    share = cast(_top(bits, 32) * 2 + 1, work) * work.type(2.0**-33)
    angle = cast(bitwise_and(bits, 2**32 - 1), work) * work.type(2 * math.pi * 2.0**-32)
    return cast(sqrt(log(share) * work.type(-2)) * cos(angle), dtype)


def open_uniform(shape: tuple[int, ...], dtype: Any, seed: int | None = None) -> Any:
    """Uniform samples between 0 and 1, without both: their logarithms are finite."""
    work = _working(dtype)
    return wrap(cast(_inside(_bits(shape, seed), work), dtype))


def _gumbel(bits: Any, dtype: np.dtype) -> Any:
    work = _working(dtype)
    return cast(-log(-log(_inside(bits, work))), dtype)


def _shape(size: tuple[Any, ...]) -> tuple[int, ...]:
    return _size(size[0]) if len(size) == 1 else tuple(int(n) for n in size)


# ---------------------------------------------------------------- samples


def rand(*size: Any, dtype: Any = None, seed: int | None = None) -> Any:
    """Uniform samples between 0 and 1.

    >>> from adjoint import ops
    >>> ops.rand(2, 3, seed=0).shape
    (2, 3)
    """
    return wrap(_below_one(_bits(_shape(size), seed), dtype or float32))


def randn(*size: Any, dtype: Any = None, seed: int | None = None) -> Any:
    """Normal samples with mean 0 and deviation 1.

    >>> from adjoint import ops
    >>> ops.randn(2, 3, seed=0).shape
    (2, 3)
    """
    return wrap(_standard_normal(_bits(_shape(size), seed), dtype or float32))


def rand_like(input: Any, seed: int | None = None, dtype: Any = None) -> Any:
    """Uniform samples in the shape and dtype of the input.

    >>> from adjoint import ops
    >>> ops.rand_like(ops.ones((2, 3))).shape
    (2, 3)
    """
    return wrap(_below_one(_bits(shape_of(input), seed, input), dtype or dtype_of(input)))


def randn_like(input: Any, seed: int | None = None, dtype: Any = None) -> Any:
    """Normal samples in the shape and dtype of the input.

    >>> from adjoint import ops
    >>> ops.randn_like(ops.ones((2, 3))).shape
    (2, 3)
    """
    return wrap(_standard_normal(_bits(shape_of(input), seed, input), dtype or dtype_of(input)))


def randint(low: int, high: int, size: Any, seed: int | None = None, dtype: Any = None) -> Any:
    """Integers from `low` up to, without, `high`.

    >>> from adjoint import ops
    >>> bool((ops.randint(0, 2, (5,)) < 2).all())
    True
    """
    if not low < high:
        raise ArgumentError(f"randint: there is no integer from {low} up to, without, {high}{called_at()}")
    drawn = mod(_top(_bits(_size(size), seed), 63), int(high) - int(low)) + int(low)
    return wrap(cast(drawn, dtype or int64))


def randperm(n: int, seed: int | None = None, dtype: Any = None) -> Any:
    """The numbers below n in random order.

    >>> from adjoint import ops
    >>> print(ops.sort(ops.randperm(3))[0])
    [0 1 2]
    """
    return wrap(cast(argsort(_bits((n,), seed)), dtype or int64))


def normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, seed: int | None = None) -> Any:
    """Normal samples; differentiable in `mean` and `stddev`.

    >>> import adjoint as ad
    >>> print(ad.grad(lambda m: ad.ops.normal((4,), m, 1.0).sum())(0.0))
    4.0
    """
    return mean + stddev * randn(shape, seed=seed)


def uniform(shape: Any, minval: Any = 0.0, maxval: Any = 1.0, seed: int | None = None) -> Any:
    """Uniform samples between two bounds; differentiable in them.

    >>> from adjoint import ops
    >>> bool((ops.uniform((5,), 2.0, 3.0) >= 2).all())
    True
    """
    return minval + (maxval - minval) * rand(shape, seed=seed)


def exponential(shape: Any, rate: Any = 1.0, seed: int | None = None) -> Any:
    """Exponential samples; differentiable in the rate.

    >>> from adjoint import ops
    >>> bool((ops.exponential((5,)) >= 0).all())
    True
    """
    return wrap(-log(_inside(_bits(_size(shape), seed), float32))) / rate


@public(method=True)
def bernoulli(input: Any, p: Any = None, seed: int | None = None) -> Any:
    """1 with the given probability, else 0: `bernoulli(probabilities)` or `bernoulli(like, p)`. No derivative.

    >>> from adjoint import ops, Tensor
    >>> print(ops.bernoulli(Tensor([0.0, 1.0])))
    [0. 1.]
    """
    drawn = _below_one(_bits(shape_of(input), seed, input), float32)
    return wrap(cast(less(drawn, input if p is None else p), dtype_of(input)))


def gumbel(shape: Any, seed: int | None = None) -> Any:
    """Standard Gumbel samples.

    >>> from adjoint import ops
    >>> ops.gumbel((3,)).shape
    (3,)
    """
    return wrap(_gumbel(_bits(_size(shape), seed), float32))


def gumbel_softmax(logits: Any, tau: float = 1.0, hard: bool = False, axis: int = -1, seed: int | None = None) -> Any:
    """A sample of the relaxed categorical distribution; with `hard` one-hot, with the derivative of the soft one.

    >>> from adjoint import ops, Tensor
    >>> float(ops.gumbel_softmax(Tensor([0.0, 0.0]), hard=True).sum())
    1.0
    """
    from adjoint.ops.functional.activation import softmax

    noise = _gumbel(_bits(shape_of(logits), seed, logits), dtype_of(logits))
    soft = softmax((logits + noise) / tau, axis)
    if not hard:
        return soft
    chosen = one_hot(argmax(soft, axis), shape_of(soft)[axis], axis=axis, dtype=dtype_of(soft))
    return stop_gradient(chosen - soft) + soft


def multinomial(input: Any, num_samples: int, replacement: bool = True, seed: int | None = None) -> Any:
    """Positions sampled with probabilities proportional to the last axis.

    >>> from adjoint import ops, Tensor
    >>> print(ops.multinomial(Tensor([0.0, 1.0]), 3))
    [1 1 1]
    """
    from adjoint.ops.functional.selection import searchsorted

    weights = cast(input, float64)
    *rows, count = shape_of(input)
    if not replacement:
        if not 0 <= num_samples <= count:
            raise ArgumentError(f"multinomial: {num_samples} different positions of {count}{called_at()}")
        race = log(weights) + _gumbel(_bits((*rows, count), seed, input), float64)
        return wrap(argsort(race, -1, True))[..., :num_samples]
    ends = cumsum(weights, -1)
    drawn = _below_one(_bits((*rows, num_samples), seed, input), float64) * ends[..., -1:]
    return wrap(searchsorted(ends, drawn, right=True))


def shuffle(x: Any, seed: int | None = None) -> Any:
    """The slices along the first axis in random order; differentiable.

    >>> from adjoint import ops, Tensor
    >>> float(ops.shuffle(Tensor([1.0, 2.0])).sum())
    3.0
    """
    return take(x, argsort(_bits(shape_of(x)[:1], seed, x)), 0)


def dropout(input: Any, p: float = 0.5, training: bool = True, seed: int | None = None) -> Any:
    """Elements set to 0 with probability p, the others scaled by 1 / (1 - p); as they are outside of training.

    >>> from adjoint import ops, Tensor
    >>> print(ops.dropout(Tensor([1.0, 2.0]), 0.5, training=False))
    [1. 2.]
    """
    if not 0 <= p <= 1:
        raise ArgumentError(f"dropout: p must lie between 0 and 1, not {p}{called_at()}")
    if not training or p == 0:
        return views.own(input, input)
    return input * keep_mask(input, p, shape_of(input), seed)


def keep_mask(x: Any, p: float, shape: tuple[int, ...], seed: int | None = None) -> Any:
    """0 with probability p, else 1 / (1 - p): an array of this shape in the dtype of x, for each example of a batch."""
    dtype = dtype_of(x) if is_inexact(dtype_of(x)) else float32
    # Taken as integers, a share p of all bits lies below the limit.
    limit = np.int64(min(round(p * 2.0**64) - 2**63, 2**63 - 1))
    keep = greater_equal(_bits(shape, seed, x), limit)
    return wrap(where(keep, dtype.type(1 / (1 - p) if p < 1 else 0), dtype.type(0)))
