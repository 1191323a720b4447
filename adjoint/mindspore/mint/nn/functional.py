"""mindspore.mint.nn.functional: functions of networks with PyTorch's arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint import ops as engine
from adjoint.core.parameter import Parameter
from adjoint.mindspore import ops
from adjoint.mindspore.absent import Absent as _Absent
from adjoint.mindspore.absent import fallback as _fallback
from adjoint.mindspore.mint import functions

_NAMES = """
adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d avg_pool1d
avg_pool2d avg_pool3d batch_norm binary_cross_entropy binary_cross_entropy_with_logits broadcast_to clamp conv1d
conv2d conv3d conv_transpose2d cosine_embedding_loss cross_entropy dropout dropout2d elu elu_ embedding flatten
fold gelu glu grid_sample group_norm hardshrink hardsigmoid hardswish hardtanh hardtanh_ interpolate kl_div l1_loss
layer_norm leaky_relu linear log_softmax logsigmoid max_pool2d max_unpool2d mish mse_loss nll_loss normalize
one_hot pad pixel_shuffle prelu relu relu6 relu_ selu sigmoid sigmoid_ silu smooth_l1_loss soft_margin_loss softmax
softplus softshrink tanh threshold threshold_ unfold upsample
""".split()  # noqa: SIM905
globals().update({n: x for n in _NAMES if not isinstance(x := getattr(ops, n, None), (_Absent, type(None)))})

flatten = functions.flatten


def _written(input: Any, value: Any, inplace: bool) -> Any:
    if not inplace:
        return value
    input[...] = value
    return input


def _softmax_dim(input: Any, dim: Any) -> int:
    return (0 if input.ndim in (0, 1, 3) else 1) if dim is None else dim


def softmax(input: Any, dim: Any = None, dtype: Any = None) -> Any:
    """Exponentials by their sum along an axis."""
    return functions.softmax(input, _softmax_dim(input, dim), dtype=dtype)


def log_softmax(input: Any, dim: Any = None, *, dtype: Any = None) -> Any:
    """The logarithm of the softmax."""
    x = input if dtype is None else engine.cast(input, np.dtype(dtype))
    return engine.log_softmax(x, _softmax_dim(input, dim))


def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """`input @ weight.T + bias`."""
    return ops.dense(input, weight, bias)


def _conv(fn: Any, input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    axes = weight.ndim - 2
    batched = input.ndim == weight.ndim
    x = input if batched else engine.expand_dims(input, 0)
    if isinstance(padding, str):
        y = fn(x, weight, bias, stride, padding, 0, dilation, groups)
    else:
        each = (padding,) * axes if isinstance(padding, int) else tuple(padding) * (axes if len(padding) == 1 else 1)
        widths = [(0, 0), (0, 0), *((p, p) for p in each)]
        flat = [w for pair in reversed(widths) for w in pair]
        x = engine.pad(x, flat) if any(each) else x
        y = fn(x, weight, bias, stride, "valid", 0, dilation, groups)
    return y if batched else engine.squeeze(y, 0)


def conv1d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """Convolution along one axis."""
    return _conv(engine.conv1d, input, weight, bias, _one(stride), padding, _one(dilation), groups)


def _one(x: Any) -> Any:
    return x[0] if isinstance(x, (tuple, list)) else x


def conv2d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """Convolution along two axes."""
    return _conv(engine.conv2d, input, weight, bias, stride, padding, dilation, groups)


def conv3d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """Convolution along three axes."""
    return _conv(engine.conv3d, input, weight, bias, stride, padding, dilation, groups)


def avg_pool1d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Any:
    """Means of windows."""
    step = kernel_size if stride is None else stride
    return ops.avg_pool1d(input, _one(kernel_size), _one(step), _one(padding), ceil_mode, count_include_pad)


def avg_pool2d(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: Any = None,
) -> Any:  # fmt: skip
    """Means of windows."""
    step = kernel_size if stride is None else stride
    return ops.avg_pool2d(input, kernel_size, step, padding, ceil_mode, count_include_pad, divisor_override or 0)


def avg_pool3d(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: Any = None,
) -> Any:  # fmt: skip
    """Means of windows."""
    step = kernel_size if stride is None else stride
    return ops.avg_pool3d(input, kernel_size, step, padding, ceil_mode, count_include_pad, divisor_override or 0)


def batch_norm(
    input: Any, running_mean: Any, running_var: Any, weight: Any = None, bias: Any = None, training: bool = False,
    momentum: float = 0.1, eps: float = 1e-5,
) -> Any:  # fmt: skip
    """Normalisation by the mean and variance of each channel."""
    if not training:
        return engine.batch_norm(input, running_mean, running_var, weight, bias, False, eps=eps)
    axes = tuple(a for a in range(input.ndim) if a != 1)
    if running_mean is not None:
        count = input.size // input.shape[1]
        mean, var = engine.mean(input, axes), engine.var(input, axes)
        for held, new in ((running_mean, mean), (running_var, var * count / (count - 1))):
            value = engine.stop_gradient((1 - momentum) * held + momentum * new)
            if isinstance(held, Parameter):
                held.set_data(value)
            else:
                held[...] = value
    return engine.batch_norm(input, None, None, weight, bias, True, eps=eps)


def nll_loss(input: Any, target: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean") -> Any:
    """The negative log likelihood."""
    return ops.nll_loss(input, target, weight, ignore_index, reduction)


def binary_cross_entropy_with_logits(
    input: Any, target: Any, weight: Any = None, reduction: str = "mean", pos_weight: Any = None
) -> Any:
    """The cross entropy of logits of two classes."""
    one = engine.ones_like(input)
    return engine.binary_cross_entropy_with_logits(
        input, target, one if weight is None else weight, one if pos_weight is None else pos_weight, reduction
    )


def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Zeros in place of some elements."""
    return _written(input, engine.dropout(input, p, training), inplace)


