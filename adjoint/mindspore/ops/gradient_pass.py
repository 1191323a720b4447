"""One call that is differentiated by MindSpore's rules: which inputs have gradients, what is summed, and in which shape it comes."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint.api.grad import Recording
from adjoint.api.inputs import ChosenInputs, check_cotangent, lowered, ones_like
from adjoint.core import context, tree, views
from adjoint.core.dispatch import Value, wrap
from adjoint.core.parameter import Parameter
from adjoint.core.spec import dtype_of, has_derivative, number_of, shape_of
from adjoint.core.tensor import Tensor
from adjoint.mindspore.common.graph_context import in_graph
from adjoint.mindspore.common.mutable import is_fixed, is_mutable
from adjoint.ops.language import cast
from adjoint.transforms.backward import waiting_hooks

EVERY = "every input"


@dataclass(frozen=True)
class Wanted:
    """What a gradient function was asked for: `positions` is a tuple, None or EVERY."""

    positions: Any
    weights: Any = None
    has_aux: bool = False
    return_ids: bool = False
    sens_param: bool = False

    @property
    def params(self) -> list[Parameter]:
        """The weights as a list."""
        if self.weights is None:
            return []
        return [self.weights] if isinstance(self.weights, Parameter) else list(self.weights)


def check_weights(weights: Any) -> None:
    """Refuse weights that are no Parameters, by the errors of each of MindSpore's modes."""
    if weights is None or isinstance(weights, Parameter):
        return
    if isinstance(weights, (str, bytes)) or not isinstance(weights, Iterable):
        kind = ValueError if is_static() else TypeError
        raise kind(f"The weights you provided is expected to be a tensor, or a list or tuple. but got {weights!r}")
    if not isinstance(weights, (tuple, list)):
        return
    for w in weights:
        if not isinstance(w, Parameter):
            refused = ValueError if is_static() and not isinstance(w, Value) else RuntimeError
            raise refused(f"The weights must be Parameters, but got {w!r:.80}")


