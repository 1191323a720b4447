"""mindspore.ops.vm_impl_registry: what primitives compute, as functions in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.mindspore.ops._register_for_op import Registry

vm_impl_registry = Registry()


def get_vm_impl_fn(prim: Any) -> Callable[..., Any] | None:
    """The function in Python that computes a primitive, or None."""
    getter = vm_impl_registry.get(prim, None)
    return None if getter is None else getter(prim)
