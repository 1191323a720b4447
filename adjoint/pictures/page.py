"""The interactive page: everything that it shows in one file, which needs no network."""

from __future__ import annotations

import json
import os
from collections.abc import Hashable
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.core.parsing import line_of
from adjoint.graph.node import Const, Pick
from adjoint.pictures import node_labels
from adjoint.pictures.measured_values import Measured
from adjoint.pictures.scene import CONTROL, STEP, Scene, Vertex
from adjoint.pictures.scene_groups import opened
from adjoint.pictures.scopes import origin_of

if TYPE_CHECKING:
    from adjoint.pictures.picture import Picture

ASSETS = Path(__file__).parent / "assets"
KINDS = ("step", "control", "input", "parameter", "constant", "seed", "value", "result")


def page_of(picture: Picture) -> str:
    """The page of a picture. Stages whose graphs are those of the stage before are not written again."""
    tables, stages, texts = Tables(), [], []
    for number, stage in enumerate(picture.program.stages):
        before = picture.program.stages[number - 1] if number else None
        same = before is not None and _outputs(before) == _outputs(stage)
        sizes = [_size(stage.forward), _size(stage.derivative)]
        stages.append({"name": stage.name, "same": same, "sizes": sizes, "seconds": round(stage.seconds, 6)})
        forward, back = picture.measured(number) if not same else (None, None)
        if forward is None:
            continue
        stages[-1]["failure"] = forward.failure or (back.failure if back is not None else "")
        scenes = [s for s in picture.scenes(number) if s is not None]
        texts.append((number, _text([_scene(s, tables, at) for s, at in zip(scenes, opened(scenes), strict=True)])))
    summary = {
        "title": picture.program.title, "note": picture.program.note, "stages": stages, "kinds": KINDS, **tables.written(),
    }  # fmt: skip
    parts = [f'<script type="application/json" id="stage-{n}">{text}</script>' for n, text in texts]
    parts.insert(0, f'<script type="application/json" id="summary">{_text(summary)}</script>')
    code = "\n".join((ASSETS / name).read_text(encoding="utf-8") for name in ("layout.js", "view.js", "page.js"))
    page = (ASSETS / "page.html").read_text(encoding="utf-8")
    for mark, text in (
        ("title", escape(picture.program.title)), ("style", (ASSETS / "page.css").read_text(encoding="utf-8")),
        ("data", "\n".join(parts)), ("code", code),
    ):  # fmt: skip
        page = page.replace(f"<!--{mark}-->", text, 1)
    return page


def _outputs(stage: Any) -> Any:
    """What makes two stages the same: the nodes of their results and effects."""
    graphs = [g for g in (stage.forward, stage.derivative) if g is not None]
    return [(g.outputs, g.effects) for g in graphs], stage.seeded


def _size(graph: Any) -> int | None:
    from adjoint.passes.pipeline import size

    return None if graph is None else size(graph)


def _text(value: Any) -> str:
    """JSON that can stand in a page: nothing in it ends the script."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


class Tables:
    """Texts that many boxes share, each written once."""

    def __init__(self) -> None:
        self._known: dict[str, dict[Hashable, int]] = {"details": {}, "rules": {}, "lines": {}}

    def add(self, table: str, value: Hashable) -> int:
        """The number of a text in its table."""
        known = self._known[table]
        return known.setdefault(value, len(known))

    def written(self) -> dict[str, list[Any]]:
        """All tables."""
        return {name: list(known) for name, known in self._known.items()}


def _scene(scene: Scene, tables: Tables, at_first: set[int]) -> dict[str, Any]:
    """The boxes and groups of a scene, in lists without names: a large graph has thousands."""
    vertices = [_vertex(v, tables) for v in scene.vertices]
    groups = [[g.parent, g.kind, g.label, g.detail, g.vertex, g.pair] for g in scene.groups]
    measured = [_measured(v.measured) if v.measured is not None else 0 for v in scene.vertices]
    return {"vertices": vertices, "groups": groups, "measured": measured, "opened": sorted(at_first)}


def _vertex(v: Vertex, tables: Tables) -> list[Any]:
    """kind, label, name, note without the name, group, inputs, tag, details."""
    note = v.note.removeprefix(v.name) if v.kind in (STEP, CONTROL) else v.note
    return [
        KINDS.index(v.kind),
        v.label,
        v.name,
        note,
        v.group,
        v.inputs,
        v.tag,
        tables.add("details", _details(v, tables)),
    ]


def _details(v: Vertex, tables: Tables) -> Hashable:
    """sign or words, arguments (text, or the place of an input), settings, what it is, rule, specs, bytes, line, hint."""
    node = v.node
    assert node is not None
    from adjoint.pictures.picture import bytes_of

    specs = node.spec if isinstance(node.spec, tuple) else (node.spec,)
    shown = ", ".join(f"{s.dtype}[{', '.join(map(str, s.shape))}]" for s in specs)
    size = bytes_of(node.spec)
    if v.kind not in (STEP, CONTROL):
        return ("", (), "", "", -1, shown, size, -1, v.hint)
    op = node.op
    written = node_labels.SIGNS.get(node_labels.kind_of(op)) if len(node.inputs) == 2 else None
    rule = node_labels.rule(op)
    return (
        written or node_labels.words(op), _arguments(v), node_labels.settings(op), node_labels.what_it_is(type(op)),
        tables.add("rules", rule) if rule else -1, shown, size, _line(node, tables), v.hint,
    )  # fmt: skip


def _arguments(v: Vertex) -> tuple[str, ...]:
    """The inputs of a step as its formula names them: `#0` is the name of its first connection."""
    assert v.node is not None
    found, at = [], 0
    for n, name in zip(v.node.inputs, v.arguments, strict=True):
        if isinstance(n.op, Const) and node_labels.number(n.op.value) is not None:
            found.append(name)
        else:
            tail = f"[{n.op.index}]" if isinstance(n.op, Pick) and isinstance(n.inputs[0].spec, tuple) else ""
            found.append(f"#{at}{tail}")
            at += 1
    return tuple(found)


def _line(node: Any, tables: Tables) -> int:
    path, line = origin_of(node)
    if not line:
        return -1
    return tables.add("lines", (os.path.basename(path), line, line_of(path, line).strip()[:200]))


def _measured(m: Measured) -> list[Any]:
    """microseconds, runs, lowest, highest, mean, NaNs, infinities, finite values."""
    numbers = [_number(x) for x in (m.lowest, m.highest, m.mean)] if m.finite else [None] * 3
    return [round(m.seconds * 1e6, 1), m.runs, *numbers, m.nans, m.infinities, m.finite]


def _number(x: float) -> float | None:
    return float(f"{x:.5g}") if np.isfinite(x) else None
