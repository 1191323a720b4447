"""The functions that are methods of Tensor too: `x.sum(0)` is `ops.sum(x, 0)`."""

from __future__ import annotations

import dis
from functools import wraps
from typing import Any

from adjoint.core.errors import AdjointError, called_at, user_frame
from adjoint.core.tensor import Tensor
from adjoint.ops import functional
from adjoint.ops.functional import parts
from adjoint.ops.reduce import with_axes

METHODS = [
    "angle",
    "argwhere",
    "astype",
    "bernoulli",
    "bincount",
    "clamp",
    "clip",
    "conj",
    "cross",
    "cumprod",
    "diag",
    "diag_embed",
    "diagonal",
    "digamma",
    "dot",
    "fmod",
    "gather",
    "hypot",
    "index_add",
    "index_fill",
    "index_select",
    "inner",
    "isclose",
    "isinf",
    "lerp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "masked_fill",
    "masked_select",
    "matmul",
    "norm",
    "one_hot",
    "outer",
    "polygamma",
    "reciprocal",
    "repeat",
    "roll",
    "round",
    "rsqrt",
    "sigmoid",
    "sinc",
    "square",
    "take",
    "tile",
    "trace",
    "tril",
    "triu",
    "unique",
    "where",
    "xlogy",
]


def _view(x: Any, *shape: Any) -> Any:
    """`reshape` by PyTorch's name."""
    return functional.reshape(x, *shape)


def _transposed(x: Any) -> Any:
    """The axes reversed."""
    return functional.transpose(x)


def _last_two_swapped(x: Any) -> Any:
    """The last two axes exchanged."""
    return functional.swapaxes(x, -1, -2)


@wraps(functional.sort)
def _sorted(x: Any, *args: Any, **options: Any) -> Any:
    if _is_discarded():
        raise AdjointError(
            "x.sort() returns the sorted values and their indices and leaves x as it is, where NumPy's sorts in place. "
            f"Write x = np.sort(x), or values, indices = x.sort(){called_at()}"
        )
    return functional.sort(x, *args, **options)


def _nonzero(x: Any, as_tuple: bool = True) -> Any:
    """As numpy's method: an array of positions for each axis, which can index. `ops.nonzero` gives a row for each element."""
    return functional.nonzero(x, as_tuple)


REDUCTIONS = ["count_nonzero", "logsumexp", "median", "prod", "ptp", "softmax", "std", "var"]


def _is_discarded() -> bool:
    """Whether the user's statement that is being run is a bare call, whose result goes nowhere."""
    frame = user_frame()
    following = (i for i in dis.get_instructions(frame.f_code) if i.offset > frame.f_lasti) if frame else iter(())
    return next((i.opname == "POP_TOP" for i in following if i.opname != "CACHE"), False)


def attach() -> None:
    """Give Tensor its methods."""
    for name in METHODS:
        setattr(Tensor, name, getattr(functional, name))
    for name in REDUCTIONS:
        setattr(Tensor, name, with_axes(getattr(functional, name)))
    extra = {
        "view": _view,
        "sort": _sorted,
        "nonzero": _nonzero,
        "T": property(_transposed, doc="The axes reversed."),
        "mT": property(_last_two_swapped, doc="The last two axes exchanged."),
        "real": property(parts.real_part, doc="The real part."),
        "imag": property(parts.imaginary_part, doc="The imaginary part."),
        "to": functional.cast,
        "conj": parts.conjugate,
        "conjugate": parts.conjugate,
        "dim": lambda x: x.ndim,
        "float": lambda x: functional.cast(x, "float32"),
        "long": lambda x: functional.cast(x, "int64"),
        "bool": lambda x: functional.cast(x, "bool"),
    }
    for name, method in extra.items():
        setattr(Tensor, name, method)
