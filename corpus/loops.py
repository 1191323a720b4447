"""Loops: while and for, break, continue, else, over ranges, tensors and Python sequences."""
# ruff: noqa: SIM108 (branches stand as people write them)

from __future__ import annotations

import adjoint as ad
from adjoint import ops
from corpus.program import program


@program(1.3, also=((0.2,), (40.0,)))
def while_on_value(x):
    while x < 10:
        x = x * x + 1
    return x


@program(1.1, also=((3.0,),))
def while_counts(x):
    n = 0
    y = x
    while y < 20:
        y = y * x + 1
        n += 1
    return y * n


@program(0.3, also=((2.0,),))
def while_never_runs(x):
    y = x
    while y > 5:
        y = y / 2
    return y * x


@program(1.3, traced=True)
def while_static_condition(x):
    i = 0
    while i < 4:
        x = ops.sin(x) + i
        i += 1
    return x


@program(0.3, also=((1.9,),))
def while_true_break(x):
    y = x
    while True:
        y = y * 1.5 + 0.1
        if y > 3:
            break
    return y**2


@program(2.3, also=((30.0,),))
def while_and_limit(x):
    k = 0
    while x > 1 and k < 5:
        x = ops.sqrt(x) * 0.9 + 0.15
        k += 1
    return x * 3


@program(0.5, also=((1.5,),))
def while_else(x):
    n = 0
    while n < 4:
        x = x + 0.3 * x * x
        if x > 3:
            break
        n += 1
    else:
        x = ops.exp(x)
    return x


@program(0.7, also=((1.8,),))
def return_inside_while(x):
    y = x
    for _ in range(6):
        while y < 4:
            y = y * y + 0.5
            if y > 3:
                return y * x
        y = y - x
    return y


@program(1.2, 0.7, traced=True)
def for_range(x, y):
    for i in range(5):
        x = x * y + i
    return x


@program([0.5, 0.2], traced=True)
def for_range_start_stop_step(x):
    total = 0.0
    for i in range(7, 1, -2):
        total = total + i * x[0] + ops.sin(i * x[1])
    return total


@program(3.4, also=((5.2,), (0.3,)))
def for_range_tensor_bound(x):
    n = ops.cast(ops.floor(x), ad.int64)
    total = x
    for i in range(n):
        total = total + ops.sin(x * i)
    return total


@program([0.2, 0.9, 0.4], also=(([0.9, 0.2, 0.4],),))
def for_range_argmax(x):
    y = x[0]
    for i in range(ops.argmax(x) + 2):
        y = y * x[1] + i
    return y


@program([0.2, 0.9, 0.4, 0.7], traced=True)
def for_over_tensor(x):
    total = 1.0
    for v in x:
        total = total * (1 + v)
    return total


@program([[0.2, 0.9], [0.4, 0.7], [1.1, 0.3]], traced=True)
def for_over_rows(a):
    y = ops.zeros_like(a[0])
    for row in a:
        y = ops.tanh(y * row + row)
    return y


@program([0.2, 0.9, 0.4], traced=True)
def for_enumerate(x):
    total = 0.0
    for i, v in enumerate(x):
        total += (i + 1) * v**2
    return total


@program([0.2, 0.9, 0.4], [1.2, 0.3, 0.8], traced=True)
def for_zip(x, y):
    total = 0.0
    for a, b in zip(x, y):
        total = total + ops.sin(a) * b
    return total


@program([0.2, 0.9, 0.4], [1.2, 0.3, 0.8], traced=True)
def for_enumerate_zip(x, y):
    total = 0.0
    for i, (a, b) in enumerate(zip(x, y), start=1):
        total = total + a**i * b
    return total


@program([0.2, 0.9, 0.4], traced=True)
def for_reversed(x):
    y = 0.5
    for v in reversed(range(3)):
        y = y * x[v] + 1
    return y


@program(0.7, traced=True)
def for_over_list_of_functions(x):
    for layer in [ops.sin, ops.exp, lambda v: v * v]:
        x = layer(x)
    return x


@program(0.7, traced=True)
def for_over_dict_items(x):
    powers = {"linear": 1, "square": 2, "cube": 3}
    total = 0.0
    for name, p in powers.items():
        total = total + len(name) * x**p
    return total


@program([0.3, 0.8, 1.9, 0.4], also=(([0.3, 0.1, 0.2, 0.4],),))
def for_break(x):
    total = 0.0
    for v in x:
        if v > 1:
            break
        total = total + v**2
    return total + x[0]


@program([0.3, -0.8, 1.9, -0.4])
def for_continue(x):
    total = 0.0
    for v in x:
        if v < 0:
            continue
        total = total + v**3
    return total


