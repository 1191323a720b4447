"""mindspore.ops.operations._grad_ops: derivatives of primitives as primitives, each the engine's own derivative of the primitive."""

from __future__ import annotations

from inspect import Parameter
from typing import Any

from adjoint import ops
from adjoint.core.spec import shape_of
from adjoint.mindspore.absent import Absent
from adjoint.mindspore.ops import nn_functions as F
from adjoint.mindspore.ops.nn_functions.resizing import whole_sizes
from adjoint.mindspore.ops.operations import conv_ops, loss_ops, norm_ops, pool_ops
from adjoint.mindspore.ops.operations.pulled_ops import *  # noqa: F403
from adjoint.mindspore.ops.operations.pulled_ops import pulled
from adjoint.mindspore.ops.primitive import Primitive as Primitive
from adjoint.mindspore.ops.primitive import PrimitiveWithInfer as PrimitiveWithInfer
from adjoint.mindspore.ops.primitive import primitive

REQUIRED: Any = Parameter.empty
POOL: dict[str, Any] = {"kernel_size": 1, "strides": 1, "pad_mode": "VALID", "data_format": "NCHW"}


# ---------------------------------------------------------------- elementary functions, by their inputs or their results

AbsGrad = primitive("AbsGrad", lambda self, x, dout: dout * ops.sign(x))
ACosGrad = primitive("ACosGrad", lambda self, x, dout: pulled(ops.acos, dout, x))
AsinGrad = primitive("AsinGrad", lambda self, x, dout: pulled(ops.asin, dout, x))
AtanGrad = primitive("AtanGrad", lambda self, x, dout: pulled(ops.atan, dout, x))
AcoshGrad = primitive("AcoshGrad", lambda self, out, dout: dout / ops.sinh(out))
AsinhGrad = primitive("AsinhGrad", lambda self, out, dout: dout / ops.cosh(out))
SqrtGrad = primitive("SqrtGrad", lambda self, y, dy: dy / (2 * y))
RsqrtGrad = primitive("RsqrtGrad", lambda self, y, dy: dy * y * y * y * -0.5)
ReciprocalGrad = primitive("ReciprocalGrad", lambda self, y, dy: -dy * y * y)
InvGrad = primitive("InvGrad", lambda self, y, dy: -dy * y * y)
SigmoidGrad = primitive("SigmoidGrad", lambda self, y, dy: dy * y * (1 - y))
TanhGrad = primitive("TanhGrad", lambda self, y, dy: dy * (1 - y * y))
ReluGrad = primitive("ReluGrad", lambda self, y_backprop, x: ops.where(ops.greater(x, 0), y_backprop, 0))
ReLU6Grad = primitive("ReLU6Grad", lambda self, y_backprop, x: pulled(ops.relu6, y_backprop, x))
EluGrad = primitive("EluGrad", lambda self, dout, out: dout * ops.where(ops.less(out, 0), out + 1, 1))
GeLUGrad = primitive("GeLUGrad", lambda self, dy, x, y: pulled(lambda x: ops.gelu(x, "tanh"), dy, x))
FastGeLUGrad = primitive("FastGeLUGrad", lambda self, dy, x: pulled(F.fast_gelu, dy, x))
HSigmoidGrad = primitive("HSigmoidGrad", lambda self, grads, input_x: pulled(F.hardsigmoid, grads, input_x))
HSwishGrad = primitive("HSwishGrad", lambda self, y_grad, x: pulled(ops.hardswish, y_grad, x))
HShrinkGrad = primitive(
    "HShrinkGrad", lambda self, gradients, x: pulled(lambda x: ops.hardshrink(x, self.lambd), gradients, x), lambd=0.5
)
SoftShrinkGrad = primitive(
    "SoftShrinkGrad", lambda self, grad, x: pulled(lambda x: ops.softshrink(x, self.lambd), grad, x), lambd=0.5
)
SiLUGrad = primitive("SiLUGrad", lambda self, dout, x: pulled(ops.silu, dout, x))
SoftplusGrad = primitive("SoftplusGrad", lambda self, gradient, features: pulled(ops.softplus, gradient, features))
PReLUGrad = primitive("PReLUGrad", lambda self, dy, x, weight: pulled(F.prelu, dy, x, weight))
GluGrad = primitive("GluGrad", lambda self, grads, x: pulled(lambda x: ops.glu(x, self.axis), grads, x), axis=REQUIRED)
SoftmaxGrad = primitive("SoftmaxGrad", lambda self, y, dy: y * (dy - ops.sum(y * dy, -1, keepdims=True)))
LogSoftmaxGrad = primitive(
    "LogSoftmaxGrad",
    lambda self, logits, grad: grad - ops.exp(logits) * ops.sum(grad, self.axis, keepdims=True),
    axis=-1,
)


