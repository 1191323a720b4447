"""The functions that converted code calls, under the name `_ad`."""

from __future__ import annotations

from adjoint.frontend.branches import choose, if_
from adjoint.frontend.calls import call, item
from adjoint.frontend.logic import and_, compare, holds, not_, or_
from adjoint.frontend.loops import for_, while_

__all__ = ["and_", "call", "choose", "compare", "for_", "holds", "if_", "item", "not_", "or_", "while_"]
