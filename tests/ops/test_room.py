"""Values written into an array lose no digits on the way: `x[i] = v` and its kin widen the array, or refuse."""

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.core.errors import DtypeError

DTYPES = [
    np.dtype(d) for d in ("bool", "int8", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128")
]
PYTHON = [True, 3, 0.1, 1j]


def written(dtype, value, how):
    x = ad.Tensor(np.zeros(3, dtype))
    if how == "slice":
        x[1:] = value
    elif how == "index":
        x[ad.Tensor(1)] = value
    elif how == "mask":
        x[np.array([False, True, False])] = value
    else:
        x[ops.abs(ops.cast(x, "float64")) + ad.Tensor(np.array([0.0, 1.0, 0.0])) > 0.5] = value
    return x


def outcome(fn, *args):
    try:
        y = fn(*args)
    except (DtypeError, OverflowError) as error:
        return type(error)
    return y.dtype, np.asarray(y)[1].item()


def expected(dtype, value):
    """What must come of it: the value itself, in a dtype of the array's kind that holds it."""
    kinds = "biufc".replace("u", "")
    new = np.asarray(value).dtype
    have, want = kinds.index(dtype.kind), kinds.index(new.kind)
    if want > have and (have or want > 1):
        return DtypeError
    python = not isinstance(value, (np.ndarray, np.generic))
    wide = dtype if python or (want != have and not (have == 3 and want == 2)) else np.result_type(dtype, new)
    return wide, np.asarray(value).astype(wide).item()


@pytest.mark.parametrize("how", ["slice", "index", "mask", "computed mask"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_kind_of_value(dtype, how):
    values = [*PYTHON, *(np.asarray(0.1 if d.kind in "fc" else 1, d)[()] for d in DTYPES)]
    for value in values:
        want = expected(dtype, value)
        given = (
            value
            if isinstance(value, (bool, int, float, complex)) and not isinstance(value, np.generic)
            else ad.Tensor(value)
        )
        for run in (written, ad.jit(written), ad.jit(written, backend="interpreter")):
            got = outcome(run, dtype, given, how) if run is written else outcome(
                ad.jit(lambda v: written(dtype, v, how), backend=run.backend), given
            )  # fmt: skip
            assert got == want, (dtype, value, how)


def test_integers_must_fit():
    for run in (lambda f: f, ad.jit):
        with pytest.raises(OverflowError, match="300 does not fit into a Tensor of int8"):
            run(lambda x: written(np.dtype("int8"), 300, "slice") + x)(1.0)


@pytest.mark.parametrize(
    "value", [None, "a", b"q", {}, [1, None], object(), np.datetime64("2020"), ...], ids=lambda x: type(x).__name__
)
def test_what_is_no_number_is_refused(value):
    def write(x):
        y = x * 1.0
        y[0] = value
        return y

    for run in (write, ad.grad(write), ad.jit(write), lambda x: ad.vmap(write)(x[None])):
        with pytest.raises(DtypeError, match="holds numbers"):
            run(ad.Tensor([1.0, 2.0]))


def test_in_loops():
    def fill(x, n):
        y = ops.zeros(20)
        for i in range(n):
            y[i] = x * i
        return y

    for x in (ad.Tensor(0.1), ad.Tensor(np.float64(0.1)), 0.1):
        for n in (5, 20):
            want = fill(x, n)
            for backend in ("native", "interpreter"):
                got = ad.jit(fill, backend=backend)(x, n)
                assert (
                    got.dtype
                    == want.dtype
                    == (np.float64 if isinstance(x, ad.Tensor) and x.dtype == np.float64 else np.float32)
                )
                np.testing.assert_array_equal(got, want)


def test_kin_of_index_assignment():
    x, v, at = ops.zeros(3), ad.Tensor(np.array([0.1, 0.2])), ad.Tensor([0, 2])
    rows = ad.Tensor([[0], [2]])
    for y in (
        ops.tensor_scatter_update(x, rows, v), ops.scatter_nd_add(x, rows, v), ops.scatter(x, 0, at, v),
        ops.scatter_add(x, 0, at, v), ops.index_add(x, at, v, 0), ops.index_fill(x, 0, at, v[0]), ops.setitem(x, at, v),
    ):  # fmt: skip
        assert y.dtype == np.float64 and y[0] == 0.1


def test_parameters_keep_their_dtype():
    p = ad.Parameter(ops.zeros(3), name="p")
    p[0] = 0.1
    with pytest.raises(DtypeError, match="holds float32, the values are wider"):
        p[0] = np.float64(0.1)


def test_out_keeps_its_dtype():
    out = ops.zeros(2)
    np.add(ad.Tensor(np.ones(2)), 0.1, out=out)
    assert out.dtype == np.float32
