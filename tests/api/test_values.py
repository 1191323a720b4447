"""Values used later are the values that were used: arrays that the user writes to after an op has taken them."""

import importlib
import pkgutil

import numpy as np
import pytest

import adjoint as ad
import adjoint.ops
from adjoint import nn, ops
from adjoint.ops.card import REGISTRY, Op
from adjoint.testing.cases import cases, flat, inexact, plain

for _module in pkgutil.iter_modules(adjoint.ops.__path__, "adjoint.ops."):
    importlib.import_module(_module.name)


def spoil(arrays):
    """Write other values into arrays, as a loop that uses a buffer again does."""
    for x in arrays:
        if isinstance(x, np.ndarray):
            x[...] = 0 if x.dtype.kind in "iub" else 77.0


# ---------------------------------------------------------------- every way to keep a value for later


def by_grad(f, x, rest, then):
    def loss(v):
        y = f(v, *rest)
        then()
        return y

    return ad.grad(loss)(x)


def by_vjp(f, x, rest, then):
    y, pull = ad.vjp(lambda v: f(v, *rest), x)
    then()
    return pull(np.ones(y.shape, y.dtype))[0]


def by_linearize(f, x, rest, then):
    _, push = ad.linearize(lambda v: f(v, *rest), x)
    then()
    return push(np.ones_like(x))


def by_tape(f, x, rest, then):
    v = ad.Tensor(x)
    with ad.GradientTape() as tape:
        y = f(v, *rest)
        then()
    return tape.gradient(y, v)


def by_backward(f, x, rest, then):
    v = ad.Tensor(x, requires_grad=True)
    y = f(v, *rest)
    then()
    y.sum().backward()
    return v.grad


def by_second_order(f, x, rest, then):
    def loss(v):
        y = f(v * v, *rest)
        then()
        return y

    return ad.grad(lambda v: ops.sum(ad.grad(loss)(v) * np.ones_like(x)))(x)


def by_grad_of_batch(f, x, rest, then):
    def loss(batch):
        y = ad.vmap(lambda v: f(v, *rest))(batch)
        then()
        return y

    return ad.grad(loss)(np.stack([x, x]))


def by_jit(backend):
    def way(f, x, rest, then):
        v = ad.Tensor(x, requires_grad=True)
        y = ad.jit(f, backend=backend)(v, *rest)
        then()
        y.sum().backward()
        return v.grad

    return way


def by_jit_capturing(backend):
    def way(f, x, rest, then):
        y, pull = ad.vjp(ad.jit(lambda v: f(v, *rest), backend=backend), x)
        then()
        return pull(np.ones(y.shape, y.dtype))[0]

    return way


def by_jit_of_grad(f, x, rest, then):
    return ad.jit(lambda v: by_grad(f, v, rest, then))(x)


WAYS = {
    "grad": by_grad, "vjp": by_vjp, "linearize": by_linearize, "GradientTape": by_tape, "backward": by_backward,
    "second order": by_second_order, "grad of vmap": by_grad_of_batch, "jit": by_jit("native"),
    "jit, interpreter": by_jit("interpreter"), "captured by jit": by_jit_capturing("native"),
    "captured by jit, interpreter": by_jit_capturing("interpreter"), "jit of grad": by_jit_of_grad,
}  # fmt: skip


def unchanged(f, x, rest, way):
    """The derivative with and without writing to the other arguments after their use."""
    own = [np.array(r) if isinstance(r, np.ndarray) else r for r in rest]
    want = plain(way(f, x, own, lambda: None))
    got = plain(way(f, x, own, lambda: spoil(own)))
    np.testing.assert_array_equal(got, want)


# ---------------------------------------------------------------- every card with several inputs


CARDS = {name: op for name, op in REGISTRY.items() if op.differentiable and not op.opaque and not op.effect}


def samples(cls: type[Op]):
    """Calls of a card with a real input to differentiate by, and others beside it."""
    for case, *_ in cases(cls, rounds=1):
        arrays = [np.array(x) for x in case.xs]
        if len(arrays) > 1 and any(inexact(x) and x.size and x.dtype.kind == "f" for x in arrays):
            yield case.op, arrays


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", [n for n, cls in CARDS.items() if next(samples(cls), None)])
def test_operands_may_be_written_to_after_their_use(name, way):
    for op, xs in list(samples(CARDS[name]))[:1]:
        for k, x in enumerate(xs):
            if x.dtype.kind != "f" or not x.size:
                continue

            def f(v, *rest, op=op, k=k):
                return ops.sum(flat(op(*rest[:k], v, *rest[k:]))[0] * 1.5)

            with np.errstate(all="ignore"):
                unchanged(f, x, [r for i, r in enumerate(xs) if i != k], WAYS[way])


