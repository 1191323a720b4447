"""Arrays of other libraries inside trees: JAX's are numbers as others are, those with labels are refused and not passed over."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as ad

Series = type("Series", (), {"__module__": "pandas.core.series", "__array__": lambda self, *_, **__: np.ones(2)})


def energy(p):
    return (p["a"] ** 2).sum() + p["b"]


@pytest.mark.parametrize(
    "use",
    [
        lambda p: ad.grad(energy)(p),
        lambda p: ad.jit(ad.grad(energy))(p),
        lambda p: ad.jvp(energy, p, p),
        lambda p: ad.vjp(energy, p),
        lambda p: ad.jacobian(energy)(p),
        lambda p: ad.tree.ravel(p),
        lambda p: ad.optimize.minimize(energy, p),
        lambda p: ad.scan(lambda c, x: (c, None), 0.0, p),
    ],
)
def test_labelled_arrays_are_refused(use):
    with pytest.raises(TypeError, match=r"pandas Series, whose labels a Tensor does not keep: pass x\.to_numpy\(\)"):
        use({"a": Series(), "b": 1.0})


def test_jax_arrays_are_numbers():
    jnp = pytest.importorskip("jax.numpy")
    tree = {"a": jnp.asarray([1.0, 2.0], "float32"), "b": 1.0}
    vector, unravel = ad.tree.ravel(tree)
    np.testing.assert_allclose(vector, [1, 2, 1])
    np.testing.assert_allclose(unravel(vector * 3)["a"], [3, 6])
    np.testing.assert_allclose(ad.grad(energy)(tree)["a"], [2, 4])
    found = ad.optimize.minimize(lambda p: ((p["a"] - 3) ** 2).sum() + p["b"] ** 2, tree).x
    np.testing.assert_allclose(np.asarray(found["a"]), [3, 3], atol=1e-5)
    for run in (lambda f: f, ad.jit):
        total, sums = run(lambda: ad.scan(lambda c, x: ({"a": c["a"] + x}, c["a"]), {"a": tree["a"]}, tree["a"]))()
        np.testing.assert_allclose(np.asarray(total["a"]), [4, 5])
        np.testing.assert_allclose(np.asarray(sums), [[1, 2], [2, 3]])
