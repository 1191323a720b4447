"""What of a scene is seen when some of its groups are open: boxes with their sizes, and the connections between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from adjoint.pictures.layers import BoxItem
from adjoint.pictures.scene import CONTROL, STEP, Scene
from adjoint.pictures.scene_groups import children

WIDE, NARROW, HEADING = 7.3, 6.2, 7.0  # of a letter on the first and second line of a box, and on a frame
TALL, LOW, CLOSED = 38.0, 22.0, 42.0


@dataclass
class SceneView:
    """What is seen: the boxes inside a root, and which of them are connected. A group has the number after all boxes plus its own."""

    root: BoxItem
    edges: list[tuple[int, int]]
    items: dict[int, BoxItem]


def lines_of(scene: Scene, item: int) -> tuple[str, str]:
    """What is written on a box or a closed group."""
    if item < len(scene.vertices):
        vertex = scene.vertices[item]
        return shortened(vertex.label, 30), shortened(vertex.note, 34)
    group = scene.groups[item - len(scene.vertices)]
    return shortened(group.label, 34), shortened(group.detail, 34)


def shortened(text: str, most: int) -> str:
    """A text that is no longer than it may be; the ends say most about names."""
    return text if len(text) <= most else f"{text[: most // 2 - 1]}…{text[-(most // 2) :]}"


def size_of(scene: Scene, item: int) -> tuple[float, float]:
    """Width and height of a box or closed group."""
    first, second = lines_of(scene, item)
    width = max(len(first) * WIDE, len(second) * NARROW) + 20
    if item >= len(scene.vertices) or scene.vertices[item].kind == CONTROL:
        return max(width + 36, 84.0), CLOSED
    if scene.vertices[item].kind == STEP:
        return max(width, 44.0), TALL if second else LOW + 4
    return max(width, 30.0), TALL - 4 if second else LOW


def view_of(scene: Scene, opened: set[int]) -> SceneView:
    """What is seen with these groups open."""
    count = len(scene.vertices)
    inner, boxes = children(scene)
    root = BoxItem(-1, 0.0, 0.0)
    items: dict[int, BoxItem] = {}
    stands_for: dict[int, int] = {}  # for each group that is not seen itself, what is seen in its place
    home = {0: root}
    controls = {g.vertex: i for i, g in enumerate(scene.groups) if g.vertex >= 0}
    queue = [0]
    for g in queue:
        for i in sorted(
            [*boxes[g], *(count + i for i in inner[g] if scene.groups[i].vertex < 0)], key=_by_first(scene, boxes)
        ):
            item = items[i] = BoxItem(i, *size_of(scene, i))
            home[g].items.append(item)
            inside = controls.get(i, -1) if i < count else i - count
            if inside < 0:
                continue
            if inside in opened:
                item.width = len(" · ".join(lines_of(scene, i))) * HEADING + 24
                home[inside] = item
                queue.append(inside)
            else:
                stands_for[inside] = i
    shown = [_seen(scene, i, stands_for) for i in range(count)]
    edges = dict.fromkeys(
        (shown[u], shown[v]) for v, vertex in enumerate(scene.vertices) for u in vertex.inputs if shown[u] != shown[v]
    )
    return SceneView(root, list(edges), items)


def _by_first(scene: Scene, boxes: list[list[int]]) -> Callable[[int], tuple[int, int]]:
    """Boxes in their order; a group has the place of the first box directly in it."""
    count = len(scene.vertices)

    def key(i: int) -> tuple[int, int]:
        return (i, 0) if i < count else (min(boxes[i - count], default=count), i)

    return key


def _seen(scene: Scene, vertex: int, stands_for: dict[int, int]) -> int:
    """What is seen in place of a box: itself, or the outermost closed group around it."""
    seen, group = vertex, scene.vertices[vertex].group
    while group >= 0:
        seen = stands_for.get(group, seen)
        group = scene.groups[group].parent
    return seen
