"""mindspore.mint.nn: layers with PyTorch's names and arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.core.tensor import Tensor
from adjoint.mindspore import nn as _nn
from adjoint.mindspore.absent import Absent as _Absent
from adjoint.mindspore.absent import fallback as _fallback
from adjoint.mindspore.absent import public_names as _public_names
from adjoint.mindspore.common.initializer import initializer as _initializer
from adjoint.mindspore.common.parameter import Parameter
from adjoint.mindspore.mint.nn import functional as functional
from adjoint.mindspore.nn.cell import Cell
from adjoint.nn.initializer import HeUniform, Uniform

_names = [n for n in sorted(_public_names()["mint.nn"]) if hasattr(_nn, n)]
globals().update({n: getattr(_nn, n) for n in _names if not isinstance(getattr(_nn, n), _Absent)})


def _layer(name: str, fn: Callable[..., Any], inputs: int = 1, **defaults: Any) -> type:
    """A Cell without Parameters: a function of its first arguments, the others given once."""
    chosen = list(inspect.signature(fn).parameters)[inputs:]
    known = {**{n: p.default for n, p in inspect.signature(fn).parameters.items() if n in chosen}, **defaults}
    order = [*defaults, *(n for n in known if n not in defaults)]

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        Cell.__init__(self)
        given = {**dict(zip(order, args, strict=False)), **kwargs}
        if unknown := set(given) - set(order):
            raise TypeError(f"{name} has no argument {sorted(unknown)}")
        missing = [n for n in order if n not in given and known[n] is inspect.Parameter.empty]
        if missing:
            raise TypeError(f"{name} needs the argument {missing[0]!r}")
        self.settings = {n: given.get(n, known[n]) for n in order}

    def construct(self: Any, *xs: Any) -> Any:
        return fn(*xs, **self.settings)

    return type(name, (Cell,), {"__init__": __init__, "construct": construct, "__doc__": f"mindspore.mint.nn.{name}."})


F = functional
AvgPool1d, AvgPool2d, AvgPool3d = (_layer(f"AvgPool{k}d", getattr(F, f"avg_pool{k}d")) for k in (1, 2, 3))
MaxPool2d = _layer("MaxPool2d", F.max_pool2d)
ELU, Hardtanh, ReLU6, SiLU = (_layer(n, getattr(F, n.lower())) for n in ("ELU", "Hardtanh", "ReLU6", "SiLU"))
GELU, GLU, Hardshrink, Softshrink = (
    _layer(n, getattr(F, n.lower())) for n in ("GELU", "GLU", "Hardshrink", "Softshrink")
)
Hardsigmoid, Hardswish, SELU = (_layer(n, getattr(F, n.lower())) for n in ("Hardsigmoid", "Hardswish", "SELU"))
Softmax, LogSoftmax = _layer("Softmax", F.softmax), _layer("LogSoftmax", F.log_softmax)
Threshold = _layer("Threshold", F.threshold)
Flatten = _layer("Flatten", F.flatten, start_dim=1, end_dim=-1)
Fold, Unfold, PixelShuffle = _layer("Fold", F.fold), _layer("Unfold", F.unfold), _layer("PixelShuffle", F.pixel_shuffle)
Upsample = _layer("Upsample", F.interpolate)
UpsamplingNearest2d = _layer(
    "UpsamplingNearest2d", lambda x, size=None, scale_factor=None: F.interpolate(x, size, scale_factor)
)
UpsamplingBilinear2d = _layer(
    "UpsamplingBilinear2d",
    lambda x, size=None, scale_factor=None: F.interpolate(x, size, scale_factor, "bilinear", True),
)
BCELoss = _layer("BCELoss", F.binary_cross_entropy, 2)
BCEWithLogitsLoss = _layer(
    "BCEWithLogitsLoss", F.binary_cross_entropy_with_logits, 2, weight=None, reduction="mean", pos_weight=None
)
CrossEntropyLoss = _layer("CrossEntropyLoss", F.cross_entropy, 2)
KLDivLoss, L1Loss, MSELoss = (
    _layer(n, f, 2) for n, f in (("KLDivLoss", F.kl_div), ("L1Loss", F.l1_loss), ("MSELoss", F.mse_loss))
)
NLLLoss, SmoothL1Loss = _layer("NLLLoss", F.nll_loss, 2), _layer("SmoothL1Loss", F.smooth_l1_loss, 2)
SoftMarginLoss = _layer("SoftMarginLoss", F.soft_margin_loss, 2)
ZeroPad1d, ZeroPad2d, ZeroPad3d = (
    _layer(
        f"ZeroPad{k}d",
        lambda x, padding, k=k: F.pad(x, (padding,) * 2 * k if isinstance(padding, int) else padding),
        padding=inspect.Parameter.empty,
    )
    for k in (1, 2, 3)
)


class Dropout(Cell):
    """Zeros in place of some elements, in training."""

    _fn = staticmethod(functional.dropout)

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        self.p, self.inplace = p, inplace

    def construct(self, x: Any) -> Any:
        return self._fn(x, self.p, self.training, self.inplace)


class Dropout2d(Dropout):
    """Zeros in place of some channels, in training."""

    _fn = staticmethod(functional.dropout2d)


def _made(init: Any, shape: Any, dtype: Any) -> Any:
    return _initializer(init, shape, np.dtype(np.float32 if dtype is None else dtype))


class Linear(Cell):
    """`x @ weight.T + bias`."""

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, weight_init: Any = None, bias_init: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        weight = HeUniform(np.sqrt(5)) if weight_init is None else weight_init
        self.weight = Parameter(_made(weight, (out_features, in_features), dtype), name="weight")
        self.bias: Any = None
        if bias:
            start = Uniform(1 / np.sqrt(in_features)) if bias_init is None else bias_init
            self.bias = Parameter(_made(start, (out_features,), dtype), name="bias")

    def construct(self, input: Any) -> Any:
        return functional.linear(input, self.weight, self.bias)


def _weight_and_bias(shape: tuple[int, ...], outputs: int | None, dtype: Any) -> tuple[Any, Any]:
    """The first values of a layer's Parameters; no bias without a number of outputs."""
    weight = Parameter(_made(HeUniform(np.sqrt(5)), shape, dtype), name="weight")
    if outputs is None:
        return weight, None
    return weight, Parameter(_made(Uniform(1 / np.sqrt(int(np.prod(shape[1:])))), (outputs,), dtype), name="bias")


