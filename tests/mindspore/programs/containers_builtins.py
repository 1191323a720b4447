"""Python's builtins, numbers and conversions in compiled functions, with gradients."""

# ruff: noqa: C408, C409, C410, C417

import mindspore as ms
from mindspore import Tensor, mutable, ops

from mindspore_programs import compiled as both
from mindspore_programs import value

X = Tensor([0.5, -1.25, 2.0], ms.float32)
Y = Tensor([[1.5, 0.25, -0.75], [2.0, -0.5, 1.0]], ms.float32)


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


def case_gradient_of_a_mutable_tuple():
    def f(pair):
        return pair[0] * pair[1] * 2

    return ms.grad(f)(mutable((X, Y[0])))
