"""A call of a compiled function as one C function: containers of Tensors in, containers of new Tensors out.

It is the same code for every function, compiled once a process. What differs is in the kernel's table (see `array_entry.py`) and
in a second one of 64-bit integers:

    1 to release the GIL and 2 if the last result notes an index out of range, guards, takes, makes,
    for each guard four words (see `call_guards.py`),
    for each take and make a step of four: kind, number, detail, and one more

The takes say what the arguments must be: what is inside a container comes after all that stands beside it. The makes say in
the same order what to return. A call that is not as expected gets NotImplemented before anything has happened, and one with an index
out of range after it, so that the slow way says which.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from adjoint.backends.native.runtime.array_entry import PARTS, builtin, compiled
from adjoint.backends.native.runtime.call_guards import Guard, words
from adjoint.backends.native.runtime.container_build import BUILD
from adjoint.backends.native.runtime.container_unpack import UNPACK
from adjoint.backends.native.runtime.kernel_call import State, state_of
from adjoint.backends.native.runtime.llvm_compile import Library
from adjoint.core import tree
from adjoint.core.dispatch import EAGER, HALF
from adjoint.core.spec import Spec, is_half
from adjoint.core.tensor import Tensor

TUPLE, LIST, DICT, SAME, ARRAY, NUMBER = range(6)
CONTAINERS: dict[type, int] = {tuple: TUPLE, list: LIST, dict: DICT}
CONSTANT = (bool, int, float, complex, str, bytes)  # these never change
MOST = 1000  # steps of a call; the C function keeps some words for each on its stack

CALL = """
@adj_not_implemented = external global i8

