"""Boxes in layers: each below what it needs, with few crossings, inside the frames of their groups.

The longest way from an input gives the layer of a box. The order in a layer follows barycentres, to and fro; the best order that
came up is kept. Positions are the least squares of the distances to neighbours, under the order and the gaps. All of it is
deterministic. `layout.js` does the same in the page, where groups open and close.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from adjoint.pictures.layers import BoxItem, Level


@dataclass
class Reference:
    """A small box in place of a long connection: it names the source."""

    source: int
    x: float
    y: float
    width: float
    height: float


@dataclass
class Drawing:
    """Where everything is: the paths of connections by (source, target), each a list of points."""

    root: BoxItem
    paths: dict[tuple[int, int], list[tuple[float, float]]]
    references: list[Reference]


def arrange(
    root: BoxItem, edges: Sequence[tuple[int, int]], label_width: dict[int, float], flip: bool = False
) -> Drawing:
    """Place everything in a root whose id is negative; `flip` turns it upside down: sources stand at the bottom."""
    levels: dict[int, Level] = {}
    around: dict[int, list[BoxItem]] = {}  # the groups around each box, the outermost first

    def visit(item: BoxItem, path: list[BoxItem]) -> None:
        around[item.id] = path
        if item.items:
            levels[item.id] = Level(item, flip)
        for child in item.items:
            visit(child, [*path, item])

    visit(root, [])
    for u, v in edges:
        _connect(levels, around, u, v)

    def place(item: BoxItem) -> None:
        for child in item.items:
            place(child)
        if item.items:
            levels[item.id].arrange(label_width)

    place(root)
    return _collected(root, levels, around, edges, flip)


def _connect(levels: dict[int, Level], around: dict[int, list[BoxItem]], u: int, v: int) -> None:
    """A connection in each group on its way: out of those around the source, into those around the target."""
    a, b = around[u], around[v]
    shared = 0
    while shared < min(len(a), len(b)) and a[shared] is b[shared]:
        shared += 1
    ends = [*(g.id for g in a[shared:]), u], [*(g.id for g in b[shared:]), v]
    top = levels[a[shared - 1].id]
    top.link(top.at[ends[0][0]], top.at[ends[1][0]], u)
    for group, inner in zip(ends[0], ends[0][1:], strict=False):
        level = levels[group]
        level.link(level.at[inner], level.port("exit", u), u)
    for group, inner in zip(ends[1], ends[1][1:], strict=False):
        level = levels[group]
        level.link(level.port("entry", u), level.at[inner], u)


def _collected(
    root: BoxItem,
    levels: dict[int, Level],
    around: dict[int, list[BoxItem]],
    edges: Sequence[tuple[int, int]],
    flip: bool,
) -> Drawing:
    """Positions in the whole picture, and the paths of connections."""
    offsets: dict[int, tuple[float, float]] = {}
    references: list[Reference] = []

    def spread(item: BoxItem, x: float, y: float) -> None:
        item.x, item.y = item.x + x, item.y + y
        if item.items:
            offsets[item.id] = item.x, item.y
            for s in levels[item.id].spots:
                if s.kind == "reference":
                    references.append(Reference(s.source, item.x + s.x - s.width / 2, item.y + s.y, s.width, s.height))
            for child in item.items:
                spread(child, item.x, item.y)

    spread(root, 0.0, 0.0)
    paths = {(u, v): _path(levels, around, offsets, u, v) for u, v in edges}
    if flip:
        high = root.height
        for item in _all(root):
            item.y = high - item.y - item.height
        for r in references:
            r.y = high - r.y - r.height
        paths = {key: [(x, high - y) for x, y in path] for key, path in paths.items()}
    return Drawing(root, paths, references)


def _all(item: BoxItem) -> Iterable[BoxItem]:
    yield item
    for child in item.items:
        yield from _all(child)


def _path(
    levels: dict[int, Level], around: dict[int, list[BoxItem]], offsets: dict[int, tuple[float, float]], u: int, v: int
) -> list[tuple[float, float]]:
    """The points of a connection, from the lower end of its source to the upper end of its target."""
    a, b = around[u], around[v]
    shared = 0
    while shared < min(len(a), len(b)) and a[shared] is b[shared]:
        shared += 1
    ends = [*(g.id for g in a[shared:]), u], [*(g.id for g in b[shared:]), v]
    pieces: list[list[tuple[float, float]]] = []
    for group, inner in reversed(list(zip(ends[0], ends[0][1:], strict=False))):
        level = levels[group]
        pieces.append(_points(level, level.at[inner], level.ports["exit", u], u, offsets[group]))
    top = levels[a[shared - 1].id]
    pieces.append(_points(top, top.at[ends[0][0]], top.at[ends[1][0]], u, offsets[a[shared - 1].id]))
    for group, inner in zip(ends[1], ends[1][1:], strict=False):
        level = levels[group]
        pieces.append(_points(level, level.ports["entry", u], level.at[inner], u, offsets[group]))
    for k in reversed(range(len(pieces))):
        if pieces[k] and pieces[k][0] == (-1.0, -1.0):  # it begins at a reference: what comes before is not drawn
            pieces = [pieces[k][1:], *pieces[k + 1 :]]
            break
    return [p for piece in pieces for p in piece]


def _points(level: Level, start: int, end: int, source: int, offset: tuple[float, float]) -> list[tuple[float, float]]:
    """The way of a connection through one group; (-1, -1) first where it begins at a reference."""
    spots = level.links[start, end, source].spots
    x, y = offset
    found: list[tuple[float, float]] = [(-1.0, -1.0)] if level.spots[spots[0]].kind == "reference" else []
    down = level.spots[spots[0]].layer <= level.spots[spots[-1]].layer
    for n, k in enumerate(spots):
        s = level.spots[k]
        if s.kind == "bend":
            ends = [(x + s.x, y + s.y), (x + s.x, y + s.y + s.height)]
            found += ends if down else ends[::-1]
        elif s.kind in ("entry", "exit"):
            border = 0.0 if s.kind == "entry" else level.group.height
            found.append((x + s.x, y + border))
            if s.kind == "entry":
                found.append((x + s.x, y + s.y))
            else:
                found.insert(len(found) - 1, (x + s.x, y + s.y))
        else:
            port = None if s.item is None else (s.item.exits if n == 0 else s.item.entries).get(source)
            middle = s.x if port is None else s.x - s.width / 2 + port
            ends = [(x + middle, y + s.y + s.height), (x + middle, y + s.bottom)] if n == 0 else []
            ends = ends or [(x + middle, y + s.top), (x + middle, y + s.y)]
            found += ends if ends[0] != ends[1] and down else [ends[0] if n == 0 else ends[1]]
    return found
