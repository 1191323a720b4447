"""Writes random programs: branches, loops, index updates, closures, containers, kinks, on numbers, vectors and matrices.

What a program assigns is bounded (by `tanh` and the like), so that no loop runs away.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import numpy as np

from adjoint import ops

Inputs = tuple[Any, ...]

SMOOTH = ("ops.sin", "ops.cos", "ops.tanh", "ops.sigmoid")
KINKED = ("ops.abs", "ops.relu", "abs")
REDUCTIONS = ("ops.sum", "ops.mean", "ops.max", "ops.min")
JOINS = ("ops.maximum", "ops.minimum", "max", "min")


class ProgramWriter:
    """Writes the lines of one function of three numbers, a vector and a square matrix."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.lines: list[str] = []
        self.scalars, self.vectors, self.matrices = ["a", "b", "c"], ["v"], ["m"]
        self.places = ["a", "b", "c"]  # what may be assigned a number
        self.counters: list[str] = []  # variables of the loops around
        self.helpers: list[str] = []
        self.loops = 0
        self.size = self.choice((1, 2, 3, 3, 3, 4))
        self.budget = self.choice((1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 5, 7, 20))  # statements at most

    # ------------------------------------------------------------ choosing

    def choice(self, options: Any) -> Any:
        return options[self.random.randrange(len(options))]

    def chance(self, percent: int) -> bool:
        return self.random.randrange(100) < percent

    def put(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    @contextmanager
    def scope(self, *, vector: str = "", scalar: str = "", counter: str = "") -> Iterator[None]:
        """Names that a block adds."""
        before = self.scalars, self.vectors, self.counters
        self.scalars = [*self.scalars, *filter(None, [scalar])]
        self.vectors = [*self.vectors, *filter(None, [vector])]
        self.counters = [*self.counters, *filter(None, [counter])]
        yield
        self.scalars, self.vectors, self.counters = before

    # ------------------------------------------------------------ expressions

    def number(self) -> str:
        return f"{self.random.randrange(-150, 151) / 100}"

    def index(self) -> str:
        """A place in the vector, some known only when the program runs."""
        kind = self.random.randrange(10)
        if kind < 5:
            return str(self.random.randrange(-self.size, self.size))
        if kind < 7 and self.counters:
            return f"{self.choice(self.counters)} % {self.size}"
        if kind < 8:
            return f"ops.argmax({self.choice(self.vectors)})"
        return f'ops.floor(ops.abs({self.scalar(1)}) * 3.0).astype("int64") % {self.size}'

    def scalar(self, depth: int = 2) -> str:
        """An expression of one number of the inputs' dtype."""
        kind = self.random.randrange(100)
        if depth == 0 or kind < 28:
            return self.leaf()
        one = self.scalar(depth - 1)
        if kind < 46:
            counts = self.counters and self.chance(30)
            other = self.number() if self.chance(20) else self.counted() if counts else self.scalar(depth - 1)
            return f"({one} {self.choice('+-*')} {other})"
        if kind < 66:
            return f"{self.choice(SMOOTH)}({one})"
        if kind < 72:
            return f"{self.choice(KINKED)}({one})"
        if kind < 76:
            return f"{self.choice(JOINS)}({one}, {self.scalar(depth - 1)})"
        if kind < 79:
            return f"ops.where({self.plain_test()}, {one}, {self.scalar(depth - 1)})"
        if kind < 84:
            return f"({one} if {self.test()} else {self.scalar(depth - 1)})"
        if kind < 92 or not self.helpers:
            return f"{self.choice(REDUCTIONS)}({self.vector(depth - 1)})"
        return f"{self.choice(self.helpers)}({one}, {self.scalar(depth - 1)})"

    def counted(self) -> str:
        """A number that Python makes of a loop's counter."""
        k, n = self.choice(self.counters), self.random.randrange(1, 5)
        forms = (
            f"({k} in {{1, {n}}})", f"({k} not in (0, {n}, None))", f"(0.5 if isinstance({k}, int) else 9.0)",
            f"(({k} + 1) ** -{n})", f"({k} // {n} - {k} % -{n})", f"max({k}, {n}) / {n}", f"(1 << {k} % {n})",
            f"(9.0 if {k} is None or type({k}) is float else 0.25)", f"bool({k}) * 0.5", f"(-{n} <= {k} < {n})",
        )  # fmt: skip
        return self.choice(forms)

    def leaf(self) -> str:
        kind = self.random.randrange(10)
        if kind < 7:
            return self.choice(self.scalars)
        if kind < 9:
            return (
                f"{self.choice(self.vectors)}[{self.index() if self.chance(30) else self.random.randrange(self.size)}]"
            )
        return f"m[{self.random.randrange(self.size)}, {self.random.randrange(self.size)}]"

    def vector(self, depth: int = 1) -> str:
        """An expression of a vector."""
        kind, name = self.random.randrange(100), self.choice(self.vectors)
        if depth <= 0 or kind < 25:
            return name
        if kind < 45:
            return f"({self.vector(depth - 1)} {self.choice('+-*')} {self.scalar(1)})"
        if kind < 60:
            return f"{self.choice((*SMOOTH, *KINKED))}({self.vector(depth - 1)})"
        if kind < 70:
            return f"ops.where({name} > {self.number()}, {name}, {self.scalar(1)})"
        if kind < 80:
            return f"(m @ {name})"
        if kind < 90:
            return f"{self.choice(REDUCTIONS)}(m, {self.random.randrange(2)})"
        if kind < 95:
            return f"m[{self.index()}]"
        return f"ops.stack([x * {self.leaf()} for x in {name}])"

    def plain_test(self) -> str:
        return f"{self.scalar(1)} {self.choice('<>')} {self.number()}"

    def test(self) -> str:
        kind = self.random.randrange(10)
        if kind < 6:
            return self.plain_test()
        if kind < 7:
            return f"not ({self.plain_test()})"
        if kind < 8:
            low = self.random.randrange(-9, 5) / 10
            return f"{low} < {self.scalar(1)} <= {low + 0.6:.1f}"
        return f"({self.plain_test()} {self.choice(('and', 'or'))} {self.plain_test()})"

    # ------------------------------------------------------------ statements

    def block(self, indent: int, depth: int, in_loop: bool) -> None:
        for _ in range(self.choice((1, 1, 2, 3))):
            self.statement(indent, depth, in_loop)

    def statement(self, indent: int, depth: int, in_loop: bool) -> None:
        self.budget -= 1
        kind = self.random.randrange(100)
        if depth == 0 or self.budget <= 0 or kind < 45:
            self.assignment(indent)
        elif kind < 65:
            self.branch(indent, depth, in_loop)
        elif kind < 85:
            self.loop(indent, depth)
        elif in_loop and kind < 93:
            self.put(indent, f"if {self.test()}:")
            self.put(indent + 1, self.choice(("break", "continue")))
        elif kind < 97:
            self.put(indent, f"if {self.test()}:")
            self.put(indent + 1, f"return ops.tanh({self.scalar()})")
        else:
            self.assignment(indent)

    def assignment(self, indent: int) -> None:
        kind = self.random.randrange(100)
        if kind < 45:
            self.put(indent, f"{self.choice(self.places)} = ops.tanh({self.scalar()})")
        elif kind < 55:
            self.put(indent, f"{self.choice(self.places)} += 0.1 * ops.sin({self.scalar(1)})")
        elif kind < 60:
            left, right = self.choice((("a", "b"), ("b", "c"), ("c", "a")))
            self.put(indent, f"{left}, {right} = {right}, ops.tanh({self.scalar()})")
        elif kind < 72:
            self.put(indent, f"v[{self.index()}] = ops.tanh({self.scalar()})")
        elif kind < 78:
            self.put(indent, f"v[{self.index()}] {self.choice('+-*')}= ops.tanh({self.scalar(1)})")
        elif kind < 82:
            cut = self.random.randrange(self.size + 1)
            part = self.choice((f"[:{cut}]", f"[{cut}:]", "[::2]", "[::-1]"))
            self.put(indent, f"v{part} = ops.sin({self.choice(self.vectors)}{part})")
        elif kind < 90:
            self.put(indent, f"v = {self.choice(('ops.sin', 'ops.tanh'))}({self.vector(2)})")
        elif kind < 93:
            self.put(indent, f"m = ops.tanh({self.choice(('m @ m', f'm * {self.scalar(1)}', 'm.T - m', 'm + v'))})")
        elif kind < 96:
            self.put(indent, f"m[{self.index()}] = ops.tanh({self.vector()})")
        else:
            self.put(indent, f"m[{self.index()}, {self.index()}] = ops.tanh({self.scalar()})")

    def branch(self, indent: int, depth: int, in_loop: bool) -> None:
        self.put(indent, f"if {self.test()}:")
        self.block(indent + 1, depth - 1, in_loop)
        if self.chance(15):
            self.put(indent, f"elif {self.test()}:")
            self.block(indent + 1, depth - 1, in_loop)
        if self.chance(60):
            self.put(indent, "else:")
            self.block(indent + 1, depth - 1, in_loop)

    def loop(self, indent: int, depth: int) -> None:
        self.loops += 1
        kind, n = self.random.randrange(100), self.loops
        if kind < 45:
            self.put(indent, f"for i{n} in range({self.choice((2, 3, 4, 12))}):")
            with self.scope(counter=f"i{n}"):
                self.block(indent + 1, depth - 1, True)
        elif kind < 57:
            self.put(indent, f"for r{n} in m * 1.0:")
            with self.scope(vector=f"r{n}"):
                self.block(indent + 1, depth - 1, True)
        elif kind < 67:
            self.put(indent, f"for i{n}, x{n} in enumerate({self.choice(self.vectors)} * 1.0):")
            with self.scope(scalar=f"x{n}", counter=f"i{n}"):
                self.block(indent + 1, depth - 1, True)
        else:
            self.put(indent, f"k{n} = a * 0.0")
            self.put(indent, f"while k{n} < {self.random.randrange(1, 5)} + ops.tanh({self.scalar(0)}):")
            self.put(indent + 1, f"k{n} = k{n} + 1.0")
            self.block(indent + 1, depth - 1, True)

    # ------------------------------------------------------------ the whole

    def helper(self) -> None:
        """A function inside, which reads the variables around as they are when it is called."""
        name = f"h{len(self.helpers)}"
        self.put(1, f"def {name}(x, y):")
        outer, self.scalars = self.scalars, [*self.scalars, "x", "y", "x", "y"]
        if self.chance(40):
            self.put(2, f"if {self.test()}:")
            self.put(3, f"return ops.tanh({self.scalar(1)})")
        elif self.chance(30):
            self.put(2, f"for _ in range({self.choice((2, 12))}):")
            self.put(3, f"x = ops.sin(x + {self.scalar(1)})")
        self.put(2, f"return ops.tanh({self.scalar()})")
        self.scalars = outer
        self.helpers.append(name)

    def containers(self) -> None:
        if self.chance(50):
            self.put(1, f"p = [{self.scalar(1)}, ops.sin({self.scalar(1)}), a]")
            self.scalars = [*self.scalars, "p[0]", "p[1]"]
            self.places = [*self.places, "p[1]", "p[2]"]
        if self.chance(50):
            self.put(1, f'q = {{"s": {self.scalar(1)} + b, "w": {self.vector()} * 1.0, "t": (a, c)}}')
            self.scalars = [*self.scalars, 'q["s"]', 'q["t"][1]']
            self.vectors = [*self.vectors, 'q["w"]']
            self.places = [*self.places, 'q["s"]']

    def source(self) -> str:
        self.put(0, "def program(a, b, c, v, m):")
        self.put(1, "v, m = v + 0.0, m * 1.0")
        if self.chance(35):
            self.containers()
        for _ in range(self.choice((0, 0, 1, 1, 2))):
            self.helper()
        while self.budget > 0:
            self.statement(1, 3, False)
        self.put(1, f"return {self.scalar()} + a + b * c + ops.sum(v) + ops.sum(m * m)")
        return "\n".join(self.lines) + "\n"


@dataclass(frozen=True)
class RandomProgram:
    """One random function, its source and its inputs."""

    name: str
    source: str
    fn: Callable[..., Any]
    inputs: Inputs

    def with_source(self, source: str) -> RandomProgram:
        """Another source for the same inputs."""
        return replace(self, source=source, fn=_function(self.name, source))

    def forget(self) -> None:
        """Let go of the source, which was kept for static mode to read."""
        linecache.cache.pop(self.name, None)


def program_of(random: Random, name: str) -> RandomProgram:
    """The program and the inputs that a source of random choices gives."""
    writer = ProgramWriter(random)
    source = writer.source()
    n, dtype = writer.size, np.float32 if writer.chance(10) else np.float64
    draw = np.random.default_rng(random.randrange(2**31))
    numbers = [x if dtype is np.float32 else float(x) for x in draw.uniform(-1, 1, 3).astype(dtype)]
    inputs = (*numbers, draw.uniform(-1, 1, n).astype(dtype), draw.uniform(-1, 1, (n, n)).astype(dtype))
    return RandomProgram(name, source, _function(name, source), inputs)


def random_program(seed: int) -> RandomProgram:
    """The program of a seed: always the same one."""
    return program_of(Random(seed), f"<random program {seed}>")


def _function(name: str, source: str) -> Callable[..., Any]:
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    namespace: dict[str, Any] = {"ops": ops}
    exec(compile(source, name, "exec"), namespace)
    return namespace["program"]
