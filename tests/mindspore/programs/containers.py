"""Tuples, lists, dicts, strings, None and Python's builtins in compiled functions, with gradients."""

# ruff: noqa: RUF005

import mindspore as ms
from mindspore import Tensor

from mindspore_cases import right
from mindspore_programs import compiled as both
from mindspore_programs import value

X = Tensor([0.5, -1.25, 2.0], ms.float32)
Y = Tensor([[1.5, 0.25, -0.75], [2.0, -0.5, 1.0]], ms.float32)


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
        return x * 2, f"axes {x.ndim} and {2.5:.1f}"

    return value(f, X)
