"""What `core` and `graph` call of the stages above them: `transforms`, `derive` and `api` fill it in when they are imported."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

verbs: Any = SimpleNamespace()
