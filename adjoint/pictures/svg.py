"""A scene as SVG: text, without any other program."""

from __future__ import annotations

from html import escape

from adjoint.pictures.layered_layout import Drawing, Reference, arrange
from adjoint.pictures.layers import HEADER, BoxItem
from adjoint.pictures.node_labels import formula
from adjoint.pictures.scene import CONTROL, STEP, Scene
from adjoint.pictures.scene_groups import opened
from adjoint.pictures.visible import NARROW, SceneView, lines_of, view_of

#: Colours by kind: fill, border, text; for light and dark pages.
LIGHT = {
    "step": ("#eaf1fd", "#6c93d6", "#14284b"), "back": ("#fdefe3", "#d98d4c", "#4a2607"),
    "input": ("#e2f5ea", "#3f9d6c", "#0f3a25"), "parameter": ("#f1e8fc", "#9368cf", "#33185c"),
    "constant": ("#f1f2f4", "#a0a7b3", "#333a45"), "seed": ("#fff5cc", "#c09a1f", "#4d3a00"),
    "value": ("#ffffff", "#6c93d6", "#2d4f8f"), "result": ("#22304d", "#22304d", "#ffffff"),
    "group": ("#8593ad14", "#b4bfd1", "#4b5a74"), "line": ("none", "#98a3b5", "#5c6779"), "page": ("#ffffff", "none", "#1d2635"),
}  # fmt: skip
DARK = {
    "step": ("#1b2b49", "#5c86cf", "#dbe7ff"), "back": ("#432a16", "#cf8745", "#ffe6d0"),
    "input": ("#143426", "#45a777", "#d3f5e2"), "parameter": ("#2e2146", "#9a74d8", "#eadfff"),
    "constant": ("#262b34", "#6c7585", "#d5dae3"), "seed": ("#3d3310", "#c5a02c", "#fff1bd"),
    "value": ("#10151e", "#5c86cf", "#b3cbf7"), "result": ("#dfe7f5", "#dfe7f5", "#131a27"),
    "group": ("#93a4c312", "#3c475a", "#a4b1c8"), "line": ("none", "#66738a", "#8d99ad"), "page": ("#10151e", "none", "#dfe5ee"),
}  # fmt: skip
TITLE = 30.0


def _colours(palette: dict[str, tuple[str, str, str]]) -> str:
    kinds = "".join(
        f".{kind}{{fill:{fill};stroke:{line}}}.{kind}-t{{fill:{text}}}" for kind, (fill, line, text) in palette.items()
    )
    return f"{kinds}.h{{stroke:{palette['page'][0]}}}"


STYLE = (
    "text{font-family:system-ui,'Segoe UI','DejaVu Sans',sans-serif;font-size:12.5px;text-anchor:middle}"
    ".n{font-family:ui-monospace,'DejaVu Sans Mono',monospace;font-size:10px;opacity:.75}.b{font-weight:600}"
    ".h{text-anchor:start;font-size:11.5px;font-weight:600;paint-order:stroke;stroke-width:3px;stroke-linejoin:round}.t{text-anchor:start;font-size:14px;font-weight:600}"
    ".line{stroke-width:1.3}.value,.reference{stroke-dasharray:3 2.5}rect{stroke-width:1.2}"
)


def svg_of(titled: list[tuple[str, Scene, bool]], everything: bool = False) -> str:
    """Scenes side by side; those marked run from the bottom to the top. All groups are open if `everything` is wanted."""
    parts, x, high = [], 0.0, 0.0
    scenes = [scene for _, scene, _ in titled]
    for (title, scene, back), at_first in zip(titled, opened(scenes), strict=True):
        view = view_of(scene, set(range(len(scene.groups))) if everything else at_first)
        widths = {i: len(lines_of(scene, i)[0]) * NARROW + 14 for i in view.items}
        drawing = arrange(view.root, view.edges, widths, back)
        width = max(drawing.root.width, len(title) * 9.0 + 28)
        left = x + (width - drawing.root.width) / 2
        parts.append(f'<text class="t page-t" x="{x + 14:g}" y="20">{escape(title)}</text>')
        parts.append(f'<g transform="translate({left:g} {TITLE:g})">{_drawn(scene, view, drawing, back)}</g>')
        x, high = x + width + 20, max(high, drawing.root.height)
    wide, high = max(x - 20, 1.0), high + TITLE
    style = f"{STYLE}{_colours(LIGHT)}@media(prefers-color-scheme:dark){{{_colours(DARK)}}}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide:g}" height="{high:g}" viewBox="0 0 {wide:g} {high:g}" role="img">'
        f"<style>{style}</style>"
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto">'
        '<path class="line-t" d="M0 .8 7.4 4 0 7.2z"/></marker></defs>'
        f'<rect class="page" width="{wide:g}" height="{high:g}"/>{"".join(parts)}</svg>'
    )


