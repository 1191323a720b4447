"""mindspore.nn.Cell: the engine's Cell with MindSpore's names for Parameters, its flags, switches and text."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoint.core import context
from adjoint.core.dispatch import Value, wrap
from adjoint.core.parameter import Parameter, ParameterTuple
from adjoint.mindspore.checks import check_set_inputs
from adjoint.mindspore.common.graph_context import missing_keys
from adjoint.mindspore.common.mutable import fixed
from adjoint.mindspore.nn.cell_state import CellState
from adjoint.mindspore.nn.custom_bprop import call_with_bprop
from adjoint.nn.calling import HookHandle
from adjoint.nn.cell import Cell as EngineCell


class _Kind(type):
    """Every Cell of the engine is an instance of `mindspore.nn.Cell`."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, EngineCell) if cls is Cell else type.__instancecheck__(cls, instance)

    def __subclasscheck__(cls, subclass: Any) -> bool:
        return issubclass(subclass, EngineCell) if cls is Cell else type.__subclasscheck__(cls, subclass)


class Cell(CellState, EngineCell, metaclass=_Kind):  # type: ignore[misc]
    """Base class of networks: assign Parameters and Cells to attributes, write `construct`, call the Cell.

    A method `bprop(self, *inputs, out, dout)` replaces the derivative of `construct`; Parameters that `construct` uses get zeros then.

    >>> import adjoint.mindspore as mindspore
    >>> class Scale(mindspore.nn.Cell):
    ...     def __init__(self):
    ...         super().__init__(auto_prefix=False)
    ...         self.factor = mindspore.Parameter(mindspore.Tensor([3.0]), name="k")
    ...     def construct(self, x):
    ...         return self.factor * x
    >>> print(Scale()(mindspore.Tensor([2.0])), Scale().trainable_params()[0].name, Scale())
    [6.] k Scale()
    """

    def __init__(self, auto_prefix: bool = True, flags: dict[str, Any] | None = None) -> None:
        super().__init__()
        self.__dict__.update(
            _buffers={},
            _auto_prefix=auto_prefix,
            _param_prefix="",
            _scope=None,
            _phase="train",
            _bprop_debug=False,
            _create_time=int(time.time() * 1e9),
            _func_graph_flags={},
            _jit_config_dict={},
            _dynamic_shape_inputs=None,
            _compiled=False,
            cell_type=None,
            compile_cache=set(),
            phase_cache={},
            parameter_layout_dict={},
            has_bprop=self.bprop is not None,
        )
        if flags:
            self.add_flags(**flags)

    # ------------------------------------------------------------ attributes

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        if isinstance(value, EngineCell) and "_auto_prefix" not in own and "_cells" not in own:
            raise AttributeError(f"The '{type(self).__name__}' object has no attribute '_auto_prefix'.")
        if isinstance(value, Parameter) and "_params" not in own:
            raise AttributeError("For 'insert_param_to_cell', please call Cell.__init__() firstly.")
        if not isinstance(value, (Parameter, EngineCell)) and self._keeps(name, value):
            return
        if isinstance(value, Value) and not isinstance(value, Parameter) and name in own.get("_buffers", ()):
            own["_buffers"][name] = value
            self._mark(name)
            return
        super().__setattr__(name, value)

    def _keeps(self, name: str, value: Any) -> bool:
        """Whether an attribute is a Parameter that takes the value, or a Cell, which nothing else can replace."""
        if value is None:
            return False
        if name in self.__dict__.get("_params", ()):
            if type(value) in (int, float) and context.tracer.get() is not None:  # a graph takes a number for a Tensor
                value = wrap(np.asarray(value, self._params[name].dtype))
            if not isinstance(value, Value):
                raise TypeError(
                    f"Parameter '{name}' already exists in network, can not assign this type: '{type(value)}' as a parameter."
                )
            self._params[name].set_data(value)
            return True
        if name in self.__dict__.get("_cells", ()):
            raise TypeError(
                f"Sub cell '{name}' already exists in network, can not assign this type: '{type(value)}' as a cell."
            )
        return False

    def __getattr__(self, name: str) -> Any:
        for registry in ("_params", "_buffers", "_cells"):
            if name in self.__dict__.get(registry, {}):
                return self.__dict__[registry][name]
        raise AttributeError(f"The '{type(self).__name__}' object has no attribute '{name}'.")

    def __delattr__(self, name: str) -> None:
        if name in self._buffers:
            self._mark(name)
            del self._buffers[name]
            return
        super().__delattr__(name)

    def __bool__(self) -> bool:
        return True

    def _name_inside(self, name: str, cell: EngineCell) -> None:
        if self.__dict__.get("_auto_prefix", True):
            cell.update_parameters_name(f"{name}.")

    def _look_into(self, name: str, container: Any) -> None:
        """Parameters of a ParameterTuple belong to the Cell, under their own names; those of a list do not."""
        if not isinstance(container, (list, tuple)) or not container:
            return
        if not all(isinstance(x, Parameter) for x in container):
            return
        found: dict[str, Parameter] = {}
        for x in container:
            if found.setdefault(x.name, x) is not x:
                raise ValueError(
                    f"The value {container} , its name '{x.name}' already exists. Please set a unique name for the parameter."
                )
        if isinstance(container, ParameterTuple):
            self._params.update(found)

    # ------------------------------------------------------------ calls

    def construct(self, *args: Any, **kwargs: Any) -> Any:
        """The computation of the network: to be written by each class."""
        raise AttributeError("For 'Cell', the method 'construct' is not defined.")

    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        if context.static_mode.get():
            self.__dict__["_compiled"] = True
            if self.__dict__.get("_dynamic_shape_inputs"):
                check_set_inputs(self._dynamic_shape_inputs, inputs)
            inputs, kwargs = tuple(map(fixed, inputs)), {name: fixed(x) for name, x in kwargs.items()}
            with missing_keys():
                return super().__call__(*inputs, **kwargs)
        return super().__call__(*inputs, **kwargs)

    def _run(self, *inputs: Any, **kwargs: Any) -> Any:
        hooks = self.__dict__.get("_saved_hooks")
        if hooks is None or context.reader.get() is not None:
            return super()._run(*inputs, **kwargs)
        with context.setting(context.packing, hooks):
            return super()._run(*inputs, **kwargs)

    def register_saved_tensors_hooks(self, pack_hook: Any, unpack_hook: Any) -> None:
        """Pack and unpack what calls of this Cell keep for the backward pass, in dynamic mode."""
        self.__dict__["_saved_hooks"] = (pack_hook, unpack_hook)

    def _call_with_bprop(self, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return call_with_bprop(self, inputs, kwargs)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile for such inputs; here a graph is compiled with its first call."""
        with context.setting(context.static_mode, True):
            self(*args, **kwargs)

    def compile_and_run(self, *args: Any, **kwargs: Any) -> Any:
        """Compile for such inputs, and call."""
        with context.setting(context.static_mode, True):
            return self(*args, **kwargs)

    def set_inputs(self, *inputs: Any, **kwargs: Any) -> None:
        """Say which shapes inputs have, unknown sizes as None; here a graph is compiled for the shapes that come."""
        if inputs and kwargs:
            raise ValueError(
                f"For Cell, set_inputs should only set inputs or kwargs(inputs: {inputs}, kwargs: {kwargs})!"
            )
        self.__dict__["_dynamic_shape_inputs"] = inputs or tuple(kwargs.values())

    def get_inputs(self) -> Any:
        """What `set_inputs` was given."""
        return self._dynamic_shape_inputs

    # ------------------------------------------------------------ Parameters and Cells inside

    def update_parameters_name(self, prefix: str = "", recurse: bool = True) -> None:
        """Name the Parameters by their paths, after a prefix."""
        for name, parameter in self.parameters_and_names(expand=recurse):
            parameter.name = prefix + name

    def insert_param_to_cell(self, param_name: str, param: Any, check_name_contain_dot: bool = True) -> None:
        """Add a Parameter under a name."""
        if not param_name:
            raise KeyError("For 'insert_param_to_cell', the argument 'param_name' should not be None.")
        if check_name_contain_dot and "." in param_name:
            raise KeyError("For 'insert_param_to_cell', the argument 'param_name' should not contain'.' ")
        if param_name not in self._params and hasattr(self, param_name):
            raise KeyError(f"For 'insert_param_to_cell', the {param_name} parameter already exists in the network.")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"For 'insert_param_to_cell', the argument 'param' must be 'Parameter' if not None, but got {type(param)}."
            )
        if param is not None and param.is_unnamed:
            param.name = param_name
        self._mark(param_name)
        self._params[param_name] = param

    def insert_child_to_cell(self, child_name: str, child_cell: Any) -> None:
        """Add a Cell under a name; the names of its Parameters stay."""
        if not isinstance(child_name, str):
            raise TypeError(
                f"For 'insert_child_to_cell', the type of parameter 'child_name' must be str, but got {type(child_name)}."
            )
        if not child_name or "." in child_name:
            raise KeyError(
                "For 'insert_child_to_cell', the parameter 'child_name' can not be None and can not contain '.' "
            )
        if child_name not in self._cells and hasattr(self, child_name):
            raise KeyError(f"For 'insert_child_to_cell', the {child_name} child cell already exists in the network.")
        if child_cell is not None and not isinstance(child_cell, EngineCell):
            raise TypeError(
                f"For 'insert_child_to_cell', the argument 'child_cell' must be 'Cell' if not None, but got type {type(child_cell)}."
            )
        self._mark(child_name)
        self._cells[child_name] = child_cell

    def check_names(self) -> None:
        """Refuse two Parameters of one name."""
        names: set[str] = set()
        for path, parameter in self.parameters_and_names():
            if parameter.name in names:
                raise ValueError(
                    f"The value of {path} is {parameter}, its name '{parameter.name}' already exists. "
                    "Please set a unique name for the parameter."
                )
            names.add(parameter.name)

    def check_names_and_refresh_name(self) -> None:
        """Name the Parameters by their paths if two have one name."""
        names = [p.name for p in self.get_parameters()]
        if len(set(names)) < len(names):
            self.update_parameters_name()
            self.check_names()

    def parameters_and_names(self, name_prefix: str = "", expand: bool = True) -> Iterator[tuple[str, Parameter]]:
        """Each Parameter once, with its path, in the order of definition."""
        return ((name, p) for name, p in super().parameters_and_names(name_prefix, expand) if p is not None)

    def parameters_dict(self, recurse: bool = True) -> dict[str, Parameter]:
        """The Parameters by name."""
        return OrderedDict((p.name, p) for p in self.get_parameters(recurse))

    def cells(self) -> Any:
        """The Cells directly inside."""
        return self.name_cells().values()

    def name_cells(self) -> dict[str, EngineCell]:
        """The Cells directly inside, each once, by name."""
        found: OrderedDict[str, EngineCell] = OrderedDict()
        for name, cell in self._cells.items():
            if cell is not None and not any(cell is other for other in found.values()):
                found[name] = cell
        return found

    def cells_and_names(  # type: ignore[override]
        self, cells: Any = None, name_prefix: str = ""
    ) -> Iterator[tuple[str, EngineCell]]:
        """This Cell and all inside it, each once, with their paths."""
        left_out = {id(cell) for cell in cells or ()}
        return ((name, cell) for name, cell in super().cells_and_names(name_prefix) if id(cell) not in left_out)

    def get_sub_cell(self, target: str) -> Any:
        """The Cell at a path."""
        cell: Any = self
        for name in target.split(".") if target else ():
            if not hasattr(cell, name):
                raise AttributeError(f"{type(cell).__name__} has no attribute `{name}`")
            cell = getattr(cell, name)
            if not isinstance(cell, EngineCell):
                raise AttributeError(f"`{name}` is not an nn.Cell")
        return cell

    # ------------------------------------------------------------ hooks

    def register_forward_hook(
        self, hook_fn: Any, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> HookHandle:
        """Call `hook(cell, inputs, output)` after each call, unless the Cell has a `bprop`; a result replaces the output."""
        if self.bprop is not None:
            return HookHandle({}, 0, lambda: None)
        return super().register_forward_hook(hook_fn, prepend=prepend, with_kwargs=with_kwargs, always_call=always_call)

    def _hook(self, kind: str, hook: Any, *options: bool) -> HookHandle:
        if not callable(hook):
            raise TypeError(f"Expected a callable hook function, but got {type(hook).__name__}.")
        return super()._hook(kind, hook, *options)

    # ------------------------------------------------------------ text

    def extend_repr(self) -> str:
        """What `repr` shows between the brackets of a layer; to be written by a class that wants it."""
        return ""

    def __repr__(self) -> str:
        return self._text()

    def _text(self) -> str:
        extra = (self.extend_repr() or self.extra_repr()).splitlines()
        inside = [f"({name}): {repr_of(cell)}".replace("\n", "\n  ") for name, cell in self._cells.items()]
        if len(extra) == 1 and not inside:
            return f"{type(self).__name__}({extra[0]})"
        lines = "".join(f"\n  {line}" for line in (*extra, *inside))
        return f"{type(self).__name__}({lines}\n)" if lines else f"{type(self).__name__}()"


def repr_of(cell: Any) -> str:
    """The text of a Cell inside another one."""
    return cell._text() if isinstance(cell, EngineCell) else repr(cell)
