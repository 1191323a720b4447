"""Random numbers, with MindSpore's arguments: shapes, dtypes and seeds are its own, the numbers are the engine's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from adjoint import ops as _ops
from adjoint.core.errors import ArgumentTypeError
from adjoint.core.spec import float32, int32, int64
from adjoint.mindspore.ops.promotion import in_float, listed, sizes, static, tensor, to_dtype


def _seed(seed: Any) -> int | None:
    """A seed of 0 or -1 is none."""
    return None if seed in (None, 0, -1) else int(seed)


def standard_normal(shape: Any, seed: Any = None) -> Any:
    """Normal numbers of mean 0 and variance 1."""
    return _ops.randn(*sizes(shape), seed=_seed(seed))


def normal(shape: Any, mean: Any, stddev: Any, seed: Any = None) -> Any:
    """Normal numbers; the shape goes before that of the mean and the deviation."""
    mean, stddev = in_float(mean), in_float(stddev)
    common = np.broadcast_shapes(tuple(mean.shape), tuple(stddev.shape))
    want = sizes(shape)
    if want[len(want) - len(common) :] != common:
        want = np.broadcast_shapes(want, common)
    return mean + stddev * _ops.randn(*want, seed=_seed(seed))


def uniform(shape: Any, minval: Any, maxval: Any, seed: Any = None, dtype: Any = float32) -> Any:
    """Uniform numbers between two bounds."""
    low, high, want = tensor(minval), tensor(maxval), sizes(shape)
    drawn = _ops.rand(*np.broadcast_shapes(want, tuple(low.shape), tuple(high.shape)), seed=_seed(seed))
    if np.dtype(dtype).kind in "iu":
        return _ops.cast(_ops.floor(low + drawn * (high - low)), dtype)
    return to_dtype(low + drawn * (high - low), dtype)


def standard_laplace(shape: Any, seed: Any = None) -> Any:
    """Numbers of Laplace's distribution with mean 0 and scale 1."""
    drawn = _ops.rand(*sizes(shape), seed=_seed(seed)) - 0.5
    return -_ops.sign(drawn) * _ops.log1p(-2 * _ops.abs(drawn))


def laplace(shape: Any, mean: Any, lambda_param: Any, seed: Any = None) -> Any:
    """Numbers of Laplace's distribution."""
    mean, scale = tensor(mean), tensor(lambda_param)
    want = np.broadcast_shapes(sizes(shape), tuple(mean.shape), tuple(scale.shape))
    return mean + scale * standard_laplace(want, seed)


def _generator(seed: Any) -> np.random.Generator:
    """NumPy's generator, started by the engine's numbers."""
    start = int(_ops.randint(0, 2**31 - 1, (1,), seed=_seed(seed)).asnumpy()[0])
    return np.random.default_rng(start)


def gamma(shape: Any, alpha: Any, beta: Any, seed: Any = None) -> Any:
    """Numbers of the gamma distribution of these shapes and rates; without a derivative."""
    a, b = (in_float(x).asnumpy() for x in (alpha, beta))
    want = (*sizes(shape), *np.broadcast_shapes(a.shape, b.shape))
    return tensor((_generator(seed).gamma(a, 1.0, want) / b).astype(np.float32))


def random_gamma(shape: Any, alpha: Any, seed: Any = None) -> Any:
    """Numbers of the gamma distribution of these shapes; without a derivative."""
    a = in_float(alpha)
    drawn = _generator(seed).gamma(a.asnumpy(), 1.0, (*sizes(shape), *a.shape))
    return tensor(drawn.astype(a.dtype))


def poisson(shape: Any, mean: Any, seed: Any = None) -> Any:
    """Numbers of Poisson's distribution; without a derivative."""
    m = in_float(mean).asnumpy()
    return tensor(_generator(seed).poisson(m, np.broadcast_shapes(sizes(shape), m.shape)).astype(np.int32))


def random_poisson(shape: Any, rate: Any, seed: Any = None, dtype: Any = float32) -> Any:
    """Numbers of Poisson's distribution of these rates; without a derivative."""
    r = tensor(rate)
    return tensor(_generator(seed).poisson(r.asnumpy(), (*sizes(shape), *r.shape)).astype(dtype))


