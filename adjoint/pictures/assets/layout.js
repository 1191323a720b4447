// Boxes in layers: the same layout as layers.py and layered_layout.py, for groups that open and close.
"use strict";
const GAP = 14, LAYER = 30, PAD = 14, HEADER = 22, LONG = 12, SWEEPS = 8, FEW = 200;

// How much two places that are connected draw each other to one line: what runs straight on, more than what comes from afar.
const PULL = {"bend bend": 4, "item item": 2, "item reference": 0.05, "reference item": 0.05};

// Insert a number into a sorted list; equal ones before it.
function insort(list, value) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (value < list[middle]) high = middle; else low = middle + 1;
  }
  list.splice(low, 0, value);
  return low;
}

// The numbers below `count`, each after those with an edge to it; the lowest first, also where a circle must be broken.
function topological(count, edges) {
  const after = Array.from({length: count}, () => []), left = new Array(count).fill(0), done = new Array(count).fill(false);
  for (const [a, b] of edges) { after[a].push(b); left[b] += 1; }
  const ready = [], order = [];
  for (let k = 0; k < count; k++) if (!left[k]) ready.push(k);
  let waiting = 0;
  while (order.length < count) {
    if (!ready.length) {
      while (done[waiting]) waiting += 1;
      ready.push(waiting);
    }
    const k = ready.shift();
    if (done[k]) continue;
    done[k] = true;
    order.push(k);
    for (const b of after[k]) {
      left[b] -= 1;
      if (!left[b] && !done[b]) insort(ready, b);
    }
  }
  return order;
}

function newItem(id, width, height) {
  return {id, width, height, items: [], x: 0, y: 0, entries: new Map(), exits: new Map()};
}

// What is directly inside one group.
class Level {
  constructor(group, flip) {
    this.group = group;
    this.flip = flip;
    this.spots = group.items.map(i => this.spot(i.width, i.height, i, i.id, "item", 0));
    this.at = new Map(group.items.map((i, k) => [i.id, k]));
    this.ports = new Map();
    this.links = new Map();
  }

  spot(width, height, item, source, kind, layer) { return {width, height, item, source, kind, layer, x: 0, y: 0}; }

  port(kind, source) {
    const key = kind + source;
    if (!this.ports.has(key)) {
      this.ports.set(key, this.spots.length);
      this.spots.push(this.spot(6, 0, null, source, kind, 0));
    }
    return this.ports.get(key);
  }

  link(start, end, source) {
    const key = `${start} ${end} ${source}`;
    if (!this.links.has(key)) this.links.set(key, {start, end, source, spots: [], forward: true});
  }

  arrange(labelWidth) {
    for (const s of this.spots) if (s.item) { s.width = s.item.width; s.height = s.item.height; }
    this.layersOf();
    this.route(labelWidth);
    this.order();
    this.place();
    this.size();
  }

  layersOf() {
    const spots = this.spots, links = [...this.links.values()];
    const order = topological(spots.length, links.map(l => [l.start, l.end]));
    const place = new Array(spots.length);
    order.forEach((k, n) => { place[k] = n; });
    const into = spots.map(() => []), out = spots.map(() => []);
    for (const l of links) {
      l.forward = place[l.start] < place[l.end];
      const [a, b] = l.forward ? [l.start, l.end] : [l.end, l.start];
      into[b].push(a);
      out[a].push(b);
    }
    for (const k of order) spots[k].layer = into[k].reduce((m, a) => Math.max(m, spots[a].layer + 1), 0);
    const loose = new Array(spots.length).fill(false); // inputs, and what is made of one that nothing else needs: near to what needs it
    for (const k of order) {
      const alone = into[k].length === 1 && loose[into[k][0]] && out[into[k][0]].length === 1;
      loose[k] = spots[k].kind !== "entry" && (!into[k].length || alone);
    }
    for (const k of [...order].reverse())
      if (loose[k] && out[k].length)
        spots[k].layer = out[k].reduce((m, b) => Math.min(m, spots[b].layer), Infinity) - 1;
    let last = spots.reduce((m, s) => Math.max(m, s.layer), 0);
    const items = this.at.size;
    const crowded = s => { for (let k = 0; k < items; k++) if (spots[k].layer >= s.layer) return true; return false; };
    if (spots.some(s => s.kind === "exit" && crowded(s)))
      last = spots.reduce((m, s) => s.kind === "exit" ? m : Math.max(m, s.layer), -Infinity) + 1;
    for (const s of spots) if (s.kind === "exit") s.layer = last;
  }

