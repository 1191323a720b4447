"""How each card is written in NumPy: one table, from which sources and the formulas of explanations are made.

An entry is an expression in which `_0`, `_1`, ... stand for the inputs and functions are those of NumPy, SciPy and `numpy_kernels`; or
a function that writes it for one op, from the Specs of its inputs and result. A test holds the table against every card: each is
here or in `REFUSED`, and computes what `eval` does.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from adjoint.core import parsing
from adjoint.core.errors import AdjointError
from adjoint.core.spec import Spec
from adjoint.ops.card import Op
from adjoint.ops.slicing import show_index


class NoSpellingError(AdjointError, NotImplementedError):
    """A step that has no spelling in NumPy; the message names it and the way out."""


Writer = Callable[[Any, Sequence[Spec], Any], str]

#: Cards without a spelling, and why.
_BY_SCIPY = (
    "its kernel is a loop around functions of SciPy's: call the function of scipy.linalg or scipy.signal outside"
)
REFUSED = {
    "Bits": "random numbers come from adjoint's own generator: draw them outside and pass them as an argument",
    "BandedSolve": _BY_SCIPY,
    "LU": _BY_SCIPY,
    "Logm": _BY_SCIPY,
    "PolarFactor": "its derivatives solve Sylvester equations, by scipy.linalg: call scipy.linalg.polar outside",
    "Recurrence": _BY_SCIPY,
    "RowOrder": _BY_SCIPY,
    "SparseSolve": _BY_SCIPY,
    "Sqrtm": _BY_SCIPY,
    "Sylvester": _BY_SCIPY,
}


def spelled(op: Op, specs: Sequence[Spec], result: Any) -> ast.expr:
    """The expression of an op; its inputs are the names `_0`, `_1`, ...

    >>> from adjoint import ops
    >>> ast.unparse(spelled(ops.Sum((0,)), [Spec((2, 3))], Spec((3,))))
    'np.sum(_0, axis=0)'
    """
    name = type(op).__name__
    entry = TABLE.get(name)
    if entry is None:
        why = REFUSED.get(name, "it calls Python code that is not seen: write that part with ops, or leave it out")
        raise NoSpellingError(f"source: {op!r} has no spelling in NumPy: {why}")
    return parsed(entry if isinstance(entry, str) else entry(op, specs, result))


@lru_cache(maxsize=4096)
def parsed(text: str) -> ast.expr:
    """The tree of an expression; not to be changed."""
    return parsing.parsed(text, mode="eval").body


class _Filling(ast.NodeTransformer):
    """Puts expressions in the place of `_0`, `_1`, ..."""

    def __init__(self, inputs: Sequence[ast.expr]) -> None:
        self.inputs = inputs

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id[0] == "_" and node.id[1:].isdigit():
            return self.inputs[int(node.id[1:])]
        return node


def filled(tree: ast.expr, inputs: Sequence[ast.expr]) -> ast.expr:
    """An expression with others in the place of its inputs."""
    return _Filling(inputs).visit(parsing.parsed(ast.unparse(tree), mode="eval").body)  # type: ignore[no-any-return]


def dtype_name(dtype: np.dtype) -> str:
    """
    >>> dtype_name(np.dtype("float32")), dtype_name(np.dtype(bool))
    ('np.float32', 'np.bool_')
    """
    return "np.bool_" if dtype.kind == "b" else f"np.{dtype.name}"


# ---------------------------------------------------------------- writers


def _names(count: int, start: int = 0) -> str:
    return ", ".join(f"_{i}" for i in range(start, start + count))


def _axes(op: Any, specs: Sequence[Spec]) -> str:
    """The axes of a reduction, as a keyword; nothing where all are meant."""
    axes = tuple(op.axes)
    said = "" if len(axes) == len(specs[0].shape) and axes else f", axis={axes[0] if len(axes) == 1 else axes}"
    return said + (", keepdims=True" if op.keepdims else "")


def _reduction(name: str) -> Writer:
    return lambda op, specs, y: f"np.{name}(_0{_axes(op, specs)})"


def _mean(op: Any, specs: Sequence[Spec], y: Any) -> str:
    count = prod(specs[0].shape[a] for a in op.axes)
    return f"np.mean(_0{_axes(op, specs)})" if count else f"np.sum(_0{_axes(op, specs)}) / {dtype_name(y.dtype)}(0)"


def _cast(op: Any, specs: Sequence[Spec], _y: Any) -> str:
    inner = "np.real(_0)" if specs[0].dtype.kind == "c" and op.dtype.kind not in "cb" else "_0"
    name = dtype_name(op.dtype)
    return f"{inner}.astype({name})" if specs[0].shape else f"{name}({inner})"


def _special(name: str, *leading: str) -> Writer:
    """A function of scipy.special, whose result keeps the precision of its inputs."""

    def write(op: Any, specs: Sequence[Spec], y: Any) -> str:
        first = [str(getattr(op, field)) for field in leading]
        called = f"scipy.special.{name}({', '.join([*first, _names(len(specs))])})"
        return _in_precision(called, y)

    return write


def _in_precision(text: str, y: Any) -> str:
    if y.dtype == np.float64 or y.dtype.kind == "c":
        return text
    return f"{text}.astype({dtype_name(y.dtype)})" if y.shape else f"{dtype_name(y.dtype)}({text})"


def _polygamma(op: Any, specs: Sequence[Spec], y: Any) -> str:
    return _special("digamma")(op, specs, y) if op.order == 0 else _special("polygamma", "order")(op, specs, y)


def _gammainc(op: Any, specs: Sequence[Spec], y: Any) -> str:
    if op.order:
        raise NoSpellingError(
            "source: the derivative of gammainc by its first argument has no name in SciPy: wrap that argument in stop_gradient"
        )
    return _special("gammainc")(op, specs, y)


def _betainc(op: Any, specs: Sequence[Spec], y: Any) -> str:
    if op.by_a or op.by_b:
        raise NoSpellingError(
            "source: derivatives of betainc by its parameters have no names in SciPy: wrap these in stop_gradient"
        )
    return _special("betainc")(op, specs, y)


def _scipy(op: Any, specs: Sequence[Spec], y: Any) -> str:
    name, _, part = op.name.partition(":")
    if name == "lambertw":
        return _in_precision(f"scipy.special.lambertw({_names(len(specs))}, {part}).real", y)
    return _in_precision(f"scipy.special.{name}({_names(len(specs))}){part and f'[{part}]'}", y)


def _joined(name: str) -> Writer:
    def write(op: Any, specs: Sequence[Spec], y: Any) -> str:
        mixed = any(s.weak or s.dtype != y.dtype for s in specs)
        dtype = f", dtype={dtype_name(y.dtype)}" if mixed else ""
        return f"np.{name}([{_names(len(specs))}], axis={op.axis}{dtype})"

    return write


def _split(op: Any, _specs: Sequence[Spec], _y: Any) -> str:
    cuts = np.cumsum(op.sizes)[:-1].tolist()
    return f"np.split(_0, {cuts}, axis={op.axis})"


def _transpose(op: Any, _specs: Sequence[Spec], _y: Any) -> str:
    return "_0.T" if tuple(op.perm) == (1, 0) else f"np.transpose(_0, {tuple(op.perm)})"


def _shape(shape: Sequence[int]) -> str:
    return f"({shape[0]},)" if len(shape) == 1 else str(tuple(shape))


def _window(name: str, inputs: int, *more: str) -> Writer:
    """A call of a kernel with the geometry of windows."""

    def write(op: Any, _specs: Sequence[Spec], _y: Any) -> str:
        fields = [f for f in ("window", "stride", "padding", "dilation", "groups") if hasattr(op, f) and f not in more]
        said = ", ".join(f"{f}={getattr(op, f)!r}" for f in (*fields, *more))
        return f"{name}({_names(inputs)}, {said})"

    return write


def _key(op: Any) -> str:
    return show_index(op.key) if op.key else "[()]"


def _index(op: Any) -> str:
    return f"np.index_exp{_key(op)}"


def _matrix_rank(op: Any, specs: Sequence[Spec], y: Any) -> str:
    eps = float(np.finfo(y.dtype).eps)
    rtol = max(specs[0].shape[-2:]) * eps if op.rtol is None else op.rtol
    return f"np.linalg.pinv(_0, {rtol!r})"


def _fourier(op: Any, specs: Sequence[Spec], y: Any) -> str:
    given = "_0" if op.axes and specs[0].dtype.kind in "fc" else f"_0.astype({dtype_name(y.dtype)})"
    return f"np.fft.{'ifftn' if op.inverse else 'fftn'}({given}, axes={tuple(op.axes)}, norm={op.norm!r})"


def _bits(symbol: str, of_booleans: str) -> Writer:
    return lambda op, specs, y: of_booleans if y.dtype.kind == "b" else symbol


TABLE: dict[str, str | Writer] = {
    "Abs": "np.abs(_0)",
    "Acos": "np.arccos(_0)",
    "Acosh": "np.arccosh(_0)",
    "Add": "_0 + _1",
    "After": "_0",
    "All": _reduction("all"),
    "Any": _reduction("any"),
    "ArgMax": lambda op, specs, y: f"np.argmax(_0, axis={op.axis})",
    "ArgMin": lambda op, specs, y: f"np.argmin(_0, axis={op.axis})",
    "ArgPartition": lambda op, specs, y: (
        f"np.argpartition(_0, {op.kth if len(op.kth) > 1 else op.kth[0]}, axis={op.axis})"
    ),
    "ArgSort": lambda op, specs, y: (
        f"argsort_descending(_0, {op.axis})" if op.descending else f"np.argsort(_0, axis={op.axis}, stable=True)"
    ),
    "ArgTopK": lambda op, specs, y: (
        (f"argsort_descending(_0, {op.axis})" if op.largest else f"np.argsort(_0, axis={op.axis}, stable=True)")
        + f"[{':, ' * op.axis}:{op.k}]"
    ),
    "Asin": "np.arcsin(_0)",
    "Asinh": "np.arcsinh(_0)",
    "Atan": "np.arctan(_0)",
    "Atan2": "np.arctan2(_0, _1)",
    "Atanh": "np.arctanh(_0)",
    "BCEWithLogits": "bce_with_logits(_0, _1, _2, _3)",
    "Bessel": lambda op, specs, y: _special(op.kind, "order")(op, specs, y),
    "Betainc": _betainc,
    "BitwiseAnd": _bits("_0 & _1", "_0 & _1"),
    "BitwiseNot": _bits("~_0", "np.logical_not(_0)"),
    "BitwiseOr": "_0 | _1",
    "BitwiseXor": "_0 ^ _1",
    "BroadcastTo": lambda op, specs, y: f"np.broadcast_to(_0, {_shape(op.shape)})",
    "Cast": _cast,
    "Cbrt": "np.cbrt(_0)",
    "Ceil": "np.ceil(_0)",
    "Cholesky": "np.linalg.cholesky(symmetric(_0))",
    "Cofactor": lambda op, specs, y: f"cofactor({_names(len(specs))})",
    "Complement": lambda op, specs, y: f"np.linalg.qr(_0, mode='complete')[0][..., {specs[0].shape[-1]}:]",
    "Concat": _joined("concatenate"),
    "Conj": lambda op, specs, y: "np.conj(_0)" if y.dtype.kind == "c" else "_0",
    "Conv": _window("conv", 2),
    "ConvFilter": _window("conv_filter", 2, "window"),
    "ConvInput": _window("conv_input", 2, "space"),
    "Cos": "np.cos(_0)",
    "Cosh": "np.cosh(_0)",
    "CumArgMax": lambda op, specs, y: f"cumulative_argmax(_0, {op.axis})",
    "CumSum": lambda op, specs, y: (
        f"np.flip(np.cumsum(np.flip(_0, {op.axis}), axis={op.axis}), {op.axis})"
        if op.reverse
        else f"np.cumsum(_0, axis={op.axis})"
    ),
    "Det": "np.linalg.det(_0)",
    "DigammaStep": "digamma_step(_0, _1)",
    "Div": "_0 / _1",
    "Eig": lambda op, specs, y: f"tuple(v.astype(np.{y[0].dtype}) for v in np.linalg.eig(_0))",
    "Eigh": lambda op, specs, y: f"np.linalg.eigh(symmetric(_0){', UPLO={!r}'.format('U') if op.upper else ''})",
    "Eigvalsh": "np.linalg.eigvalsh(symmetric(_0))",
    "Einsum": lambda op, specs, y: (
        f"np.einsum({op.subscripts!r}, {_names(len(specs))}{', optimize=True' if len(specs) > 1 else ''})"
    ),
    "Equal": "_0 == _1",
    "Erf": _special("erf"),
    "Erfc": _special("erfc"),
    "Erfinv": _special("erfinv"),
    "Exp": "np.exp(_0)",
    "Expm": "scipy.linalg.expm(_0)",
    "Expm1": "np.expm1(_0)",
    "Fft": _fourier,
    "Flip": lambda op, specs, y: f"np.flip(_0, {op.axes[0] if len(op.axes) == 1 else tuple(op.axes)})",
    "Floor": "np.floor(_0)",
    "FloorDiv": "_0 // _1",
    "Fold": _window("fold", 1, "space"),
    "Gammainc": _gammainc,
    "Gammaincc": _special("gammaincc"),
    "Gather": lambda op, specs, y: f"_0[{_names(len(specs) - 1, 1) or '()'}]",
    "GetItem": lambda op, specs, y: f"_0{_key(op)}",
    "Greater": "_0 > _1",
    "GreaterEqual": "_0 >= _1",
    "Imag": "np.imag(_0)",
    "Inv": "np.linalg.inv(_0)",
    "Irfft": lambda op, specs, y: f"np.fft.irfft(_0, n={op.size}, axis={op.axis}, norm={op.norm!r})",
    "IsFinite": "np.isfinite(_0)",
    "IsNan": "np.isnan(_0)",
    "LeftShift": "_0 << _1",
    "Less": "_0 < _1",
    "LessEqual": "_0 <= _1",
    "Lgamma": _special("gammaln"),
    "Log": "np.log(_0)",
    "Log10": "np.log10(_0)",
    "Log1p": "np.log1p(_0)",
    "Log2": "np.log2(_0)",
    "LogAddExp": "np.logaddexp(_0, _1)",
    "MaskedMul": "masked_mul(_0, _1)",
    "MatMul": "_0 @ _1",
    "Max": _reduction("max"),
    "MaxPool": _window("max_pool", 1),
    "MaxPoolIndex": _window("max_pool_index", 1),
    "MaxPoolPull": _window("max_pool_pull", 2),
    "MaxPoolPush": _window("max_pool_push", 2),
    "Maximum": "np.maximum(_0, _1)",
    "Mean": _mean,
    "Min": _reduction("min"),
    "Minimum": "np.minimum(_0, _1)",
    "Mod": "_0 % _1",
    "Mul": "_0 * _1",
    "Neg": "-_0",
    "NotEqual": "_0 != _1",
    "Pad": lambda op, specs, y: f"np.pad(_0, {op.widths!r})" if op.widths else "_0",
    "Pinv": _matrix_rank,
    "Polygamma": _polygamma,
    "Pow": "np.power(_0, _1)",
    "PutItem": lambda op, specs, y: f"put_item(_0, {_index(op)}, {_shape(op.shape)})",
    "QR": "np.linalg.qr(_0)",
    "Real": "np.real(_0)",
    "Relu": "np.maximum(_0, 0)",
    "Reshape": lambda op, specs, y: f"np.reshape(_0, {_shape(op.shape)})",
    "Rfft": lambda op, specs, y: f"np.fft.rfft(_0, axis={op.axis}, norm={op.norm!r})",
    "RightShift": "_0 >> _1",
    "Round": "np.round(_0)",
    "SLogDet": "np.linalg.slogdet(_0)",
    "SVD": "np.linalg.svd(_0, full_matrices=False)",
    "SVDVals": "np.linalg.svd(_0, compute_uv=False)",
    "ScatterAdd": lambda op, specs, y: f"scatter_add({_names(len(specs))})",
    "ScatterSet": lambda op, specs, y: f"set_item(_0, ({_names(len(specs) - 2, 2)},), _1)",
    "SetItem": lambda op, specs, y: f"set_item(_0, {_index(op)}, _1)",
    "Sigmoid": _special("expit"),
    "Sign": "np.sign(_0)",
    "Sin": "np.sin(_0)",
    "Sinh": "np.sinh(_0)",
    "Softplus": "np.logaddexp(0, _0)",
    "Solve": "np.linalg.solve(_0, _1)",
    "Special": _scipy,
    "Split": _split,
    "Sqrt": "np.sqrt(_0)",
    "Stack": _joined("stack"),
    "StopGradient": "_0",
    "Sub": "_0 - _1",
    "Sum": _reduction("sum"),
    "SumPool": _window("sum_pool", 1),
    "SumPoolPull": _window("sum_pool_pull", 1, "space"),
    "Tan": "np.tan(_0)",
    "Tanh": "np.tanh(_0)",
    "Transpose": _transpose,
    "TriangularSolve": lambda op, specs, y: (
        f"solve_triangular(_0, _1, lower={op.lower}, adjoint={op.adjoint}, unit={op.unit})"
    ),
    "Trunc": "np.trunc(_0)",
    "Undifferentiated": "_0",
    "Unfold": _window("unfold", 1),
    "Unstack": lambda op, specs, y: f"np.moveaxis(_0, {op.axis}, 0)",
    "Where": "np.where(_0, _1, _2)",
    "Zeta": _special("zeta"),
}
