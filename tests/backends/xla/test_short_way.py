"""The second call with arrays that lie as before goes straight to the executable; anything else is looked at again."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.backends.xla.executable import Executable
from adjoint.core.errors import DeviceError


def test_results_and_dtypes_are_those_of_the_first_call(monkeypatch: pytest.MonkeyPatch) -> None:
    f = ad.jit(lambda x, k: (ops.sin(x) * 2.0, ops.cast(x, ad.int64) + k), backend="xla", device="cpu:0")
    x, k = np.linspace(0, 3, 5), np.arange(5)
    given = [ad.Tensor(v).to("cpu:0") for v in (x, k)]
    f(*given)
    monkeypatch.setattr(Executable, "_run", lambda *_: pytest.fail("the long way"))
    for _ in range(2):
        y, n = f(*given)
        assert (y.dtype, n.dtype) == (np.float64, np.int64)
        np.testing.assert_allclose(y.asnumpy(), 2 * np.sin(x), rtol=1e-15)
        np.testing.assert_array_equal(n.asnumpy(), x.astype(int) + k)
    assert not jax.config.jax_enable_x64


def test_another_place_is_seen() -> None:
    f = ad.jit(ops.exp, backend="xla", device="cpu:0")
    x = np.ones(3)
    for _ in range(3):
        assert f(ad.Tensor(x).to("cpu:0")).device == "cpu:0"
    np.testing.assert_allclose(f(x).asnumpy(), np.exp(x))
    if len(jax.devices("cpu")) > 1:
        with pytest.raises(DeviceError, match="cpu:1"):
            f(ad.Tensor(x).to("cpu:1"))


def test_what_may_fail_is_looked_at_each_time() -> None:
    f = ad.jit(lambda x, i: x[i], backend="xla", device="cpu:0")
    x = ad.Tensor(np.arange(4.0)).to("cpu:0")
    for _ in range(2):
        assert float(f(x, ad.Tensor(np.array(3)).to("cpu:0")).asnumpy()) == 3.0
    with pytest.raises(IndexError):
        f(x, ad.Tensor(np.array(4)).to("cpu:0"))