  // Places in between for connections over several layers; very long ones end in a reference.
  route(labelWidth) {
    const spots = this.spots, references = new Map();
    for (const l of this.links.values()) {
      const [a, b] = l.forward ? [l.start, l.end] : [l.end, l.start];
      const first = spots[a].layer, final = spots[b].layer;
      if (final - first > LONG && spots[b].kind !== "exit" && l.forward) {
        const key = `${l.source} ${final}`;
        if (!references.has(key)) {
          references.set(key, spots.length);
          spots.push(this.spot(labelWidth(l.source), 18, null, l.source, "reference", final - 1));
        }
        l.spots = [references.get(key), b];
        continue;
      }
      const way = [a];
      for (let layer = first + 1; layer < final; layer++) {
        way.push(spots.length);
        spots.push(this.spot(6, 0, null, l.source, "bend", layer));
      }
      way.push(b);
      l.spots = l.forward ? way : way.reverse();
    }
    this.layers = Array.from({length: spots.reduce((m, s) => Math.max(m, s.layer), 0) + 1}, () => []);
    spots.forEach((s, k) => this.layers[s.layer].push(k));
    this.above = spots.map(() => []);
    this.below = spots.map(() => []);
    for (const l of this.links.values())
      for (let n = 0; n + 1 < l.spots.length; n++) this.neighbours(l, l.spots[n], l.spots[n + 1]);
  }

  neighbours(l, a, b) {
    const s = this.spots[a], e = this.spots[b];
    let shift = s.item ? (s.item.exits.has(l.source) ? s.item.exits.get(l.source) : s.width / 2) - s.width / 2 : 0;
    shift -= e.item ? (e.item.entries.has(l.source) ? e.item.entries.get(l.source) : e.width / 2) - e.width / 2 : 0;
    if (s.layer < e.layer) { this.below[a].push([b, -shift]); this.above[b].push([a, shift]); }
    else if (s.layer > e.layer) { this.above[a].push([b, -shift]); this.below[b].push([a, shift]); }
  }

  order() {
    const first = this.layers.map(l => [...l]);
    let best = first, fewest = this.crossings();
    for (const start of [0, 1]) {
      this.layers = first.map(l => [...l]);
      for (let sweep = start; sweep < start + SWEEPS && fewest; sweep++) {
        this.sort(sweep % 2 === 0);
        if (this.spots.length <= FEW) this.exchange();
        const crossings = this.crossings();
        if (crossings < fewest) { best = this.layers.map(l => [...l]); fewest = crossings; }
      }
    }
    this.layers = best;
  }

  places() {
    const at = new Array(this.spots.length);
    for (const layer of this.layers) layer.forEach((k, n) => { at[k] = n; });
    return at;
  }

  sort(down) {
    const near = down ? this.above : this.below, at = this.places();
    for (const layer of down ? this.layers : [...this.layers].reverse()) {
      const middle = new Map(layer.map(k => [k, near[k].length ? near[k].reduce((t, [n]) => t + at[n], 0) / near[k].length : at[k]]));
      layer.sort((a, b) => middle.get(a) - middle.get(b) || at[a] - at[b]);
      layer.forEach((k, n) => { at[k] = n; });
    }
  }

  exchange() {
    const at = this.places();
    for (const layer of this.layers)
      for (let n = 0; n + 1 < layer.length; n++) {
        const a = layer[n], b = layer[n + 1];
        if (this.between(a, b, at) > this.between(b, a, at)) {
          layer[n] = b; layer[n + 1] = a;
          at[a] = n + 1; at[b] = n;
        }
      }
  }

  between(a, b, at) {
    let total = 0;
    for (const near of [this.above, this.below])
      for (const [i] of near[a]) for (const [j] of near[b]) if (at[i] > at[j]) total += 1;
    return total;
  }

