"""mindspore.nn."""

from adjoint.mindspore.absent import fallback as _fallback
from adjoint.nn import *
from adjoint.nn import Cell as Cell

__getattr__ = _fallback(__name__, "nn")
