"""mindspore.nn."""

from adjoint.mindspore.absent import fallback as _fallback
from adjoint.mindspore.nn.cell import Cell as Cell
from adjoint.mindspore.nn.engine_layers import *
from adjoint.nn import get_activation as get_activation

__getattr__ = _fallback(__name__, "nn")
