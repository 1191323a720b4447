"""Functions: nested, closures, lambdas, default and keyword arguments, recursion, methods, decorators, generators."""

from __future__ import annotations

import functools

import numpy as np

import adjoint as ad
from adjoint import ops
from corpus.program import program

OFFSET = np.array([0.5, -0.25, 1.0])
RATE = 0.3


class Polynomial:
    """A callable object with static coefficients."""

    degree = 2

    def __init__(self, *coefficients):
        self.coefficients = coefficients

    def __call__(self, x):
        y = 0.0
        for c in self.coefficients:
            y = y * x + c
        return y

    @property
    def lead(self):
        return self.coefficients[0]

    @staticmethod
    def shifted(x):
        return x + 1 if x > 0 else x - 1

    @classmethod
    def power(cls, x):
        return x**cls.degree


class Cubic(Polynomial):
    """Calls its base class."""

    def __call__(self, x):
        return super().__call__(x) + x**3


class Counter:
    """Keeps a tensor as an attribute while it is used."""

    def __init__(self, start):
        self.value = start

    def add(self, x):
        self.value = self.value + x
        return self


def twice(fn):
    @functools.wraps(fn)
    def wrapper(x):
        return fn(fn(x))

    return wrapper


@twice
def bent(x):
    return x * x if x < 1 else ops.log(x)


def power(x, n):
    return 1.0 if n == 0 else x * power(x, n - 1)


def squares(x, n):
    for i in range(n):
        yield (x + i) ** 2


@program(0.6, traced=True)
def nested_function(x):
    def inner(v):
        return ops.sin(v) * v

    return inner(inner(x))


@program(0.6, 1.3, traced=True)
def closure_over_tensor(x, y):
    def scaled(v):
        return v * x

    return scaled(y) + scaled(scaled(y))


@program(0.6, 1.3, also=((1.3, 0.6),))
def closure_with_branch(x, y):
    def pick(v):
        return v * x if v > x else v + x

    return pick(y) * pick(2 * x)


@program(0.6, also=((1.6,),))
def closure_in_loop(x):
    y = x

    def step(v):
        return v + 0.2 * x

    while y < 2:
        y = step(y)
    return y**2


@program(0.6, traced=True)
def closures_in_list(x):
    steps = [lambda v, k=k: v * k + x for k in range(1, 4)]
    y = x
    for step in steps:
        y = step(y)
    return y


@program(0.6, 0.9, traced=True)
def lambdas_on_one_line(x, y):
    f, g = lambda v: v * v + y, lambda v: ops.sin(v) * y
    return f(g(x)) + g(f(y))


@program(0.6, also=((-0.6,),))
def lambda_with_ternary(x):
    leaky = lambda v: v if v > 0 else 0.1 * v  # noqa: E731
    return leaky(x) * leaky(x - 1) + (lambda a, b=2.0: a**b)(x)


@program([0.6, 1.1, 0.2], traced=True)
def captured_global_array(x):
    return ((x - OFFSET) ** 2).sum() * RATE


@program(0.6, traced=True)
def default_arguments(x, power=3, scale=0.5):
    def shaped(v, p=power, *, s=scale, shift=None):
        shift = v if shift is None else shift
        return s * v**p + shift

    return shaped(x) + shaped(x, 2) + shaped(x, s=2.0, shift=1.0)


@program(0.6, 1.1, 0.4, traced=True)
def star_args(*xs):
    total = 0.0
    for k, v in enumerate(xs):
        total = total + (k + 1) * v**2
    return total * xs[0]


@program(0.6, 1.1, traced=True)
def star_args_passed_on(x, y):
    def mixed(a, *rest, scale=1.0, **named):
        return scale * a * sum(rest) + named["extra"] ** 2

    values = [y, x * y]
    options = {"scale": 2.0, "extra": x}
    return mixed(x, *values, **options)


@program(1.1, traced=True)
def recursion_static_depth(x):
    return power(x, 5)


@program(0.7, traced=True)
def recursion_of_nested_function(x):
    def tree(v, depth):
        if depth == 0:
            return ops.sin(v)
        return tree(v * 0.5, depth - 1) + tree(v * v, depth - 1)

    return tree(x, 3)


@program(0.7, also=((1.7,),))
def recursion_with_branch(x):
    def fold(v, n):
        if n == 0:
            return v
        return fold(v - 0.5, n - 1) if v > 1 else fold(v * v + x, n - 1)

    return fold(x, 4)


