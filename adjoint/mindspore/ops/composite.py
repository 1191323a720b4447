"""mindspore.ops.composite: functions composed of others, and functions of functions."""

from adjoint.mindspore.absent import elsewhere as _elsewhere
from adjoint.mindspore.ops.multitype import HyperMap as HyperMap
from adjoint.mindspore.ops.multitype import Map as Map
from adjoint.mindspore.ops.multitype import MultitypeFuncGraph as MultitypeFuncGraph
from adjoint.mindspore.ops.sequence_functions import add_flags as add_flags
from adjoint.mindspore.ops.sequence_functions import core as core
from adjoint.mindspore.ops.sequence_functions import tail as tail
from adjoint.mindspore.ops.sequence_functions import zip_operation as zip_operation

__getattr__ = _elsewhere(__name__, "adjoint.mindspore.ops")
