"""Array namespaces: what kernels reach for beyond the namespace itself. Heavy modules are imported when first used."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from types import ModuleType
from typing import Any


@lru_cache(maxsize=8)
def special(xp: Any) -> ModuleType:
    """The special functions that go with an array namespace: SciPy's for NumPy, JAX's and CuPy's for theirs."""
    homes = {"numpy": "scipy.special", "jax.numpy": "jax.scipy.special", "cupy": "cupyx.scipy.special"}
    return import_module(homes[xp.__name__])
