"""Containers: tuples, lists, dicts, named tuples, dataclasses, comprehensions, unpacking, f-strings."""
# ruff: noqa: SIM108 (branches stand as people write them)

from __future__ import annotations

import collections
import itertools
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from adjoint import ops
from corpus.program import program


class Point(NamedTuple):
    """A named tuple of tensors."""

    x: Any
    y: Any


@dataclass
class Body:
    """A dataclass of tensors, with a method."""

    mass: Any
    speed: Any

    def energy(self):
        return 0.5 * self.mass * self.speed**2


@program(0.4, 1.2, traced=True)
def returns_tuple(x, y):
    return x * y, ops.sin(x), y**2


@program(0.4, 1.2, traced=True)
def returns_dict(x, y):
    return {"product": x * y, "parts": [x**2, ops.exp(y)]}


@program(0.4, 1.2, traced=True)
def returns_named_tuple(x, y):
    return Point(x * y, y - x**2)


@program({"w": [0.3, 0.7], "b": 0.2}, [1.1, 0.4], traced=True)
def dict_of_parameters(params, x):
    return ops.tanh(params["w"] * x + params["b"])


@program([0.3, 0.7, 1.1], traced=True)
def list_append_then_stack(x):
    rows = []
    for i in range(4):
        rows.append(ops.sin(x * i) + i)
    return ops.stack(rows) ** 2


@program([0.3, 0.7, 1.1], traced=True)
def running_products_in_list(x):
    seen = [x[0]]
    for i in range(1, 3):
        seen.append(seen[-1] * x[i] + seen[0])
    return seen


@program([0.3, 0.7, 1.1], traced=True)
def list_comprehension(x):
    return ops.stack([v * v + i for i, v in enumerate(x)])


@program([0.3, 0.7, 1.1], traced=True)
def filtered_comprehension(x):
    return sum([x[i] ** (i + 1) for i in range(3) if i != 1])


@program([0.3, -0.7, 1.1])
def ternary_in_comprehension(x):
    return ops.stack([v**2 if v > 0 else ops.exp(v) for v in x])


@program([[0.3, 0.7], [1.1, 0.2]], traced=True)
def nested_comprehension(a):
    return ops.stack([ops.stack([a[i, j] * a[j, i] + i for j in range(2)]) for i in range(2)])


@program([0.3, 0.7, 1.1], traced=True)
def dict_comprehension(x):
    table = {f"x{i}": v for i, v in enumerate(x)}
    return table["x0"] * table["x2"] + ops.exp(table["x1"])


@program(0.6, traced=True)
def set_and_dict_of_static_keys(x):
    names = set("abba")
    counts = collections.Counter("abracadabra")
    return sum(counts[n] * x**k for k, n in enumerate(sorted(names), start=1))


@program(0.6, 1.4, traced=True)
def dict_updated(x, y):
    memo = {"x": x}
    memo["y"] = y
    memo.update(z=x * y)
    memo["x"] += memo.pop("z")
    return memo["x"] * memo["y"] + len(memo)


@program(0.6, 1.4, traced=True)
def default_dict(x, y):
    groups = collections.defaultdict(list)
    for k, v in [("a", x), ("b", y), ("a", x * y)]:
        groups[k].append(v)
    return sum(groups["a"]) * groups["b"][0]


@program([0.3, 0.7, 1.1, 0.5], traced=True)
def star_unpacking(x):
    first, *middle, last = x
    return first * last + sum(v**2 for v in middle)


@program([[0.3, 0.7], [1.1, 0.5]], traced=True)
def nested_unpacking(a):
    (p, q), (r, s) = a
    return p * s - q * r**2


@program(0.3, 0.9, traced=True)
def tuple_swap_chain(x, y):
    x, y = y, x * y
    (x, (y, z)) = x + y, (y - x, x * x)
    return x * y * z


@program(0.3, 0.9, traced=True)
def tuple_concatenation(x, y):
    values = (x, y)
    values += (x * y,)
    values = values * 2
    return sum(v * k for k, v in enumerate(values[1:]))


