"""mindspore.ops.function.grad.grad_func: functions of functions that give derivatives."""

from adjoint.mindspore.ops.batch_functions import *  # noqa: F403
from adjoint.mindspore.ops.gradient_functions import *  # noqa: F403
from adjoint.mindspore.ops.jacobian_functions import *  # noqa: F403
