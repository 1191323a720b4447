"""Cell: a network, or a part of one, as an object that holds its Parameters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from adjoint.api.custom import custom_vjp
from adjoint.api.grad import vjp
from adjoint.api.inputs import binding
from adjoint.api.modes import by_mode
from adjoint.core import context
from adjoint.core.errors import ArgumentError, called_at
from adjoint.core.parameter import Parameter


class Cell:
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
        self.__dict__["_version"] = 0  # goes up with every change of an attribute
        self.__dict__["_changed"] = ""  # the attribute that changed last

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, (Parameter, Cell)) and "_params" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__}: call super().__init__() before assigning '{name}'")
        if not self._has(name, value):
            self.__dict__["_version"] = self.__dict__.get("_version", 0) + 1
            self.__dict__["_changed"] = name
        for registry in (self.__dict__.get("_params", {}), self.__dict__.get("_cells", {})):
            registry.pop(name, None)
        self.__dict__.pop(name, None)
        if isinstance(value, Parameter):
            if value.is_unnamed:
                value.name = name
            self._params[name] = value
        elif isinstance(value, Cell):
            for parameter in value.get_parameters():
                parameter.name = f"{name}.{parameter.name}"
            self._cells[name] = value
        else:
            object.__setattr__(self, name, value)

    def _has(self, name: str, value: Any) -> bool:
        """Whether an attribute holds this value already."""
        old = self.__dict__.get(
            name, self.__dict__.get("_params", {}).get(name, self.__dict__.get("_cells", {}).get(name))
        )
        return old is value or (
            type(old) is type(value) and isinstance(value, (bool, int, float, str)) and old == value
        )

    def __getattr__(self, name: str) -> Any:
        for registry in ("_params", "_cells"):
            if name in self.__dict__.get(registry, {}):
                return self.__dict__[registry][name]
        raise AttributeError(f"{type(self).__name__} has no attribute '{name}'")

    def __delattr__(self, name: str) -> None:
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
            if "_by_mode" not in self.__dict__:
                self.__dict__["_by_mode"] = by_mode(self._run)
            return self.__dict__["_by_mode"](*inputs, **kwargs)
        return self._run(*inputs, **kwargs)

    def _run(self, *inputs: Any, **kwargs: Any) -> Any:
        used = context.cells.get()
        if used is not None:  # a graph that is being built holds good while this Cell stays as it is
            used.setdefault(self, self.__dict__["_version"])
        if self.bprop is None:
            return self.construct(*inputs, **kwargs)
        return self._call_with_bprop(inputs, kwargs)

    def _call_with_bprop(self, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """One op of the inputs and the Parameters: by the inputs the user's rule, by the Parameters the true derivative."""
        params = list(self.get_parameters())
        n = len(inputs)

        def construct(*values: Any) -> Any:
            with binding(dict(zip(params, values[n:], strict=True))):
                return self.construct(*values[:n], **kwargs)

        def rule(*args: Any) -> list[Any]:
            *values, out, dout = args
            weights = values[n:]
            with binding(dict(zip(params, weights, strict=True))):
                grads = self.bprop(*values[:n], out, dout)
            grads = list(grads) if isinstance(grads, (tuple, list)) else [grads]
            if len(grads) != n:
                raise ArgumentError(
                    f"bprop of {type(self).__name__} returned {len(grads)} gradients for {n} inputs{called_at()}"
                )
            if not params:
                return grads
            _, pull = vjp(lambda *ws: construct(*values[:n], *ws), *weights)
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

    def cells(self) -> list[Cell]:
        """The Cells directly inside."""
        return list(self._cells.values())

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

    def __repr__(self) -> str:
        lines = [f"  ({name}): {repr(cell).replace(chr(10), chr(10) + '  ')}" for name, cell in self._cells.items()]
        lines += [f"  ({name}): Parameter{list(p.shape)} {p.dtype}" for name, p in self._params.items()]
        return f"{type(self).__name__}(\n" + "\n".join(lines) + "\n)" if lines else f"{type(self).__name__}()"
