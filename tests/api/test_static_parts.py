"""Static data of a tree is part of its structure: loops do not change it behind one's back, and `tree.map` does not pass over it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import adjoint as ad


@dataclasses.dataclass
class State:
    x: object
    count: int = ad.tree.static_field(default=0)


class Named:
    def __init__(self, x, name):
        self.x, self.name = x, name


ad.tree.register(Named, lambda r: ((r.x,), r.name), lambda name, xs: Named(xs[0], name))

CHANGED = {
    "dataclass": (lambda x: State(x, 0), lambda s: State(s.x + 1, s.count + 1)),
    "registered": (lambda x: Named(x, "a"), lambda s: Named(s.x + 1, s.name + "b")),
    "inside": (lambda x: Named({"s": State(x)}, "a").x["s"], lambda s: State(s.x + 1, 7)),
}
LOOPS = {
    "scan": lambda step, init: ad.scan(lambda c, _: (step(c), None), init, None, length=3)[0],
    "while_loop": lambda step, init: ad.while_loop(lambda c: c.x < 3, step, init),
    "fori_loop": lambda step, init: ad.fori_loop(0, 3, lambda i, c: step(c), init),
}


@pytest.mark.parametrize("run", [lambda f: f, ad.jit], ids=["dynamic", "static"])
@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("kind", CHANGED)
def test_loops_refuse_a_change(run, loop, kind):
    make, step = CHANGED[kind]
    with pytest.raises(ad.ArgumentError, match=rf"{loop}: carry.* in the carry before the iteration: what is static"):
        run(lambda x: LOOPS[loop](step, make(x)).x)(0.0)
    kept = run(lambda x: LOOPS[loop](lambda s: dataclasses.replace(s, x=s.x + 1), State(x, 4)))(0.0)
    assert (float(kept.x), kept.count) == (3.0, 4)


def test_outputs_and_maps():
    seen = []

    def step(c, i):
        seen.append(i)
        return c, State(c, len(seen))

    with pytest.raises(ad.ArgumentError, match=r"scan: the output of iteration 1\.count is 2, and 1 in the first"):
        ad.scan(step, 1.0, np.arange(3.0))
    with pytest.raises(ad.ArgumentError, match=r"tree\.map: tree 2\['a'\]\.count is 2, and 1 in the first"):
        ad.tree.map(lambda a, b: a + b, {"a": State(1.0, 1)}, {"a": State(1.0, 2)})
    with pytest.raises(ad.ArgumentError, match=r"tree\.map: tree 2 is 'b', and 'a' in the first"):
        ad.tree.map(lambda a, b: a + b, Named(1.0, "a"), Named(1.0, "b"))
    params = State(3.0, 2)
    gradient = ad.grad(lambda s: s.x**2 * s.count)(params)
    moved = ad.tree.map(lambda p, g: p - g, params, gradient)
    assert (float(moved.x), moved.count) == (3.0 - 12.0, 2)
