"""Programs with what is said of their memory and what the operating system says: a process of its own, for `test_memory.py`."""

import ctypes
import gc
import json
import sys
from pathlib import Path

import numpy as np

import adjoint as ad
from adjoint import ops
from adjoint.api.compiled import executable
from adjoint.backends.native.compiler import overwriting
from adjoint.backends.native.plan import given_back

trim = ctypes.CDLL(None).malloc_trim


def now(name):
    return next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith(name))


def net(ws, x):
    for w in ws:
        x = ops.tanh(x @ w)
    return ops.sum(x * x)


def chain(x):
    a = ops.exp(x)
    b = ops.cumsum(a, 0)
    c = ops.cumsum(b * a, 0)
    return ops.sum(c @ ops.sin(c).T), c


def scanned(x):
    for _ in range(40):
        x = ops.sin(x) * 1.01
    return ops.sum(x)


def branch(x, flag):
    y = ops.cumsum(ops.exp(x), 1)
    if flag < 0:
        y = ops.cumsum(y, 1) @ x.T
    return ops.sum(y * y, 0)


def step(w, x):
    return w - 0.1 * ad.grad(lambda w: ops.sum(ops.tanh(x @ w) ** 2))(w)


def f4(*shape):
    return np.random.default_rng(0).normal(size=shape).astype("f4") / 30


CASES = {
    "net": (ad.grad(net), ([f4(512, 512) for _ in range(24)], f4(1024, 512)), {}),
    "chain": (chain, (f4(2048, 2048),), {}),
    "gradient of chain": (ad.value_and_grad(lambda x: chain(x)[0]), (f4(2048, 2048),), {}),
    "scan": (ad.grad(scanned), (f4(600_000),), {}),
    "branch": (ad.grad(branch), (f4(2048, 2048), np.float32(-1.0)), {}),
    "donated": (step, (ad.Tensor(f4(4096, 4096)), f4(512, 4096)), {"donate": "w"}),
    "given back": (ad.grad(net), ([f4(512, 512) for _ in range(24)], f4(1040, 512)), {}),
    "statistics": (lambda x: ops.softmax(x, 1) @ x.T, (f4(3000, 3000),), {}),
}
backend, found = sys.argv[1], {}
for name, (fn, args, more) in CASES.items():
    given_back.SHARE = 1.0 if name == "given back" else 0.02
    compiled = ad.jit(fn, backend=backend, **more)
    report = compiled.memory(*args)
    if backend == "native":  # compiled now: what LLVM takes is not the call's
        program = executable(compiled.graph(*args), backend)
        if more:
            program._overwriting[(0,)] = overwriting(program.graph, (0,))
    gc.collect()
    ad.release_memory()  # what the results of the case before lay in
    trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    before = now("VmRSS:")
    result = compiled(*args)
    found[name] = [report.peak_bytes, now("VmHWM:") - before]
    del result, compiled
print(json.dumps(found))
