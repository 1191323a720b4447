"""Side effects under branches and in loops of the graph: as Python has them, or refused; never another result.

Every kind of mutable object, changed in every way, in every kind of branch and loop, inside the function and outside of it.
"""

from __future__ import annotations

import gc
import linecache
import os
import sys
import types
from itertools import count
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint.core import tree
from adjoint.frontend import ControlFlowError, LeakError, UnsupportedSyntaxError
from adjoint.graph.trace import NeedsNumberError

NUMBER = count().__next__
REFUSALS = (ControlFlowError, LeakError, UnsupportedSyntaxError, NeedsNumberError)

PRELUDE = """
import array, bisect, collections, heapq, io, itertools, operator, random, types
from dataclasses import dataclass
import numpy as np
import adjoint as ad
from adjoint import ops

class Plain:
    def __init__(self): self.n = 0; self.inner = types.SimpleNamespace(a=types.SimpleNamespace(b=types.SimpleNamespace(c=0, l=[0])))
    def bump(self, k): self.n += k
class Slots:
    __slots__ = ("n", "__hidden")
    def __init__(self): self.n = 0; self.__hidden = 0
    def bump(self, k): self.__hidden += k; self.n = self.n + k
class Prop:
    def __init__(self): self._n = 0; self.sets = 0
    @property
    def n(self): return self._n
    @n.setter
    def n(self, v): self._n = v; self.sets += 1
class Setting:
    def __init__(self): object.__setattr__(self, "log", 0)
    def __setattr__(self, name, v): object.__setattr__(self, "log", self.log + 1); object.__setattr__(self, name, v)
class Adding:
    def __init__(self): self.n = 0
    def __iadd__(self, k): self.n += k; return self
    def __setitem__(self, i, v): self.n += v
    def __getitem__(self, i): return self.n
    def __enter__(self): self.n += 1; return self
    def __exit__(self, *e): self.n += 10
    def __call__(self, k): self.n += k
    def __next__(self): self.n += 1; return self.n
    def __iter__(self): return self
class MyList(list):
    tag = 0
class MyDict(dict):
    def __setitem__(self, k, v): dict.__setitem__(self, k, v * 1)
class MySet(set): pass
@dataclass
class Data:
    n: int = 0
    l: list = None
@dataclass(slots=True)
class SData:
    n: int = 0
def gen():
    k = 0
    while True:
        sent = yield k
        k += sent or 1
"""

#: What each program gets anew.
FRESH = """
class Holder: n = 0; log = []
class Child(Holder): pass
def func(): pass
"""

