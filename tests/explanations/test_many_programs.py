"""Sources and tables of programs, graphs and shapes that nobody chose."""

from __future__ import annotations

import ast
from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as shapes

import adjoint as ad
from adjoint import ops
from adjoint.backends import interpreter
from adjoint.core import tree
from adjoint.explanations.array_text import array_text
from adjoint.explanations.numpy_writer import Statements, indented
from adjoint.explanations.source_text import SourceText
from adjoint.explanations.written_source import kernels
from adjoint.graph.derivatives import grad_graph
from adjoint.passes import optimise
from adjoint.testing.random_graphs import random_graph
from adjoint.testing.random_programs import random_program


def close(found, wanted, text, rtol=1e-9):
    for a, b in zip(map(np.asarray, found), map(np.asarray, wanted), strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape), text
        near = rtol if b.dtype.itemsize >= 8 else 2e-2
        np.testing.assert_allclose(a, b, rtol=near, atol=near, err_msg=text)


def written(graph):
    """A graph as the text of a function `f`."""
    head = SourceText()
    names = [head.names.fresh(f"x{k}") for k in range(len(graph.params))]
    block = Statements(head, graph, [ast.Name(name) for name in names])
    body = [*block.lines, f"return [{', '.join(map(ast.unparse, block.results()))}]"]
    constants = [f"{name} = {array_text(value)}" for name, value in head.constants.items()]
    code = "\n".join([*constants, f"def f({', '.join(names)}):", *indented(body)])
    return "\n".join(["import base64", "import numpy as np", "import scipy.special", *kernels(code), code])


def test_random_graphs():
    """Branches, loops and kernels of all kinds, with empty arrays too; every other one is a gradient."""
    for seed in range(60):
        random = Random(seed)
        graph, inputs = random_graph(random, random.randrange(3, 15), empty=seed % 5 == 0, real=bool(seed % 2))
        graph = optimise(grad_graph(graph) if seed % 2 else graph, ("inplace",))[0]
        text, namespace = written(graph), {}
        exec(text, namespace)
        with np.errstate(all="ignore"):
            close(namespace["f"](*[np.array(x)[()] for x in inputs]), interpreter.compile(graph)(*inputs), text)


def test_random_programs():
    """The last one stores into a vector that seems to have another name as long as variables are watched."""
    for seed in (*range(12), 300186):
        program = random_program(seed)
        places = tuple(range(len(program.inputs)))
        gradient = ad.grad(program.fn, places)
        want = [g.asnumpy() for g in tree.leaves(ad.jit(gradient, backend="interpreter")(*program.inputs))]
        source = ad.source(gradient, *program.inputs)
        with np.errstate(all="ignore"):
            close(tree.leaves(source(*program.inputs)), want, source.text)
        table = ad.explain(ad.jit(program.fn) if seed > 9 else program.fn, *program.inputs, max_rows=3)
        close(table.gradients.values(), [g.asnumpy() for g in gradient(*program.inputs)], str(table))


@settings(max_examples=25, deadline=None, derandomize=True)
@given(shapes.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3), st.data())
def test_shapes_that_broadcast(pair, data):
    draw = np.random.default_rng(0)
    x, y = (draw.uniform(0.5, 2.0, shape) for shape in pair.input_shapes)
    rank = len(pair.result_shape)
    axes = data.draw(st.sets(st.integers(0, rank - 1)) if rank else st.just(set()))

    def f(x, y):
        z = ops.sin(x * y) / y + ops.maximum(x, y) ** 2
        return ops.sum(z, axis=tuple(axes), keepdims=True) * ops.mean(z)

    want = [g.asnumpy() for g in ad.grad(f, (0, 1))(x, y)]
    source = ad.source(ad.grad(f, (0, 1)), x, y)
    close(source(x, y), want, source.text)
    for mode in ("reverse", "both"):
        table = ad.explain(f, x, y, mode=mode)
        close(table.gradients.values(), want, str(table))
    tangent = ad.jvp(lambda x: f(x, y), x, np.ones_like(x))[1]
    close([table.tangent], [tangent.asnumpy()], str(table))
