"""Laws of algebra, one a row. A law may not change a result beyond rounding, nor make a finite value NaN.

So there is no `x * 0 -> 0` (x may be infinite) and no `x - x -> 0`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.core.dispatch import Value
from adjoint.core.spec import shape_of, spec_of
from adjoint.graph.node import Const, Graph, Node
from adjoint.ops.arithmetic import Add, Cast, Conj, Div, MaskedMul, Mul, Neg, Pow, Real, Sub, mul, neg
from adjoint.ops.card import Op, card
from adjoint.ops.compare import Where
from adjoint.ops.movement import BroadcastTo, Reshape, Transpose
from adjoint.ops.reduce import Sum
from adjoint.passes.rewrite import rebuild

Law = Callable[..., Any]


def number(x: Any) -> float | None:
    """The value of a constant that is the same number everywhere; None for anything else."""
    value = x
    if isinstance(x, Value):
        node = x._value
        if not (isinstance(node, Node) and isinstance(node.op, Const)):
            return None
        value = node.op.value
    array = np.asarray(value)
    if array.size == 0 or array.dtype.kind not in "fiu" or array.size > 4096 or not (array == array.flat[0]).all():
        return None
    return float(array.flat[0])


def made_by(x: Any, kind: type[Op]) -> Node | None:
    """The node of a value, if it is the result of such an op."""
    node = x._value if isinstance(x, Value) else None
    return node if isinstance(node, Node) and isinstance(node.op, kind) else None


def _again(x: Any, node: Node) -> Any:
    """A node of the graph being built, as a value."""
    from adjoint.core.dispatch import make

    return make(node, x._trace)


#: (name, op, law): the law gets the op and its inputs and returns the better value, or None where it does not apply.
LAWS: list[tuple[str, type[Op], Law]] = [
    ("x + 0", Add, lambda op, x, y: x if number(y) == 0 else y if number(x) == 0 else None),
    ("x - 0", Sub, lambda op, x, y: x if number(y) == 0 else None),
    ("x * 1", Mul, lambda op, x, y: x if number(y) == 1 else y if number(x) == 1 else None),
    ("x * -1", Mul, lambda op, x, y: neg(x) if number(y) == -1 else neg(y) if number(x) == -1 else None),
    ("g * 1, masked", MaskedMul, lambda op, g, p: g if number(p) == 1 else None),
    ("g * c, masked", MaskedMul, lambda op, g, p: mul(g, p) if _finite(p) else None),
    ("1 * p, masked", MaskedMul, lambda op, g, p: p if number(g) == 1 else None),
    ("x / 1", Div, lambda op, x, y: x if number(y) == 1 else None),
    ("x ** 1", Pow, lambda op, x, y: x if number(y) == 1 else None),
    ("x ** 2", Pow, lambda op, x, y: mul(x, x) if number(y) == 2 else None),
    ("-(-x)", Neg, lambda op, x: _again(x, n.inputs[0]) if (n := made_by(x, Neg)) else None),
    ("conj(conj(x))", Conj, lambda op, x: _again(x, n.inputs[0]) if (n := made_by(x, Conj)) else None),
    ("real(real x)", Real, lambda op, x: x if spec_of(x).dtype.kind == "f" else None),
    ("cast to its own dtype", Cast, lambda op, x: x if isinstance(x, Value) and x.dtype == op.dtype else None),
    ("where(c, x, x)", Where, lambda op, c, x, y: x if x is y and shape_of(c) == () else None),
    ("reshape to its own shape", Reshape, lambda op, x: x if shape_of(x) == op.shape else None),
    ("reshape of reshape", Reshape, lambda op, x: _reshape_again(op, x)),
    ("broadcast to its own shape", BroadcastTo, lambda op, x: x if shape_of(x) == op.shape else None),
    ("transpose that changes nothing", Transpose, lambda op, x: x if op.perm == tuple(range(len(op.perm))) else None),
    ("transpose of transpose", Transpose, lambda op, x: _transpose_again(op, x)),
    ("sum over no axis", Sum, lambda op, x: x if not op.axes else None),
]  # fmt: skip


def _finite(p: Any) -> bool:
    value = number(p)
    return value is not None and bool(np.isfinite(value))


def _reshape_again(op: Any, x: Any) -> Any:
    inner = made_by(x, Reshape)
    return card(Reshape, op.shape)(_again(x, inner.inputs[0])) if inner else None


def _transpose_again(op: Any, x: Any) -> Any:
    inner = made_by(x, Transpose)
    if not inner:
        return None
    return card(Transpose, tuple(inner.op.perm[a] for a in op.perm))(_again(x, inner.inputs[0]))


BY_OP: dict[type, list[Law]] = {}
for _, _kind, _law in LAWS:
    BY_OP.setdefault(_kind, []).append(_law)


def algebra(graph: Graph) -> Graph:
    """Apply the laws, each where it fits and gives the same shape and dtype, until the graph grows no smaller."""
    while len((better := rebuild(graph, _simpler)).calls) < len(graph.calls):
        graph = better
    return better


def _simpler(node: Node, inputs: Sequence[Any]) -> Any:
    for law in BY_OP.get(type(node.op), ()):
        better = law(node.op, *inputs)
        if better is not None and _fits(better, node):
            return better
    return None


def _fits(value: Any, node: Node) -> bool:
    spec = spec_of(value)
    return spec.shape == node.spec.shape and spec.dtype == node.spec.dtype and not spec.weak