#: kind: (how it is made, what shows its state, ways to change it; K is 1 or 2)
KINDS: dict[str, tuple[str, str, list[str]]] = {
    "ndarray": ("np.zeros(3)", "o.tolist()", [
        "o[0] += K", "o[:] = K", "o += K", "np.add.at(o, [0], K)", "np.copyto(o, K)", "np.add(o, K, out=o)", "o.fill(K)",
        "o[1:][0] = K", "o.flat[0] = K", "o.itemset(0, K) if hasattr(o, 'itemset') else o.fill(K)", "np.put(o, [1], K)"]),
    "object array": ("np.array([0, None], object)", "o.tolist()", ["o[0] = K"]),
    "list": ("[0, 0]", "o", ["o[0] += K", "o.append(K)", "o.extend([K])", "o += [K]", "o.insert(0, K)", "o.pop()", "del o[0]",
        "o.sort(key=lambda v: -v)", "heapq.heappush(o, K)", "bisect.insort(o, K)", "operator.setitem(o, 0, K)", "o[:] = [K, K]",
        "o.clear()", "o.__setitem__(0, K)", "o *= K", "o.reverse()"]),
    "nested list": ("[[0], [0]]", "o", ["o[0][0] += K", "o[1].append(K)", "for q in o: q[0] += K"]),
    "dict": ("{'a': 0}", "o", ["o['a'] += K", "o['b'] = K", "o.update(a=K)", "o.setdefault('c', K)", "del o['a']", "o.pop('a')",
        "o |= {'a': K}", "o.clear()"]),
    "set": ("{0}", "sorted(o)", ["o.add(K)", "o |= {K}", "o.discard(0)", "o.update([K])", "o.clear()"]),
    "deque": ("collections.deque([0, 0])", "list(o)", ["o.append(K)", "o[0] += K", "o.rotate(1)", "o.appendleft(K)", "o.popleft()"]),
    "short deque": ("collections.deque([0, 0], maxlen=2)", "list(o)", ["o.append(K)", "o.appendleft(K)"]),
    "Counter": ("collections.Counter(a=0)", "dict(o)", ["o['a'] += K", "o.update('b')", "o.subtract(a=K)"]),
    "defaultdict": ("collections.defaultdict(int)", "dict(o)", ["o['a'] += K", "o['b']"]),
    "OrderedDict": ("collections.OrderedDict(a=0, b=0)", "list(o.items())", ["o['a'] += K", "o.move_to_end('a')", "o.popitem()"]),
    "ChainMap": ("collections.ChainMap({'a': 0})", "dict(o)", ["o['a'] += K"]),
    "bytearray": ("bytearray(b'ab')", "list(o)", ["o[0] = K", "o.append(K)", "o += bytes([K])", "o.extend(b'x')"]),
    "memoryview": ("memoryview(bytearray(b'ab'))", "list(o)", ["o[0] = K"]),
    "array": ("array.array('i', [0, 0])", "list(o)", ["o[0] = K", "o.append(K)"]),
    "attribute": ("Plain()", "(getattr(o, 'n', -1), o.inner.a.b.c, list(o.inner.a.b.l), sorted(vars(o)))", ["o.n += K", "o.inner.a.b.c += K",
        "o.inner.a.b.l.append(K)", "o.bump(K)", "setattr(o, 'n', K)", "vars(o)['n'] = K", "o.__dict__.update(n=K)", "o.new = K",
        "o.inner.a.b = types.SimpleNamespace(c=K, l=[])", "vars(o).pop('n', 0)", "object.__setattr__(o, 'n', K)"]),
    "slots": ("Slots()", "(getattr(o, 'n', -1), o._Slots__hidden)", ["o.n += K", "o.bump(K)", "setattr(o, 'n', K)"]),
    "property": ("Prop()", "(o.n, o.sets)", ["o.n = K", "o.n += K"]),
    "setattr": ("Setting()", "(o.log, sorted(vars(o)))", ["o.a = K"]),
    "operators": ("Adding()", "o.n", ["o += K", "o[0] = K", "o[0] += K", "o(K)", "next(o)", "operator.iadd(o, K)"]),
    "context manager": ("Adding()", "o.n", ["with o: pass"]),
    "class": ("Child", "(o.n, Holder.n, list(o.log))", ["o.n += K", "Holder.n += K", "o.log.append(K)", "setattr(o, 'n', K)",
        "type.__setattr__(o, 'n', K)"]),
    "function": ("func", "dict(vars(o))", ["o.calls = K", "vars(o)['x'] = K"]),
    "list subclass": ("MyList([0])", "(list(o), o.tag)", ["o.append(K)", "o[0] += K", "o.tag = K"]),
    "dict subclass": ("MyDict(a=0)", "dict(o)", ["o['a'] += K", "o['b'] = K"]),
    "set subclass": ("MySet([0])", "sorted(o)", ["o.add(K)"]),
    "dataclass": ("Data(0, [0])", "(o.n, o.l)", ["o.n += K", "o.l.append(K)", "o.l[0] += K"]),
    "dataclass with slots": ("SData()", "o.n", ["o.n += K"]),
    "list iterator": ("iter([1, 2, 3, 4] * 9)", "o.__length_hint__()", ["next(o)", "a, b = next(o), 0", "sum(zip([1], o), ())",
        "list(itertools.islice(o, K))", "[q for q, _ in zip(o, range(K))]", "for q in o: pass"]),
    "generator": ("gen()", "o.gi_frame.f_locals.get('k', -1) if o.gi_frame else -2", ["next(o)", "o.send(None)", "o.close()",
        "list(itertools.islice(o, K))"]),
    "count": ("itertools.count()", "repr(o)", ["next(o)"]),
    "random": ("random.Random(0)", "hash(o.getstate())", ["o.random()", "o.shuffle([1, 2])", "o.gauss(0, 1)", "o.seed(K)"]),
    "generator of NumPy": ("np.random.default_rng(0)", "str(o.bit_generator.state)", ["o.normal()", "o.random(2)"]),
    "file": ("io.StringIO()", "o.getvalue()", ["o.write('K')", "print(K, file=o, flush=True) if False else o.write('K')"]),
    "tensor": ("ad.Tensor(np.zeros(2))", "o.asnumpy().tolist() if not hasattr(o._trace, 'builder') else o", ["o[0] = K", "o[0] += K"]),
}  # fmt: skip

