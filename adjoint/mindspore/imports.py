"""Makes `import mindspore` mean `adjoint.mindspore`, submodules included."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from adjoint.mindspore.absent import Absent

HERE = "adjoint.mindspore"

#: Modules of MindSpore that are one module here: what begins with the first is looked up under the second.
ALIASES = {
    "mindspore.ops.operations.": "ops.operations",
    "mindspore.ops.function": "ops",
    "mindspore.ops.composite.": "ops.composite",
    "mindspore.ops.auto_generate": "ops.operations",
    "mindspore.nn.layer": "nn",
    "mindspore.nn.metrics": "train.metrics",
    "mindspore.nn.loss": "nn",
    "mindspore.nn.cell": "nn",
    "mindspore.common.seed": "common",
    "mindspore.ops._vmap": "ops._grad_experimental",
    "mindspore.communication.management": "communication",
    "mindspore.nn.sparse.sparse": "nn.sparse",
    "mindspore.nn.grad.cell_grad": "nn.grad",
    "mindspore.nn.optim.": "nn.optim",
    "mindspore.dtype": "common.dtype",
    "mindspore.parameter": "common.parameter",
    "mindspore.graph.api": "common.api",
    "mindspore.graph.mutable": "common.mutable",
    "mindspore.graph.jit_config": "common.jit_config",
    "mindspore.graph.lazy_inline": "common.api",
    "mindspore.graph.no_inline": "common.api",
    "mindspore.common.lazy_inline": "common.api",
    "mindspore.common.no_inline": "common.api",
    "mindspore.common._register_for_tensor": "common",
    "mindspore.ops._utils.": "ops._utils",
    "mindspore.ops._grad_experimental.": "ops._grad_experimental",
    "mindspore.graph._parse": "_extends.parse",
    "mindspore._extends.parse.": "_extends.parse",
    "mindspore._extends.": "_extends",
    "mindspore.graph": "common",
    "mindspore.ops.base": "ops.composite",
    "mindspore.numpy.": "numpy",
    "mindspore.dataset.engine": "dataset",
    "mindspore.dataset.vision.": "dataset.vision",
    "mindspore.dataset.transforms.": "dataset.transforms",
    "mindspore.train.callback.": "train.callback",
    "mindspore.train.metrics.": "train.metrics",
    "mindspore.experimental.optim.": "experimental.optim",
}


def here(name: str) -> str:
    """The module of this package that stands for a module of MindSpore."""
    own = HERE + name.removeprefix("mindspore")
    try:
        if importlib.util.find_spec(own) is not None:
            return own
    except ModuleNotFoundError:
        pass
    known = name.removeprefix("mindspore.") in module_names()
    for start in sorted(ALIASES, key=len, reverse=True):
        if (known or name == start) and f"{name}.".startswith(start if start.endswith(".") else f"{start}."):
            return f"{HERE}.{ALIASES[start]}"
    if known:
        return ""
    raise ModuleNotFoundError(f"{name} is not provided by adjoint.mindspore", name=name)


@cache
def module_names() -> frozenset[str]:
    """The modules of MindSpore 2.10."""
    return frozenset((Path(__file__).parent / "modules.txt").read_text().split())


@cache
def module(name: str) -> ModuleType:
    """What stands for a module of MindSpore: one of this package, one with the contents of such a one, or a placeholder."""
    found = here(name)
    if not found:
        return placeholder(name)
    own = importlib.import_module(found)
    return own if found == HERE + name.removeprefix("mindspore") else alias(name, own)


def inside(outer: str, name: str) -> ModuleType | None:
    """The module that MindSpore has inside another one, for `outer.name`; None if there is none.

    >>> import adjoint.mindspore as mindspore
    >>> mindspore.ops.function.math_func.sin is mindspore.ops.sin
    True
    """
    return module(f"{outer}.{name}") if f"{outer}.{name}".removeprefix("mindspore.") in module_names() else None


def placeholder(name: str) -> ModuleType:
    """A module of MindSpore that is not provided: its names are those of the modules around it, or raise an error when used."""
    made = ModuleType(name, f"{name}: what is not provided elsewhere raises NotImplementedError when it is used.")

    def __getattr__(attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(f"module {name!r} has no attribute {attribute!r}")
        if (found := inside(name, attribute)) is not None:
            return found
        outer = name.rpartition(".")[0]
        while outer:
            found = getattr(sys.modules.get(outer), attribute, None)
            if found is not None and not isinstance(found, (Absent, ModuleType)):
                return found
            outer = outer.rpartition(".")[0]
        return Absent(f"{name}.{attribute}")

    made.__dict__.update(__getattr__=__getattr__, __all__=[])
    return made


def alias(name: str, module: ModuleType) -> ModuleType:
    """A module of its own with the contents of another: Python enters the modules inside it there, and not in the other one."""
    made = ModuleType(name, module.__doc__)
    made.__dict__.update({k: v for k, v in vars(module).items() if not (k.startswith("__") and k.endswith("__"))})

    def __getattr__(attribute: str) -> Any:
        if (found := inside(name, attribute)) is not None:
            return found
        try:
            return getattr(module, attribute)
        except AttributeError:
            if attribute.startswith("__"):
                raise
            return Absent(f"{name}.{attribute}")

    made.__dict__["__getattr__"] = __getattr__
    return made


def _open(module: ModuleType) -> ModuleType:
    """A module that others can be imported from: what is one file here may be a folder in MindSpore."""
    module.__dict__.setdefault("__path__", [])
    return module


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `mindspore` and what is inside it here."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.partition(".")[0] != "mindspore":
            return None
        here(fullname)
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        made = module(spec.name)
        if made.__name__ == HERE + spec.name.removeprefix("mindspore"):
            spec.loader_state = made.__spec__
            _open(made)
        return made

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is run again; the module keeps the spec it was loaded by."""
        asked = module.__spec__
        if asked is not None and asked.loader_state is not None:
            module.__spec__ = asked.loader_state


FINDER = Finder()


def install() -> None:
    """From here on `import mindspore` gives this package, in this process.

    As in MindSpore, `float(x)` is then a number without a gradient where x is being differentiated, not an error, and
    integers give way to floats of any width: `int_tensor * 0.5` is of float32.

    >>> from adjoint.mindspore import imports
    >>> imports.install()
    >>> import mindspore.ops.operations as P
    >>> P.__name__
    'adjoint.mindspore.ops.operations'
    >>> imports.uninstall()
    """
    importlib.import_module(f"{HERE}.common.conventions").switch_on()
    if FINDER not in sys.meta_path:
        sys.meta_path.insert(0, FINDER)
    for name, module in list(
        sys.modules.items()
    ):  # `mindspore.common.mutable` is a function, and a module to import from
        if name == HERE or name.startswith(f"{HERE}."):
            _open(module)
            sys.modules.setdefault("mindspore" + name.removeprefix(HERE), module)


def uninstall() -> None:
    """Undo `install`; modules that hold on to names of this package keep them."""
    importlib.import_module(f"{HERE}.common.conventions").switch_off()
    if FINDER in sys.meta_path:
        sys.meta_path.remove(FINDER)
    for name in [n for n in sys.modules if n.partition(".")[0] == "mindspore"]:
        del sys.modules[name]
