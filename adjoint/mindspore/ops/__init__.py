"""mindspore.ops."""

from adjoint.mindspore.absent import fallback as _fallback
from adjoint.mindspore.ops import _utils as _utils
from adjoint.mindspore.ops import composite as composite
from adjoint.mindspore.ops import functional as functional
from adjoint.mindspore.ops import grad_func as grad_func
from adjoint.mindspore.ops import operations as operations
from adjoint.mindspore.ops import signature as signature
from adjoint.mindspore.ops.aliases import *
from adjoint.mindspore.ops.batch_functions import *
from adjoint.mindspore.ops.composite_functions import *
from adjoint.mindspore.ops.engine_functions import *
from adjoint.mindspore.ops.functions import *
from adjoint.mindspore.ops.gradient_functions import *
from adjoint.mindspore.ops.jacobian_functions import *
from adjoint.mindspore.ops.multitype import HyperMap as HyperMap
from adjoint.mindspore.ops.multitype import Map as Map
from adjoint.mindspore.ops.multitype import MultitypeFuncGraph as MultitypeFuncGraph
from adjoint.mindspore.ops.nn_functions import *
from adjoint.mindspore.ops.operations import *
from adjoint.mindspore.ops.primitive import Primitive as Primitive
from adjoint.mindspore.ops.primitive import PrimitiveWithCheck as PrimitiveWithCheck
from adjoint.mindspore.ops.primitive import PrimitiveWithInfer as PrimitiveWithInfer
from adjoint.mindspore.ops.primitive import _primexpr as _primexpr
from adjoint.mindspore.ops.primitive import constexpr as constexpr
from adjoint.mindspore.ops.primitive import prim_arg_register as prim_arg_register
from adjoint.mindspore.ops.primitive import prim_attr_register as prim_attr_register
from adjoint.mindspore.ops.sequence_functions import *
from adjoint.mindspore.ops.sparse_functions import *
from adjoint.mindspore.ops.vm_impl_registry import get_vm_impl_fn as get_vm_impl_fn
from adjoint.mindspore.ops.vm_impl_registry import vm_impl_registry as vm_impl_registry

print_ = operations.Print()

__getattr__ = _fallback(__name__, "ops")
