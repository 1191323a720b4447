"""Random bits in steps that a nest can compute where they are needed."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any

import numpy as np

from adjoint.graph.node import Builder, Node
from adjoint.ops.arithmetic import Add, Mul
from adjoint.ops.bitwise import BitwiseAnd, BitwiseXor, RightShift
from adjoint.ops.card import card
from adjoint.ops.movement import Reshape
from adjoint.ops.random import FIRST, SECOND, STEP, Bits


def bits_in_steps(builder: Builder, op: Bits, counter: Node) -> Node | None:
    """What `Bits.eval` computes, on integers with a sign; None if there is nothing to compute."""
    if not prod(op.shape):
        return None
    mix, add = partial(_mixed, builder), partial(_step, builder, Add)
    if counter.shape:
        lined_up = counter.shape + (1,) * (len(op.shape) - counter.ndim)
        counter = builder.build(card(Reshape, lined_up), (counter,))
    key = mix(_step(builder, Mul, counter, _signed(STEP)))
    other = mix(add(key, _signed(STEP)))
    x = key
    inner = op.shape[op.shared :]
    if inner:  # the place of a row and the place in it, so that no table is as long as the result
        rows = np.arange(prod(inner[:-1])).reshape(*inner[:-1], 1) * inner[-1]
        x = x if rows.size == 1 else add(x, rows * _signed(STEP))
        x = add(x, np.arange(inner[-1]) * _signed(STEP))
    return mix(x, other)


def _signed(bits: int) -> np.int64:
    return np.uint64(bits).astype(np.int64)


def _step(builder: Builder, op: type, x: Node, y: Any) -> Node:
    return builder.build(card(op), (x, y if isinstance(y, Node) else builder.const(y)))


def _mixed(builder: Builder, x: Node, key: Node | None = None) -> Node:
    step = partial(_step, builder)

    def folded(x: Node, by: int) -> Node:
        """x ^ (x >> by), with zeros moving in from the left."""
        return step(BitwiseXor, x, step(BitwiseAnd, step(RightShift, x, np.int64(by)), np.int64(2 ** (64 - by) - 1)))

    x = folded(step(Mul, folded(x, 30), _signed(FIRST)), 27)
    x = x if key is None else step(Add, x, key)
    return folded(step(Mul, x, _signed(SECOND)), 31)