def _drawn(scene: Scene, view: SceneView, drawing: Drawing, back: bool) -> str:
    """Frames first, then connections, then boxes."""
    open_ = [i for i in view.items.values() if i.items]
    frames = [_rect("group", i.x, i.y, i.width, i.height, 9) for i in open_]
    lines = [
        f'<path class="line" d="{curve(points)}" marker-end="url(#arrow)"/>'
        for points in drawing.paths.values()
        if points
    ]
    boxes = [_box(scene, i, back) for i in view.items.values() if not i.items]
    for r in drawing.references:
        text = escape(lines_of(scene, r.source)[0])
        boxes.append(_rect("value", r.x, r.y, r.width, r.height, r.height / 2) + _text(text, "n value-t", r, 0.5))
    return "".join([*frames, *lines, *(_heading(scene, i) for i in open_), *boxes])


def curve(points: list[tuple[float, float]]) -> str:
    """A smooth path through points, which leaves and reaches each of them upright."""
    (x, y), parts = points[0], []
    for a, b in points[1:]:
        middle = (y + b) / 2
        parts.append(
            f"L{a:.1f} {b:.1f}" if abs(a - x) < 0.05 else f"C{x:.1f} {middle:.1f} {a:.1f} {middle:.1f} {a:.1f} {b:.1f}"
        )
        x, y = a, b
    return f"M{points[0][0]:.1f} {points[0][1]:.1f}" + "".join(parts)


def _rect(kind: str, x: float, y: float, width: float, height: float, radius: float) -> str:
    return f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{radius:g}"/>'


def _text(text: str, kind: str, box: BoxItem | Reference, at: float) -> str:
    return f'<text class="{kind}" x="{box.x + box.width / 2:.1f}" y="{box.y + box.height * at + 4:.1f}">{text}</text>'


def _heading(scene: Scene, item: BoxItem) -> str:
    """What is written on a frame: above the connections that cross it."""
    text = escape(" · ".join(part for part in lines_of(scene, item.id) if part))
    return f'<text class="h group-t" x="{item.x + 10:.1f}" y="{item.y + HEADER - 7:.1f}">{text}</text>'


def _box(scene: Scene, item: BoxItem, back: bool) -> str:
    """A box with its two lines; a closed group looks like a pile of them."""
    first, second = map(escape, lines_of(scene, item.id))
    if item.id >= len(scene.vertices) or scene.vertices[item.id].kind == CONTROL:
        kind = "back" if back else "step"
        behind = _rect(kind, item.x + 4, item.y + 4, item.width - 2, item.height - 4, 8)
        front = _rect(kind, item.x, item.y, item.width - 2, item.height - 4, 8)
        lines = [_text(first, f"b {kind}-t", item, 0.3 if second else 0.45)]
        lines += [_text(second, f"n {kind}-t", item, 0.64)] if second else []
        return f"<g>{behind}{front}{''.join(lines)}</g>"
    vertex = scene.vertices[item.id]
    kind = ("back" if back else "step") if vertex.kind == STEP else vertex.kind
    title = (
        f"<title>{escape(formula(vertex.name, vertex.node.op, vertex.arguments))}</title>"
        if vertex.kind == STEP and vertex.node
        else ""
    )
    radius = 6 if vertex.kind == STEP else item.height / 2
    box = _rect(kind, item.x, item.y, item.width, item.height, radius)
    bold = "b " if vertex.kind in (STEP, "result") else ""
    if not second:
        return f"<g>{title}{box}{_text(first, f'{bold}{kind}-t', item, 0.5)}</g>"
    return f"<g>{title}{box}{_text(first, f'{bold}{kind}-t', item, 0.32)}{_text(second, f'n {kind}-t', item, 0.72)}</g>"
