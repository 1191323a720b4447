"""Bad input gets an error that names the op, the shapes, the user's line and the fix; and leaves nothing behind."""

from __future__ import annotations

import math
import threading
import traceback

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.core import context

X = ad.Tensor([1.0, 2.0, 3.0])
KEPT = []


def keep(x):
    KEPT.append(x)
    return x * x


def use_kept():
    KEPT.clear()
    ad.grad(keep)(X)
    return KEPT[0] + 1


def _step(rate):
    return ad.optim.SGD([ad.Parameter(X, name="w")], learning_rate=rate)((X,))


REFUSALS = {
    "wrong shapes": (lambda: X + ops.ones(4), ValueError, ["Add()", "(3,) and (4,) do not broadcast", "Reshape"]),
    "matrix shapes": (lambda: X @ ops.ones((4, 2)), ValueError, ["MatMul", "(3,)", "(4, 2)", "Transpose or reshape"]),
    "inside grad": (lambda: ad.grad(lambda x: x @ ops.ones((4, 2)))(X), ValueError, ["MatMul", "lambda x: x @ ops.ones"]),
    "reshape": (lambda: X.reshape(2, 2), ValueError, ["3 elements of shape (3,) do not fill the shape (2, 2)"]),
    "axis": (lambda: X.sum(axis=2), ValueError, ["axis 2 is outside the input's 1 axes; use -1 to 0"]),
    "index": (lambda: X[5], IndexError, ["index [5] does not fit the shape (3,)"]),
    "float index": (lambda: X[X], IndexError, ["float32 cannot be an index; cast it to int64"]),
    "position type": (lambda: ad.grad(keep, [0]), TypeError, ["grad_position must be an int or a tuple of ints, not [0]"]),
    "negative position": (lambda: ad.grad(keep, -1), ValueError, ["grad_position must be >= 0"]),
    "doubled position": (lambda: ad.grad(keep, (0, 0)), ValueError, ["names a position twice"]),
    "empty position": (lambda: ad.grad(keep, ()), ValueError, ["grad_position is empty"]),
    "position out of range": (lambda: ad.grad(keep, 3)(X), ValueError, ["grad_position 3, but keep was called with 1"]),
    "nothing to do": (lambda: ad.grad(keep, None), ValueError, ["both None: nothing to differentiate"]),
    "not a function": (lambda: ad.grad(3), TypeError, ["must be a function or a Cell, not int"]),
    "weights": (lambda: ad.grad(keep, None, weights=[X]), TypeError, ["weights must be a Parameter or a list", "trainable_params()"]),
    "integer input": (lambda: ad.grad(keep)(3), TypeError, ["argument 0 is the int 3", "have no derivative: pass 3.0"]),
    "integer tensor": (lambda: ad.grad(keep)(ad.Tensor([1, 2])), TypeError, ["of dtype int64", "cast it to float32"]),
    "integer in a container": (lambda: ad.grad(lambda p: p["n"][0] * 1.0)({"a": "b", "n": [2]}), TypeError, ["argument 0['n'][0] is the int 2"]),
    "text input": (lambda: ad.grad(keep)("a"), TypeError, ["argument 0 is a str, which has no derivative"]),
    "no output": (lambda: ad.grad(lambda x: None)(X), TypeError, ["returned nothing (did you forget `return`?)"]),
    "boolean output": (lambda: ad.grad(lambda x: x > 0)(X), TypeError, ["returned a Tensor of dtype bool"]),
    "no aux": (lambda: ad.grad(keep, has_aux=True)(X), ValueError, ["has_aux=True, but keep returned no second output"]),
    "no cotangent": (lambda: ad.grad(keep, sens_param=True)(), ValueError, ["takes the cotangent as the last argument"]),
    "kept after the end": (use_kept, RuntimeError, ["made inside grad was kept and used after grad had ended", "has_aux"]),
    "tolist()": (lambda: ad.grad(lambda x: sum(x.tolist()) * x[0])(X), TypeError, ["x.tolist() would cut the gradient", "x.asnumpy()"]),
    "float()": (lambda: ad.grad(lambda x: float(x[0]) * x)(X), TypeError, ["float(x) would cut the gradient", "x.item()"]),
    "asarray with a dtype": (lambda: ad.grad(lambda x: np.asarray(x, float))(X), TypeError, ["would cut its gradient", "x.asnumpy()"]),
    "math under jit": (lambda: ad.jit(lambda x: math.log(x))(2.0), TypeError, ["differentiated, batched or traced", "ad.ops.sin in place of math.sin"]),
    "negative argnums": (lambda: ad.grad(keep, argnums=-1), ValueError, ["argnums or grad_position must be >= 0"]),
    "axis by name": (lambda: X.sum(dim="a"), TypeError, ["an axis is an integer, not 'a'"]),
    "axis of floats": (lambda: X.mean(axis=(0.0,)), TypeError, ["an axis is an integer, not 0.0"]),
    "axis of a stack": (lambda: ops.concat([X], axis=None), TypeError, ["an axis is an integer, not None"]),
    "item of many": (lambda: X.item(), ValueError, ["needs a Tensor of one element, not of shape (3,)"]),
    "two corrections": (lambda: X.var(0, unbiased=True, correction=0), TypeError, ["unbiased= and correction= say the same"]),
    "unroll": (lambda: ad.scan(lambda c, x: (c, x), 0.0, X, unroll=0), TypeError, ["unroll is a number of iterations from 1 on"]),
    "betas": (lambda: ad.optim.Adam([ad.Parameter(X, name="w")], betas=(0.9,)), TypeError, ["betas= is a pair of numbers"]),
    "alpha": (lambda: ad.optim.RMSProp([ad.Parameter(X, name="w")], alpha=0.9), TypeError, ["did you mean decay=?"]),
    "rate of no number": (lambda: _step(lambda t: "a"), TypeError, ["gave 'a' at step 0; a number is needed"]),
    "rate uphill": (lambda: _step(lambda t: -1.0), ValueError, ["gave -1.0 at step 0; it must be >= 0"]),
    "decay of an average": (lambda: ad.train.EMA([ad.Parameter(X, name="w")], decay="a"), TypeError, ["EMA: decay is a number, not 'a'"]),
    "truth of many": (lambda: bool(X > 0), TypeError, ["truth of a Tensor of shape (3,) is ambiguous; use .any() or .all()"]),
    "len of a scalar": (lambda: len(ad.Tensor(1.0)), TypeError, ["len() of a Tensor without axes"]),
    "float index by __index__": (lambda: [1, 2][ad.Tensor(1.0)], TypeError, ["only an integer Tensor can be an index"]),
    "odd data": (lambda: ad.Tensor(["a"]), TypeError, ["Tensor() cannot hold list data ['a']"]),
    "bits of floats": (lambda: X & X, TypeError, ["BitwiseAnd()", "not defined for float32 and float32; cast"]),
    "n-th derivative": (lambda: ad.nth_derivative(ops.sin, -1, 1.0), ValueError, ["n must be an integer >= 0, not -1"]),
    "set_data shape": (lambda: ad.Parameter(X, name="w").set_data(ops.ones(2)), ValueError, ["Parameter 'w' has shape (3,), the new data (2,)"]),
    "singular matrix": (lambda: ops.inv(np.zeros((2, 2))), np.linalg.LinAlgError, ["Inv()", "Singular matrix"]),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals_say_what_where_and_what_to_do(name):
    call, kind, words = REFUSALS[name]
    with pytest.raises(kind) as caught:
        call()
    text = str(caught.value)
    for word in [*words, "called at test_errors.py:"]:
        assert word in text, text


def test_attributes_of_other_libraries_say_what_to_write():
    for name, words in {
        "at": r"`x\[index\] = value`",
        "cosh_": r"`x = x.cosh\(...\)`",
        "nothing": "'nothing'$",
    }.items():
        assert not hasattr(X, name)
        with pytest.raises(AttributeError, match=words):
            getattr(X, name)


def test_a_store_of_another_shape_is_refused_inside_a_transform_too():
    w = ad.Parameter(X, name="w")
    with pytest.raises(ValueError, match="Parameter 'w' has shape"):
        ad.grad(lambda x: ops.assign(w, x[:2]))(X)
    np.testing.assert_allclose(w.asnumpy(), X.asnumpy())


def test_an_exception_in_user_code_leaves_no_state():
    def broken(x):
        raise KeyError("mine")

    for transform in (ad.grad(broken), ad.vmap(broken), ad.value_and_grad(broken), ad.jacfwd(broken), ad.jacrev(broken),
                      lambda x: ad.jvp(broken, x, x), lambda x: ad.vjp(broken, x), lambda x: ad.linearize(broken, x)):  # fmt: skip
        with pytest.raises(KeyError, match="mine"):
            transform(X)
        assert context.bindings.get() is None
        assert context.open_tape.get() is None
        assert context.muted_below.get() == -1
    with pytest.raises(KeyError), ad.no_grad():
        broken(X)
    assert context.muted_below.get() == -1
    assert not (X * X).tracked


def test_frameworks_frames_are_hidden():
    def user_function(x):
        return x @ ops.ones((4, 2))

    try:
        ad.grad(user_function)(X)
    except ValueError as error:
        names = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
    assert names[0] == "test_frameworks_frames_are_hidden"
    assert names[-1] == "user_function"
    assert len(names) <= 4


def test_threads_do_not_disturb_each_other():
    w = ad.Parameter(np.ones(3), name="w")
    failures = []

    def work(k):
        for i in range(100):
            x = np.full(3, float(k + i))
            g = ad.grad(lambda x: (w * x * x).sum(), None, weights=w)(x)
            h = ad.grad(ad.grad(lambda v: (v**3).sum()))(x)
            with ad.GradientTape() as tape:
                y = (w * w * x).sum()
            t = tape.gradient(y, w)
            if not (np.allclose(g, x * x) and np.allclose(h, 6 * x) and np.allclose(t, 2 * x)):
                failures.append((k, i))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert failures == []
