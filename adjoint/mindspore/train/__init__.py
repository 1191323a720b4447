"""mindspore.train."""

from adjoint.mindspore.absent import fallback as _fallback
from adjoint.mindspore.train import metrics as metrics
from adjoint.mindspore.train.metrics import *

__getattr__ = _fallback(__name__, "train")
