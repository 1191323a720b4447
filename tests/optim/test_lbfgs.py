"""L-BFGS, and convergence."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize, rosen

import adjoint as ad
from adjoint import optim


def rosenbrock(w):
    return (100.0 * (w[1:] - w[:-1] ** 2) ** 2 + (1.0 - w[:-1]) ** 2).sum()


def start(n=2, dtype=np.float64):
    return ad.Parameter(ad.Tensor(np.tile([-1.2, 1.0], n // 2).astype(dtype)), name="w")


@pytest.mark.parametrize("jit", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("n", [2, 10])
def test_rosenbrock(n, jit):
    w = start(n)
    optimiser = optim.LBFGS([w], max_iter=200, max_eval=400, history_size=10, jit=jit)
    loss = optimiser.step(lambda: rosenbrock(w))
    np.testing.assert_allclose(float(loss), rosen(w.asnumpy()), atol=1e-12)
    reference = minimize(rosen, start(n).asnumpy(), method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-9})
    np.testing.assert_allclose(w.asnumpy(), reference.x, atol=1e-4)
    assert optimiser.evaluations < 3 * reference.nfev  # SciPy counts its finite differences too


def test_a_quadratic_is_solved_in_about_as_many_steps_as_it_has_dimensions():
    rng = np.random.default_rng(1)
    a = rng.normal(size=(6, 6))
    a = a @ a.T + np.eye(6)
    b = rng.normal(size=6)
    x, y = (ad.Parameter(ad.Tensor(np.zeros(3)), name=n) for n in "xy")
    matrix, right = ad.Tensor(a), ad.Tensor(b)

    def loss():
        z = ad.ops.concat([x, y])
        return 0.5 * (z @ (matrix @ z)) - right @ z

    optim.LBFGS([x, y], max_iter=40, max_eval=100).step(loss)
    np.testing.assert_allclose(np.concatenate([x.asnumpy(), y.asnumpy()]), np.linalg.solve(a, b), atol=1e-6)


def test_several_steps_with_inputs_and_without_a_search():
    w = ad.Parameter(ad.Tensor(np.array([4.0])), name="w")
    optimiser = optim.LBFGS([w], lr=0.5, max_iter=4, line_search_fn=None)
    loss = lambda target: ((w - target) ** 2).sum()
    values = [float(optimiser.step(loss, ad.Tensor(np.array([1.0])))) for _ in range(8)]
    assert values == sorted(values, reverse=True)
    np.testing.assert_allclose(w.asnumpy(), 1.0, atol=1e-4)


def test_what_is_remembered_can_be_saved():
    w = start()
    optimiser = optim.LBFGS([w], max_iter=5)
    optimiser.step(lambda: rosenbrock(w))
    v = w.clone()
    other = optim.LBFGS([v], max_iter=5)
    other.load_parameters(optimiser.parameters_dict())
    np.testing.assert_array_equal(
        other.step(lambda: rosenbrock(v)).asnumpy(), optimiser(lambda: rosenbrock(w)).asnumpy()
    )


def test_it_stops_where_it_stands_at_a_minimum():
    w = ad.Parameter(ad.Tensor(np.ones(2)), name="w")
    optimiser = optim.LBFGS([w])
    assert float(optimiser.step(lambda: rosenbrock(w))) == 0.0
    assert optimiser.evaluations == 1
    with pytest.raises(ValueError, match="line_search_fn"):
        optim.LBFGS([w], line_search_fn="armijo")


def test_adam_on_rosenbrock():
    w = start()
    step = optim.compiled_step(lambda: rosenbrock(w), [w], optim.Adam([w], optim.CosineDecayLR(0.0, 0.1, 3000)))
    for _ in range(3000):
        step()
    np.testing.assert_allclose(w.asnumpy(), [1.0, 1.0], atol=1e-3)


def test_a_single_iteration_moves():
    v = ad.Parameter(ad.Tensor([3.0]), name="v")
    optimiser = optim.LBFGS([v], max_iter=1)
    losses = [optimiser.step(lambda: (v**2).sum()).item() for _ in range(3)]
    assert losses[0] < 9.0 and losses[2] < 1e-6
