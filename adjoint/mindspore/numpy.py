"""mindspore.numpy: NumPy's names for Tensors, with MindSpore's default dtypes: float32 and int32."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as _np

from adjoint import numpy as _anp
from adjoint import ops as _ops
from adjoint.core import tree as _tree
from adjoint.core.tensor import Tensor as _Tensor
from adjoint.mindspore import numpy_functions as _own
from adjoint.mindspore.absent import fallback as _fallback

#: Results of these are int64, or of the dtype that NumPy gives, whatever the inputs are.
_WIDE = {"argmax", "argmin", "nonzero", "argsort", "searchsorted", "result_type", "promote_types"}
_NARROW = {_np.dtype("float64"): _np.float32, _np.dtype("int64"): _np.int32, _np.dtype("complex128"): _np.complex64}


def _narrowed(name: str, fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose results are as wide as its Tensors, or 32 bits wide if it is given none."""

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        wide = {x.dtype for x in _tree.leaves((args, kwargs)) if isinstance(x, (_Tensor, _np.ndarray, _np.generic))}
        args, kwargs = _tree.map(_single, (args, kwargs))
        out = fn(*args, **kwargs)
        if kwargs.get("dtype") is not None or name in _WIDE:
            return out
        return _tree.map(lambda y: _kept(y, wide), out)

    return call


def _single(x: Any) -> Any:
    """Python's numbers in lists have 32 bits; a NumPy array is a Tensor."""
    return _Tensor(x) if isinstance(x, _np.ndarray) and x.dtype.kind in "biufc" else x


def _kept(y: Any, wide: set[Any]) -> Any:
    if not isinstance(y, _Tensor):
        return y
    small = _NARROW.get(y.dtype)
    return y if small is None or y.dtype in wide else _ops.cast(y, small)


__all__ = sorted({name for name in dir(_anp) if not name.startswith("_") and name != "annotations"})
for _name in __all__:
    _found = getattr(_anp, _name)
    _is_function = callable(_found) and not isinstance(_found, type) and not isinstance(_found, _np.dtype)
    globals()[_name] = _narrowed(_name, _found) if _is_function else _found

_CASTING = {
    "matrix_power",
    "multi_dot",
    "norm",
    "trapz",
    "mean",
    "var",
    "std",
    "max",
    "min",
    "amax",
    "amin",
    "meshgrid",
}
globals().update({n: _narrowed(n, getattr(_own, n)) if n in _CASTING else getattr(_own, n) for n in _own.__all__})
__all__ += sorted(set(_own.__all__) - set(__all__))
__getattr__ = _fallback(__name__, "numpy")
