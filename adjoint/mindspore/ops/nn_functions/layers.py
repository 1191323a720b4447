"""Functions behind layers: padding, normalisation, dropout, embedding, products."""

from __future__ import annotations

from typing import Any

from adjoint import ops
from adjoint.core.spec import shape_of

__all__ = [
    "adaptive_avg_pool2d_ext", "add_layer_norm", "add_rms_norm", "batch_norm", "check_valid", "col2im", "ctc_greedy_decoder", "mse_loss_ext", "rotary_position_embedding", "bias_add", "bidense", "conv3d_transpose", "dropout", "dropout1d", "dropout2d", "dropout3d", "embedding",
    "intopk", "lrn", "mirror_pad", "pad", "pad_pairs",
]  # fmt: skip


def pad(input_x: Any, padding: Any, mode: str = "constant", value: Any = None) -> Any:
    """Elements added at the ends of the last axes: pairs from the last axis backwards."""
    widths = tuple(int(n) for n in (padding.tolist() if hasattr(padding, "tolist") else padding))
    if not widths:
        return input_x
    if mode != "constant":
        if value is not None and not (isinstance(value, (int, float)) and value == 0):
            raise ValueError(f"For 'pad', the padding mode '{mode}' can not set value, but got value {value}.")
        return ops.pad(input_x, widths, mode)
    return ops.pad(input_x, widths, mode, 0 if value is None else value)


def pad_pairs(x: Any, paddings: Any) -> Any:
    """Zeros added before and after each axis; negative numbers crop."""
    return ops.pad_widths(x, [(int(a), int(b)) for a, b in paddings])


def mirror_pad(input_x: Any, paddings: Any, mode: str) -> Any:
    """Reflections added before and after each axis: "REFLECT" without the border, "SYMMETRIC" with it."""
    if mode not in ("REFLECT", "SYMMETRIC"):
        raise ValueError(f"For 'MirrorPad', the 'mode' must be 'REFLECT' or 'SYMMETRIC', but got {mode!r}.")
    pairs = paddings.tolist() if hasattr(paddings, "tolist") else paddings
    return ops.pad_widths(input_x, [(int(a), int(b)) for a, b in pairs], mode.lower())


def bias_add(input_x: Any, bias: Any) -> Any:
    """A bias added to each channel (axis 1)."""
    return input_x + ops.reshape(bias, (*shape_of(bias), *(1,) * (len(shape_of(input_x)) - 2)))


