"""Texts of values that only the run knows: refused, for they would hold no number; printed, they are made by the run."""

from __future__ import annotations

import json
import operator
import pprint
from dataclasses import dataclass

import numpy as np
import pytest

import adjoint as ad


@dataclass
class Point:
    x: object


class Shown:
    def __init__(self, x):
        self.x = x

    def __repr__(self):
        return f"Shown({self.x!r})"


TEXTS = {
    "repr": repr, "ascii": lambda x: ascii(x * 2), "str": str, "method": lambda x: x.__repr__(), "%r": lambda x: operator.mod("%r", (x,)),
    "%s": lambda x: operator.mod("%s", x), "% of a list": lambda x: operator.mod("%s", [x]), "f-string": lambda x: f"{x!r}", "f-string of a list": lambda x: f"{[x]}",
    "wide f-string": lambda x: f"{(x,)!s:>30}", "format": lambda x: f"{x!r}", "format of a list": lambda x: f"{[x]}",
    "builtin format": lambda x: format([x], ""), "format_map": lambda x: "{a}".format_map({"a": [x]}),
    "str of a list": lambda x: str([x]), "nested": lambda x: str({"a": (1, {"b": x})}), "repr of a dict": lambda x: repr({"a": [x]}),
    "dataclass": lambda x: repr(Point(x)), "class": lambda x: str(Shown(x)), "map": lambda x: "".join(map(repr, [x])),
    "comprehension": lambda x: "".join([f"{y!r}" for y in [x]]), "pprint": lambda x: pprint.pformat([x]),
    "array": lambda x: np.array2string(np.array([x])), "key": lambda x: {repr(x): "a"}.get("2.0", "abc"),
    "json": lambda x: json.dumps([x], default=str), "parameter": lambda x: repr(ad.Parameter(1.0) * x),
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_texts_of_numbers_that_the_run_knows(name):
    def f(x):
        return x * len(TEXTS[name](x))

    assert f(2.0) > 0
    for compiled in (ad.jit(f), ad.jit(ad.grad(f))):
        with pytest.raises(ad.NeedsNumberError, match="known only when the graph runs"):
            compiled(2.0)


def test_errors_with_numbers_that_the_run_knows():
    class Refused(Exception):
        pass

    def listed(x):
        raise ValueError("bad", [x])

    def made(x):
        error = Refused(x)
        raise error

    for f in (listed, made):
        with pytest.raises(ad.NeedsNumberError, match="an error is raised with this number"):
            ad.jit(f)(2.0)

    def caught(x):
        try:
            raise Refused(x)
        except Refused as error:
            return error.args[0] * 2

    assert ad.jit(caught)(2.0) == caught(2.0)


def test_who_looks_on_is_shown_what_there_is(monkeypatch):
    """A debugger shows what there is of a value."""
    seen = []

    class Watched:
        def __mul__(self, x):
            seen.append(repr(x))
            return x * 2

    monkeypatch.setitem(globals(), "__name__", "pdb")
    assert ad.jit(lambda x: Watched() * x)(2.0) == 4.0
    assert seen == ["Tensor(shape=[], dtype=Float64, value=?)"]
