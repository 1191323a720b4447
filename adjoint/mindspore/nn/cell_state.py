"""What a Cell of MindSpore keeps beside its Parameters: buffers, flags and settings; and its state as a dict."""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from adjoint.core.dispatch import Value
from adjoint.core.parameter import Parameter
from adjoint.nn.calling import HookHandle
from adjoint.nn.cell import Cell as EngineCell

IncompatibleKeys = namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])


class CellState:
    """The part of `nn.Cell` that computes nothing."""

    def _own(self) -> dict[str, Any]:
        return self.__dict__

    # ------------------------------------------------------------ flags and settings

    def add_flags(self, **flags: Any) -> Any:
        """Set flags, which are attributes too."""
        for name, value in flags.items():
            setattr(self, name, value)
        self._own()["_func_graph_flags"] = {**self.get_flags(), **flags}
        return self

    def add_flags_recursive(self, **flags: Any) -> Any:
        """Set flags of this Cell and of those inside."""
        self.add_flags(**flags)
        for cell in self._own()["_cells"].values():
            if isinstance(cell, CellState):
                cell.add_flags_recursive(**flags)
            elif cell is not None:
                for name, value in flags.items():
                    setattr(cell, name, value)
        return self

    def get_flags(self) -> dict[str, Any]:
        """The flags."""
        return self._own().setdefault("_func_graph_flags", {})

    def set_train(self, mode: bool = True) -> Any:
        """Switch this Cell and those inside to training, or out of it."""
        self._own()["_phase"] = "train" if mode else "predict"
        return super().set_train(bool(mode))  # type: ignore[misc]

    def set_broadcast_flag(self, mode: bool = True) -> Any:
        """Set the flag `broadcast_flag`, which says nothing on one machine."""
        return self.add_flags_recursive(broadcast_flag=mode)

    def set_jit_config(self, jit_config: Any) -> None:
        """Keep settings of the compiler."""
        if not self._own()["_jit_config_dict"]:
            self._own()["_jit_config_dict"] = jit_config.jit_config_dict

    def set_boost(self, boost_type: str) -> Any:
        """Set the flag `less_bn`, the only kind of boost there is."""
        if boost_type != "less_bn":
            raise ValueError(f"For 'set_boost', the argument 'boost_type' must be 'less_bn', but got {boost_type}.")
        return self.add_flags_recursive(less_bn=True)

    def set_comm_fusion(self, fusion_type: int, recurse: bool = True) -> Any:
        """Keep a number with each Parameter, for communication between machines."""
        if isinstance(fusion_type, bool) or not isinstance(fusion_type, int):
            raise TypeError(f"The input value must be int, but got '{type(fusion_type).__name__}'")
        if fusion_type < 0:
            raise ValueError(f"The input value must be a non negative integer, but got {fusion_type}")
        for parameter in self.trainable_params(recurse):  # type: ignore[attr-defined]
            parameter.comm_fusion = fusion_type
        return self

    def to_float(self, dst_type: Any) -> Any:
        """Compute in float16, bfloat16 or float32."""
        from adjoint.mindspore.common.dtype import bfloat16, float16, float32

        if dst_type not in (float16, float32, bfloat16):
            raise ValueError(
                "For 'to_float', the argument 'dst_type' must be mstype.float32, mstype.float16 or mstype.bfloat16, "
                f"but got type: {type(dst_type)} and value: {dst_type}."
            )
        flags = {"fp16": dst_type == float16, "fp32": dst_type == float32, "bf16": dst_type == bfloat16}
        self.add_flags_recursive(**flags)
        return super().to_float(dst_type)  # type: ignore[misc]

    def cast_inputs(self, inputs: Any, dst_type: Any) -> Any:
        """The inputs in another dtype."""
        return [x.astype(dst_type) if isinstance(x, Value) else x for x in inputs]

    def recompute(
        self,
        *,
        use_reentrant: bool = True,
        output_recompute: bool = False,
        early_stop: bool = True,
        context_fn: Any = None,
        **kwargs: Any,
    ) -> None:
        """Keep only the inputs of a call, and compute the rest again when its derivative is wanted."""
        known = ("mp_comm_recompute", "parallel_optimizer_comm_recompute", "recompute_slice_activation")
        for key in kwargs:
            if key not in known:
                raise ValueError(f"For 'recompute', keyword '{key}' is not recognized! the key kwargs must be {known}")
        self.add_flags(output_recompute=output_recompute)
        super().recompute()  # type: ignore[misc]

    @property
    def cls_name(self) -> str:
        """The name of the class."""
        return type(self).__name__

    @property
    def param_prefix(self) -> str:
        """The path, once `update_cell_prefix` was called."""
        return self._own()["_param_prefix"]

    def update_cell_prefix(self) -> None:
        """Note the path of each Cell inside."""
        for name, cell in self.cells_and_names():  # type: ignore[attr-defined]
            cell.__dict__["_param_prefix"] = name

    def update_cell_type(self, cell_type: str) -> None:
        """Note a type of Cell."""
        self.cell_type = cell_type

    @property
    def create_time(self) -> int:
        """When the Cell was made, in nanoseconds."""
        return self._own()["_create_time"]

    @property
    def compiled(self) -> bool:
        """Whether the Cell was called in static mode."""
        return self._own()["_compiled"]

    @property
    def jit_config_dict(self) -> dict[str, Any]:
        """What `set_jit_config` was given."""
        return self._own()["_jit_config_dict"]

    @property
    def bprop_debug(self) -> bool:
        """Whether `bprop` runs as Python even in a compiled graph; it is checked the same way either way here."""
        return self._own()["_bprop_debug"]

    @bprop_debug.setter
    def bprop_debug(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise TypeError(f"For 'Cell', the property 'bprop_debug' must be bool type, but got type {type(value)}.")
        self._own()["_bprop_debug"] = value

    @property
    def phase(self) -> str:
        """A word for what the Cell is used for."""
        return self._own()["_phase"]

    @phase.setter
    def phase(self, value: str) -> None:
        if not isinstance(value, str):
            raise TypeError(f"For 'Cell', the property 'phase' must be string type, but got type {type(value)}.")
        self._own()["_phase"] = value

    def get_scope(self) -> str | None:
        """The place in the network, once `generate_scope` was called on the network."""
        return self._own()["_scope"]

    def generate_scope(self) -> None:
        """Note the place of each Cell inside."""
        for name, cell in self.cells_and_names():  # type: ignore[attr-defined]
            if cell is not self and cell.__dict__.get("_scope") is None:
                cell.__dict__["_scope"] = "Default/" + name.replace(".", "/")

    def set_data_parallel(self) -> None:
        """Nothing on one machine."""

    def offload(self, backward_prefetch: Any = "Auto") -> None:
        """Nothing on one machine."""

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """Give the Parameters of real and complex numbers another dtype; there is one device."""
        given = [x for x in (*args, kwargs.get("dtype")) if isinstance(x, (np.dtype, type))]
        for dtype in map(np.dtype, given[:1]):
            if dtype.kind not in "fcV":
                raise TypeError(f"For 'Cell.to', the dtype must be of real or complex numbers, but got {dtype}.")
            for parameter in self.get_parameters():  # type: ignore[attr-defined]
                if parameter.dtype.kind in "fcV":
                    parameter._value = parameter._value.astype(dtype)
            self._mark("dtype")  # type: ignore[attr-defined]
        return self

    def parameters_broadcast_dict(self, recurse: bool = True) -> OrderedDict[str, Any] | None:
        """The Parameters by name that every process has whole; None if there are none."""
        found = self.get_parameters(recurse)  # type: ignore[attr-defined]
        return OrderedDict((p.name, p) for p in found if not p.layerwise_parallel) or None

    def run_construct(self, cast_inputs: Any, kwargs: dict[str, Any]) -> Any:
        """Call `construct` alone, without hooks."""
        return self.construct(*cast_inputs, **kwargs)  # type: ignore[attr-defined]

    def to_empty(self, *, device: Any = None, recurse: bool = True) -> Any:
        """Forget the values of the Parameters: they are zeros then."""
        for parameter in self.get_parameters(recurse):  # type: ignore[attr-defined]
            parameter.set_data(np.zeros(parameter.shape, parameter.dtype))
        return self

    def remove_redundant_parameters(self) -> None:
        """Nothing on one machine."""

    # ------------------------------------------------------------ buffers

    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        """Keep a Tensor that is no Parameter but part of the state."""
        if not isinstance(name, str):
            raise TypeError(f"buffer name should be a string.But got this type: {type(name)}")
        if "." in name:
            raise KeyError('buffer name can\'t contain "."')
        if not name:
            raise KeyError('buffer name can\'t be empty string ""')
        if name not in self._own()["_buffers"] and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")
        if tensor is not None and not isinstance(tensor, Value):
            raise TypeError(
                f"cannot assign '{type(tensor)}' object to buffer '{name}' (mindspore Tensor or None required)"
            )
        self._mark(name)  # type: ignore[attr-defined]
        self._own()["_buffers"][name] = tensor
        passing = self._own().setdefault("_passing_buffers", set())
        (passing.discard if persistent else passing.add)(name)

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """The buffers with their paths."""
        seen: set[int] = set()
        cells = self.cells_and_names(name_prefix=prefix) if recurse else [(prefix, self)]  # type: ignore[attr-defined]
        for path, cell in cells:
            for name, buffer in cell.__dict__.get("_buffers", {}).items():
                if buffer is None or (remove_duplicate and id(buffer) in seen):
                    continue
                seen.add(id(buffer))
                yield f"{path}.{name}" if path else name, buffer

    def buffers(self, recurse: bool = True) -> Iterator[Any]:
        """The buffers."""
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def get_buffer(self, target: str) -> Any:
        """The buffer at a path."""
        path, _, name = target.rpartition(".")
        cell = self.get_sub_cell(path)  # type: ignore[attr-defined]
        if name not in cell.__dict__.get("_buffers", {}):
            raise AttributeError(f"`{name}` is not a buffer")
        return cell.__dict__["_buffers"][name]

    # ------------------------------------------------------------ the state as a dict

    def _hooks_of(self, kind: str) -> list[Callable[..., Any]]:
        return list(self._own().get(kind, {}).values())

    def _state_hook(self, kind: str, hook: Callable[..., Any]) -> HookHandle:
        hooks = self._own().setdefault(kind, {})
        hooks[id(hook)] = hook
        return HookHandle(hooks, id(hook), lambda: None)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call `hook(cell, state_dict, prefix, metadata)` after the state was gathered."""
        return self._state_hook("_after_saving", hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call `hook(cell, prefix, keep_vars)` before the state is gathered."""
        return self._state_hook("_before_saving", hook)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call `hook(cell, incompatible_keys)` after a state was loaded."""
        return self._state_hook("_after_loading", hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call `hook(cell, state_dict, prefix, metadata, strict, missing_keys, unexpected_keys, errors)` before a state is loaded."""
        return self._state_hook("_before_loading", hook)

    def get_extra_state(self) -> Any:
        """What else belongs to the state; to be written by a class that has something."""
        raise RuntimeError("Cell.get_extra_state is to be written by the class.")

    def set_extra_state(self, state: Any) -> None:
        """Take over what `get_extra_state` gave; to be written by a class that has something."""
        raise RuntimeError("Cell.set_extra_state is to be written by the class.")

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> OrderedDict[str, Any]:
        """The Parameters and persistent buffers by path."""
        destination = args[0] if args else destination
        if destination is not None and not isinstance(destination, dict):
            raise TypeError(f"The type of destination must be OrderedDict, but got {type(destination)}")
        if not isinstance(prefix, str):
            raise TypeError(f"The type of prefix must be string, but got {type(prefix)}")
        if not isinstance(keep_vars, bool):
            raise TypeError(f"The type of keep_vars must be bool, but got {type(keep_vars)}")
        found: Any = OrderedDict() if destination is None else destination
        for hook in self._hooks_of("_before_saving"):
            hook(self, prefix, keep_vars)
        found.update({prefix + name: x for name, x in _kept(self)})
        if type(self).get_extra_state is not CellState.get_extra_state:
            found[f"{prefix}_extra_state"] = self.get_extra_state()
        for name, cell in self._own()["_cells"].items():
            _save(cell, found, f"{prefix}{name}.", keep_vars)
        for hook in self._hooks_of("_after_saving"):
            if hook(self, found, prefix, {}) is not None:
                raise RuntimeError("state_dict post-hook must return None")
        return found

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> Any:
        """Take over the values of a state; with `strict` it must have the very paths of this Cell."""
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        if any(cell._hooks_of("_before_loading") for _, cell in self.cells_and_names() if isinstance(cell, CellState)):  # type: ignore[attr-defined]
            state_dict = dict(state_dict)
            said_before = _before_loading(self, state_dict, strict)
        else:
            said_before = []
        own = self.state_dict()
        keys = IncompatibleKeys([k for k in own if k not in state_dict], [k for k in state_dict if k not in own])
        said = [f"Unexpected key(s) in state_dict: {_quoted(keys[1])}. "] if strict and keys[1] else []
        said = (
            ([f"Missing key(s) in state_dict: {_quoted(keys[0])}. "] if strict and keys[0] else []) + said + said_before
        )
        for name, x in own.items():
            if name in state_dict:
                said += _load(name, x, state_dict[name], self)
        for hook in self._hooks_of("_after_loading"):
            hook(self, keys)
        if said:
            raise RuntimeError(f"Error(s) in loading state_dict for {self.cls_name}:\n\t" + "\n\t".join(said))
        return keys


def _before_loading(root: Any, state: dict[str, Any], strict: bool) -> list[str]:
    """Call the hooks that come before a state is loaded, which may change it; the errors that they add."""
    errors: list[str] = []
    for path, cell in root.cells_and_names():
        for hook in cell._hooks_of("_before_loading") if isinstance(cell, CellState) else ():
            hook(cell, state, f"{path}." if path else "", {}, strict, [], [], errors)
    return errors


def _quoted(keys: list[str]) -> str:
    return ", ".join(f'"{k}"' for k in keys)


def _kept(cell: Any) -> list[tuple[str, Any]]:
    """The Parameters and persistent buffers of one Cell."""
    own = cell.__dict__
    passing = own.get("_passing_buffers", ())
    buffers = [(name, x) for name, x in own.get("_buffers", {}).items() if name not in passing]
    return [(name, x) for name, x in (*own["_params"].items(), *buffers) if x is not None]


def _save(cell: Any, found: Any, prefix: str, keep_vars: bool) -> None:
    if isinstance(cell, CellState):
        cell.state_dict(destination=found, prefix=prefix, keep_vars=keep_vars)
    elif isinstance(cell, EngineCell):
        found.update({prefix + name: x for name, x in cell.parameters_and_names()})


def _load(name: str, x: Any, new: Any, root: Any) -> list[str]:
    """Put a value into a Parameter, a buffer or what else a Cell keeps; what is wrong with it, if something is."""
    if name == "_extra_state" or name.endswith("._extra_state"):
        root.get_sub_cell(name.removesuffix("_extra_state").rstrip(".")).set_extra_state(new)
        return []
    if not isinstance(new, Value):
        return [
            f'While copying the parameter named "{name}", expected Tensor or Tensor-like object from checkpoint but '
            f"received {type(new)}"
        ]
    if tuple(new.shape) != tuple(x.shape):
        return [
            f"size mismatch for {name}: copying a param with shape {tuple(new.shape)} from checkpoint, the shape in current "
            f"model is {tuple(x.shape)}."
        ]
    if isinstance(x, Parameter):
        x.set_data(new)
    else:
        path, _, last = name.rpartition(".")
        root.get_sub_cell(path).register_buffer(last, new)
    return []
