"""GradientTape, and PyTorch's habits: backward(), .grad, requires_grad, hooks."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops


def close(a, b):
    a, b = (v.asnumpy() if isinstance(v, ad.Tensor) else np.asarray(v) for v in (a, b))
    np.testing.assert_allclose(a, b, rtol=1e-6)


X = ad.Tensor([1.0, 2.0, 3.0])


def test_everything_inside_is_recorded():
    with ad.GradientTape() as tape:
        y = X * X
        z = (y * y).sum()
    close(tape.gradient(z, X), 4 * np.array([1, 8, 27.0]))


def test_intermediate_values_and_structures_as_sources():
    with ad.GradientTape(persistent=True) as tape:
        y = X * X
        z = (y * 3.0).sum()
    close(tape.gradient(z, y), [3, 3, 3])
    g = tape.gradient(z, {"x": X, "pair": (y, ad.Tensor([5.0]))})
    close(g["x"], 6 * np.array([1, 2, 3]))
    close(g["pair"][1], [0])


def test_watch_returns_the_tensor_to_use():
    with ad.GradientTape() as tape:
        x = tape.watch(3.0)
        y = x * x
    assert float(tape.gradient(y, x)) == 6
    with ad.GradientTape() as tape, pytest.raises(TypeError, match="watch: int64 values have no derivative"):
        tape.watch(3)


def test_jacobian_and_output_gradients():
    with ad.GradientTape(persistent=True) as tape:
        y = X * X
    close(tape.jacobian(y, X), np.diag([2, 4, 6]))
    close(tape.gradient(y, X, output_gradients=ad.Tensor([1.0, 0.0, 10.0])), [2, 0, 60])


def test_tapes_nest_and_see_functional_gradients():
    with ad.GradientTape() as outer:
        with ad.GradientTape() as inner:
            y = (X**3).sum()
        g = inner.gradient(y, X)
    close(outer.gradient(g, X), 6 * np.array([1, 2, 3]))
    with ad.GradientTape() as tape:
        g = ad.grad(lambda x: (x**3).sum())(X)
    close(tape.gradient(g, X), 6 * np.array([1, 2, 3]))


def test_parameters_are_recorded():
    w = ad.Parameter(ad.Tensor([2.0]), name="w")
    with ad.GradientTape() as tape:
        y = w * w * X
    close(tape.gradient(y, w), [4 * 6])


def test_one_gradient_unless_persistent():
    with ad.GradientTape() as tape:
        y = X * X
    tape.gradient(y, X)
    with pytest.raises(RuntimeError, match=r"GradientTape\(persistent=True\)"):
        tape.gradient(y, X)


def test_a_target_from_elsewhere_is_refused():
    with ad.GradientTape() as tape:
        X * X
    with pytest.raises(ValueError, match="was not computed inside this tape"):
        tape.gradient(X + 1, X)


def test_after_the_block_its_tensors_are_plain_values():
    with ad.GradientTape() as tape:
        y = X * X
    close(y + 1, [2, 5, 10])
    close(tape.gradient(y, X), [2, 4, 6])


def test_an_exception_closes_the_tape():
    with pytest.raises(ZeroDivisionError), ad.GradientTape():
        1 / 0
    assert not (X * X).tracked


def test_backward_accumulates():
    x = ad.Tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    (x * 3.0).sum().backward()
    close(x.grad, [5, 7])
    x.grad = None
    assert x.grad is None
    y = x * x
    y.backward(ad.Tensor([1.0, 10.0]))
    close(x.grad, [2, 40])


def test_backward_through_parameters():
    w = ad.Parameter(ad.Tensor([2.0]), name="w")
    (w * w).sum().backward()
    close(w.grad, [4])
    with ad.no_grad():
        assert not (w * w).tracked


def test_backward_needs_a_scalar_and_a_recording():
    x = ad.Tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(ValueError, match=r"backward\(\) needs a scalar, this Tensor has shape \(2,\)"):
        (x * x).backward()
    with pytest.raises(ValueError, match="requires_grad=True"):
        (X * X).sum().backward()
    y = (x * x).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        y.backward()
    z = (x * x).sum()
    z.backward(retain_graph=True)
    z.backward()


def test_requires_grad_rules():
    with pytest.raises(TypeError, match="requires_grad needs floating-point values, not int64"):
        ad.Tensor([1, 2], requires_grad=True)
    x = ad.Tensor([1.0], requires_grad=True)
    assert x.requires_grad and not x.detach().requires_grad
    with pytest.raises(Exception, match="would change a leaf"):
        x[0] = 3.0
    x.requires_grad = False
    assert not x.requires_grad
    x[0] = 3.0
    close(x, [3])


def test_tensors_with_requires_grad_meet_functional_gradients():
    x = ad.Tensor([2.0], requires_grad=True)
    g = ad.grad(lambda v: v**3)(x)
    close(g, [12])
    g.sum().backward()
    close(x.grad, [12])


def test_tensor_hooks():
    x = ad.Tensor([1.0, 2.0], requires_grad=True)
    seen = []
    handle = x.register_hook(lambda g: seen.append(g.asnumpy()) or g * 2)
    (x * x).sum().backward()
    close(seen[0], [2, 4])
    close(x.grad, [4, 8])
    handle.remove()
    handle.remove()
    (x * x).sum().backward()
    close(x.grad, [6, 12])
    with pytest.raises(TypeError, match="must be a callable function, not int"):
        x.register_hook(3)
    with pytest.raises(ValueError, match="no gradient will reach this Tensor"):
        ad.Tensor([1, 2]).register_hook(print)


def test_a_hook_waits_for_a_transform():
    x = ad.Tensor([1.0, 2.0])
    handle = x.register_hook(lambda g: g * 10)
    close(ad.grad(lambda x: (x * x).sum())(x), [20, 40])
    handle.remove()
    close(ad.grad(lambda x: (x * x).sum())(x), [2, 4])


def test_copies_and_pickles():
    x = ad.Tensor([1.0, 2.0], requires_grad=True)
    for y in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert y.requires_grad
        close(y, x.detach())
    w = ad.Parameter(ad.Tensor([1.0]), name="w", requires_grad=False)
    for v in (copy.deepcopy(w), pickle.loads(pickle.dumps(w))):
        assert (v.name, v.requires_grad) == ("w", False)
    assert not copy.copy(ops.ones(2)).requires_grad


def test_a_tape_inside_a_tape_sees_what_the_outer_one_made():
    x = ad.Tensor([3.0])
    with ad.GradientTape() as outer:
        y = x * x
        with ad.GradientTape() as inner:
            z = y * y
        g = inner.gradient(z, y)
    close(g, [18])
    close(outer.gradient(g, x), [12])


def test_a_tape_inside_functional_transforms():
    def slope(x):
        with ad.GradientTape() as tape:
            y = x**3
        return tape.gradient(y, x)

    x = ad.Tensor([1.0, 2.0])
    close(ad.grad(slope)(x), [6, 12])
    close(ad.jvp(slope, x, ops.ones(2))[1], [6, 12])
    close(ad.vmap(slope)(x), [3, 12])
    close(ad.vmap(ad.grad(slope))(x), [6, 12])
    with ad.GradientTape() as around:
        y = ad.grad(lambda v: (slope(v) * x).sum())(x)
    close(around.gradient(y, x), [12, 24])


def test_a_source_may_be_assigned_to_on_the_tape():
    x = ad.Tensor([1.0, 2.0])
    with ad.GradientTape() as tape:
        y = x * x
        x[0] = 5.0
        z = y + x
    close(tape.gradient(z, x), [2, 5])
    tape = ad.GradientTape()
    with tape:
        v = tape.watch(np.array([1.0, 2.0]))
        v[0] = v[1] * 5
        y = v * 2
    close(tape.gradient(y, v), [0, 12])


def test_a_store_in_a_parameter_is_seen_by_later_reads_on_the_tape():
    w = ad.Parameter(ad.Tensor([2.0]), name="w")
    with ad.GradientTape() as tape:
        y = w * 3
        w.set_data(y * y)
        z = (y + w * w).sum()
    close(tape.gradient(z, w), [3 + 2 * 36])
    close(w, [36])


def test_gradients_given_by_the_user_are_checked_and_copied():
    x = ad.Tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(ValueError, match=r"backward: the gradient has shape \(5, 2\), its value \(2,\)"):
        (x * x).backward(np.ones((5, 2)))
    given = np.ones(2, np.float32)
    (x + 0).backward(given)
    given[:] = 100
    close(x.grad, [1, 1])
    with pytest.raises(ValueError, match=r"the .grad to set has shape \(9,\)"):
        x.grad = np.zeros(9)
    with ad.GradientTape(persistent=True) as tape:
        y = X * X
    close(tape.gradient(y, X, output_gradients=[1.0, 0.0, 1.0]), [2, 0, 6])
    with pytest.raises(ValueError, match=r"output_gradients has shape \(2,\), its value \(3,\)"):
        tape.gradient(y, X, output_gradients=np.ones(2))
    with pytest.raises(ValueError, match="1 output_gradients for 2 targets"):
        tape.gradient((y, y), X, output_gradients=(y,))
    with pytest.raises(ValueError, match="jacobian: the target must be one Tensor, not a tuple"):
        tape.jacobian((y, y), X)


def test_half_precision_in_and_out_of_backward():
    x = ad.Tensor(np.ones(2, np.float16), requires_grad=True)
    x.requires_grad = False
    assert isinstance(x._value, np.ndarray)
    w = ad.Parameter(np.full(4096, 1e-4, np.float16))
    close(w.cumsum()[-1], ad.Tensor(w.asnumpy()).cumsum()[-1])  # both summed in float32


def test_a_closed_tape_lets_its_tensors_go_but_an_outer_one_keeps_them():
    with ad.GradientTape() as outer:
        with ad.GradientTape() as tape:
            y = (X * X).sum()
        with pytest.raises(TypeError, match="would cut the gradient"):
            float(y)
    assert float(y) == 14
    assert np.asarray(y).dtype == np.float32
    close(tape.gradient(y, X), [2, 4, 6])
    close(outer.gradient(y, X), [2, 4, 6])
