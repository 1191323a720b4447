"""Plain SciPy on Tensors: who computes a call, in both modes, and what is refused."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.interpolate
import scipy.linalg
import scipy.signal
import scipy.spatial.distance
import scipy.special
import scipy.stats

import adjoint as ad

ROOT = Path(__file__).parent.parent.parent
X = np.array([1.0, 2.0, 3.0])


def in_a_process(code: str, path: Path) -> str:
    (path / "program.py").write_text(code)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.run([sys.executable, path / "program.py"], capture_output=True, text=True, env=environment)
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()


def test_without_tensors_scipy_computes() -> None:
    assert type(scipy.special.logsumexp(X)) is np.float64
    assert type(scipy.special.softmax(X)) is np.ndarray
    assert type(scipy.special.logsumexp([1.0, 2.0])) is np.float64


def test_plain_tensors_are_arrays() -> None:
    y = scipy.special.logsumexp(ad.Tensor(X))
    assert isinstance(y, ad.Tensor) and y.item() == scipy.special.logsumexp(X)
    assert (scipy.stats.rankdata(ad.Tensor(X)) == [1, 2, 3]).all()
    assert np.allclose(scipy.linalg.expm(ad.Tensor(np.eye(2))), np.eye(2) * np.e)


@pytest.mark.parametrize("mode", [lambda f: f, ad.jit], ids=["dynamic", "static"])
def test_traced_tensors_go_to_the_mirror(mode) -> None:
    found = mode(ad.grad(lambda x: scipy.special.logsumexp(x)))(X)
    assert np.allclose(found, scipy.special.softmax(X))
    inside = mode(ad.grad(lambda x: scipy.special.logsumexp([[x[0], 0.0], [1.0, x[1]]])))(X)
    assert np.allclose(inside, [*(np.exp(X[:2]) / (np.exp([1.0, 0.0, 1.0, 2.0])).sum()), 0.0])


@pytest.mark.parametrize("mode", [lambda f: f, ad.jit], ids=["dynamic", "static"])
def test_what_is_not_provided_is_refused_by_name(mode) -> None:
    with pytest.raises(ad.CutGradientError, match=r"scipy\.stats\.rankdata cannot be .*host_callback"):
        mode(ad.grad(lambda x: scipy.stats.rankdata(x).sum()))(X)
    with pytest.raises(ad.CutGradientError, match=r"scipy\.special\.roots_legendre cannot"):
        mode(ad.grad(lambda x: scipy.special.roots_legendre(x)[0].sum()))(X)
    with pytest.raises(ad.CutGradientError, match=r"the ufunc struve has no derivative"):
        mode(ad.grad(lambda x: scipy.special.struve(0, x).sum()))(X)


def test_a_missing_name_of_the_mirror_is_named() -> None:
    with pytest.raises(AttributeError, match=r"adjoint.scipy.special has no 'roots_legendre'"):
        _ = ad.scipy.special.roots_legendre
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = ad.scipy.special.nonsense
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = ad.scipy.nonsense
    assert "special" in dir(ad.scipy)


def test_wrappers_keep_names_and_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(scipy.linalg.cholesky)) is scipy.linalg.cholesky
    assert scipy.special.logsumexp.__name__ == "logsumexp" and "log" in scipy.special.logsumexp.__doc__


def test_importing_scipy_later_and_the_loaders_of_its_modules(tmp_path) -> None:
    code = """if True:
        import sys, adjoint as ad
        assert "scipy" not in sys.modules
        import scipy.special as s, inspect
        assert "logsumexp" in dir(s) and inspect.getsource(s) and type(s.__loader__).__name__ == "SourceFileLoader"
        print(round(ad.grad(lambda x: s.logsumexp([x, 0.0]))(0.0), 3))"""
    assert in_a_process(code, tmp_path) == "0.5"


def test_names_bound_before_adjoint_was_imported(tmp_path) -> None:
    code = """if True:
        from scipy.special import logsumexp
        import adjoint as ad
        import scipy.special as s
        f = lambda x: logsumexp([x, 0.0])
        print(round(float(ad.jit(ad.grad(f))(0.0)), 3), round(ad.grad(lambda x: s.logsumexp([x, 0.0]))(0.0), 3))
        try:
            ad.grad(logsumexp)(ad.Tensor([1.0, 2.0]))
        except ad.CutGradientError as error:
            print(error)"""
    numbers, message = in_a_process(code, tmp_path).split("\n", 1)
    assert numbers == "0.5 0.5"
    assert "scipy.special.logsumexp was given a Tensor" in message
    assert "import adjoint first, or call adjoint.scipy.special.logsumexp" in message


def test_names_of_other_kinds_bound_before_adjoint_was_imported(tmp_path) -> None:
    """The functions of scipy.fft are objects of their own kind, those of scipy.linalg stand behind decorators."""
    code = """if True:
        from scipy.fft import dct, rfft
        from scipy.linalg import cho_factor
        import numpy as np
        import adjoint as ad
        x = np.array([1.0, 2.0, 4.0])
        print(ad.jit(ad.grad(lambda x: dct(x)[0] + abs(rfft(x)[0])))(x))
        for f in (dct, cho_factor):
            try:
                ad.grad(lambda x: f(x)[0].sum())(np.eye(2))
            except ad.CutGradientError as error:
                print(error)"""
    numbers, *messages = in_a_process(code, tmp_path).splitlines()
    assert numbers == "[3. 3. 3.]"
    assert "call adjoint.scipy.fft.dct." in messages[0]
    assert any("call adjoint.scipy.linalg.cho_factor." in line for line in messages)


def test_results_of_networks_are_plain_outside_of_transforms() -> None:
    net = ad.nn.SequentialCell(ad.nn.Dense(3, 4), ad.nn.Tanh())
    x = np.linspace(0.0, 1.0, 15, dtype=np.float32).reshape(5, 3)
    y, plain = net(ad.Tensor(x)), net(ad.Tensor(x)).asnumpy()
    assert np.allclose(scipy.stats.describe(y).mean, scipy.stats.describe(plain).mean)
    assert np.array_equal(scipy.signal.medfilt(y[:, 0], 3), scipy.signal.medfilt(plain[:, 0], 3))
    assert np.array_equal(scipy.spatial.distance.pdist(y), scipy.spatial.distance.pdist(plain))
    assert np.array_equal(np.nextafter(y, 2.0), np.nextafter(plain, np.float32(2.0)))
    assert np.array_equal(np.roots(y[:, 0]), np.roots(plain[:, 0]))
    assert scipy.interpolate.RBFInterpolator(x[:, :1], y)(x[:, :1]).shape == (5, 4)
    (scipy.special.gamma(y) * 1.0).sum().backward()  # what is provided keeps its derivative
    assert net.trainable_params()[0].grad is not None
    for f in (scipy.stats.rankdata, scipy.spatial.distance.pdist):
        with pytest.raises(ad.CutGradientError, match="cannot be differentiated"):
            ad.grad(lambda v, f=f: f(net(v)).sum())(ad.Tensor(x))
    with pytest.raises(ad.CutGradientError, match="cannot be differentiated"):
        scipy.stats.describe(ad.Tensor(x, requires_grad=True) * 2)


SINGLE = {
    "norm": lambda x: scipy.stats.norm.logpdf(x, 0.0, 1.1), "frozen": lambda x: scipy.stats.norm(0.1, 2).cdf(x),
    "gamma": lambda x: scipy.stats.gamma.logpdf(x, 2.0), "t": lambda x: scipy.stats.t.cdf(x, 3.0), "beta": lambda x: scipy.stats.beta.pdf(0.1 * x, 2, 3.0),
    "ppf": lambda x: scipy.stats.lognorm.ppf(0.1 * x, 0.5, scale=2.0), "moment": lambda x: scipy.stats.gamma.var(x, scale=3.0), "plain": lambda x: scipy.stats.gamma.mean(x),
    "entropy": lambda x: scipy.stats.bernoulli.entropy(0.1 * x),
    "binom": lambda x: scipy.stats.binom.logpmf(2, 3, 0.1 * x), "zeta": lambda x: scipy.special.zeta(2.0, x),
    "logsumexp": lambda x: scipy.special.logsumexp(x, b=2.0),
}  # fmt: skip


@pytest.mark.parametrize("name", SINGLE)
def test_python_numbers_leave_float32_as_it_is(name: str) -> None:
    x = np.array([1.5, 2.5], np.float32)
    wide = SINGLE[name](x.astype(np.float64))
    for found in (ad.vjp(SINGLE[name], x)[0], ad.jit(SINGLE[name])(x)):
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, wide, rtol=1e-6)


def test_a_python_number_that_is_differentiated_takes_the_dtype_too() -> None:
    x = np.array([1.5, 2.5], np.float32)
    value, slope = ad.value_and_grad(lambda s: scipy.stats.norm.logpdf(x, 0.0, s).sum())(1.1)
    assert value.dtype == np.float32 and slope.dtype == np.float64
    np.testing.assert_allclose(slope, ((x / 1.1) ** 2 - 1).sum() / 1.1, rtol=1e-6)
