"""mindspore.mint: functions with PyTorch's names and arguments."""

from __future__ import annotations

from adjoint.mindspore import ops as _ops
from adjoint.mindspore.absent import Absent as _Absent
from adjoint.mindspore.absent import fallback as _fallback
from adjoint.mindspore.absent import public_names as _public_names
from adjoint.mindspore.mint import creation as _creation
from adjoint.mindspore.mint import functions as _functions
from adjoint.mindspore.mint import linalg as linalg
from adjoint.mindspore.mint import nn as nn
from adjoint.mindspore.mint import optim as optim
from adjoint.mindspore.mint import special as special

_FROM_OPS = [n for n in sorted(_public_names()["mint"]) if n[0].islower() and hasattr(_ops, n)]
globals().update({n: getattr(_ops, n) for n in _FROM_OPS if not isinstance(getattr(_ops, n), _Absent)})

globals().update({n: getattr(m, n) for m in (_functions, _creation) for n in m.__all__})

__getattr__ = _fallback(__name__, "mint")
