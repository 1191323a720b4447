"""Layouts of values inside a program: an op that changes nothing but where its input lies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from adjoint.backends.xla.devices import jax
from adjoint.backends.xla.lowering import lowers
from adjoint.core.absent import ZERO
from adjoint.core.errors import AdjointError, ShapeError, called_at
from adjoint.core.spec import shape_of
from adjoint.ops.broadcast import batch_front
from adjoint.ops.card import Op, card
from adjoint.parallel.device_mesh import Mesh
from adjoint.parallel.layouts_on_mesh import Layout, as_layout, check_fits, sharding


@dataclass(frozen=True)
class Constrain(Op):
    """The value itself, laid out on the mesh of the program if there is one; its cotangent is laid out as `back` says."""

    total, complex, view, same_bytes = True, True, True, True

    layout: Layout
    back: Layout

    def infer(self, x):
        if len(self.layout) > x.ndim:
            raise ShapeError(
                f"constrain: the layout {self.layout!r} is for {len(self.layout)} axes, the shape is {x.shape}"
            )
        return x

    def eval(self, xp, x):
        return x

    def expand(self, b, x):
        return x

    def vjp(self, g, y, x):
        return (card(Constrain, self.back, self.layout)(g),)

    def jvp(self, ts, y, x):
        return ZERO if ts[0] is ZERO else self(ts[0])

    def vmap(self, dims, x):
        return card(Constrain, (None, *self.layout), (None, *self.back))(batch_front(x, dims[0]))

    @classmethod
    def samples(cls, draw):
        yield cls(("data",), ("data",)), (draw(2, 3),)
        yield cls((None, "data"), ()), (draw(2, 4),)


@lowers(Constrain)
def _lowered(op, _spec, tracing, x):
    found = tracing.mesh
    if found is None:
        return x
    mesh = Mesh(dict(zip(found.axis_names, found.devices.shape, strict=True)), list(found.devices.flat))
    try:
        check_fits("constrain", op.layout, x.shape, mesh)
    except AdjointError as error:  # the line is that of the user's call, which is found further out
        raise type(error)(str(error).partition("\n    called at")[0]) from None
    return jax().lax.with_sharding_constraint(x, sharding(mesh, op.layout))


def constrain(x: Any, axes: Any) -> Any:
    """The value, laid out as `axes` says on the mesh that the program runs on; its derivatives are laid out alike.

    Nothing is computed. Where there is no mesh (one device, another backend), it is the value as it is.

    Args:
        x: a Tensor or array.
        axes: for each axis of x the axis of the mesh that it is split along, a tuple of several, or None.

    >>> import adjoint as ad
    >>> f = ad.jit(lambda x: ad.parallel.constrain(x * 2.0, ("data", None)).sum())
    >>> print(ad.grad(f)(ad.ops.ones((2, 2))))
    [[2. 2.]
     [2. 2.]]
    """
    found = as_layout("constrain", axes)
    if len(found) > len(shape_of(x)):
        raise ShapeError(
            f"constrain: the layout {axes!r} is for {len(found)} axes, the shape is {shape_of(x)}{called_at()}"
        )
    return card(Constrain, found, found)(x)
