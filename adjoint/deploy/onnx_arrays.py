"""What ops on whole arrays become in ONNX: shapes, parts, indices, reductions, products."""

from __future__ import annotations

from math import prod

import numpy as np

from adjoint.deploy.onnx_writer import CardCall, Rule, boolean, int64
from adjoint.graph.node import Const

int32 = np.dtype(np.int32)
FAR = np.iinfo(np.int64).min  # a place before the first element, where a slice that runs backwards ends


def reshaped(c: CardCall, x: str, shape: tuple[int, ...]) -> str:
    return str(c.add("Reshape", x, c.ints(*shape), allowzero=1))


def reduction(kind: str) -> Rule:
    """A reduction over some axes."""

    def rule(c: CardCall) -> str:
        through = int32 if c.dtype == boolean else c.dtype
        x = c.x(0, through)
        if c.op.axes:
            x = c.add(kind, x, c.ints(*c.op.axes), keepdims=int(c.op.keepdims))
        return c.writer.cast(x, through, c.dtype)

    return rule


def mean(c: CardCall) -> str:
    count = prod(c.specs[0].shape[a] for a in c.op.axes)
    if count:
        return reduction("ReduceMean")(c)  # type: ignore[no-any-return]
    return str(c.add("Div", reduction("ReduceSum")(c), c.number(0)))


def truth(every: bool) -> Rule:
    """Whether any element is true, or every one: how many are, or are not."""

    def rule(c: CardCall) -> str:
        x = c.x(0, boolean)
        if not c.op.axes:
            return x
        counted = c.writer.cast(c.add("Not", x) if every else x, boolean, int32)
        some = c.add("ReduceSum", counted, c.ints(*c.op.axes), keepdims=int(c.op.keepdims))
        some = c.add("Greater", some, c.number(0, int32))
        return str(c.add("Not", some) if every else some)

    return rule


def extreme(kind: str) -> Rule:
    """The largest or smallest element; NaN where there is one, which ONNX leaves to the runtime."""
    plain = reduction(kind)

    def rule(c: CardCall) -> str:
        found = plain(c)
        if c.dtype.kind != "f" or not c.op.axes:
            return str(found)
        nans = c.writer.cast(c.add("IsNaN", c.x()), boolean, int32)
        nans = c.add("ReduceMax", nans, c.ints(*c.op.axes), keepdims=int(c.op.keepdims))
        return c.where(c.writer.cast(nans, int32, boolean), c.number(np.nan), found)

    return rule


def place_of_extreme(kind: str) -> Rule:
    """The first place of the largest or smallest element, or of NaN."""

    def rule(c: CardCall) -> str:
        x = c.x(0, int32 if c.specs[0].dtype == boolean else None)
        found = c.add(kind, x, axis=c.op.axis, keepdims=0)
        if c.specs[0].dtype.kind != "f":
            return str(found)
        nans = c.writer.cast(c.add("IsNaN", x), boolean, int32)
        some = c.add("ReduceMax", nans, c.ints(c.op.axis), keepdims=0)
        first = c.add("ArgMax", nans, axis=c.op.axis, keepdims=0)
        return c.where(c.writer.cast(some, int32, boolean), first, found)

    return rule


def cumulated(c: CardCall) -> str:
    return str(c.add("CumSum", c.x(0, c.dtype), c.constant(np.array(c.op.axis, np.int64)), reverse=int(c.op.reverse)))


def first_places(c: CardCall, k: int, largest: bool) -> str:
    """The places of the first k elements in order."""
    x = c.x(0, int32 if c.specs[0].dtype == boolean else None)
    _, places = c.add("TopK", x, c.ints(k), outputs=2, axis=c.op.axis, largest=int(largest))
    return str(places)


# ---------------------------------------------------------------- parts


