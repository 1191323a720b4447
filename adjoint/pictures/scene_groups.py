"""The groups of a scene put in order: those of one step go, long ones are cut into pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from adjoint.pictures.layers import topological
from adjoint.pictures.scene import CONTROL, STEP, Group, Scene

MANY = 160  # what is drawn in one group; more are cut into pieces
PIECE = 30
SHOWN = 60  # boxes that a picture opens with, if its groups allow it


def tidied(scene: Scene) -> Scene:
    """The scene with groups that are worth a frame of their own, each after the one that it is in."""
    _dissolve(scene)
    _cut(scene)
    return _renumbered(scene)


def children(scene: Scene) -> tuple[list[list[int]], list[list[int]]]:
    """The groups and the boxes directly in each group."""
    groups: list[list[int]] = [[] for _ in scene.groups]
    vertices: list[list[int]] = [[] for _ in scene.groups]
    for i, group in enumerate(scene.groups):
        if group.parent >= 0:
            groups[group.parent].append(i)
    for i, vertex in enumerate(scene.vertices):
        vertices[vertex.group].append(i)
    return groups, vertices


def depth_order(scene: Scene) -> list[int]:
    """The groups, each after the one that it is in."""
    order, (inner, _) = [0], children(scene)
    for group in order:
        order += inner[group]
    return order


def _dissolve(scene: Scene) -> None:
    """Take out groups around fewer than two steps, and those that are all that another one holds."""
    inner, boxes = children(scene)
    for g in reversed(depth_order(scene)):
        if scene.groups[g].kind not in ("cell", "function", "op"):
            continue
        steps = [v for v in boxes[g] if scene.vertices[v].kind in (STEP, CONTROL)]
        framed = [i for i in inner[g] if scene.groups[i].kind != CONTROL]
        if len(steps) + len(framed) < 2:
            _empty(scene, framed[0] if framed and not steps else g, inner, boxes)


def _empty(scene: Scene, g: int, inner: list[list[int]], boxes: list[list[int]]) -> None:
    """What is in a group moves to the group around it."""
    parent = scene.groups[g].parent
    for i in inner[g]:
        scene.groups[i].parent = parent
    for v in boxes[g]:
        scene.vertices[v].group = parent
    inner[parent] = [i for i in inner[parent] if i != g] + inner[g]
    boxes[parent] += boxes[g]
    scene.groups[g] = replace(scene.groups[g], parent=-2)


def _renumbered(scene: Scene) -> Scene:
    """Without the groups that are gone."""
    order = depth_order(scene)
    at = {g: i for i, g in enumerate(order)}
    groups = [replace(scene.groups[g], parent=at.get(scene.groups[g].parent, -1)) for g in order]
    for vertex in scene.vertices:
        vertex.group = at[vertex.group]
    return Scene(scene.vertices, groups)


def _cut(scene: Scene) -> None:
    """Cut what is in a long group into pieces, in an order in which each comes after what it needs."""
    inner, boxes = children(scene)
    queue = depth_order(scene)
    for g in queue:
        insides = {scene.groups[i].vertex: i for i in inner[g] if scene.groups[i].vertex >= 0}
        items = [*boxes[g], *(-1 - i for i in inner[g] if scene.groups[i].vertex < 0)]
        if len(items) <= MANY:
            continue
        size = max(PIECE, -(-len(items) // 40))
        order = _in_order(scene, g, items, inner, boxes)
        inner[g], boxes[g] = [], []
        for start in range(0, len(order), size):
            part, piece = order[start : start + size], len(scene.groups)
            names = [scene.vertices[i].name for i in part if i >= 0 and scene.vertices[i].kind in (STEP, CONTROL)]
            ends = f"{names[0]} … {names[-1]}" if len(names) > 1 else "".join(names) or "inputs"
            scene.groups.append(Group(g, "piece", ends, f"{len(part)} boxes"))
            inner[g].append(piece)
            boxes.append([i for i in part if i >= 0])
            inner.append([-1 - i for i in part if i < 0] + [insides[i] for i in part if i in insides])
            queue.append(piece)
            for i in boxes[piece]:
                scene.vertices[i].group = piece
            for i in inner[piece]:
                scene.groups[i].parent = piece


def _in_order(scene: Scene, g: int, items: Sequence[int], inner: list[list[int]], boxes: list[list[int]]) -> list[int]:
    """Boxes, and groups as negative numbers, each after what it needs; an input comes right before what needs it first."""
    home = {i: i for i in boxes[g]}  # the item that each box is in
    for below in inner[g]:
        inside, stack = scene.groups[below].vertex, [below]
        for i in stack:
            stack += inner[i]
            home.update((v, inside if inside >= 0 else -1 - below) for v in boxes[i])
    place = {item: k for k, item in enumerate(items)}
    edges = set()
    for i in home:
        for j in scene.vertices[i].inputs:
            if j in home and home[i] != home[j]:
                edges.add((place[home[j]], place[home[i]]))
    order = topological(len(items), sorted(edges))
    first: dict[int, int] = {}
    rank = {k: n for n, k in enumerate(order)}
    for a, b in edges:
        first[a] = min(first.get(a, len(items)), rank[b])
    fed = {b for _, b in edges}
    key = {k: (rank[k], 1) if k in fed or k not in first else (first[k], 0) for k in order}
    return [items[k] for k in sorted(order, key=lambda k: (*key[k], k))]


def levels(scene: Scene) -> list[list[int]]:
    """The groups by depth, without the whole."""
    inner, _ = children(scene)
    found = [inner[0]]
    while found[-1]:
        found.append([i for g in found[-1] for i in inner[g]])
    return found[:-1]


def opened_depth(scene: Scene) -> int:
    """How many levels of groups are open at first: as many as few boxes show."""
    inner, boxes = children(scene)
    shown = len(boxes[0]) + len(inner[0])
    for depth, level in enumerate(levels(scene)):
        shown += sum(len(boxes[g]) + len(inner[g]) - 1 for g in level)
        if shown > SHOWN:
            return depth
    return MANY


def opened(scenes: Sequence[Scene]) -> list[set[int]]:
    """The groups of each scene that are open at first: as deep in all of them."""
    depth = min(map(opened_depth, scenes))
    return [{0, *(g for level in levels(scene)[:depth] for g in level)} for scene in scenes]
