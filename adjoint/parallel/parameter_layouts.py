"""Layouts of Parameters: noted on them, by name or for layers, and obeyed when they are placed on a mesh."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from adjoint.core.errors import ArgumentError, ArgumentTypeError, called_at
from adjoint.core.parameter import Parameter
from adjoint.nn.basic import Dense
from adjoint.nn.cell import Cell
from adjoint.nn.transformer import MultiheadAttention
from adjoint.optim.optimizer import Optimizer
from adjoint.parallel.device_mesh import Mesh
from adjoint.parallel.layouts_on_mesh import Layout, as_layout, check_fits, of_first_process, put

NOTE = "_layout"  # the attribute of a Parameter that says how it is to lie


def layout(parameter: Parameter, axes: Any, mesh: Mesh | None = None) -> Parameter:
    """Note how a Parameter is to lie on meshes: for each of its axes the axis of the mesh that it is split along, or None.

    Without a note, a Parameter is whole on every device. With a `mesh` it is placed there at once; else `place` or the first
    step of `data_parallel` does.

    >>> import adjoint as ad
    >>> w = ad.Parameter(ad.ops.ones((4, 2)), name="w")
    >>> _ = ad.parallel.layout(w, ("model", None))
    >>> ad.parallel.layout_of(w)
    ('model',)
    """
    if not isinstance(parameter, Parameter):
        raise ArgumentTypeError(f"layout: expected a Parameter, not {type(parameter).__name__}{called_at()}")
    found = as_layout(f"layout of {parameter.name!r}", axes)
    if len(found) > parameter.ndim:
        raise ArgumentError(
            f"layout: {axes!r} is for {len(found)} axes, {parameter.name!r} has the shape {parameter.shape}{called_at()}"
        )
    parameter.__dict__[NOTE] = found
    if mesh is not None:
        place_parameter(parameter, mesh)
    return parameter


def layout_of(parameter: Parameter) -> Layout:
    """The layout that is noted for a Parameter; `()` for one that is whole on every device."""
    return parameter.__dict__.get(NOTE, ())


def lay_out(net: Cell, layouts: Mapping[str, Any], mesh: Mesh | None = None) -> Cell:
    """Note layouts for the Parameters of a network by patterns of their names, of which the first that fits counts.

    A pattern that fits no name is an error. Parameters that none fits are left as they are.

    >>> import adjoint as ad
    >>> net = ad.nn.SequentialCell(ad.nn.Dense(4, 8), ad.nn.Dense(8, 4))
    >>> _ = ad.parallel.lay_out(net, {"0.weight": ("model", None), "1.w*": (None, "model")})
    >>> [ad.parallel.layout_of(p) for p in net.get_parameters()]
    [('model',), (), (None, 'model'), ()]
    """
    names = [p.name for p in net.get_parameters()]
    for pattern in layouts:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise ArgumentError(
                f"lay_out: no Parameter is called like {pattern!r}; there are {', '.join(names) or 'none'}{called_at()}"
            )
    for p in net.get_parameters():
        found = next((axes for pattern, axes in layouts.items() if fnmatchcase(p.name, pattern)), None)
        if found is not None:
            layout(p, found, mesh)
    return net


# ---------------------------------------------------------------- layers


def split_columns(dense: Dense, axis: str = "model", mesh: Mesh | None = None) -> Dense:
    """Split a Dense layer by its outputs: each device computes some of them, and nothing is sent.

    >>> import adjoint as ad
    >>> dense = ad.parallel.split_columns(ad.nn.Dense(4, 8))
    >>> ad.parallel.layout_of(dense.weight), ad.parallel.layout_of(dense.bias)
    (('model',), ('model',))
    """
    layout(_dense("split_columns", dense).weight, (axis, None), mesh)
    if dense.bias is not None:
        layout(dense.bias, (axis,), mesh)
    return dense


def split_rows(dense: Dense, axis: str = "model", mesh: Mesh | None = None) -> Dense:
    """Split a Dense layer by its inputs: each device has a part of the sum, and one all-reduce adds them.

    >>> import adjoint as ad
    >>> dense = ad.parallel.split_rows(ad.nn.Dense(8, 4))
    >>> ad.parallel.layout_of(dense.weight), ad.parallel.layout_of(dense.bias)
    ((None, 'model'), ())
    """
    layout(_dense("split_rows", dense).weight, (None, axis), mesh)
    if dense.bias is not None:
        layout(dense.bias, (), mesh)
    return dense


def _dense(what: str, dense: Any) -> Dense:
    if not isinstance(dense, Dense):
        raise ArgumentTypeError(f"{what}: expected an nn.Dense, not {type(dense).__name__}{called_at()}")
    return dense


def tensor_parallel(net: Cell, axis: str = "model", mesh: Mesh | None = None) -> Cell:
    """Note layouts for the blocks of a network that are made for it: one all-reduce for each block and direction.

    Of attention, the projections of queries, keys and values are split by their outputs (by heads), that of the result by its inputs. Of two Dense
    layers, `dense1` and `dense2` of a Cell as in a transformer's layer, the first is split by its outputs, the second by its inputs.
    An error if there is no such block: `lay_out` gives layouts by name.

    >>> import adjoint as ad
    >>> net = ad.parallel.tensor_parallel(ad.nn.TransformerEncoderLayer(8, 2, 16))
    >>> ad.parallel.layout_of(net.dense1.weight), ad.parallel.layout_of(net.dense2.weight)
    (('model',), (None, 'model'))
    """
    found = 0
    for _, cell in net.cells_and_names():
        first, second = (cell._cells.get(name) for name in ("dense1", "dense2"))
        if isinstance(cell, MultiheadAttention):
            for name, p in cell._params.items():
                if name.endswith("proj_weight"):
                    layout(p, (axis, None), mesh)
                elif name == "in_proj_bias":
                    layout(p, (axis,), mesh)
            split_rows(cell.out_proj, axis, mesh)
            found += 1
        elif isinstance(first, Dense) and isinstance(second, Dense) and first.out_channels == second.in_channels:
            split_columns(first, axis, mesh)
            split_rows(second, axis, mesh)
            found += 1
    if not found:
        raise ArgumentError(
            f"tensor_parallel: {type(net).__name__} has no attention and no pair of Dense layers `dense1`, `dense2`: give layouts by name with "
            f"parallel.lay_out, or with split_columns and split_rows{called_at()}"
        )
    return net


# ---------------------------------------------------------------- placing


def place(what: Any, mesh: Mesh) -> Any:
    """Put the Parameters of a network, or of an optimiser with its state, on a mesh as their layouts say. Gives back what it got.

    A Parameter without a layout is put on every device; the state of an optimiser lies as the Parameters that it is for.

    >>> import adjoint as ad
    >>> net = ad.parallel.place(ad.nn.Dense(4, 2), ad.parallel.mesh(data=1))
    >>> ad.jit(net, backend="xla")(ad.ops.ones((3, 4))).shape
    (3, 2)
    """
    for p in parameters_of("place", what):
        place_parameter(p, mesh)
    return what


def place_parameter(p: Parameter, mesh: Mesh) -> None:
    """Put a Parameter on a mesh as its layout says, unless it is there."""
    wanted = layout_of(p)
    check_fits(f"Parameter {p.name!r}", wanted, p._value.shape, mesh)
    p._value = put(of_first_process(p._value, mesh), mesh, wanted)


def follow_parameters(optimiser: Optimizer) -> None:
    """Let the state of an optimiser lie as its Parameters do, where nothing else is noted."""
    for held in optimiser.slots.values():
        for slot, p in zip(held, optimiser.parameters, strict=True):
            if slot.shape == p.shape and NOTE not in slot.__dict__:
                slot.__dict__[NOTE] = layout_of(p)


def parameters_of(what: str, owner: Any) -> Iterator[Parameter]:
    """The Parameters of a network, an optimiser with its state, or a list of such."""
    if isinstance(owner, Parameter):
        yield owner
    elif isinstance(owner, Cell):
        yield from owner.get_parameters()
    elif isinstance(owner, Optimizer):
        follow_parameters(owner)
        yield from owner.parameters
        yield from owner.parameters_dict().values()
    elif isinstance(owner, Iterable) and not isinstance(owner, (str, bytes)):
        for part in owner:
            yield from parameters_of(what, part)
    else:
        raise ArgumentTypeError(
            f"{what}: expected a network, an optimiser, a Parameter or a list of these, not {type(owner).__name__}{called_at()}"
        )
