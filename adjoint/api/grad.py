"""Reverse mode for users: grad, value_and_grad, get_grad, vjp."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from types import FunctionType
from typing import Any
from weakref import WeakKeyDictionary

from adjoint.api.deferral import deferral
from adjoint.api.gradient_checkpoint import checked_policy
from adjoint.api.inputs import (
    ChosenInputs,
    binding,
    check_cotangent,
    check_function,
    check_input,
    check_inputs,
    check_positions,
    chosen_position,
    finished,
    lowered,
    name_of,
    ones_like,
    output_leaves,
    whole,
)
from adjoint.api.long_tapes import seldom_collecting
from adjoint.api.memory_errors import out_of_memory
from adjoint.api.modes import by_mode
from adjoint.api.planned_forward import under_policy
from adjoint.core import context, tree
from adjoint.core.absent import ZERO
from adjoint.core.checkpoint_policy import CheckpointPolicy
from adjoint.core.dispatch import BACKWARD, Value, wrap
from adjoint.core.errors import ArgumentError, ArgumentTypeError, boundary, called_at
from adjoint.core.parameter import Parameter
from adjoint.core.tensor import Tensor
from adjoint.core.tree_matching import beside
from adjoint.transforms.backward import hooks_wait, waiting_hooks
from adjoint.transforms.checkpoint_tapes import tape_for
from adjoint.transforms.tape import Record

Weights = Parameter | Sequence[Parameter] | None


class Recording:
    """A function run once on a tape: its output, and the backward pass."""

    def __init__(
        self,
        what: str,
        fn: Any,
        call: ChosenInputs,
        weights: Sequence[Parameter],
        policy: CheckpointPolicy | None,
        defers: bool = False,
    ) -> None:
        self.what, self.fn = what, fn
        policy = policy or context.checkpointing.get()
        self.tape = tape = tape_for(what, policy)
        self.inputs = check_inputs(what, call.chosen, call.places)
        leaves = [x for i in self.inputs for x in i.leaves]
        self.weights, once = weights, dict.fromkeys(weights)
        leaves += [check_input(what, f"the weight '{w.name}'", w) for w in once]
        tracked = [tape.track(x) for x in leaves]
        self.nodes = [x._extra for x in tracked]  # not the Tensors: `x[i] = v` in the function rebinds those
        hooked = self._hook(call.chosen, once)
        self.deferred = None if policy or hooked or not defers else deferral(fn, leaves, tracked)
        given = iter(tracked if self.deferred is None else self.deferred.inputs())
        args, kwargs = call.replace([i.rebuild([next(given) for _ in i.leaves]) for i in self.inputs])
        bound = dict(zip(once, given, strict=True))
        try:
            with binding(bound, functools.partial(lowered, tape)):
                self.out = whole(under_policy(policy, tape, context.readable(fn))(*args, **kwargs))
            if self.deferred is not None and not self.deferred.is_compiled(self.out):
                self.out = self.deferred.settled(self.out)
        except MemoryError as error:
            raise out_of_memory(what, error) from None
        finally:
            tape.ended = True
            if self.deferred is not None:
                self.deferred.end(tape)

    def _hook(self, chosen: Sequence[Any], weights: dict[Parameter, None]) -> bool:
        """Give the nodes the hooks that were registered on inputs and weights; whether there are any."""
        if not weights and not hooks_wait():
            return False
        first = 0
        for value, i in zip(chosen, self.inputs, strict=True):
            if isinstance(value, Tensor) and (hooks := waiting_hooks(value)):
                self.nodes[first].hooks = hooks
            first += len(i.leaves)
        for weight, node in zip(weights, self.nodes[first:], strict=True):
            node.hooks = getattr(weight._extra, "hooks", None)
        return any(node.hooks for node in self.nodes)

    def differentiated(self, has_aux: bool, sens: Any) -> tuple[Any, list[Any], list[Any]]:
        """The output, and the gradients of the chosen inputs and of the weights."""
        out = self.out[0] if has_aux else self.out
        if sens is None and (chosen := getattr(type(out), "not_summed", None)):
            raise ArgumentError(
                f"{self.what}: {name_of(self.fn)} returns the whole result of a solver, whose entries would be added up; return one of them, "
                f"{chosen}{called_at()}"
            )
        if self.deferred is not None and self.deferred.program is not None:
            ys = output_leaves(self.what, self.fn, out)
            gs = None if sens is None else self._checked(sens, out, ys)
            value, grads = self.deferred.run(self.out, ys, gs)
            return value, *self._assigned([wrap(g) for g in grads])
        value, seeds = self.value(), self.seeds(out, sens)
        self.out = out = None  # so that the sweep can let go of what it has passed
        return value, *self.pull(seeds)

    def value(self) -> Any:
        """The whole output, no longer tracked by this tape."""
        if tree.is_leaf(self.out):
            return lowered(self.tape, self.out)
        return tree.map(lambda x: lowered(self.tape, x), self.out)

    def seeds(self, out: Any, cotangent: Any = None) -> list[tuple[Record, Any]]:
        """Where the sweep begins: the outputs' nodes, each with its cotangent; by default that of the sum of all."""
        ys = output_leaves(self.what, self.fn, out)
        gs = [ones_like(y) for y in ys] if cotangent is None else self._checked(cotangent, out, ys)
        return self.tape.seeds(ys, gs)

    def pull(self, seeds: list[tuple[Record, Any]]) -> tuple[list[Any], list[Any]]:
        """Gradients of the chosen inputs and of the weights."""
        try:
            found = self.tape.sweep(seeds, again=self.out is not None)
        except MemoryError as error:
            raise out_of_memory(self.what, error) from None
        return self._assigned([finished(found.get(node, ZERO), node.y) for node in self.nodes])

    def _assigned(self, grads: list[Any]) -> tuple[list[Any], list[Any]]:
        """The gradients of all nodes as those of the chosen inputs, put together as these are, and of the weights."""
        by_input = []
        for i in self.inputs:
            by_input.append(i.derivative(grads[: len(i.leaves)]))
            grads = grads[len(i.leaves) :]
        if not self.weights:
            return by_input, []
        by_weight = dict(zip(dict.fromkeys(self.weights), grads, strict=True))
        return by_input, [by_weight[w] for w in self.weights]

    def _checked(self, cotangent: Any, out: Any, ys: list[Any]) -> list[Any]:
        gs = tree.leaves_like(cotangent, out)
        if len(gs) != len(ys) and len(tree.leaves(out)) > len(ys):  # what has no derivative needs no cotangent
            every = beside(cotangent, out, f"{self.what}: the cotangent", "the output")
            gs = [g for g, y in zip(every, tree.leaves(out), strict=True) if any(y is x for x in ys)]
        if len(gs) != len(ys):
            raise ArgumentError(
                f"{self.what}: {len(gs)} cotangents for the {len(ys)} outputs of {name_of(self.fn)}{called_at()}"
            )
        return [check_cotangent(f"{self.what}: the cotangent", g, y) for g, y in zip(gs, ys, strict=True)]


