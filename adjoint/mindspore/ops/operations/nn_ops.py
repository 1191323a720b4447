"""Primitives of networks."""

from typing import Any

from adjoint.mindspore.ops.operations.activation_ops import *  # noqa: F403
from adjoint.mindspore.ops.operations.conv_ops import *  # noqa: F403
from adjoint.mindspore.ops.operations.loss_ops import *  # noqa: F403
from adjoint.mindspore.ops.operations.norm_ops import *  # noqa: F403
from adjoint.mindspore.ops.operations.patch_ops import *  # noqa: F403
from adjoint.mindspore.ops.operations.pool_ops import *  # noqa: F403
from adjoint.mindspore.ops.operations.rnn_ops import *  # noqa: F403


def __getattr__(name: str) -> Any:
    """Names that MindSpore has here and we elsewhere."""
    if name.startswith("__"):
        raise AttributeError(name)
    from adjoint.mindspore.ops import operations

    return getattr(operations, name)
