"""The op language as Tensor's methods see it.

`core` may not import `ops`, so Tensor calls `verbs.add(x, y)`, and `ops` and `transforms` fill the verbs in when they
are imported. A verb that is missing raises AttributeError at its first use.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

verbs: Any = SimpleNamespace()
