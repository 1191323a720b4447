"""mindspore.ops.functional: the operators as functions."""

from adjoint.mindspore.absent import fallback as _fallback
from adjoint.mindspore.ops.engine_functions import *  # noqa: F403
from adjoint.mindspore.ops.functions import *  # noqa: F403
from adjoint.mindspore.ops.nn_functions import *  # noqa: F403

__getattr__ = _fallback(__name__, "ops")
