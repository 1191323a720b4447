"""Primitives that draw random numbers."""

from __future__ import annotations

from typing import Any

from adjoint import ops
from adjoint.core.spec import float32, int32, int64
from adjoint.mindspore.absent import elsewhere as _elsewhere
from adjoint.mindspore.ops import random_functions as _f
from adjoint.mindspore.ops.primitive import primitive
from adjoint.mindspore.ops.promotion import static


def _start(self: Any) -> int:
    """The seed of a primitive that has two."""
    return int(self.seed or self.seed2)


StandardNormal = primitive(
    "StandardNormal", lambda self, shape: _f.standard_normal(shape, _start(self)), seed=0, seed2=0
)
StandardLaplace = primitive(
    "StandardLaplace", lambda self, shape: _f.standard_laplace(shape, _start(self)), seed=0, seed2=0
)
UniformReal = primitive("UniformReal", lambda self, shape: _f.uniform(shape, 0.0, 1.0, _start(self)), seed=0, seed2=0)
UniformInt = primitive(
    "UniformInt",
    lambda self, shape, low, high: _f.uniform(shape, low, high, _start(self), int32),
    seed=0,
    seed2=0,
)
Gamma = primitive("Gamma", lambda self, shape, a, b: _f.gamma(shape, a, b, _start(self)), seed=0, seed2=0)
RandomGamma = primitive("RandomGamma", lambda self, shape, a: _f.random_gamma(shape, a, _start(self)), seed=0, seed2=0)
Poisson = primitive("Poisson", lambda self, shape, mean: _f.poisson(shape, mean, _start(self)), seed=0, seed2=0)
RandomPoisson = primitive(
    "RandomPoisson",
    lambda self, shape, rate: _f.random_poisson(shape, rate, _start(self), self.dtype),
    seed=0,
    seed2=0,
    dtype=int64,
)
Multinomial = primitive(
    "Multinomial",
    lambda self, x, n: ops.cast(_f.multinomial(x, n, True, _start(self)), self.dtype),
    seed=0,
    seed2=0,
    dtype=int32,
)
MultinomialWithReplacement = primitive(
    "MultinomialWithReplacement",
    lambda self, x, seed, offset: ops.cast(
        ops.multinomial(x, self.numsamples, self.replacement, int(static(seed)) or None), int64
    ),
    numsamples=...,
    replacement=False,
)
RandomCategorical = primitive(
    "RandomCategorical", lambda self, x, n, seed=0: _f.random_categorical(x, n, seed, self.dtype), dtype=int64
)
RandomShuffle = primitive("RandomShuffle", lambda self, x: _f.shuffle(x, _start(self)), seed=0, seed2=0)
RandomChoiceWithMask = primitive(
    "RandomChoiceWithMask", lambda self, x: _f.choice_with_mask(x, self.count, _start(self)), count=256, seed=0, seed2=0
)
RandpermV2 = primitive(
    "RandpermV2", lambda self, n: _f.randperm(n, self.seed, self.offset, self.dtype), seed=0, offset=0, dtype=int64
)
Bernoulli = primitive("Bernoulli", lambda self, x, p: _f.bernoulli(x, p, self.seed), seed=-1, offset=0)
TruncatedNormal = primitive(
    "TruncatedNormal",
    lambda self, shape: _f.truncated_normal(shape, _start(self), self.dtype),
    dtype=float32,
    seed=0,
    seed2=0,
)
Cauchy = primitive(
    "Cauchy", lambda self: _f.cauchy(self.size, self.median, self.sigma), size=..., median=0.0, sigma=1.0
)

__all__ = [name for name, value in globals().items() if getattr(value, "__module__", "") == "mindspore.ops.operations"]

__getattr__ = _elsewhere(__name__, "adjoint.mindspore.ops.operations")
