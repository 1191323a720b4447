"""Primitives of networks."""

from adjoint.mindspore.ops.operations.activation_ops import *  # noqa: F403
from adjoint.mindspore.ops.operations.conv_ops import *  # noqa: F403
from adjoint.mindspore.ops.operations.loss_ops import *  # noqa: F403
from adjoint.mindspore.ops.operations.norm_ops import *  # noqa: F403
from adjoint.mindspore.ops.operations.pool_ops import *  # noqa: F403
