"""When wrappers are put on a module of SciPy: at once if it is imported, else right after its import."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from adjoint.scipy import wrapping

#: Modules of SciPy that have a mirror in this package.
MIRRORS = (
    "scipy.special", "scipy.stats", "scipy.linalg", "scipy.fft", "scipy.signal", "scipy.integrate", "scipy.optimize",
    "scipy.interpolate", "scipy.sparse", "scipy.sparse.linalg",
)  # fmt: skip
#: Modules whose public functions get a wrapper: those without a mirror refuse Tensors that are being differentiated, by name.
WRAPPED = {
    *MIRRORS, "scipy.linalg", "scipy.fft", "scipy.signal", "scipy.integrate", "scipy.interpolate", "scipy.sparse",
    "scipy.sparse.linalg", "scipy.sparse.csgraph", "scipy.optimize", "scipy.ndimage", "scipy.spatial", "scipy.spatial.distance",
    "scipy.cluster.hierarchy", "scipy.cluster.vq", "scipy.differentiate",
}  # fmt: skip
#: Classes of sparse matrices, and their methods that a Tensor can be an argument of.
SPARSE = tuple(
    f"{kind}_{what}" for kind in ("csr", "csc", "coo", "dia", "bsr", "lil", "dok") for what in ("matrix", "array")
)
SPARSE_METHODS = (
    "__matmul__",
    "__rmatmul__",
    "dot",
    "__mul__",
    "__rmul__",
    "__add__",
    "__radd__",
    "__sub__",
    "__rsub__",
)
#: Classes of scipy.interpolate without a mirror: they refuse Tensors that are being differentiated, by name.
REFUSED_CLASSES = (
    "UnivariateSpline", "InterpolatedUnivariateSpline", "LSQUnivariateSpline", "RectBivariateSpline", "SmoothBivariateSpline",
    "RBFInterpolator", "KroghInterpolator", "BarycentricInterpolator", "BPoly",
)  # fmt: skip
#: Classes whose objects are made by the mirror where an argument is traced: their `__new__` asks.
CLASSES: dict[str, tuple[str, ...]] = {
    "scipy.interpolate": (
        "interp1d", "CubicSpline", "CubicHermiteSpline", "PchipInterpolator", "Akima1DInterpolator", "PPoly", "BSpline",
        "RegularGridInterpolator",
        *REFUSED_CLASSES,
    ),
}  # fmt: skip
#: Methods of SciPy's own objects that get a wrapper, by class. A class without a public name is that of the object named.
METHODS: dict[str, dict[str, tuple[str, ...]]] = {
    "scipy.stats": {
        "rv_continuous": (
            "pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf", "mean", "var", "std", "median", "entropy", "freeze", "rvs",
            "fit", "stats", "moment", "expect", "interval", "support", "nnlf",
        ),
        "rv_discrete": (
            "pmf", "logpmf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf", "mean", "var", "std", "median", "entropy", "freeze", "rvs",
            "stats", "moment", "expect", "interval", "support",
        ),
        "multivariate_normal": ("pdf", "logpdf", "cdf", "logcdf", "entropy", "rvs", "fit", "__call__"),
        "dirichlet": ("pdf", "logpdf", "mean", "var", "cov", "entropy", "rvs", "__call__"),
        "_multivariate.multivariate_normal_frozen": ("pdf", "logpdf", "cdf", "logcdf", "rvs"),
        "_multivariate.dirichlet_frozen": ("pdf", "logpdf"),
    },
    "scipy.interpolate": dict.fromkeys(CLASSES["scipy.interpolate"], ("__call__", "integrate")),
    "scipy.sparse": dict.fromkeys(SPARSE, SPARSE_METHODS),
    "scipy.sparse.linalg": {
        "LinearOperator": (
            "__matmul__", "__rmatmul__", "__mul__", "__rmul__", "__call__", "dot", "matvec", "matmat", "rmatvec", "rmatmat",
        ),
    },
}  # fmt: skip


def wrap_module(module: ModuleType) -> None:
    """Put the wrappers on a module of SciPy."""
    home, mirror = module.__name__, f"adjoint.{module.__name__}" if module.__name__ in MIRRORS else None
    for name in getattr(module, "__all__", dir(module)):
        value = getattr(module, name, None)
        if (
            (type(value) in (FunctionType, BuiltinFunctionType) or type(value).__name__ == "_Function")
            and not name.startswith(("_", "issp"))  # issparse, isspmatrix_csr: a Tensor is none
            and not hasattr(value, wrapping.MARK)
        ):
            setattr(module, name, wrapping.wrapped(value, home, name, mirror))
    for name in CLASSES.get(home, ()):
        if (cls := getattr(module, name, None)) is not None:
            wrapping.wrap_class(cls, home, mirror)
    for name, methods in METHODS.get(home, {}).items():
        owner: Any = module
        for part in name.split("."):
            owner = getattr(owner, part, None)
        cls = owner if isinstance(owner, type) else type(owner)
        for method in methods if owner is not None else ():
            wrapping.wrap_method(cls, method, home, f"{name}.{method}", mirror)


class _Wrapping(Loader):
    """A loader that puts the wrappers on a module after the real loader has run it."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> Any:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        wrap_module(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


class _Finder(MetaPathFinder):
    """Finds the modules of SciPy that get wrappers as the other finders do."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: Any = None) -> ModuleSpec | None:
        if fullname not in WRAPPED:
            return None
        for finder in sys.meta_path:
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec = None if find is None else find(fullname, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = _Wrapping(spec.loader)
                return spec
        return None


def install() -> None:
    """Wrap what is imported, and what will be. A second call changes nothing."""
    if any(
        type(finder).__name__ == _Finder.__name__ and type(finder).__module__ == __name__ for finder in sys.meta_path
    ):
        return
    for name in sorted(WRAPPED):
        module = sys.modules.get(name)
        if module is not None and not getattr(module.__spec__, "_initializing", False):
            wrap_module(module)
    sys.meta_path.insert(0, _Finder())
