"""`ad.source`: a function or its derivative as Python source that needs NumPy alone."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import os
import re
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np

from adjoint.api.inputs import check_function, name_of
from adjoint.core import parsing, tree
from adjoint.core.errors import boundary
from adjoint.core.spec import Spec
from adjoint.explanations import numpy_kernels
from adjoint.explanations.array_text import array_text, dtype_text
from adjoint.explanations.named_program import NamedProgram, named_program
from adjoint.explanations.numpy_writer import (
    WIDEST,
    Statements,
    every_node,
    indented,
    needs_numpy,
    shared_memory,
    variable_of,
)
from adjoint.explanations.source_text import SourceText
from adjoint.graph.node import Graph


@dataclasses.dataclass(frozen=True)
class Source:
    """A function as Python source. `print` shows it; `function()` is the function that it defines.

    `weights` has the Parameters that it takes as keyword arguments behind its own, by name, and other Tensors from outside that
    `backward()` tracks.
    """

    text: str
    name: str
    weights: dict[str, np.ndarray] = dataclasses.field(default_factory=dict, repr=False, compare=False)

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def function(self) -> Callable[..., Any]:
        """The function, defined by running the source in a namespace of its own."""
        namespace: dict[str, Any] = {"__name__": self.name}
        exec(compile(self.text, f"<source of {self.name}>", "exec"), namespace)
        return namespace[self.name]  # type: ignore[no-any-return]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the source computes for these arguments, with the weights as they were."""
        return self.function()(*args, **{**self.weights, **kwargs})


@boundary
def source(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Source:
    """A function or derivative as Python source in NumPy, for arguments of such shapes and dtypes.

    The source is that of the optimised graph: of `ad.grad(f)` the derivative, with the user's variables (`z`, and `dz` for the
    derivative by it) and comments that name the user's lines. It needs NumPy, and SciPy for special functions; running it gives
    the same numbers. Parameters become keyword arguments; what prints or stores is left out, with a comment.

    Args:
        fn: a function or Cell, or `ad.grad`, `ad.value_and_grad`, `ad.jvp` ... or `ad.jit` of one.
        args, kwargs: arguments for which it is written. Numbers that are not floats or arrays are part of the program.

    >>> import adjoint as ad
    >>> def f(x, w):
    ...     return (x * w).sum()
    >>> print(ad.source(ad.grad(f, (0, 1)), ad.Tensor([1.0, 2.0]), ad.Tensor([3.0, 4.0])))
    # grad(f), written by adjoint for x: float32[2], w: float32[2]
    import numpy as np
    <BLANKLINE>
    <BLANKLINE>
    def grad_f(x, w):
        return w, x
    """
    check_function("source", fn)
    return _SourceFile(fn, named_program(fn, args, kwargs)).source()


class _SourceFile:
    """The parts of one source."""

    def __init__(self, fn: Any, program: NamedProgram) -> None:
        self.fn, self.program = fn, program
        places = [n.place for n in every_node(program.graph) if n.place is not None and n.place[1]]
        self.files = sorted({p[0] for p in places})
        self.writer = SourceText(len(self.files) > 1)
        self.name = self.writer.names.fresh(name_of(fn).replace("<lambda>", "f"))
        self.unpacked: list[str] = []
        self.weights: dict[str, np.ndarray] = {}

    def source(self) -> Source:
        graph = self.program.graph
        signature, params = self._signature()
        block = Statements(self.writer, graph, params)
        results = [self._owned(k, r) for k, r in enumerate(block.results())]
        body = [*self._converted(graph, params), *block.lines, *self._returned(results)]
        lines = [*broken(f"def {self.name}(", signature, "):"), *indented(body)]
        constants = [f"{name} = {array_text(value)}" for name, value in self.writer.constants.items()]
        code = "\n".join([*constants, *lines])
        needed = kernels(code)
        text = "\n\n\n".join([self._head(code + "\n".join(needed), constants), *needed, "\n".join(lines)]) + "\n"
        return Source(text.rstrip("\n"), self.name, self.weights)

    # ------------------------------------------------------------ arguments

    def _signature(self) -> tuple[list[str], list[ast.expr]]:
        """The arguments of the function, and the expressions of the graph's inputs."""
        made, names = self.program.arguments, self.writer.names
        args, kwargs = made.whole
        given = [(f"[0][{k}]", self._argument_name(k), x) for k, x in enumerate(args)]
        given += [(f"[1][{k!r}]", k, x) for k, x in kwargs.items()]
        said: list[str] = []
        params: dict[str, ast.expr] = {}
        for path, wanted, value in given:
            name = names.fresh(wanted)
            mine = [p for p in made.paths() if p == path or p.startswith(path + "[") or p.startswith(path + ".")]
            said.append(name if mine else f"{name}={_static(value)}")
            for p in mine:
                rest = p[len(path) :]
                params[p] = self._unpacked(name, rest, len(params)) if rest else ast.Name(name)
        found = [params[p] for p in made.paths()]
        keywords = []
        for weight in self.program.parameters:
            keywords.append(names.fresh(weight.name or "weight"))
            self.weights[keywords[-1]] = np.array(weight.asnumpy())
        start = len(found) + len(keywords)
        for node, value in zip(self.program.graph.params[start:], self.program.outside, strict=True):
            keywords.append(names.fresh(variable_of(node) or "outside"))
            self.weights[keywords[-1]] = value
        signature = [*_defaults_last(said), *(["*", *keywords] if keywords else [])]
        return signature, [*found, *map(ast.Name, keywords)]

    def _argument_name(self, k: int) -> str:
        return re.sub(r"\W", "", self.program.signature.positional(k).replace("argument", "arg"))

    def _unpacked(self, name: str, path: str, k: int) -> ast.expr:
        """A variable for a part of an argument: the user's, or one with the name of the part."""
        part = re.findall(r"\w+", path)[-1]
        part = variable_of(self.program.graph.params[k]) or (f"{name}_{part}" if part.isdigit() else part)
        part = self.writer.names.fresh(part)
        self.unpacked.append(f"{part} = {name}{path}")
        return ast.Name(part)

    def _converted(self, graph: Graph, params: list[ast.expr]) -> list[str]:
        """Single numbers become NumPy's where Python's would behave otherwise: `1 / 0`, or the precision."""
        risky = needs_numpy(graph)
        lines: dict[str, str] = {line.partition(" = ")[0]: line.partition(" = ")[2] for line in self.unpacked}
        changed = []
        for node, given in zip(graph.params, params, strict=True):
            name, dtype = ast.unparse(given), node.spec.dtype
            if not node.spec.shape and ((risky and dtype.kind in "fc") or dtype in (np.float32, np.float16)):
                lines[name] = f"{dtype_text(dtype)}({lines.get(name, name)})"
                changed.append(name)
        if changed and risky:
            lines[changed[0]] += "  # so that dividing by zero gives infinity"
        return [f"{name} = {text}" for name, text in lines.items()]

    # ------------------------------------------------------------ results

    def _owned(self, k: int, result: ast.expr) -> ast.expr:
        """A result that can be written to."""
        shared = k in shared_memory(self.program.graph)
        return ast.Call(parsing.parsed("np.array", mode="eval").body, [result], []) if shared else result

    def _returned(self, results: list[ast.expr]) -> list[str]:
        marks = [_ResultMark(ast.unparse(r)) for r in results]
        out = self.program.rebuild(list(marks))
        if isinstance(out, tuple) and len(out) > 1:
            parts = [_structure(x) for x in out]
            whole = f"return {', '.join(parts)}"
            return [whole] if len(whole) <= WIDEST else broken("return (", parts, ")")
        return [f"return {_structure(out)}"]

    # ------------------------------------------------------------ head

    def _head(self, code: str, constants: list[str]) -> str:
        """What stands before the functions: where it is from, imports and constants."""
        made = self.program.arguments
        names = [self.program.signature.describe(p).strip("`") for p in made.paths()]
        shapes = ", ".join(
            f"{n}: {_shown(node.spec)}" for n, node in zip(names, self.program.graph.params, strict=False)
        )
        lines = textwrap.wrap(f"{name_of(self.fn)}, written by adjoint{' for ' if shapes else ''}{shapes}", 116)
        lines = [f"# {line}" for line in lines]
        if len(self.files) == 1 and self.files[0][:1] != "<" and "# line" in code:  # what is typed in has no file
            lines.append(f"# Lines are those of {os.path.basename(self.files[0])}.")
        lines += [f"# Left out: {what}." for what in dict.fromkeys(self.program.left_out)]
        modules = ["base64"] if "base64." in code else []
        lines += [f"import {m}\n" for m in modules] + ["import numpy as np"]
        lines += [f"import scipy.{m}" for m in ("linalg", "special") if f"scipy.{m}." in code]
        return "\n".join([*lines, *(["", *constants] if constants else [])])


@dataclasses.dataclass(frozen=True)
class _ResultMark:
    """Where a result stands in what is returned."""

    text: str


def _structure(value: Any) -> str:
    """What a function returns, as source: marks stand for its results. Objects become dictionaries of their fields."""
    if isinstance(value, _ResultMark):
        return value.text
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k!r}: {_structure(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(_structure, value))}]"
    if isinstance(value, tuple):
        inner = ", ".join(map(_structure, value))
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _structure({f.name: getattr(value, f.name) for f in dataclasses.fields(value)})
    return repr(value)