@program([0.3, -0.8, 1.9, -0.4, 2.5, 0.6])
def for_break_and_continue(x):
    total = x[0]
    for i in range(6):
        if x[i] < 0:
            continue
        if x[i] > 2:
            break
        total = total * (1 + x[i])
    return total


@program([0.3, 0.8, 0.9], also=(([0.3, 1.8, 0.9],),))
def for_else(x):
    found = 0.0
    for v in x:
        if v > 1:
            found = v
            break
    else:
        found = x.sum()
    return found**2


@program([0.3, 0.8, 1.9], also=(([1.3, 0.8, 1.9],), ([0.3, 0.8, 0.2],)))
def return_inside_for(x):
    for i in range(3):
        if x[i] > 1:
            return x[i] * (i + 1)
    return x.sum()


@program(0.4, 0.3, traced=True)
def nested_for(x, y):
    total = 0.0
    for i in range(3):
        for j in range(i + 1):
            total = total + ops.sin(i * x) * ops.cos(j * y)
    return total


@program(1.4, also=((0.3,),))
def while_inside_for(x):
    y = x
    for i in range(3):
        while y < i + 2:
            y = y * 1.3 + 0.1
        y = y - 0.5 * x
    return y


@program(1.4, also=((0.3,),))
def for_inside_while(x):
    y = x
    while y < 8:
        for k in range(2):
            y = y + x * x / (k + 1) + 0.2
    return y * x


@program(1.4, also=((2.3,),))
def while_inside_while(x):
    outer = x
    total = 0.0
    while outer < 9:
        inner = outer
        while inner > 1:
            inner = inner / 2
            total = total + inner * x
        outer = outer * 2
    return total


@program([0.4, -0.3, 0.8, -0.1])
def if_inside_for(x):
    up, down = 0.0, 1.0
    for v in x:
        if v > 0:
            up = up + v**2
        else:
            down = down * (1 - v)
    return up * down


@program(7.3, also=((2.6,),))
def collatz_like(x):
    steps = 0
    while x > 1.5:
        if x > 4:
            x = x / 2
        else:
            x = x - 0.9 * ops.log(x)
        steps += 1
    return x * steps


@program(0.4, traced=True)
def loop_variable_after_loop(x):
    for i in range(1, 4):
        x = x * i + 0.1
    return x * i


@program(0.4, traced=True)
def loop_carries_tuple(x):
    state = (x, x * x)
    for _ in range(4):
        a, b = state
        state = (b, a + 0.5 * b)
    return state


@program(0.4, also=((0.8,),))
def while_carries_list(x):
    state = [x, 1.0]
    while state[0] < 2:
        state = [state[0] + state[1] * x, state[1] + 0.5]
    return state[0] * state[1]


@program(0.4, traced=True)
def loop_carries_dict(x):
    state = {"position": x, "speed": 1.0}
    for _ in range(5):
        state["position"] = state["position"] + 0.1 * state["speed"]
        state["speed"] = state["speed"] - 0.1 * ops.sin(state["position"])
    return state["position"], state["speed"]


@program([0.4, 0.9], traced=True)
def fibonacci_of_tensors(x):
    a, b = x[0], x[1]
    for _ in range(6):
        a, b = b, a + b * x[0]
    return b


@program(0.4, also=((0.9,), (1.6,)))
def dead_variable_in_loop(x):
    y = x
    while y < 2:
        scratch = y * y
        shifted = scratch + 1
        y = y + 0.3 * shifted
    return y


@program([0.3, 0.6], traced=True)
def for_over_static_list(x):
    total = 0.0
    for w in [0.5, 1.5, 2.5]:
        total = total + ops.tanh(w * x)
    return total


@program([0.3, 0.6], traced=True)
def for_over_static_pairs(x):
    total = 0.0
    for i, j, w in ((0, 1, 2.0), (1, 1, -0.5), (0, 0, 1.0)):
        total = total + w * x[i] * x[j]
    return total


@program(1.3, traced=True)
def reassigned_each_round(x):
    for _ in range(3):
        x = ops.sin(x)
        x *= 2
        x -= 0.1
        x /= 1.5
        x **= 2
        x += 0.5
    return x


@program(0.35, also=((0.6,), (0.11,)))
def while_with_or(x):
    y, n = x, 0
    while y < 1 or n < 3:
        y = y * 1.7
        n = n + 1
    return y + n * x


@program(5.7, also=((3.2,),))
def while_not(x):
    while not x < 1:
        x = x / 3 + 0.2
    return x**2


@program([0.5, 0.25, 0.75], traced=True)
def sum_with_generator(x):
    return sum(v**2 for v in x) * sum(x[i] * i for i in range(3))
