"""Attention on XLA: cuDNN's kernel where the GPU has one for these shapes and dtypes, single steps elsewhere.

The kernel never writes the table of weights to memory. Its backward pass takes what the forward pass of the same program has
left for it, or computes that again where the two stand in different parts of a program (a loop, say).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from adjoint.backends.xla import half_layer_norm
from adjoint.backends.xla.devices import jax
from adjoint.backends.xla.failures import Tracing
from adjoint.backends.xla.lowering import lowers, run
from adjoint.core.spec import is_half
from adjoint.graph.fused import PULL, FusedPart

FAR = 20.0  # beyond it the density of gelu's derivative is 0 in float32
WIDEST = 128  # the head dimension that every GPU with the kernel takes


@lowers(FusedPart)
def part(op: FusedPart, spec: Any, tracing: Tracing, *xs: Any) -> Sequence[Any]:
    """A part of the graph by its kernel, or step by step."""
    kernel = KERNELS.get(op.kernel)
    found = kernel(op, tracing, *xs) if kernel is not None else None
    return tuple(run(op.inner, tracing, xs)) if found is None else found


def attention(op: FusedPart, tracing: Tracing, q: Any, k: Any, v: Any) -> Sequence[Any] | None:
    """The values weighted by softmax(q @ k.T * scale)."""
    if (how := implementation(tracing, op.settings[1], q, k, v)) is None:
        return None
    y, pull = jax().vjp(_function(how, op.settings, q.shape), q, k, v)
    tracing.pulls[id(q), id(k), id(v), op.settings] = pull, (q, k, v)  # which are held, so that their ids stay theirs
    return (y,)


def attention_pull(op: FusedPart, tracing: Tracing, q: Any, k: Any, v: Any, g: Any) -> Sequence[Any] | None:
    """The cotangents of q, k and v."""
    if (how := implementation(tracing, op.settings[1], q, k, v)) is None:
        return None
    pull, _ = tracing.pulls.get((id(q), id(k), id(v), op.settings), (None, None))
    if pull is None:
        pull = jax().vjp(_function(how, op.settings, q.shape), q, k, v)[1]
    return tuple(pull(g.astype(v.dtype)))


def layer_norm_pull(op: FusedPart, tracing: Tracing, x: Any, gamma: Any, beta: Any, g: Any) -> Sequence[Any]:
    """The cotangents of layer normalisation from its inputs alone: what the forward pass computes on the way is cheap, and writing it
    to memory, in float32, is not. XLA would take the two for one computation."""
    x, gamma, beta, g = jax().lax.optimization_barrier((x, gamma, beta, g))
    found = half_layer_norm.cotangents(op, x, gamma, g)
    return tuple(run(op.inner, tracing, (x, gamma, beta, g))) if found is None else found


def gelu_pull(op: FusedPart, tracing: Tracing, x: Any, g: Any) -> Sequence[Any]:
    """The cotangent of gelu by the formula of its derivative, in float32: far fewer operations than the rule of each step."""
    jnp, (approximate,) = jax().numpy, op.settings
    x, g = jax().lax.optimization_barrier((x, g))
    wide, g = x.astype(np.float32), g.astype(np.float32)
    near = jnp.clip(wide, -FAR, FAR)  # so that no square is infinite
    square = near * near
    if approximate == "tanh":  # half of 1 + tanh(u) is the logistic function of 2 u
        scale = np.float32(2 * np.sqrt(2 / np.pi))
        half = jax().lax.logistic(scale * near * (1 + np.float32(0.044715) * square))
        density = scale * half * (1 - half) * (1 + np.float32(3 * 0.044715) * square)
    else:
        half = 0.5 * (1 + jax().lax.erf(near * np.float32(np.sqrt(0.5))))
        density = jnp.exp(-0.5 * square) * np.float32(1 / np.sqrt(2 * np.pi))
    slope = half + wide * density  # at infinity a NaN, as step by step
    return ((jnp.where((g == 0) | (slope == 0), np.float32(0), g * slope)).astype(x.dtype),)


KERNELS: dict[str, Callable[..., Sequence[Any] | None]] = {
    "attention": attention,
    PULL + "attention": attention_pull,
    PULL + "gelu": gelu_pull,
    "layer_norm": half_layer_norm.normalised,
    PULL + "layer_norm": layer_norm_pull,
}


def implementation(tracing: Tracing, causal: bool, q: Any, k: Any, v: Any) -> str | None:
    """What computes attention on such arrays; None where it is done step by step."""
    same = q.dtype == k.dtype == v.dtype and q.shape[:-2] == k.shape[:-2] == v.shape[:-2]
    fits = q.shape[-1] == v.shape[-1] <= WIDEST and q.shape[-1] % 8 == 0 and (q.shape == k.shape or not causal)
    return kernel_on(tracing.platform, q.dtype) if same and fits and 0 not in (*q.shape, *k.shape) else None


def kernel_on(platform: str, dtype: Any) -> str | None:
    """What JAX calls the kernel of a platform for a dtype."""
    return "cudnn" if platform == "gpu" and is_half(dtype) else None


def _function(how: str, settings: tuple[Any, ...], shape: tuple[int, ...]) -> Callable[..., Any]:
    """Attention of (..., length, width) arrays by a function of (batch, length, heads, width) ones."""
    scale, causal = settings
    *lead, length, width = shape

    def apart(x: Any) -> Any:
        heads = lead[-1] if lead else 1
        return jax().numpy.swapaxes(x.reshape(prod(lead[:-1]), heads, *x.shape[-2:]), 1, 2)

    def attend(q: Any, k: Any, v: Any) -> Any:
        attended = jax().nn.dot_product_attention(
            apart(q), apart(k), apart(v), scale=scale, is_causal=causal, implementation=how
        )
        return jax().numpy.swapaxes(attended, 1, 2).reshape(*lead, length, width)

    return attend
