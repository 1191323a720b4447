"""A Tensor as something of its own: an array of its elements, a copy of a leaf of `backward()`."""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoint.core import placement, views
from adjoint.core.autograd import autograd
from adjoint.core.dispatch import snapshot
from adjoint.core.language import language
from adjoint.core.layout import UNKNOWN
from adjoint.core.spec import number_of


def array_of_elements(x: Any) -> np.ndarray:
    """An object array of the elements, each still tracked, for code that insists on np.asarray."""
    if x.shape == ():  # np.array([x, y, ...]) asks each of them
        alone = np.empty((), object)
        alone[()] = language.cast(x, x.dtype) if number_of(x) is not None else snapshot(x)
        return alone
    result = np.fromiter(language.rows(language.reshape(x, (x.size,))), object, x.size)
    lies = views.layout(x)
    array = np.empty(x.shape, object) if lies is None or lies is UNKNOWN else np.empty_like(lies, object)
    array[...] = result.reshape(x.shape)
    return array


def accumulated(x: Any) -> Any:
    """What backward() has added up for a leaf, as a host array."""
    grad = autograd.get_accumulated(x)
    return None if grad is None else grad.asnumpy()


def copy_of_leaf(x: Any, cls: Any) -> Any:
    """A leaf of its own with the same value and gradient, on the same device."""
    fresh = cls(placement.copied(x._plain()), requires_grad=True)
    grad = autograd.get_accumulated(x)
    if grad is not None:
        fresh.grad = grad.copy()
    return fresh
