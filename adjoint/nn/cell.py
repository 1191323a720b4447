"""Cell: a network, or a part of one, as an object that holds its Parameters."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import numpy as np

from adjoint.api.custom import custom_vjp
from adjoint.api.grad import vjp
from adjoint.api.inputs import binding, dropped
from adjoint.api.modes import by_mode
from adjoint.core import context
from adjoint.core.errors import ArgumentError, ArgumentTypeError, called_at
from adjoint.core.parameter import Parameter
from adjoint.core.tensor import Tensor
from adjoint.nn.calling import Around, Hooked, HookHandle, Hooks, Precision, Recompute, surrounded
from adjoint.nn.cell_habits import CellHabits

Hook = Callable[..., Any]


class Cell(CellHabits):
    """Base class of networks: assign Parameters and Cells to attributes, write `construct`, call the Cell.

    A method `bprop(self, *inputs, out, dout)` replaces the derivative of `construct` by the inputs; Parameters of the
    Cell keep their true gradients.

    >>> import adjoint as ad
    >>> class Scale(ad.nn.Cell):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = ad.Parameter(ad.Tensor([3.0]))
    ...     def construct(self, x):
    ...         return self.factor * x
    >>> net = Scale()
    >>> print(net(ad.Tensor([2.0])), ad.grad(net)(ad.Tensor([2.0])), [p.name for p in net.trainable_params()])
    [6.] [3.] ['factor']
    """

    bprop: Any = None

    def __init__(self) -> None:
        self.__dict__["_params"] = {}
        self.__dict__["_cells"] = {}
        self.__dict__["training"] = False
        self.__dict__["requires_grad"] = False
        self.__dict__["_version"] = 0.0  # goes up by 1 with every change of an attribute; the fraction says `training`
        self.__dict__["_changed"] = ""  # the attribute that changed last
        self.__dict__["_path"] = ""  # the place in the network, with a dot at its end
        self.__dict__["_around"] = ()  # what surrounds a call, the innermost first
        self.__dict__["_hooks"] = None

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, (Parameter, Cell)) and "_params" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__}: call super().__init__() before assigning '{name}'")
        if name == "training" and "_version" in self.__dict__:
            self.__dict__["_version"] = math.floor(self._version) + (0.25 if value else 0.0)
            self.__dict__["_changed"] = name
        elif not self._has(name, value):
            self._mark(name)
        for kind, registry in ((Parameter, self.__dict__.get("_params", {})), (Cell, self.__dict__.get("_cells", {}))):
            if not isinstance(value, kind):  # what replaces one of its kind takes its place in the order
                registry.pop(name, None)
        if isinstance(self.__dict__.pop(name, None), (list, tuple, dict)):
            for key in [k for k in self._params if k.startswith(f"{name}.")]:
                del self._params[key]
        if isinstance(value, Parameter):
            if value.is_unnamed:
                value.name = self._path + name
            self._params[name] = value
        elif isinstance(value, Cell):
            self._name_inside(name, value)
            self._cells[name] = value
        else:
            if isinstance(value, (list, tuple, dict)):
                self._look_into(name, value)
            object.__setattr__(self, name, value)

    def _name_inside(self, name: str, cell: Cell) -> None:
        """Give the Parameters of a Cell that comes inside their names; one that has its place already keeps them."""
        if not cell._path:
            cell.update_parameters_name(f"{self._path}{name}.")

    def _look_into(self, name: str, container: Any) -> None:
        """Take in new Parameters of a list; warn of new Cells in a container, which the network would not see."""
        items = container.items() if isinstance(container, dict) else enumerate(container)
        for key, x in items:
            if isinstance(x, Parameter) and x.is_unnamed and "_params" in self.__dict__:
                x.name = f"{self._path}{name}.{key}"
                self._params[f"{name}.{key}"] = x
            elif isinstance(x, Cell) and not x._path:
                kind, instead = ("dict", "CellDict") if isinstance(container, dict) else ("list", "CellList")
                warnings.warn(
                    f"{type(self).__name__}.{name} is a {kind} of Cells, which the network does not see: their Parameters "
                    f"are neither trained nor saved. Use nn.{instead}{called_at()}",
                    stacklevel=3,
                )
                return

    def _mark(self, name: str) -> None:
        """Note that an attribute has changed: graphs with this Cell in them are to be built anew."""
        self.__dict__["_version"] = self.__dict__.get("_version", 0.0) + 1
        self.__dict__["_changed"] = name

    def _has(self, name: str, value: Any) -> bool:
        """Whether an attribute holds this value already."""
        own = self.__dict__
        old = own.get(name, own.get("_params", {}).get(name, own.get("_cells", {}).get(name)))
        return old is value or (
            type(old) is type(value) and isinstance(value, (bool, int, float, str)) and old == value
        )

    def __getattr__(self, name: str) -> Any:
        for registry in ("_params", "_cells"):
            if name in self.__dict__.get(registry, {}):
                return self.__dict__[registry][name]
        return super().__getattr__(name)

    def __getstate__(self) -> dict[str, Any]:
        own = ("_by_mode", "_jitted")  # a copy compiles for itself
        return {k: v for k, v in self.__dict__.items() if k not in own}

    def __deepcopy__(self, memo: dict[int, Any]) -> Cell:
        outermost = not memo
        memo[id(self)] = fresh = type(self).__new__(type(self))
        fresh.__dict__.update({k: deepcopy(v, memo) for k, v in self.__getstate__().items()})
        if outermost and self._path:  # the copy has no place yet
            fresh._move("", self._path)
        return fresh

    def __delattr__(self, name: str) -> None:
        self._mark(name)
        for registry in (self._params, self._cells):
            if name in registry:
                del registry[name]
                return
        object.__delattr__(self, name)

    def construct(self, *inputs: Any, **kwargs: Any) -> Any:
        """The computation of the network: to be written by each class."""
        raise NotImplementedError(f"{type(self).__name__} has no `construct`: write what the Cell computes there")

    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        if context.static_mode.get():
            compiled = self.__dict__.setdefault("_by_mode", {})
            if self.training not in compiled:  # one for training, one for use: a switch compiles nothing anew
                compiled[self.training] = by_mode(self._run)
            return compiled[self.training](*inputs, **kwargs)
        return self._run(*inputs, **kwargs)

    def _run(self, *inputs: Any, **kwargs: Any) -> Any:
        used = context.cells.get()
        if used is not None:  # a graph that is being built holds good while this Cell stays as it is
            used.setdefault(self, self.__dict__["_version"])
        compute = self._compute
        for wrapper in self.__dict__.get("_around", ()):
            compute = surrounded(self, wrapper, compute)
        return compute(inputs, kwargs)

    def _compute(self, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self.construct(*inputs, **kwargs) if self.bprop is None else self._call_with_bprop(inputs, kwargs)

    def _call_with_bprop(self, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """One op of the inputs and the Parameters: by the inputs the user's rule, by the Parameters the true derivative."""
        params = list(self.get_parameters())
        n = len(inputs)

        def construct(*values: Any, lower: Any = None) -> Any:
            with binding(dict(zip(params, values[n:], strict=True)), lower):
                return context.readable(self.construct)(*values[:n], **kwargs)

        def rule(*args: Any) -> list[Any]:
            *values, out, dout = args
            weights = values[n:]
            with binding(dict(zip(params, weights, strict=True))):
                grads = context.readable(self.bprop)(*values[:n], out, dout)
            grads = list(grads) if isinstance(grads, (tuple, list)) else [grads]
            if len(grads) != n:
                raise ArgumentError(
                    f"bprop of {type(self).__name__} returned {len(grads)} gradients for {n} inputs{called_at()}"
                )
            if not params:
                return grads
            _, pull = vjp(lambda *ws: construct(*values[:n], *ws, lower=dropped), *weights)
            cotangents = dout if isinstance(dout, (tuple, list)) else (dout,)
            return [*grads, *pull(*cotangents)]

        construct.__name__ = type(self).__name__
        return custom_vjp(construct, rule)(*inputs, *params)

    # ------------------------------------------------------------ parameters

    def parameters_and_names(self, name_prefix: str = "", expand: bool = True) -> Iterator[tuple[str, Parameter]]:
        """Each Parameter once, with its path, in the order of definition."""
        seen: set[int] = set()
        for name, parameter in self._walk(name_prefix, expand):
            if id(parameter) not in seen:
                seen.add(id(parameter))
                yield name, parameter

    def _walk(self, prefix: str, expand: bool) -> Iterator[tuple[str, Parameter]]:
        lead = f"{prefix}." if prefix else ""
        for name, parameter in self._params.items():
            yield lead + name, parameter
        if expand:
            for name, cell in self._cells.items():
                yield from cell._walk(lead + name, expand)

    def get_parameters(self, expand: bool = True) -> Iterator[Parameter]:
        """Each Parameter once, in the order of definition."""
        return (p for _, p in self.parameters_and_names(expand=expand))

    def trainable_params(self, recurse: bool = True) -> list[Parameter]:
        """The Parameters with `requires_grad`, in the order of definition."""
        return [p for p in self.get_parameters(recurse) if p.requires_grad]

    def untrainable_params(self, recurse: bool = True) -> list[Parameter]:
        """The Parameters without `requires_grad`, in the order of definition."""
        return [p for p in self.get_parameters(recurse) if not p.requires_grad]

    def parameters_dict(self, recurse: bool = True) -> dict[str, Parameter]:
        """The Parameters by name."""
        return {p.name: p for p in self.get_parameters(recurse)}

    def update_parameters_name(self, prefix: str = "", recurse: bool = True) -> None:
        """Put a prefix before the names of the Parameters."""
        if recurse:
            self._move(prefix, "")
            return
        for parameter in self._params.values():
            parameter.name = prefix + parameter.name

    def _move(self, prefix: str, old: str) -> None:
        """Names and places that begin with `old` begin with `prefix` instead."""
        for parameter in self.get_parameters():
            parameter.name = prefix + parameter.name.removeprefix(old)
        for _, cell in self.cells_and_names():
            cell.__dict__["_path"] = prefix + cell._path.removeprefix(old)

    def init_parameters_data(self, auto_parallel_mode: bool = False) -> dict[Parameter, Parameter]:
        """Each Parameter for itself: they hold their values from the start. Accepted for MindSpore's programs."""
        if auto_parallel_mode:
            raise ArgumentError(f"init_parameters_data: there is no auto_parallel_mode{called_at()}")
        return {p: p for p in self.get_parameters()}

    # ------------------------------------------------------------ cells

    def cells(self) -> list[Cell]:
        """The Cells directly inside."""
        return list(self._cells.values())

    def name_cells(self) -> dict[str, Cell]:
        """The Cells directly inside, by name."""
        return dict(self._cells)

    def cells_and_names(self, name_prefix: str = "") -> Iterator[tuple[str, Cell]]:
        """This Cell and all inside it, each once, with their paths."""
        seen: set[int] = set()
        for name, cell in self._walk_cells(name_prefix):
            if id(cell) not in seen:
                seen.add(id(cell))
                yield name, cell

    def _walk_cells(self, prefix: str) -> Iterator[tuple[str, Cell]]:
        yield prefix, self
        for name, cell in self._cells.items():
            yield from cell._walk_cells(f"{prefix}.{name}" if prefix else name)

    def apply(self, fn: Callable[[Cell], Any]) -> Cell:
        """Call a function with each Cell inside, the innermost first, and with this one last."""
        for cell in self._cells.values():
            cell.apply(fn)
        fn(self)
        return self

    def insert_child_to_cell(self, child_name: str, child_cell: Cell) -> None:
        """Add a Cell under a name that is still free."""
        if not isinstance(child_cell, Cell):
            raise ArgumentTypeError(f"insert_child_to_cell: a Cell is needed, not {type(child_cell).__name__}")
        if hasattr(self, child_name):
            raise KeyError(f"insert_child_to_cell: {type(self).__name__} has an attribute '{child_name}' already")
        setattr(self, child_name, child_cell)

    # ------------------------------------------------------------ switches

    def set_train(self, mode: bool = True) -> Cell:
        """Switch this Cell and those inside to training, or out of it."""
        self.training = mode
        for cell in self._cells.values():
            cell.set_train(mode)
        return self

    def set_grad(self, requires_grad: bool = True) -> Cell:
        """Accepted for MindSpore's older programs; derivatives need no switch here."""
        self.requires_grad = requires_grad
        return self

    def to(self, device: str) -> Any:
        """Move the Parameters, and the Tensors that Cells hold as attributes, to a device: "gpu", "cpu:1", or "cpu" for the host.

        The state of an optimiser follows its Parameters with the next step.

        >>> import adjoint as ad
        >>> net = ad.nn.Dense(2, 1).to("cpu:0")
        >>> print(net(ad.ops.ones((1, 2)).to("cpu:0")).device)
        cpu:0
        """
        for p in self.get_parameters():
            p.to(device)
        for _, cell in self.cells_and_names():
            for name, value in list(vars(cell).items()):
                if type(value) is Tensor and not value.tracked:
                    setattr(cell, name, value.to(device))
        return self

    def to_float(self, dst_type: Any) -> Cell:
        """Compute in float16, bfloat16 or float32: inputs and Parameters are cast for the length of each call.

        The Parameters keep their dtype, and so do their gradients. A Cell inside that has a precision of its own keeps it.

        >>> import adjoint as ad
        >>> print(ad.nn.Dense(2, 1).to_float(ad.float16)(ad.ops.ones((1, 2))).dtype)
        float16
        """
        dtype = np.dtype(dst_type)
        if dtype.name not in ("float16", "bfloat16", "float32"):
            raise ArgumentError(f"to_float: the dtype must be float16, bfloat16 or float32, not {dtype}{called_at()}")
        self._surround(Precision(dtype))
        return self

    def recompute(self, mode: bool = True) -> Cell:
        """Keep only the inputs of a call, and compute the rest again when its derivative is wanted: less memory, more time.

        As `ad.checkpoint` around each call, in dynamic and static mode.

        >>> import adjoint as ad
        >>> net = ad.nn.Tanh().recompute()
        >>> print(ad.grad(net)(ad.Tensor([0.0])))
        [1.]
        """
        self._surround(Recompute() if mode else None, Recompute)
        return self

    def _surround(self, wrapper: Around | None, kind: type | None = None) -> None:
        """Put a wrapper around calls, in place of the one of its kind."""
        kind = type(wrapper) if kind is None else kind
        others = [w for w in self._around if type(w) is not kind]
        around = others if wrapper is None else [*others, wrapper]
        self.__dict__["_around"] = tuple(sorted(around, key=lambda w: w.rank))
        self._mark(kind.__name__)

    # ------------------------------------------------------------ hooks

    def register_forward_pre_hook(
        self, hook_fn: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> HookHandle:
        """Call `hook(cell, inputs)` (`with_kwargs`: `(cell, inputs, kwargs)`) before each call; a result replaces what it got."""
        return self._hook("forward_pre", hook_fn, prepend, with_kwargs)

    def register_forward_hook(
        self,
        hook_fn: Hook,
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> HookHandle:
        """Call `hook(cell, inputs, output)` after each call; what it returns, unless None, replaces the output.

        With `prepend` it comes before the hooks there are; `with_kwargs` gives it `(cell, inputs, kwargs, output)`; with
        `always_call` it is called also where the call raises an exception.
        """
        return self._hook("forward", hook_fn, prepend, with_kwargs, always_call)

    def register_backward_pre_hook(self, hook_fn: Hook) -> HookHandle:
        """Call `hook(cell, grad_output)` when a gradient reaches the output; what it returns, unless None, replaces it."""
        return self._hook("backward_pre", hook_fn)

    def register_backward_hook(self, hook_fn: Hook) -> HookHandle:
        """Call `hook(cell, grad_input, grad_output)` when a gradient leaves the inputs; a result replaces `grad_input`.

        >>> import adjoint as ad
        >>> net = ad.nn.ReLU()
        >>> handle = net.register_backward_hook(lambda cell, grad_input, grad_output: (grad_input[0] * 10,))
        >>> print(ad.grad(net)(ad.Tensor([-1.0, 2.0])))
        [ 0. 10.]
        """
        return self._hook("backward", hook_fn)

    def _hook(self, kind: str, hook: Hook, *options: bool) -> HookHandle:
        if self._hooks is None:
            self.__dict__["_hooks"] = Hooks()
            self._surround(Hooked())
        return self._hooks.add(kind, hook, lambda: self._mark("hooks"), *options)
