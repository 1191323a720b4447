"""The functions that converted code calls, under the name `_ad`."""

from __future__ import annotations

from adjoint.frontend.branches import and_, choose, if_, or_
from adjoint.frontend.calls import call, item
from adjoint.frontend.effects import holds, print_, raised, text
from adjoint.frontend.leaks import mutate, stored
from adjoint.frontend.logic import compare, matched, not_
from adjoint.frontend.loops import for_, while_
from adjoint.frontend.reading import attr, free, variable

__all__ = [
    "and_", "attr", "call", "choose", "compare", "for_", "free", "holds", "if_", "item", "matched", "mutate", "not_", "or_",
    "print_", "raised", "stored", "text", "variable", "while_",
]  # fmt: skip
