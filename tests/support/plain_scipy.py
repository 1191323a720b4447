"""Plain SciPy against its mirror: the same numbers, and derivatives that agree with differences of SciPy's own."""

from __future__ import annotations

from typing import Any

import numpy as np

import adjoint as ad


def flat(y: Any) -> list[np.ndarray]:
    """The arrays of a result, complex ones as pairs of real ones."""
    if isinstance(y, (tuple, list)):
        return [a for part in y for a in flat(part)]
    y = np.asarray(y)
    return [y.real, y.imag] if y.dtype.kind == "c" else [y]


def parts(y: Any) -> tuple[Any, ...]:
    """The same in ops, for a traced result: the floating-point parts only."""
    if isinstance(y, (tuple, list)):
        return tuple(a for part in y for a in parts(part))
    y = y if isinstance(y, ad.Tensor) else np.asarray(y)
    if y.dtype.kind == "c":
        return ad.ops.real(y), ad.ops.imag(y)
    return (y,) if y.dtype.kind == "f" else ()


def agrees(f: Any, *args: Any, order: int = 1, rtol: float = 1e-9, values: bool = True, **options: Any) -> None:
    """SciPy's numbers for plain arrays and for traced Tensors, and the derivatives by every floating-point argument."""
    want = [w for w in flat(f(*args)) if w.dtype.kind == "f"]
    traced, _ = ad.vjp(lambda *xs: parts(f(*xs)), *args)
    got = [np.asarray(v) for v in (traced if isinstance(traced, tuple) else (traced,))]
    if values:
        for g, w in zip(got, want, strict=True):
            assert g.shape == w.shape, (g.shape, w.shape)
            assert np.allclose(g, w, rtol=rtol, atol=rtol), (g, w)
    kinds = [np.iscomplexobj(x) for x in args]

    def of_parts(*xs: Any) -> Any:
        rest = iter(xs)
        return parts(f(*(ad.ops.complex(next(rest), next(rest)) if mixed else next(rest) for mixed in kinds)))

    split = [p for x, mixed in zip(args, kinds, strict=True) for p in ((x.real, x.imag) if mixed else (x,))]
    ad.check_grads(of_parts, *split, order=order, **options)
