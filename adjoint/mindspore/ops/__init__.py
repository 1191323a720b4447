"""mindspore.ops."""

from adjoint.mindspore.absent import fallback as _fallback
from adjoint.mindspore.ops import composite as composite
from adjoint.mindspore.ops import functional as functional
from adjoint.mindspore.ops import operations as operations
from adjoint.mindspore.ops.engine_functions import *
from adjoint.mindspore.ops.operations import *
from adjoint.mindspore.ops.primitive import Primitive as Primitive
from adjoint.mindspore.ops.primitive import prim_attr_register as prim_attr_register

__getattr__ = _fallback(__name__, "ops")
