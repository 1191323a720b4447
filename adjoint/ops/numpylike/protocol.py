"""NumPy's protocols: what `np.sin(x)`, `array * x` and `np.sum(x, 0)` mean for a Tensor in code that knows nothing of us.

What no transform traces is computed by NumPy itself; what one traces, by the functions with NumPy's names in the
`numpy_*` files, so that it is differentiated.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.core import tree
from adjoint.core.dispatch import Value, wrap
from adjoint.core.errors import AdjointError, ArgumentTypeError, CutGradientError, DtypeError, called_at
from adjoint.core.foreign import kind_of
from adjoint.core.foreign import operand as foreign_operand
from adjoint.core.spec import number_of
from adjoint.core.tensor import Tensor
from adjoint.ops import functional as _f
from adjoint.ops.indexing import index_put_add
from adjoint.ops.language import reshape, where
from adjoint.ops.numpylike import api as numpy_api
from adjoint.ops.numpylike import fft as numpy_fft
from adjoint.ops.numpylike import linalg as numpy_linalg
from adjoint.ops.numpylike import reduction as _r
from adjoint.ops.numpylike.common import (
    array_of,
    cast,
    is_plain,
    is_traced,
    one_axis,
    refuse,
    replaced,
    settled,
    stored,
    tensor,
    values_in,
    would_cut,
)
from adjoint.ops.numpylike.ufuncs import meaning
from adjoint.ops.publish import UFUNCS

_NUMBERS = frozenset({bool, int, float, complex, *np.sctypeDict.values()})
_LAYOUT = {"order", "subok"}  # about memory and subclasses: without meaning for Tensors
_NO_VALUE = np._NoValue  # type: ignore[attr-defined]


def numpy_ufunc(ufunc: np.ufunc, method: str, inputs: tuple, options: dict) -> Any:
    """What `Tensor.__array_ufunc__` does."""
    if not options and method == "__call__":
        op = UFUNCS.get(ufunc)
        if op is not None:
            for x in inputs:
                if not isinstance(x, Value):
                    kind = type(x)
                    if kind is np.ndarray:
                        if x.dtype.kind == "O":
                            break
                        if _is_from_optimiser() and is_plain(inputs):
                            return _as_arrays(ufunc, inputs, {})
                    elif kind not in _NUMBERS:
                        break
            else:
                return settled(op(*inputs))
    if any(kind_of(type(x)) for x in inputs):
        inputs = tuple(map(foreign_operand, inputs))
    if not all(_is_known(x) for x in (*inputs, *options.get("out", ()))):
        return NotImplemented
    return settled(_METHODS[method](ufunc, inputs, options))


def _is_from_optimiser() -> bool:
    """Whether SciPy's optimisers called the NumPy function or ufunc whose protocol this is: their C code takes arrays only."""
    return sys._getframe(4).f_globals.get("__name__", "").startswith("scipy.optimize")