define ptr @adj_container_call(ptr %self, ptr %args, i64 %given) {{
entry:
  %tables = getelementptr i8, ptr %self, i64 {tuple_items}
  %kernel.holder = load ptr, ptr %tables
  %table.at = getelementptr i8, ptr %kernel.holder, i64 {data}
  %table = load ptr, ptr %table.at
  %second = getelementptr ptr, ptr %tables, i64 1
  %holder = load ptr, ptr %second
  %head.at = getelementptr i8, ptr %holder, i64 {data}
  %head = load ptr, ptr %head.at
  %flags = load i64, ptr %head
  %release64 = and i64 %flags, 1
  %release = icmp ne i64 %release64, 0
  %notes64 = and i64 %flags, 2
  %notes = icmp ne i64 %notes64, 0
  %status = alloca i64
  store i64 0, ptr %status
  %guards.at = getelementptr i64, ptr %head, i64 1
  %guards = load i64, ptr %guards.at
  %takes.at = getelementptr i64, ptr %head, i64 2
  %takes = load i64, ptr %takes.at
  %makes.at = getelementptr i64, ptr %head, i64 3
  %makes = load i64, ptr %makes.at
  %first.guard = getelementptr i64, ptr %head, i64 4
  %guards.words = shl i64 %guards, 2
  %first.take = getelementptr i64, ptr %first.guard, i64 %guards.words
  %takes.words = shl i64 %takes, 2
  %first.make = getelementptr i64, ptr %first.take, i64 %takes.words
  %inputs.at = getelementptr i64, ptr %table, i64 1
  %inputs = load i64, ptr %inputs.at
  %outputs.at = getelementptr i64, ptr %table, i64 2
  %outputs = load i64, ptr %outputs.at
  %arrays = add i64 %inputs, %outputs
  %places = add i64 %arrays, 1
  %buffers = alloca ptr, i64 %places
  %numbers = alloca i64, i64 %inputs
  %held = alloca ptr, i64 %inputs
  %objects = alloca ptr, i64 %takes
  %fresh = alloca ptr, i64 %makes
  %two = icmp eq i64 %given, 2
  br i1 %two, label %ask, label %other
ask:
  %here = call i1 @adj_guards(ptr %first.guard, i64 %guards)
  br i1 %here, label %unpack, label %other
unpack:
  call void @llvm.memcpy.p0.p0.i64(ptr %objects, ptr %args, i64 16, i1 false)
  %expected = call i1 @adj_take(ptr %table, ptr %first.take, i64 %takes, ptr %objects, ptr %buffers, ptr %numbers, ptr %held)
  br i1 %expected, label %hold, label %other
other:
  %error = call ptr @PyErr_Occurred()
  %interrupted = icmp ne ptr %error, null
  br i1 %interrupted, label %fail, label %decline
fail:
  ret ptr null
decline:
  call void @Py_IncRef(ptr @adj_not_implemented)
  ret ptr @adj_not_implemented

hold:
  ; From here on Python code may run, in finalisers or in other threads, and take the arrays out of the arguments.
  %h = phi i64 [ 0, %unpack ], [ %h.next, %hold.one ]
  %h.more = icmp slt i64 %h, %inputs
  br i1 %h.more, label %hold.one, label %build
hold.one:
  %hold.at = getelementptr ptr, ptr %held, i64 %h
  %hold.this = load ptr, ptr %hold.at
  call void @Py_IncRef(ptr %hold.this)
  %h.next = add i64 %h, 1
  br label %hold

build:
  %fresh.bytes = shl i64 %makes, 3
  call void @llvm.memset.p0.i64(ptr %fresh, i8 0, i64 %fresh.bytes, i1 false)
  %results = getelementptr ptr, ptr %buffers, i64 %inputs
  %made = call i1 @adj_make(ptr %table, ptr %first.make, i64 %makes, ptr %fresh, ptr %results)
  br i1 %made, label %made.all, label %undo
made.all:
  br i1 %notes, label %watch, label %run
watch:
  %before.last = getelementptr ptr, ptr %buffers, i64 %arrays
  %last = getelementptr ptr, ptr %before.last, i64 -1
  store ptr %status, ptr %last
  br label %run
run:
  %ran = call i1 @adj_execute(ptr %table, ptr %buffers, i64 %arrays, i1 %release)
  %result = load ptr, ptr %fresh
  br i1 %ran, label %look, label %undo
look:
  %noted = load i64, ptr %status
  %fine = icmp eq i64 %noted, 0
  br i1 %fine, label %let.go, label %undo

undo:
  %u = phi i64 [ 0, %build ], [ 0, %run ], [ 0, %look ], [ %u.next, %undo.one ]
  %u.more = icmp slt i64 %u, %makes
  br i1 %u.more, label %undo.one, label %let.go
undo.one:
  %undo.at = getelementptr ptr, ptr %fresh, i64 %u
  %half.made = load ptr, ptr %undo.at
  call void @Py_DecRef(ptr %half.made)
  %u.next = add i64 %u, 1
  br label %undo

let.go:
  %answer = phi ptr [ %result, %look ], [ null, %undo ], [ %answer, %let.go.one ]
  %l = phi i64 [ 0, %look ], [ 0, %undo ], [ %l.next, %let.go.one ]
  %l.more = icmp slt i64 %l, %inputs
  br i1 %l.more, label %let.go.one, label %done
let.go.one:
  %let.go.at = getelementptr ptr, ptr %held, i64 %l
  %let.go.this = load ptr, ptr %let.go.at
  call void @Py_DecRef(ptr %let.go.this)
  %l.next = add i64 %l, 1
  br label %let.go
done:
  %status.end = load i64, ptr %status
  %wrong = icmp ne i64 %status.end, 0
  br i1 %wrong, label %other, label %return
return:
  ret ptr %answer
}}
"""


class Step(NamedTuple):
    """What one object of a call must be, or how it is made."""

    kind: int
    number: int = 0  # of things in a container, or which of the kernel's inputs or results this is
    detail: int = 0  # a dict's tuple of keys, the very object, or where in the table the array's record is
    more: int = 0  # the trace of a Tensor, or the type of a number


@functools.cache
def entry() -> Library:
    """The compiled entry, made at first use."""
    return compiled(PARTS + UNPACK + BUILD + CALL, "adj_container_call")


def container_callable(
    run: Any,
    arguments: tuple[tuple[Any, ...], dict[str, Any]],
    numeric: Sequence[bool],
    rebuild: Callable[[list[Any]], Any],
    guards: Sequence[Guard],
    release_gil: bool,
    notes: bool = False,
) -> Callable[[tuple[Any, ...], dict[str, Any]], Any] | None:
    """A function of `(args, kwargs)` for calls like this one; None where there can be none.

    `run` is what `make_callable` gave for the kernel, whose inputs are the leaves of the arguments that are `numeric`; other
    leaves must be the very same objects. `rebuild` puts the results together; with `notes` the last of them is not one of these, but
    says whether an index was out of range. The call is as expected only where each of the guards holds.
    """
    state = state_of(run)
    if state is None:
        return None
    keep: list[Any] = [guards]
    takes = _takes(state, arguments, numeric, keep)
    outputs = [
        Step(ARRAY, k, at, id(_trace(spec))) for k, (at, spec) in enumerate(_records(state)[len(state.inputs) :])
    ]
    makes = _in_order([rebuild(outputs[:-1] if notes else outputs)], keep)
    if takes is None or makes is None or len(takes) + len(makes) > MOST:
        return None
    watched = words(guards, keep)
    numbers = [int(release_gil) + 2 * notes, len(watched) // 4, len(takes), len(makes), *watched]
    for step in (*takes, *makes):
        numbers += step
    return builtin("call", entry(), "adj_container_call", (state.table, np.array(numbers, np.int64)), (keep, run))


def _takes(state: State, arguments: Any, numeric: Sequence[bool], keep: list[Any]) -> list[Step] | None:
    """What the arguments must be; None if one of them could change unseen, or is of an unknown kind."""
    leaves, rebuild = tree.flatten(arguments)
    records = iter(enumerate(_records(state)[: len(state.inputs)]))
    steps: list[Any] = []
    for leaf, yes in zip(leaves, numeric, strict=True):
        if not yes:
            if not (type(leaf) in CONSTANT or type(leaf).__hash__ is object.__hash__):  # type: ignore[comparison-overlap]
                return None
            steps.append(_same(leaf, keep))
            continue
        k, (at, spec) = next(records)
        if type(leaf) is Tensor or type(leaf) is np.ndarray:
            steps.append(Step(ARRAY, k, at, id(_trace(spec))))
        elif type(leaf) in (float, np.float64, np.float32):
            steps.append(Step(NUMBER, k, at, id(type(leaf))))
        else:
            return None
    return _in_order(rebuild(steps), keep)


def _in_order(queue: Sequence[Any], keep: list[Any]) -> list[Step] | None:
    """The steps for containers of steps, the inside of a container after all beside it; None for unknown containers."""
    steps: list[Step] = []
    queue = list(queue)
    for x in queue:  # grows on the way
        kind = CONTAINERS.get(type(x))
        if type(x) is Step:
            steps.append(x)
        elif kind is not None:
            keep.append(keys := tuple(x) if kind == DICT else ())
            steps.append(Step(kind, len(x), id(keys)))
            queue += x.values() if kind == DICT else x
        elif x is None or tree.is_leaf(x):
            steps.append(_same(x, keep))
        else:
            return None
    return steps


def _same(x: Any, keep: list[Any]) -> Step:
    keep.append(x)
    return Step(SAME, 0, id(x))


def _records(state: State) -> list[tuple[int, Spec]]:
    """Where in the kernel's table the record of each input and result is."""
    found, at = [], state.head
    for spec in (*state.inputs, *state.outputs):
        found.append((at, spec))
        at += 4 + spec.ndim
    return found


def _trace(spec: Spec) -> Any:
    return HALF if is_half(spec.dtype) else EAGER