def dropout2d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Zeros in place of some channels."""
    if not training or p == 0:
        return input
    kept = engine.cast(engine.rand(*input.shape[:2]) >= p, input.dtype) / (1 - p)
    return _written(input, input * engine.reshape(kept, (*input.shape[:2], *(1,) * (input.ndim - 2))), inplace)


def elu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    """x above zero, `alpha * (exp(x) - 1)` below."""
    return _written(input, engine.elu(input, alpha), inplace)


def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Any:
    """x between two bounds."""
    return _written(input, engine.hardtanh(input, min_val, max_val), inplace)


def relu(input: Any, inplace: bool = False) -> Any:
    """x above zero, else 0."""
    return _written(input, engine.relu(input), inplace)


def relu6(input: Any, inplace: bool = False) -> Any:
    """x between 0 and 6."""
    return _written(input, ops.relu6(input), inplace)


def silu(input: Any, inplace: bool = False) -> Any:
    """`x * sigmoid(x)`."""
    return _written(input, engine.silu(input), inplace)


def threshold(input: Any, threshold: float, value: float, inplace: bool = False) -> Any:
    """x above a threshold, else a value."""
    return _written(input, ops.threshold(input, threshold, value), inplace)


def elu_(input: Any, alpha: float = 1.0) -> Any:
    """`elu`, written to the input."""
    return elu(input, alpha, True)


def hardtanh_(input: Any, min_val: float = -1, max_val: float = 1) -> Any:
    """`hardtanh`, written to the input."""
    return hardtanh(input, min_val, max_val, True)


def relu_(input: Any) -> Any:
    """`relu`, written to the input."""
    return relu(input, True)


def sigmoid_(input: Any) -> Any:
    """`sigmoid`, written to the input."""
    return _written(input, engine.sigmoid(input), True)


def threshold_(input: Any, threshold: float, value: float) -> Any:
    """`threshold`, written to the input."""
    return _written(input, ops.threshold(input, threshold, value), True)


def embedding(
    input: Any, weight: Any, padding_idx: Any = None, max_norm: Any = None, norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
) -> Any:  # fmt: skip
    """Rows of a table."""
    if max_norm is not None or scale_grad_by_freq:
        raise NotImplementedError("mint.nn.functional.embedding: max_norm and scale_grad_by_freq are not provided")
    return engine.embedding(input, weight, padding_idx)


def glu(input: Any, dim: int = -1) -> Any:
    """One half times the sigmoid of the other."""
    return ops.glu(input, dim)


def kl_div(input: Any, target: Any, reduction: str = "mean", log_target: bool = False) -> Any:
    """The Kullback-Leibler divergence of logarithms of probabilities."""
    if log_target:
        each = engine.exp(target) * (target - input)
    else:
        each = engine.where(target > 0, target * (engine.log(engine.where(target > 0, target, 1.0)) - input), 0.0)
    if reduction == "batchmean":
        return engine.sum(each) / input.shape[0]
    return each if reduction == "none" else engine.mean(each) if reduction == "mean" else engine.sum(each)


def normalize(input: Any, p: float = 2.0, dim: Any = 1, eps: float = 1e-12) -> Any:
    """Vectors of length 1."""
    return input / engine.maximum(functions.norm(input, p, dim, True), eps)


def one_hot(tensor: Any, num_classes: int = -1) -> Any:
    """Ones at the classes, zeros elsewhere."""
    depth = int(tensor.asnumpy().max()) + 1 if num_classes == -1 else num_classes
    return engine.cast(engine.one_hot(tensor, depth), np.int64)


def pad(input: Any, pad: Any, mode: str = "constant", value: Any = None) -> Any:
    """A border around a Tensor, the last axis first."""
    return ops.pad(input, pad, mode, 0.0 if value is None else value)


def pixel_shuffle(input: Any, upscale_factor: int) -> Any:
    """Channels as pixels."""
    return engine.pixel_shuffle(input, upscale_factor)


def smooth_l1_loss(input: Any, target: Any, reduction: str = "mean", beta: float = 1.0) -> Any:
    """Squares near zero, absolute values further away."""
    if beta == 0:
        return ops.l1_loss(input, target, reduction)
    return engine.smooth_l1_loss(input, target, beta, reduction)


def softplus(input: Any, beta: float = 1, threshold: float = 20) -> Any:
    """`log(1 + exp(beta * x)) / beta`, and x itself above a threshold."""
    return ops.softplus(input, beta, threshold)


def upsample(
    input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: Any = None
) -> Any:
    """An image of another size."""
    return interpolate(input, size, scale_factor, mode, align_corners)


def interpolate(
    input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: Any = None,
    recompute_scale_factor: Any = None,
) -> Any:  # fmt: skip
    """An image of another size."""
    return ops.interpolate(input, size, scale_factor, mode, align_corners)


__getattr__ = _fallback(__name__, "mint.nn.functional")
