"""Tuples, lists, dicts, strings, None and Python's builtins in compiled functions, with gradients."""

# ruff: noqa: C408, C409, C410, C417, RUF005

import mindspore as ms
from mindspore import Tensor, mutable, nn, ops

from mindspore_cases import right

X = Tensor([0.5, -1.25, 2.0], ms.float32)
Y = Tensor([[1.5, 0.25, -0.75], [2.0, -0.5, 1.0]], ms.float32)


def both(fn, *inputs, wrt=0):
    """The value of a compiled function, and its gradient, compiled in two ways."""
    return ms.jit(fn)(*inputs), ms.grad(fn, wrt)(*inputs), ms.grad(ms.jit(fn), wrt)(*inputs)


def value(fn, *inputs):
    """What a compiled function gives, and what a Cell around it gives."""

    class Net(nn.Cell):
        def construct(self, *args):
            return fn(*args)

    return ms.jit(fn)(*inputs), Net()(*inputs)


def case_list_append_and_index():
    def f(x):
        parts = []
        for i in range(3):
            parts.append(x * i)
        parts[0] = x * 10
        return parts[0] + parts[-1] + parts[1]

    return both(f, X)


def rearranged(x):
    parts = [x, x * 2]
    parts.insert(1, x * 3)
    parts.extend([x * 4, x * 5])
    last = parts.pop()
    first = parts.pop(0)
    parts.reverse()
    return parts[0] * last + first * parts[1], len(parts)


def case_list_insert_pop_extend_reverse():
    return value(rearranged, X)


@right("the gradient through list methods is lost", X * 44, modes=("graph",))
def case_gradient_through_list_methods():
    return ms.grad(rearranged)(X)


def case_list_clear_and_count():
    def f(x):
        numbers = [1, 2, 1]
        n = numbers.count(1)
        m = numbers.index(2)
        numbers.clear()
        return x * n + m, len(numbers)

    return value(f, X)


def case_list_concatenation_and_slices():
    def f(x):
        a = [x, x * 2] + [x * 3]
        b = a[1:] + a[:1]
        c = [x] * 2
        return b[0] + c[1], len(b), len(c)

    return value(f, X), ms.grad(f)(X)


def case_list_comprehension():
    def f(x):
        parts = [x * i for i in range(4) if i != 2]
        squares = [p * p for p in parts]
        return squares[0] + squares[1] + squares[2]

    return both(f, X)


def case_nested_lists():
    def f(x):
        grid = [[x, x * 2], [x * 3, x * 4]]
        total = x
        for row in grid:
            for item in row:
                total = total + item
        grid[1][0] = x * x
        return total + grid[1][0]

    return both(f, X)


def case_list_results():
    def f(x):
        return [x, x * 2, 3, [x.sum(), "a"]]

    return value(f, X), ms.grad(f)(X)


def case_tuple_slices_and_unpacking():
    def f(x):
        t = (x, x * 2, x * 3, 4)
        a, *rest = t
        first, second = t[:2]
        return a + rest[1] + second * t[-1], len(rest), t[::2][1]

    return value(f, X), ms.grad(f)(X)


def case_tuple_arithmetic():
    def f(x):
        t = (1, 2) + (3,)
        u = t * 2
        if u == (1, 2, 3, 1, 2, 3) and t < (2, 0):
            x = x * len(u)
        return x * u[4]

    return both(f, X)


def case_nested_tuple_results():
    def f(x):
        return x, (x * 2, (x * 3, 1), ()), None

    return value(f, X), ms.grad(f)(X)


def case_dict_lookup_and_assignment():
    def f(x):
        d = {"a": x, "b": x * 2}
        d["c"] = d["a"] * d["b"]
        d["a"] = x * 5
        return d["a"] + d["c"]

    return both(f, X)


def case_dict_methods():
    def f(x):
        d = {"a": x, "b": x * 2}
        d.update({"b": x * 3, "z": x})
        keys = d.keys()
        total = x
        for v in d.values():
            total = total + v
        missing = d.get("q", x * 7)
        if "z" in d and d.get("nothing") is None:
            total = total * 2
        return total + missing, len(keys)

    return value(f, X), ms.grad(f)(X)


def case_dict_results():
    def f(x):
        return {"y": x * 2, "n": 3, "inner": {"z": x * x}}

    return value(f, X), ms.grad(f)(X)


def case_dict_items_and_has_key():
    def f(x):
        d = {"one": x, "two": x * 2}
        out = x
        for k, v in d.items():
            if k == "two":
                out = out * v
        return out

    return both(f, X)


def case_dict_with_numbers_as_keys():
    def f(x):
        d = {1: x, 2: x * x}
        out = x
        for k in d:
            out = out + d[k] * k
        return out

    return both(f, X)


def case_dict_arguments():
    def f(batch):
        return batch["x"] * batch["y"][0]

    batch = {"x": X, "y": (Y[0], Y[1])}
    return ms.jit(f)(batch)


def case_tuple_arguments():
    def f(pair, k):
        a, b = pair
        return a * b[0] * k

    return ms.jit(f)((X, Y), 2), ms.jit(f)([X, Y], 3.0)


def case_none_among_results_and_arguments():
    def f(x, y):
        if y is not None:
            return x * y, None
        return x, y

    return value(f, X, None), value(f, X, X)


