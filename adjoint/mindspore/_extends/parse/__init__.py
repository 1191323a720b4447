"""mindspore._extends.parse."""

from typing import Any

from adjoint.mindspore._extends.parse import compile_config as compile_config
from adjoint.mindspore.absent import Absent


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'mindspore._extends.parse' has no attribute {name!r}")
    return Absent(f"mindspore._extends.parse.{name}")