def bidense(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Any:
    """input1 weight input2 + bias, for each output, with weights (out, in1, in2)."""
    y = ops.einsum("...i,oij,...j->...o", input1, weight, input2)
    return y if bias is None else y + bias


def conv3d_transpose(
    inputs: Any, weight: Any, pad_mode: str = "valid", padding: Any = 0, stride: Any = 1, dilation: Any = 1,
    group: int = 1, output_padding: Any = 0,
) -> Any:  # fmt: skip
    """The transpose of a convolution in 3 axes."""
    from adjoint.mindspore.ops.operations import conv_ops

    return conv_ops.conv3d_transpose(inputs, weight, pad_mode, padding, stride, dilation, group, output_padding)


def batch_norm(
    input_x: Any, running_mean: Any, running_var: Any, weight: Any, bias: Any, training: bool = False,
    momentum: float = 0.1, eps: float = 1e-5,
) -> Any:  # fmt: skip
    """An input (N, C, ...) normalised by channel; in training with the batch's statistics, which Parameters then follow."""
    from adjoint.mindspore.ops.operations.norm_ops import BatchNorm

    return BatchNorm(is_training=training, epsilon=eps, momentum=momentum)(
        input_x, weight, bias, running_mean, running_var
    )[0]


def dropout(input: Any, p: float = 0.5, training: bool = True, seed: int | None = None) -> Any:
    """In training, elements are set to 0 with probability p and the others scaled."""
    return ops.dropout(input, p, training, seed)


def _channels(what: str, x: Any, rank: int, p: float, training: bool) -> Any:
    shape = shape_of(x)
    if not 0 <= p <= 1:
        raise ValueError(f"For '{what}', the 'p' must be a number in range [0, 1], but got {p}.")
    if not training or p == 0:
        return x
    if p == 1:
        return x * 0.0
    mask = ops.dropout(ops.ones((*shape[: len(shape) - rank], *(1,) * rank), x.dtype), p, True)
    return x * mask


def dropout1d(input: Any, p: float = 0.5, training: bool = True) -> Any:
    """In training, whole channels of (N, C, L) are set to 0 with probability p and the others scaled."""
    return _channels("dropout1d", input, 1, p, training)


def dropout2d(input: Any, p: float = 0.5, training: bool = True) -> Any:
    """In training, whole channels of (N, C, H, W) are set to 0 with probability p and the others scaled."""
    return _channels("dropout2d", input, 2, p, training)


def dropout3d(input: Any, p: float = 0.5, training: bool = True) -> Any:
    """In training, whole channels of (N, C, D, H, W) are set to 0 with probability p and the others scaled."""
    return _channels("dropout3d", input, 3, p, training)


def embedding(
    input: Any, weight: Any, padding_idx: int | None = None, max_norm: float | None = None, norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
) -> Any:  # fmt: skip
    """Rows of a table at integers."""
    if max_norm is not None or scale_grad_by_freq:
        raise NotImplementedError("embedding with max_norm or scale_grad_by_freq is not provided by adjoint.mindspore")
    return ops.embedding(input, weight, padding_idx)


def intopk(x1: Any, x2: Any, k: int) -> Any:
    """Whether the score of a sample's class is among its k largest."""
    from adjoint.mindspore.ops.operations.loss_ops import in_top_k

    return in_top_k(x1, x2, k)


def lrn(
    x: Any, depth_radius: int = 5, bias: float = 1.0, alpha: float = 1.0, beta: float = 0.5,
    norm_region: str = "ACROSS_CHANNELS",
) -> Any:  # fmt: skip
    """x divided by a power of the sum of squares of its neighbours among the channels."""
    from adjoint.mindspore.ops.operations import norm_ops

    return norm_ops.lrn(x, depth_radius, bias, alpha, beta, norm_region)


def ctc_greedy_decoder(inputs: Any, sequence_length: Any, merge_repeated: bool = True) -> Any:
    """The best class of each time, without blanks and repeats."""
    from adjoint.mindspore.ops.operations import rnn_ops

    return rnn_ops.ctc_greedy_decoder(inputs, sequence_length, merge_repeated)


def adaptive_avg_pool2d_ext(input: Any, output_size: Any) -> Any:
    """The averages of nearly equal pieces of the last two axes."""
    return ops.adaptive_avg_pool2d(input, output_size)


def mse_loss_ext(input: Any, target: Any, reduction: str = "mean") -> Any:
    """The squared difference."""
    return ops.mse_loss(input, target, reduction)


def add_layer_norm(
    x1: Any, x2: Any, gamma: Any, beta: Any, epsilon: float = 1e-5, additional_output: bool = False
) -> Any:
    """Layer normalisation of a sum over the axes of gamma: the result, means, inverse deviations, and the sum."""
    total = x1 + x2
    axes = tuple(range(len(shape_of(total)) - len(shape_of(gamma)), len(shape_of(total))))
    centre = ops.mean(total, axes, keepdims=True)
    distance = total - centre
    inverse = 1.0 / ops.sqrt(ops.mean(distance * distance, axes, keepdims=True) + epsilon)
    return distance * inverse * gamma + beta, centre, inverse, total


def add_rms_norm(x1: Any, x2: Any, gamma: Any, epsilon: float = 1e-6) -> Any:
    """A sum divided by the root of its mean square, times gamma; the inverse root; and the sum."""
    total = x1 + x2
    axes = tuple(range(len(shape_of(total)) - len(shape_of(gamma)), len(shape_of(total))))
    inverse = 1.0 / ops.sqrt(ops.mean(total * total, axes, keepdims=True) + epsilon)
    return total * inverse * gamma, inverse, total


def col2im(input_x: Any, output_size: Any, kernel_size: Any, dilation: Any, padding_value: Any, stride: Any) -> Any:
    """Columns (N, C, KH * KW, windows) put back as windows of images."""
    from adjoint.mindspore.ops.operations.image_ops import Col2Im

    return Col2Im(kernel_size, dilation, padding_value, stride)(input_x, output_size)


def check_valid(bboxes: Any, img_metas: Any) -> Any:
    """Whether boxes (N, 4) lie inside of an image given as (height, width, ratio)."""
    height, width = img_metas[0] * img_metas[2] - 1, img_metas[1] * img_metas[2] - 1
    low = ops.logical_and(ops.greater_equal(bboxes[:, 0], 0), ops.greater_equal(bboxes[:, 1], 0))
    high = ops.logical_and(ops.less_equal(bboxes[:, 2], width), ops.less_equal(bboxes[:, 3], height))
    return ops.logical_and(low, high)


def rotary_position_embedding(x: Any, cos: Any, sin: Any, mode: int = 0) -> Any:
    """x cos + rotated(x) sin; pairs to rotate are halves of the last axis (mode 0) or neighbours (mode 1)."""
    if mode == 0:
        first, second = ops.split(x, shape_of(x)[-1] // 2, -1)
        return x * cos + ops.concat([-second, first], -1) * sin
    turned = ops.stack([-x[..., 1::2], x[..., ::2]], -1)
    return x * cos + ops.reshape(turned, shape_of(x)) * sin
