"""Random draws from one seeded generator, or from a seed of their own.

`set_seed` makes a program repeat itself exactly. Draws with parameters (`normal`, `uniform`, `gumbel_softmax`, ...) are
differentiable in those parameters.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from adjoint.core.dispatch import Value, wrap
from adjoint.core.errors import ArgumentError, called_at
from adjoint.core.spec import dtype_of, float32, is_inexact, shape_of
from adjoint.ops.functional.creation import _size, one_hot
from adjoint.ops.functional.movement import take

_lock = threading.Lock()
_generator = np.random.Generator(np.random.Philox())


def set_seed(seed: int) -> None:
    """Start the generator of all draws anew from this seed.

    >>> import adjoint as ad
    >>> ad.set_seed(1)
    >>> a = ad.ops.randn(2)
    >>> ad.set_seed(1)
    >>> bool((ad.ops.randn(2) == a).all())
    True
    """
    global _generator
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise ArgumentError(f"set_seed: the seed must be a whole number >= 0, not {seed!r}{called_at()}")
    with _lock:
        _generator = np.random.Generator(np.random.Philox(int(seed)))


def _draw(method: str, seed: int | None, *args: Any, **options: Any) -> np.ndarray:
    if seed is not None:
        return getattr(np.random.Generator(np.random.Philox(seed)), method)(*args, **options)
    with _lock:  # a NumPy generator must not be used by two threads at once
        return getattr(_generator, method)(*args, **options)


def _shape(size: tuple[Any, ...]) -> tuple[int, ...]:
    return _size(size[0]) if len(size) == 1 else tuple(int(n) for n in size)


def rand(*size: Any, dtype: Any = None, seed: int | None = None) -> Any:
    """Uniform draws between 0 and 1.

    >>> from adjoint import ops
    >>> ops.rand(2, 3, seed=0).shape
    (2, 3)
    """
    drawn = np.asarray(_draw("random", seed, _shape(size))).astype(dtype or float32)
    one = np.ones((), drawn.dtype)
    return wrap(np.minimum(drawn, np.nextafter(one, 0 * one)))  # rounding may reach 1, which is not to be drawn


def randn(*size: Any, dtype: Any = None, seed: int | None = None) -> Any:
    """Normal draws with mean 0 and deviation 1.

    >>> from adjoint import ops
    >>> ops.randn(2, 3, seed=0).shape
    (2, 3)
    """
    return wrap(np.asarray(_draw("standard_normal", seed, _shape(size))).astype(dtype or float32))


def rand_like(input: Any, seed: int | None = None, dtype: Any = None) -> Any:
    """Uniform draws in the shape and dtype of the input.

    >>> from adjoint import ops
    >>> ops.rand_like(ops.ones((2, 3))).shape
    (2, 3)
    """
    return rand(shape_of(input), dtype=dtype or input.dtype, seed=seed)


def randn_like(input: Any, seed: int | None = None, dtype: Any = None) -> Any:
    """Normal draws in the shape and dtype of the input.

    >>> from adjoint import ops
    >>> ops.randn_like(ops.ones((2, 3))).shape
    (2, 3)
    """
    return randn(shape_of(input), dtype=dtype or input.dtype, seed=seed)


def randint(low: int, high: int, size: Any, seed: int | None = None, dtype: Any = None) -> Any:
    """Whole numbers from `low` up to, without, `high`.

    >>> from adjoint import ops
    >>> bool((ops.randint(0, 2, (5,)) < 2).all())
    True
    """
    return wrap(np.asarray(_draw("integers", seed, low, high, _size(size))).astype(dtype or np.int64))


def randperm(n: int, seed: int | None = None, dtype: Any = None) -> Any:
    """The numbers below n in random order.

    >>> from adjoint import ops
    >>> print(ops.sort(ops.randperm(3))[0])
    [0 1 2]
    """
    return wrap(_draw("permutation", seed, n).astype(dtype or np.int64))


def normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, seed: int | None = None) -> Any:
    """Normal draws; differentiable in `mean` and `stddev`.

    >>> import adjoint as ad
    >>> print(ad.grad(lambda m: ad.ops.normal((4,), m, 1.0).sum())(0.0))
    4.0
    """
    return mean + stddev * randn(shape, seed=seed)


def uniform(shape: Any, minval: Any = 0.0, maxval: Any = 1.0, seed: int | None = None) -> Any:
    """Uniform draws between two bounds; differentiable in them.

    >>> from adjoint import ops
    >>> bool((ops.uniform((5,), 2.0, 3.0) >= 2).all())
    True
    """
    return minval + (maxval - minval) * rand(shape, seed=seed)


def exponential(shape: Any, rate: Any = 1.0, seed: int | None = None) -> Any:
    """Exponential draws; differentiable in the rate.

    >>> from adjoint import ops
    >>> bool((ops.exponential((5,)) >= 0).all())
    True
    """
    return wrap(np.asarray(_draw("standard_exponential", seed, _size(shape))).astype(float32)) / rate


def bernoulli(input: Any, p: Any = None, seed: int | None = None) -> Any:
    """1 with the given probability, else 0: `bernoulli(probabilities)` or `bernoulli(like, p)`. No derivative.

    >>> from adjoint import ops, Tensor
    >>> print(ops.bernoulli(Tensor([0.0, 1.0])))
    [0. 1.]
    """
    probability = input if p is None else p
    drawn = rand(shape_of(input), seed=seed)
    return (drawn < probability).astype(input.dtype)


def gumbel(shape: Any, seed: int | None = None) -> Any:
    """Standard Gumbel draws.

    >>> from adjoint import ops
    >>> ops.gumbel((3,)).shape
    (3,)
    """
    return wrap(np.asarray(_draw("gumbel", seed, size=_size(shape))).astype(float32))


def gumbel_softmax(logits: Any, tau: float = 1.0, hard: bool = False, axis: int = -1, seed: int | None = None) -> Any:
    """A draw from the relaxed categorical distribution; with `hard` one-hot, with the derivative of the soft one.

    >>> from adjoint import ops, Tensor
    >>> float(ops.gumbel_softmax(Tensor([0.0, 0.0]), hard=True).sum())
    1.0
    """
    from adjoint.ops.functional.activation import softmax
    from adjoint.ops.functional.elementwise import stop_gradient
    from adjoint.ops.functional.reduction import argmax

    noise = gumbel(shape_of(logits), seed).astype(dtype_of(logits))
    soft = softmax((logits + noise) / tau, axis)
    if not hard:
        return soft
    chosen = one_hot(argmax(soft, axis), shape_of(soft)[axis], axis=axis, dtype=dtype_of(soft))
    return stop_gradient(chosen - soft) + soft


def multinomial(input: Any, num_samples: int, replacement: bool = True, seed: int | None = None) -> Any:
    """Positions drawn with probabilities proportional to the last axis.

    >>> from adjoint import ops, Tensor
    >>> print(ops.multinomial(Tensor([0.0, 1.0]), 3))
    [1 1 1]
    """
    weights = np.asarray(input.asnumpy() if isinstance(input, Value) else input, np.float64)
    rows = weights.reshape(-1, weights.shape[-1])
    generator = np.random.Generator(np.random.Philox(seed)) if seed is not None else None
    drawn = [_choose(row / row.sum(), num_samples, replacement, generator) for row in rows]
    return wrap(np.asarray(drawn).reshape((*weights.shape[:-1], num_samples)))


def _choose(p: np.ndarray, count: int, replacement: bool, generator: Any) -> np.ndarray:
    if generator is not None:
        return generator.choice(len(p), count, replacement, p)
    return _draw("choice", None, len(p), count, replacement, p)


def shuffle(x: Any, seed: int | None = None) -> Any:
    """The slices along the first axis in random order; differentiable.

    >>> from adjoint import ops, Tensor
    >>> float(ops.shuffle(Tensor([1.0, 2.0])).sum())
    3.0
    """
    return take(x, _draw("permutation", seed, shape_of(x)[0]), 0)


def dropout(input: Any, p: float = 0.5, training: bool = True, seed: int | None = None) -> Any:
    """Elements set to 0 with probability p, the others scaled by 1 / (1 - p); the input itself outside of training.

    >>> from adjoint import ops, Tensor
    >>> print(ops.dropout(Tensor([1.0, 2.0]), 0.5, training=False))
    [1. 2.]
    """
    if not 0 <= p <= 1:
        raise ArgumentError(f"dropout: p must lie between 0 and 1, not {p}{called_at()}")
    if not training or p == 0:
        return input
    keep = _draw("random", seed, shape_of(input)) >= p
    scale = keep / (1 - p) if p < 1 else np.zeros(shape_of(input))
    return input * (scale.astype(dtype_of(input)) if is_inexact(dtype_of(input)) else scale)
