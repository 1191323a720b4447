"""Several names of one object after branches and loops of the graph: a write reaches the names that it reaches in Python, or is refused.

Every kind of object, every way to make names of it in and around a branch, every way to write to it.
"""

from __future__ import annotations

import linecache
import sys
import types
from itertools import count
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.frontend import ControlFlowError
from adjoint.graph.trace import NeedsNumberError

NUMBER = count().__next__
REFUSALS = (ControlFlowError, NeedsNumberError)

PRELUDE = """
import functools, heapq, operator
from dataclasses import dataclass
import numpy as np
import adjoint as ad
from adjoint import ops

@dataclass
class Data:
    n: object
class Plain:
    def __init__(self, n): self.n = n
class Equal(Plain):
    def __eq__(self, other): return True
    __hash__ = None
"""

#: kind: (how one is made, another one, what shows its state, ways to write to it)
KINDS: dict[str, tuple[str, str, str, list[str]]] = {
    "tensor": ("ops.zeros(2, ad.float64) + x", "ops.ones(2, ad.float64) * x", "{}[0]", ["{}[0] = 7 * x", "{} += x", "{}[1:][0] = x\n    {}[:1][0] = x"]),
    "scalar": ("ops.sum(ops.zeros(2, ad.float64) + x)", "ops.sum(ops.ones(2, ad.float64))", "{} * 1.0", ["{}[...] = 7 * x"]),
    "array": ("np.zeros(2)", "np.ones(2)", "{}[0] * x", ["{}[0] = 7.0"]),
    "list": ("[x, x]", "[2 * x, x]", "{}[0] + len({})", ["{}[0] = 7 * x", "{} += [x]", "{}.append(x)", "{}.reverse(); {}.pop()",
        "operator.setitem({}, 0, 7 * x)", "del {}[0]"]),
    "dict": ("{{'n': x}}", "{{'n': 2 * x}}", "{}['n'] + len({})", ["{}['n'] = 7 * x", "{}.update(n=7 * x)", "{}.pop('n'); {}['n'] = x"]),
    "dataclass": ("Data(x)", "Data(2 * x)", "{}.n", ["{}.n = 7 * x", "setattr({}, 'n', 7 * x)", "{}.n += x"]),
    "object": ("Plain(x)", "Plain(2 * x)", "{}.n", ["{}.n = 7 * x"]),
    "equal object": ("Equal(1.0)", "Equal(1.0)", "{}.n * x", ["{}.n = 7 * x"]),
    "set": ("{{1}}", "{{1}}", "x * len({})", ["{}.add(2)"]),
}  # fmt: skip

#: How `a`, `b` and `c` become names of the objects A and B, which are made anew.
MERGES = {
    "made in a branch": "a = A\n    b = c = a\n    if x > 0:\n        c = B\n        b = c\n        a = c",
    "made in both": "if x > 0:\n        a = A\n        b = a\n    else:\n        a = B\n        b = a\n    c = a",
    "one name in one branch": "a = A\n    b = B\n    if x > 0:\n        c = a\n    else:\n        c = A",
    "two in one branch": "if x > 0:\n        a = A\n        b = a\n    else:\n        a = A\n        b = B\n    c = a",
    "one of two": "a, b = A, B\n    c = a if x > 0 else b",
    "the same in both": "a, b = A, B\n    c = a if x > 0 else a",
    "exchanged": "a, b = A, B\n    if x > 0:\n        a, b = b, a\n    c = a",
    "nested": "a, b = A, B\n    c = a\n    if x > -3:\n        if x > 0:\n            c = b\n        c = c",
    "in a list": "a, b = A, B\n    held = [a, a]\n    if x > 0:\n        held[1] = b\n    c = held[1]",
    "in an attribute": "a, b = A, B\n    held = Plain(a)\n    if x > 0:\n        held.n = b\n    c = held.n",
    "beside another one": "a, b = A, B\n    held = {{0: a, 1: b}}\n    if x > 0:\n        held[0] = B\n    c = held[1]",
    "in a loop": "a, b = A, B\n    c = a\n    k = 0\n    while k < x:\n        c = b\n        k += 1",
    "returned": "def pick(p, q):\n        if x > 0:\n            return p\n        return q\n    a, b = A, B\n    c = pick(a, b)",
    "by `max`": "a, b = A, B\n    c = max(a, b, key=lambda v: x if v is a else -x)",
    "one raises": "a, b = A, B\n    c = a\n    if x > 5:\n        c = b\n        raise ValueError",
    "bound to a function": "a, b = A, B\n    def give(v):\n        return v if x > 0 else b\n    c = functools.partial(give, a)()",
}
#: Where the write is: in the function, in one that it calls, or in one that makes the merge itself.
CALLER = "def write(w):\n        if x > 0:\n            w = {other}\n        {write}\n    a = {made}\n    b = a\n    c = [a]\n    write(a)"

