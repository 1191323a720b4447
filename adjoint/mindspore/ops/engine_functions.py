"""Functions of the engine that mean the same in MindSpore, under the same names."""

from __future__ import annotations

from adjoint import ops as _ops
from adjoint.mindspore.absent import public_names as _public_names

__all__ = sorted(name for name in _public_names()["ops"] if name[0].islower() and callable(getattr(_ops, name, None)))
globals().update({name: getattr(_ops, name) for name in __all__})