# ---------------------------------------------------------------- programs

X = np.array([1.0, 2.0, 3.0])
BUFFER = np.array([4.0, 5.0, 6.0])


@ad.custom_vjp
def scaled(x, b):
    return x * b


@scaled.defvjp
def scaled_vjp(x, b, out, dout):
    return dout * b, dout * x


@ad.custom_jvp
def pushed(x, b):
    return x * b


@pushed.defjvp
def pushed_jvp(inputs, tangents):
    (x, b), (t, _) = inputs, tangents
    return x * b, t * b


def assigned(x, b):
    y = x * 1.0
    y[:2] = b[:2] * x[1:]
    return y * y


PROGRAMS = {
    "buffer on the left": lambda x, b: b * x,
    "a view": lambda x, b: x * b[::-1],
    "broadcast, read-only": lambda x, b: x * np.broadcast_to(b, (2, 3)),
    "through ops on arrays": lambda x, b: x * ops.reshape(b, (3, 1)),
    "through adjoint.numpy": lambda x, b: x * ad.numpy.transpose(b),
    "cast to its own dtype": lambda x, b: x * ops.cast(b, "float64"),
    "in a list": lambda x, b: ops.stack([x, b]) ** 2 * ops.stack([b, x]),
    "in a dict": lambda x, b: (lambda d: d["x"] * d["b"])({"x": x, "b": b}),
    "a ufunc": lambda x, b: np.arctan2(x, b) * np.hypot(x, b),
    "an array function": lambda x, b: np.einsum("i,i->i", x, b) + np.convolve(x, b, "same"),
    "an index": lambda x, b: x[np.asarray(b if isinstance(b, np.ndarray) else BUFFER, int) - 4] * x,
    "custom_vjp": scaled,
    "custom_jvp": pushed,
    "index assignment": assigned,
    "rows of zip": lambda x, b: sum(u * v for u, v in zip(x, [b[:1], b[1:2], b[2:]], strict=True)),
    "linear algebra": lambda x, b: np.linalg.solve(np.diag(BUFFER), x) * b,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_that_write_to_a_buffer_after_its_use(name, way):
    unchanged(PROGRAMS[name], X, [BUFFER], WAYS[way])


INDEX, MASK = np.array([2, 1, 1]), np.array([True, False, True])


@pytest.mark.parametrize("way", [w for w in WAYS if w not in ("jit", "jit, interpreter")])
@pytest.mark.parametrize("place", [INDEX, MASK], ids=["index", "mask"])
def test_index_arrays_and_masks(place, way):
    def f(x, i):
        y = x * 1.0
        y[i] = x[i] ** 2
        return ops.sum(y) + ops.sum(x[i] ** 3) + ops.sum(np.take(x, np.flatnonzero(i)) ** 2)

    unchanged(f, X, [place], WAYS[way])


@pytest.mark.parametrize("compile", [lambda f: f, ad.jit, lambda f: ad.jit(f, backend="interpreter")])
def test_a_buffer_filled_anew_in_each_iteration(compile):
    buffer = np.zeros(100)

    def f(x):
        total = 0.0
        for k in range(3):
            buffer[:] = k + 1.0
            total = total + ops.sum(x * buffer)
        return total

    np.testing.assert_array_equal(plain(compile(ad.grad(f))(np.ones(100))), np.full(100, 6.0))
    np.testing.assert_array_equal(plain(ad.grad(compile(f))(np.ones(100))), np.full(100, 6.0))


@pytest.mark.parametrize("kind", ["memmap", "bytearray", "read-only view"])
def test_memory_that_others_can_write_to(kind, tmp_path):
    if kind == "memmap":
        base = array = np.memmap(tmp_path / "data", np.float64, "w+", shape=3)
    elif kind == "bytearray":
        base = np.frombuffer(memory := bytearray(24), np.float64)
        array = np.frombuffer(bytes_view := memoryview(memory).toreadonly(), np.float64)  # noqa: F841
    else:
        base = np.zeros(3)
        array = base[:]
        array.flags.writeable = False
    base[:] = BUFFER
    _, pull = ad.vjp(lambda x: x * array, X)
    base[:] = 77.0
    np.testing.assert_array_equal(plain(pull(np.ones(3))[0]), BUFFER)


def test_only_memory_that_can_be_written_to_is_copied():
    constant = np.ones(1000)
    constant.flags.writeable = False
    tape = ad.transforms.tape.Tape()
    y = tape.track(np.ones(1000)) * constant
    assert y._extra.xs[1] is constant
    t = ad.Tensor(np.ones(1000))
    assert (tape.track(np.ones(1000)) * t)._extra.xs[1] is t._value


def test_a_watched_array():
    x = X.copy()
    with ad.GradientTape() as tape:
        v = tape.watch(x)
        y = v * v
        x[:] = 77.0
        z = y * v
    np.testing.assert_allclose(plain(tape.gradient(z, v)), 3 * X**2)


def test_buffers_that_rules_and_hooks_use_again():
    out, back = np.zeros(3), np.zeros(3)

    @ad.custom_vjp
    def doubled(x):
        out[:] = x.asnumpy() * 2
        return out

    @doubled.defvjp
    def rule(x, y, dout):
        back[:] = dout.asnumpy() * 2
        return (back,)

    g = ad.grad(lambda x: ops.sum(doubled(x) * doubled(x * 3.0)))(X)
    np.testing.assert_allclose(plain(g), 2 * 2 * 6 * X)

    def hook(g):
        back[:] = g.asnumpy() * 10
        return back

    a, b = (ad.Tensor(X, requires_grad=True) for _ in "ab")
    a.register_hook(hook)
    b.register_hook(hook)
    (a * 2 + b * 3).sum().backward()
    np.testing.assert_allclose(plain(a.grad), [20.0] * 3)


def test_cotangents_and_tangents_of_the_users():
    g = np.ones(3)
    x = ad.Tensor(X, requires_grad=True)
    (x * 1.0).backward(g)
    g[:] = 77.0
    np.testing.assert_array_equal(plain(x.grad), np.ones(3))
    _, pull = ad.vjp(lambda v: v, X)
    g[:] = 1.0
    (found,) = pull(g)
    g[:] = 77.0
    np.testing.assert_array_equal(plain(found), np.ones(3))


@pytest.mark.parametrize(
    "f",
    [
        ad.vmap(lambda row: row), ad.vmap(lambda row: row[::-1]), ad.jit(lambda x: x[1:]), ad.jit(lambda x: x),
        ad.jit(lambda x: (x.T, x.reshape(-1)), backend="interpreter"), ad.jit(lambda x: x[1:], backend="interpreter"),
        ad.numpy.transpose, ad.numpy.atleast_3d, ad.numpy.ravel, ad.Tensor, ad.Parameter,
        lambda x: ad.vjp(lambda v: v.T, x)[0], lambda x: ad.jvp(lambda v: v.T, x, np.ones((2, 3)))[0],
    ],
)  # fmt: skip
def test_results_do_not_change_with_the_array_they_came_from(f):
    x = np.arange(6.0).reshape(2, 3)
    for _ in range(3):
        ys = f(x)
        ys = ys if isinstance(ys, tuple) else (ys,)
        before = [plain(y) for y in ys]
        x += 1.0
        for y, b in zip(ys, before, strict=True):
            np.testing.assert_array_equal(plain(y), b)


# ---------------------------------------------------------------- Tensors that `x[i] = v` changes


def pulled_after_assignment(x):
    y, pull = ad.vjp(lambda z: z * z, x)
    x[0] = 100.0
    y[1] = 50.0
    return ops.sum(pull(np.ones(3))[0] ** 2)


def used_by_an_inner_gradient(x):
    def inner(z):
        y = ops.sum(z * x * z)
        x[0] = 100.0
        return y

    return ops.sum(ad.grad(inner)(np.ones(3)) ** 2)


@pytest.mark.parametrize("f, want", [(pulled_after_assignment, 8 * X), (used_by_an_inner_gradient, 8 * X)])
def test_what_an_inner_transform_keeps_is_not_changed_by_assignment(f, want):
    np.testing.assert_allclose(plain(ad.grad(f)(X)), want)
    np.testing.assert_allclose(plain(ad.jit(ad.grad(f))(X)), want)
    np.testing.assert_allclose(plain(ad.grad(ad.jit(f))(X)), want)


# ---------------------------------------------------------------- computing again


class Masked(nn.Cell):
    def construct(self, x, index, buffer):
        return ops.sum(x[index] ** 2) * buffer


def test_recomputed_inputs_may_be_written_to():
    index, buffer = np.array([0, 2]), np.array(3.0)
    net = Masked().recompute()

    def loss(x):
        y = net(x, index, buffer)
        index[:], buffer[...] = 1, 77.0
        return y

    np.testing.assert_allclose(plain(ad.grad(loss)(X)), [6.0, 0.0, 18.0])


def test_what_a_recomputed_network_reads_may_be_written_to():
    factor = np.ones(3)

    class Reads(nn.Cell):
        def construct(self, x):
            return x * factor

    net = Reads().recompute()

    def loss(x):
        y = net(x)
        factor[:] = 2.0
        return y

    np.testing.assert_allclose(plain(ad.grad(loss)(X)), np.ones(3))