def in_order(
    fn: Any, wanted: Wanted, args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """A call whose keyword arguments come after the positional ones: they have positions and gradients too."""
    if not args and not kwargs and is_static():
        inspect.signature(getattr(fn, "construct", fn)).bind()  # a TypeError where the function needs arguments
    names = tuple(k for k in kwargs if k != "sens" or not wanted.sens_param)
    if not names or wanted.positions is None:
        return fn, tuple(args), kwargs
    last = 1 if wanted.sens_param and "sens" not in kwargs else 0
    count = len(args) - last
    call = _Named(fn, count, names)
    whole = (*args[:count], *(kwargs[k] for k in names), *args[count:])
    return call, whole, {k: v for k, v in kwargs.items() if k not in names}


class _Named:
    """A function whose last arguments are given to it by name."""

    def __init__(self, fn: Any, count: int, names: tuple[str, ...]) -> None:
        self.fn, self.named = fn, (count, names)
        self.__name__ = getattr(fn, "__name__", type(fn).__name__)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        count, names = self.named
        return context.readable(self.fn)(*args[:count], **dict(zip(names, args[count:], strict=True)), **kwargs)


def hooks_of(params: Sequence[Parameter]) -> tuple[Any, ...]:
    """The hooks on Parameters, which are part of a compiled gradient."""
    return tuple(tuple(getattr(p._extra, "hooks", None) or ()) for p in params)


def hooked(grad: Any, x: Any) -> Any:
    """A gradient after the hooks that were registered on its input."""
    for hook in (waiting_hooks(x) or ()) if isinstance(x, Value) else ():
        grad = new if (new := hook(grad)) is not None else grad
    return grad


def is_static() -> bool:
    """Whether a program runs as a graph, or in place of one, or one is being built."""
    return context.static_mode.get() or context.reader.get() is not None or context.lenient.get()


def unmarked(x: Any) -> Any:
    """The same as plain numbers and containers."""
    if isinstance(x, dict):
        return {k: unmarked(v) for k, v in x.items()}
    if isinstance(x, (tuple, list)) and not hasattr(x, "_fields"):
        return (tuple if isinstance(x, tuple) else list)(map(unmarked, x))
    return float(x) if is_mutable(x) and isinstance(x, float) else int(x) if is_mutable(x) else x


def has_gradient(x: Any) -> bool:
    """Whether MindSpore gives a gradient by such an input: a Tensor, or in static mode what is variable there."""
    if isinstance(x, Value):
        return number_of(x) is None or is_static()
    if _is_pattern(x):
        return True
    if not is_static():
        return False
    if is_mutable(x) or is_fixed(x):
        return is_mutable(x)
    return context.reader.get() is not None and any(isinstance(leaf, Value) for leaf in tree.leaves(x))


def _is_pattern(x: Any) -> bool:
    """Whether an input is a sparse matrix: its values have gradients."""
    return hasattr(type(x), "with_values")


class Pass(Recording):
    """A function run once on a tape: integers have gradients too, and outputs that are no Tensors count for nothing."""

    def seeds(self, out: Any, cotangent: Any = None) -> list[Any]:
        arrays = [y for y in tree.leaves(out) if isinstance(y, (Value, np.ndarray))]
        ys = [y for y in arrays if has_derivative(dtype_of(y))]
        if cotangent is None:
            return self.tape.seeds(ys, [ones_like(y) for y in ys])
        gs = [g for g in tree.leaves_like(cotangent, out) if isinstance(g, (Value, np.ndarray, np.generic, int, float))]
        if len(gs) == len(arrays):  # truth values among the outputs have a cotangent too, which counts for nothing
            gs = [g for g, y in zip(gs, arrays, strict=True) if has_derivative(dtype_of(y))]
        if len(gs) != len(ys):
            kind = TypeError if isinstance(cotangent, Value) else ValueError
            raise kind(f"{self.what}: {len(gs)} sens for {len(ys)} outputs")
        return self.tape.seeds(ys, [_fitting(g, y) for g, y in zip(gs, ys, strict=True)])


def _fitting(g: Any, y: Any) -> Any:
    """A cotangent that has the shape and dtype of its output."""
    if shape_of(g) != shape_of(y):
        raise ValueError(f"The shape should be {shape_of(y)}, but got {shape_of(g)}, of sens")
    if isinstance(g, (Value, np.ndarray)) and dtype_of(g) != dtype_of(y):
        raise TypeError(f"The dtype should be {dtype_of(y)}, but got {dtype_of(g)}, of sens")
    return check_cotangent("sens", g, y)


def differentiated(
    what: str, fn: Any, wanted: Wanted, kept: Sequence[int], args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[Any, list[Any], list[Any]]:
    """The value of a call, and its gradients by the inputs at the places `kept` and by the weights."""
    with context.setting(context.integers, True):
        sens = None
        if wanted.sens_param:
            args, kwargs, sens = _without_sens(what, args, kwargs)
        parts = {p: Parts(args[p]) for p in kept}
        tracked = tuple(p for p in kept if parts[p].spots)
        mixed = {p: parts[p] for p in tracked if not parts[p].whole}
        if mixed:
            args = [mixed[p].chosen() if p in mixed else x for p, x in enumerate(args)]
            fn = _rebuilding(fn, mixed)
        writes = Writes(fn)
        run = Pass(what, writes, ChosenInputs(what, fn, tracked, args, kwargs), _bound(wanted.params), None)
        writes.pass_on(run.tape, args, kwargs)
        out = _differentiated_part(run.out) if wanted.has_aux else run.out
        value, seeds = run.value(), run.seeds(out, sens)
        run.out = out = None
        by_input, by_weight = run.pull(seeds)
    found = {p: tree.map(_as_input, g, args[p]) for p, g in zip(tracked, by_input, strict=True)}
    found.update({p: mixed[p].together(found[p], zeros=True) for p in mixed})
    grads = [found[p] if p in found else tree.map(_zeros, args[p]) for p in kept]
    slopes = dict(zip(_bound(wanted.params), by_weight, strict=True))
    return value, grads, [slopes[p] if p in slopes else _zeros(p) for p in wanted.params]


def _as_input(g: Any, x: Any) -> Any:
    """The gradient by integers in their dtype, whatever was computed with them."""
    if not isinstance(g, Value) or dtype_of(x).kind not in "iu" or dtype_of(g) == dtype_of(x):
        return g
    return cast(g, dtype_of(x))


class Writes:
    """A function to differentiate, and what it writes into its arguments by `x += v`: in a graph the caller has it too."""

    def __init__(self, fn: Any) -> None:
        self.fn = fn
        self.found: dict[int | str, Any] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not in_graph():
            return context.readable(self.fn)(*args, **kwargs)
        places: list[tuple[Any, Any]] = [*enumerate(args), *kwargs.items()]
        given = {k: x for k, x in places if type(x) is Tensor}
        before = {k: x._value for k, x in given.items()}
        with context.setting(views.kept, {}):
            out = context.readable(self.fn)(*args, **kwargs)
            after = {k: views.outside(x) for k, x in given.items()}
        self.found = {k: x for k, x in after.items() if x._value is not before[k]}
        return out

    def pass_on(self, tape: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        """Write to the arguments of the call."""
        for k, x in self.found.items():
            mine = args[k] if isinstance(k, int) else kwargs[k]
            if type(mine) is Tensor:
                views.write(views.part(mine), lowered(tape, x))


def _without_sens(what: str, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any], Any]:
    if "sens" in kwargs:
        return list(args), {k: v for k, v in kwargs.items() if k != "sens"}, kwargs["sens"]
    if not args:
        raise TypeError(f"{what}: sens_param=True takes the gradient of the output as the last argument")
    return list(args[:-1]), kwargs, args[-1]


class Parts:
    """An input taken apart: truth values and Python integers have the gradient zero, the other leaves are differentiated."""

    def __init__(self, x: Any) -> None:
        self.leaves, self._rebuild = tree.flatten(x)
        self.spots = [i for i, leaf in enumerate(self.leaves) if not _is_discrete(leaf)]
        self.whole = len(self.spots) == len(self.leaves)

    def chosen(self) -> list[Any]:
        """The leaves that are differentiated."""
        return [self.leaves[i] for i in self.spots]

    def together(self, chosen: Sequence[Any], zeros: bool = False) -> Any:
        """The input with other values for the chosen leaves; the rest as it was, or zeros."""
        nothing = [0 if isinstance(leaf, int) else _zeros(leaf) for leaf in self.leaves] if zeros else None
        leaves = nothing or list(self.leaves)
        for i, leaf in zip(self.spots, chosen, strict=True):
            leaves[i] = leaf
        return self._rebuild(leaves)


def _is_discrete(leaf: Any) -> bool:
    return isinstance(leaf, int) or dtype_of(leaf).kind == "b"


def _rebuilding(fn: Any, mixed: dict[int, Parts]) -> Any:
    """The function of inputs of which some are lists of the leaves that are differentiated."""

    def call(*args: Any, **kwargs: Any) -> Any:
        whole = [mixed[p].together(x) if p in mixed else x for p, x in enumerate(args)]
        return context.readable(fn)(*whole, **kwargs)

    return call


def _bound(params: list[Parameter]) -> list[Parameter]:
    """Each Parameter once; in dynamic mode those without `requires_grad` have no gradient."""
    chosen = [p for p in params if p.requires_grad or is_static()]
    return list(dict.fromkeys(chosen))


def _zeros(x: Any) -> Any:
    return wrap(np.zeros(shape_of(x), dtype_of(x)))


def _differentiated_part(out: Any) -> Any:
    if not isinstance(out, tuple) or len(out) < 2:
        kind = RuntimeError if is_static() else ValueError
        raise kind("When has_aux is True, origin fn requires more than one outputs.")
    return out[0]


def arranged(wanted: Wanted, kept: Sequence[int], grads: list[Any], slopes: list[Any]) -> Any:
    """Gradients in MindSpore's shapes: bare for one position or one Parameter, tuples for several."""
    names = [p.name for p in wanted.params]
    if not is_static():
        grads = [g.values if _is_pattern(g) else g for g in grads]
    inputs: Any = tuple(zip(kept, grads, strict=True)) if wanted.return_ids else tuple(grads)
    own: Any = tuple(zip(names, slopes, strict=True)) if wanted.return_ids else tuple(slopes)
    if isinstance(wanted.weights, Parameter):
        own = own[0]
    if wanted.positions is None:
        return own
    if wanted.positions != EVERY and len(inputs) == 1:
        inputs = inputs[0]
    return inputs if wanted.weights is None else (inputs, own)


def as_given(grad: Any, x: Any) -> Any:
    """The gradient by a Python number as a Python number."""
    if isinstance(grad, Value) and isinstance(x, (int, float)):
        return (int if isinstance(x, int) else float)(grad.asnumpy())
    return grad


def places(wanted: Wanted, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[int, ...]:
    """The positions of a call that have gradients; an error for one that there is not."""
    count = len(args) - (1 if wanted.sens_param and "sens" not in kwargs else 0)
    if wanted.positions is None:
        return ()
    asked = tuple(range(count)) if wanted.positions == EVERY else wanted.positions
    if not count and asked and not is_static():
        return ()
    for p in asked:
        if p >= count:
            raise (IndexError if is_static() else RuntimeError)(f"Position index {p} is exceed input size.")
    if not asked and wanted.positions != EVERY:
        raise RuntimeError("grad_position should not be empty when grad by position.")
    return tuple(p for p in asked if has_gradient(args[p]))
