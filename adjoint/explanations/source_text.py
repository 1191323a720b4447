"""The names of a source, its constants and its comments."""

from __future__ import annotations

import ast
import builtins
import keyword
import os
import re
from typing import Any

import numpy as np

from adjoint.core.parsing import line_of
from adjoint.explanations import numpy_kernels
from adjoint.explanations.array_text import INSIDE, array_text, number_tree
from adjoint.explanations.spelling import parsed


class FreshNames:
    """Names that are used once."""

    def __init__(self) -> None:
        kernels = {name for name in vars(numpy_kernels) if not name.startswith("_")}
        self.taken = {*dir(builtins), *keyword.kwlist, *keyword.softkwlist, "np", "scipy", "base64", *kernels}

    def fresh(self, wanted: str) -> str:
        """The name wanted, or one like it."""
        stem = re.sub(r"\W+", "_", wanted).strip("_") or "t"
        stem = f"w_{stem}" if stem[0].isdigit() else stem
        name, k = stem, 1
        while name in self.taken:
            name, k = f"{stem}_{k}", k + 1
        self.taken.add(name)
        return name

    def numbered(self, stem: str) -> str:
        """`t1`, `t2` and so on."""
        k = 1
        while f"{stem}{k}" in self.taken:
            k += 1
        self.taken.add(f"{stem}{k}")
        return f"{stem}{k}"


class SourceText:
    """What the blocks of one function share. `constants` are the arrays that stand at the head, by name."""

    def __init__(self, several_files: bool = False) -> None:
        self.names = FreshNames()
        self.constants: dict[str, np.ndarray] = {}
        self.several_files = several_files
        self.plain: bool | None = None  # whether Python's own numbers do where a single float64 is meant
        self._told: set[tuple[str, int]] = set()

    def constant(self, value: Any, weak: bool) -> ast.expr:
        """A constant as an expression."""
        if not isinstance(value, np.ndarray) or value.ndim == 0:
            return number_tree(value, weak)
        text = array_text(value)
        if len(text) <= INSIDE:
            return parsed(text)
        for name, known in self.constants.items():
            if known is value or (
                known.dtype == value.dtype and known.tobytes() == value.tobytes() and known.shape == value.shape
            ):
                return ast.Name(name)
        name = self.names.numbered("C")
        self.constants[name] = value
        return ast.Name(name)

    def told(self, place: tuple[str, int]) -> str:
        """A comment that points at a line of the user's; its text comes with the first one."""
        key = (place[0], place[1])
        text = "" if key in self._told else line_of(*key).strip()
        self._told.add(key)
        line = f"{os.path.basename(place[0])}:{place[1]}" if self.several_files else f"line {place[1]}"
        return f"# {line}" + (f": {text}" if text else "")