def check_weights(what: str, weights: Any) -> list[Parameter]:
    """The weights as a list."""
    if weights is None:
        return []
    if isinstance(weights, Parameter):
        return [weights]
    weights = list(weights) if isinstance(weights, Iterator) else weights
    if not isinstance(weights, (tuple, list)) or not all(isinstance(w, Parameter) for w in weights):
        raise ArgumentTypeError(
            f"{what}: weights must be a Parameter or a list of Parameters, for example model.trainable_params(){called_at()}"
        )
    return list(weights)


def value_and_grad(
    fn: Callable[..., Any],
    grad_position: int | tuple[int, ...] | None = 0,
    weights: Weights = None,
    has_aux: bool = False,
    return_ids: bool = False,
    sens_param: bool = False,
    checkpoint: str | CheckpointPolicy | None = None,
    argnums: int | Sequence[int] | None = None,
) -> Callable[..., Any]:
    """A function that returns the value of `fn` and its gradient: `(value, gradient)`.

    The arguments are those of `grad`. With `has_aux` the value is the whole output of `fn`.

    >>> import adjoint as ad
    >>> value, slope = ad.value_and_grad(lambda x: x * x)(3.0)
    >>> print(value, slope)
    9.0 6.0
    """
    grad_position = chosen_position("value_and_grad", grad_position, argnums)
    weights = list(weights) if isinstance(weights, Iterator) else weights  # net.parameters()
    run = _gradients("value_and_grad", fn, grad_position, weights, has_aux, return_ids, sens_param, checkpoint, argnums)

    def value_and_gradient(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        return run(args, kwargs)

    wrapper = _dressed(boundary(by_mode_unfollowed(value_and_gradient)), fn, "value_and_grad")
    return _differentiating(wrapper, True, grad_position, weights)


def by_mode_unfollowed(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function compiled in static mode; `backward()` has no business with its Parameters, as in dynamic mode."""
    chosen = by_mode(function)

    def unfollowed(*args: Any, **kwargs: Any) -> Any:
        if not context.static_mode.get():
            return function(*args, **kwargs)
        given = (x for x in tree.leaves((args, kwargs)) if isinstance(x, Value))
        if any(x._trace.level >= BACKWARD for x in given):
            return chosen(*args, **kwargs)
        with context.setting(context.muted_below, max(context.muted_below.get(), BACKWARD + 0.5)):
            return chosen(*args, **kwargs)

    return unfollowed


def _gradients(
    what: str,
    fn: Any,
    grad_position: Any,
    weights: Any,
    has_aux: bool,
    return_ids: bool,
    sens_param: bool,
    checkpoint: str | CheckpointPolicy | None,
    argnums: Any = None,
) -> Callable[[Any, dict[str, Any]], tuple[Any, Any]]:
    """What `grad` and `value_and_grad` have in common: from a call's arguments to the value and the gradients."""
    check_function(what, fn)
    params = check_weights(what, weights)
    policy = checked_policy(what, checkpoint)
    if grad_position is None and weights is None:
        raise ArgumentError(f"{what}: grad_position and weights are both None: nothing to differentiate{called_at()}")
    positions = () if grad_position is None else check_positions(what, grad_position)

    @seldom_collecting
    def run(args: Any, kwargs: dict[str, Any]) -> tuple[Any, Any]:
        sens = None
        if sens_param:
            if not args:
                raise ArgumentError(f"{what}: sens_param=True takes the cotangent as the last argument{called_at()}")
            *args, sens = args
        recording = Recording(what, fn, ChosenInputs(what, fn, positions, args, kwargs), params, policy, defers=True)
        if has_aux and (not isinstance(recording.out, (tuple, list)) or len(recording.out) < 2):
            raise ArgumentError(f"{what}: has_aux=True, but {name_of(fn)} returned no second output{called_at()}")
        value, by_input, by_weight = recording.differentiated(has_aux, sens)
        found = _assembled(grad_position, weights, return_ids, positions, by_input, params, by_weight)
        alone = weights is None and len(positions) == 1 and isinstance(argnums, (tuple, list))
        return value, (found,) if alone else found

    return run


def _assembled(
    grad_position: Any,
    weights: Any,
    return_ids: bool,
    positions: Sequence[int],
    by_input: list[Any],
    params: list[Parameter],
    by_weight: list[Any],
) -> Any:
    """Gradients in MindSpore's shapes: bare for one position or one Parameter, tuples for several."""
    inputs: Any = tuple(zip(positions, by_input, strict=True)) if return_ids else tuple(by_input)
    own: Any = tuple(zip((p.name for p in params), by_weight, strict=True)) if return_ids else tuple(by_weight)
    if isinstance(weights, Parameter):
        own = own[0]
    if grad_position is None:
        return own
    if isinstance(grad_position, int) or (weights is None and len(positions) == 1):
        inputs = inputs[0]
    return inputs if weights is None else (inputs, own)


def _dressed(wrapper: Callable[..., Any], fn: Any, what: str) -> Callable[..., Any]:
    """The wrapper with the function's name and documentation."""
    if hasattr(fn, "__name__"):
        functools.update_wrapper(wrapper, fn)
    wrapper.__name__ = wrapper.__qualname__ = f"{what}({name_of(fn)})"
    return wrapper


#: What the results of the functions that `grad` and `value_and_grad` have made are. No attribute: `functools.wraps` would copy it.
_results: WeakKeyDictionary[Callable[..., Any], tuple[bool, tuple[int, ...], tuple[Parameter, ...]]] = (
    WeakKeyDictionary()
)


def _differentiating(wrapper: Any, with_value: bool, grad_position: Any, weights: Any) -> Callable[..., Any]:
    """The wrapper, with a note of what its results are."""
    positions = () if grad_position is None else check_positions("grad", grad_position)
    _results[wrapper] = with_value, positions, tuple(check_weights("grad", weights))
    return wrapper  # type: ignore[no-any-return]


def results_of(fn: Any) -> tuple[bool, tuple[int, ...], tuple[Parameter, ...]] | None:
    """Of a function that `grad` or `value_and_grad` made: whether the value comes first, then gradients by which positions and Parameters."""
    return _results.get(fn) if type(fn) is FunctionType else None


def grad(
    fn: Callable[..., Any],
    grad_position: int | tuple[int, ...] | None = 0,
    weights: Weights = None,
    has_aux: bool = False,
    return_ids: bool = False,
    sens_param: bool = False,
    checkpoint: str | CheckpointPolicy | None = None,
    argnums: int | Sequence[int] | None = None,
) -> Callable[..., Any]:
    """A function that returns the gradient of `fn`. An output of any shape counts as the sum of its elements.

    Args:
        fn: a function or Cell. Its inputs may be Tensors, NumPy arrays, floats, and tuples, lists, dicts, named
            tuples or dataclasses of them; the gradient has the structure of the input.
        grad_position: the input to differentiate by, or a tuple of inputs (the result is then a tuple in that order).
            None differentiates by the weights alone.
        weights: Parameters to differentiate by. With a position too, the result is `(inputs, weights)`.
        has_aux: differentiate the first output only and return `(gradient, (other outputs...))`.
        return_ids: pair each gradient with its position or Parameter name, for `get_grad`.
        sens_param: the last argument of the returned function is the cotangent of the output.
        checkpoint: what is kept for the backward pass and what is computed again there: a `GradientCheckpoint`, or the name of
            its strategy, such as "sqrt". Without it everything is kept.
        argnums: JAX's name for `grad_position`; a tuple of one position gives a tuple of one gradient.

    What has no derivative in a container (strings, integers, truth values) is handed to `fn` as it is, and is None in the gradient.

    >>> import adjoint as ad
    >>> print(ad.grad(lambda x: x ** 3)(2.0))
    12.0
    >>> def loss(params, x):
    ...     return ((params["w"] * x + params["b"]) ** 2).sum()
    >>> g = ad.grad(loss)({"w": 2.0, "b": 1.0}, ad.Tensor([1.0, 3.0]))
    >>> print(g["w"], g["b"])
    48.0 20.0
    """
    grad_position = chosen_position("grad", grad_position, argnums)
    weights = list(weights) if isinstance(weights, Iterator) else weights
    run = _gradients("grad", fn, grad_position, weights, has_aux, return_ids, sens_param, checkpoint, argnums)

    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, gradients = run(args, kwargs)
        return (gradients, tuple(value[1:])) if has_aux else gradients

    wrapper = _dressed(boundary(by_mode_unfollowed(gradient)), fn, "grad")
    return wrapper if has_aux or return_ids else _differentiating(wrapper, False, grad_position, weights)


@boundary
def vjp(
    fn: Callable[..., Any],
    *inputs: Any,
    weights: Weights = None,
    has_aux: bool = False,
    checkpoint: str | CheckpointPolicy | None = None,
) -> Any:
    """The output of `fn`, and the function that pulls a cotangent of it back to the inputs.

    Returns `(output, vjp_fn)`, with `has_aux` `(output, vjp_fn, aux)`. `vjp_fn` takes one cotangent for each output and
    returns a tuple with one gradient for each input; with weights, `(input gradients, weight gradients)`. `checkpoint` as in `grad`.

    >>> import adjoint as ad
    >>> y, pull = ad.vjp(lambda x: x * x, ad.Tensor([1.0, 2.0]))
    >>> print(y, *pull(ad.Tensor([1.0, 10.0])))
    [1. 4.] [ 2. 40.]
    """
    check_function("vjp", fn)
    params = check_weights("vjp", weights)
    call = ChosenInputs("vjp", fn, tuple(range(len(inputs))), inputs, {})
    run = Recording("vjp", fn, call, params, checked_policy("vjp", checkpoint))
    out = run.out
    value = run.value()
    aux: tuple[Any, ...] = ()
    if has_aux:
        if not isinstance(out, (tuple, list)) or len(out) < 2:
            raise ArgumentError(f"vjp: has_aux=True, but {name_of(fn)} returned no second output{called_at()}")
        value, *rest = value
        out = out[0]
        aux = (rest[0] if len(rest) == 1 else tuple(rest),)
    output_leaves("vjp", fn, out)

    @boundary
    def vjp_fn(*cotangents: Any) -> Any:
        by_input, by_weight = run.pull(run.seeds(out, cotangents[0] if len(cotangents) == 1 else cotangents))
        return tuple(by_input) if weights is None else (tuple(by_input), tuple(by_weight))

    return (value, vjp_fn, *aux)
