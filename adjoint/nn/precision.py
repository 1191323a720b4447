"""Mixed precision: a network that computes in float16 or bfloat16 where that is safe, and in float32 elsewhere.

Whole Cells can be switched (`Cell.to_float`), or single ops wherever they are called: products of matrices and convolutions
gain most and lose least. Parameters and their gradients stay in float32. Train with a scaled loss: see `train.LossScale`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adjoint.api.inputs import binding
from adjoint.core import context, tree
from adjoint.core.context import readable
from adjoint.core.dispatch import Trace, Value, is_float, make, wrap
from adjoint.core.errors import ArgumentError, ArgumentTypeError, called_at
from adjoint.core.parameter import resolve
from adjoint.core.spec import dtype_of, float16, float32, is_half
from adjoint.graph.control import Control
from adjoint.graph.node import Graph
from adjoint.graph.trace import trace
from adjoint.graph.walk import replay
from adjoint.nn.calling import Around
from adjoint.nn.cell import Cell
from adjoint.nn.normalization import BatchNorm1d, BatchNorm2d, BatchNorm3d, LayerNorm
from adjoint.ops import cast
from adjoint.ops.card import REGISTRY, Op

_BLACK: tuple[type[Cell], ...] = (BatchNorm1d, BatchNorm2d, BatchNorm3d, LayerNorm)


def get_white_list() -> list[type]:
    """The ops that level "O1" computes in half precision.

    >>> sorted(op.__name__ for op in get_white_list())
    ['Conv', 'ConvFilter', 'ConvInput', 'Einsum', 'MatMul']
    """
    return [op for op in REGISTRY.values() if op.half_precision]


def get_black_list() -> list[type]:
    """The Cells that level "O2" leaves in float32.

    >>> [cell.__name__ for cell in get_black_list()]
    ['BatchNorm1d', 'BatchNorm2d', 'BatchNorm3d', 'LayerNorm']
    """
    return list(_BLACK)


class autocast:
    """Compute products and convolutions (`get_white_list`) of float32 inputs in half precision, for the length of a block.

    They give float32 again; everything else, Parameters and gradients keep their dtypes. Works as a decorator too, in dynamic mode, in
    compiled functions and in compiled steps; a function compiled outside is compiled once more when it is called in such a block. With
    `enabled=False` a block inside another computes as usual. float16 may underflow in gradients: scale the loss (`amp.DynamicLossScaler`).

    >>> import adjoint as ad
    >>> x = ad.Tensor([[1 / 3]])
    >>> with ad.amp.autocast():
    ...     print(x @ x, (x @ x).dtype)
    [[0.11108398]] float32
    >>> print(x @ x)
    [[0.11111112]]
    """

    def __init__(self, dtype: Any = float16, enabled: bool = True) -> None:
        try:
            wanted = np.dtype(dtype)
        except TypeError:
            wanted = None
        if wanted is None or not is_half(wanted):
            raise ArgumentError(
                f"autocast: the dtype must be float16 or bfloat16, not {dtype!r}; a decorator is @autocast(){called_at()}"
            )
        self.dtype = wanted if enabled else None
        self._tokens: list[Any] = []

    def __enter__(self) -> autocast:
        self._tokens.append(context.autocast.set(self.dtype))
        return self

    def __exit__(self, *error: Any) -> None:
        context.autocast.reset(self._tokens.pop())

    def __call__(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """The function, computing so."""
        dtype = self.dtype

        @functools.wraps(fn)
        def lowered(*args: Any, **kwargs: Any) -> Any:
            with context.setting(context.autocast, dtype):
                return readable(fn)(*args, **kwargs)

        return lowered


# ---------------------------------------------------------------- single ops


class HalfPrecisionOps(Trace):
    """A transform: ops of some kinds compute on float32 inputs in half precision, and give float32 again."""

    def __init__(self, dtype: np.dtype, kinds: tuple[type[Op], ...]) -> None:
        self.dtype, self.kinds = dtype, kinds
        self.level = context.new_level()

    def follow(self, value: Any) -> Any:
        """Floating-point arrays as values that this transform sees."""
        return tree.map(lambda x: make(wrap(x), self) if is_float(x) else x, value)

    def release(self, value: Any) -> Any:
        """The arrays again."""
        return tree.map(self._inner, value)

    def _inner(self, x: Any) -> Any:
        return x._value if isinstance(x, Value) and x._trace is self else x

    def apply(self, op: Any, xs: tuple[Any, ...]) -> Any:
        values = [self._inner(x) for x in xs]
        if isinstance(op, self.kinds):
            return self.follow(_in_single(op(*(cast(v, self.dtype) if _is_single(v) else v for v in values))))
        if isinstance(op, Control):
            op = op.mapped(self._within)
        return self.follow(op(*values))

    def _within(self, graph: Graph) -> Graph:
        """The graph of a branch, a loop or a compiled function, with the same done to the ops inside."""

        def run(*xs: Any) -> list[Any]:
            inside = HalfPrecisionOps(self.dtype, self.kinds)
            return inside.release(replay(graph, inside.follow(list(xs))))

        return trace(run, [p.spec for p in graph.params], graph.name)[0]


def _is_single(x: Any) -> bool:
    return is_float(x) and dtype_of(x) == float32


def _in_single(y: Any) -> Any:
    return tree.map(lambda v: cast(v, float32) if isinstance(v, Value) and is_half(dtype_of(v)) else v, y)


class ByOp(Around):
    """Calls in which ops of some kinds compute in half precision."""

    rank = 0

    def __init__(self, dtype: np.dtype, kinds: tuple[type[Op], ...]) -> None:
        self.dtype, self.kinds = dtype, kinds

    def call(self, cell: Any, compute: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        lowered = HalfPrecisionOps(self.dtype, self.kinds)
        params = {p: lowered.follow(resolve(p)) for p in cell.get_parameters()}
        with binding(params, lowered.release):
            return lowered.release(compute(lowered.follow(inputs), lowered.follow(kwargs)))


# ---------------------------------------------------------------- whole networks


class MixedPrecision(Cell):
    """A network that computes in half precision, with its output in float32 for the loss."""

    def __init__(self, network: Cell) -> None:
        super().__init__()
        self._cells["network"] = network  # no prefix for the names of its Parameters

    def construct(self, *inputs: Any) -> Any:
        return _in_single(readable(self.network)(*inputs))


def auto_mixed_precision(network: Cell, amp_level: str = "O0", dtype: Any = float16) -> Cell:
    """The network in mixed precision; Parameters, their gradients and the output are float32.

    Level "O0" leaves it as it is; "O1" computes the ops of `get_white_list` in half precision, wherever they are called;
    "O2" all but the Cells of `get_black_list` and other layers that normalise; "O3" everything.

    >>> import adjoint as ad
    >>> net = auto_mixed_precision(ad.nn.Dense(1, 1, weight_init=1 / 3, bias_init=1 / 3), "O1")
    >>> y = net(ad.Tensor([[1.0]]))
    >>> print(y, y.dtype)  # the product is rounded, the sum is not
    [[0.6665853]] float32
    """
    if amp_level not in ("O0", "O1", "O2", "O3"):
        raise ArgumentError(f"auto_mixed_precision: the level must be O0, O1, O2 or O3, not {amp_level!r}{called_at()}")
    if amp_level == "O0":
        return network
    if amp_level == "O1":
        return custom_mixed_precision(network, white_list=get_white_list(), dtype=dtype)
    if amp_level == "O3":
        return custom_mixed_precision(network, black_list=(), dtype=dtype)
    return _all_but(network, lambda cell: isinstance(cell, _BLACK) or "Norm" in type(cell).__name__, dtype)


def custom_mixed_precision(
    network: Cell, *, white_list: Sequence[type] | None = None, black_list: Sequence[type] | None = None,
    dtype: Any = float16,
) -> Cell:  # fmt: skip
    """The network in mixed precision by one's own list: ops and Cells to compute in half precision, or Cells not to.

    >>> import adjoint as ad
    >>> net = custom_mixed_precision(ad.nn.Dense(2, 1), white_list=[ad.ops.MatMul], dtype=ad.float16)
    >>> print(net(ad.ops.ones((1, 2))).dtype)
    float32
    """
    if (white_list is None) == (black_list is None):
        raise ArgumentError(f"custom_mixed_precision: one of white_list and black_list must be given{called_at()}")
    listed = tuple(white_list or black_list or ())
    if wrong := [x for x in listed if not (isinstance(x, type) and issubclass(x, (Op, Cell)))]:
        raise ArgumentTypeError(
            f"custom_mixed_precision: the lists hold classes of ops and Cells, not {wrong[0]!r}{called_at()}"
        )
    if white_list is None:
        return _all_but(network, lambda cell: isinstance(cell, listed), dtype)
    kinds = tuple(x for x in listed if issubclass(x, Op))
    if kinds:
        network._surround(ByOp(np.dtype(dtype), kinds))
    chosen = tuple(x for x in listed if issubclass(x, Cell))
    for _, cell in network.cells_and_names():
        if isinstance(cell, chosen):
            cell.to_float(dtype).register_forward_hook(lambda cell, inputs, output: _in_single(output))
    return network


def _all_but(network: Cell, spared: Callable[[Cell], bool], dtype: Any) -> Cell:
    """The network with all its Cells in half precision except some."""
    for _, cell in network.cells_and_names():
        if spared(cell):
            cell.to_float(float32)
        elif cell is network or cell._params:
            cell.to_float(dtype)
    return MixedPrecision(network)
