"""What branches and loops become in ONNX: If and Loop, whose graphs see the values around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoint.core.spec import Spec
from adjoint.deploy.onnx_arrays import FAR
from adjoint.deploy.onnx_writer import CardCall, Writer, boolean, int64, library
from adjoint.graph.control import UNKNOWN


def handed_out(
    writer: Writer, names: Sequence[str], specs: Sequence[Spec], have: Sequence[Spec] | None = None
) -> list[Any]:
    """Results of a graph inside, each a value of its own, described."""
    described = []
    for k, (name, spec) in enumerate(zip(names, specs, strict=True)):
        found = writer.cast(name, spec.dtype if have is None else have[k].dtype, spec.dtype)
        described.append(writer.info(writer.add("Identity", found), spec))
    return described


def branch(c: CardCall) -> list[str]:
    """Cond: one of two graphs."""
    sides = {}
    chosen = c.x(0, boolean)
    if c.specs[0].shape:
        chosen = c.add("Reshape", chosen, c.constant(np.zeros(0), int64))
    for key, side in (("then_branch", c.op.true), ("else_branch", c.op.false)):
        with c.writer.inside() as nodes:
            results = handed_out(c.writer, c.writer.graph(side, c.names[1:]), c.spec, side.specs)
        sides[key] = library().helper.make_graph(nodes, c.writer.fresh(key), [], results)
    found = c.add("If", chosen, outputs=len(c.spec), **sides)
    return [found] if len(c.spec) == 1 else list(found)


def loop(c: CardCall) -> list[str]:
    """Loop: carried values, slices of stacked inputs, stacked results."""
    op, writer = c.op, c.writer
    if op.guarded:
        raise c.refuse("its iterations are skipped one by one, as in derivatives of loops with a break")
    carry, stacked, constants = op.parts(c.names)
    carried = list(c.spec[: op.carried])
    carry = [c.x(k, spec.dtype) for k, spec in enumerate(carried)]
    count = op.iterations(op.parts(c.specs)[1])
    times = iterations(c, count, stacked)
    begin = writer.graph(op.test, [*carry, *constants])[0] if op.test is not None else ""
    with writer.inside() as nodes:
        k, go, *held = (writer.fresh(hint) for hint in ("iteration", "condition", *["carried"] * op.carried))
        at = k
        if op.backwards and stacked:
            at = writer.add("Sub", writer.add("Sub", times, writer.constant(np.array(1), int64)), k)
        slices = [writer.add("Gather", x, at, axis=0) for x in stacked]
        out = writer.graph(op.body, [*held, *slices, *constants])
        moved = [writer.cast(x, s.dtype, t.dtype) for x, s, t in zip(out, op.body.specs, carried, strict=False)]
        again = writer.graph(op.test, [*moved, *constants])[0] if op.test is not None else go
        results = handed_out(writer, [again, *out], [Spec((), boolean), *op.body.specs])
    given = [writer.info(k, Spec((), int64)), writer.info(go, Spec((), boolean))]
    given += [writer.info(x, spec) for x, spec in zip(held, carried, strict=True)]
    body = library().helper.make_graph(nodes, writer.fresh("body"), given, results)
    found = c.add("Loop", times, begin, *carry, outputs=len(c.spec), body=body)
    names = [found] if len(c.spec) == 1 else list(found)
    return names[: op.carried] + [backwards(c, x) if op.backwards else x for x in names[op.carried :]]


def iterations(c: CardCall, count: int, stacked: Sequence[str]) -> str:
    """How many iterations there are: known now, or as many as stacked inputs have slices; "" if a test decides."""
    if count != UNKNOWN:
        return c.constant(np.array(count), int64)
    if c.op.test is not None:
        return ""
    return str(c.add("Gather", c.add("Shape", stacked[0]), c.constant(np.array(0), int64), axis=0))


def backwards(c: CardCall, x: str) -> str:
    """The slices of an array from the last to the first."""
    return str(c.add("Slice", x, c.ints(-1), c.ints(FAR), c.ints(0), c.ints(-1)))
