"""Graph -> callable. A backend is a module or object with `compile(graph)`; its result runs, and says with `explain` how."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from adjoint.core import context, placement
from adjoint.core.errors import ArgumentError, ArgumentTypeError, called_at
from adjoint.core.fewer_collections import fewer_collections

MODULES: dict[str, Any] = {
    "native": "adjoint.backends.native.compiler",
    "interpreter": "adjoint.backends.interpreter",
    "xla": "adjoint.backends.xla.executable",
}
OWN = frozenset(MODULES)
placement.bind("adjoint.backends.xla.device_arrays")


def register(name: str, backend: Any) -> None:
    """Make a backend of one's own known by a name, for `jit(f, backend=name)` and `set_context(backend=name)`.

    `backend.compile(graph)` gives a function from arrays to the list of the results; docs/add_a_backend.md says what it has to
    keep to. A name registered again stands for the new backend in functions that are compiled from then on.

    >>> import adjoint as ad
    >>> from adjoint.backends import interpreter
    >>> register("numpy", interpreter)
    >>> print(ad.jit(ad.ops.exp, backend="numpy")(0.0))
    1.0
    """
    if not isinstance(name, str) or not name:
        raise ArgumentTypeError(f"register: the name of a backend must be a text, not {name!r}{called_at()}")
    if name in OWN:
        raise ArgumentError(f"register: the backend {name!r} is built in; choose another name{called_at()}")
    if not callable(getattr(backend, "compile", None)):
        raise ArgumentError(f"register: {backend!r} has no function `compile(graph)`{called_at()}")
    MODULES[name] = backend


def load(name: str) -> Any:
    """The backend's module, loaded when it is first used."""
    found = MODULES[name.partition(":")[0]]
    if not isinstance(found, str):
        return found
    with fewer_collections():  # some hundred modules, all of which stay
        return import_module(found)


def compiled(name: str, graph: Any) -> Any:
    """The graph as a backend runs it; what one that is not ours gives is looked at."""
    if name.partition(":")[0] == "xla":
        return load(name).compile(graph, name.partition(":")[2] or None)
    run = load(name).compile(graph)
    return run if name in OWN else CheckedRun(name, run, graph)


def has_kernels(name: str) -> bool:
    """Whether a backend takes parts of a graph as wholes (`graph.fused`): it has kernels for some of them."""
    return name.partition(":")[0] == "xla"


def home(name: str) -> str | None:
    """The device that the results of a backend stay on; None for the host."""
    return load(name).home(name.partition(":")[2] or None) if has_kernels(name) else None  # type: ignore[no-any-return]


class CheckedRun:
    """What a backend of the user's made of a graph: results that are not those of the graph are an error, not wrong numbers later."""

    def __init__(self, name: str, run: Any, graph: Any) -> None:
        if not callable(run):
            raise ArgumentError(f"the backend {name!r}: `compile(graph)` returned {run!r}, which cannot be called")
        self.name, self.run = name, run
        self.specs = [node.spec for node in graph.outputs]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["run"], name)  # `explain` and `giving_up`, where there are such

    def __call__(self, *arrays: Any) -> list[Any]:
        found = self.run(*arrays)
        if not isinstance(found, (list, tuple)) or len(found) != len(self.specs):
            what = f"{len(found)} results" if isinstance(found, (list, tuple)) else f"a {type(found).__name__}"
            raise ArgumentError(f"the backend {self.name!r} returned {what}, not a list of {len(self.specs)}")
        for k, (value, spec) in enumerate(zip(found, self.specs, strict=True)):
            if isinstance(value, (bool, int, float, complex)) and spec.shape == ():
                continue
            shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
            if shape != spec.shape or (shape and dtype != spec.dtype):
                seen = f"a {type(value).__name__}" if shape is None else f"{dtype}{list(shape)}"
                raise ArgumentError(f"the backend {self.name!r}: result {k} is {seen}, the graph says {spec}")
        return [own(y, arrays) for y in found]


def own(y: Any, arrays: Sequence[Any]) -> Any:
    """A result; a copy of one that is an argument, into which the caller may go on writing."""
    return np.array(y) if isinstance(y, np.ndarray) and any(y is x for x in arrays) else y


def ability(owner: Any, method: str, name: str, what: str) -> Any:
    """A method that a backend may have, or a refusal that names what it cannot do."""
    found = getattr(owner, method, None)
    if found is None:
        raise ArgumentError(f"the backend {name!r} cannot {what}: it has no `{method}`{called_at()}")
    return found


def checked(name: str) -> str:
    """The name, if there is such a backend and it can run here."""
    if name.startswith("xla:"):
        load(name).device(name.partition(":")[2])
    elif name not in MODULES:
        raise ArgumentError(f"there is no backend {name!r}; there are {', '.join(MODULES)}{called_at()}")
    if name == "native" and not _has_llvm():
        raise ArgumentError(f"the native backend needs the package llvmlite: pip install llvmlite{called_at()}")
    if name == "xla":
        load(name).jax()
    return name


def on_device(backend: str | None, device: str | None) -> str | None:
    """The backend for a device: `backend="xla", device="gpu"` is the backend "xla:gpu"."""
    if device is None:
        return backend
    if backend not in (None, "xla"):
        raise ArgumentError(
            f'the backend {backend!r} runs on the CPU: a device is chosen with backend="xla"{called_at()}'
        )
    return f"xla:{device.lower() if isinstance(device, str) else device}"


@cache
def _has_llvm() -> bool:
    return find_spec("llvmlite") is not None


def chosen() -> str:
    """The backend in force."""
    return context.backend.get() or ("native" if _has_llvm() else "interpreter")
