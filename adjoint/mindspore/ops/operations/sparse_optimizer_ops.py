"""Primitives of optimisers whose gradients are rows of a Parameter, named by indices; rows named twice add up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint import ops
from adjoint.mindspore.ops.operations.optimizer_ops import Values, _adam, _step, adadelta, ftrl, proximal_adagrad
from adjoint.mindspore.ops.promotion import tensor


def _by_rows(formula: Callable[..., Values], count: int) -> Callable[..., Values]:
    """A formula of variables, numbers and a gradient as one of the rows that are named; the others stay."""

    def call(self: Any, *inputs: Any) -> Values:
        *rest, grad, indices = inputs
        held = rest[:count]
        grad, indices = tensor(grad), tensor(indices)
        whole = ops.index_add(ops.zeros_like(held[0]), indices, grad, 0)
        named = ops.index_add(
            ops.zeros((held[0].shape[0],), grad.dtype), indices, ops.ones(indices.shape, grad.dtype), 0
        )
        named = ops.reshape(named > 0, (-1,) + (1,) * (held[0].ndim - 1))
        new = formula(self, *rest, whole)
        return [ops.where(named, y, x) for y, x in zip(new, held, strict=True)]

    return call


def _adagrad(self: Any, var: Any, accum: Any, grad: Any) -> Values:
    accum = accum + grad * grad if self.update_slots else accum
    return var - self.lr * grad / (ops.sqrt(accum) + getattr(self, "epsilon", 0.0)), accum


def _ftrl(self: Any, var: Any, accum: Any, linear: Any, grad: Any) -> Values:
    return ftrl(var, accum, linear, grad, self.lr, self.l1, self.l2, self.lr_power)


def _rmsprop(self: Any, var: Any, ms: Any, mom: Any, lr: Any, grad: Any) -> Values:
    ms = self.rho * ms + (1 - self.rho) * grad * grad
    mom = self.momentum * mom + lr * grad / ops.sqrt(ms + self.epsilon)
    return var - mom, ms, mom


def _dense_adam(self: Any, *inputs: Any) -> Values:
    """Moments of all rows decay; the gradient of those that are not named is zero."""
    *rest, grad, indices = inputs
    rest.append(ops.index_add(ops.zeros_like(rest[0]), tensor(indices), tensor(grad), 0))
    return _adam(self, *rest)


FusedSparseAdam = _step("FusedSparseAdam", 3, _dense_adam, use_locking=False, use_nesterov=False)
FusedSparseLazyAdam = _step("FusedSparseLazyAdam", 3, _by_rows(_adam, 3), use_locking=False, use_nesterov=False)
_FTRL: dict[str, Any] = {"lr": ..., "l1": ..., "l2": ..., "lr_power": ..., "use_locking": False}
FusedSparseFtrl = _step("FusedSparseFtrl", 3, _by_rows(_ftrl, 3), **_FTRL)
SparseApplyFtrl = _step("SparseApplyFtrl", 3, _by_rows(_ftrl, 3), **_FTRL)
_PROXIMAL = _by_rows(lambda self, *xs: proximal_adagrad(*xs), 2)
FusedSparseProximalAdagrad = _step("FusedSparseProximalAdagrad", 2, _PROXIMAL, use_locking=False)
SparseApplyProximalAdagrad = _step("SparseApplyProximalAdagrad", 2, _PROXIMAL, use_locking=False)
SparseApplyAdagrad = _step("SparseApplyAdagrad", 2, _by_rows(_adagrad, 2), lr=..., update_slots=True, use_locking=False)
SparseApplyAdagradV2 = _step(
    "SparseApplyAdagradV2", 2, _by_rows(_adagrad, 2), lr=..., epsilon=..., use_locking=False, update_slots=True
)
SparseApplyAdadelta = _step(
    "SparseApplyAdadelta",
    3,
    _by_rows(lambda self, var, accum, moved, lr, rho, g: adadelta(var, accum, moved, lr, rho, self.epsilon, g), 3),
    epsilon=...,
    use_locking=False,
)
SparseApplyRMSProp = _step(
    "SparseApplyRMSProp", 3, _by_rows(_rmsprop, 3), rho=..., momentum=..., epsilon=..., use_locking=False
)
