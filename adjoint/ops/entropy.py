"""Cards of cross-entropy."""

from __future__ import annotations

from dataclasses import dataclass

from adjoint.ops.card import register
from adjoint.ops.families import Elementwise
from adjoint.ops.transcendental import sigmoid, softplus


@register
@dataclass(frozen=True)
class BCEWithLogits(Elementwise):
    """Binary cross-entropy of sigmoid(x) against a label, the positive class weighted.

    The two classes are kept apart, so that nothing cancels in the value or the derivative.
    """

    arity = 3

    def eval(self, xp, x, label, weight):
        if not hasattr(x, "dtype"):  # a Python number must not raise the precision
            x = xp.asarray(x, xp.result_type(x, label, weight))
        return (1 - label) * xp.logaddexp(0, x) + weight * label * xp.logaddexp(0, -x)

    def partials(self, y, x, label, weight):
        return (
            lambda: (1.0 - label) * sigmoid(x) - weight * label * sigmoid(-x),
            lambda: weight * softplus(-x) - softplus(x),
            lambda: label * softplus(-x),
        )

    @classmethod
    def samples(cls, draw):
        for shape in [(), (3,), (2, 3), (0,)]:
            yield cls(), (draw(*shape), draw(*shape, domain=(0.1, 0.9)), draw(*shape, domain=(0.5, 2.0)))
        yield cls(), (draw(2, 3), draw(3, domain=(0.1, 0.9)), draw(domain=(0.5, 2.0)))


bce_with_logits = BCEWithLogits()
