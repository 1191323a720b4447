"""Distribution: what all distributions can do, and how their arguments are taken."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from adjoint import ops
from adjoint.core import context
from adjoint.core.errors import ArgumentError, ArgumentTypeError, NotDifferentiableError, ShapeError, called_at
from adjoint.core.keywords import understanding_class
from adjoint.core.parameter import Parameter, resolve
from adjoint.core.spec import dtype_of, float32, number_of, shape_of
from adjoint.core.tensor import Tensor
from adjoint.frontend.region import is_tried, uncaught, when
from adjoint.graph.effects import Check, Template

Shape = int | Sequence[int]


class Distribution:
    """Base of the distributions: `sample`, `log_prob`, `cdf`, `mean`, `variance`, `entropy` and `kl` on Tensors of any batch shape.

    Arguments are numbers, arrays, Tensors or Parameters, broadcast against one another; everything is differentiable in them, in
    dynamic mode and in compiled functions. Samples are reparametrised where `reparametrised` says so: they have derivatives by
    the arguments too.

    >>> import adjoint as ad
    >>> p = ad.distributions.Normal([0.0, 1.0], 2.0)
    >>> p.batch_shape, p.sample((3,)).shape, p.log_prob(0.0).shape
    ((2,), (3, 2), (2,))
    >>> print(ad.grad(lambda m: ad.distributions.Normal(m, 1.0).sample((4,)).sum())(0.0))
    4.0
    """

    reparametrised: ClassVar[bool] = False
    discrete: ClassVar[bool] = False  # integers, which have probabilities, no density
    event_shape: tuple[int, ...] = ()
    arguments: dict[str, Any]

    def __init_subclass__(cls, **options: Any) -> None:
        """Functions of a value take numbers, lists and arrays too."""
        super().__init_subclass__(**options)
        for name in ("log_prob", "cdf", "icdf"):
            if name in vars(cls):
                setattr(cls, name, _of_value(vars(cls)[name]))
        if cls.__module__.startswith("adjoint.distributions."):
            understanding_class(cls, {"covariance_matrix": "covariance", "reinterpreted_batch_ndims": "event_axes"})

    def _take(self, positive: Sequence[str] = (), unit: Sequence[str] = (), **given: Any) -> None:
        """Keep the arguments as attributes, each a Tensor or Parameter, and the shape that they have together."""
        self._hold(positive, unit, **given)
        try:
            self._broadcast = np.broadcast_shapes(*(shape_of(x) for x in self.arguments.values()))
        except ValueError:
            shapes = ", ".join(f"{k} {shape_of(v)}" for k, v in self.arguments.items())
            raise ShapeError(f"{type(self).__name__}: the arguments do not broadcast: {shapes}{called_at()}") from None

    def _hold(self, positive: Sequence[str] = (), unit: Sequence[str] = (), **given: Any) -> None:
        """Keep the arguments as attributes; values that are known are looked at."""
        name = type(self).__name__
        self.arguments = {}
        arrays = [v for v in given.values() if hasattr(v, "dtype") and number_of(v) is None]
        floats = [v.dtype for v in arrays if np.dtype(v.dtype).kind == "f"]
        plain = np.result_type(*floats) if floats else float32  # what Python's numbers become beside arrays
        for key, value in given.items():
            _is_data(value, f"{name}: {key}")
            weak = not hasattr(value, "dtype") and not np.iscomplexobj(value)
            held = value if isinstance(value, Tensor) else Tensor(value, plain if weak else None)
            if held.dtype.kind in "biu" or (held.dtype.kind == "f" and number_of(held) is not None):
                held = ops.cast(held, plain)
            if held.dtype.kind != "f" and held.dtype.name != "bfloat16":
                raise ArgumentTypeError(f"{name}: {key} must be real, not {held.dtype}{called_at()}")
            if key in positive:
                require(held, lambda x: ops.greater(x, 0), f"{name}: {key} must be above 0")
            if key in unit:
                require(held, _is_share, f"{name}: {key} must lie between 0 and 1")
            self.arguments[key] = held
            setattr(self, key, held)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The shape of one sample, without the axes of an event."""
        return self._broadcast

    @property
    def dtype(self) -> np.dtype:
        """The dtype of samples."""
        return np.result_type(*(dtype_of(x) for x in self.arguments.values()))

    def __repr__(self) -> str:
        shown = ", ".join(f"{k}: {shape_of(v)}" if shape_of(v) else k for k, v in self.arguments.items())
        return f"{type(self).__name__}({shown})"

    # ------------------------------------------------------------ samples

    def sample(self, shape: Shape = (), seed: int | None = None) -> Any:
        """Samples of this shape, before the batch's own; with derivatives by the arguments if it is `reparametrised`.

        They follow from `ad.set_seed`, or from a seed of their own.
        """
        size = tuple(shape) if isinstance(shape, (Sequence, np.ndarray)) else (shape,)
        if any(isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0 for n in size):
            raise ArgumentError(f"{type(self).__name__}.sample: a shape of integers >= 0, not {shape!r}{called_at()}")
        return self._sampled((*map(int, size), *self.batch_shape), seed)

    def rsample(self, shape: Shape = (), seed: int | None = None) -> Any:
        """Samples with derivatives by the arguments, or an error where there are none."""
        if not self.reparametrised:
            raise NotDifferentiableError(
                f"{type(self).__name__}.rsample: its samples are not differentiable in its arguments. Use sample() and the score "
                f"(log_prob(x) * reward), or a relaxed distribution such as ops.gumbel_softmax{called_at()}"
            )
        return self.sample(shape, seed)

    def _sampled(self, shape: tuple[int, ...], seed: int | None) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no samples: write `_sampled`")

    # ------------------------------------------------------------ what else there is

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density, or probability, of a value."""
        raise self._lacks("log_prob")

    def prob(self, value: Any) -> Any:
        """The density, or probability, of a value."""
        return ops.exp(self.log_prob(value))

    def cdf(self, value: Any) -> Any:
        """The probability of values up to this one."""
        raise self._lacks("cdf")

    def icdf(self, value: Any) -> Any:
        """The value up to which there is this probability: the inverse of `cdf`."""
        raise self._lacks("icdf")

    @property
    def mean(self) -> Any:
        """The mean."""
        raise self._lacks("mean")

    @property
    def variance(self) -> Any:
        """The variance."""
        raise self._lacks("variance")

    @property
    def stddev(self) -> Any:
        """The square root of the variance."""
        return ops.sqrt(self.variance)

    def entropy(self) -> Any:
        """The entropy, in nats."""
        raise self._lacks("entropy")

    def kl(self, other: Distribution) -> Any:
        """The divergence KL(self || other), as `distributions.kl`."""
        from adjoint.distributions.divergences import kl

        return kl(self, other)

    def _lacks(self, what: str) -> NotImplementedError:
        return NoClosedValueError(
            f"{type(self).__name__} has no {what} in closed form. Estimate it from samples{called_at()}"
        )

    def _full(self, x: Any) -> Any:
        """A value for each member of the batch."""
        return x if shape_of(x) == self.batch_shape else ops.broadcast_to(x, self.batch_shape)


class NoClosedValueError(ArgumentError, NotImplementedError):
    """Something of a distribution that has no closed form, or none here."""


def _of_value(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    @functools.wraps(function)
    def method(self: Any, value: Any) -> Any:
        _is_data(value, f"{type(self).__name__}.{function.__name__}: the value")
        if not isinstance(value, Tensor):
            own = isinstance(value, (np.ndarray, np.generic))
            value = Tensor(value) if own else Tensor(value, self.dtype)
        plain = value.dtype.kind in "biu" or (value.dtype.kind == "f" and number_of(value) is not None)
        return context.readable(function)(self, ops.cast(value, self.dtype) if plain else value)

    return method


def _known(x: Any) -> np.ndarray | None:
    """The values of an argument, if they are there; None inside a graph or a batch."""
    value = x._value if isinstance(x, Parameter) else x
    while isinstance(value, Tensor):
        if value.tracked:
            return None
        value = value._value
    return value if isinstance(value, np.ndarray) else np.asarray(value) if np.isscalar(value) else None


def require(x: Any, test: Callable[[Any], Any], text: str) -> None:
    """Refuse an argument whose elements do not all pass a test: at once where they are known, else when the graph runs."""
    known = _known(x)
    if known is None:
        require_all(test(x), text, x)
    elif not bool(np.all(np.asarray(test(known)))):
        shown = str(known) if known.size < 10 else f"an array with {known.min()} in it"
        raise ArgumentError(f"{text}, not {shown}{called_at()}")


def require_all(condition: Any, text: str, shown: Any = None) -> None:
    """Raise an ArgumentError unless a condition holds for all elements, in every mode."""
    place = called_at()
    if is_tried():
        raise uncaught("the check of a distribution's argument", place.strip() or "this place")
    small = shown is not None and int(np.prod(shape_of(shown))) < 10
    inputs = [resolve(shown) if isinstance(shown, Parameter) else shown] if small else []
    template, leaves = Template.of((inputs, {}), lambda leaf: True)

    def error(*values: Any) -> ArgumentError:
        return ArgumentError(text + "".join(f", not {x}" for x in values) + place)

    Check(error, template, place.strip())(when(), ops.all(condition), *leaves)


def _is_share(x: Any) -> Any:
    return ops.logical_and(ops.greater_equal(x, 0), ops.less_equal(x, 1))


def _is_data(value: Any, what: str) -> None:
    if value is None or isinstance(value, (str, bytes)):
        raise ArgumentTypeError(f"{what} must be a number, an array or a Tensor, not {value!r}{called_at()}")


def event_of(what: Distribution, value: Any) -> Any:
    """A value whose last axes must be those of an event."""
    n = len(what.event_shape)
    if shape_of(value)[max(len(shape_of(value)) - n, 0) :] != what.event_shape:
        raise ShapeError(
            f"{type(what).__name__}.log_prob: the value has shape {shape_of(value)}; "
            f"its last axes must be {what.event_shape}, those of an event{called_at()}"
        )
    return value