  crossings() {
    const at = this.places();
    let total = 0;
    for (const layer of this.layers) {
      const seen = [];
      for (const k of layer) {
        const ends = this.below[k].map(([n]) => at[n]).sort((a, b) => a - b);
        for (const e of ends) {
          let low = 0, high = seen.length;
          while (low < high) { const m = (low + high) >> 1; if (e < seen[m]) high = m; else low = m + 1; }
          total += seen.length - low;
        }
        for (const e of ends) insort(seen, e);
      }
    }
    return total;
  }

  place() {
    for (const layer of this.layers) {
      let x = 0;
      for (const k of layer) { const s = this.spots[k]; s.x = x + s.width / 2; x += s.width + GAP; }
    }
    for (let sweep = 0; sweep < 2 * SWEEPS; sweep++) {
      const down = sweep % 2 === 0;
      for (const layer of down ? this.layers : [...this.layers].reverse()) this.settle(layer, down ? this.above : this.below);
    }
  }

  // The positions of a layer nearest to its neighbours': adjacent blocks that would overlap become one.
  settle(layer, near) {
    const blocks = [], offsets = [];
    let offset = 0;
    layer.forEach((k, n) => {
      const s = this.spots[k];
      if (n) offset += (this.spots[layer[n - 1]].width + s.width) / 2 + GAP;
      offsets.push(offset);
      const [wanted, weight] = this.wanted(k, near);
      let block = [wanted - offset, weight, 1];
      while (blocks.length && blocks[blocks.length - 1][0] > block[0]) {
        const before = blocks.pop(), total = before[1] + block[1];
        block = [(before[0] * before[1] + block[0] * block[1]) / total, total, before[2] + block[2]];
      }
      blocks.push(block);
    });
    let n = 0;
    for (const [position, , many] of blocks)
      for (let i = 0; i < many; i++, n++) this.spots[layer[n]].x = position + offsets[n];
  }

  wanted(k, near) {
    const s = this.spots[k];
    if (!near[k].length) return [s.x, 0.1];
    let total = 0, weight = 0;
    for (const [n, shift] of near[k]) {
      const w = PULL[`${s.kind} ${this.spots[n].kind}`] || 0.5;
      total += w * (this.spots[n].x + shift);
      weight += w;
    }
    return [total / weight, weight];
  }

  size() {
    const spots = this.spots, group = this.group, whole = group.id < 0;
    let left = Infinity, right = -Infinity;
    for (const s of spots) { left = Math.min(left, s.x - s.width / 2); right = Math.max(right, s.x + s.width / 2); }
    if (!spots.length) left = right = 0;
    let y = PAD + (this.flip || whole ? 0 : HEADER);
    const heights = this.layers.map(layer => layer.reduce((m, k) => Math.max(m, spots[k].height), 0));
    this.layers.forEach((layer, n) => {
      const height = heights[n];
      for (const k of layer) {
        const s = spots[k];
        s.x += PAD - left;
        s.top = y; s.bottom = y + height;
        s.y = s.kind === "item" || s.kind === "reference" ? y + (height - s.height) / 2 : y;
        if (s.kind === "bend") s.height = height;
        if (s.item) { s.item.x = s.x - s.width / 2; s.item.y = s.y; }
      }
      y += height;
      if (n + 1 < heights.length) y += height && heights[n + 1] ? LAYER : LAYER / 2;
    });
    const wide = right - left + 2 * PAD;
    group.width = Math.max(wide, whole ? 0 : group.width);
    const spare = (group.width - wide) / 2;
    for (const s of spots) { s.x += spare; if (s.item) s.item.x += spare; }
    group.height = y + PAD + (this.flip && !whole ? HEADER : 0);
    for (const [key, k] of this.ports)
      (key.startsWith("entry") ? group.entries : group.exits).set(spots[k].source, spots[k].x);
  }
}

