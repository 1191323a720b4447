"""Steps again and again, with what memory they leave behind: a process of its own, for `test_leaks.py`.

Each activation has 64 KiB, and what is freed of that size goes back to the operating system: 1,000 steps that lose one each lose 64 MB.
"""

import contextlib
import ctypes
import gc
import json
import resource
import signal
import sys
from pathlib import Path

import numpy as np

import adjoint as ad
from adjoint import ops, optim
from adjoint.api import deferral
from adjoint.core import context

deferral.COMPILE = deferral.COMPILE_FIRST = deferral.COMPILE_STEP = (
    0.0  # what is deferred is compiled while steps are warmed
)

libc = ctypes.CDLL(None)
libc.mallopt(-3, 1 << 15)
PAGE = resource.getpagesize()
RNG = np.random.default_rng(0)
X = RNG.normal(size=(256, 32)).astype("f8")
WS = [RNG.normal(size=(32, 32)) / 6 for _ in range(4)]


def held():
    gc.collect()
    libc.malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


def layers(x, ws):
    for w in ws:
        x = ops.tanh(x @ w)
    return x


def loss(ws, x):
    return ops.mean(layers(x, ws) ** 2)


def checkpointed(ws, x):
    return ops.mean(ad.checkpoint(layers)(x, ws) ** 2)


def fails(ws, x):
    y = layers(x, ws)
    raise ValueError(f"after {y.ndim} axes")


@ad.custom_vjp
def ruled(x):
    return ops.sin(x)


@ruled.defvjp
def failing_rule(x, out, dout):
    raise ZeroDivisionError("in a rule")


def with_failing_rule(ws, x):
    return ops.mean(ruled(layers(x, ws)))


def out_of_range(ws, x, k):
    y = layers(x, ws)
    return ops.mean(y[k] ** 2)


def stack_of_states(x, n):
    k = 0.0
    while k < n:
        x = ops.sin(x) * 1.01
        k = k + 1.0
    return ops.sum(x)


class Timeout(Exception):
    pass


def expire(*_):
    raise Timeout


def raising(kind, call, *args):
    def step():
        with contextlib.suppress(kind):
            call(*args)
            raise SystemExit(f"{kind.__name__} was expected")

    return step


def backward():
    w = ad.Parameter(ad.Tensor(WS[0]), name="w")
    ops.mean(ops.tanh(ad.Tensor(X) @ w) ** 2).backward()


def network():
    return ad.nn.SequentialCell(ad.nn.Dense(32, 32), ad.nn.Tanh(), ad.nn.Dense(32, 32))


def trained(**more):
    net = network()
    x = ad.Tensor(X.astype("f4"))
    step = optim.compiled_step(
        lambda x: ops.mean(net(x) ** 2), net.trainable_params(), optim.Adam(net.trainable_params(), 1e-3), **more
    )
    return lambda: step(x)


def epochs(mode):
    """Whole epochs of ten steps."""
    net = network()
    x = np.repeat(X.astype("f4"), 10, axis=0)
    data = ad.data.ArrayDataset(x, x).batch(256)
    model = ad.train.Model(net, ops.mse_loss, optim.SGD(net.trainable_params(), 1e-3))

    def run():
        ad.set_context(mode=mode)
        try:
            model.train(1, data)
        finally:
            ad.set_context(mode=ad.PYNATIVE_MODE)

    return run


def interrupted():
    """A call that a signal ends while it is in machine code."""
    run = ad.jit(ad.grad(stack_of_states))
    run(X[:4], 3.0)
    signal.signal(signal.SIGALRM, expire)
    call = raising(Timeout, run, X[:4], 1e12)

    def step():
        signal.setitimer(signal.ITIMER_REAL, 0.06)
        try:
            call()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    return step


def without_memory():
    """A call whose stack of kept values finds no more memory."""
    run = ad.jit(ad.grad(stack_of_states))
    run(X, 3.0)
    call = raising(MemoryError, run, X, 1e12)

    def step():
        size = int(Path("/proc/self/statm").read_text().split()[0]) * PAGE
        before = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (size + (192 << 20), before[1]))
        try:
            call()
        finally:
            resource.setrlimit(resource.RLIMIT_AS, before)

    return step


def op_by_op(step):
    """A step of which nothing is learned."""

    def run():
        with context.setting(context.deferred, False):
            step()

    return run


def steps():
    """A name, how many steps, and a step."""
    compiled, interpreted = ad.jit(ad.value_and_grad(loss)), ad.jit(ad.grad(loss), backend="interpreter")
    block, squares = ad.jit(ad.grad(checkpointed)), ad.jit(ad.grad(loss, checkpoint="sqrt"))
    yield "dynamic gradient", 300, op_by_op(lambda: ad.value_and_grad(loss)(WS, X))
    yield "deferred gradient", 300, lambda: ad.value_and_grad(loss)(WS, X)
    yield "dynamic checkpoint", 300, lambda: ad.grad(checkpointed)(WS, X)
    yield "dynamic, sqrt", 300, lambda: ad.grad(loss, checkpoint="sqrt")(WS, X)
    yield "second derivative", 150, lambda: ad.grad(lambda w: ops.sum(ad.grad(loss)([w], X)[0] ** 2))(WS[0])
    yield "backward", 300, backward
    yield "compiled gradient", 300, lambda: compiled(WS, X)
    yield "compiled checkpoint", 300, lambda: block(WS, X)
    yield "compiled, sqrt", 300, lambda: squares(WS, X)
    yield "interpreter", 300, lambda: interpreted(WS, X)
    yield "compiled step", 300, trained()
    yield "compiled step in parts", 300, trained(parts=3)
    yield "model", 50, epochs(ad.PYNATIVE_MODE)
    yield "compiled model", 50, epochs(ad.GRAPH_MODE)


def errors():
    """The same, of steps that end in an error."""
    indexed = ad.jit(ad.value_and_grad(out_of_range))
    yield "in the function", 300, raising(ValueError, ad.grad(fails), WS, X)
    yield "in a checkpoint", 300, raising(ValueError, ad.grad(lambda ws, x: ad.checkpoint(fails)(ws, x)), WS, X)
    yield "in a rule", 300, raising(ZeroDivisionError, ad.grad(with_failing_rule), WS, X)
    yield "while tracing", 40, lambda: raising(ValueError, ad.jit(ad.grad(fails)), WS, X)()
    yield "in a compiled call", 300, raising(IndexError, indexed, WS, X, np.int64(999))
    yield "no memory in a compiled loop", 4, without_memory()
    yield "interrupted compiled loop", 5, interrupted()


def leaking():
    kept = []
    yield "kept on purpose", 200, lambda: kept.append(ops.tanh(ad.Tensor(X)))


found = {}
for name, count, step in {"steps": steps, "errors": errors, "leaking": leaking}[sys.argv[1]]():
    for _ in range(max(2, count // 20)):
        step()
    before = held()
    for _ in range(count):
        step()
    found[name] = [count, held() - before]
print(json.dumps(found))
