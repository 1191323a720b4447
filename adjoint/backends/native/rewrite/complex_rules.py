"""How each op on complex numbers is done on their parts: `rule(builder, node, inputs)` gives a node or a complex number, or
None where there is no such form."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.backends.native.node_facts import uniform
from adjoint.backends.native.rewrite import complex_functions as functions
from adjoint.backends.native.rewrite.complex_functions import Complex, as_complex, real_dtype
from adjoint.backends.native.rewrite.fourier_steps import FOURIER
from adjoint.backends.native.rewrite.real_numbers import RealNumber
from adjoint.core.spec import is_inexact
from adjoint.graph.inplace import InPlace
from adjoint.graph.node import Builder, Node
from adjoint.ops import arithmetic, compare
from adjoint.ops.along_axis import CumSum
from adjoint.ops.broadcasting import BroadcastTo
from adjoint.ops.card import card
from adjoint.ops.casting import Cast, Replaced, StopGradient
from adjoint.ops.complex_parts import Imag
from adjoint.ops.complex_parts import Real as RealPart
from adjoint.ops.contract import MatMul
from adjoint.ops.conv import Conv, ConvFilter, ConvInput
from adjoint.ops.einstein_sum import Einsum
from adjoint.ops.index import Gather, ScatterAdd, ScatterSet
from adjoint.ops.joining import Concat, Split
from adjoint.ops.movement import Reshape, Transpose
from adjoint.ops.ordering import After
from adjoint.ops.padding import Pad
from adjoint.ops.reduce import Mean, Sum
from adjoint.ops.slicing import Flip, GetItem, PutItem, SetItem
from adjoint.ops.stacking import Stack, Unstack
from adjoint.ops.sum_pool import SumPool, SumPoolPull
from adjoint.ops.unfolding import Fold, Unfold

MOST_FACTORS = 4  # of a sum of products; for each of them there are twice as many real ones
Rule = Callable[[Builder, Node, Sequence[Any]], Any]


def rule_of(op: Any) -> Rule | None:
    """The rule of an op, None if it has none."""
    return RULES.get(type(op.op if isinstance(op, InPlace) else op))


def shaped(z: Complex, node: Node) -> Complex:
    """A result with both parts in the shape of the node."""
    return Complex(z.re.shaped(node.shape), z.im.shaped(node.shape))


# ---------------------------------------------------------------- elementwise ops


def _common(node: Node) -> np.dtype:
    """The dtype of the parts in which a node's inputs meet."""
    return real_dtype(np.result_type(*(i.spec.dtype for i in node.inputs)))


def _function(function: Callable[..., Complex]) -> Rule:
    def rule(builder: Builder, node: Node, inputs: Sequence[Any]) -> Complex:
        dtype = real_dtype(node.spec.dtype)
        return shaped(function(*(as_complex(builder, x, dtype) for x in inputs)), node)

    return rule


def _power(builder: Builder, node: Node, inputs: Sequence[Any]) -> Complex:
    dtype = real_dtype(node.spec.dtype)
    base, exponent = (as_complex(builder, x, dtype) for x in inputs)
    known = uniform(node.inputs[1])
    if known is not None and known.imag == 0 and known.real == int(known.real) and 0 < abs(known.real) < 100:
        return shaped(functions.whole_power(base, int(known.real)), node)
    return shaped(functions.power(base, exponent), node)


def _absolute(builder: Builder, node: Node, inputs: Sequence[Any]) -> Node:
    return functions.absolute(as_complex(builder, inputs[0], node.spec.dtype)).node


def _real(builder: Builder, node: Node, inputs: Sequence[Any]) -> Node:
    return inputs[0].re.node


def _imaginary(builder: Builder, node: Node, inputs: Sequence[Any]) -> Node:
    return inputs[0].im.shaped(node.shape).node


def _equal(builder: Builder, node: Node, inputs: Sequence[Any]) -> Node:
    z, w = (as_complex(builder, x, _common(node)) for x in inputs)
    same = z.re.is_(w.re) & z.im.is_(w.im)
    return (same if type(node.op) is compare.Equal else ~same).shaped(node.shape).node


def _is_finite(builder: Builder, node: Node, inputs: Sequence[Any]) -> Node:
    return (inputs[0].re.is_finite() & inputs[0].im.is_finite()).node


def _is_nan(builder: Builder, node: Node, inputs: Sequence[Any]) -> Node:
    return (~(inputs[0].re.is_(inputs[0].re) & inputs[0].im.is_(inputs[0].im))).node


