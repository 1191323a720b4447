"""Memory shared with other libraries by DLPack, both ways, without copies."""

import numpy as np
import pytest

import adjoint as ad


class Legacy:
    """A producer of another library that knows only the protocol's first arguments."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_numpy_sees_the_memory_itself_and_cannot_write_to_it():
    x = ad.Tensor(np.array([1.0, 2.0]))
    shown = np.from_dlpack(x)
    assert np.shares_memory(shown, np.asarray(x)) and x.__dlpack_device__() == (1, 0)
    if np.lib.NumpyVersion(np.__version__) >= "2.1.0":
        assert not shown.flags.writeable
        copy = np.from_dlpack(x, copy=True)
        assert copy.flags.writeable and not np.shares_memory(copy, shown)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8", "complex128", "bool"])
def test_there_and_back(dtype):
    array = np.array([[1, 0], [2, 5]], dtype)
    x = ad.from_dlpack(array)
    assert x.dtype == array.dtype and np.shares_memory(np.asarray(x), array)
    np.testing.assert_array_equal(np.from_dlpack(x), array)
    assert np.shares_memory(np.asarray(ad.from_dlpack(Legacy(array))), array)
    assert not np.shares_memory(np.asarray(ad.from_dlpack(array, copy=True)), array)


def test_writes_to_the_tensor_leave_the_other_library_alone():
    array = np.array([1.0, 2.0])
    x = ad.from_dlpack(array)
    x[0] = 9.0
    x += 1
    assert array.tolist() == [1.0, 2.0] and x.tolist() == [10.0, 3.0]
    np.testing.assert_allclose(ad.grad(lambda x: (x * x).sum())(ad.from_dlpack(array)), 2 * array)


def test_jax_both_ways():
    jnp = pytest.importorskip("jax.numpy", reason="jax is an extra")
    there = jnp.arange(3.0)
    x = ad.from_dlpack(there)
    assert x.device == "cpu" and np.shares_memory(np.asarray(x), np.from_dlpack(there))
    np.testing.assert_allclose(jnp.from_dlpack(x * 2), [0.0, 2.0, 4.0])
    assert ad.from_dlpack(x) is not x and ad.from_dlpack(x).tolist() == x.tolist()


def test_arguments_of_the_protocol():
    x = ad.Tensor([1.0])
    x.__dlpack__(max_version=(1, 0), dl_device=(1, 0), copy=False)
    for options, words in (({"stream": 1}, "no streams"), ({"dl_device": (2, 0)}, "on the host")):
        with pytest.raises(ad.SharingError, match=words):
            x.__dlpack__(**options)
    read_only = ad.from_dlpack(np.ones(2))
    read_only.__dlpack__()  # a copy: the first versions cannot say that it may not be written to
    with pytest.raises(BufferError, match="allow a copy"):
        read_only.__dlpack__(copy=False)
    with pytest.raises(ad.SharingError, match="would be a copy"):
        ad.from_dlpack(x, device="cpu:0", copy=False)


def test_what_is_traced_is_refused():
    x = np.ones(2)
    with pytest.raises(ad.CutGradientError, match=r"pass x.detach\(\)"):
        ad.grad(lambda x: np.from_dlpack(x).sum())(x)
    with pytest.raises(ad.CutGradientError, match=r"pass x.asnumpy\(\)"):
        ad.jit(lambda x: np.from_dlpack(x).sum())(x)
    with pytest.raises(ad.CutGradientError, match=r"pass x.detach\(\)"):
        np.from_dlpack(ad.Tensor(x, requires_grad=True))
    assert np.from_dlpack(ad.Parameter(x, name="w")).tolist() == [1.0, 1.0]


def test_what_cannot_be_shared_says_so():
    class NeedsGradient(Legacy):
        def __dlpack__(self, stream=None):
            raise BufferError("Can't export tensors that require gradient")

    with pytest.raises(ad.SharingError, match=r"require gradient.*pass t.detach\(\)"):
        ad.from_dlpack(NeedsGradient(np.ones(2)))
    with pytest.raises(ad.ArgumentTypeError, match="a list, which does not speak DLPack"):
        ad.from_dlpack([1.0])