#: They cannot be put back: what Python took from them before it came to the branch is gone.
ITERATORS = {"list iterator", "generator", "count"}

#: How a change is run. A and B are the change with 1 and with 2; `change(k)` does the same in a function.
WAYS = {
    "if": "    if x > 0:\n        A\n",
    "if else": "    if x > 0:\n        A\n    else:\n        B\n",
    "elif": "    if x > 5:\n        pass\n    elif x > 0:\n        A\n    elif x > -1:\n        B\n",
    "nested": "    if x > -5:\n        if x > 0:\n            A\n        y = y + 1\n",
    "else only": "    if x > 0:\n        y = y * 2\n    else:\n        B\n",
    "early return": "    if x > 0:\n        A\n        return y * 2, OUT\n",
    "for": "    for i in range(12):\n        A\n        y = y * 1.5\n",
    "if in for": "    for i in range(11):\n        if y > 0:\n            A\n        y = y - 1\n",
    "static if in for": "    for i in range(12):\n        if i % 5 == 0:\n            A\n        y = y * 1.5\n",
    "while": "    while y < 9:\n        A\n        y = y + 4\n",
    "while call": "    while change(1) + y < 9:\n        y = y + 4\n",
    "break": "    for i in range(11):\n        if y > 4:\n            break\n        A\n        y = y + 1\n",
    "ternary": "    z = change(1) if x > 0 else 0.0\n",
    "and": "    z = x > 0 and change(1) > 0\n",
    "or": "    z = x > 0 or change(2) > 0\n",
    "called": "    if x > 0:\n        change(1)\n    else:\n        change(2)\n",
    "called in for": "    for i in range(12):\n        change(1)\n        y = y * 1.5\n",
    "method": "    if x > 0:\n        Doing.do(1)\n",
    "lambda": "    if x > 0:\n        (lambda: change(1))()\n",
    "comprehension": "    if x > 0:\n        [change(1) for q in range(2)]\n",
}


def program(kind: str, change: str, way: str, outside: bool) -> str:
    make, shown, _ = KINDS[kind]
    inner = f"def change(k):\n    {change.replace('K', 'k')}\n    return 1.0\n"
    if change.startswith("o ") and not outside:
        inner = inner.replace("):\n", "):\n    nonlocal o\n", 1)
    inner += "class Doing:\n    @staticmethod\n    def do(k):\n        change(k)\n"
    body = WAYS[way].replace("A", change.replace("K", "1")).replace("B", change.replace("K", "2")).replace("OUT", shown)
    indented = "".join(f"    {line}\n" for line in inner.splitlines())
    source = FRESH
    if outside:
        source += f"o = {make}\n{inner}"
        source += f"def f(x):\n    y = x + 0.0\n{body}    return y, 0.0\n"
    else:
        source += f"def f(x):\n    o = {make}\n{indented}    y = x + 0.0\n{body}    return y, {shown}\n"
    return source + f"def state():\n    return {shown}\n"


