"""The functions that converted code calls, under the name `_ad_runtime`."""

from __future__ import annotations

from adjoint.frontend.branches import and_, choose, compare, if_, or_
from adjoint.frontend.calls import call, item
from adjoint.frontend.effects import holds, print_, raised, text
from adjoint.frontend.leaks import mutate, stored
from adjoint.frontend.logic import matched, not_
from adjoint.frontend.loops import for_, while_
from adjoint.frontend.numbers import attribute
from adjoint.frontend.reading import attr, free, globals_, imported, updated, variable
from adjoint.frontend.reading_calls import printed, read_by
from adjoint.frontend.region import OURS, managed, trying

__all__ = [
    "OURS", "and_", "attr", "attribute", "call", "choose", "compare", "for_", "free", "globals_", "holds", "if_", "imported", "item", "managed", "matched", "mutate",
    "not_", "or_", "print_", "printed", "raised", "read_by", "stored", "text", "trying", "updated", "variable", "while_",
]  # fmt: skip