#: Programs that must not be refused.
WORK = [
    ("list", "made in a branch", 0, "a"), ("tensor", "made in a branch", 0, "c"), ("tensor", "made in both", 1, "b"),
    ("dataclass", "made in both", 0, "a"), ("tensor", "the same in both", 0, "c"), ("object", "the same in both", 0, "c"),
    ("tensor", "exchanged", 0, "a"), ("list", "exchanged", 0, "b"), ("list", "beside another one", 2, "b"), ("list", "one raises", 0, "c"),
]  # fmt: skip


def parts() -> dict[str, Any]:
    module = sys.modules["alias_parts"] = types.ModuleType("alias_parts")  # dataclasses look there
    exec(PRELUDE, vars(module))
    return {k: v for k, v in vars(module).items() if not k.startswith("__")}


PARTS = parts()


def defined(source: str) -> Any:
    filename = f"aliases{NUMBER()}.py"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    space = dict(PARTS)
    exec(compile(source, filename, "exec"), space)
    return space["f"], filename


def program(kind: str, merge: str, write: str) -> str:
    made, other, shown, _ = KINDS[kind]
    body = MERGES[merge].replace("A", made).replace("B", other).replace("{{", "{").replace("}}", "}")
    seen = ", ".join(shown.format(n, n) for n in "abc")
    return f"def f(x):\n    {body}\n    {write}\n    return {seen}\n"


def check(source: str, must_work: bool = False) -> None:
    f, filename = defined(source)
    compiled, refused = ad.jit(f, backend="interpreter"), ""
    for x in (2.0, -2.0):
        expected = [float(y) for y in f(x)]
        try:
            found = [float(y) for y in compiled(x)]
        except REFUSALS as error:
            refused = str(error)
            break
        np.testing.assert_allclose(found, expected, err_msg=source)
    assert filename in refused if refused and not must_work else not refused, refused


