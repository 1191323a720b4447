"""Arrays of other libraries: which work as operands, and what is said of those that do not."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.core.errors import ArgumentTypeError, called_at
from adjoint.core.language import language

#: Labelled arrays: as operands they are their numbers; as inputs they are refused, since a derivative has no labels.
_LABELLED = {"pandas": ("Series", "DataFrame", "Index"), "xarray": ("DataArray", "Dataset", "Variable")}
#: Arrays that another library traces or holds on its own devices, and the way in.
_TENSORS = {
    "torch": "ad.from_dlpack(t), or ad.from_dlpack(t.detach()) of one that requires a gradient",
    "tensorflow": "t.numpy()",
    "cupy": "ad.from_dlpack(t)",
    "mlx": "ad.from_dlpack(t)",
    "paddle": "ad.from_dlpack(t.detach())",
    "mindspore": "t.asnumpy()",
    "jax": "ad.from_dlpack(t), outside of jax's own transforms",
    "jaxlib": "ad.from_dlpack(t), outside of jax's own transforms",
    "sparse": "t.todense(), or adjoint.sparse.coo(...) for a product that stays sparse",
}
_ARRAY_NAMES = (
    "Tensor",
    "EagerTensor",
    "Variable",
    "Parameter",
    "ndarray",
    "array",
    "Array",
    "ArrayImpl",
    "COO",
    "GCXS",
)
_kinds: dict[type, str] = {}  # what each class is: "labelled", "tensor", "scipy" or ""


def kind_of(cls: type) -> str:
    """What a class of another library is: "labelled", "tensor", "scipy" (a sparse matrix) or nothing of the kind ("")."""
    found = _kinds.get(cls)
    if found is None:
        found = _kinds[cls] = next(filter(None, map(_own_kind, cls.__mro__)), "")
    return found


def _own_kind(cls: type) -> str:
    library, name = library_of(cls), cls.__name__
    if name in _LABELLED.get(library, ()) or (library == "pandas" and name.endswith("Index")):
        return "labelled"
    if library in _TENSORS and name in _ARRAY_NAMES:
        return "tensor"
    return "scipy" if str(cls.__module__).startswith("scipy.sparse") else ""


def library_of(cls: type) -> str:
    """The package that a class comes from; its `__module__` may be anything."""
    return str(cls.__module__).partition(".")[0]


def described(x: Any) -> str:
    """What a value of another library is called, for messages; "" for what is none of these.

    >>> described(3)
    ''
    """
    if not kind_of(type(x)):
        return ""
    name, library = type(x).__name__, next(library_of(c) for c in type(x).__mro__ if _own_kind(c))
    article = "an" if library[0] in "aeiox" else "a"
    return f"{article} {library} {name}"


def way_in(x: Any) -> str:
    """How such a value becomes one of ours."""
    cls = next(c for c in type(x).__mro__ if _own_kind(c))
    if kind_of(type(x)) == "labelled":
        return "x.to_numpy()" if library_of(cls) == "pandas" else "x.to_numpy(), or x.data if it holds a Tensor"
    if kind_of(type(x)) == "scipy":
        return "adjoint.sparse.from_scipy(x), or x.toarray()"
    return _TENSORS[library_of(cls)]


def refusal(what: str, x: Any) -> ArgumentTypeError:
    """The error for a value of another library in a place that cannot take it."""
    labels = ", whose labels a Tensor does not keep" if kind_of(type(x)) == "labelled" else ""
    return ArgumentTypeError(f"{what} is {described(x)}{labels}: pass {way_in(x)}{called_at()}")


def check_leaf(what: str, x: Any) -> None:
    """Raise if an argument is an array of another library."""
    if kind_of(type(x)):
        raise refusal(what, x)


def operand(x: Any) -> Any:
    """An operand as an array or a Tensor: lists may hold Tensors, labelled arrays are their numbers; others are refused.

    >>> operand([1.0, 2.0])
    array([1., 2.])
    """
    if type(x) in (list, tuple):
        return language.array(x)
    if not (kind := kind_of(type(x))):
        return x
    if kind != "labelled":
        raise refusal("an operand", x)
    return language.array(numbers(x))


def numbers(x: Any) -> Any:
    """The numbers of such a value, in their own dtype: an array, or the Tensor that an xarray.DataArray holds."""
    if kind_of(type(x)) == "scipy":
        raise refusal("a value", x)
    data = getattr(x, "data", None)
    if hasattr(data, "_trace"):
        return data
    try:
        return np.asarray(x)
    except (TypeError, RuntimeError):  # on a device, or traced by the other library
        raise refusal("a value", x) from None
