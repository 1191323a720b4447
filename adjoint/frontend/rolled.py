"""A loop of the graph: the state that it carries, and one iteration of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from adjoint.core import context
from adjoint.core.dispatch import Value
from adjoint.core.spec import Number
from adjoint.frontend import copies as handed
from adjoint.frontend import effects, leaks, region, state
from adjoint.frontend.arrays_of_tensors import as_one_array
from adjoint.frontend.branches import and_
from adjoint.frontend.copies import Objects, growing, note_copies, parts, refuse_exchanged, shared_names
from adjoint.frontend.errors import ControlFlowError, only_defined_in
from adjoint.frontend.heap import Heap
from adjoint.frontend.items import LoopItems
from adjoint.frontend.logic import not_, truth
from adjoint.frontend.passed_values import does_not_pass, locate, stand_in, unfit
from adjoint.frontend.returns import RESULT
from adjoint.frontend.site import Site
from adjoint.frontend.state import UNDEFINED, Again, Flat, FrameVariables, HeldContents, Place, Snapshot, Variable
from adjoint.graph import flow
from adjoint.graph.bounds import UnboundedError
from adjoint.graph.number_types import kinds_of
from adjoint.graph.numbers import MANY, is_integer, is_number, marked
from adjoint.ops.functional import logical_and, unstack

#: How large the integers of a loop may become whose growth has no bound; the largest that suits the loop is taken.
_LIMITS = (2**53, 2**40, 2**31, 2**26, 2**20, 2**15)

Block = Callable[..., Any]


def going_on(ended: Any, known: Block, test: Block, names: Block, site: Site) -> Any:
    """Whether there is a next iteration; the condition is evaluated only if the loop has not ended."""
    if state.is_graph_value(ended):
        return and_(not_(ended), replace(site, kind="and"), names, test)
    return known()


class _ConditionActs(BaseException):
    """The condition of a loop has side effects."""


class GraphLoop:
    """One loop of the graph: which variables it carries, and the functions of one iteration."""

    def __init__(
        self,
        frame: FrameVariables,
        site: Site,
        body: Block,
        *,
        items: LoopItems | None = None,
        test: Block | None = None,
        stop: Block | None = None,
        names: Block | None = None,
        first: Block | None = None,
        strict: bool = False,
        acts: bool = False,
        places: list[Place] | None = None,
    ) -> None:
        self.frame, self.site, self.body = frame, site, body
        self.items, self.test, self.stop, self.strict = items, test, stop, strict
        self.optional = False  # Python could run the loop as well
        self.refused = ""  # why it has to
        self.places: list[Place] = frame.places(site) if places is None else places
        self.shared = shared_names(self.places)
        self.names, self.first = names, first
        self.acts = acts  # the condition does something: the state holds its value, found at the end of each iteration
        self.going = state.Box("the condition", truth(first()) if acts and first is not None else True)
        if acts:
            bound = [frame.variables[n] for n in site.test_binds if n in frame.variables and n not in site.names]
            self.places += [*bound, self.going]
        self.snapshot = Snapshot(frame, self.places, body, test, stop)
        self.stand_ins: dict[int, Any] = {}
        self.fixed: set[tuple[int, int]] = set()  # (place, leaf) of numbers that no iteration changes
        self.start: list[Any] = []
        self.block = region.Block(self.snapshot.heap, f"the {self._where}")
        self.around: Any = True  # when the loop takes place, if effects in it must know
        self.limits: dict[int, int] = {}  # integers of the state whose size each iteration checks
        fixed = items is not None and stop is None and not state.is_graph_value(items.count)
        self.lists = growing(frame, site) if fixed else []
        self.held: list[Any] = []  # after an iteration
        self.objects: list[tuple[Objects, Objects]] = []  # in the places, before and after an iteration
        self.rows: list[Flat] = []  # what an iteration appends to each list

    def run(self) -> None:
        """Carry the state through the loop, and leave in the variables what comes out."""
        if self.test is None or self.acts or not self.site.test_binds:
            try:
                self._run()
                return
            except _ConditionActs:
                self.snapshot.restore()
        again = GraphLoop(
            self.frame, self.site, self.body, test=self.test, stop=self.stop, names=self.names, first=self.first,
            strict=self.strict, acts=True,
        )  # fmt: skip
        again.optional = self.optional
        again._run()

    def _run(self) -> None:
        self._refuse_kept(self.places)
        handed.refuse_augmented(self.frame, self.site, self._where)
        while True:
            self.start = [self.stand_ins.get(i, as_one_array(p.get())) for i, p in enumerate(self.places)]
            init = self._carried(self.start)
            self.around = effects.when() if self.block.wanted else True
            try:
                outputs = self._loop(init)
                break
            except Again:
                continue
            except UnboundedError as error:
                self._limit(init, error)
            except flow.MismatchError as error:
                names = [p.name for p in self.places]
                at = error.index - self._first
                _, name = locate(self.places, names, self.start, at, self._is_carried)
                raise self._changes(name, error.left, error.right) from None
        self._enter(outputs)
        self._extend(outputs[len(init) :])
        leaks.kept(self.site, self.places)
        note_copies(f"after the `{self.site.kind}` at {self.site.place}", self.places, self.objects)

    def _limit(self, init: list[Any], error: UnboundedError) -> None:
        """Let every iteration check that integers without bounds stay small, and raise if they do not."""
        smaller = [b for b in _LIMITS if b < min(self.limits.values(), default=2**63)]
        if not smaller or (self.items is not None and isinstance(self.items.count, int)):
            raise ControlFlowError(
                f"an integer in the {self._where} is known only when the graph runs, and Python must compute it: "
                f"{str(error).splitlines()[0]}. Start from a float (1.0 in place of 1), or make the number of iterations known"
            ) from None
        self.limits = {self._first + i: smaller[0] for i, x in enumerate(init) if is_integer(x)}

    def _check_sizes(self, after: list[Any]) -> None:
        for i, limit in self.limits.items():
            x = after[i - self._first]
            if state.is_graph_value(x):
                said = (
                    f"an integer in the {self._where} exceeds {limit}, beyond which a graph could be wrong: use a float"
                )
                effects.check(abs(x) <= limit, self.site, OverflowError, said)

    @property
    def _first(self) -> int:
        """The place of the state behind a counter."""
        return 0 if self.items is None else 1

    def _loop(self, init: list[Any]) -> list[Any]:
        if self.items is None:
            return flow.while_loop(self._condition, self._while_iteration, init, limits=self.limits)
        at, count = self.items.at, self.items.count
        if self.stop is None:
            return flow.for_loop(
                count,
                lambda i, *values: self._iteration(values, lambda: i < count, lambda: self.body(at(i))),
                init,
                self.limits,
            )

        def going(i: Any, *values: Any) -> Any:
            return logical_and(i < count, self._condition(*values))

        def body(i: Any, *values: Any) -> list[Any]:
            return [i + 1, *self._iteration(values, lambda: going(i, *values), lambda: self.body(at(i)))]

        high = count - 1 if isinstance(count, int) else MANY - 1
        return flow.while_loop(going, body, [0, *init], counter=Number(0, high), limits=self.limits)[1:]

    # ------------------------------------------------------------ one iteration

    def _condition(self, *values: Any) -> Any:
        self._enter(values)
        if self.acts:
            going = truth(self.going.value)
            self.snapshot.restore()
            return going
        try:
            where = region.Block(self.snapshot.heap, f"the condition of the {self._where}")
            with region.inside(where, True):
                ended = truth(self.stop()) if self.stop is not None else False
                going = True if self.test is None else truth(self.test())
            acts = any(self.snapshot.changed(self.places, where.where))
        finally:
            self.snapshot.restore()
        if acts:
            raise _ConditionActs
        if self.strict and not (state.is_graph_value(going) or state.is_graph_value(ended)):
            raise ControlFlowError("the condition does not depend on what the loop computes")
        return logical_and(not_(ended), going) if state.is_graph_value(ended) or ended else going

    def _while_iteration(self, *values: Any) -> list[Any]:
        def body() -> None:
            self.body()
            if self.acts and self.test is not None and self.names is not None:
                ended = self.stop() if self.stop is not None else False
                known = (lambda: False) if not state.is_graph_value(ended) and ended else self.test
                self.going.set(truth(going_on(ended, known, self.test, self.names, self.site)))
                if self.strict and not state.is_graph_value(self.going.value):
                    raise ControlFlowError("the condition does not depend on what the loop computes")

        return self._iteration(values, lambda: self._condition(*values), body)

    def _iteration(self, values: Any, going: Block, body: Block) -> list[Any]:
        """The state after an iteration; `going` says whether it takes place."""
        when = effects.both(self.around, going()) if self.block.wanted else None
        entered = self._enter(values)
        before = [(x, x._value) for v in entered for x in Flat.of(v).leaves if isinstance(x, Value)]
        copies = {
            i: Heap([(p.name, v)])
            for i, (p, v) in enumerate(zip(self.places, entered, strict=True))
            if isinstance(p, Variable) and not isinstance(v, (*state.NUMBERS, str))
        }
        try:
            with region.inside(self.block, when):
                with effects.failing(self.site, []):
                    body()
                if self.limits:
                    self._check_sizes(self._carried([p.get() for p in self.places]))
            self.held = [p.get() for p in self.places]
            self.objects = [(Objects.of(a), Objects.of(b)) for a, b in zip(self.start, self.held, strict=True)]
            written = [i for i, heap in copies.items() if any(heap.changed())]
            self._keep_identities(entered, written)
            if written:
                refuse_exchanged([p.name for p in self.places], entered, self.held, written, self.shared, self._where)
            self._keep_unassigned(entered)
            handed.refuse_sliced(self.places, self.start, self._where)
            self._refuse_shared([x for x, value in before if x._value is not value])
            after = [self.snapshot.frozen(p.get()) for p in self.places]
            self.rows = [Flat.of(self.snapshot.frozen(p.owner[n:])) for p, n in self.lists]
            unforeseen = self.snapshot.changed([*self.places, *(p for p, _ in self.lists)], f"the {self._where}")
        except region.Abandoned:  # each iteration raises
            after, unforeseen, self.held = entered, [], entered
            self.objects = [(Objects.of(a), Objects.of(a)) for a in self.start]
            self.rows = [Flat.of([]) for _ in self.lists]
        except Exception as error:
            raise region.outcome(error, self.block) from None
        finally:
            self.snapshot.restore()
        if unforeseen:
            self._refuse_kept(unforeseen)
            self.places += unforeseen
            raise Again
        appended = [x for flat in self.rows for x in flat.leaves]
        if any(not isinstance(x, Value) or (is_number(x) and kinds_of(x) != "f") for x in appended):
            raise ControlFlowError(f"what is appended in the {self._where} is not all Tensors and floats")
        return [*self._compared(entered, after), *appended]

    def _keep_identities(self, entered: list[Any], written: list[int]) -> None:
        """What an iteration changes in place is changed for all who know it: no copy will do."""
        for i in written:
            place, start = self.places[i], self.start[i]
            if place.get() is entered[i]:  # it is only changed, not replaced: so it is no variable of the loop's state
                del self.places[i]
                self.fixed.clear()
                self.stand_ins.clear()
                raise Again
            others = Heap((n, v.get()) for n, v in self.frame.variables.items() if n != place.name)
            shared = place.name in self.shared or handed.is_shown_elsewhere(i, self.start, self.held)
            if start in others or not isinstance(start, state.ARRAYS) or shared:
                raise ControlFlowError(
                    f"`{place.name}` is changed in place and replaced in the {self._where}, and may have other names: "
                    f"make a copy of it before the loop"
                )

    def _keep_unassigned(self, entered: list[Any]) -> None:
        """A variable that holds the same container or array after an iteration is none of the loop's state."""
        for i, place in enumerate(self.places):
            same = isinstance(place, Variable) and self.held[i] is entered[i] and place.get() is entered[i]
            if same and i not in self.stand_ins and entered[i] is not UNDEFINED and parts(entered[i]):
                del self.places[i]
                self.fixed.clear()
                self.stand_ins.clear()
                raise Again

    def _refuse_kept(self, places: list[Place]) -> None:
        """Numbers in objects from outside stay numbers: Python runs a loop that changes them, if it can."""
        for place in places if self.optional else ():
            if not isinstance(place, (state.HeldAttribute, HeldContents)) or not leaks.outlives(place.owner):
                continue
            if not any(map(state.is_graph_value, Flat.of(place.get()).leaves)):
                raise ControlFlowError(f"`{place.name}` is changed in the {self._where}")

    def _refuse_shared(self, written: list[Any]) -> None:
        """A Tensor that is appended and written to in a later iteration would be seen in the list as it is in the end."""
        appended = {id(x) for p, n in self.lists for x in Flat.of(p.owner[n:]).leaves}
        kept = [x for p in self.places for x in Flat.of(p.get()).leaves if written]
        written += [p.owner for p in self.places if isinstance(p, HeldContents)]
        if any(id(x) in appended for x in (*written, *kept)):
            raise ControlFlowError(f"a Tensor that is appended is written to in the {self._where}")

    def _extend(self, stacked: list[Any]) -> None:
        """Append to the lists what the iterations have appended."""
        with context.handing_on():
            columns = [unstack(x) for x in stacked]
        for k in range(self.items.count if self.items is not None and self.lists else 0):
            row = iter(column[k] for column in columns)
            for (place, _), flat in zip(self.lists, self.rows, strict=True):
                rows = [marked(next(row), Number() if is_number(x) else None) for x in flat.leaves]
                place.owner.extend(flat.rebuild(rows))

    def _enter(self, values: Any) -> list[Any]:
        """Give the places the values of an iteration's state."""
        self.snapshot.restore()
        rest = list(values)
        entered = []
        for i, (place, start) in enumerate(zip(self.places, self.start, strict=True)):
            if start is UNDEFINED:
                entered.append(start)
                continue
            flat = Flat.of(start)
            leaves = [rest.pop(0) if self._is_carried(i, j, x) else x for j, x in enumerate(flat.leaves)]
            entered.append(flat.rebuild(leaves))
            place.set(entered[-1])
        return entered

    def _is_carried(self, i: int, j: int, leaf: Any) -> bool:
        return state.is_dynamic(leaf) and (i, j) not in self.fixed

    def _carried(self, values: list[Any]) -> list[Any]:
        flats = [(i, Flat.of(v)) for i, v in enumerate(values) if v is not UNDEFINED]
        return [x for i, flat in flats for j, x in enumerate(flat.leaves) if self._is_carried(i, j, x)]

    def _compared(self, entered: list[Any], after: list[Any]) -> list[Any]:
        """The state after an iteration, if it is of the same kind as before it."""
        out = []
        for i, (place, start, now) in enumerate(zip(self.places, self.start, after, strict=True)):
            if start is UNDEFINED:
                if now is not UNDEFINED:
                    self._define(i, place, now)
                continue
            if now is UNDEFINED:
                raise ControlFlowError(f"`{place.name}` is deleted in the {self._where}")
            old, new = Flat.of(start), Flat.of(now)
            if old.shape != new.shape:
                raise self._changes(
                    place.name, state.described(start), state.described(now), isinstance(place, HeldContents)
                )
            came = Flat.of(entered[i]).leaves
            for j, (x, was, y) in enumerate(zip(old.leaves, came, new.leaves, strict=True)):
                if not self._is_carried(i, j, x):
                    if not state.same(x, y):
                        self._unfix(i, j, x, place, y)
                    continue
                if isinstance(x, state.NUMBERS) and y is was and (i, -1 - j) not in self.fixed:
                    self.fixed.add((i, j))
                    raise Again
                if wrong := unfit(x, y):
                    raise does_not_pass(f"`{place.name}`", wrong[0], f"the {self._where}")
                out.append(y)
        return out

    def _define(self, i: int, place: Place, now: Any) -> None:
        """A variable that first gets its value in the loop: allowed where that value is sure to be there, or not used."""
        sure = self.items is not None and not state.is_graph_value(self.items.count)
        if not (sure or place.name == RESULT or place.name in self.site.optional):
            raise only_defined_in(f"the {self._where}", place.name, "the loop, for it may have no iterations")
        self.stand_ins[i] = stand_in(now)
        raise Again

    def _unfix(self, i: int, j: int, x: Any, place: Place, now: Any) -> None:
        """A leaf that was thought constant has changed."""
        if (i, j) in self.fixed and state.is_dynamic(now):
            self.fixed.discard((i, j))
            self.fixed.add((i, -1 - j))  # not again
            raise Again
        raise self._changes(place.name, state.described(x), state.described(now))

    # ------------------------------------------------------------ errors

    @property
    def _where(self) -> str:
        return f"body of the `{self.site.kind}` at {self.site.place}"

    def _changes(self, name: str, before: Any, after: Any, grows: bool = False) -> ControlFlowError:
        what = "the returned value" if name == RESULT else f"`{name}`"
        fix = (
            "fill a Tensor by x[i] = v instead of growing a container"
            if grows
            else "give it its final shape and dtype before the loop"
        )
        return ControlFlowError(f"{what} changes from {before} to {after} in the {self._where}: {fix}")