@pytest.mark.parametrize("merge", MERGES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_write_reaches_all_names_or_is_refused(kind: str, merge: str) -> None:
    start = len(kind) + len(merge)
    for k, write in enumerate(KINDS[kind][3]):
        for name in "abc" if k == 0 else "abc"[(start + k) % 3]:
            check(program(kind, merge, write.replace("{}", name)))


@pytest.mark.parametrize("kind", KINDS)
def test_names_that_only_a_caller_holds(kind: str) -> None:
    made, other, shown, writes = KINDS[kind]
    for write in writes:
        text = write.replace("{}", "w").replace("\n    ", "\n        ")
        body = CALLER.replace("{write}", text).replace("{made}", made).replace("{other}", other)
        body = body.replace("{{", "{").replace("}}", "}")
        check(f"def f(x):\n    {body}\n    return {shown.format(*'aa')}, {shown.format(*['c[0]'] * 2)}\n")


@pytest.mark.parametrize(("kind", "merge", "write", "name"), WORK, ids=lambda x: str(x))
def test_what_a_graph_can_keep_it_keeps(kind: str, merge: str, write: int, name: str) -> None:
    check(program(kind, merge, KINDS[kind][3][write].replace("{}", name)), must_work=True)


@pytest.mark.parametrize("merge", [m for m in MERGES if m not in ("made in both", "two in one branch", "exchanged")])
@pytest.mark.parametrize("kind", ["tensor", "list", "dataclass", "equal object"])
def test_which_object_it_is(kind: str, merge: str) -> None:
    for question in ("a is c", "id(b) == id(c)", "any(c is not v for v in [a])"):
        source = program(kind, merge, "pass")
        check(source[: source.rindex("return")] + f"return x if {question} else -x, 0.0\n")


def test_an_argument_that_may_have_been_replaced() -> None:
    def f(w, x):
        if x > 0:
            w = w * 1.0
        w[0] = x
        return w.sum()

    for w in (ad.Tensor(np.zeros(2)), np.zeros(2)):
        with pytest.raises(ControlFlowError, match=r"which object `w` is"):
            ad.jit(f)(w, -1.0)


def test_refusals_end_with_the_trace() -> None:
    outside = ad.Tensor(np.zeros(2))

    def f(x):
        w = outside
        if x > 0:
            w = outside * 2
        return w * x

    for _ in range(3):
        assert float(ad.jit(f)(1.0)[0]) == 0.0
    outside[0] = 5.0
    assert float(outside[0]) == 5.0


def test_a_choice_that_nothing_holds_any_more_refuses_no_write() -> None:
    """`min(a, b) * 2` is an operand and gone: a later `a += v` has no other name to miss."""

    def f(a, b):
        d = ad.ops.tanh(min(a[0], b)) + (a if a.sum() > b else -a).sum()
        a += 0.5
        return (a * d).sum()

    def kept(a, b):
        d = a if a.sum() > b else -a
        a += 0.5
        return (a * d).sum()

    x = ad.Tensor(np.array([0.25, 0.75]))
    assert float(ad.jit(f)(x.copy(), 2.0)) == pytest.approx(float(f(x.copy(), 2.0)))
    with pytest.raises(ControlFlowError, match="is written to in place"):
        ad.jit(kept)(x.copy(), 2.0)


#: Programs that write in place after branches and loops, where nobody holds another name any more: none is to be refused.
PROGRAMS = {
    "rows": "l = [ops.ones(2, ad.float64) * x for _ in range(3)]\nfor i in range(3):\n    if l[i].sum() > 0:\n        l[i] = l[i] * 2\n    l[i][0] = float(i)\nreturn l[1].sum()",
    "filled": "y, out = ops.ones(2, ad.float64) * x, ops.zeros(12, ad.float64)\nfor k in range(12):\n    if y.sum() > 1:\n        y = y * 0.5\n    out[k] = y[0]\nreturn out.sum()",
    "rebound by a function": "def norm(v):\n    n = v.sum()\n    return v / n if n > 0 else v\na = norm(ops.ones(2, ad.float64) * x)\na = norm(a)\na[0] = x\nreturn a.sum()",
    "recursive": "def inner(w, d):\n    if d == 0:\n        return w\n    if w.sum() > 0:\n        w = w * 0.5\n    return inner(w, d - 1)\nr = inner(ops.ones(2, ad.float64) * x, 3)\nr[0] = x\nreturn r.sum()",
    "state of a loop": "s = {'a': ops.zeros(2, ad.float64), 'b': 1.0}\nfor k in range(12):\n    if s['b'] < 5:\n        s['a'] = s['a'] + x\n        s['b'] = s['b'] + 1\ns['a'][0] = 9.0\nreturn s['a'].sum() + s['b']",
    "object": "s = Data(ops.ones(2, ad.float64) * x)\nfor k in range(12):\n    if s.n.sum() > 0:\n        s.n = s.n * 0.9\n    s.n[0] = s.n[1] + 1\nreturn s.n.sum()",
    "best so far": "b, v = None, -1e9\nfor k in range(4):\n    c = ops.ones(2, ad.float64) * (x * k)\n    if b is None or c.sum() > v:\n        b, v = c, c.sum()\nc = None\nreturn b.sum()",
    "updated in place": "y = ops.ones(2, ad.float64) * x\nfor k in range(12):\n    y += 0.1\n    if y.sum() > 0:\n        y *= 0.9\ny[0] = x\nreturn y.sum()",
}


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_what_has_one_name_is_written(text: str) -> None:
    f, _ = defined("def f(x):\n" + "".join(f"    {line}\n" for line in text.splitlines()))
    for x in (2.0, -2.0):
        assert float(ad.jit(f)(x)) == pytest.approx(float(f(x)))
        for g in (ad.jit(ad.grad(f)), ad.grad(ad.jit(f))):
            assert float(g(x)) == pytest.approx(float(ad.grad(f)(x)))


def test_numbers_are_exchanged_beside_an_array_that_is_written_to():
    def program(a, c, v):
        v, k = v + 0.0, 0.0
        while k < 12 + 0.01 * v[1]:
            k = k + 1.0
            c, a = a, ad.ops.tanh(v[1] + 0.1 * c)
            v[0] = c * a
        return a + 2 * c + v.sum()

    given = np.float64(0.3), np.float64(0.7), np.array([0.2, 0.5])
    assert np.allclose(ad.jit(program)(*given), program(*given), rtol=1e-12)
