"""What a graph was compiled for, kept to say later in words how another call differs."""

from __future__ import annotations

from typing import Any

from adjoint.api.arguments import CallArguments, Key, Signature
from adjoint.core import tree, tree_containers
from adjoint.core.placement import HOST
from adjoint.core.short_text import short
from adjoint.core.spec import Spec
from adjoint.graph.control import UNKNOWN


class CallOutline:
    """The arguments of a call without their arrays: what stands at each place, as text."""

    def __init__(self, call: CallArguments, key: Key) -> None:
        self.key = key
        leaves = list(tree.paths(call.whole))
        self.numeric = {path: yes for (path, _), yes in zip(leaves, call.numeric, strict=True)}
        specs = dict(zip((p for p, yes in self.numeric.items() if yes), key.specs, strict=True))
        self.leaves = {path: _number(specs[path]) if path in specs else short(x) for path, x in leaves}
        held = tree_containers.containers(call.whole, every=True)
        self.containers = {path: _container(x) for path, x in held if len(path) > 3}  # those in arguments

    def structure(self, new: CallOutline, describe: Any) -> str:
        """In what the places of another call differ; empty if they are the same."""
        moved = self._moved(new, describe)
        if moved:
            return moved
        for path, kind in self.containers.items():
            now = new.containers.get(path)
            if now is not None and now != kind:
                return f"{describe(path)} changed from {kind} to {now}"
        for path, text in {**self.leaves, **self.containers}.items():
            now = new.at(path)
            if now is None:
                return f"{describe(path)} is missing, which was {text}"
            if (path in self.leaves) != (path in new.leaves):
                return f"{describe(path)} changed from {text} to {now}"
        for path, text in {**new.leaves, **new.containers}.items():
            if self.at(path) is None:
                return f"{describe(path)} is new: {text}"
        for path, yes in self.numeric.items():
            if yes != new.numeric[path]:
                pair = f"{self.leaves[path]} to {new.leaves[path]}"
                return f"{describe(path)} changed from {pair}: one is an input, the other part of the program"
        return ""

    def at(self, path: str) -> str | None:
        """What stands at a place; None if there is nothing."""
        return self.leaves.get(path, self.containers.get(path))

    def _moved(self, new: CallOutline, describe: Any) -> str:
        """An argument passed by position in one call and by its name in the other."""
        before, after = ({describe(p): p for p in (*o.leaves, *o.containers) if len(p) > 3} for o in (self, new))
        for name, path in before.items():
            now = after.get(name)
            if now is not None and now[1] != path[1]:
                ways = ["by position", "by its name"]
                return f"{name} is passed {ways[int(now[1])]} and was passed {ways[int(path[1])]}"
        return ""


def _container(x: Any) -> str:
    """A container, or None, among the arguments."""
    if x is None:
        return "None"
    counted = isinstance(x, (list, tuple)) and not hasattr(x, "_fields")
    return f"a {type(x).__name__}" + (f" of {len(x)}" if counted else "")


def _number(spec: Spec) -> str:
    """An input of the graph."""
    return f"a Python number ({spec.dtype})" if spec.weak else str(spec).replace(str(UNKNOWN), "any")


def reason(signature: Signature, call: CallArguments, key: Key, last: CallOutline | None) -> str:
    """Why the graph made last does not fit a call."""
    if last is None:
        return "first call"
    was = last.key
    if key.shape != was.shape or key.numeric != was.numeric:
        said = last.structure(CallOutline(call, key), signature.describe)
        return "the arguments have another structure" + (f": {said}" if said else "")
    for path, new, old in zip(call.paths(), key.specs, was.specs, strict=True):
        name = signature.describe(path)
        if new.shape != old.shape:
            return f"shape of {name} changed from {_shown(old.shape)} to {_shown(new.shape)}"
        if new.dtype != old.dtype:
            return f"dtype of {name} changed from {old.dtype} to {new.dtype}"
        if new != old:
            kinds = [f"{new.dtype} of NumPy or a Tensor", "a Python number"]
            return f"{name} changed from {kinds[old.weak]} to {kinds[new.weak]}"
    for path, new_value, old_value in zip(call.paths(False), key.statics, was.statics, strict=True):
        if new_value != old_value:
            now = CallOutline(call, key).leaves[path]
            before = last.leaves[path]
            values = f"from {before} to {now}" if before != now else f"to another {now.removeprefix('a ')}"
            return f"static value of {signature.describe(path)} changed {values}"
    if key.lowered != was.lowered:
        return f"autocast changed from {was.lowered or 'none'} to {key.lowered or 'none'}"
    if key.policy != was.policy:
        return "gradients keep something else of the forward pass"
    if key.device != was.device:
        return f"the device changed from {was.device or HOST} to {key.device or HOST}"
    return "a value of an outer transform is used"


def _shown(shape: tuple[int, ...]) -> str:
    return str(shape).replace(str(UNKNOWN), "any")
