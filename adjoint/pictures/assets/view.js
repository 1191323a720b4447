// What of a scene is seen when some of its groups are open, and its markup.
const WIDE = 7.3, NARROW = 6.2, HEADING = 7.0, TALL = 38, LOW = 22, CLOSED = 42;

function readScene(raw, kinds, details) {
  const vertices = raw.vertices.map(([kind, label, name, note, group, inputs, tag, detail], i) => ({
    kind: kinds[kind], label, name, group, inputs, tag, detail: details[detail], measured: raw.measured[i],
    note: kind < 2 ? (name + note).trim() : note, users: [],
  }));
  const groups = raw.groups.map(([parent, kind, label, detail, vertex, pair]) =>
    ({parent, kind, label, detail, vertex, pair, inner: [], boxes: []}));
  groups.forEach((g, i) => { if (g.parent >= 0) groups[g.parent].inner.push(i); });
  vertices.forEach((v, i) => { groups[v.group].boxes.push(i); for (const u of v.inputs) vertices[u].users.push(i); });
  const inside = new Map(groups.flatMap((g, i) => g.vertex >= 0 ? [[g.vertex, i]] : []));
  const byTag = new Map();
  vertices.forEach((v, i) => { if (v.tag) (byTag.get(v.tag) || byTag.set(v.tag, []).get(v.tag)).push(i); });
  return {vertices, groups, inside, byTag, count: vertices.length, opened: new Set(raw.opened)};
}

function shortened(text, most) {
  const half = most >> 1;
  return text.length <= most ? text : `${text.slice(0, half - 1)}…${text.slice(-half)}`;
}

function linesOf(scene, i) {
  const on = i < scene.count ? scene.vertices[i] : null, group = on ? null : scene.groups[i - scene.count];
  return on ? [shortened(on.label, 30), shortened(on.note, 34)] : [shortened(group.label, 34), shortened(group.detail, 34)];
}

function sizeOf(scene, i) {
  const [first, second] = linesOf(scene, i), width = Math.max(first.length * WIDE, second.length * NARROW) + 20;
  if (i >= scene.count || scene.vertices[i].kind === "control") return [Math.max(width + 36, 84), CLOSED];
  if (scene.vertices[i].kind === "step") return [Math.max(width, 44), second ? TALL : LOW + 4];
  return [Math.max(width, 30), second ? TALL - 4 : LOW];
}

// The group behind a box, if there is one: of a closed group or of control flow.
function groupOf(scene, i) { return i < scene.count ? (scene.inside.has(i) ? scene.inside.get(i) : -1) : i - scene.count; }

function viewOf(scene) {
  const root = newItem(-1, 0, 0), items = new Map(), home = new Map([[0, root]]), standsFor = new Map(), queue = [0];
  const first = i => i < scene.count ? i : Math.min(...scene.groups[i - scene.count].boxes, scene.count);
  for (const g of queue) {
    const group = scene.groups[g];
    const all = [...group.boxes, ...group.inner.filter(i => scene.groups[i].vertex < 0).map(i => i + scene.count)];
    all.sort((a, b) => first(a) - first(b) || a - b);
    for (const i of all) {
      const item = newItem(i, ...sizeOf(scene, i)), inside = groupOf(scene, i);
      items.set(i, item);
      home.get(g).items.push(item);
      if (inside < 0) continue;
      if (scene.opened.has(inside)) {
        item.width = linesOf(scene, i).join(" · ").length * HEADING + 24;
        item.open = true;
        home.set(inside, item);
        queue.push(inside);
      } else standsFor.set(inside, i);
    }
  }
  const seen = scene.vertices.map((v, i) => {
    let found = i;
    for (let g = v.group; g >= 0; g = scene.groups[g].parent) if (standsFor.has(g)) found = standsFor.get(g);
    return found;
  });
  const known = new Set(), edges = [];
  scene.vertices.forEach((v, i) => {
    for (const u of v.inputs) {
      const key = `${seen[u]} ${seen[i]}`;
      if (seen[u] !== seen[i] && !known.has(key)) { known.add(key); edges.push([seen[u], seen[i]]); }
    }
  });
  return {root, items, edges, seen};
}

const ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"};
const escaped = text => String(text).replace(/[&<>"]/g, c => ESCAPES[c]);
const at = x => Math.round(x * 10) / 10;

function curve(points) {
  let [x, y] = points[0], path = `M${at(x)} ${at(y)}`;
  for (const [a, b] of points.slice(1)) {
    const middle = (y + b) / 2;
    path += Math.abs(a - x) < 0.05 ? `L${at(a)} ${at(b)}` : `C${at(x)} ${at(middle)} ${at(a)} ${at(middle)} ${at(a)} ${at(b)}`;
    x = a; y = b;
  }
  return path;
}

const rect = (x, y, width, height, radius) =>
  `<rect x="${at(x)}" y="${at(y)}" width="${at(width)}" height="${at(height)}" rx="${radius}"/>`;
const text = (said, kind, box, where) =>
  `<text class="${kind}" x="${at(box.x + box.width / 2)}" y="${at(box.y + box.height * where + 4)}">${escaped(said)}</text>`;

// Whether a value is not what one wants to see: a NaN or an infinity.
const spoiled = v => Array.isArray(v.measured) && (v.measured[5] > 0 || v.measured[6] > 0);

function boxMarkup(scene, item, back) {
  const i = item.id, [first, second] = linesOf(scene, i), own = back ? "back" : "step";
  const bad = i < scene.count && spoiled(scene.vertices[i]) ? " bad" : "";
  if (i >= scene.count || scene.vertices[i].kind === "control") {
    const x = item.x + item.width - 15, y = item.y + 9;
    return `<g class="item pile ${own}${bad}" data-i="${i}" tabindex="0" role="button" aria-expanded="false" aria-label="${escaped(first)}">` +
      rect(item.x + 4, item.y + 4, item.width - 4, item.height - 4, 8) + rect(item.x, item.y, item.width - 4, item.height - 4, 8) +
      `<path class="sign" d="M${at(x - 3.5)} ${at(y)}h7m-3.5 -3.5v7"/>` +
      (second ? text(first, "b", item, 0.3) + text(second, "n", item, 0.64) : text(first, "b", item, 0.45)) + "</g>";
  }
  const v = scene.vertices[i], kind = v.kind === "step" ? own : v.kind, bold = v.kind === "step" || v.kind === "result" ? "b" : "";
  return `<g class="item ${kind}${bad}" data-i="${i}" tabindex="0" role="button" aria-label="${escaped(`${v.label} ${v.note}`.trim())}">` +
    rect(item.x, item.y, item.width, item.height, v.kind === "step" ? 6 : item.height / 2) +
    (second ? text(first, bold, item, 0.32) + text(second, "n", item, 0.72) : text(first, bold, item, 0.5)) + "</g>";
}

function frameMarkup(scene, item) {
  const said = linesOf(scene, item.id).filter(Boolean).join(" · "), x = item.x + item.width - 13, y = item.y + 11;
  return `<g class="item frame" data-i="${item.id}" tabindex="0" role="button" aria-expanded="true" aria-label="${escaped(said)}">` +
    rect(item.x, item.y, item.width, item.height, 9) + `<path class="sign" d="M${at(x - 3.5)} ${at(y)}h7"/></g>`;
}

// What is written on a frame: above the connections that cross it.
function headingMarkup(scene, item) {
  const said = linesOf(scene, item.id).filter(Boolean).join(" · ");
  return `<text class="h" x="${at(item.x + 10)}" y="${at(item.y + HEADER - 7)}">${escaped(said)}</text>`;
}

// Frames first, then connections, then boxes.
function markup(scene, view, drawing, back) {
  const all = [...view.items.values()];
  const frames = all.filter(i => i.open);
  return frames.map(i => frameMarkup(scene, i)).join("") +
    drawing.paths.filter(p => p.points.length).map(p =>
      `<path class="line" data-u="${p.u}" data-v="${p.v}" d="${curve(p.points)}" marker-end="url(#arrow)"/>`).join("") +
    frames.map(i => headingMarkup(scene, i)).join("") +
    all.filter(i => !i.open).map(i => boxMarkup(scene, i, back)).join("") +
    drawing.references.map(r => `<g class="item value reference" data-to="${r.source}">` + rect(r.x, r.y, r.width, r.height, 9) +
      text(linesOf(scene, r.source)[0], "n", r, 0.5) + "</g>").join("");
}
