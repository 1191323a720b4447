"""Fully connected layers, tables of vectors, dropout, and changes of shape."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from adjoint import ops
from adjoint.core import tree, views
from adjoint.core.errors import ArgumentError, ArgumentTypeError, ShapeError, called_at
from adjoint.core.parameter import Parameter
from adjoint.core.spec import dtype_of, float32, shape_of
from adjoint.nn import layer_state
from adjoint.nn.activation import activation_of
from adjoint.nn.cell import Cell
from adjoint.nn.initializer import HeUniform, Uniform, fans, initializer


def weight_and_bias(
    shape: tuple[int, ...], out: int, weight_init: Any, bias_init: Any, has_bias: bool, dtype: Any
) -> tuple[Parameter, Parameter | None]:
    """The Parameters of a layer; by default uniform samples between ±1 / sqrt(fan_in)."""
    weight = Parameter(initializer(HeUniform(math.sqrt(5)) if weight_init is None else weight_init, shape, dtype))
    if not has_bias:
        return weight, None
    if bias_init is None:
        bias_init = Uniform(1 / math.sqrt(fans(shape)[0]))
    return weight, Parameter(initializer(bias_init, (out,), dtype))


def positive(what: str, **sizes: int) -> None:
    """Refuse sizes that are not integers above 0."""
    for name, size in sizes.items():
        if isinstance(size, bool) or not isinstance(size, int):
            raise ArgumentTypeError(f"{what}: {name} must be an integer above 0, not {size!r}{called_at()}")
        if size < 1:
            raise ArgumentError(f"{what}: {name} must be an integer above 0, not {size!r}{called_at()}")


def channels_last(what: str, data_format: str | None, rank: int) -> bool:
    """Whether the layout is (N, *space, C) rather than (N, C, *space)."""
    known = ("NCDHW", "NDHWC") if rank == 3 else ("NCHW", "NHWC")
    if data_format not in (None, *known):
        raise ArgumentError(
            f"{what}: data_format must be {known[0]!r} or {known[1]!r}, not {data_format!r}{called_at()}"
        )
    return data_format == known[1]


def with_channels_first(layer: Callable[[Any], Any], x: Any, rank: int) -> Any:
    """A layer of (N, C, *space), or of a single sample (C, *space), on an input whose channels are the last axis."""
    front = -rank - 1
    return tree.map(lambda y: ops.moveaxis(y, front, -1), layer(ops.moveaxis(x, -1, front)))


class Dense(Cell):
    """x @ weight.T + bias, then an activation, given by name or as a Cell. The weight has the shape (out, in).

    >>> import adjoint as ad
    >>> layer = ad.nn.Dense(3, 2, weight_init="ones", bias_init="zeros", activation="relu")
    >>> print(layer(ad.Tensor([[1.0, 2.0, 3.0]])))
    [[6. 6.]]
    """

    def __init__(
        self, in_channels: int, out_channels: int, weight_init: Any = None, bias_init: Any = None,
        has_bias: bool = True, activation: Any = None, dtype: Any = float32,
    ) -> None:  # fmt: skip
        super().__init__()
        positive("Dense", in_channels=in_channels, out_channels=out_channels)
        self.in_channels, self.out_channels, self.has_bias = in_channels, out_channels, has_bias
        self.weight, self.bias = weight_and_bias(
            (out_channels, in_channels), out_channels, weight_init, bias_init, has_bias, dtype
        )
        self.activation = activation_of("Dense", activation)

    def construct(self, x: Any) -> Any:
        if not shape_of(x) or shape_of(x)[-1] != self.in_channels:
            raise ShapeError(
                f"Dense: the last axis must have {self.in_channels} elements, but the shape is {shape_of(x)}{called_at()}"
            )
        y = x @ self.weight.T
        y = y if self.bias is None else y + self.bias
        return y if self.activation is None else self.activation(y)

    def extra_repr(self) -> str:
        return f"in_channels={self.in_channels}, out_channels={self.out_channels}, has_bias={self.has_bias}"


class Embedding(Cell):
    """A vector for each integer below `vocab_size`: rows of `embedding_table`, which are trained.

    The row `padding_idx` begins as zeros and gets no gradient. `use_one_hot` computes by a product instead of a look-up.

    >>> import adjoint as ad
    >>> ad.nn.Embedding(10, 4)(ad.Tensor([[1, 2, 3]])).shape
    (1, 3, 4)
    """

    def __init__(
        self, vocab_size: int, embedding_size: int, use_one_hot: bool = False, embedding_table: Any = "normal",
        dtype: Any = float32, padding_idx: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        positive("Embedding", vocab_size=vocab_size, embedding_size=embedding_size)
        self.vocab_size, self.embedding_size, self.use_one_hot = vocab_size, embedding_size, use_one_hot
        if padding_idx is not None and not 0 <= padding_idx < vocab_size:
            raise ArgumentError(
                f"Embedding: padding_idx {padding_idx} is not one of 0 to {vocab_size - 1}{called_at()}"
            )
        self.padding_idx = padding_idx
        table = initializer(embedding_table, (vocab_size, embedding_size), dtype).asnumpy()
        if padding_idx is not None:
            table[padding_idx] = 0
        self.embedding_table = Parameter(table)

    def construct(self, ids: Any) -> Any:
        if self.use_one_hot and self.padding_idx is None:
            return ops.one_hot(ids, self.vocab_size, dtype=dtype_of(self.embedding_table)) @ self.embedding_table
        return ops.embedding(ids, self.embedding_table, self.padding_idx)

    def extra_repr(self) -> str:
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"vocab_size={self.vocab_size}, embedding_size={self.embedding_size}{padding}"


class Flatten(Cell):
    """The axes from `start_dim` to `end_dim` as one.

    >>> import adjoint as ad
    >>> ad.nn.Flatten()(ad.ops.ones((2, 3, 4))).shape
    (2, 12)
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def construct(self, x: Any) -> Any:
        shape = shape_of(x)
        n = len(shape)
        start, end = (d + n if d < 0 else d for d in (self.start_dim, self.end_dim))
        if not 0 <= start <= end < max(n, 1):
            raise ShapeError(
                f"Flatten: the axes {self.start_dim} to {self.end_dim} are not there in the shape {shape}{called_at()}"
            )
        return ops.reshape(x, (*shape[:start], math.prod(shape[start : end + 1]), *shape[end + 1 :]))

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Cell):
    """One axis as several of the given sizes.

    >>> import adjoint as ad
    >>> ad.nn.Unflatten(1, (2, 3))(ad.ops.ones((4, 6))).shape
    (4, 2, 3)
    """

    def __init__(self, axis: int, unflattened_size: tuple[int, ...]) -> None:
        super().__init__()
        self.axis, self.unflattened_size = axis, tuple(unflattened_size)

    def construct(self, x: Any) -> Any:
        shape = shape_of(x)
        axis = self.axis % len(shape)
        return ops.reshape(x, (*shape[:axis], *self.unflattened_size, *shape[axis + 1 :]))

    def extra_repr(self) -> str:
        return f"axis={self.axis}, unflattened_size={self.unflattened_size}"


