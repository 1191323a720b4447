"""Branches: if, elif, else, ternaries, and, or, not, chained comparisons, early return."""
# ruff: noqa: SIM108 (branches stand as people write them)

from __future__ import annotations

from adjoint import ops
from corpus.program import program


@program(0.7, also=((-0.7,),))
def if_else(x):
    if x > 0:
        y = ops.sin(x)
    else:
        y = x**2
    return y


@program(0.7, also=((-0.7,),))
def if_without_else(x):
    y = x**3
    if x > 0:
        y = y * ops.exp(x)
    return y


@program(2.5, also=((0.5,), (-1.5,), (7.0,)))
def if_elif_else(x):
    if x < 0:
        return x**2
    elif x < 1:
        return ops.sin(x)
    elif x < 5:
        return ops.log(x)
    else:
        return 1 / x


@program(0.6, 1.2, also=((1.2, 0.6), (-1.2, 0.6), (-1.2, -2.0)))
def nested_ifs(x, y):
    if x > 0:
        if y > x:
            z = x * y
        else:
            z = x / (1 + y * y)
    else:
        if y > 0:
            z = ops.exp(x) * y
        else:
            z = ops.cos(x * y)
    return z + x


@program(0.6, also=((1.9,), (-0.4,)))
def if_inside_if_one_side(x):
    y = x * x
    if x > 0:
        y = y + 1
        if y > 2:
            y = ops.sqrt(y)
        y = 3 * y
    return y


@program(1.3, also=((-1.3,),))
def ternary(x):
    return ops.sin(x) if x > 0 else ops.exp(x)


@program(1.3, also=((0.3,), (-1.3,)))
def ternary_of_ternaries(x):
    return x**2 if x > 1 else (ops.sin(x) if x > 0 else -x)


@program(1.3, 0.4, also=((0.4, 1.3),))
def ternary_as_argument(x, y):
    return ops.exp(x if x > y else y) * ops.sin(y if x > y else x * y)


@program(0.5, 0.8, also=((0.5, -0.8), (-0.5, 0.8)))
def and_of_tensors(x, y):
    if x > 0 and y > 0:
        return x * y
    return x - y**2


@program(0.5, 0.8, also=((0.5, -0.8), (-0.5, -0.8)))
def or_of_tensors(x, y):
    if x > 0 or y > 0:
        return x * y + x
    return ops.exp(x) * y


@program(0.5, also=((-0.5,),))
def not_of_tensor(x):
    if not x > 0:
        return x**2
    return x**3


@program(0.5, also=((1.5,), (2.5,)))
def chained_comparison(x):
    if 0 < x < 1:
        return ops.sin(x)
    if 1 <= x < 2:
        return ops.cos(x)
    return ops.tanh(x)


@program(0.5, 1.5, 0.9, also=((1.5, 0.5, 0.9), (0.2, 0.5, 0.9)))
def mixed_logic(a, b, c):
    if (a < b and not c > 1) or a > 1:
        r = a * b * c
    else:
        r = a + b + c
    if a < c < b and b > 0:
        r = r * c
    return r


@program(0.5, also=((-0.5,),))
def truth_value_kept(x):
    positive = x > 0
    y = x * 2
    if positive:
        y = ops.exp(y)
    return y * x if not positive else y


@program(0.5, 0.8, also=((-0.5, 0.8),))
def and_as_value(x, y):
    both = x > 0 and y > 0
    return x * y if both else x - 2 * y


@program(0.5, also=((-0.5,),), traced=True)
def comparison_as_number(x):
    return (x > 0) * ops.sin(x) + (x <= 0) * x**2


@program(0.4, also=((3.0,), (-3.0,)))
def early_return(x):
    if x > 2:
        return 2 + ops.log(x - 1)
    if x < -2:
        return -2 - ops.log(-x - 1)
    y = x**3
    return y / 4


@program(0.4, also=((1.4,), (2.4,)))
def return_after_work(x):
    y = x * x
    if y < 1:
        y = y + x
        if x > 0:
            return y * 2
    y = ops.sqrt(y)
    if y > 2:
        return y**3
    return y * x


@program(1.1, 0.4, also=((0.4, 1.1),))
def two_variables_swapped(x, y):
    if x < y:
        x, y = y, x
    return x**2 - ops.sin(y)


@program(1.1, also=((-0.9,),))
def branch_changes_several(x):
    a = x
    b = 1.0
    c = x * x
    if c > 1:
        a, b = b * x, a + c
        c = a * b
    else:
        c += a
        b -= c
    return a + b * c


@program(0.8, also=((-0.8,),))
def constant_branch(x):
    scale = 2.0 if x > 0 else 3.0
    return scale * x**2