def parts() -> dict[str, Any]:
    module = sys.modules["state_parts"] = types.ModuleType("state_parts")  # dataclasses look there
    exec(PRELUDE, vars(module))
    return {k: v for k, v in vars(module).items() if not k.startswith("__")}


PARTS = parts()


def defined(source: str) -> tuple[dict[str, Any], str]:
    filename = f"state{NUMBER()}.py"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    module = types.ModuleType(filename.removesuffix(".py"))
    vars(module).update(PARTS)
    exec(compile(source, filename, "exec"), vars(module))
    return vars(module), filename


def plain(value: Any) -> Any:
    leaves, rebuild = tree.flatten(value)
    return rebuild([x.asnumpy().tolist() if isinstance(x, ad.Tensor) else x for x in leaves])


def same(a: Any, b: Any) -> bool:
    xs, ys = tree.leaves(a), tree.leaves(b)
    if len(xs) != len(ys):
        return False
    return all(
        np.allclose(x, y) if isinstance(x, (int, float, list)) and not isinstance(y, str) else x == y
        for x, y in zip(xs, ys)
    )


def observed(space: dict[str, Any], outside: bool) -> Any:
    return plain(space["state"]()) if outside else None


def attempted(run: Any) -> tuple[Any, BaseException | None]:
    try:
        return plain(run()), None
    except Exception as error:  # whatever Python raises for the program
        return None, error


def disagreement(kind: str, change: str, way: str, outside: bool, x: float, jit: Any = ad.jit) -> str | None:
    """What static mode does otherwise than Python, or None."""
    source = program(kind, change, way, outside)
    if outside and change.startswith("o "):
        return None  # `o += 1` would need a `global`
    try:
        python, _ = defined(source)
    except SyntaxError:
        return None
    before = observed(python, outside)
    expected, failed = attempted(lambda: python["f"](np.float64(x)))
    static, filename = defined(source)
    got, error = attempted(lambda: jit(static["f"], backend="interpreter")(np.float64(x)))
    if isinstance(error, REFUSALS):
        if filename not in str(error) and filename != getattr(error, "filename", None):
            return f"no line in: {error}"
        after = observed(static, outside)
        kept = kind in ITERATORS or same(before, after)
        return None if kept else f"refused, but {before} has become {after}"
    if error is not None or failed is not None:
        if failed is None:  # the branch that is not taken fails while the graph is built
            failed = attempted(lambda: defined(source)[0]["f"](np.float64(-x)))[1]
        same_error = type(error) is type(failed)
        return None if same_error else f"{failed!r} in Python, {error!r} in a graph"
    if not same(expected, got):
        return f"{expected} in Python, {got} in a graph"
    now, then = observed(python, outside), observed(static, outside)
    return None if same(now, then) else f"leaves {now} in Python, {then} in a graph"


@pytest.fixture(scope="module", autouse=True)
def _what_others_left() -> None:
    """Each look for leaks collects garbage: what lives already need not be gone through thousands of times."""
    gc.collect()
    gc.freeze()


CASES = [(kind, change) for kind, (_, _, changes) in KINDS.items() for change in changes]


#: One in so many programs is run: all of them take minutes. ADJOINT_STATE_SHARE=1 runs all.
SHARE = int(os.environ.get("ADJOINT_STATE_SHARE", "5"))


@pytest.mark.parametrize(("kind", "change"), CASES, ids=[f"{k}: {c}" for k, c in CASES])
def test_as_python_or_refused(kind: str, change: str) -> None:
    start = CASES.index((kind, change))
    for number, (way, outside) in enumerate((way, outside) for way in WAYS for outside in (False, True)):
        for x in (2.0, -2.0) if (number + start * 3) % SHARE == 0 else ():
            found = disagreement(kind, change, way, outside, x)
            assert found is None, f"{way}, x = {x}: {found}\n{program(kind, change, way, outside)}"
