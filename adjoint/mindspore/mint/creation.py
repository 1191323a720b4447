"""Functions of mindspore.mint that make Tensors, draw samples, and others that have no axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint import ops as engine
from adjoint.core.tensor import Tensor
from adjoint.mindspore import ops


def _cast(x: Any, dtype: Any) -> Any:
    return x if dtype is None else engine.cast(x, np.dtype(dtype))


def bitwise_not(input: Any) -> Any:
    """The other bits."""
    return ~input


def clone(input: Any) -> Any:
    """A copy; the gradient passes."""
    return input + 0 if input.dtype.kind in "iuf" else input.copy()


def empty(*size: Any, dtype: Any = None, device: Any = None) -> Any:
    """A Tensor of any values: zeros."""
    return ones(*size, dtype=dtype) * 0


def empty_like(input: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """A Tensor of any values: zeros."""
    return ops.zeros_like(input, dtype=dtype)


def _sizes(size: Any) -> tuple[int, ...]:
    return tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else tuple(size)


def ones(*size: Any, dtype: Any = None) -> Any:
    """Ones."""
    return engine.ones(_sizes(size), np.dtype(np.float32 if dtype is None else dtype))


def zeros(*size: Any, dtype: Any = None) -> Any:
    """Zeros."""
    return engine.zeros(_sizes(size), np.dtype(np.float32 if dtype is None else dtype))


def ge(input: Any, other: Any) -> Any:
    """Where elements are not smaller."""
    return ops.ge(input, other)


def gcd(input: Any, other: Any) -> Any:
    """The greatest common divisors."""
    return Tensor(np.gcd(input.asnumpy(), other.asnumpy()))


def item(input: Any) -> Any:
    """The one element as a Python number."""
    return input.item()


def linspace(start: Any, end: Any, steps: int, *, dtype: Any = None) -> Any:
    """Numbers at equal distances."""
    return _cast(ops.linspace(start, end, steps), np.float32 if dtype is None else dtype)


def meshgrid(*tensors: Any, indexing: str | None = None) -> Any:
    """Coordinates of a grid, the first axis first."""
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    return ops.meshgrid(*given, indexing=indexing or "ij")


def _seeded(generator: Any) -> Any:
    """The seed of the next numbers of a generator; None takes the program's own."""
    return None if generator is None else generator.next_seed()


def multinomial(input: Any, num_samples: int, replacement: bool = False, *, generator: Any = None) -> Any:
    """Samples of indices by weights."""
    return ops.multinomial(input, num_samples, replacement, _seeded(generator))


def normal(mean: Any = 0.0, std: Any = 1.0, size: Any = None, generator: Any = None) -> Any:
    """Samples of normal distributions."""
    shape = np.broadcast_shapes(np.shape(mean), np.shape(std)) if size is None else tuple(size)
    return engine.randn(*shape, seed=_seeded(generator)) * std + mean


def rand(*size: Any, generator: Any = None, dtype: Any = None, device: Any = None) -> Any:
    """Uniform samples between 0 and 1."""
    return _cast(engine.rand(*_sizes(size), seed=_seeded(generator)), dtype)


def randn(*size: Any, generator: Any = None, dtype: Any = None, device: Any = None) -> Any:
    """Samples of the standard normal distribution."""
    return _cast(engine.randn(*_sizes(size), seed=_seeded(generator)), dtype)


def rand_like(input: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """Uniform samples in the shape of a Tensor."""
    return _cast(engine.rand(*input.shape), input.dtype if dtype is None else dtype)


def randn_like(input: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """Normal samples in the shape of a Tensor."""
    return _cast(engine.randn(*input.shape), input.dtype if dtype is None else dtype)


def randint(*args: Any, generator: Any = None, dtype: Any = None, device: Any = None) -> Any:
    """Random integers: `randint(high, size)` or `randint(low, high, size)`."""
    low, high, size = (0, *args) if len(args) == 2 else args
    return _cast(engine.randint(low, high, tuple(size), seed=_seeded(generator)), np.int64 if dtype is None else dtype)


def randint_like(input: Any, *args: Any, dtype: Any = None, device: Any = None) -> Any:
    """Random integers in the shape of a Tensor."""
    return randint(*args, input.shape, dtype=input.dtype if dtype is None else dtype)


def bernoulli(input: Any, *, generator: Any = None) -> Any:
    """Ones with these probabilities, else zeros."""
    return _cast(engine.rand(*input.shape, seed=_seeded(generator)) < input, input.dtype)


def triangular_solve(b: Any, A: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False) -> Any:
    """The solution of a triangular system, and the matrix."""
    matrix = engine.triu(A) if upper else engine.tril(A)
    if unitriangular:
        eye = engine.eye(A.shape[-1], dtype=A.dtype)
        matrix = matrix * (1 - eye) + eye
    return engine.linalg.solve(engine.swapaxes(matrix, -1, -2) if transpose else matrix, b), A


def vdot(input: Any, other: Any) -> Any:
    """The dot product, of complex numbers with the first conjugated."""
    return ops.dot(ops.conj(input) if input.dtype.kind == "c" else input, other)


__all__ = [
    name for name, x in list(vars().items()) if not name.startswith("_") and getattr(x, "__module__", "") == __name__
]
