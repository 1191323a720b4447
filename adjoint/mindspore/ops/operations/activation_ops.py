"""Primitives: activations."""

from __future__ import annotations

from adjoint import ops
from adjoint.mindspore.ops import nn_functions as F
from adjoint.mindspore.ops.operations.argument_checks import checked, whole
from adjoint.mindspore.ops.primitive import primitive

__all__ = [
    "CeLU", "Dense", "Elu", "FastGeLU", "GLU", "GeLU", "HShrink", "HSigmoid", "HSwish", "LogSoftmax", "LogSoftmaxExt", "Gelu", "FastGelu", "Mish",
    "PReLU", "ReLU", "ReLU6", "ReLUV3", "SeLU", "SiLU", "Sigmoid", "SoftShrink", "Softmax", "Softplus",
    "Softsign", "Tanh",
]  # fmt: skip

CeLU = primitive("CeLU", lambda self, x: F.celu(x, self.alpha), alpha=1.0)
Elu = primitive("Elu", lambda self, input_x: F.elu(input_x, self.alpha), alpha=1.0)
FastGeLU = primitive("FastGeLU", lambda self, x: F.fast_gelu(x))
GeLU = primitive("GeLU", lambda self, input: ops.gelu(input, "tanh"))
GLU = primitive("GLU", lambda self, x: ops.glu(x, self.axis), axis=-1)
HShrink = primitive("HShrink", lambda self, input: ops.hardshrink(input, self.lambd), lambd=0.5)
HSigmoid = primitive("HSigmoid", lambda self, input: F.hardsigmoid(input))
HSwish = primitive("HSwish", lambda self, input: ops.hardswish(input))
LogSoftmax = primitive("LogSoftmax", lambda self, logits: ops.log_softmax(logits, self.axis), axis=-1)
Mish = primitive("Mish", lambda self, input_x: ops.mish(input_x))
PReLU = primitive("PReLU", lambda self, input, weight: F.prelu(input, weight))
ReLU = primitive("ReLU", lambda self, input: ops.relu(input))
ReLU6 = primitive("ReLU6", lambda self, x: ops.relu6(x))
ReLUV3 = primitive("ReLUV3", lambda self, x: ops.relu(x))
SeLU = primitive("SeLU", lambda self, input_x: ops.selu(input_x))
Sigmoid = primitive("Sigmoid", lambda self, input: ops.sigmoid(input))
SiLU = primitive("SiLU", lambda self, input: ops.silu(input))
Softmax = primitive("Softmax", lambda self, input: ops.softmax(input, self.axis), axis=-1)
Softplus = primitive("Softplus", lambda self, input_x: ops.softplus(input_x))
SoftShrink = primitive("SoftShrink", lambda self, input: ops.softshrink(input, self.lambd), lambd=0.5)
Softsign = primitive("Softsign", lambda self, input_x: ops.softsign(input_x))
Tanh = primitive("Tanh", lambda self, input: ops.tanh(input))
Dense = primitive("Dense", lambda self, input, weight, bias=None: F.dense(input, weight, bias))
LogSoftmaxExt = primitive(
    "LogSoftmaxExt", lambda self, input, dim=None, dtype=None: F.log_softmax_ext(input, dim, dtype)
)
Gelu, FastGelu = GeLU, FastGeLU  # the older names

for _kind in (Softmax, LogSoftmax):
    checked(_kind, whole("axis"))
