"""The layout: boxes below what they need, none over another, inside their frames, the same each time."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from adjoint.pictures.layered_layout import arrange
from adjoint.pictures.layers import BoxItem, topological


def random_tree(seed: int) -> tuple[BoxItem, list[tuple[int, int]]]:
    """Boxes in nested groups, and connections from lower to higher numbers."""
    rng = np.random.default_rng(seed)
    root, count = BoxItem(-1, 0.0, 0.0), itertools.count()

    def fill(group: BoxItem, depth: int) -> None:
        for _ in range(int(rng.integers(1, 7))):
            item = BoxItem(next(count), float(rng.integers(20, 120)), float(rng.integers(16, 60)))
            group.items.append(item)
            if depth < 3 and rng.random() < 0.3:
                fill(item, depth + 1)

    while len(root.items) < 4:
        fill(root, 0)
    inside = {i.id: [j.id for j in walk(i)] for i in walk(root)}
    leaves = [i.id for i in walk(root) if not i.items and i.id >= 0]
    pairs = [(a, b) for a in leaves for b in leaves if a < b and rng.random() < 2.5 / len(leaves)]
    assert inside[-1]
    return root, pairs


def walk(item: BoxItem):
    yield item
    for child in item.items:
        yield from walk(child)


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("flip", [False, True])
def test_boxes_do_not_overlap_and_stand_inside_their_frames(seed: int, flip: bool) -> None:
    root, edges = random_tree(seed)
    drawing = arrange(root, edges, {}, flip)
    for group in walk(root):
        for child in group.items:
            assert group.x <= child.x and child.x + child.width <= group.x + group.width + 1e-6
            assert group.y <= child.y and child.y + child.height <= group.y + group.height + 1e-6
        for a, b in itertools.combinations(group.items, 2):
            apart = a.x + a.width <= b.x + 1e-6 or b.x + b.width <= a.x + 1e-6
            assert apart or a.y + a.height <= b.y + 1e-6 or b.y + b.height <= a.y + 1e-6
    at = {i.id: i for i in walk(root)}
    for (u, v), path in drawing.paths.items():
        (x, y), (a, b) = path[0], path[-1]
        assert at[v].x - 1e-6 <= a <= at[v].x + at[v].width + 1e-6
        assert b == pytest.approx(at[v].y + (at[v].height if flip else 0.0))
        down = [p[1] for p in (path[::-1] if flip else path)]
        assert all(low <= high + 1e-6 for low, high in itertools.pairwise(down))
        if not drawing.references:
            assert y == pytest.approx(at[u].y + (0.0 if flip else at[u].height))
            assert at[u].x - 1e-6 <= x <= at[u].x + at[u].width + 1e-6


def test_the_same_each_time() -> None:
    (a, edges), (b, _) = random_tree(3), random_tree(3)
    first, second = arrange(a, edges, {}), arrange(b, edges, {})
    assert first.paths == second.paths and [(i.x, i.y) for i in walk(a)] == [(i.x, i.y) for i in walk(b)]


def test_a_planar_graph_is_drawn_without_crossings() -> None:
    root = BoxItem(-1, 0.0, 0.0, [BoxItem(i, 30.0, 20.0) for i in range(6)])
    drawing = arrange(root, [(0, 4), (1, 3), (2, 3), (2, 5), (0, 5)], {})
    starts = {e: p[0][0] for e, p in drawing.paths.items()}
    ends = {e: p[-1][0] for e, p in drawing.paths.items()}
    for e, f in itertools.combinations(drawing.paths, 2):
        assert (starts[e] - starts[f]) * (ends[e] - ends[f]) >= 0


def test_long_connections_end_in_a_reference() -> None:
    root = BoxItem(-1, 0.0, 0.0, [BoxItem(i, 30.0, 20.0) for i in range(40)])
    edges = [*itertools.pairwise(range(40)), (0, 39)]
    drawing = arrange(root, edges, {0: 25.0})
    assert [(r.source, r.width) for r in drawing.references] == [(0, 25.0)]
    assert drawing.paths[0, 39][0][1] > root.items[38].y


def test_an_order_exists_also_where_groups_need_one_another() -> None:
    assert topological(4, [(2, 0), (0, 1), (1, 2), (2, 3)]) == [0, 1, 2, 3]
    root = BoxItem(-1, 0.0, 0.0, [BoxItem(i, 30.0, 20.0) for i in range(3)])
    assert len(arrange(root, [(0, 1), (1, 2), (2, 0)], {}).paths) == 3
