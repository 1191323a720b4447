"""SciPy's names for Tensors, module by module: functions have SciPy's names and arguments, and are differentiated.

Plain SciPy reaches the same functions. Once both adjoint and a module of SciPy are imported, the module's public functions
(and the methods of some of its classes) are thin wrappers: a call without Tensors goes to SciPy's own function at once, one
with a Tensor that is being differentiated, batched or compiled comes here. Ufuncs of scipy.special need no wrapper, they ask
their arguments (`Tensor.__array_ufunc__`). What is missing here is refused by its name.

The rule is one of names: the wrapper of `scipy.linalg.cholesky` looks for `adjoint.scipy.linalg.cholesky`. To provide a
function, define it in the module of this package that has SciPy's name. To provide a class, define a class or function of its
name, and enter it in `CLASSES` of `adjoint/scipy/imports.py`; for methods of SciPy's own objects enter them in `METHODS` there, and
put the functions in a dictionary `METHODS` of the module here, by "Class.method". A function that calls what it is given
(`quad(f, a, b)`) is marked with `@takes_functions`: it is then asked inside every transform, since f may read a Tensor from
outside.

>>> import adjoint as ad
>>> import scipy.special
>>> print(round(ad.grad(lambda x: scipy.special.logsumexp([x, 0.0]))(0.0), 4), ad.scipy.special.expit(0.0))
0.5 0.5
"""

from importlib import import_module as _import_module
from typing import Any as _Any

from adjoint.scipy.imports import MIRRORS as _MIRRORS


def __getattr__(name: str) -> _Any:
    if f"scipy.{name}" in _MIRRORS:
        return _import_module(f"adjoint.scipy.{name}")
    raise AttributeError(f"module 'adjoint.scipy' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(name.removeprefix("scipy.") for name in _MIRRORS if name.count(".") == 1)
