"""Random programs: expressions, nested branches and loops, index updates. Every mode must agree on them.

python -m adjoint.testing.fuzz 100000          # or: make fuzz
"""

from __future__ import annotations

import linecache
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoint import ops
from adjoint.api.forward import jvp
from adjoint.api.grad import grad, value_and_grad
from adjoint.api.jit import jit

SCALARS, VECTOR, SIZE = ("a", "b", "c"), "v", 3


class Writer:
    """Writes the lines of one random function of three numbers and a vector."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.counters = 0

    def number(self) -> str:
        return f"{self.random.uniform(-1.5, 1.5):.3f}"

    def scalar(self, depth: int = 2) -> str:
        """An expression of one number, bounded so that loops do not run away."""
        pick = self.random.random()
        if depth == 0 or pick < 0.3:
            return self.random.choice([*SCALARS, *SCALARS, self.number(), f"{VECTOR}[{self.random.randrange(SIZE)}]"])
        if pick < 0.5:
            return f"({self.scalar(depth - 1)} {self.random.choice('+-*')} {self.scalar(depth - 1)})"
        if pick < 0.8:
            return f"ops.{self.random.choice(['sin', 'cos', 'tanh', 'sigmoid'])}({self.scalar(depth - 1)})"
        if pick < 0.9:
            return f"({self.scalar(depth - 1)} if {self.test()} else {self.scalar(depth - 1)})"
        return f"{self.random.choice(['ops.sum', 'ops.max', 'ops.mean'])}({VECTOR} * {self.scalar(depth - 1)})"

    def test(self) -> str:
        left, right = self.scalar(1), self.number()
        plain = f"{left} {self.random.choice('<>')} {right}"
        pick = self.random.random()
        if pick < 0.7:
            return plain
        if pick < 0.8:
            return f"not ({plain})"
        return f"({plain} {self.random.choice(['and', 'or'])} {self.scalar(1)} > {self.number()})"

    def block(self, indent: int, depth: int, in_loop: bool) -> None:
        for _ in range(self.random.randint(1, 3)):
            self.statement(indent, depth, in_loop)

    def put(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def statement(self, indent: int, depth: int, in_loop: bool) -> None:
        pick = self.random.random()
        if depth == 0 or pick < 0.45:
            self.assignment(indent)
        elif pick < 0.65:
            self.put(indent, f"if {self.test()}:")
            self.block(indent + 1, depth - 1, in_loop)
            if self.random.random() < 0.6:
                self.put(indent, "else:")
                self.block(indent + 1, depth - 1, in_loop)
        elif pick < 0.85:
            self.loop(indent, depth)
        elif in_loop and pick < 0.93:
            self.put(indent, f"if {self.test()}:")
            self.put(indent + 1, self.random.choice(["break", "continue"]))
        elif pick < 0.97:
            self.put(indent, f"if {self.test()}:")
            self.put(indent + 1, f"return ops.tanh({self.scalar()})")
        else:
            self.assignment(indent)

    def assignment(self, indent: int) -> None:
        pick = self.random.random()
        name = self.random.choice(SCALARS)
        if pick < 0.6:
            self.put(indent, f"{name} = ops.tanh({self.scalar()})")
        elif pick < 0.7:
            self.put(indent, f"{name} += 0.1 * ops.sin({self.scalar(1)})")
        elif pick < 0.9:
            self.put(indent, f"{VECTOR}[{self.random.randrange(SIZE)}] = ops.tanh({self.scalar()})")
        else:
            self.put(indent, f"{VECTOR} = ops.sin({VECTOR} + {self.scalar(1)})")

    def loop(self, indent: int, depth: int) -> None:
        self.counters += 1
        if self.random.random() < 0.6:
            rounds = self.random.choice([2, 3, 4, 12])
            self.put(indent, f"for i{self.counters} in range({rounds}):")
            self.block(indent + 1, depth - 1, True)
        else:
            count = f"k{self.counters}"
            self.put(indent, f"{count} = a * 0.0")
            self.put(indent, f"while {count} < {self.random.randint(1, 4)} + ops.tanh({self.scalar(0)}):")
            self.put(indent + 1, f"{count} = {count} + 1.0")
            self.block(indent + 1, depth - 1, True)

    def source(self) -> str:
        self.put(0, "def program(a, b, c, v):")
        self.put(1, f"{VECTOR} = {VECTOR} + 0.0")
        for _ in range(self.random.randint(2, 4)):
            self.statement(1, 3, False)
        self.put(1, f"return {self.scalar()} + a + b * c + ops.sum({VECTOR})")
        return "\n".join(self.lines) + "\n"


@dataclass(frozen=True)
class RandomProgram:
    """One random function, its source and its inputs."""

    seed: int
    source: str
    fn: Callable[..., Any]
    inputs: tuple[Any, ...]


def random_program(seed: int) -> RandomProgram:
    """The program of a seed: always the same one."""
    source = Writer(seed).source()
    name = f"<random program {seed}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    namespace: dict[str, Any] = {"ops": ops}
    exec(compile(source, name, "exec"), namespace)
    draw = np.random.default_rng(seed)
    inputs = (*(float(x) for x in draw.uniform(-1, 1, 3)), draw.uniform(-1, 1, SIZE))
    return RandomProgram(seed, source, namespace["program"], inputs)


def disagreement(seed: int) -> str | None:
    """Where static and dynamic mode differ on the program of a seed; None if they agree."""
    program = random_program(seed)
    every = tuple(range(len(program.inputs)))
    tangents = tuple(np.cos(np.asarray(x) + i) for i, x in enumerate(program.inputs))
    try:
        value, gradient = value_and_grad(program.fn, every)(*program.inputs)
        pushed = jvp(program.fn, program.inputs, tangents)[1]
        expected = sum(float(np.vdot(g, t)) for g, t in zip(gradient, tangents, strict=True))
        if not np.allclose(expected, np.asarray(pushed), rtol=1e-7, atol=1e-9):
            return f"dynamic forward {pushed} against reverse {expected}"
        compiled = jit(program.fn)
        for what, found in (
            ("jit(f)", [compiled(*program.inputs)]),
            ("grad(jit(f))", grad(compiled, every)(*program.inputs)),
            ("jit(grad(f))", jit(grad(program.fn, every))(*program.inputs)),
        ):
            wanted = [value] if what == "jit(f)" else gradient
            for a, b in zip(found, wanted, strict=True):
                if not np.allclose(np.asarray(a), np.asarray(b), rtol=1e-8, atol=1e-10, equal_nan=True):
                    return f"{what} is {np.asarray(a)}, dynamic mode gives {np.asarray(b)}"
        return None
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        linecache.cache.pop(f"<random program {seed}>", None)


def main(count: int, start: int = 0) -> int:
    """Compare the modes on `count` programs, printing progress and each disagreement with its source."""
    began, wrong = time.perf_counter(), 0
    for seed in range(start, start + count):
        if found := disagreement(seed):
            wrong += 1
            print(f"\nseed {seed}: {found}\n{random_program(seed).source}")
        if (seed + 1) % 500 == 0:
            rate = (seed + 1 - start) / (time.perf_counter() - began)
            print(f"{seed + 1 - start} of {count} programs, {wrong} disagreements, {rate:.0f} a second", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000, int(sys.argv[2]) if len(sys.argv) > 2 else 0))