class Dropout(Cell):
    """In training, elements are set to 0 with probability p and the others scaled by 1 / (1 - p); else the input itself.

    The mask is sampled anew at each call, from the generator that `ad.set_seed` starts, also in a compiled graph.
    `keep_prob` is the older way to say 1 - p (0.5 if neither is given).

    >>> import adjoint as ad
    >>> print(ad.nn.Dropout(p=0.5)(ad.Tensor([1.0, 2.0])))
    [1. 2.]
    """

    def __init__(self, keep_prob: float | None = None, p: float | None = None) -> None:
        super().__init__()
        if keep_prob is not None and p is not None:
            raise ArgumentError(f"Dropout: keep_prob is 1 - p: give one of them{called_at()}")
        keep_prob = 0.5 if keep_prob is None else keep_prob
        if p is None and not 0 < keep_prob <= 1:
            raise ArgumentError(f"Dropout: keep_prob must lie above 0 and up to 1, not {keep_prob}{called_at()}")
        if p is not None and not 0 <= p < 1:
            raise ArgumentError(f"Dropout: p must lie from 0 to below 1, not {p}{called_at()}")
        self.p = 1 - keep_prob if p is None else p

    def construct(self, x: Any) -> Any:
        if not self.training or self.p == 0:
            return views.own(x, x)
        return x * layer_state.keep_mask(x, self.p, shape_of(x))

    def extra_repr(self) -> str:
        return f"p={self.p}"


class _ChannelDropout(Cell):
    """Dropout of whole channels of (N, C, *space)."""

    rank: int

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ArgumentError(f"{type(self).__name__}: p must lie between 0 and 1, not {p}{called_at()}")
        self.p = p

    def construct(self, x: Any) -> Any:
        shape = shape_of(x)
        if len(shape) not in (self.rank + 1, self.rank + 2):
            raise ShapeError(
                f"{type(self).__name__}: an input of {self.rank + 2} axes (or {self.rank + 1} for a single sample) is "
                f"needed, not the shape {shape}{called_at()}"
            )
        if not self.training or self.p == 0:
            return views.own(x, x)
        return x * layer_state.keep_mask(x, self.p, (*shape[: -self.rank], *(1,) * self.rank))

    def extra_repr(self) -> str:
        return f"p={self.p}"


class Dropout1d(_ChannelDropout):
    """Dropout of whole channels of (N, C, L).

    >>> import adjoint as ad
    >>> ad.nn.Dropout1d(0.5).set_train()(ad.ops.ones((2, 3, 4))).shape
    (2, 3, 4)
    """

    rank = 1


class Dropout2d(_ChannelDropout):
    """Dropout of whole channels of (N, C, H, W).

    >>> import adjoint as ad
    >>> ad.nn.Dropout2d(0.5).set_train()(ad.ops.ones((2, 3, 4, 4))).shape
    (2, 3, 4, 4)
    """

    rank = 2


class Dropout3d(_ChannelDropout):
    """Dropout of whole channels of (N, C, D, H, W).

    >>> import adjoint as ad
    >>> ad.nn.Dropout3d(0.5).set_train()(ad.ops.ones((2, 3, 4, 4, 4))).shape
    (2, 3, 4, 4, 4)
    """

    rank = 3
