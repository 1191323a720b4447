"""Arrays that NumPy makes of traced Tensors hold objects: functions that take numbers only refuse them in our words."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse.linalg
import scipy.special

import adjoint as ad

OBJECTS = {
    "sin": lambda x: np.sin([x, 2.0]).sum(),
    "det": lambda x: np.linalg.det([[x, 1.0], [0.5, 1.0]]),
    "inv": lambda x: np.linalg.inv(np.array([[x, 1.0], [0.5, 2.0]])),
    "interp": lambda x: np.interp(0.5, [0.0, 1.0], [x, 2.0]),
    "gamma": lambda x: scipy.special.gamma([x, 1.0])[0],
    "gamma of an array": lambda x: scipy.special.gamma(np.array([x, 1.0]))[0],
}


@pytest.mark.parametrize("name", OBJECTS)
def test_lists_that_numpy_makes_objects_of(name: str) -> None:
    f = OBJECTS[name]
    for transform, x in ((ad.grad, 1.3), (ad.jit, 1.3), (ad.vmap, np.ones(2))):
        if transform is ad.jit and name != "interp":
            np.testing.assert_allclose(ad.jit(f)(x), f(x), rtol=1e-12)
            continue
        with pytest.raises(
            ad.CutGradientError, match=r"(?s)Make one Tensor of it: adjoint.numpy.array.*called at test_made_arr"
        ):
            transform(f)(x)


def test_functions_of_c_that_take_arrays_only() -> None:
    factor = scipy.sparse.linalg.splu(scipy.sparse.eye_array(3).tocsc())
    with pytest.raises(
        ad.CutGradientError, match=r"(?s)takes plain arrays only .*ad.host_callback.*called at test_made_arr"
    ):
        ad.grad(lambda x: factor.solve(x).sum())(np.ones(3))


def test_other_objects_keep_numpys_words() -> None:
    nothing = lambda: np.sin(np.array([None, 1.0]))
    with pytest.raises(TypeError, match="callable sin"):
        ad.grad(lambda x: nothing()[0])(1.0)
