"""Makes `import mindspore` mean `adjoint.mindspore`, submodules included."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType

from adjoint.core import context

HERE = "adjoint.mindspore"

#: Modules of MindSpore that are one module here: what begins with the first is looked up under the second.
ALIASES = {
    "mindspore.ops.operations.": "ops.operations",
    "mindspore.ops.function.": "ops",
    "mindspore.ops.composite.": "ops.composite",
    "mindspore.ops.auto_generate": "ops.operations",
    "mindspore.nn.layer": "nn",
    "mindspore.nn.loss": "nn",
    "mindspore.nn.cell": "nn",
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
    for start in sorted(ALIASES, key=len, reverse=True):
        if f"{name}.".startswith(start if start.endswith(".") else f"{start}."):
            return f"{HERE}.{ALIASES[start]}"
    raise ModuleNotFoundError(f"{name} is not provided by adjoint.mindspore", name=name)


def alias(name: str, module: ModuleType) -> ModuleType:
    """A module of its own with the contents of another: Python enters the modules inside it there, and not in the other one."""
    made = ModuleType(name, module.__doc__)
    made.__dict__.update({k: v for k, v in vars(module).items() if not (k.startswith("__") and k.endswith("__"))})
    made.__dict__["__getattr__"] = lambda attribute: getattr(module, attribute)
    return made


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
        found = here(spec.name)
        module = importlib.import_module(found)
        if found != HERE + spec.name.removeprefix("mindspore"):
            return alias(spec.name, module)
        spec.loader_state = module.__spec__
        return module

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
    context.cutting.set(True)
    importlib.import_module(f"{HERE}.common.operators").install()
    if FINDER not in sys.meta_path:
        sys.meta_path.insert(0, FINDER)
    for name, module in list(
        sys.modules.items()
    ):  # `mindspore.common.mutable` is a function, and a module to import from
        if name == HERE or name.startswith(f"{HERE}."):
            sys.modules.setdefault("mindspore" + name.removeprefix(HERE), module)


def uninstall() -> None:
    """Undo `install`; modules that hold on to names of this package keep them."""
    context.cutting.set(False)
    importlib.import_module(f"{HERE}.common.operators").uninstall()
    if FINDER in sys.meta_path:
        sys.meta_path.remove(FINDER)
    for name in [n for n in sys.modules if n.partition(".")[0] == "mindspore"]:
        del sys.modules[name]
