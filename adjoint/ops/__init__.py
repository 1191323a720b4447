"""The language of differentiable programs: op cards, and the functions composed of them.

Lower-case names are functions (`ops.sin(x)`); capitalised ones are the cards (`ops.Sin()(x)`), one class an operation
with all its rules.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from adjoint.core.language import bind as _bind
from adjoint.ops import language as language
from adjoint.ops import tensor_functions as _tensor_functions
from adjoint.ops.card import REGISTRY as REGISTRY
from adjoint.ops.card import Op as Op
from adjoint.ops.card import register as register
from adjoint.ops.functional import *  # noqa: F403
from adjoint.ops.functional import __all__ as _names
from adjoint.ops.functional import methods as _methods
from adjoint.ops.op_habits import with_habits as _with_habits

if _TYPE_CHECKING:

    def __getattr__(name: str) -> _Any:
        """The cards, which `register` puts here."""


_bind(_tensor_functions)
_methods.attach()
globals().update({name: _with_habits(globals()[name], name) for name in _names})