@program(0.8, also=((-0.8,),))
def integer_branch(x):
    n = 2 if x > 0 else 3
    return x**2 * n


@program(0.8, also=((-0.8,),))
def branch_ignores_input(x):
    y = x
    if x < 0:
        y = 1.5
    return y * y + x


@program([0.3, -0.4, 1.2], also=(([0.3, -0.4, -1.2],),))
def branch_on_reduction(x):
    if x.sum() > 0:
        return ops.exp(x)
    return x**2


@program([0.3, 0.4, 1.2], also=(([0.3, -0.4, 1.2],), ([-0.3, -0.4, -1.2],)))
def any_and_all(x):
    if ops.all(x > 0):
        return ops.log(x).sum()
    elif ops.any(x > 0):
        return ops.sin(x).sum()
    return (x**2).sum()


@program([[1.0, 0.3], [0.2, 2.0]], also=(([[0.1, 1.3], [1.2, 0.2]],),))
def branch_on_matrix(a):
    if ops.det(a) > 0:
        return ops.inv(a)
    return a @ a


@program(0.5, also=((1.7,), (-0.3,)))
def static_and_dynamic_conditions(x, mode="fast"):
    if mode == "slow":
        return x
    if mode == "fast" and x > 1:
        return x**2
    if x > 0 and mode is not None:
        return ops.sin(x)
    return ops.cosh(x)


@program(2.0, also=((-2.0,),), traced=True)
def python_condition_stays_python(x):
    width = 3
    if width > 2:
        y = ops.sin(x)
    else:
        y = "never"
    return y if isinstance(y, str) else y * width


@program(0.2, also=((0.6,), (1.1,), (2.0,), (-1.0,)))
def beam_of_conditionals(x):
    score = x
    score = score + (0.5 * x if x > 0 else -x)
    score = score * (x if x > 0.5 else 1.0)
    score = score - (x**2 if x > 1.0 else ops.sin(x))
    score = score + (ops.exp(-x) if x > 1.5 else 0.0)
    return score


@program(0.3, 0.9, 0.5, also=((0.9, 0.3, 0.5), (0.3, 0.5, 0.9), (0.9, 0.5, 0.3)))
def sort_three(a, b, c):
    if a > b:
        a, b = b, a
    if b > c:
        b, c = c, b
    if a > b:
        a, b = b, a
    return a + 2 * b**2 + 3 * c**3


@program(1.5, -0.7, also=((-0.7, 1.5),))
def builtin_max_min_abs(x, y):
    return max(x, y) ** 2 + min(x, y) * 3 + abs(y)


@program([0.5, -1.5, 2.5], traced=True)
def where_instead_of_if(x):
    return ops.where(x > 0, ops.sqrt(ops.abs(x)), x**2)


@program(1.7, also=((0.2,),))
def assert_in_function(x):
    assert x.ndim == 0, "one number only"
    y = ops.log(1 + x)
    assert y > 0
    return y * x


@program(0.8, also=((-0.8,),))
def condition_calls_function(x):
    def is_positive(v):
        return v > 0

    def scaled(v):
        if is_positive(v):
            return v * 2
        return v * v

    return scaled(x) + scaled(scaled(x) - 1)


@program(1.5, also=((0.5,),))
def walrus_in_condition(x):
    if (y := x * x) > 1:
        return y + x
    return y * 3


@program(0.5, also=((1.5,),))
def pass_in_branch(x):
    if x > 1:
        pass
    else:
        x = x * x
    return ops.exp(x)


@program(0.9, also=((-0.9,), (2.2,)))
def match_on_static(x):
    kind = ("relu", 0.1)
    match kind:
        case ("relu", slope):
            return x if x > 0 else slope * x
        case _:
            return x


@program(0.9, also=((1.9,),))
def try_around_python_work(x):
    table = {"a": 2.0}
    try:
        factor = table["b"]
    except KeyError:
        factor = table["a"]
    finally:
        table.clear()
    return factor * x if x > 1 else x**factor


@program(1.2, also=((0.2,),))
def shadowed_in_branch(x):
    out = x
    if x > 1:
        inner = x * x
        out = inner + 1
    else:
        inner = ops.sin(x)
        out = inner * 2
    return out * inner


@program(0.1, [1.0, 2.0], also=((0.9, [1.0, 2.0]),))
def negated_comparison_of_a_number(x, v):
    if not x < 0.63:
        return x * x
    return ops.sum(v) * x


@program(1.0, 2.0, also=((-1.0, 2.0), (0.4, 0.1)))
def number_updated_in_branch_and_loop(x, y):
    if x > 0:
        k = x * 0.0
        while k < 1 + ops.tanh(y):
            k = k + 1.0
            y += 0.1 * ops.sin(y)
    else:
        y -= x
    y *= x
    return x + y
