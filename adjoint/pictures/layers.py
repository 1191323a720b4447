"""What is directly inside one group, in layers: see `layered_layout`."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

GAP, LAYER, PAD, HEADER, LONG, SWEEPS, FEW = 14.0, 30.0, 14.0, 22.0, 12, 8, 200


#: How much two places that are connected draw each other to one line: what runs straight on, more than what comes from afar.
PULL = {("bend", "bend"): 4.0, ("item", "item"): 2.0, ("item", "reference"): 0.05, ("reference", "item"): 0.05}


def topological(count: int, edges: Iterable[tuple[int, int]]) -> list[int]:
    """The numbers below `count`, each after those with an edge to it; the lowest first, also where a circle must be broken."""
    after: list[list[int]] = [[] for _ in range(count)]
    left = [0] * count
    for a, b in edges:
        after[a].append(b)
        left[b] += 1
    ready, done = [k for k in range(count) if not left[k]], [False] * count
    order: list[int] = []
    waiting = 0
    while len(order) < count:
        if not ready:
            while done[waiting]:
                waiting += 1
            ready.append(waiting)
        k = ready.pop(0)
        if done[k]:
            continue
        done[k] = True
        order.append(k)
        for b in after[k]:
            left[b] -= 1
            if not left[b] and not done[b]:
                insort(ready, b)
    return order


@dataclass
class BoxItem:
    """A box, or an open group with what is in it. Positions are of the left upper corner, in the whole picture at last."""

    id: int
    width: float
    height: float
    items: list[BoxItem] = field(default_factory=list)
    x: float = 0.0
    y: float = 0.0
    entries: dict[int, float] = field(default_factory=dict)  # where connections from each source come in, from the left
    exits: dict[int, float] = field(default_factory=dict)


@dataclass
class _Spot:
    """A place in a layer: of a box or group, of a connection that passes by or goes out, or of a reference."""

    width: float
    height: float
    item: BoxItem | None = None
    source: int = -1
    kind: str = "item"
    layer: int = 0
    x: float = 0.0  # the middle
    y: float = 0.0  # the upper end
    top: float = 0.0  # of its layer
    bottom: float = 0.0


@dataclass
class _Link:
    """A connection between two boxes of one group, with the source outside or inside of them that it carries."""

    start: int
    end: int
    source: int
    spots: list[int] = field(default_factory=list)  # on the way from start to end, both included


class Level:
    """What is directly inside one group."""

    def __init__(self, group: BoxItem, flip: bool) -> None:
        self.group, self.flip = group, flip
        self.spots = [_Spot(i.width, i.height, i, i.id) for i in group.items]
        self.at = {i.id: k for k, i in enumerate(group.items)}
        self.ports: dict[tuple[str, int], int] = {}
        self.links: dict[tuple[int, int, int], _Link] = {}

    def port(self, kind: str, source: int) -> int:
        """The place where a connection enters or leaves."""
        if (kind, source) not in self.ports:
            self.ports[kind, source] = len(self.spots)
            self.spots.append(_Spot(6.0, 0.0, None, source, kind))
        return self.ports[kind, source]

    def link(self, start: int, end: int, source: int) -> None:
        """Connect two places."""
        self.links.setdefault((start, end, source), _Link(start, end, source))

    # ------------------------------------------------------------ layers

    def arrange(self, label_width: dict[int, float]) -> None:
        """Place everything, and give the group its size."""
        for spot in self.spots:
            if spot.item is not None:
                spot.width, spot.height = spot.item.width, spot.item.height
        self._layers()
        self._route(label_width)
        self._order()
        self._place()
        self._size()

    def _layers(self) -> None:
        edges = [(l.start, l.end) for l in self.links.values()]
        order = topological(len(self.spots), edges)
        place = {k: n for n, k in enumerate(order)}
        self.forward = {key: place[l.start] < place[l.end] for key, l in self.links.items()}
        into: list[list[int]] = [[] for _ in self.spots]
        out: list[list[int]] = [[] for _ in self.spots]
        for key, l in self.links.items():
            a, b = (l.start, l.end) if self.forward[key] else (l.end, l.start)
            into[b].append(a)
            out[a].append(b)
        order.sort(key=lambda k: place[k])
        for k in order:
            self.spots[k].layer = max((self.spots[a].layer + 1 for a in into[k]), default=0)
        loose = [False] * len(
            self.spots
        )  # inputs, and what is made of one that nothing else needs: near to what needs it
        for k in order:
            alone = len(into[k]) == 1 and loose[into[k][0]] and len(out[into[k][0]]) == 1
            loose[k] = self.spots[k].kind != "entry" and (not into[k] or alone)
        for k in reversed(order):
            if loose[k] and out[k]:
                self.spots[k].layer = min(self.spots[b].layer for b in out[k]) - 1
        last = max((s.layer for s in self.spots), default=0)
        if any(
            s.kind == "exit" and any(self.spots[k].layer >= s.layer for k in range(len(self.at))) for s in self.spots
        ):
            last = max(s.layer for s in self.spots if s.kind != "exit") + 1
        for s in self.spots:
            s.layer = last if s.kind == "exit" else s.layer

    def _route(self, label_width: dict[int, float]) -> None:
        """Places in between for connections over several layers; very long ones end in a reference."""
        references: dict[tuple[int, int], int] = {}
        for key, l in self.links.items():
            a, b = (l.start, l.end) if self.forward[key] else (l.end, l.start)
            first, final = self.spots[a].layer, self.spots[b].layer
            if final - first > LONG and self.spots[b].kind != "exit" and self.forward[key]:
                at = references.get((l.source, final))
                if at is None:
                    at = references[l.source, final] = len(self.spots)
                    width = label_width.get(l.source, 40.0)
                    self.spots.append(_Spot(width, 18.0, None, l.source, "reference", final - 1))
                l.spots = [at, b]
                continue
            way = [a]
            for layer in range(first + 1, final):
                way.append(len(self.spots))
                self.spots.append(_Spot(6.0, 0.0, None, l.source, "bend", layer))
            way.append(b)
            l.spots = way if self.forward[key] else way[::-1]
        count = max((s.layer for s in self.spots), default=0) + 1
        self.layers: list[list[int]] = [[] for _ in range(count)]
        for k, s in enumerate(self.spots):
            self.layers[s.layer].append(k)
        self.above: list[list[tuple[int, float]]] = [[] for _ in self.spots]
        self.below: list[list[tuple[int, float]]] = [[] for _ in self.spots]
        for l in self.links.values():
            for a, b in zip(l.spots, l.spots[1:], strict=False):
                self._neighbours(l, a, b)

    def _neighbours(self, l: _Link, a: int, b: int) -> None:
        """Note that two places are connected, and how far apart their middles should be."""
        s, e = self.spots[a], self.spots[b]
        shift = (s.item.exits.get(l.source, s.width / 2) - s.width / 2) if s.item is not None else 0.0
        shift -= (e.item.entries.get(l.source, e.width / 2) - e.width / 2) if e.item is not None else 0.0
        if s.layer < e.layer:
            self.below[a].append((b, -shift))
            self.above[b].append((a, shift))
        elif s.layer > e.layer:
            self.above[a].append((b, -shift))
            self.below[b].append((a, shift))

    # ------------------------------------------------------------ order

    def _order(self) -> None:
        first = [list(l) for l in self.layers]
        best, fewest = first, self._crossings()
        for start in (0, 1):  # downwards first, then upwards first
            self.layers = [list(l) for l in first]
            for sweep in range(start, start + SWEEPS):
                if not fewest:
                    break
                self._sort(sweep % 2 == 0)
                if len(self.spots) <= FEW:
                    self._exchange()
                crossings = self._crossings()
                if crossings < fewest:
                    best, fewest = [list(l) for l in self.layers], crossings
        self.layers = best

    def _sort(self, down: bool) -> None:
        """Each layer by the barycentres of its neighbours in the layer before."""
        near = self.above if down else self.below
        at = {k: n for layer in self.layers for n, k in enumerate(layer)}
        for layer in self.layers if down else reversed(self.layers):
            middle = {k: sum(at[n] for n, _ in near[k]) / len(near[k]) if near[k] else float(at[k]) for k in layer}
            layer.sort(key=lambda k: (middle[k], at[k]))
            at.update((k, n) for n, k in enumerate(layer))

    def _exchange(self) -> None:
        """Change places of two that stand side by side wherever it saves crossings."""
        at = {k: n for layer in self.layers for n, k in enumerate(layer)}
        for layer in self.layers:
            for n in range(len(layer) - 1):
                a, b = layer[n], layer[n + 1]
                if self._between(a, b, at) > self._between(b, a, at):
                    layer[n], layer[n + 1] = b, a
                    at[a], at[b] = n + 1, n

    def _between(self, a: int, b: int, at: dict[int, int]) -> int:
        """Crossings of the connections of two places, the first on the left."""
        return sum(
            at[i] > at[j] for near in (self.above, self.below) for i, _ in near[a] for j, _ in near[b]
        )  # fmt: skip

    def _crossings(self) -> int:
        at = {k: n for layer in self.layers for n, k in enumerate(layer)}
        total = 0
        for layer in self.layers:
            seen: list[int] = []
            for k in layer:
                ends = sorted(at[n] for n, _ in self.below[k])
                total += sum(len(seen) - bisect_right(seen, e) for e in ends)
                for e in ends:
                    insort(seen, e)
        return total

    # ------------------------------------------------------------ positions

    def _place(self) -> None:
        for layer in self.layers:
            x = 0.0
            for k in layer:
                s = self.spots[k]
                s.x = x + s.width / 2
                x += s.width + GAP
        for sweep in range(2 * SWEEPS):
            near = self.above if sweep % 2 == 0 else self.below
            for layer in self.layers if sweep % 2 == 0 else reversed(self.layers):
                self._settle(layer, near)

    def _settle(self, layer: Sequence[int], near: list[list[tuple[int, float]]]) -> None:
        """The positions of a layer nearest to its neighbours': adjacent blocks that would overlap become one."""
        blocks: list[tuple[float, float, int]] = []  # the wanted position of the first, its weight, how many
        offset, offsets = 0.0, []
        for n, k in enumerate(layer):
            s = self.spots[k]
            if n:
                offset += (self.spots[layer[n - 1]].width + s.width) / 2 + GAP
            offsets.append(offset)
            wanted, weight = self._wanted(k, near)
            block = (wanted - offset, weight, 1)
            while blocks and blocks[-1][0] > block[0]:
                before = blocks.pop()
                total = before[1] + block[1]
                block = ((before[0] * before[1] + block[0] * block[1]) / total, total, before[2] + block[2])
            blocks.append(block)
        n = 0
        for position, _, many in blocks:
            for _ in range(many):
                self.spots[layer[n]].x = position + offsets[n]
                n += 1

    def _wanted(self, k: int, near: list[list[tuple[int, float]]]) -> tuple[float, float]:
        """Where the neighbours want a place to be, and how much."""
        s = self.spots[k]
        if not near[k]:
            return s.x, 0.1
        total = weight = 0.0
        for n, shift in near[k]:
            w = PULL.get((s.kind, self.spots[n].kind), 0.5)
            total += w * (self.spots[n].x + shift)
            weight += w
        return total / weight, weight

    def _size(self) -> None:
        """The heights of layers, the size of the group, and where connections pass its border."""
        left = min((s.x - s.width / 2 for s in self.spots), default=0.0)
        right = max((s.x + s.width / 2 for s in self.spots), default=0.0)
        whole = self.group.id < 0
        y = PAD + (0.0 if self.flip or whole else HEADER)
        heights = [max((self.spots[k].height for k in layer), default=0.0) for layer in self.layers]
        for n, layer in enumerate(self.layers):
            height = heights[n]
            for k in layer:
                s = self.spots[k]
                s.x += PAD - left
                s.top, s.bottom = y, y + height
                s.y = y + (height - s.height) / 2 if s.kind in ("item", "reference") else y
                if s.kind == "bend":
                    s.height = height
                if s.item is not None:
                    s.item.x, s.item.y = s.x - s.width / 2, s.y
            y += height
            if n + 1 < len(heights):
                y += LAYER if height and heights[n + 1] else LAYER / 2  # less where connections only enter or leave
        least = 0.0 if whole else self.group.width
        self.group.width = max(right - left + 2 * PAD, least)
        spare = (self.group.width - (right - left + 2 * PAD)) / 2
        for s in self.spots:
            s.x += spare
            if s.item is not None:
                s.item.x += spare
        self.group.height = y + PAD + (HEADER if self.flip and not whole else 0.0)
        for (kind, source), k in self.ports.items():
            (self.group.entries if kind == "entry" else self.group.exits)[source] = self.spots[k].x