def case_gradient_with_none_among_arguments():
    def f(x, y, z):
        if y is None:
            return x * z
        return x * y * z

    return both(f, X, None, X * 2, wrt=(0, 2)), both(f, X, X * 3, X * 2, wrt=(0, 1))


def case_strings():
    def f(x, name):
        text = f"{name}_{x.ndim}"
        if text == "sum_1":
            x = x.sum()
        other = "a" + "b" * 2
        return x * len(other), text

    return value(f, X, "sum"), value(f, Y, "sum")


def case_string_methods():
    def f(x):
        s = "one,two"
        parts = s.split(",")
        if s.startswith("one") and parts[1].upper() == "TWO" and "w" in s:
            x = x * len(parts)
        return x

    return both(f, X)


def case_format():
    def f(x):
        return x * 2, f"shape {x.shape} and {2.5:.1f}"

    return value(f, X)


def case_len_min_max_sum_abs():
    def f(x, y):
        n = len(x) + len((1, 2)) + len({"a": 1})
        m = max(3, 5, 2) + min([4, 2]) + abs(-3) + sum((1, 2, 3))
        return x * n + y[0] * m

    return both(f, X, Y, wrt=(0, 1))


def case_builtins_on_tensors():
    def f(x):
        return abs(x) + sum(x) + max(x) * 2 + min(x)

    return both(f, X)


def case_map_filter_zip():
    def f(x):
        doubled = tuple(map(lambda v: v * 2, (x, x + 1)))
        odd = list(filter(lambda n: n % 2 == 1, [1, 2, 3]))
        out = x
        for d, k in zip(doubled, odd):
            out = out + d * k
        return out

    return both(f, X)


def case_conversions_of_numbers():
    def f(x):
        return x * int(2.7) + float(3) + (1 if bool(0) else 2), int("12"), str(5), round(2.6), divmod(7, 3), pow(2, 3)

    return value(f, X)


def case_conversions_of_containers():
    def f(x):
        t = tuple([x, x * 2])
        u = list((1, 2))
        d = dict(a=1)
        return t[1], u[0], d["a"], list(range(3))

    return value(f, X)


def case_isinstance_of_containers():
    def f(x, t):
        if isinstance(t, tuple):
            x = x * 2
        if isinstance(t, (list, dict)):
            x = x * 3
        if isinstance(x, Tensor) and isinstance("s", str) and not isinstance(1.5, int):
            x = x * 5
        return x

    return both(f, X, (1, 2)), both(f, X, [1, 2])


def case_type_of_values():
    def f(x):
        if int is int and float == float and type((1,)) == tuple:  # noqa: E721
            return x * 2
        return x

    return both(f, X)


def case_all_and_any():
    def f(x, flags):
        if all(flags):
            return x * 2
        if any(flags):
            return x * 3
        return x

    return [ms.jit(f)(X, flags) for flags in ((True, True), (True, False), (False, False))]


def case_mutation_of_a_list_in_a_loop():
    def f(x):
        parts = [x, x, x]
        for i in range(3):
            parts[i] = parts[i] * (i + 1)
        while len(parts) > 1:
            last = parts.pop()
            parts[-1] = parts[-1] + last
        return parts[0]

    return both(f, X)


def case_dict_built_in_a_loop():
    def f(x):
        d = {}
        for i, name in enumerate(("a", "b", "c")):
            d[name] = x * (i + 1)
        return d["a"] * d["c"], d

    return value(f, X), ms.grad(f)(X)


def case_lists_in_branches():
    def f(x, flag):
        parts = [x]
        if flag:
            parts.append(x * 2)
        else:
            parts.append(x * 3)
        return parts[1] + parts[0]

    return both(f, X, True), both(f, X, False)


def case_stacking_a_list():
    def f(x):
        rows = []
        for i in range(3):
            rows.append(x * i)
        return ops.stack(rows).sum(1), ops.concat(rows)

    return value(f, X), ms.grad(f)(X)


def case_sets_and_ranges():
    def f(x, k):
        if k in range(1, 5) and k not in (2, 3):
            return x * k
        return x * -k

    return both(f, X, 4), both(f, X, 2)


def case_operators_on_numbers():
    def f(x, n):
        m = n // 2 + n % 3 - (n << 1) + (n >> 1) + (n & 3) + (n | 8) + (n ^ 5) + ~n
        return x * m + n**2 / 4

    return both(f, X, 7)


def case_numbers_as_arguments():
    def f(x, n, scale, flag):
        return x * n * scale if flag else x + n

    return both(f, X, 2, 1.5, True), both(f, X, 2, 1.5, False)


def case_only_numbers():
    def f(n, m):
        return n + m * 2, n / m, n > m, [n, m]

    return ms.jit(f)(3, 4), ms.jit(f)(3, 2.5)


def case_named_and_star_arguments():
    def f(x, *rest, scale=2.0, **named):
        out = x * scale
        for r in rest:
            out = out + r
        if "shift" in named:
            out = out + named["shift"]
        return out

    return ms.jit(f)(X), ms.jit(f)(X, X, X), ms.jit(f)(X, X, scale=3.0), ms.jit(f)(X, shift=4.0)


@right("of a mutable tuple it gives nothing in this mode", (Y[0] * 2, X * 2), modes=("pynative",))
def case_gradient_of_a_mutable_tuple():
    def f(pair):
        return pair[0] * pair[1] * 2

    return ms.grad(f)(mutable((X, Y[0])))
