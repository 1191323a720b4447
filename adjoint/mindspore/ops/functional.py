"""mindspore.ops.functional: the operators as functions."""

from adjoint.mindspore.absent import elsewhere as _elsewhere
from adjoint.mindspore.ops.batch_functions import *  # noqa: F403
from adjoint.mindspore.ops.engine_functions import *  # noqa: F403
from adjoint.mindspore.ops.functions import *  # noqa: F403
from adjoint.mindspore.ops.gradient_functions import *  # noqa: F403
from adjoint.mindspore.ops.jacobian_functions import *  # noqa: F403
from adjoint.mindspore.ops.nn_functions import *  # noqa: F403
from adjoint.mindspore.ops.sequence_functions import *  # noqa: F403
from adjoint.mindspore.ops.sparse_functions import *  # noqa: F403

__getattr__ = _elsewhere(__name__, "adjoint.mindspore.ops")
