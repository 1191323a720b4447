"""What `__array_namespace_info__()` of the array API standard says of Tensors."""

from __future__ import annotations

from typing import Any

from adjoint import numpy as np
from adjoint.core.errors import ArgumentError, called_at

_KINDS = {
    "bool": ["bool"],
    "signed integer": ["int8", "int16", "int32", "int64"],
    "unsigned integer": ["uint8", "uint16", "uint32", "uint64"],
    "real floating": ["float32", "float64"],
    "complex floating": ["complex64", "complex128"],
}
_KINDS["integral"] = _KINDS["signed integer"] + _KINDS["unsigned integer"]
_KINDS["numeric"] = _KINDS["integral"] + _KINDS["real floating"] + _KINDS["complex floating"]


class ArrayNamespaceInfo:
    """Dtypes, devices and capabilities of the namespace."""

    def capabilities(self) -> dict[str, Any]:
        """Masks as indices and shapes that depend on data work outside of jit and vmap; axes up to NumPy's 64."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> str:
        """Where new arrays are made."""
        return np.zeros(()).device

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """What arrays are made in if no dtype is named."""
        names = {"real floating": "float64", "complex floating": "complex128", "integral": "int64", "indexing": "int64"}
        return {kind: np.zeros((), name).dtype for kind, name in names.items()}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """The dtypes of one kind or several, by name."""
        kinds = (kind,) if isinstance(kind, str) else ("bool", "numeric") if kind is None else kind
        for one in kinds:
            if one not in _KINDS:
                raise ArgumentError(f"dtypes: the kind {one!r} is not one of {', '.join(_KINDS)}{called_at()}")
        return {name: np.zeros((), name).dtype for one in kinds for name in _KINDS[one]}

    def devices(self) -> list[str]:
        """The host; others that JAX drives are reached with `x.to(device)`."""
        return ["cpu"]