def randperm(n: Any, seed: Any = 0, offset: Any = 0, dtype: Any = int64) -> Any:
    """The numbers below n in random order."""
    return _ops.randperm(int(static(n)), _seed(seed), dtype)


def randint(low: Any, high: Any, size: Any, seed: Any = None, *, dtype: Any = None) -> Any:
    """Integers from low up to, without, high."""
    if not all(isinstance(v, int) for v in (static(low), static(high))):
        raise ArgumentTypeError(f"randint: low and high must be integers, not {low!r} and {high!r}")
    return _ops.randint(static(low), static(high), sizes(size), _seed(seed), dtype)


def randint_like(input: Any, low: Any, high: Any, seed: Any = None, *, dtype: Any = None) -> Any:
    """Integers from low up to, without, high, of the shape of another Tensor."""
    return _ops.randint(low, high, input.shape, _seed(seed), dtype or input.dtype)


def rand(*size: Any, dtype: Any = None, seed: Any = None) -> Any:
    """Uniform numbers between 0 and 1."""
    return _ops.rand(*_flat(size), dtype=dtype, seed=_seed(seed))


def randn(*size: Any, dtype: Any = None, seed: Any = None) -> Any:
    """Normal numbers of mean 0 and variance 1."""
    return _ops.randn(*_flat(size), dtype=dtype, seed=_seed(seed))


def _flat(size: tuple[Any, ...]) -> tuple[int, ...]:
    return sizes(size[0]) if len(size) == 1 else sizes(size)


def rand_like(input: Any, seed: Any = None, *, dtype: Any = None) -> Any:
    """Uniform numbers between 0 and 1, of the shape of another Tensor."""
    return _ops.rand_like(input, _seed(seed), dtype)


def randn_like(input: Any, seed: Any = None, *, dtype: Any = None) -> Any:
    """Normal numbers, of the shape of another Tensor."""
    return _ops.randn_like(input, _seed(seed), dtype)


def bernoulli(input: Any, p: Any = 0.5, seed: Any = None) -> Any:
    """1 with a probability, else 0, of the shape and dtype of another Tensor."""
    return _ops.bernoulli(input, p, _seed(seed))


def multinomial(input: Any, num_samples: Any, replacement: bool = True, seed: Any = None) -> Any:
    """Places sampled with probabilities proportional to the last axis."""
    return _ops.cast(_ops.multinomial(in_float(input), int(static(num_samples)), replacement, _seed(seed)), int32)


def random_categorical(logits: Any, num_sample: Any, seed: Any = 0, dtype: Any = int64) -> Any:
    """Places sampled with probabilities proportional to the exponentials of the last axis."""
    weights = _ops.softmax(in_float(logits), -1)
    return _ops.cast(_ops.multinomial(weights, int(static(num_sample)), True, _seed(static(seed))), dtype)


def shuffle(x: Any, seed: Any = None) -> Any:
    """The slices along the first axis in random order."""
    return _ops.shuffle(x, _seed(seed))


def choice_with_mask(input_x: Any, count: int = 256, seed: Any = None) -> tuple[Any, Any]:
    """Places at which a mask is true, chosen at random, and which of them are real: the rest is filled up with 0."""
    found = np.argwhere(input_x.asnumpy())
    chosen = _generator(seed).permutation(found)[:count]
    index = np.zeros((count, found.shape[1]), np.int32)
    index[: len(chosen)] = chosen
    return tensor(index), tensor(np.arange(count) < len(chosen))


def truncated_normal(shape: Any, seed: Any = None, dtype: Any = float32) -> Any:
    """Normal numbers no further than 2 from 0."""
    inside = math.erf(math.sqrt(2))
    drawn = _ops.rand(*sizes(shape), seed=_seed(seed), dtype=np.float64)
    return _ops.cast(math.sqrt(2) * _ops.erfinv(inside * (2 * drawn - 1)), dtype)


def cauchy(shape: Any, median: float = 0.0, sigma: float = 1.0, seed: Any = None) -> Any:
    """Numbers of Cauchy's distribution."""
    return median + sigma * _ops.tan(math.pi * (_ops.rand(*sizes(shape), seed=_seed(seed)) - 0.5))


__all__ = listed(globals())
