"""`ad.draw`: the graph of a function, and the graph of its derivative, as a picture."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from adjoint.core.errors import ArgumentError, ArgumentTypeError, boundary, called_at
from adjoint.graph.node import Graph
from adjoint.pictures.drawn_stages import DrawnProgram, GraphPair, program_of
from adjoint.pictures.measured_values import Measurement, measure
from adjoint.pictures.scene import Scene, derivative_scene, forward_scene, names_of
from adjoint.pictures.scene_groups import tidied

LARGE = 1 << 26  # bytes of all values; where there are more, only the first and the last stage are run


@dataclass(frozen=True)
class Picture:
    """A picture of a program; made by `draw`. In a notebook it shows itself.

    >>> import adjoint as ad
    >>> picture = ad.draw(lambda x: ad.ops.sin(x) * 2.0, 0.5)
    >>> picture.svg().startswith("<svg")
    True
    """

    program: DrawnProgram = field(repr=False)
    runs: bool = True

    def __repr__(self) -> str:
        first = self.program.stages[0]
        back = "" if first.derivative is None else f", {len(first.derivative.calls)} of its derivative"
        return f"Picture({self.program.title}: {len(first.forward.calls)} steps{back})"

    # ------------------------------------------------------------ what it shows

    @cached_property
    def _names(self) -> dict[int, str]:
        return names_of(self.program.stages[0].forward)

    @cached_property
    def _measured(self) -> dict[int, tuple[Measurement, Measurement | None]]:
        return {}

    def measured(self, stage: int) -> tuple[Measurement, Measurement | None]:
        """What a run of a stage gave, forward and backward; nothing where it was not to be run."""
        if stage not in self._measured:
            pair, values = self.program.stages[stage], self.program.values
            forward, back = Measurement({}), Measurement({}) if pair.derivative is not None else None
            if self.runs and values is not None and self._is_run(stage):
                forward = measure(pair.forward, values)
                if pair.derivative is not None:
                    back = measure(pair.derivative, [*values, *self._seeds(pair)])
            self._measured[stage] = forward, back
        return self._measured[stage]

    def _is_run(self, stage: int) -> bool:
        if stage in (0, len(self.program.stages) - 1):
            return True
        first = self.program.stages[0]
        graphs = [first.forward, *([first.derivative] if first.derivative is not None else [])]
        return sum(bytes_of(n.spec) for g in graphs for n in g.calls) < LARGE

    def _seeds(self, pair: GraphPair) -> list[Any]:
        if not pair.seeded or pair.derivative is None:
            return []
        return [np.ones(p.shape, p.dtype) for p in pair.derivative.params[len(self.program.inputs) :]]

    def scenes(self, stage: int = 0) -> tuple[Scene, Scene | None]:
        """The boxes of a stage: of the forward graph, and of the derivative graph if there is one."""
        pair = self.program.stages[stage]
        forward, back = self.measured(stage)
        left = tidied(forward_scene(self.program, pair, self._names, forward.steps))
        if pair.derivative is None or back is None:
            return left, None
        return left, tidied(derivative_scene(self.program, pair, self._names, back.steps))

    # ------------------------------------------------------------ forms

    def svg(self, which: str = "both", stage: int | str = 0, everything: bool = False) -> str:
        """The picture as SVG text: `which` is "forward", "derivative" or "both".

        `stage` is the number or the name of a pass: the graphs after it. Groups of large graphs are closed, unless
        `everything` is wanted.
        """
        if which not in ("both", "forward", "derivative"):
            raise ArgumentError(f'svg: which must be "forward", "derivative" or "both", not {which!r}{called_at()}')
        from adjoint.pictures.svg import svg_of

        left, right = self.scenes(self._stage(stage))
        titled = [(self.program.title, left, False)] if which != "derivative" else []
        if which != "forward" and right is not None:
            titled.append(("its derivative", right, True))
        if not titled:
            raise ArgumentError(
                f"svg: {self.program.title} has no derivative here: no input or no result is a float, "
                f"or it was drawn with derivative=False{called_at()}"
            )
        return svg_of(titled, everything)

    def _stage(self, stage: int | str) -> int:
        names = [s.name for s in self.program.stages]
        if isinstance(stage, str) and stage in names:
            return names.index(stage)
        if isinstance(stage, int) and 0 <= stage < len(names):
            return stage
        raise ArgumentError(f"there is no stage {stage!r}; the stages are {', '.join(names)}{called_at()}")

    def html(self) -> str:
        """The picture as one page that needs nothing else: both graphs, every pass, search and details."""
        from adjoint.pictures.page import page_of

        return page_of(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the picture to a file whose name ends with .svg or .html."""
        target = _check_suffix(path)
        target.write_text(self.svg() if target.suffix.lower() == ".svg" else self.html(), encoding="utf-8")

    def _repr_html_(self) -> str:
        page = escape(self.html(), quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%;height:620px;border:0" loading="lazy"></iframe>'


def bytes_of(spec: Any) -> int:
    """What values take in memory."""
    if isinstance(spec, tuple):
        return sum(map(bytes_of, spec))
    return int(np.prod([max(n, 0) for n in spec.shape], dtype=np.int64)) * spec.dtype.itemsize


def _check_suffix(given: str | os.PathLike[str]) -> Path:
    if not isinstance(given, (str, os.PathLike)):
        raise ArgumentTypeError(f"draw: path is the name of a file, not {given!r}{called_at()}")
    path = Path(given)
    if path.suffix.lower() not in (".svg", ".html", ".htm"):
        raise ArgumentError(f"draw: the file {path.name!r} must end with .svg or .html{called_at()}")
    return path


@boundary
def draw(
    fn: Callable[..., Any] | Graph,
    *args: Any,
    path: str | os.PathLike[str] | None = None,
    derivative: bool = True,
    values: bool = True,
    passes: bool = True,
    **kwargs: Any,
) -> Picture:
    """The graph of a function for such arguments, and the graph of its derivative, as a picture.

    `path` names a file to write, ending with .svg or .html. A page shows both graphs side by side, with what belongs together,
    and details of every step: its formula, derivative rule, shape, values, time and the line that it comes from. Unless `values` is
    false the graphs are run for these arguments when the picture is made, without the program's prints; `derivative=False` leaves out the derivative, `passes=False`
    what each pass does. Further keywords are arguments of the function.
    A graph (see `ad.graph`) is drawn too; its values are shown if arguments are given.

    >>> import adjoint as ad
    >>> ad.draw(lambda x, y: ad.ops.log(x) + x * y - ad.ops.sin(y), 2.0, 5.0)
    Picture(<lambda>: 5 steps, 9 of its derivative)
    """
    if path is not None:
        _check_suffix(path)
    if not callable(fn) and not isinstance(fn, Graph):
        raise ArgumentTypeError(f"draw: a function, Cell or graph is needed, not {type(fn).__name__}{called_at()}")
    if isinstance(fn, Graph) and args and len(args) != len(fn.params):
        raise ArgumentError(f"draw: the graph has {len(fn.params)} inputs, {len(args)} were given{called_at()}")
    if isinstance(fn, Graph) and kwargs:
        raise ArgumentError(f"draw: a graph has no arguments by name: {', '.join(kwargs)}{called_at()}")
    picture = Picture(program_of(fn, args, derivative, passes, kwargs), values)
    if path is not None:
        picture.save(path)
    return picture