def broken(head: str, items: list[str], tail: str) -> list[str]:
    """A list of items on one line, or on as many as it takes.

    >>> broken("f(", ["a", "b"], ")"), broken("f(", ["a" * 60, "b" * 60], ")")[0]
    (['f(a, b)'], 'f(')
    """
    whole = f"{head}{', '.join(items)}{tail}"
    if len(whole) <= WIDEST:
        return [whole]
    lines = textwrap.wrap(", ".join(items) + ",", WIDEST, break_long_words=False, break_on_hyphens=False)
    return (
        [head, *(f"        {line}" for line in lines), tail]
        if head.startswith("def")
        else [head, *indented(lines), tail]
    )


def _static(value: Any) -> str:
    """The default of an argument that is part of the program."""
    text = repr(value)
    try:
        parsing.parsed(text, mode="eval")
    except SyntaxError:
        return "None"
    return text if len(text) <= 40 and not tree.children(value) else "None"


def _defaults_last(arguments: list[str]) -> list[str]:
    """Arguments in the caller's order; behind one with a default all have one."""
    found, seen = [], False
    for text in arguments:
        seen = seen or "=" in text
        found.append(text if "=" in text or not seen else f"{text}=None")
    return found


def _shown(spec: Spec) -> str:
    return str(Spec(spec.shape, spec.dtype)).removesuffix("[]")


def kernels(code: str) -> list[str]:
    """The source of the functions of ours that a code calls, each after those that it calls itself."""
    found: dict[str, str] = {}

    def add(text: str) -> None:
        for name in re.findall(r"(?<![.\w])(\w+)(?=\()", text):
            function = vars(numpy_kernels).get(name)
            if inspect.isfunction(function) and name not in found:
                found[name] = ""
                body = inspect.getsource(function).rstrip()
                add(body.partition("\n")[2])
                found.pop(name)
                found[name] = body

    add(code)
    return list(found.values())
