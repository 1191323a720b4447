"""Primitives of networks."""

from adjoint.mindspore.absent import elsewhere as _elsewhere
from adjoint.mindspore.ops.operations.activation_ops import *  # noqa: F403
from adjoint.mindspore.ops.operations.conv_ops import *  # noqa: F403
from adjoint.mindspore.ops.operations.loss_ops import *  # noqa: F403
from adjoint.mindspore.ops.operations.norm_ops import *  # noqa: F403
from adjoint.mindspore.ops.operations.patch_ops import *  # noqa: F403
from adjoint.mindspore.ops.operations.pool_ops import *  # noqa: F403
from adjoint.mindspore.ops.operations.rnn_ops import *  # noqa: F403

__getattr__ = _elsewhere(__name__, "adjoint.mindspore.ops.operations")
