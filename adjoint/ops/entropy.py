"""Cards of cross-entropy."""

from __future__ import annotations

from dataclasses import dataclass

from adjoint.ops.arithmetic import add, mul, neg, sub
from adjoint.ops.card import register
from adjoint.ops.families import Elementwise
from adjoint.ops.transcendental import sigmoid, softplus


@register
@dataclass(frozen=True)
class BCEWithLogits(Elementwise):
    """Binary cross-entropy of sigmoid(x) against a label: `weight` scales it, `positive` weights the positive class.

    The two classes are kept apart, so that nothing cancels in the value or the derivative.
    """

    arity, work = 4, 30

    def eval(self, xp, x, label, weight, positive):
        if not hasattr(x, "dtype"):  # a Python number must not raise the precision
            x = xp.asarray(x, xp.result_type(x, label, weight, positive))
        return weight * ((1 - label) * xp.logaddexp(0, x) + positive * label * xp.logaddexp(0, -x))

    def partials(self, y, x, label, weight, positive):
        return (
            lambda: weight * ((1.0 - label) * sigmoid(x) - positive * label * sigmoid(-x)),
            lambda: weight * (positive * softplus(-x) - softplus(x)),
            lambda: (1.0 - label) * softplus(x) + positive * label * softplus(-x),
            lambda: weight * label * softplus(-x),
        )

    def expand(self, b, x, label, weight, positive):
        other = b(mul, b(sub, b.const(1), label), b(softplus, x))
        this = b(mul, b(mul, positive, label), b(softplus, b(neg, x)))
        return b(mul, weight, b(add, other, this))

    @classmethod
    def samples(cls, draw):
        for shape in [(), (3,), (2, 3), (0,)]:
            label, weights = draw(*shape, domain=(0.1, 0.9)), [draw(*shape, domain=(0.5, 2.0)) for _ in range(2)]
            yield cls(), (draw(*shape), label, *weights)
        yield cls(), (draw(2, 3), draw(3, domain=(0.1, 0.9)), draw(2, 1, domain=(0.5, 2.0)), draw(domain=(0.5, 2.0)))


bce_with_logits = BCEWithLogits()