def _larger(function: Any) -> Any:
    return lambda self, x, y, grads: pulled(function, grads, x, y)


MaximumGrad = primitive("MaximumGrad", _larger(ops.maximum), grad_x=True, grad_y=True)
MinimumGrad = primitive("MinimumGrad", _larger(ops.minimum), grad_x=True, grad_y=True)

# ---------------------------------------------------------------- layers


def _bias_add_grad(self: Any, dout: Any) -> Any:
    rank = len(shape_of(dout))
    channel = rank - 1 if self.data_format == "NHWC" else 1
    return ops.sum(dout, tuple(a for a in range(rank) if a != channel))


BiasAddGrad = primitive("BiasAddGrad", _bias_add_grad, data_format="NCHW")
FlattenGrad = primitive("FlattenGrad", lambda self, x, shape: ops.reshape(x, tuple(shape)))
DropoutGrad = primitive(
    "DropoutGrad", lambda self, dy, mask: dy * ops.stop_gradient(mask) / self.keep_prob, keep_prob=0.5
)


def _conv2d_filter(self: Any, dout: Any, x: Any, w_size: Any) -> Any:
    conv = conv_ops.Conv2D(
        self.out_channel, self.kernel_size, 1, self.pad_mode, self.pad, self.stride, self.dilation, self.group
    )
    return pulled(lambda w: conv(x, w), dout, ops.zeros(whole_sizes(w_size), x.dtype))


Conv2DBackpropFilter = primitive(
    "Conv2DBackpropFilter", _conv2d_filter,
    out_channel=REQUIRED, kernel_size=REQUIRED, pad_mode="valid", pad=0, pad_list=(0, 0, 0, 0), mode=1, stride=(1, 1),
    dilation=(1, 1, 1, 1), group=1, data_format="NCHW",
)  # fmt: skip


def _pool_grad(kind: Any) -> Any:
    def compute(self: Any, x: Any, out: Any, dout: Any) -> Any:
        return pulled(kind(self.kernel_size, self.strides, self.pad_mode, self.data_format), dout, x)

    return compute


MaxPoolGrad = primitive("MaxPoolGrad", _pool_grad(pool_ops.MaxPool), **POOL)
AvgPoolGrad = primitive("AvgPoolGrad", _pool_grad(pool_ops.AvgPool), **POOL)


def _max_pool3d_grad(self: Any, x: Any, out: Any, dout: Any) -> Any:
    return pulled(pool_ops.MaxPool3D(self.kernel_size, self.strides, self.pad_mode, self.pad_list), dout, x)


MaxPool3DGrad = primitive(
    "MaxPool3DGrad", _max_pool3d_grad,
    kernel_size=(1, 1, 1, 1, 1), strides=(1, 1, 1, 1, 1), pad_mode="VALID", pad_list=0, data_format="NCDHW",
)  # fmt: skip


def _batch_norm_grad(self: Any, dout: Any, x: Any, scale: Any, mean: Any, variance: Any, reserve: Any = None) -> Any:
    """The gradients by the input, the scale and the bias, with the given mean and variance."""
    channels = (-1, *(1,) * (len(shape_of(x)) - 2))
    axes = tuple(a for a in range(len(shape_of(x))) if a != 1)
    mean, variance, gain = (ops.reshape(v, channels) for v in (mean, variance, scale))
    steep = 1.0 / ops.sqrt(variance + self.epsilon)
    normal = (x - mean) * steep
    dx = dout
    if self.is_training:  # the batch's own statistics move with the input
        dx = dout - ops.mean(dout, axes, keepdims=True) - normal * ops.mean(dout * normal, axes, keepdims=True)
    return dx * gain * steep, ops.sum(dout * normal, axes), ops.sum(dout, axes)