def _as_arrays(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """NumPy's own result on the plain arrays, as an array that the caller may write to."""
    y = function(*replaced(args, _plain), **replaced(kwargs, _plain))
    if not isinstance(y, np.ndarray):
        return y
    return y.copy() if any(np.may_share_memory(y, x._value) for x in values_in(args)) else y


def _is_known(x: Any) -> bool:
    return (
        x is None
        or isinstance(x, (Value, np.ndarray, list, tuple, range, slice))
        or type(x) in _NUMBERS
        or x is Ellipsis
    )


def _operand(x: Any) -> Any:
    """An input of a ufunc: Python numbers stay weak."""
    return x if isinstance(x, Value) or type(x) in _NUMBERS else tensor(x)


def _plain(x: Any) -> Any:
    return x._value


def _untracked(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """NumPy's own result on the plain arrays, its arrays wrapped."""
    y = function(*replaced(args, _plain), **replaced(kwargs, _plain))
    return _wrapped(y) if isinstance(y, (np.ndarray, np.generic)) else tree.map(_wrapped, y)


def _wrapped(y: Any) -> Any:
    return wrap(y) if isinstance(y, (np.ndarray, np.generic)) and y.dtype.kind in "biufc" else y


def _function(ufunc: np.ufunc) -> Callable[..., Any]:
    function = meaning(ufunc)
    if function is None:
        raise CutGradientError(
            f"the ufunc {ufunc.__name__} has no derivative in adjoint, and its input is being differentiated, batched or "
            f"compiled. Compose it of others, give it a rule with ad.custom_vjp, or pass x.asnumpy() if no gradient is "
            f"wanted.{called_at()}"
        )
    return function


def _call(ufunc: np.ufunc, inputs: tuple, options: dict) -> Any:
    inputs = tuple(map(_operand, inputs))
    if not options:
        by_numpy = is_plain(inputs) or (meaning(ufunc) is None and not would_cut(inputs))
        return _untracked(ufunc, inputs, {}) if by_numpy else wrap(_function(ufunc)(*inputs))
    outs = options.pop("out", (None,) * ufunc.nout)
    mask = options.pop("where", True)
    casting = options.get("casting", "same_kind")
    if is_plain(inputs, mask, outs) and (mask is True or outs[0] is None):
        return _outputs(_untracked(ufunc, inputs, _if_given(options, where=mask)), outs, casting)
    function = _function(ufunc)
    dtype = options.pop("dtype", None)
    if dtype is not None:
        inputs = tuple(_given(ufunc, x, dtype, casting) for x in inputs)
    extra = {k: v for k, v in options.items() if k not in _LAYOUT | {"casting"}}
    if ufunc is not np.vecdot:
        refuse(f"numpy.{ufunc.__name__}", **extra)
    with np.errstate(**({} if mask is True else {"all": "ignore"})):  # type: ignore[arg-type]
        y = function(*inputs, **extra)
    if mask is not True:
        if outs[0] is None or len(outs) > 1:
            raise ArgumentTypeError(
                f"numpy.{ufunc.__name__}: where= without out= leaves elements undefined; use np.where{called_at()}"
            )
        y = where(tensor(mask), y, outs[0])
    return _outputs(y, outs, casting)


def _given(ufunc: np.ufunc, x: Any, dtype: Any, casting: str) -> Any:
    """An input in the dtype that the caller chose; Python numbers take it by themselves."""
    if number_of(x) is not None:
        return x
    x = tensor(x)
    if not np.can_cast(x.dtype, dtype, casting):  # type: ignore[arg-type]
        raise DtypeError(
            f"numpy.{ufunc.__name__}: dtype={np.dtype(dtype)} cannot hold {x.dtype} by the rule {casting!r}{called_at()}"
        )
    return cast(x, dtype)


def _if_given(options: dict, **more: Any) -> dict:
    return {**options, **{k: v for k, v in more.items() if v is not True}}


def _outputs(y: Any, outs: tuple, casting: str = "same_kind") -> Any:
    if isinstance(y, tuple):
        return tuple(stored(out, wrap(v), casting) for out, v in zip(outs, y, strict=True))
    return stored(outs[0], wrap(y), casting)


# ---------------------------------------------------------------- methods of ufuncs

_REDUCE: dict[np.ufunc, Callable[..., Any]] = {
    np.add: _r.sum, np.multiply: _r.prod, np.maximum: _r.max, np.minimum: _r.min, np.logical_and: _r.all,
    np.logical_or: _r.any,
}  # fmt: skip
_ACCUMULATE: dict[np.ufunc, Callable[..., Any]] = {
    np.add: _r.cumsum, np.multiply: _r.cumprod,
    np.maximum: lambda x, axis: _f.cummax(x, axis)[0], np.minimum: lambda x, axis: _f.cummin(x, axis)[0],
}  # fmt: skip


def _reduce(ufunc: np.ufunc, inputs: tuple, options: dict) -> Any:
    x, axis, *rest = (*inputs, 0)[: max(2, len(inputs))]
    options = {**dict(zip(("dtype", "out", "keepdims", "initial", "where"), rest, strict=False)), **options}
    outs = options.pop("out", None) or (None,)
    x, axis = tensor(x), options.pop("axis", axis)
    options = {k: v for k, v in options.items() if v is not _NO_VALUE and not (k == "dtype" and v is None)}
    if is_plain(x, options):
        return _outputs(_untracked(ufunc.reduce, (x,), {"axis": axis, **options}), outs)
    if ufunc in _REDUCE:
        return _outputs(_REDUCE[ufunc](x, axis, **options), outs)
    if isinstance(axis, tuple) and len(axis) == 1:
        (axis,) = axis
    keepdims, initial = options.pop("keepdims", False), options.pop("initial", None)
    refuse(f"numpy.{ufunc.__name__}.reduce", **options)
    if isinstance(axis, tuple) or (axis is None and x.ndim > 1):
        raise ArgumentTypeError(
            f"numpy.{ufunc.__name__}.reduce: the argument axis={axis!r} must be one axis{called_at()}"
        )
    line, axis = one_axis("reduce", x, axis)
    parts = _f.unstack(line, axis)
    y = functools.reduce(_function(ufunc), parts if initial is None else (initial, *parts))
    return _outputs(_f.expand_dims(y, axis) if keepdims else y, outs)


def _accumulate(ufunc: np.ufunc, inputs: tuple, options: dict) -> Any:
    x, axis, *rest = (*inputs, 0)[: max(2, len(inputs))]
    options = {**dict(zip(("dtype", "out"), rest, strict=False)), **options}
    outs, dtype = options.pop("out", None) or (None,), options.pop("dtype", None)
    x, axis = cast(tensor(x), dtype), options.pop("axis", axis)
    if is_plain(x):
        return _outputs(_untracked(ufunc.accumulate, (x,), {"axis": axis}), outs)
    x, axis = one_axis("accumulate", x, axis)
    if ufunc in _ACCUMULATE:
        return _outputs(_ACCUMULATE[ufunc](x, axis), outs)
    running = list(_f.unstack(x, axis))
    for k in range(1, len(running)):
        running[k] = _function(ufunc)(running[k - 1], running[k])
    return _outputs(_f.stack(running, axis), outs)


def _reduceat(ufunc: np.ufunc, inputs: tuple, options: dict) -> Any:
    x, indices, *rest = inputs
    options = {**dict(zip(("axis", "dtype", "out"), rest, strict=False)), **options}
    outs, dtype = options.pop("out", None) or (None,), options.pop("dtype", None)
    x, axis = one_axis("reduceat", cast(tensor(x), dtype), options.pop("axis", 0))
    starts = [int(i) for i in array_of(tensor(indices))]
    stops = [*starts[1:], x.shape[axis]]
    pieces = [_f.slice_axis(x, axis, a, b if a < b else a + 1) for a, b in zip(starts, stops, strict=True)]
    return _outputs(_f.stack([_reduce(ufunc, (p,), {"axis": axis}) for p in pieces], axis), outs)


def _outer(ufunc: np.ufunc, inputs: tuple, options: dict) -> Any:
    x, y = map(tensor, inputs)
    return _call(ufunc, (reshape(x, x.shape + (1,) * y.ndim), y), options)


def _at(ufunc: np.ufunc, inputs: tuple, options: dict) -> None:
    target, indices, *operands = inputs
    if not isinstance(target, Value):
        if is_traced(operands):
            raise CutGradientError(
                f"numpy.{ufunc.__name__}.at writes a Tensor that is being differentiated into a NumPy array, which would "
                f"cut its gradient. Make the array a Tensor first, with adjoint.numpy.zeros.{called_at()}"
            )
        ufunc.at(target, replaced(indices, array_of), *map(array_of, operands))  # type: ignore[arg-type]
        return
    if ufunc not in (np.add, np.subtract):
        raise CutGradientError(
            f"numpy.{ufunc.__name__}.at cannot be differentiated; add.at and subtract.at can. Write `x[i] = ...`, which "
            f"rebinds x and is differentiable.{called_at()}"
        )
    value = tensor(operands[0])
    target[...] = index_put_add(target, indices, value if ufunc is np.add else -value)  # type: ignore[index]


_METHODS: dict[str, Callable[[np.ufunc, tuple, dict], Any]] = {
    "__call__": _call, "reduce": _reduce, "accumulate": _accumulate, "reduceat": _reduceat, "outer": _outer, "at": _at,
}  # fmt: skip


# ---------------------------------------------------------------- functions

_WRITES = {getattr(np, name) for name in numpy_api._IN_PLACE}
FUNCTIONS: dict[Any, Callable[..., Any]] = {
    getattr(theirs, name): function
    for ours, theirs in ((numpy_api, np), (numpy_linalg, np.linalg), (numpy_fft, np.fft))
    for name, function in vars(ours).items()
    if callable(function) and not name.startswith("_") and callable(getattr(theirs, name, None))
}


#: Functions that show or store values: no derivative passes through them.
_SHOWS = {
    getattr(np, name)
    for name in ("array_repr", "array_str", "array2string", "save", "savez", "savetxt", "shares_memory")
}


def numpy_function(function: Any, args: tuple, kwargs: dict) -> Any:
    """What `Tensor.__array_function__` does."""
    kwargs = {k: v for k, v in kwargs.items() if v is not _NO_VALUE}
    ours = FUNCTIONS.get(function)
    if function in _WRITES:
        target = args[0] if args else next(iter(kwargs.values()))
        # What an object array holds stays tracked: np.full(3, x) writes into one.
        if isinstance(target, Value) or (is_traced(args, kwargs) and target.dtype != object):
            return ours(*args, **kwargs)  # type: ignore[misc]
    elif function in _SHOWS:
        return function(*replaced(args, array_of), **replaced(kwargs, array_of))
    elif ours is not None and (kwargs.get("out") is not None or not is_plain(args, kwargs)):
        return ours(*args, **kwargs)
    if is_traced(args, kwargs):
        return _by_elements(function, args, kwargs)
    if _is_from_optimiser():
        return _as_arrays(function, args, kwargs)
    y = _untracked(function, args, kwargs)
    return ours(*args, **kwargs) if ours is not None and _shares_elements(y, args) else y


def _shares_elements(y: Any, args: tuple) -> bool:
    """Whether NumPy gave a view of an input: a write to it must be seen there."""
    found = [v._value for v in values_in(y)]
    views = [v for v in found if getattr(v, "base", None) is not None]
    given = [x._value for x in values_in(args)]
    return any(v is x for v in found for x in given) or any(np.may_share_memory(v, x) for v in views for x in given)


def _by_elements(function: Any, args: tuple, kwargs: dict) -> Any:
    """A function that is not in the table, on arrays of tracked elements: as slow as Python, but each one is traced."""
    name = f"{function.__module__}.{function.__name__}"
    try:
        if function.__module__ == "numpy.linalg":
            raise TypeError("its kernel is LAPACK's")
        computed = getattr(function, "_implementation", function)  # past the dispatch: poly's looks at the elements
        y = computed(*replaced(args, np.asarray), **replaced(kwargs, np.asarray))
    except (AdjointError, TypeError, ValueError, AttributeError) as error:
        if not would_cut(args, kwargs):
            return _untracked(function, args, kwargs)
        raise CutGradientError(
            f"{name} has no derivative in adjoint, and an argument is being differentiated, batched or compiled ({error}). "
            f"Use another function of numpy or adjoint.numpy, or pass x.asnumpy() if no gradient is wanted.{called_at()}"
        ) from None
    return tree.map(lambda v: tensor(v) if isinstance(v, np.ndarray) and next(values_in(v), None) is not None else v, y)


# ---------------------------------------------------------------- object arrays: np.cbrt(array) calls x.cbrt()


def _method(ufunc: np.ufunc) -> Callable[[Any], Any]:
    def method(x: Any) -> Any:
        return numpy_ufunc(ufunc, "__call__", (x,), {})

    method.__name__, method.__doc__ = ufunc.__name__, f"As numpy.{ufunc.__name__}."
    return method


for _ufunc in (np.cbrt, np.exp2, np.rint, np.fabs, np.degrees, np.radians, np.deg2rad, np.rad2deg):
    setattr(Tensor, _ufunc.__name__, _method(_ufunc))
