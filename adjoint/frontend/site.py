"""What is known of a branch or loop from its source, for the runtime."""

from __future__ import annotations

from dataclasses import dataclass

from adjoint.frontend.errors import place


@dataclass(frozen=True)
class Site:
    """One `if`, `while`, `for` or ternary of the user's source.

    `names` are the variables that it binds and that are needed later; `mutated` those with `x[i] = v` in it; `attributes`
    the pairs (x, a) with `x.a = v` in it. `abandoned` are the sides after which the function's other code is skipped,
    `raises` those that always raise; `test_binds` says that the condition of a loop binds variables.
    """

    filename: str
    line: int
    column: int
    kind: str
    names: tuple[str, ...] = ()
    mutated: tuple[str, ...] = ()
    attributes: tuple[tuple[str, str], ...] = ()
    first: frozenset[str] = frozenset()
    second: frozenset[str] = frozenset()
    abandoned: frozenset[str] = frozenset()
    raises: frozenset[str] = frozenset()
    test_binds: bool = False

    @property
    def place(self) -> str:
        """The position as messages show it."""
        return place(self.filename, self.line, self.column)