BatchNormGrad = primitive("BatchNormGrad", _batch_norm_grad, is_training=False, epsilon=1e-5, data_format="NCHW")


def _layer_norm_grad(self: Any, x: Any, dy: Any, variance: Any, mean: Any, gamma: Any) -> Any:
    """The gradients by the input, gamma and beta."""
    norm = norm_ops.LayerNorm(self.begin_norm_axis, self.begin_params_axis)
    return pulled(lambda x, gamma, beta: norm(x, gamma, beta)[0], dy, x, gamma, ops.zeros_like(gamma))


LayerNormGrad = primitive("LayerNormGrad", _layer_norm_grad, begin_norm_axis=1, begin_params_axis=1)
L2NormalizeGrad = primitive(
    "L2NormalizeGrad",
    lambda self, x, out, dout: pulled(norm_ops.L2Normalize(self.axis, self.epsilon), dout, x),
    axis=0, epsilon=1e-4,
)  # fmt: skip
LRNGrad = primitive(
    "LRNGrad",
    lambda self, dout, x, out: pulled(
        lambda x: norm_ops.lrn(x, self.depth_radius, self.bias, self.alpha, self.beta), dout, x
    ),
    depth_radius=5, bias=1.0, alpha=1.0, beta=0.5,
)  # fmt: skip

# ---------------------------------------------------------------- losses

SigmoidCrossEntropyWithLogitsGrad = primitive(
    "SigmoidCrossEntropyWithLogitsGrad", lambda self, x, y, dout: (ops.sigmoid(x) - y) * dout
)
BinaryCrossEntropyGrad = primitive(
    "BinaryCrossEntropyGrad",
    lambda self, input, target, grad, weight=None: pulled(
        lambda x: ops.binary_cross_entropy(x, target, weight, self.reduction), grad, input
    ),
    reduction="mean",
)
SmoothL1LossGrad = primitive(
    "SmoothL1LossGrad",
    lambda self, prediction, target, dout: pulled(
        lambda x: ops.smooth_l1_loss(x, target, self.beta, self.reduction), dout, prediction
    ),
    beta=1.0, reduction="none",
)  # fmt: skip
KLDivLossGrad = primitive(
    "KLDivLossGrad",
    lambda self, grads, input, target: pulled(lambda x: ops.kl_div(x, target, self.reduction), grads, input),
    reduction="mean",
)
NLLLossGrad = primitive(
    "NLLLossGrad",
    lambda self, logits, loss_grad, labels, weight, total_weight: pulled(
        lambda x: loss_ops.NLLLoss(self.reduction, self.ignore_index)(x, labels, weight)[0], loss_grad, logits
    ),
    reduction="mean", ignore_index=-100,
)  # fmt: skip

# ---------------------------------------------------------------- resizing

ResizeBilinearGrad = primitive(
    "ResizeBilinearGrad",
    lambda self, grads, image: pulled(
        lambda x: F.resize_linear(x, shape_of(grads)[2:], self.align_corners, self.half_pixel_centers), grads, image
    ),
    align_corners=False, half_pixel_centers=False,
)  # fmt: skip
ResizeNearestNeighborGrad = primitive(
    "ResizeNearestNeighborGrad",
    lambda self, grads, size: pulled(
        lambda x: F.resize_nearest(x, shape_of(grads)[2:], self.align_corners, self.half_pixel_centers),
        grads,
        ops.zeros((*shape_of(grads)[:2], *whole_sizes(size)), grads.dtype),
    ),
    align_corners=False, half_pixel_centers=False,
)  # fmt: skip


def __getattr__(name: str) -> Any:
    if name[:1].isupper():
        return Absent(f"mindspore.ops.operations._grad_ops.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
