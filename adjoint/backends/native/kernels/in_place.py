"""Memory for an updated array: the old array's own where nothing needs that any more."""

from __future__ import annotations

from math import prod

from adjoint.backends.native.emit.graph_emitter import GraphEmitter
from adjoint.backends.native.node_facts import same_memory
from adjoint.graph.inplace import InPlace
from adjoint.graph.node import Node


def updated_memory(emitter: GraphEmitter, node: Node) -> str:
    """The memory of an updated array: the old one if nothing needs it, else a copy."""
    base = node.inputs[0]
    if isinstance(node.op, InPlace) and emitter.dies_here(base) and node not in emitter.targets:
        value = emitter.value(base)
        _hand_over(emitter, base, node)
        return value
    if node in emitter.targets and emitter.targets.get(same_memory(base)) == emitter.targets[node]:
        return emitter.value(base)  # computed there for this
    target = emitter.memory_for(node)
    emitter.code.copy(target, emitter.value(base), prod(node.shape) * node.spec.dtype.itemsize)
    return target


def _hand_over(emitter: GraphEmitter, old: Node, new: Node) -> None:
    """The new node has the old one's memory."""
    memory = same_memory(old)
    if memory in emitter.places:
        emitter.places[new] = emitter.places.pop(memory)
    else:
        emitter.owned |= {new}
