"""mindspore.ops.operations: the primitives as classes."""

from adjoint.mindspore.absent import fallback as _fallback
from adjoint.mindspore.ops.operations.array_ops import *
from adjoint.mindspore.ops.operations.control_ops import *
from adjoint.mindspore.ops.operations.custom_ops import Custom as Custom
from adjoint.mindspore.ops.operations.hook_ops import *
from adjoint.mindspore.ops.operations.image_ops import *
from adjoint.mindspore.ops.operations.index_ops import *
from adjoint.mindspore.ops.operations.linalg_ops import *
from adjoint.mindspore.ops.operations.math_ops import *
from adjoint.mindspore.ops.operations.nn_ops import *
from adjoint.mindspore.ops.operations.optimizer_ops import *
from adjoint.mindspore.ops.operations.other_ops import *
from adjoint.mindspore.ops.operations.random_ops import *
from adjoint.mindspore.ops.operations.reduce_ops import *
from adjoint.mindspore.ops.operations.sparse_ops import *
from adjoint.mindspore.ops.operations.sparse_optimizer_ops import *
from adjoint.mindspore.ops.operations.special_ops import *
from adjoint.mindspore.ops.primitive import Primitive as Primitive

__getattr__ = _fallback(__name__, "ops")
