"""Writing into a Tensor: `x[i] = v` and `x += v`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.core import dispatch, views
from adjoint.core.autograd import autograd
from adjoint.core.errors import AdjointError, DtypeError, ShapeError, called_at
from adjoint.core.language import language


class InPlaceOperators:
    """What writes into a Tensor, and so into all that show its elements."""

    __slots__ = ()

    if TYPE_CHECKING:  # it is a part of Tensor

        def __getattr__(self, name: str) -> Any: ...

    def __setitem__(self, index: Any, value: Any) -> None:
        """Replace elements: differentiable, and seen in every Tensor that shows them, as in NumPy."""
        self._refuse_leaf("x[i] = v", "y = x.copy(); y[i] = v")
        new = dispatch.wrap(language.setitem(self, index, value))
        if self.tracked and autograd.is_leaf(self):
            views.write(self, new, language.place(index))
        elif getattr(self, "_kin", None) is None:
            views.write(self, new)
        else:
            views.write(self, new, language.place(index))

    def _take(self, new: Any) -> None:
        """Hold what a write to a part of this Tensor has made of it."""
        self._refuse_leaf("a write to a part of x", "y = x.copy(), and a part of y")
        if self.tracked and autograd.is_leaf(self):
            if not np.can_cast(new.dtype, self.dtype, "same_kind"):
                raise DtypeError(
                    f"a Tensor of {self.dtype} with requires_grad=True cannot take values of {new.dtype}: "
                    f"cast them to {self.dtype} first{called_at()}"
                )
            autograd.set_leaf(self, new)
        else:
            self._rebind(new)

    def _refuse_leaf(self, what: str, instead: str) -> None:
        if self.tracked and autograd.is_leaf(self) and not autograd.is_muted():
            raise AdjointError(
                f"{what} on a Tensor with requires_grad=True would change a leaf that backward() must reach. "
                f"Write to a copy: {instead}; or under ad.no_grad(){called_at()}"
            )

    def _updated(self, new: Any) -> Any:
        """What `x += v` leaves: x itself with new elements, as in NumPy; a Tensor without axes is replaced, as a number is."""
        if self._trace.shapeless or not views.updates(self) or not language.writes(self, new):
            # Elements picked by a mask are written back by `x[mask] = ...`.
            return new
        if new.shape != self.shape:
            raise ShapeError(
                f"x += v (or -=, *=, ...) writes into x, of shape {self.shape}, what has shape {new.shape}: "
                f"write x = x + v{called_at()}"
            )
        if not np.can_cast(new.dtype, self.dtype, "same_kind"):
            raise DtypeError(
                f"x += v (or -=, *=, ...) writes {new.dtype} into x, which is {self.dtype}: write x = x + v{called_at()}"
            )
        self._refuse_leaf("x += v", "y = x.copy(); y += v, or y = x + v")
        views.write(self, new)
        return self
