"""mindspore.ops.functional: the operators as functions."""

from typing import Any

from adjoint.mindspore.ops.batch_functions import *  # noqa: F403
from adjoint.mindspore.ops.engine_functions import *  # noqa: F403
from adjoint.mindspore.ops.functions import *  # noqa: F403
from adjoint.mindspore.ops.gradient_functions import *  # noqa: F403
from adjoint.mindspore.ops.jacobian_functions import *  # noqa: F403
from adjoint.mindspore.ops.nn_functions import *  # noqa: F403
from adjoint.mindspore.ops.sequence_functions import *  # noqa: F403
from adjoint.mindspore.ops.sparse_functions import *  # noqa: F403


def __getattr__(name: str) -> Any:
    from adjoint.mindspore import ops

    return getattr(ops, name)
