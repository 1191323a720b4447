"""What is known of a piece of code from its source, for the runtime."""

from __future__ import annotations

from dataclasses import dataclass

from adjoint.frontend.errors import place


@dataclass(frozen=True)
class Site:
    """One `if`, `while`, `for`, ternary, `assert`, `raise` or assignment of the user's source.

    `names` are the variables that it binds and that are needed later; `mutated` those with `x[i] = v` in it, `augmented` those with `x += v`,
    `updated` those that it binds by `x += v` alone; `attributes`
    the pairs (x, a) with `x.a = v` in it; `appended` those of which it knows nothing but
    `x.append(v)`. `abandoned` are the sides after which the function's other code is skipped,
    `optional` are variables that may have no value where they are not used; `test_binds` are the variables that the condition of a loop binds.
    `text` is the condition of an `assert`, or the target of an assignment.
    """

    filename: str
    line: int
    column: int
    kind: str
    names: tuple[str, ...] = ()
    mutated: tuple[str, ...] = ()
    augmented: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    attributes: tuple[tuple[str, str], ...] = ()
    appended: tuple[str, ...] = ()
    first: frozenset[str] = frozenset()
    second: frozenset[str] = frozenset()
    abandoned: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()
    test_binds: tuple[str, ...] = ()
    text: str = ""

    @property
    def place(self) -> str:
        """The position as messages show it."""
        return place(self.filename, self.line, self.column)
