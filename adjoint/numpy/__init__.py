"""NumPy's names for Tensors: for code that builds arrays from parts, which NumPy's own functions cannot follow.

Functions have NumPy's names, signatures and default dtypes, and return Tensors. Slices are views as in NumPy (`y = x[1:];
y[0] = 1.0` writes to x), and writes are differentiable. What has no derivative yet is missing here, rather than wrong.

>>> import adjoint as ad
>>> import adjoint.numpy as np
>>> def f(x):
...     a = np.zeros(3)
...     a[0] = x
...     a[1:] = np.array([x * x, 1.0])
...     return np.sum(a * a)
>>> print(ad.grad(f)(2.0))
36.0
"""

from typing import Any as _Any

import numpy as _np

from adjoint.core.tensor import Tensor as ndarray  # noqa: F401  (the array type of this namespace)
from adjoint.numpy import fft as fft
from adjoint.numpy import linalg as linalg
from adjoint.numpy.ufuncs import UFUNCS as _UFUNCS
from adjoint.ops.numpylike.api import *  # noqa: F403
from adjoint.ops.numpylike.common import tensor as _tensor

#: What NumPy has that knows nothing of arrays: dtypes, constants, settings, arithmetic on shapes.
_AS_THEY_ARE = """
pi e euler_gamma inf nan newaxis
bool bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 int_ uint intp intc float16 float32 float64 longdouble single
double half complex64 complex128 csingle cdouble generic number integer signedinteger unsignedinteger inexact floating
complexfloating dtype finfo iinfo issubdtype isdtype promote_types broadcast_shapes isscalar ndindex errstate geterr seterr
printoptions set_printoptions get_printoptions index_exp s_ ravel_multi_index
""".split()  # noqa: SIM905

globals().update({name: getattr(_np, name) for name in _AS_THEY_ARE})
globals().update(_UFUNCS)


class _Joining:
    """`r_[...]` and `c_[...]`: what NumPy's own make of the parts, as a Tensor."""

    def __init__(self, name: str) -> None:
        self._joined, self._name = getattr(_np, name), name

    def __getitem__(self, key: _Any) -> _Any:
        return _tensor(self._joined[key])

    def __repr__(self) -> str:
        return f"<{self._name} of adjoint.numpy>"


r_, c_ = _Joining("r_"), _Joining("c_")


def __getattr__(name: str) -> _Any:
    if name == "row_stack":  # NumPy's old name
        return globals()["vstack"]
    if hasattr(_np, name) and not name.startswith("_"):
        raise AttributeError(
            f"adjoint.numpy has no {name!r} yet. numpy.{name} works on Tensors too where it can be traced; "
            f"with x.asnumpy() it computes without a gradient."
        )
    raise AttributeError(f"module 'adjoint.numpy' has no attribute {name!r}")
