"""Which ops have a kernel: one registry, keyed by card.

`plan` asks what a kernel takes and reads, `emit` has it written. `compiler` fills it from `kernels/table.py`, and for branches and
loops from `emit/control_flow.py`. The code of ops that few programs need is imported when such an op is first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from adjoint.backends.native.dtypes import is_computed, is_known
from adjoint.graph.control import Control
from adjoint.graph.inplace import InPlace
from adjoint.graph.node import Node

if TYPE_CHECKING:
    from adjoint.backends.native.emit.graph_emitter import GraphEmitter
    from adjoint.backends.native.plan.epilogue_fusion import FusedMatMul


def _inputs(node: Node) -> list[Node]:
    return list(node.inputs)


@dataclass(frozen=True)
class KernelRule:
    """How a kernel is planned and written.

    `write` gives the value, or a list of them for several results. `prepare` makes, before a loop, what the kernel of a node
    in its body would make in every iteration; it is given the node and what the body's constants are outside. One that is not
    `standalone` calls libraries that a program without Python lacks. One that `copies` takes elements of any dtype, the others
    those in which code computes.
    """

    write: Callable[[GraphEmitter, Node, Any], Any]
    fits: Callable[[Node], bool] = lambda node: True
    reads: Callable[[Node], list[Node]] = _inputs
    write_fused: Callable[[GraphEmitter, FusedMatMul], None] | None = None
    prepare: Callable[[GraphEmitter, Node, Mapping[Node, Node]], str | None] | None = None
    standalone: bool = True
    copies: bool = False


RULES: dict[type, KernelRule] = {}
_LATE: dict[type, str] = {}


def register(rules: Mapping[type, KernelRule], late: Mapping[type, str] | None = None) -> None:
    """Add the kernels of some cards; of others, the name of the module that has them in its `KERNELS`."""
    RULES.update(rules)
    _LATE.update(late or {})


def plain(op: Any) -> Any:
    """An op without the note that it may overwrite its first input."""
    return op.op if isinstance(op, InPlace) else op


def kernel_of(node: Node) -> KernelRule | None:
    """The kernel of a node's op, None if there is none."""
    kind = type(plain(node.op))
    if kind not in RULES and kind in _LATE:
        register(import_module(_LATE[kind]).KERNELS)
    return RULES.get(kind)


def has_kernel(node: Node) -> bool:
    """Whether a node's op has a kernel, and the kernel takes this node."""
    rule = kernel_of(node)
    if rule is None:
        return False
    if isinstance(plain(node.op), Control):
        return rule.fits(node)
    results = node.spec if isinstance(node.spec, tuple) else (node.spec,)
    specs = [*results, *(i.spec for i in node.inputs)]
    takes = is_known if rule.copies else is_computed
    if not all(takes(s.dtype) and all(n >= 0 for n in s.shape) for s in specs):
        return False
    return rule.fits(node)


def reads(node: Node) -> list[Node]:
    """The nodes whose memory or registers a kernel uses."""
    rule = kernel_of(node)
    return rule.reads(node) if rule else list(node.inputs)
