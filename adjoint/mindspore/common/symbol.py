"""mindspore.Symbol: what is known of a size that is not known."""

from __future__ import annotations

from typing import Any


class Symbol:
    """A size of a Tensor given to `set_inputs`: here a graph is compiled for the sizes that come.

    >>> str(Symbol(divisor=8))
    "{'divisor': 8}"
    """

    def __init__(
        self, max: int = 0, min: int = 1, divisor: int = 1, remainder: int = 0, unique: bool = False, **kwargs: Any
    ) -> None:
        for name, value in (("max", max), ("min", min), ("divisor", divisor), ("remainder", remainder)):
            if not isinstance(value, int) or isinstance(value, bool):
                raise TypeError(f"For 'Symbol', the argument '{name}' must be int, but got {type(value)}")
        if not isinstance(unique, bool):
            raise TypeError(f"For 'Symbol', the argument 'unique' must be bool, but got {type(unique)}")
        if min <= 0 or divisor <= 0 or not 0 <= remainder < divisor:
            raise ValueError(
                f"For 'Symbol', 'min' and 'divisor' must be above 0 and 'remainder' below 'divisor', but got {min}, "
                f"{divisor} and {remainder}"
            )
        self.max, self.min, self.divisor, self.remainder, self.unique = max, min, divisor, remainder, unique

    def to_dict(self) -> dict[str, Any]:
        """What is known, where it says something."""
        said = {"max": 0, "min": 1, "divisor": 1, "remainder": 0, "unique": False}
        return {name: getattr(self, name) for name, nothing in said.items() if getattr(self, name) != nothing}

    def __str__(self) -> str:
        return str(self.to_dict())