def part(c: CardCall, x: str, key: tuple, shape: tuple[int, ...]) -> str:
    """x[key] for slices, integers and new axes."""
    starts, ends, axes, steps, gone, new = [], [], [], [], [], []
    axis = place = 0
    for one in key:
        if one is None:
            new.append(place)
            place += 1
            continue
        size = shape[axis]
        start, stop, step = (one if isinstance(one, slice) else slice(one % size, one % size + 1)).indices(size)
        if not range(start, stop, step):
            start, stop, step = 0, 0, 1
        if (start, stop, step) != (0, size, 1):
            starts.append(start)
            ends.append(FAR if stop < 0 else stop)
            steps.append(step)
            axes.append(axis)
        if isinstance(one, slice):
            place += 1
        else:
            gone.append(axis)
        axis += 1
    if axes:
        x = c.add("Slice", x, c.ints(*starts), c.ints(*ends), c.ints(*axes), c.ints(*steps))
    if gone:
        x = c.add("Squeeze", x, c.ints(*gone))
    return str(c.add("Unsqueeze", x, c.ints(*new))) if new else x


def get_item(c: CardCall) -> str:
    from adjoint.ops.slicing import written_out

    return part(c, c.x(), written_out(c.op.key, c.specs[0].ndim), c.specs[0].shape)


def put(c: CardCall, base: str, values: str) -> str:
    """The flat array `base` of the result's size, with flat values at the places of the op's index."""
    places = np.arange(prod(c.spec.shape)).reshape(c.spec.shape)[c.op.key].reshape(-1)
    if not places.size:
        return reshaped(c, base, c.spec.shape)
    found = c.add("ScatterElements", base, c.constant(places, int64), values, axis=0)
    return reshaped(c, found, c.spec.shape)


def put_item(c: CardCall) -> str:
    size = prod(c.spec.shape)
    return put(c, c.add("Expand", c.number(0), c.ints(size)), reshaped(c, c.x(0, c.dtype), (prod(c.specs[0].shape),)))


def set_item(c: CardCall) -> str:
    whole = c.op.picked(c.specs[0].shape)
    values = c.add("Expand", c.x(1, c.dtype), c.ints(*whole))
    return put(c, reshaped(c, c.x(), (prod(c.spec.shape),)), reshaped(c, values, (prod(whole),)))


def flip(c: CardCall) -> str:
    axes, n = c.op.axes, len(c.op.axes)
    return (
        str(c.add("Slice", c.x(), c.ints(*[-1] * n), c.ints(*[FAR] * n), c.ints(*axes), c.ints(*[-1] * n)))
        if n
        else c.x()
    )


def split(c: CardCall) -> list[str]:
    sizes = c.op.sizes
    found = c.add("Split", c.x(), c.ints(*sizes), outputs=len(sizes), axis=c.op.axis)
    return [found] if len(sizes) == 1 else list(found)


def unstack(c: CardCall) -> list[str]:
    count = c.specs[0].shape[c.op.axis]
    if not count:
        return []
    found = c.add("Split", c.x(), c.ints(*[1] * count), outputs=count, axis=c.op.axis)
    return [str(c.add("Squeeze", x, c.ints(c.op.axis))) for x in ([found] if count == 1 else found)]


def stack(c: CardCall) -> str:
    return str(c.add("Concat", *[c.add("Unsqueeze", x, c.ints(c.op.axis)) for x in c.all()], axis=c.op.axis))


def pad(c: CardCall) -> str:
    widths = c.op.widths
    if not widths:
        return c.x()
    flat = c.ints(*(a for a, _ in widths), *(b for _, b in widths))
    return str(c.add("Pad", c.x(), flat, c.number(0), mode="constant"))


# ---------------------------------------------------------------- indices known at run time


def index_list(c: CardCall, first: int) -> tuple[str, tuple[int, ...]]:
    """The indices from an input on, as one array whose last axis goes through the axes of x; and the shape before it."""
    specs = c.specs[first:]
    shape = np.broadcast_shapes(*(s.shape for s in specs))
    columns = []
    for k in range(first, len(c.names)):
        if c.specs[k].dtype.kind not in "iu":
            raise c.refuse("its indices are no integers")
        wide = c.add("Expand", c.x(k, int64), c.ints(*shape))
        columns.append(c.add("Unsqueeze", wide, c.ints(len(shape))))
    return str(c.add("Concat", *columns, axis=len(shape)) if len(columns) > 1 else columns[0]), shape


