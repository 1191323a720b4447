"""PyTorch's words for the arguments of ops: those that mean the same work; those that would mean something else are refused by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from adjoint.core.errors import ArgumentTypeError, called_at
from adjoint.core.keywords import understanding

#: Further words of single ops, beside `dim=` and `keepdim=`, which all understand that have an axis.
WORDS = {
    "flip": {"dims": "axis"},
    "roll": {"dims": "axis"},
    "vector_norm": {"p": "ord"},
    "leaky_relu": {"negative_slope": "alpha"},
    "one_hot": {"num_classes": "depth"},
    "tensordot": {"dims": "axes"},
    "rms_norm": {"eps": "epsilon"},
    "diagonal": {"axis1": "dim1", "axis2": "dim2"},
    "swapaxes": {"dim0": "axis0", "dim1": "axis1"},
}
_BOTH = "{0}(dim=...) gives values and positions in PyTorch. Here the values are ops.a{0}(x, axis), their positions ops.arg{0}(x, axis)"
_SWAP = "transpose(dim0, dim1) of PyTorch is ops.swapaxes(x, dim0, dim1); ops.transpose takes the new order of all axes"
GATHER = "gather(input, dim, index) of PyTorch is ops.gather_elements(x, dim, index); ops.gather takes whole slices, as ops.take does"
_INPLACE = "there is no inplace=: an op gives a new Tensor, and a compiled function reuses the memory by itself"
#: Words that mean something else in PyTorch, with what to write instead.
REFUSED = {
    "max": {"dim": _BOTH.format("max")},
    "min": {"dim": _BOTH.format("min")},
    "median": {"dim": "median(dim=...) gives values and positions in PyTorch, and the lower of two in the middle. Here the value is "
               "ops.median(x, axis=...), the mean of both"},
    "transpose": {"dim0": _SWAP, "dim1": _SWAP},
    "gather": {"dim": GATHER, "index": GATHER},
    **{name: {"inplace": _INPLACE} for name in ("relu", "relu6", "silu", "dropout", "leaky_relu", "elu", "celu", "selu", "hardtanh", "softplus")},
}  # fmt: skip


_made: dict[tuple[Callable[..., Any], str], Callable[..., Any]] = {}  # once for all names of a function


def with_habits(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """An op, or method, that understands PyTorch's words for its options; one without options is left as it is."""
    own = getattr(function, "__name__", name)
    named = name if own in ("max", "min") else own  # `max` refuses what `amax`, the same function, understands
    special = named if named in REFUSED else ""
    if (function, special) not in _made:
        _made[function, special] = _with_habits(function, special)
    return _made[function, special]


def _with_habits(function: Callable[..., Any], special: str) -> Callable[..., Any]:
    code, name = getattr(function, "__code__", None), getattr(function, "__name__", special)
    if code is not None and not hasattr(function, "__wrapped__") and not special and name not in WORDS:
        count = code.co_argcount + code.co_kwonlyargcount
        options = function.__defaults__ or code.co_kwonlyargcount or {"axis", "dim"} & {*code.co_varnames[:count]}
        if not options and count < 3:  # of inputs alone: no word to mistake
            return function
    change = _variance(name) if name in ("var", "std") else _norm if name == "norm" else None
    return understanding(function, special or name, WORDS.get(name), REFUSED.get(special), change)


@dataclass(frozen=True)
class OfElements:
    """The order of a norm of all elements along the axes, however many these are."""

    p: float


def _norm(options: dict[str, Any]) -> dict[str, Any]:
    """PyTorch's `p=` is of the elements, also along two axes, where `ord=` is NumPy's norm of matrices."""
    if "p" not in options:
        return options
    if "ord" in options:
        raise ArgumentTypeError(f"norm: p= and ord= say the same of vectors; give one of them{called_at()}")
    p = options["p"]
    order = None if p in ("fro", None) else p if isinstance(p, str) else OfElements(p)
    return {**{word: x for word, x in options.items() if word != "p"}, "ord": order}


def _variance(name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """PyTorch divides by n - 1 unless told otherwise, and says so in other words."""

    def change(options: dict[str, Any]) -> dict[str, Any]:
        made = dict(options)
        said = [word for word in ("unbiased", "correction", "ddof") if word in made]
        if len(said) > 1:
            raise ArgumentTypeError(f"{name}: {said[0]}= and {said[1]}= say the same; give one of them{called_at()}")
        if "ddof" not in made:
            if "unbiased" in made:
                made["ddof"] = int(bool(made.pop("unbiased")))
            elif "correction" in made:
                made["ddof"] = made.pop("correction")
            elif "dim" in made:
                raise ArgumentTypeError(
                    f"{name}: with PyTorch's dim= say which: correction=1 divides by n - 1, as PyTorch does unless told "
                    f"otherwise, correction=0 by n, as {name}(x, axis) does{called_at()}"
                )
        return made

    return change
