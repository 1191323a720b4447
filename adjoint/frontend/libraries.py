"""Which modules and classes are the user's."""

from __future__ import annotations

import sys
from typing import Any

from adjoint.frontend.files import is_users

_HEAP_TYPE = 1 << 9


def is_users_class(kind: type) -> bool:
    """Whether a class is the user's; one without a module was made by `exec`."""
    return is_users_module(kind.__module__) or (kind.__module__ == "builtins" and bool(kind.__flags__ & _HEAP_TYPE))


def is_users_module(name: Any) -> bool:
    """Whether a module is the user's: one without a file is what was typed in."""
    module = sys.modules.get(name) if isinstance(name, str) else None
    if module is None or name in sys.builtin_module_names:
        return module is None
    filename = getattr(module, "__file__", None)
    return not name.startswith("_frozen") if filename is None else is_users(filename)