@program(0.3, 0.9, traced=True)
def named_tuple_state(x, y):
    p = Point(x, y)
    for _ in range(3):
        p = p._replace(x=p.x + 0.1 * p.y, y=p.y - 0.2 * p.x)
    return p.x * p.y


@program(0.3, 0.9, also=((0.9, 0.3),))
def named_tuple_through_branch(x, y):
    p = Point(x, y)
    if p.x > p.y:
        p = Point(p.y, p.x * 2)
    return p.x + p.y**2


@program(1.3, 0.9, traced=True)
def dataclass_with_method(m, v):
    body = Body(mass=m, speed=v)
    faster = replace(body, speed=body.speed * 2)
    return body.energy() + ops.log(faster.energy())


@program(1.3, 0.9, also=((1.3, 3.0),))
def dataclass_changed_in_loop(m, v):
    body = Body(m, v)
    while body.energy() > 0.1:
        body = Body(body.mass, body.speed * 0.6)
    return body.speed * m


@program([0.3, 0.9, 0.5], traced=True)
def zip_star(x):
    pairs = [(v, v * v) for v in x]
    firsts, seconds = zip(*pairs)
    return sum(firsts) * sum(seconds)


@program([0.3, 0.9, 0.5], traced=True)
def itertools_products(x):
    total = 0.0
    for i, j in itertools.combinations(range(3), 2):
        total = total + x[i] * ops.sin(x[j])
    return total + sum(itertools.accumulate([x[0], x[1], x[2]], lambda a, b: a * b))


@program([0.3, 0.9, 0.5], traced=True)
def map_filter_sum(x):
    chosen = filter(lambda i: i % 2 == 0, range(3))
    return sum(map(lambda i: x[i] ** 2 * (i + 1), chosen))  # noqa: C417


@program([0.9, 0.3, 0.5], static=False, reason="sorted() compares tensors inside the interpreter")
def sorted_of_tensors(x):
    low, mid, high = sorted(x)
    return low + mid**2 + high**3


@program([0.9, 0.3, 0.5], traced=True)
def list_methods(x):
    values = [x[0], x[1]]
    values.insert(1, x[2] * 2)
    values.extend([x[0] * x[1]])
    values.reverse()
    last = values.pop()
    return last + values[0] * values[1] ** 2 + values[2]


@program(0.7, traced=True)
def f_string_keys(x):
    table = {}
    for i in range(3):
        table[f"{'even' if i % 2 == 0 else 'odd'}_{i:02d}"] = x ** (i + 1)
    return table["even_00"] * table["odd_01"] + table["even_02"]


@program([0.4, 0.6], [0.9, 0.1], traced=True)
def lists_of_lists(x, y):
    grid = [[a * b for b in y] for a in x]
    grid[0][1] = grid[1][0] + 1
    return sum(sum(row) ** 2 for row in grid)


@program(0.4, also=((1.4,),))
def container_from_branch(x):
    pair = (x, x * x) if x > 1 else (x * x, x)
    a, b = pair
    return a - b**3


@program(0.4, also=((1.4,),))
def dict_from_branch(x):
    if x > 1:
        out = {"a": x, "b": ops.sin(x)}
    else:
        out = {"a": x**2, "b": x}
    return out["a"] * out["b"]


@program(0.4, traced=True)
def none_as_marker(x):
    previous = None
    total = 0.0
    for i in range(4):
        current = ops.sin(x * (i + 1))
        if previous is not None:
            total = total + (current - previous) ** 2
        previous = current
    return total


@program(0.7, also=((1.7,), (0.1,)), traced=True)
def deque_window(x):
    window = collections.deque([x], maxlen=2)
    for _ in range(4):
        window.append(window[-1] + 0.5 * window[0] * x)
    return sum(window)


@program([0.4, 0.9, 1.3], traced=True)
def slice_of_list(x):
    values = [v * k for k, v in enumerate(x, start=1)]
    return values[-1] * sum(values[:2]) + sum(values[::2])
