"""A function at a point, as numerical differentiation sees it: what comes out when an input is moved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.api.inputs import ChosenInputs, check_function, name_of
from adjoint.core import context, placement, tree
from adjoint.core.errors import ArgumentError, CutGradientError, NotDifferentiableError, called_at
from adjoint.core.spec import is_half, is_inexact
from adjoint.core.tensor import Tensor

Arrays = list[np.ndarray]
#: What a function may raise outside of its domain.
OUTSIDE = (ArithmeticError, ValueError)


def plain(x: Any) -> np.ndarray:
    """The array of a Tensor, or of anything like an array."""
    if not isinstance(x, Tensor):
        return np.asarray(x)
    if x.tracked and context.bindings.get() is not None:
        raise CutGradientError(
            f"differences of numbers have no gradient, and one is wanted here. Use ad.grad, ad.jvp or ad.derivative inside of a "
            f"function that is differentiated{called_at()}"
        )
    return x.asnumpy()


def wide(x: Any) -> np.ndarray:
    """The same values in double precision."""
    x = plain(x)
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def precision(dtype: np.dtype) -> float:
    """The distance from 1 to the next number of a dtype; of the doubles for all that is computed exactly.

    >>> precision(np.dtype("float32")) == 2.0**-23
    True
    """
    if (is_half(dtype) and dtype.kind == "V") or dtype.name == "bfloat16":
        return 2.0**-7
    return float(np.finfo(dtype).eps) if dtype.kind in "fc" else float(np.finfo(np.float64).eps)


class MovedInputs:
    """A function, its arguments, and the inputs among them that are moved.

    `leaves` are the moved inputs, in double precision. A number, array or Tensor is handed to the function as what it was.
    """

    def __init__(self, what: str, f: Callable[..., Any], args: Sequence[Any], positions: tuple[int, ...]) -> None:
        check_function(what, f)
        self.what, self.f = what, f
        self.call = ChosenInputs(what, f, positions, args, {})
        self.given: list[Any] = []
        self.rebuilds: list[tuple[int, Callable[[list[Any]], Any]]] = []
        self.names: list[str] = []
        for place, chosen in zip(positions, self.call.chosen, strict=True):
            leaves, rebuild = tree.flatten(chosen)
            self.rebuilds.append((len(leaves), rebuild))
            self.given += leaves
            self.names += [path for path, _ in tree.paths(chosen, f"argument {place}")]
        self.dtypes = [_dtype(what, name, x) for name, x in zip(self.names, self.given, strict=True)]
        self.leaves = [wide(x) for x in self.given]
        self.evaluations = 0
        self.structure: Callable[[list[Any]], Any]
        self.results: list[Any] = []  # at this point, as the function gives them
        self.here = self.at(self.leaves)
        self.kinds = [y.dtype.kind for y in self.here]

    def at(self, leaves: Sequence[np.ndarray]) -> Arrays:
        """The results, in double precision, for such inputs; complex inputs are for the complex step."""
        self.evaluations += 1
        fresh = iter([_like(x, dtype, new) for x, dtype, new in zip(self.given, self.dtypes, leaves, strict=True)])
        values = [rebuild([next(fresh) for _ in range(count)]) for count, rebuild in self.rebuilds]
        args, kwargs = self.call.replace(values)
        with np.errstate(all="ignore"):
            out = self.f(*args, **kwargs)
        ys, self.structure = tree.flatten(out)
        arrays = [plain(y) for y in ys]
        if not ys:
            raise ArgumentError(
                f"{self.what}: {name_of(self.f)} returned nothing (did you forget `return`?){called_at()}"
            )
        for y in arrays:
            if y.dtype.kind not in "biufc" and not is_half(y.dtype):
                raise ArgumentError(
                    f"{self.what}: {name_of(self.f)} returned {type(ys[0]).__name__}, which is no number{called_at()}"
                )
        self.results = self.results or ys
        if len(leaves) and not any(np.iscomplexobj(x) for x in leaves):
            self.precision = max([precision(d) for d in (*self.dtypes, *(y.dtype for y in arrays))])
        return [wide(y) for y in arrays]

    def inside(self, leaves: Sequence[np.ndarray]) -> Arrays | None:
        """As `at`; None where the function leaves its domain: an error, a number that is none, a complex one."""
        try:
            ys = self.at(leaves)
        except OUTSIDE:
            return None
        same = len(ys) == len(self.here) and all(a.shape == b.shape for a, b in zip(ys, self.here, strict=True))
        if not same:
            raise ArgumentError(
                f"{self.what}: the results of {name_of(self.f)} change their shapes near this point{called_at()}"
            )
        kept = all(
            k == "c" or (y.dtype.kind != "c" and np.isfinite(y[np.isfinite(b)]).all())
            for k, y, b in zip(self.kinds, ys, self.here, strict=True)
        )
        return ys if kept else None

    def moved(self, k: int | None, i: int, h: complex) -> tuple[list[np.ndarray], float]:
        """The inputs with element i of leaf k (all elements of all where k is None) moved by h, and how far that really is."""
        if k is None:
            return [x + h for x in self.leaves], abs(h)
        leaves = [x.copy() for x in self.leaves]
        before = leaves[k].flat[i]
        if isinstance(h, complex):
            leaves[k] = leaves[k].astype(np.complex128)
            leaves[k].flat[i] = before + h
            return leaves, abs(h)
        with np.errstate(all="ignore"):
            after = np.float64(np.asarray(before + h).astype(self.dtypes[k]))
            leaves[k].flat[i] = after
            return leaves, float(abs(after - before))

    @property
    def only(self) -> int | None:
        """The leaf to move where there is but one number, else None: all are moved."""
        return 0 if [x.size for x in self.leaves] == [1] else None

    def size(self, k: int | None, i: int) -> float:
        """The size of what is moved."""
        if k is not None:
            return float(abs(self.leaves[k].flat[i]))
        return max([float(np.abs(x).max(initial=0.0)) for x in self.leaves], default=0.0)

    def noise(self, slopes: Arrays, k: int | None, i: int) -> Arrays:
        """How far results may be off by rounding: that of their own, and that of the inputs times the slopes."""
        size = self.size(k, i)
        return [self.precision * (np.abs(y) + size * np.abs(d)) for y, d in zip(self.here, slopes, strict=True)]

    def shaped(self, rows: Arrays) -> Any:
        """Derivatives of each result, as the function gives its results."""
        return self.structure([_shown(row) for row in rows])


def _shown(x: np.ndarray) -> Any:
    return x.item() if x.ndim == 0 else x


def _dtype(what: str, name: str, x: Any) -> np.dtype:
    """The dtype of an input that can be moved."""
    if isinstance(x, (int, float)) and not isinstance(x, (bool, np.generic)):
        return np.dtype(np.float64)
    dtype = getattr(x, "dtype", None)
    if isinstance(dtype, np.dtype) and is_inexact(dtype) and dtype.kind != "c":
        return dtype
    if isinstance(x, complex) or (isinstance(dtype, np.dtype) and dtype.kind == "c"):
        raise NotDifferentiableError(
            f"{what}: {name} is complex. Differentiate by its real and imaginary parts: lambda re, im: f(re + 1j * im){called_at()}"
        )
    kind = f"of dtype {dtype}" if isinstance(dtype, np.dtype) else f"a {type(x).__name__}"
    raise NotDifferentiableError(
        f"{what}: {name} is {kind}, and cannot be moved a little. Give floats, arrays or Tensors of floats, or containers of them"
        f"{called_at()}"
    )


def _like(x: Any, dtype: np.dtype, new: np.ndarray) -> Any:
    """A new value of the kind that was given."""
    target = np.result_type(dtype, np.complex64) if np.iscomplexobj(new) else dtype
    value = np.array(new, target)
    if isinstance(x, Tensor):
        return Tensor(placement.beside(value, x))
    if isinstance(x, np.ndarray) or placement.is_device_array(x):
        return placement.beside(value, x)
    return value[()] if isinstance(x, np.generic) else value.item()
