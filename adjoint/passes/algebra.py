"""Laws of algebra, one a row. A law may not change a result beyond rounding, nor make a finite value NaN.

So there is no `x * 0 -> 0` (x may be infinite) and no `x - x -> 0`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.graph.node import Builder, Const, Graph, Node
from adjoint.ops.arithmetic import Add, Cast, Conj, Div, MaskedMul, Mul, Neg, Pow, Real, Sub
from adjoint.ops.card import Op, card
from adjoint.ops.compare import Where
from adjoint.ops.movement import BroadcastTo, Reshape, Transpose
from adjoint.ops.reduce import Sum
from adjoint.passes.rewrite import rebuild

Law = Callable[..., "Node | None"]


def number(x: Node) -> float | None:
    """The value of a constant that is the same number everywhere; None for anything else."""
    if not isinstance(x.op, Const):
        return None
    array = np.asarray(x.op.value)
    if array.size == 0 or array.dtype.kind not in "fiu" or array.size > 4096 or not (array == array.flat[0]).all():
        return None
    return float(array.flat[0])


def made_by(x: Node, kind: type[Op]) -> Node | None:
    """The node, if it is the result of such an op."""
    return x if isinstance(x.op, kind) else None


#: (name, op, law): the law gets the op and its inputs and returns the better node, or None where it does not apply.
#: It is also given `b`, which builds a node from an op and nodes.
LAWS: list[tuple[str, type[Op], Law]] = [
    ("x + 0", Add, lambda b, op, x, y: x if number(y) == 0 else y if number(x) == 0 else None),
    ("x - 0", Sub, lambda b, op, x, y: x if number(y) == 0 else None),
    ("x * 1", Mul, lambda b, op, x, y: x if number(y) == 1 else y if number(x) == 1 else None),
    ("x * -1", Mul, lambda b, op, x, y: b(card(Neg), x) if number(y) == -1 else b(card(Neg), y) if number(x) == -1 else None),
    ("g * 1, masked", MaskedMul, lambda b, op, g, p: g if number(p) == 1 else None),
    ("g * c, masked", MaskedMul, lambda b, op, g, p: b(card(Mul), g, p) if _finite(p) else None),
    ("1 * p, masked", MaskedMul, lambda b, op, g, p: p if number(g) == 1 else None),
    ("x / 1", Div, lambda b, op, x, y: x if number(y) == 1 else None),
    ("x ** 1", Pow, lambda b, op, x, y: x if number(y) == 1 else None),
    ("x ** 2", Pow, lambda b, op, x, y: b(card(Mul), x, x) if number(y) == 2 else None),
    ("-(-x)", Neg, lambda b, op, x: n.inputs[0] if (n := made_by(x, Neg)) else None),
    ("conj(conj(x))", Conj, lambda b, op, x: n.inputs[0] if (n := made_by(x, Conj)) else None),
    ("real(real x)", Real, lambda b, op, x: x if x.dtype.kind == "f" else None),
    ("cast to its own dtype", Cast, lambda b, op, x: x if x.dtype == op.dtype else None),
    ("where(c, x, x)", Where, lambda b, op, c, x, y: x if x is y and c.shape == () else None),
    ("reshape to its own shape", Reshape, lambda b, op, x: x if x.shape == op.shape else None),
    ("reshape of reshape", Reshape, lambda b, op, x: _reshape_again(b, op, x)),
    ("broadcast to its own shape", BroadcastTo, lambda b, op, x: x if x.shape == op.shape else None),
    ("transpose that changes nothing", Transpose, lambda b, op, x: x if op.perm == tuple(range(len(op.perm))) else None),
    ("transpose of transpose", Transpose, lambda b, op, x: _transpose_again(b, op, x)),
    ("sum over no axis", Sum, lambda b, op, x: x if not op.axes else None),
]  # fmt: skip


def _finite(p: Node) -> bool:
    value = number(p)
    return value is not None and bool(np.isfinite(value))


def _reshape_again(b: Any, op: Any, x: Node) -> Node | None:
    inner = made_by(x, Reshape)
    return b(card(Reshape, op.shape), inner.inputs[0]) if inner else None


def _transpose_again(b: Any, op: Any, x: Node) -> Node | None:
    inner = made_by(x, Transpose)
    if not inner:
        return None
    return b(card(Transpose, tuple(inner.op.perm[a] for a in op.perm)), inner.inputs[0])


BY_OP: dict[type, list[Law]] = {}
for _, _kind, _law in LAWS:
    BY_OP.setdefault(_kind, []).append(_law)


def algebra(graph: Graph) -> Graph:
    """Apply the laws, each where it fits and gives the same shape and dtype, until nothing changes."""
    while (better := rebuild(graph, _simpler)) is not graph:
        graph = better
    return graph


def _simpler(builder: Builder, node: Node, inputs: tuple[Node, ...]) -> Node | None:
    for law in BY_OP.get(type(node.op), ()):
        better = law(lambda op, *xs: builder.build(op, xs), node.op, *inputs)
        if better is not None and better.spec == node.spec and not better.spec.weak:
            return better
    return None
