"""Cards of the parts of a complex number, and its conjugate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from adjoint.core.absent import ZERO
from adjoint.core.spec import Spec, is_complex
from adjoint.ops.broadcast import batch_front, cast_like, conj
from adjoint.ops.card import Op, register


class ComplexPart(Op):
    """Ops between complex and real numbers: linear over the reals."""

    complex, elementwise, total, emits = True, True, True, "fib"

    def vmap(self, dims, x):
        return self(batch_front(x, dims[0]))

    def jvp(self, ts, y, x):
        return self(ts[0])

    @classmethod
    def samples(cls, draw):
        yield cls(), (draw(),)
        yield cls(), (draw(2, 3),)
        yield cls(), (draw(0),)


@register(function="real", example="real(Tensor([1 + 2j])) -> [1.]")
@dataclass(frozen=True)
class Real(ComplexPart):
    """The real part; a real input is returned as it is."""

    def infer(self, x):
        return Spec(x.shape, np.zeros((), x.dtype).real.dtype)

    def eval(self, xp, x):
        return xp.real(x)

    def emit(self, b, x):
        return x  # compiled code has no complex numbers

    def vjp(self, g, y, x):
        return (cast_like(g, x),)


@register(function="imag", example="imag(Tensor([1 + 2j])) -> [2.]")
@dataclass(frozen=True)
class Imag(ComplexPart):
    """The imaginary part; zero for a real input."""

    def infer(self, x):
        return Spec(x.shape, np.zeros((), x.dtype).imag.dtype)

    def eval(self, xp, x):
        return xp.imag(x)

    def emit(self, b, x):
        return b.constant(0, x.dtype)  # as above

    def vjp(self, g, y, x):
        return (1j * g if is_complex(x) else ZERO,)


@register(function="conj", ufunc=np.conjugate, example="conj(Tensor([1 + 2j])) -> [1.-2.j]")
@dataclass(frozen=True)
class Conj(ComplexPart):
    """The complex conjugate."""

    def infer(self, x):
        return Spec(x.shape, x.dtype)

    def eval(self, xp, x):
        return xp.conj(x) if is_complex(x) else x

    def emit(self, b, x):
        return x  # as above

    def vjp(self, g, y, x):
        return (conj(g),)


real, imag, conj_ = Real(), Imag(), Conj()
