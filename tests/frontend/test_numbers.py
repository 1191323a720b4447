"""Numbers that branches choose, loops carry and calls are given: to Python they stay what they are, on every backend."""

import inspect
import itertools
import math

import numpy as np
import pytest

import adjoint as ad
from adjoint import ops
from adjoint.graph.control import Loop
from adjoint.graph.numbers import NeedsNumberError

INPUTS = [ad.Tensor(np.arange(1, 4, dtype=dtype) / dtype(3)) for dtype in (np.float32, np.float64)]
OTHERS = []


def other(fn):
    OTHERS.append(fn)
    return fn


@other
def sums_of_counters(x):
    a = b = c = 0
    for _ in range(1000):
        a = a + 1
        b += a
        c += b
    return x * c, c


@other
def remainders(x):
    p, y = 1, x * 0
    for _ in range(100):
        p = p * 7 % 1000003
        y = y + x * p
    return y, p


@other
def nested_ranges(x):
    total = 0
    for i in range(12):
        for j in range(i):
            total += i * j
    return total, x * total


@other
def counts_in_branches(x):
    count = 0
    for k in range(12):
        if x[0] * k > 1:
            count += 1
    return count, x * count, x / count, x * (count in (8, 9)), x * isinstance(count, int)


@other
def halving(x):
    low, high = 0, 100
    for _ in range(12):
        middle = (low + high) // 2
        if x[0] * middle > 3:
            high = middle
        else:
            low = middle
    return low, high, x * middle


@other
def data_dependent(x):
    n, s, t = 0, 0.0, 0
    while x.sum() < 50:
        x = x * 1.5
        n, s, t = n + 1, s + 0.5, t + 0.25
        if n in {2, 3}:
            x = x + 1
        if type(n) is float:
            x = x + 100
    return x * n, n, x * s, s, x * t, t


@other
def grows_in_a_while(x):
    n = 1
    while x.sum() < 50:
        x = x * 1.5
        n = n * 3
    return x * n, n


@other
def becomes_an_array(x):
    loss, count, late, y = 0.0, 0, 1.0, 0.0
    for k in range(12):
        loss = loss + x.sum()
        count = count + x.sum() * k
        y = y + late * 0.1 * np.arange(3.0)
        late = x.sum()
    return loss, count, y, late


@other
def becomes_a_number(x):
    s = x
    for _ in range(12):
        s = 1.0
    return x * s


@other
def small_integers(x):
    small = np.array([1, 2, 3], np.int8)
    y, total = x * 0, small
    for k in range(12):
        total = total + k
    for k in range(300):
        y = y + x * (small < k)
    return y, total


@other
def half_precision(x):
    h = ad.Tensor(np.ones(3, np.float16))
    for k in range(12):
        h = h * 1.1 + k * 0.1
    return h


@other
def first_time(x):
    best = previous = None
    y = x * 0
    for k in range(12):
        best = x * k if best is None else best + x * k
        if previous is not None:
            y = y + previous
        previous = k
    return best, y, previous


@other
def one_object(x):
    y, count = x, x * 0
    for _ in range(12):
        if y is x:
            count = count + 1
        y = y + 1
    return count


@other
def end_of_an_array(x):
    i = 0
    while i < 3 and x[i] > 0:
        i += 1
    j = 0
    while not (j >= 3 or x[j] > 100):
        j += 1
    k = 5
    if x[0] > 0:
        k = 3
    fits = k < 3 and x[k] > 0
    return x * i, j, x * (1.0 if fits else 2.0), x * (x[k] if k < 3 else 1.0), 0 <= k < 3 < x.shape[0] + x[min(k, 2)]


@pytest.mark.parametrize("fn", OTHERS, ids=lambda f: f.__name__)
def test_other_numbers(fn, agree):
    for x in INPUTS:
        agree(fn, x)


