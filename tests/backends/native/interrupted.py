"""Programs that are stopped by Ctrl-C, each run in a process of its own: `python interrupted.py NAME`."""

from __future__ import annotations

import signal
import sys
import threading
import time

import numpy as np

import adjoint as ad
from adjoint import nn, ops, optim


@ad.jit
def endless(x):
    while x > 0:
        x = x * 0.5 + 1.0
    return x


def long_for(x):
    for _ in range(10**12):
        x = ops.sin(x) * 1.0001
    return x


def nested(x):
    for _ in range(10**9):
        for _ in range(30):
            for _ in range(30):
                x = x * 0.999 + 1.0
    return x


def short_inside_long(x):
    i = 0.0
    while i < 1e15:
        y = x
        while y > 1.0:
            y = y * 0.5
        i = i + y * 0.0 + 1.0
    return i


def products(x):
    for _ in range(10**9):
        x = ops.tanh(x @ x)
    return x


def repeated_slope(x):
    def again(y):
        total = y
        for _ in range(10_000):
            total = total * 0.999 + ops.sin(y)
        return total

    while x > -10.0:
        x = x * 0.0 + ad.grad(again)(x) * 0.0 + 1.0
    return x


def long_count(x):
    i = 0.0
    while i < x:
        i = i + 1.0
    return i


def straight(x):
    for _ in range(40):
        x = ops.tanh(x @ x) * 0.1
    return x


MATRIX = np.ones((200, 200)) / 200
ARGUMENTS = {
    "endless": (endless, 1.0),
    "long_for": (ad.jit(long_for), 1.0),
    "nested": (ad.jit(nested), 1.0),
    "short_inside_long": (ad.jit(short_inside_long), 9.0),
    "products": (ad.jit(products), MATRIX),
    "batch": (ad.jit(ad.vmap(long_for)), np.ones(3)),
    "repeated_slope": (ad.jit(repeated_slope), 1.0),
    "interpreted": (ad.jit(long_for, backend="interpreter"), 1.0),
}


def finished(word="stopped"):
    """Compiled code still works after an interruption."""
    assert float(ad.jit(lambda x: x * 2.0)(3.0)) == 6.0
    assert float(endless(-1.0)) == -1.0
    print(word, flush=True)


def alone(name):
    fn, x = ARGUMENTS[name]
    if hasattr(fn, "explain"):
        fn.explain(x)  # compiled, so that it is the kernel that is interrupted
    print("ready", flush=True)
    for _ in range(2):  # the first call and a later one take different ways into the kernel
        try:
            fn(x)
        except KeyboardInterrupt:
            finished()


def short_ways():
    """The same kernel after many calls, by the C function for whole calls."""
    for _ in range(5):
        endless(-1.0)
    print("ready", flush=True)
    try:
        endless(1.0)
    except KeyboardInterrupt:
        finished()


def on_thread(wait):
    raised = []

    def work():
        try:
            endless(1.0)
        except KeyboardInterrupt:
            raised.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(0.3)
    print("ready", flush=True)
    try:
        wait(thread)
    except KeyboardInterrupt:
        deadline = time.monotonic() + 2.0
        while not raised and time.monotonic() < deadline:  # join() has no word about it after an interrupted one
            time.sleep(0.02)
        assert raised
        finished()


def left_on_thread():
    """Nobody catches anything: the process ends."""
    thread = threading.Thread(target=endless, args=(1.0,))
    thread.start()
    time.sleep(0.3)
    print("ready", flush=True)
    thread.join()


def main_ends():
    """The main thread is through; Python waits for the other one."""
    threading.Thread(target=endless, args=(1.0,)).start()
    print("ready", flush=True)


def daemon():
    threading.Thread(target=endless, args=(1.0,), daemon=True).start()
    time.sleep(0.3)
    print("ready", flush=True)
    time.sleep(100)


def own_handler():
    """A handler that does not raise ends nothing, here or on other threads."""
    seen = []
    signal.signal(signal.SIGINT, lambda *_: seen.append(True))
    results = []
    compiled = ad.jit(long_count)
    thread = threading.Thread(target=lambda: results.append(float(compiled(1e9))))
    thread.start()
    print("ready", flush=True)
    results.append(float(compiled(1e9)))
    thread.join()
    assert results == [1e9, 1e9] and seen
    finished()


def ignored():
    """Where the process ignores SIGINT, a loop does too."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    counted = ad.jit(long_count)
    print("ready", flush=True)
    assert float(counted(1e9)) == 1e9
    finished()


def training():
    """A step that writes over large Parameters leaves them as they were, or has done its work."""
    net = nn.Dense(1200, 1200)
    before = [p.asnumpy().copy() for p in net.get_parameters()]

    def loss(x):
        y = net(x).mean()
        while y * y > -1.0:
            y = y * 0.5
        return y

    optimiser = optim.SGD(net.trainable_params(), learning_rate=0.1)
    step = optim.compiled_step(loss, net.trainable_params(), optimiser)
    print("ready", flush=True)
    try:
        step(np.ones((2, 1200), np.float32))
    except KeyboardInterrupt:
        for p, old in zip(net.get_parameters(), before, strict=True):
            assert np.array_equal(p.asnumpy(), old)
        finished()


def donated():
    """A donated Tensor says that it was given away."""

    def spin(x):
        while x.sum() < 1e300:
            x = x * 0.5 + 1.0
        return x

    x = ad.Tensor(np.ones(8))
    print("ready", flush=True)
    try:
        ad.jit(spin, donate="x")(x)
    except KeyboardInterrupt:
        try:
            x + 1
        except RuntimeError as error:
            finished("stopped" if "donated" in str(error) else str(error))


def straight_line():
    """Between the steps of a graph without loops."""
    x = np.ones((700, 700)) / 700
    fn = ad.jit(straight)
    fn(x)
    print("ready", flush=True)
    try:
        while True:
            fn(x)
    except KeyboardInterrupt:
        finished()


OTHERS = {
    "short_ways": short_ways,
    "join": lambda: on_thread(lambda t: t.join()),
    "sleep": lambda: on_thread(lambda t: time.sleep(100)),
    "left_on_thread": left_on_thread,
    "main_ends": main_ends,
    "daemon": daemon,
    "own_handler": own_handler,
    "ignored": ignored,
    "training": training,
    "donated": donated,
    "straight_line": straight_line,
}

if __name__ == "__main__":
    # A shell starts its background jobs with SIGINT ignored, and their children inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    name = sys.argv[1]
    OTHERS[name]() if name in OTHERS else alone(name)