def _cast(builder: Builder, node: Node, inputs: Sequence[Any]) -> Any:
    x, dtype = inputs[0], node.op.dtype
    if dtype.kind == "c":
        return shaped(as_complex(builder, x, real_dtype(dtype)), node)
    if dtype.kind == "b":
        return (~x.is_zero()).node
    return x.re.cast(dtype).node


def _where(builder: Builder, node: Node, inputs: Sequence[Any]) -> Any:
    test, *others = inputs
    if isinstance(test, Complex):
        return None
    z, w = (as_complex(builder, x, real_dtype(node.spec.dtype)) for x in others)
    return shaped(functions.where(RealNumber(builder, test), z, w), node)


def _replaced(builder: Builder, node: Node, inputs: Sequence[Any]) -> Any:
    value = inputs[1]
    if isinstance(value, Complex):
        return shaped(value, node)
    return builder.build(card(BroadcastTo, node.shape), [value]) if value.shape != node.shape else value


# ---------------------------------------------------------------- ops that are linear with real coefficients


def _on_parts(builder: Builder, node: Node, inputs: Sequence[Any]) -> Any:
    """The op on the real and on the imaginary parts. Only what it moves or adds up has parts, not its indices."""
    op = node.op.op if isinstance(node.op, InPlace) else node.op
    specs = node.spec if isinstance(node.spec, tuple) else (node.spec,)
    if any(s.dtype.kind != "c" for s in specs):
        return None
    dtype = real_dtype(specs[0].dtype)
    count = op.first_index if op.indexing else 1 if op.delays else len(inputs)
    data = [as_complex(builder, x, dtype) for x in inputs[:count]]
    rest = [x.re.node if isinstance(x, Complex) else x for x in inputs[count:]]
    halves = []
    for parts in ([z.re for z in data], [z.im for z in data]):
        given = [p.shaped(i.shape).node for p, i in zip(parts, node.inputs, strict=False)]
        halves.append(builder.keep(node, node.op, (*given, *rest)))
    if isinstance(node.spec, tuple):
        pairs = [[builder.pick(half, k) for half in halves] for k in range(len(specs))]
        return [Complex(*(RealNumber(builder, part) for part in pair)) for pair in pairs]
    return Complex(*(RealNumber(builder, half) for half in halves))


# ---------------------------------------------------------------- products


def _product(builder: Builder, node: Node, inputs: Sequence[Any]) -> Any:
    """An op that is linear in each of its inputs: the products of all choices of their parts, added up."""
    if len(inputs) > MOST_FACTORS or not is_inexact(node.spec.dtype):
        return None
    numbers = [as_complex(builder, x, real_dtype(node.spec.dtype)) for x in inputs]
    sums: list[RealNumber | None] = [None, None]
    for turns in itertools.product((0, 1), repeat=len(numbers)):
        parts = [z.imaginary if turn else z.re for z, turn in zip(numbers, turns, strict=True)]
        if None in parts:
            continue
        term = RealNumber(builder, builder.build(node.op, [part.node for part in parts if part is not None]))
        kind, minus = sum(turns) % 2, sum(turns) % 4 >= 2
        old = sums[kind]
        sums[kind] = (-term if minus else term) if old is None else old - term if minus else old + term
    re, im = sums
    assert re is not None, "one choice takes the real parts alone"
    return Complex(re, im)


_PARTWISE = (
    *(
        Reshape,
        Transpose,
        GetItem,
        Flip,
        BroadcastTo,
        Pad,
        Concat,
        Stack,
        Split,
        Unstack,
        PutItem,
        SetItem,
        StopGradient,
    ),
    *(Gather, ScatterAdd, ScatterSet, Sum, Mean, CumSum, SumPool, SumPoolPull, Unfold, Fold, After),
)
RULES: dict[type, Rule] = {
    **{kind: _function(f) for kind, f in {**functions.ONE_ARGUMENT, **functions.TWO_ARGUMENTS}.items()},
    **dict.fromkeys(_PARTWISE, _on_parts),
    **dict.fromkeys((MatMul, Einsum, Conv, ConvInput, ConvFilter), _product),
    **dict.fromkeys((compare.Equal, compare.NotEqual), _equal),
    **FOURIER,
    arithmetic.Pow: _power,
    arithmetic.Abs: _absolute,
    RealPart: _real,
    Imag: _imaginary,
    compare.IsFinite: _is_finite,
    compare.IsNan: _is_nan,
    compare.Where: _where,
    Cast: _cast,
    Replaced: _replaced,
}
