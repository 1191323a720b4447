"""Static mode's first stage: user source in, traceable source out.

`convert(fn)` gives a function that behaves as `fn` on plain values and builds control flow of a graph on graph values.
"""

from __future__ import annotations

from adjoint.frontend import convert as _convert
from adjoint.frontend import runtime as _runtime
from adjoint.frontend.calls import call
from adjoint.frontend.entry import convert
from adjoint.frontend.errors import ControlFlowError, LeakError, SourceError, UnsupportedSyntaxError

_convert.runtime_cell.cell_contents = _runtime

__all__ = ["ControlFlowError", "LeakError", "SourceError", "UnsupportedSyntaxError", "call", "convert"]
