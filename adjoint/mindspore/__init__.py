"""MindSpore's names on adjoint's engine: programs written for MindSpore run unchanged.

>>> import adjoint.mindspore as mindspore
>>> from adjoint.mindspore import Tensor, ops
>>> print(mindspore.grad(ops.sin)(Tensor(0.0)))
1.0
"""

from adjoint.mindspore.absent import fallback as _fallback

__version__ = "2.10.0"

from adjoint.api.grad import grad as grad
from adjoint.mindspore import common as common
from adjoint.mindspore import context as context
from adjoint.mindspore import nn as nn
from adjoint.mindspore import ops as ops
from adjoint.mindspore.common import *
from adjoint.mindspore.common.dtype import *
from adjoint.mindspore.context import GRAPH_MODE as GRAPH_MODE
from adjoint.mindspore.context import LAX as LAX
from adjoint.mindspore.context import PYNATIVE_MODE as PYNATIVE_MODE
from adjoint.mindspore.context import STRICT as STRICT
from adjoint.mindspore.context import get_context as get_context
from adjoint.mindspore.context import set_context as set_context

__getattr__ = _fallback(__name__, "mindspore")
