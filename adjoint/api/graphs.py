"""`ad.graph`: from a Python function to its graph, its derivative graph and the optimised one.

Static mode is loaded when one of these functions is first called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from adjoint.graph.node import Graph


def build_computational_graph(fn: Callable[..., Any], inputs: Sequence[Any]) -> tuple[Graph, Graph]:
    """The graph of a function for such inputs, and the graph of its gradient by them.

    >>> import adjoint as ad
    >>> forward, gradient = ad.graph.build_computational_graph(lambda x: ad.ops.sin(x), [2.0])
    >>> [type(n.op).__name__ for n in gradient.calls]
    ['Cos']
    """
    forward = trace_function(fn, inputs)
    return forward, optimize_grad_graph(generate_grad_graph(forward))


def trace_function(fn: Callable[..., Any], inputs: Sequence[Any]) -> Graph:
    """The graph of a function for such inputs, before any pass.

    >>> import adjoint as ad
    >>> len(ad.graph.trace_function(lambda x: ad.ops.sin(x) * 2.0, [2.0]).calls)
    2
    """
    return traced(fn, inputs)[0]


def traced(fn: Callable[..., Any], inputs: Sequence[Any]) -> tuple[Graph, Callable[[list[Any]], Any]]:
    """As `trace_function`, with what puts the results of the graph together as the function does.

    >>> import adjoint as ad
    >>> traced(lambda x: {"a": x, "b": (x * 2, None)}, [ad.Tensor(2.0)])[1]([1, 2])
    {'a': 1, 'b': (2, None)}
    """
    from adjoint.api.jit import jit
    from adjoint.passes import PASSES

    _, entry, size = jit(fn, passes_off=[name for name, _ in PASSES])._prepared(tuple(inputs), {})
    graph = entry.at(size)
    changed = len(entry.written) + len(entry.stored)  # what the function writes to is among the first results
    if changed:
        graph = replace(graph, outputs=graph.outputs[changed:])
    return graph, entry.rebuild


def generate_grad_graph(forward_graph: Graph) -> Graph:
    """The graph from the inputs of a graph to the gradient of the sum of its results.

    >>> import adjoint as ad
    >>> forward = ad.graph.trace_function(lambda x, y: x * y, [2.0, 3.0])
    >>> from adjoint.graph.walk import replay
    >>> [float(g) for g in replay(ad.graph.generate_grad_graph(forward), [2.0, 3.0])]
    [3.0, 2.0]
    """
    from adjoint.graph.derivatives import grad_graph

    return grad_graph(forward_graph)


def optimize_grad_graph(graph: Graph) -> Graph:
    """The graph after all passes.

    >>> import adjoint as ad
    >>> graph = ad.graph.trace_function(lambda x: x * 1.0 + ad.ops.exp(x), [ad.Tensor([2.0])])
    >>> len(graph.calls), len(ad.graph.optimize_grad_graph(graph).calls)
    (3, 2)
    """
    from adjoint.passes import optimise

    return optimise(graph)[0]