def gather(c: CardCall) -> str:
    if len(c.names) == 2 and c.specs[1].dtype.kind in "iu":
        return str(c.add("Gather", c.x(), c.x(1, int64), axis=0))
    return str(c.add("GatherND", c.x(), index_list(c, 1)[0]))


def scatter(c: CardCall, how: str) -> str:
    """x with values at indices, which are put or added."""
    places, lead = index_list(c, 2)
    shape = (*lead, *c.specs[0].shape[len(c.names) - 2 :])
    values = c.add("Expand", c.x(1, c.dtype), c.ints(*shape))
    return str(c.add("ScatterND", c.x(), places, values, reduction=how))


def scatter_set(c: CardCall) -> str:
    ops = [n.op for n in c.node.inputs[2:]]
    if prod(np.broadcast_shapes(*(s.shape for s in c.specs[2:]))) == 1:
        return scatter(c, "none")  # one place
    if not all(isinstance(op, Const) for op in ops):
        raise c.refuse(
            "which of two values for one place wins is not said there; only constant indices, or one index, are written"
        )
    sizes = c.specs[0].shape[: len(ops)]
    found = np.broadcast_arrays(*[np.asarray(op.value) % n for op, n in zip(ops, sizes, strict=True)])
    flat = np.ravel_multi_index(found, sizes)
    if np.unique(flat).size < flat.size:
        raise c.refuse("which of two values for one place wins is not said there, and an index comes twice")
    return scatter(c, "none")


# ---------------------------------------------------------------- products


def matmul(c: CardCall) -> str:
    if c.dtype == boolean:
        raise c.refuse("a product of truth values is none of numbers")
    x, y = c.all()
    # Vectors as matrices: onnxruntime's optimiser gets the product of a transposed matrix and a vector wrong.
    if c.specs[0].ndim == 1:
        x = c.add("Unsqueeze", x, c.ints(0))
    if c.specs[1].ndim == 1:
        y = c.add("Unsqueeze", y, c.ints(1))
    found = c.add("MatMul", x, y)
    gone = [axis for axis, spec in ((-2, c.specs[0]), (-1, c.specs[1])) if spec.ndim == 1]
    return str(c.add("Squeeze", found, c.ints(*gone)) if gone else found)


def einsum(c: CardCall) -> str:
    equation = c.op.subscripts
    if not equation.replace(",", "").replace("->", "").isascii() or c.dtype == boolean:
        raise c.refuse("its letters, or its dtype, are none of ONNX's")
    return str(c.add("Einsum", *c.all(), equation=equation))


RULES: dict[str, Rule] = {
    "Reshape": lambda c: reshaped(c, c.x(), c.op.shape),
    "Transpose": lambda c: c.add("Transpose", c.x(), perm=list(c.op.perm)) if c.op.perm else c.x(),
    "BroadcastTo": lambda c: c.add("Expand", c.x(), c.ints(*c.op.shape)),
    "MatMul": matmul,
    "Einsum": einsum,
    "Sum": reduction("ReduceSum"),
    "Mean": mean,
    "Max": extreme("ReduceMax"),
    "Min": extreme("ReduceMin"),
    "Any": truth(False),
    "All": truth(True),
    "ArgMax": place_of_extreme("ArgMax"),
    "ArgMin": place_of_extreme("ArgMin"),
    "ArgSort": lambda c: first_places(c, c.specs[0].shape[c.op.axis], c.op.descending),
    "ArgTopK": lambda c: first_places(c, c.op.k, c.op.largest),
    "CumSum": cumulated,
    "GetItem": get_item,
    "PutItem": put_item,
    "SetItem": set_item,
    "Flip": flip,
    "Gather": gather,
    "ScatterAdd": lambda c: scatter(c, "add"),
    "ScatterSet": scatter_set,
    "Concat": lambda c: c.add("Concat", *c.all(), axis=c.op.axis),
    "Split": split,
    "Stack": stack,
    "Unstack": unstack,
    "Pad": pad,
    "Det": lambda c: c.add("Det", *c.all()),
}
