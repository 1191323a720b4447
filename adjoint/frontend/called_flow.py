"""Loops and branches that a program calls as functions (`ad.scan`, `ad.while_loop`, `ad.cond`): the graph's own, whatever they call.

They carry one value, a tree, in a place of its own; what else the functions change is found out and refused or carried as in a
statement of the user's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from adjoint.core import tree
from adjoint.core.dispatch import Value, wrap
from adjoint.core.errors import ArgumentError, ArgumentTypeError, DtypeError, ShapeError, called_at, user_place
from adjoint.core.parameter import Parameter, resolve
from adjoint.core.spec import Spec, number_of, promote, spec_of
from adjoint.core.tree_matching import beside, check_all_static, shown
from adjoint.frontend import state
from adjoint.frontend.branches import choose
from adjoint.frontend.items import GraphRange, LoopItems
from adjoint.frontend.rolled import GraphLoop
from adjoint.frontend.site import Site
from adjoint.frontend.state import Again, Box, FrameVariables, HeldContents
from adjoint.ops.language import cast, reshape
from adjoint.ops.stacking import stack

CARRY = "the carry"


def site_of(what: str) -> Site:
    """Where the program calls a loop or a branch."""
    filename, line = user_place() or ("<unknown>", 0)
    return Site(filename, line, 0, f"ad.{what}")


# ---------------------------------------------------------------- what is carried


def kept_carry(what: str, before: Any, after: Any) -> tuple[Any, list[int]]:
    """The carry after an iteration in the structure that it had before, and which of its leaves were Python numbers and are arrays now.

    Structure, shapes and dtypes stay; an error names the leaf that does not.
    """
    old, rebuild = tree.flatten(before)
    new = beside(after, before, f"{what}: carry", "before it")
    check_all_static(after, before, f"{what}: carry", "the carry before the iteration")
    paths = [path for path, _ in tree.paths(before, "carry")]
    settled = []
    for i, (x, y, path) in enumerate(zip(old, new, paths, strict=True)):
        if not state.is_dynamic(x):
            if not state.same(x, y):
                raise ArgumentError(
                    f"{what}: {path} changes from {shown(x)} to {shown(y)}; what is no number stays as it is{called_at()}"
                )
            continue
        if not state.is_dynamic(y):
            raise ArgumentTypeError(f"{what}: {path} changes from {state.described(x)} to {shown(y)}{called_at()}")
        new[i] = y = resolve(y) if isinstance(y, Parameter) else y
        s, t = spec_of(x), spec_of(y)
        if s.shape != t.shape:
            raise ShapeError(
                f"{what}: {path} changes from shape {s.shape} to {t.shape} in an iteration; give it its final shape before{called_at()}"
            )
        if not t.weak and s.weak and promote([s, t]) == t.dtype:
            settled.append(i)
        elif t.weak and not s.weak and promote([s, t]) == s.dtype:
            new[i] = array_of(y, s.dtype)
        elif not (s.weak and t.weak) and s.dtype != t.dtype:
            raise DtypeError(
                f"{what}: {path} changes from {_named(s)} to {_named(t)} in an iteration; give it its final dtype before, or cast it "
                f"back{called_at()}"
            )
    return rebuild(new), settled


def _named(spec: Spec) -> str:
    return f"a Python number ({spec.dtype})" if spec.weak else str(spec.dtype)


def array_of(x: Any, dtype: Any = None) -> Any:
    """A number or an array as a Tensor, of a dtype if one is given."""
    x = wrap(resolve(x) if isinstance(x, Parameter) else x)
    if number_of(x) is not None:  # an array with an axis is no number of Python's, nor is its element
        x = reshape(reshape(x, (1,)), ())
    return x if dtype is None or x.dtype == dtype else cast(x, dtype)


def outputs_of(what: str, y: Any) -> Any:
    """What an iteration puts out: numbers and arrays."""
    for path, leaf in tree.paths(y, "output"):
        if not state.is_dynamic(leaf):
            raise ArgumentTypeError(f"{what}: {path} is {shown(leaf)}, which cannot be stacked{called_at()}")
    return y


def pair_of(what: str, found: Any) -> tuple[Any, Any]:
    """What the function of a scan returns."""
    if not isinstance(found, (tuple, list)) or len(found) != 2:
        raise ArgumentTypeError(
            f"{what}: the function must return a pair (carry, output), it returned {shown(found)}{called_at()}"
        )
    return found[0], found[1]


# ---------------------------------------------------------------- loops


class CalledLoop(GraphLoop):
    """A loop of the graph whose state is one tree. `step(carry, *item)` gives the next carry and what it puts out, or None."""

    def __init__(
        self,
        what: str,
        step: Callable[..., tuple[Any, Any]],
        init: Any,
        items: LoopItems | None = None,
        test: Callable[[Any], Any] | None = None,
    ) -> None:
        box, ys = Box(CARRY, init), list[Any]()
        self.what, self.box, self.ys, self.stacked = what, box, ys, list[Any]()

        def body(*item: Any) -> None:
            before = box.value
            after, y = step(before, *item)
            box.value, settled = kept_carry(what, before, after)
            if settled:
                self._settle(settled, after)
            if items is not None and isinstance(items.count, int):
                ys.append(tree.map(array_of, outputs_of(what, y)))

        frame, site = FrameVariables(None), site_of(what)
        going = None if test is None else (lambda: test(box.value))
        super().__init__(frame, site, body, items=items, test=going, places=[box])
        if items is not None and isinstance(items.count, int):
            self.lists = [(HeldContents("the outputs", ys), 0)]

    def _settle(self, which: Sequence[int], after: Any) -> None:
        """Numbers that become arrays are arrays from the beginning."""
        leaves, rebuild = tree.flatten(self.start[0])
        new = beside(after, self.start[0])
        for i in which:
            leaves[i] = array_of(leaves[i], new[i].dtype)
        self.stand_ins[0] = rebuild(leaves)
        raise Again

    def _extend(self, stacked: list[Any]) -> None:
        if self.lists:
            self.stacked = self.rows[0].rebuild(list(stacked))


def while_in_graph(test: Callable[[Any], Any], step: Callable[[Any], Any], init: Any) -> Any:
    """`while test(x): x = step(x)` as a loop of the graph."""
    loop = CalledLoop("while_loop", lambda x: (step(x), None), init, test=test)
    loop.run()
    return loop.box.value


def for_in_graph(what: str, lower: Any, upper: Any, step: Callable[[Any, Any], Any], init: Any) -> Any:
    """`for i in range(lower, upper): x = step(i, x)` as a loop of the graph."""
    if isinstance(lower, int) and isinstance(upper, int):
        items = LoopItems(max(upper - lower, 0), lambda i: i + lower if lower else i)
    else:
        items = GraphRange(lower, upper).items()
    loop = CalledLoop(what, lambda x, i: (step(i, x), None), init, items)
    loop.run()
    return loop.box.value


def scan_in_graph(
    what: str, step: Callable[[Any, Any], Any], init: Any, xs: Any, length: int, reverse: bool, block: int = 1
) -> tuple[Any, Any]:
    """`carry, y = step(carry, x)` for each x as a loop of the graph, and all ys stacked; `block` of them in an iteration."""
    xs = tree.map(array_of, xs)
    count, rest = divmod(length, block)

    def item(i: Any) -> Any:
        k = length - 1 - i if reverse else i
        return tree.map(lambda x: x[k], xs)

    def several(carry: Any, i: Any) -> tuple[Any, Any]:
        if block == 1:
            return pair_of(what, step(carry, item(i)))
        found = []
        for j in range(block):
            after, y = pair_of(what, step(carry, item(i * block + j)))
            carry = kept_carry(what, carry, after)[0]
            found.append(outputs_of(what, y))
        return carry, stacked_outputs(what, found)

    loop = CalledLoop(what, several, init, LoopItems(count, lambda i: i))
    loop.run()
    carry = loop.box.value
    ys = loop.stacked[0]
    if block > 1:
        ys = tree.map(lambda y: reshape(y, (count * block, *y.shape[2:])), ys)
        last = []
        for i in range(count * block, length):
            after, y = pair_of(what, step(carry, item(i)))
            carry = kept_carry(what, carry, after)[0]
            last.append(outputs_of(what, y))
        if rest:
            ys = tree.map(lambda a, b: _joined(a, b), ys, stacked_outputs(what, last))
    return carry, tree.map(lambda y: y[::-1], ys) if reverse else ys


def _joined(a: Any, b: Any) -> Any:
    from adjoint.ops.joining import concat

    return concat([a, b], 0)


def stacked_outputs(what: str, rows: Sequence[Any]) -> Any:
    """The outputs of the iterations along a new first axis. They are alike in structure, shape and dtype."""
    columns = [beside(row, rows[0], f"{what}: the output of iteration {k}", "the first") for k, row in enumerate(rows)]
    for k, row in enumerate(rows):
        check_all_static(row, rows[0], f"{what}: the output of iteration {k}", "the first")
    rebuild = tree.flatten(rows[0])[1]
    stacks = []
    for i, (path, _) in enumerate(tree.paths(rows[0], "output")):
        column = [row[i] for row in columns]
        specs = [spec_of(resolve(y) if isinstance(y, Parameter) else y) for y in column]
        shapes = list(dict.fromkeys(s.shape for s in specs))
        if len(shapes) > 1:
            raise ShapeError(
                f"{what}: {path} has shape {shapes[0]} in one iteration and {shapes[1]} in another{called_at()}"
            )
        dtype = promote(specs) if len(set(specs)) > 1 else specs[0].dtype
        stacks.append(stack([array_of(y, dtype) for y in column]))
    return rebuild(stacks)


# ---------------------------------------------------------------- branches


def cond_in_graph(what: str, pred: Any, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
    """`yes() if pred else no()` as a branch of the graph."""
    return choose(pred, site_of(what), None, yes, no)


def is_batched(x: Any, kind: type) -> bool:
    """Whether a value differs between the examples of a batch, whose class is given."""
    while isinstance(x, Value):
        if x._trace.deferred:
            x.settled()
        if isinstance(x._trace, kind):
            return True
        x = x._value
    return False