@program(0.7, traced=True)
def callable_object(x):
    return Polynomial(1.0, -2.0, 0.5)(x) * Cubic(2.0, 1.0)(x)


@program(0.7, also=((-0.7,),))
def methods_of_all_kinds(x):
    p = Polynomial(3.0, 1.0)
    return p.shifted(x) * p.power(x) + Polynomial.shifted(x - 2) * p.lead


@program(0.7, traced=True)
def object_with_state(x):
    c = Counter(x)
    for _ in range(3):
        c.add(x * x).add(1.0)
    return c.value**2


@program(0.7, also=((1.4,),))
def decorated_function(x):
    return bent(x) + bent(2 * x)


@program(0.7, traced=True)
def functools_partial(x):
    scale = functools.partial(ops.mul, x)
    return scale(scale(2.0)) + functools.reduce(lambda a, b: a * b + x, [x, 2.0, x])


@program(0.7, traced=True)
def generator_function(x):
    return sum(squares(x, 4)) + max(2, 1) * next(squares(x, 1))


@program(0.7, static=False, reason="an assignment to an outer variable is refused, with the rewrite")
def nonlocal_variable(x):
    total = x

    def add(v):
        nonlocal total
        total = total + v * x

    for k in range(3):
        add(k)
    return total


@program(0.7, traced=True)
def function_returning_function(x):
    def make(p):
        def f(v):
            return v**p * x

        return f

    square, cube = make(2), make(3)
    return square(cube(x))


@program(0.7, 1.2, traced=True)
def composition(x, y):
    def compose(*fns):
        def run(v):
            for fn in fns:
                v = fn(v)
            return v

        return run

    return compose(ops.sin, lambda v: v * y, ops.exp)(x)


@program(0.7, also=((2.7,),))
def helper_with_early_return(x):
    def clipped(v, low, high):
        if v < low:
            return low + 0.1 * v
        if v > high:
            return high + 0.1 * v
        return v

    return clipped(x, 0.0, 1.0) * clipped(x - 3, 0.0, 1.0) + x


@program(0.7, traced=True)
def gradient_inside(x):
    slope = ad.grad(lambda v: ops.sin(v) * x)
    return slope(x) + slope(2.0 * x)


@program(0.7, 1.2, traced=True)
def value_and_grad_inside(x, y):
    value, slope = ad.value_and_grad(lambda v: v**3 * y)(x)
    return value * slope


@program([0.7, 0.2], traced=True)
def hessian_inside(x):
    h = ad.hessian(lambda v: v[0] ** 2 * v[1] ** 3 + ops.sin(v[0] * v[1]))(x)
    return h @ x


@program([0.7, 0.2], [0.1, 0.9], traced=True)
def jvp_inside(x, v):
    value, tangent = ad.jvp(lambda z: ops.exp(z) * z, x, v)
    return value * tangent


@program([[0.7, 0.2], [0.4, 1.1]], [0.3, 0.5], traced=True)
def vmap_inside(a, w):
    return ad.vmap(lambda row: ops.tanh(ops.dot(row, w)))(a)


@program(0.7, traced=True)
def perturbation_confusion(x):
    return x * ad.grad(lambda y: x + y * y * x)(x)


@program(0.7, traced=True)
def stopped_gradient(x):
    frozen = ad.stop_gradient(x * 0 + 1.5)
    return x * frozen + x**2 * frozen


@program(0.7, also=((1.7,),))
def walrus_in_while(x):
    y = x
    while (step := 0.3 * y + 0.1) < 1:
        y = y + step
    return y * step


@program(0.7, traced=True)
def walrus_in_comprehension(x):
    return sum([t * t for k in range(3) if (t := ops.sin(x + k)) is not None])


@program(0.7, also=((-0.7,),))
def dispatch_table(x):
    table = {"sq": lambda v: v * v, "abs": lambda v: v if v > 0 else -v}
    return sum(table[name](x) * k for k, name in enumerate(["sq", "abs"], start=1))


@program(0.7, traced=True)
def jit_inside(x):
    inner = ad.jit(lambda v: ops.exp(v) * v)
    return inner(x) * inner(x + 1)


@program(1.4, also=((0.4,),))
def raise_not_reached(x):
    def checked(v, kind):
        if kind not in ("log", "sqrt"):
            raise ValueError(f"unknown kind {kind!r}")
        return ops.log(v) if kind == "log" else ops.sqrt(v)

    return checked(x, "log") * checked(x, "sqrt") if x > 1 else checked(x, "sqrt")
