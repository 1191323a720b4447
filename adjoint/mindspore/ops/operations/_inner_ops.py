"""mindspore.ops.operations._inner_ops: primitives that MindSpore keeps for itself; those that are public elsewhere are here too."""

from typing import Any

from adjoint.mindspore.absent import Absent


def __getattr__(name: str) -> Any:
    if not name[:1].isupper():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from adjoint.mindspore.ops import operations

    try:
        return getattr(operations, name)
    except AttributeError:
        return Absent(f"mindspore.ops.operations._inner_ops.{name}")
