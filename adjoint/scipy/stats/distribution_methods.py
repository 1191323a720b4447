"""Calls of methods of SciPy's own distributions with Tensors: who answers them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.core.errors import CutGradientError, called_at, refused
from adjoint.scipy.imports import METHODS as WRAPPED
from adjoint.scipy.stats import continuous, discrete, multivariate
from adjoint.scipy.stats.distribution import Distribution

DISTRIBUTIONS: dict[str, Any] = {
    name: value
    for module in (continuous, discrete, multivariate)
    for name, value in vars(module).items()
    if isinstance(value, (Distribution, multivariate.MultivariateDistribution))
}


def _method(name: str) -> Callable[..., Any]:
    def called(theirs: Any, *args: Any, **kwargs: Any) -> Any:
        ours = DISTRIBUTIONS.get(theirs.name) if type(theirs).__module__.startswith("scipy.stats") else None
        if ours is None:
            raise refused(
                CutGradientError(
                    f"scipy.stats.{theirs.name}.{name} cannot be differentiated, batched or compiled: adjoint.scipy.stats does not have "
                    f"this distribution. Write its density in NumPy or SciPy functions, call it through ad.host_callback, or pass "
                    f"x.asnumpy() if no derivative is wanted.{called_at()}"
                )
            )
        return getattr(ours, name)(*args, **kwargs)

    return called


#: By "Class.method" of SciPy's.
METHODS: dict[str, Callable[..., Any]] = {
    f"{cls}.{name}": _method(name) for cls in ("rv_continuous", "rv_discrete") for name in WRAPPED["scipy.stats"][cls]
}


def _of_vectors(distribution: str, name: str) -> Callable[..., Any]:
    def called(_theirs: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(DISTRIBUTIONS[distribution], name)(*args, **kwargs)

    return called


def _of_frozen(distribution: str, name: str, parameters: tuple[str, ...]) -> Callable[..., Any]:
    def called(theirs: Any, *args: Any, **kwargs: Any) -> Any:
        given = {parameter: getattr(theirs, parameter) for parameter in parameters}
        return getattr(DISTRIBUTIONS[distribution], name)(*args, **given, **kwargs)

    return called


for _distribution, _parameters in (
    ("multivariate_normal", ("mean", "cov", "allow_singular")), ("dirichlet", ("alpha",)),
):  # fmt: skip
    _frozen = f"_multivariate.{_distribution}_frozen"
    for _name in WRAPPED["scipy.stats"][_distribution]:
        METHODS[f"{_distribution}.{_name}"] = _of_vectors(_distribution, _name)
    for _name in WRAPPED["scipy.stats"][_frozen]:
        METHODS[f"{_frozen}.{_name}"] = _of_frozen(_distribution, _name, _parameters)