// Place everything in a root whose id is negative; `flip` turns it upside down: sources stand at the bottom.
function arrange(root, edges, labelWidth, flip) {
  const levels = new Map(), around = new Map();
  (function visit(item, path) {
    around.set(item.id, path);
    if (item.items.length) levels.set(item.id, new Level(item, flip));
    for (const child of item.items) visit(child, [...path, item]);
  })(root, []);
  const ways = edges.map(([u, v]) => {
    const a = around.get(u), b = around.get(v);
    let shared = 0;
    while (shared < Math.min(a.length, b.length) && a[shared] === b[shared]) shared += 1;
    const from = [...a.slice(shared).map(g => g.id), u], to = [...b.slice(shared).map(g => g.id), v];
    const top = a[shared - 1].id, level = levels.get(top);
    level.link(level.at.get(from[0]), level.at.get(to[0]), u);
    for (let n = 0; n + 1 < from.length; n++) {
      const l = levels.get(from[n]);
      l.link(l.at.get(from[n + 1]), l.port("exit", u), u);
    }
    for (let n = 0; n + 1 < to.length; n++) {
      const l = levels.get(to[n]);
      l.link(l.port("entry", u), l.at.get(to[n + 1]), u);
    }
    return {u, v, from, to, top};
  });
  (function place(item) {
    for (const child of item.items) place(child);
    if (item.items.length) levels.get(item.id).arrange(labelWidth);
  })(root);
  const references = [];
  (function spread(item, x, y) {
    item.x += x; item.y += y;
    if (!item.items.length) return;
    for (const s of levels.get(item.id).spots)
      if (s.kind === "reference")
        references.push({source: s.source, x: item.x + s.x - s.width / 2, y: item.y + s.y, width: s.width, height: s.height});
    for (const child of item.items) spread(child, item.x, item.y);
  })(root, 0, 0);
  let paths = ways.map(way => ({u: way.u, v: way.v, points: pathOf(levels, way)}));
  if (flip) {
    const high = root.height;
    (function turn(item) { item.y = high - item.y - item.height; item.items.forEach(turn); })(root);
    for (const r of references) r.y = high - r.y - r.height;
    paths = paths.map(p => ({...p, points: p.points.map(([x, y]) => [x, high - y])}));
  }
  return {root, paths, references};
}

function pathOf(levels, {u, from, to, top}) {
  let pieces = [];
  for (let n = from.length - 2; n >= 0; n--) {
    const level = levels.get(from[n]);
    pieces.push(pointsOf(level, level.at.get(from[n + 1]), level.ports.get("exit" + u), u));
  }
  const level = levels.get(top);
  pieces.push(pointsOf(level, level.at.get(from[0]), level.at.get(to[0]), u));
  for (let n = 0; n + 1 < to.length; n++) {
    const inner = levels.get(to[n]);
    pieces.push(pointsOf(inner, inner.ports.get("entry" + u), inner.at.get(to[n + 1]), u));
  }
  for (let k = pieces.length - 1; k >= 0; k--)
    if (pieces[k].cut) { pieces = pieces.slice(k); break; } // it begins at a reference: what comes before is not drawn
  return pieces.flatMap(p => p.points);
}

function pointsOf(level, start, end, source) {
  const spots = level.links.get(`${start} ${end} ${source}`).spots, {x, y} = level.group;
  const first = level.spots[spots[0]], last = level.spots[spots[spots.length - 1]], points = [], down = first.layer <= last.layer;
  spots.forEach((k, n) => {
    const s = level.spots[k];
    if (s.kind === "bend") {
      const ends = [[x + s.x, y + s.y], [x + s.x, y + s.y + s.height]];
      points.push(...(down ? ends : ends.reverse()));
    } else if (s.kind === "entry") points.push([x + s.x, y], [x + s.x, y + s.y]);
    else if (s.kind === "exit") points.push([x + s.x, y + s.y], [x + s.x, y + level.group.height]);
    else {
      const port = s.item ? (n === 0 ? s.item.exits : s.item.entries).get(source) : undefined;
      const middle = port === undefined ? s.x : s.x - s.width / 2 + port;
      const own = y + s.y + (n === 0 ? s.height : 0), edge = y + (n === 0 ? s.bottom : s.top); // past taller ones beside it
      const ends = [[x + middle, own], [x + middle, edge]];
      if (own === edge || !down) points.push(ends[0]); else points.push(...(n === 0 ? ends : ends.reverse()));
    }
  });
  return {points, cut: first.kind === "reference"};
}