class _Conv(Cell):
    _axes = 2

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
        groups: int = 1, bias: bool = True, padding_mode: str = "zeros", dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if padding_mode not in ("zeros", "reflect", "replicate", "circular"):
            raise ValueError(f"padding_mode must be zeros, reflect, replicate or circular, not {padding_mode!r}")
        if padding_mode != "zeros":
            raise NotImplementedError(f"mint.nn.Conv{self._axes}d: padding_mode {padding_mode!r} is not provided")
        self.stride, self.padding, self.dilation, self.groups = stride, padding, dilation, groups
        sizes = (kernel_size,) * self._axes if isinstance(kernel_size, int) else tuple(kernel_size)
        shape = (out_channels, in_channels // groups, *sizes)
        self.weight, self.bias = _weight_and_bias(shape, out_channels if bias else None, dtype)

    def construct(self, input: Any) -> Any:
        fn = getattr(functional, f"conv{self._axes}d")
        return fn(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


class Conv1d(_Conv):
    """Convolution along one axis."""

    _axes = 1


class Conv2d(_Conv):
    """Convolution along two axes."""


class Conv3d(_Conv):
    """Convolution along three axes."""

    _axes = 3


class ConvTranspose2d(Cell):
    """The transpose of a convolution along two axes.

    >>> ConvTranspose2d(2, 3, 2, stride=2)(Tensor(np.ones((1, 2, 3, 3), np.float32))).shape
    (1, 3, 6, 6)
    """

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        output_padding: Any = 0, groups: int = 1, bias: bool = True, dilation: Any = 1, padding_mode: str = "zeros",
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if padding_mode != "zeros":
            raise ValueError(f"mint.nn.ConvTranspose2d: padding_mode must be 'zeros', not {padding_mode!r}")
        self.settings = (stride, padding, output_padding, groups, dilation)
        sizes = (kernel_size,) * 2 if isinstance(kernel_size, int) else tuple(kernel_size)
        shape = (in_channels, out_channels // groups, *sizes)
        self.weight, self.bias = _weight_and_bias(shape, out_channels if bias else None, dtype)

    def construct(self, input: Any) -> Any:
        return functional.conv_transpose2d(input, self.weight, self.bias, *self.settings)


class _BatchNorm(Cell):
    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = True,
        track_running_stats: bool = True, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.eps, self.momentum = eps, momentum
        self.weight: Any = None
        self.bias: Any = None
        self.running_mean: Any = None
        self.running_var: Any = None
        if affine:
            self.weight = Parameter(_made("ones", (num_features,), dtype), name="weight")
            self.bias = Parameter(_made("zeros", (num_features,), dtype), name="bias")
        if track_running_stats:
            self.running_mean = Parameter(_made("zeros", (num_features,), dtype), "running_mean", False)
            self.running_var = Parameter(_made("ones", (num_features,), dtype), "running_var", False)
            self.num_batches_tracked = Parameter(Tensor(0), "num_batches_tracked", False)

    def construct(self, input: Any) -> Any:
        training = self.training or self.running_mean is None
        return functional.batch_norm(
            input, self.running_mean, self.running_var, self.weight, self.bias, training, self.momentum, self.eps
        )


class BatchNorm1d(_BatchNorm):
    """Normalisation of each channel over the batch."""


class BatchNorm2d(_BatchNorm):
    """Normalisation of each channel over the batch."""


class BatchNorm3d(_BatchNorm):
    """Normalisation of each channel over the batch."""


class LayerNorm(Cell):
    """Normalisation over the last axes."""

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps = eps
        self.weight: Any = None
        self.bias: Any = None
        if elementwise_affine:
            self.weight = Parameter(_made("ones", self.shape, dtype), name="weight")
            if bias:
                self.bias = Parameter(_made("zeros", self.shape, dtype), name="bias")

    def construct(self, input: Any) -> Any:
        return functional.layer_norm(input, self.shape, self.weight, self.bias, self.eps)


class GroupNorm(Cell):
    """Normalisation of groups of channels."""

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, dtype: Any = None
    ) -> None:
        super().__init__()
        self.num_groups, self.eps = num_groups, eps
        self.weight = Parameter(_made("ones", (num_channels,), dtype), "weight", affine)
        self.bias = Parameter(_made("zeros", (num_channels,), dtype), "bias", affine)

    def construct(self, input: Any) -> Any:
        return functional.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)


class Embedding(Cell):
    """Rows of a table."""

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: Any = None, max_norm: Any = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False, _weight: Any = None,
        _freeze: bool = False, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if max_norm is not None or scale_grad_by_freq or sparse:
            raise NotImplementedError("mint.nn.Embedding: max_norm, scale_grad_by_freq and sparse are not provided")
        table = _made("normal", (num_embeddings, embedding_dim), dtype) if _weight is None else _weight
        self.weight = Parameter(table, "weight", not _freeze)
        self.padding_idx = padding_idx

    def construct(self, input: Any) -> Any:
        return functional.embedding(input, self.weight, self.padding_idx)


class PReLU(Cell):
    """x above zero, a trained factor of it below."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25, dtype: Any = None) -> None:
        super().__init__()
        self.weight = Parameter(_made(init, (num_parameters,), dtype), name="weight")

    def construct(self, input: Any) -> Any:
        return functional.prelu(input, self.weight)


__getattr__ = _fallback(__name__, "mint.nn")
