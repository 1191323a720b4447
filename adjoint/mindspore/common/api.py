"""mindspore.common.api: jit and what goes with it."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

from adjoint.api.jit import BoundJitted, Jitted
from adjoint.core import context as _engine
from adjoint.frontend.files import read_too
from adjoint.mindspore.common.graph_context import missing_keys, whole
from adjoint.mindspore.common.jit_config import JitConfig as JitConfig
from adjoint.mindspore.context import is_lax
from adjoint.nn import Cell as _Cell

for _part in ("nn", "ops.operations.control_ops"):  # loops and branches on graph values may be in these
    read_too(f"adjoint.mindspore.{_part}")


class _Lenient:
    """What cannot become a graph runs op by op; the levels of syntax that may be set are for Cells."""

    fullgraph = False  # arrays made of Tensors are refused

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        with (
            _engine.setting(_engine.lenient, True),
            _engine.setting(_engine.static_mode, False),
            _engine.setting(whole, self.fullgraph),
            missing_keys(),
        ):
            return super()._call(args, kwargs)  # type: ignore[misc]


class Compiled(_Lenient, Jitted):
    """A function that `jit` has compiled."""

    def _bound(self, instance: Any, reference: Any) -> Any:
        made = BoundCompiled(self, instance, reference)
        made.fullgraph = self.fullgraph
        return made


class BoundCompiled(_Lenient, BoundJitted):
    """A compiled method of one object."""


_ONE_OF = {"capture_mode": ("ast", "bytecode", "trace"), "jit_level": ("O0", "O1", "O2", ""), "dynamic": (0, 1)}
_OLD = ("mode", "input_signature", "hash_args", "jit_config", "compile_once")


def jit(
    function: Any = None,
    mode: Any = None,
    input_signature: Any = None,
    hash_args: Any = None,
    jit_config: Any = None,
    compile_once: bool = False,
    *,
    fn: Any = None,
    capture_mode: str = "ast",
    jit_level: str = "O0",
    dynamic: int = 0,
    fullgraph: bool = False,
    backend: str = "",
    **options: Any,
) -> Any:
    """A function, method, Cell or Cell class that runs as a graph, in MindSpore's old and new forms.

    What says how MindSpore compiles is checked and has no effect. Where a function cannot become a graph it runs op by op.

    >>> import adjoint.mindspore as mindspore
    >>> @mindspore.jit(capture_mode="ast")
    ... def f(x):
    ...     return x * x
    >>> print(f(mindspore.Tensor([3.0])), mindspore.grad(f)(mindspore.Tensor([3.0])))
    [9.] [6.]
    """
    given = {"capture_mode": capture_mode, "jit_level": jit_level, "dynamic": dynamic}
    for name, value in given.items():
        if not isinstance(value, (str, int)) or type(value) is not type(_ONE_OF[name][0]):
            raise TypeError(f"jit: {name} must be one of {_ONE_OF[name]}, not {value!r}")
        if value not in _ONE_OF[name]:
            raise ValueError(f"jit: {name} must be one of {_ONE_OF[name]}, not {value!r}")
    if not isinstance(fullgraph, bool):
        raise TypeError(f"jit: fullgraph must be a bool, not {fullgraph!r}")
    if jit_config is not None and not isinstance(jit_config, JitConfig):
        raise TypeError(f"jit: jit_config must be a JitConfig, not {jit_config!r}")
    function = fn if function is None else function
    return (lambda f: _compiled(f, fullgraph)) if function is None else _compiled(function, fullgraph)


def _compiled(function: Any, fullgraph: bool) -> Any:
    if isinstance(function, type) and issubclass(function, _Cell):
        function.construct = _compiled(function.construct, fullgraph)  # type: ignore[method-assign]
        return function
    if isinstance(function, MethodType) and isinstance(function.__func__, FunctionType):
        return _made(function.__func__, fullgraph).__get__(function.__self__)
    if not isinstance(function, (FunctionType, _Cell)):
        return function
    return _made(function, fullgraph)


def _made(function: Any, fullgraph: bool) -> Compiled:
    made = Compiled(function, (), (), (), (), None)
    made.fullgraph = fullgraph
    made.__wrapped_by_jit__ = True  # type: ignore[attr-defined]
    return made


ms_function = jit


def jit_class(cls: type) -> type:
    """Marks a class whose objects are used in compiled functions; here all may be.

    >>> @jit_class
    ... class Scale:
    ...     factor = 2.0
    >>> Scale.factor
    2.0
    """
    if not isinstance(cls, type):
        raise TypeError(f"jit_class is for classes, not for {cls}")
    if issubclass(cls, _Cell):
        raise TypeError(f"jit_class is for classes that are not Cells, not for {cls}")
    cls.__ms_class__ = True  # type: ignore[attr-defined]
    return cls


ms_class = jit_class


def lazy_inline(fn: Any = None, attrs: Any = None, policy: Any = None) -> Any:
    """Decorates the `__init__` of a Cell in MindSpore to compile it once; here graphs share equal parts by themselves.

    >>> class Net:
    ...     @lazy_inline
    ...     def __init__(self, size):
    ...         self.size = size
    >>> Net(3).size
    3
    """

    def checked(function: Any) -> Any:
        if isinstance(function, type) or function.__name__ != "__init__":
            raise ValueError(f"lazy_inline decorates the `__init__` of a Cell, not {function}")
        return function

    if policy not in (None, "front"):
        raise ValueError(f"lazy_inline: policy must be None or 'front', not {policy!r}")
    return checked if fn is None else checked(fn)


def no_inline(fn: Any = None) -> Any:
    """Decorates a function in MindSpore to be compiled for itself; here graphs share equal parts by themselves."""
    if fn is None:
        return no_inline
    if not isinstance(fn, (FunctionType, MethodType)) and not hasattr(fn, "__name__"):
        raise ValueError(f"no_inline decorates functions, not {fn}")
    return fn


def _function_forbid_reuse(func: Any) -> Any:
    if not inspect.isfunction(func):
        raise TypeError(f"_function_forbid_reuse is for functions, not for {func}")
    return func


def _core(fn: Any = None, **flags: Any) -> Any:
    return _add_flags(fn, core=True, **flags)


def _add_flags(fn: Any = None, **flags: Any) -> Any:
    def decorate(function: Any) -> Any:
        function._func_graph_flags = {**getattr(function, "_func_graph_flags", {}), **flags}
        return function

    return decorate if fn is None else decorate(fn)


def _no_recursive(callable_obj: Any) -> Any:
    return _add_flags(callable_obj, no_recursive=True)


def set_recursion_limit(recursion_limit: int = 1000) -> None:
    """How deep functions may call one another where a graph is built.

    >>> set_recursion_limit(2000)
    """
    if not isinstance(recursion_limit, int) or isinstance(recursion_limit, bool):
        raise TypeError(f"set_recursion_limit: an int, not {recursion_limit!r}")
    if recursion_limit <= 0:
        raise ValueError(f"set_recursion_limit: a number above 0, not {recursion_limit}")
    sys.setrecursionlimit(max(sys.getrecursionlimit(), recursion_limit))


def ms_memory_recycle() -> None:
    """Nothing is kept that could be given back."""


def flops_collection(phase: str = "train") -> Any:
    """Counts of operations are not taken."""
    raise NotImplementedError("mindspore.flops_collection is not provided by adjoint.mindspore")


class _CellGraphExecutor:
    """Compiles a network for given inputs, and runs it, in static mode."""

    def __init__(self) -> None:
        self.compiled: dict[str, Any] = {}

    def compile(
        self,
        obj: Any,
        *args: Any,
        phase: str = "predict",
        do_convert: bool = True,
        jit_config_dict: Any = None,
        **kwargs: Any,
    ) -> tuple[str, bool]:
        """Build the graph of a network; gives a name of it, and whether it is new."""
        identity = f"{phase}.{id(obj)}"
        new = identity not in self.compiled
        run = self.compiled.setdefault(identity, _compiled(obj, False))
        if isinstance(run, Jitted):
            with _engine.setting(_engine.lenient, True):
                try:
                    run._prepared(args, kwargs)
                except Exception:  # what cannot be compiled is run by Python, which says what is wrong with it
                    if not is_lax():
                        raise
        return identity, new

    def __call__(self, obj: Any, *args: Any, phase: str = "predict") -> Any:
        return self.run(obj, *args, phase=phase)

    def run(self, obj: Any, *args: Any, phase: str = "predict") -> Any:
        """What the network gives."""
        found = self.compiled.get(phase if phase in self.compiled else f"{phase}.{id(obj)}")
        return (_compiled(obj, False) if found is None else found)(*args)

    def has_compiled(self, phase: str = "predict") -> bool:
        """Whether a graph was built under this name."""
        return phase in self.compiled

    def del_net_res(self, obj: Any, net_id: Any) -> None:
        """Let graphs go."""
        self.compiled.clear()


class _PyNativeExecutor:
    """What programs ask of MindSpore's dynamic mode; gradients here need no preparation."""

    def __init__(self) -> None:
        self._grad_flag = False

    def set_grad_flag(self, flag: bool) -> None:
        """Whether ops are to be recorded; here transforms say so."""
        self._grad_flag = flag

    def grad_flag(self) -> bool:
        """What `set_grad_flag` was told."""
        return self._grad_flag

    def enable_grad(self) -> bool:
        """Whether derivatives are recorded."""
        return _engine.muted_below.get() < 0

    def requires_grad(self) -> bool:
        """Whether derivatives are asked for and recorded."""
        return self._grad_flag and self.enable_grad()

    def _nothing(self, *args: Any, **kwargs: Any) -> None: ...

    sync = clear_res = set_async_for_graph = set_enable_grad = set_jit_compile_phase = set_is_run_recompute = _nothing
    set_cell_use_dynamic_shape_process = set_dynamic_input = set_mixed_precision_type = _nothing
    new_graph = end_graph = check_run = _nothing

    def high_order(self) -> bool:
        """Whether derivatives of derivatives are being taken."""
        return False

    def get_dynamic_input(self, *actual_args: Any) -> Any:
        """The arguments as they are."""
        return actual_args


_no_grad = _engine.no_grad
_cell_graph_executor = _CellGraphExecutor()
_pynative_executor = _PyNativeExecutor()
_convert_python_data: Callable[[Any], Any] = lambda data: data  # noqa: E731
