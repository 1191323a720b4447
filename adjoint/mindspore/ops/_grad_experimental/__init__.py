"""mindspore.ops._grad_experimental: derivative rules of primitives that programs register."""

from adjoint.mindspore.ops._grad_experimental.grad_base import binop_grad_common as binop_grad_common
from adjoint.mindspore.ops._grad_experimental.grad_base import bprop_getters as bprop_getters
from adjoint.mindspore.ops._grad_experimental.grad_base import bprops as bprops
from adjoint.mindspore.ops._grad_experimental.grad_base import get_bprop_fn as get_bprop_fn