@pytest.mark.parametrize("s", [0.7, 3.0])
@pytest.mark.parametrize("x", INPUTS, ids=["float32", "float64"])
def test_float_arguments(x, s, agree):
    agree(lambda x, s: (x * s, x * (s * 2.0), x * (s + 1), x * s**2, x * (s / 3), x * (2 / s), x * -s, s), x, s)
    agree(lambda x, s: (x * (s // 0.3), x * (s % 0.7), x * divmod(s, 0.4)[1], x * abs(s), x * round(s)), x, s)
    agree(lambda x, s: (x * max(s, 0.5), x * min(s, 0.5), x * math.floor(s), ad.Tensor(s) * x, ad.Tensor(s)), x, s)
    agree(lambda x, s: (np.add(s, 1.0) * x, np.sin(s) * x, np.abs(s) * x, np.maximum(s, 0.0) * x), x, s)
    agree(lambda x, s: (x * (s if s > 0 else 0.0), x * (s > 0 and 2.0), x * (s or 3.0), x * sum([s, s, 1])), x, s)
    agree(
        lambda x, s: (x if isinstance(s, float) else -x, x if type(s) is float else -x, x * hasattr(s, "shape")), x, s
    )


@pytest.mark.parametrize("s", [0.7, 3.0])
def test_floats_being_differentiated_stay_weak(s):
    def f(s):
        x = INPUTS[0]
        return ops.sum(x * (s * 2.0) + x * (s / 3) + x * s**2 + x * (s % 0.7) + x * abs(s) + x * max(s, 0.5))

    for g in (ad.value_and_grad(f), ad.jit(ad.value_and_grad(f)), ad.value_and_grad(ad.jit(f))):
        value, slope = g(s)
        assert value.dtype == np.float32 and slope.dtype == np.float64
        np.testing.assert_allclose(value, f(s), rtol=1e-6)


def test_loops_stay_loops():
    def f(x):
        loss, n = 0.0, 0
        for k in range(1000):
            if k in {3, 5} and isinstance(k, int):
                loss = loss + x.sum()
            n += k * k
        return loss * n

    graph = ad.jit(f).graph(INPUTS[0])
    assert sum(isinstance(node.op, Loop) for node in graph.nodes) == 1 and len(graph.nodes) < 20


# ---------------------------------------------------------------- refusals


def raises_at(fn, error, match, marker):
    lines, start = inspect.getsourcelines(fn)
    line = next(start + i for i, text in enumerate(lines) if marker in text)
    for x in INPUTS:
        with pytest.raises(error, match=match) as caught:
            ad.jit(fn)(x)
        assert f"test_numbers.py:{line}" in str(caught.value)


def test_refused_in_loops_of_unknown_length():
    def keyed(x):
        n, table = 0, {1: 3.0}
        while x.sum() < 50:
            x = x * 1.5 + table.get(n, 0.0)  # here
            n += 1
        return x

    def formatted(x):
        n = 0
        while x.sum() < 50:
            n += 1
            x = x * 1.5 + len(f"{n}")  # here
        return x

    def swallowed(x):
        n, table = 0, {1: 3.0}
        while x.sum() < 50:
            try:
                x = x * 1.5 + table[n]  # here
            except Exception:  # the program under test: a user's catch-all
                x = x * 2
            n += 1
        return x

    for fn in (keyed, formatted, swallowed):
        raises_at(fn, NeedsNumberError, "known only when the graph runs", "# here")


def test_identity_of_numbers_is_refused():
    def f(x):
        n, three = 2, 3
        if x.sum() > 1:
            n = three
        return x if n is three else -x

    raises_at(f, NeedsNumberError, "use ==", "n is three")


def test_integers_beyond_64_bits():
    def chosen(x):
        n = 1
        if x.sum() > 1:
            n = 2**62
        return x * (n * 4)

    raises_at(chosen, NeedsNumberError, "64 bits", "n * 4")

    def grown(x):
        n = 1
        while x.sum() < 1e30:
            x = x * 1.5
            n = n * 3
        return x * n

    for backend in ("native", "interpreter"):
        with pytest.raises(OverflowError, match=r"`while` at .*test_numbers.py:\d+.* use a float"):
            ad.jit(grown, backend=backend)(INPUTS[1])


def test_an_integer_that_does_not_fit_the_array_it_meets():
    def f(x):
        small = np.array([1, 2, 3], np.int8)
        for k in range(300):
            x = x + (small + k)
        return x

    for run in (f, ad.jit(f)):
        with pytest.raises(OverflowError):
            run(INPUTS[0])


def test_loops_without_an_end_of_their_own(agree):
    def counts(x):
        y = x * 0
        for k in itertools.count(2, 3):
            y = y + x * k
            if y.sum() > 50:
                break
        return y, k

    for x in INPUTS:
        agree(counts, x)
    assert any(isinstance(node.op, Loop) for node in ad.jit(counts).graph(INPUTS[0]).nodes)
    np.testing.assert_allclose(
        ad.grad(ad.jit(lambda x: counts(x)[0]))(INPUTS[1]), ad.grad(lambda x: counts(x)[0])(INPUTS[1])
    )

    def cycles(x):
        y = x * 0
        for k in itertools.cycle([1, 2, 3]):  # here
            y = y + x * k
            if y.sum() > 50:
                break
        return y

    raises_at(cycles, TypeError, "no known end", "# here")


@pytest.mark.parametrize(
    ("fn", "slope"),
    [
        (lambda x: max(x, 0.0), 1.0),
        (lambda x: max(0.0, x), 0.0),
        (lambda x: min(x, 0.0), 1.0),
        (lambda x: min(0.0, x * 2), 0.0),
        (lambda x: max([x * 3, x, 0.0]), 3.0),
        (lambda x: max(x, -x, key=lambda v: v * v), 1.0),
        (lambda x: min((v for v in (x * 2, x)), default=0.0), 2.0),
        (lambda x: x if x > 0 else 0.0 * x, 0.0),
        (abs, 0.0),
        (lambda x: ops.maximum(x, 0.0), 0.5),
        (lambda x: np.maximum(x, 0.0), 0.5),
    ],
)
def test_ties_have_one_derivative(fn, slope):
    for x in (0.0, np.float64(0.0), ad.Tensor(0.0)):
        for g in (ad.grad(fn), ad.jit(ad.grad(fn)), ad.grad(ad.jit(fn)), ad.jit(ad.grad(fn), backend="interpreter")):
            assert float(g(x)) == slope


TRUTHS = {
    "sum": lambda s: s * ((s > 0) + (s < 5)),
    "product and sum": lambda s: s * ((s > 0) * (s < 5) + (s != 3)),
    "beside a bool": lambda s: s * (True + (s > 0)),
    "negated": lambda s: s * -(s > 0),
    "difference": lambda s: s * ((s > 0) - (s < 1)),
    "counted": lambda s: s * sum([s > 0, s > 1, s == 2.0]),
    "and": lambda s: s * ((s > 0) & (s > 1)),
}


@pytest.mark.parametrize("f", TRUTHS.values(), ids=TRUTHS)
def test_comparisons_of_python_numbers_count_as_integers(f):
    for s in (2.0, -1.0):
        want = f(s)
        found = [ad.value_and_grad(f)(s)[0], ad.jvp(f, s, 1.0)[0], ad.jit(f)(s), ad.jit(ad.value_and_grad(f))(s)[0]]
        assert [float(y) for y in found] == [want] * 4
        assert ad.grad(f)(s) * s == want
