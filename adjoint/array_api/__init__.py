"""The array API standard (2024.12) for Tensors: what `x.__array_namespace__()` gives.

Code that is written for any library of arrays, with `xp = x.__array_namespace__()`, is differentiated and compiled as it
is. Functions and dtypes are those of `adjoint.numpy`, with the standard's names and signatures.

>>> import adjoint as ad
>>> def softmax(x):
...     xp = x.__array_namespace__()
...     e = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
...     return e / xp.sum(e, axis=-1, keepdims=True)
>>> print(ad.jacobian(softmax)(ad.Tensor([1.0, 1.0])))
[[ 0.25 -0.25]
 [-0.25  0.25]]
"""

from typing import Any as _Any

from adjoint import numpy as _np
from adjoint.array_api import fft as fft
from adjoint.array_api import linalg as linalg
from adjoint.array_api.inspection import ArrayNamespaceInfo as _Info
from adjoint.array_api.standard_functions import (
    all as all,
)
from adjoint.array_api.standard_functions import (
    any as any,
)
from adjoint.array_api.standard_functions import (
    argsort as argsort,
)
from adjoint.array_api.standard_functions import (
    asarray as asarray,
)
from adjoint.array_api.standard_functions import (
    astype as astype,
)
from adjoint.array_api.standard_functions import (
    clip as clip,
)
from adjoint.array_api.standard_functions import (
    count_nonzero as count_nonzero,
)
from adjoint.array_api.standard_functions import (
    cumulative_prod as cumulative_prod,
)
from adjoint.array_api.standard_functions import (
    cumulative_sum as cumulative_sum,
)
from adjoint.array_api.standard_functions import (
    diff as diff,
)
from adjoint.array_api.standard_functions import (
    from_dlpack as from_dlpack,
)
from adjoint.array_api.standard_functions import (
    max as max,
)
from adjoint.array_api.standard_functions import (
    mean as mean,
)
from adjoint.array_api.standard_functions import (
    min as min,
)
from adjoint.array_api.standard_functions import (
    prod as prod,
)
from adjoint.array_api.standard_functions import (
    repeat as repeat,
)
from adjoint.array_api.standard_functions import (
    round as round,
)
from adjoint.array_api.standard_functions import (
    searchsorted as searchsorted,
)
from adjoint.array_api.standard_functions import (
    sort as sort,
)
from adjoint.array_api.standard_functions import (
    std as std,
)
from adjoint.array_api.standard_functions import (
    sum as sum,
)
from adjoint.array_api.standard_functions import (
    take as take,
)
from adjoint.array_api.standard_functions import (
    tile as tile,
)
from adjoint.array_api.standard_functions import (
    unique_all as unique_all,
)
from adjoint.array_api.standard_functions import (
    unique_counts as unique_counts,
)
from adjoint.array_api.standard_functions import (
    unique_inverse as unique_inverse,
)
from adjoint.array_api.standard_functions import (
    unique_values as unique_values,
)
from adjoint.array_api.standard_functions import (
    var as var,
)

__array_api_version__ = "2024.12"

#: Names whose function in `adjoint.numpy` has the standard's signature as it is.
_AS_IN_NUMPY = """
e inf nan newaxis pi
bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128
arange empty empty_like eye full full_like linspace meshgrid ones ones_like tril triu zeros zeros_like
can_cast finfo iinfo isdtype result_type
abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_invert bitwise_or
bitwise_right_shift bitwise_xor ceil conj copysign cos cosh divide equal exp expm1 floor floor_divide greater greater_equal
hypot imag isfinite isinf isnan less less_equal log log1p log2 log10 logaddexp logical_and logical_not logical_or
logical_xor maximum minimum multiply negative nextafter not_equal positive pow real reciprocal remainder sign signbit
sin sinh square sqrt subtract tan tanh trunc
take_along_axis matmul matrix_transpose tensordot vecdot
broadcast_arrays broadcast_to concat expand_dims flip moveaxis permute_dims reshape roll squeeze stack unstack
argmax argmin nonzero where
""".split()  # noqa: SIM905

globals().update({name: getattr(_np, name) for name in _AS_IN_NUMPY})


def __array_namespace_info__() -> _Info:
    """What this namespace has: dtypes, devices and capabilities."""
    return _Info()


def __getattr__(name: str) -> _Any:
    raise AttributeError(f"module 'adjoint.array_api' has no attribute {name!r}: it is not in the array API standard")
