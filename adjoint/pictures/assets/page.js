// The page: two panes, the stages, search and details.
(() => {
const $ = id => document.getElementById(id), data = JSON.parse($("summary").textContent);
const scenes = new Map(); // by stage, the scenes of both panes
const NAMES = ["forward", "derivative"];
let stage = 0, chosen = null, hits = [], hit = -1;

function load(k) {
  while (data.stages[k].same) k -= 1;
  if (!scenes.has(k)) scenes.set(k, JSON.parse($(`stage-${k}`).textContent).map(raw => readScene(raw, data.kinds, data.details)));
  return scenes.get(k);
}

class Pane {
  constructor(name, back) {
    this.name = name;
    this.back = back;
    this.section = $(name);
    this.svg = this.section.querySelector("svg");
    this.svg.innerHTML = '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto"><path d="M0 .8 7.4 4 0 7.2z"/></marker></defs><g></g>';
    this.world = this.svg.lastElementChild;
    this.x = this.y = 0;
    this.zoom = 1;
    this.listen();
  }

  show(scene) {
    this.scene = scene;
    this.section.hidden = !scene;
    if (scene) this.render();
  }

  render() {
    this.view = viewOf(this.scene);
    const width = i => linesOf(this.scene, i)[0].length * NARROW + 14;
    this.drawing = arrange(this.view.root, this.view.edges, width, this.back);
    this.world.innerHTML = markup(this.scene, this.view, this.drawing, this.back);
    this.elements = new Map([...this.world.querySelectorAll("[data-i]")].map(e => [Number(e.dataset.i), e]));
  }

  move() { this.world.setAttribute("transform", `translate(${at(this.x)} ${at(this.y)}) scale(${this.zoom})`); bridges(); }

  // The zoom at which everything is seen; a little more where that would be too small to read.
  wanted() {
    const box = this.svg.getBoundingClientRect(), root = this.drawing.root;
    const whole = Math.min(1.4, box.width / root.width, (box.height - 40) / root.height);
    return Math.max(0.05, whole < 0.6 ? Math.max(whole, Math.min(0.75, box.width / root.width)) : whole);
  }

  fit(zoom) {
    const box = this.svg.getBoundingClientRect(), root = this.drawing.root;
    this.zoom = zoom;
    this.x = (box.width - root.width * zoom) / 2;
    const spare = box.height - root.height * zoom;
    this.y = spare >= 40 ? Math.max(30, spare / 2) : 30;
    this.move();
  }

  // The middle of something that is seen, in the window.
  middle(i) {
    const item = this.view.items.get(i), box = this.svg.getBoundingClientRect();
    const high = item.open ? HEADER : item.height;
    return [box.left + this.x + this.zoom * (item.x + item.width / 2), box.top + this.y + this.zoom * (item.y + high / 2)];
  }

  center(i) {
    const box = this.svg.getBoundingClientRect(), item = this.view.items.get(i);
    this.zoom = Math.max(this.zoom, 0.8);
    this.x = box.width / 2 - this.zoom * (item.x + item.width / 2);
    this.y = box.height / 2 - this.zoom * (item.y + Math.min(item.height, 60) / 2);
    this.move();
  }

  zoomAt(factor, px, py) {
    const zoom = Math.min(4, Math.max(0.03, this.zoom * factor)), real = zoom / this.zoom;
    this.x = px - (px - this.x) * real;
    this.y = py - (py - this.y) * real;
    this.zoom = zoom;
    this.move();
  }

  // Open or close a group; it stays where it is on the screen.
  toggle(i, open) {
    const g = groupOf(this.scene, i);
    if (g < 0) return;
    const now = this.scene.opened.has(g), wanted = open === undefined ? !now : open;
    if (now === wanted) return;
    const before = this.view.items.get(i), old = before && [before.x, before.y];
    if (wanted) this.scene.opened.add(g); else this.scene.opened.delete(g);
    this.render();
    const item = this.view.items.get(i);
    if (old && item) { this.x += this.zoom * (old[0] - item.x); this.y += this.zoom * (old[1] - item.y); }
    this.move();
  }

  // Open every group around a box, so that it is seen.
  reveal(i) {
    let changed = false;
    let g = i < this.scene.count ? this.scene.vertices[i].group : this.scene.groups[i - this.scene.count].parent;
    for (; g >= 0; g = this.scene.groups[g].parent)
      if (!this.scene.opened.has(g)) { this.scene.opened.add(g); changed = true; }
    if (changed) this.render();
  }

  listen() {
    let from = null, moved = false;
    this.svg.addEventListener("pointerdown", e => {
      if (e.button) return;
      from = [e.clientX - this.x, e.clientY - this.y, e.clientX, e.clientY];
      moved = false;
    });
    this.svg.addEventListener("pointermove", e => {
      if (!from) return;
      if (!moved && Math.hypot(e.clientX - from[2], e.clientY - from[3]) < 4) return;
      if (!moved) { moved = true; this.svg.setPointerCapture(e.pointerId); this.svg.classList.add("moving"); }
      this.x = e.clientX - from[0];
      this.y = e.clientY - from[1];
      this.move();
    });
    const end = () => { from = null; this.svg.classList.remove("moving"); };
    this.svg.addEventListener("pointerup", end);
    this.svg.addEventListener("pointercancel", end);
    this.svg.addEventListener("wheel", e => {
      e.preventDefault();
      const box = this.svg.getBoundingClientRect();
      this.zoomAt(Math.exp(-e.deltaY * (e.deltaMode ? 0.05 : 0.0015)), e.clientX - box.left, e.clientY - box.top);
    }, {passive: false});
    const target = e => e.target.closest && e.target.closest(".item");
    this.svg.addEventListener("click", e => {
      const element = target(e);
      if (moved) return;
      if (!element) return choose(null);
      if (element.dataset.to !== undefined) return jump(this, Number(element.dataset.to));
      const i = Number(element.dataset.i);
      const item = this.view.items.get(i), box = this.svg.getBoundingClientRect();
      const x = (e.clientX - box.left - this.x) / this.zoom, y = (e.clientY - box.top - this.y) / this.zoom;
      const sign = groupOf(this.scene, i) >= 0 && x > item.x + item.width - 28 && y < item.y + 24;
      if (sign) return both(this, i);
      choose({pane: this, i});
    });
    this.svg.addEventListener("dblclick", e => {
      const element = target(e);
      if (element && element.dataset.i !== undefined) both(this, Number(element.dataset.i));
    });
    this.svg.addEventListener("keydown", e => {
      const element = target(e);
      if (!element || (e.key !== "Enter" && e.key !== " ")) return;
      e.preventDefault();
      const i = Number(element.dataset.i), again = chosen && chosen.pane === this && chosen.i === i;
      if (again && groupOf(this.scene, i) >= 0) both(this, i); else choose({pane: this, i});
    });
    this.svg.addEventListener("pointerover", e => {
      const element = target(e);
      hovered = element && element.dataset.i !== undefined ? {pane: this, i: Number(element.dataset.i)} : null;
      mark();
    });
    this.svg.addEventListener("pointerleave", () => { hovered = null; mark(); });
  }
}

let hovered = null;
const panes = [new Pane("forward", false), new Pane("derivative", true)];
const other = pane => panes[1 - panes.indexOf(pane)];

// Both graphs at the same scale, so that what belongs together stands at about the same height.
function fit() {
  const shown = panes.filter(p => p.scene), zoom = Math.min(...shown.map(p => p.wanted()));
  for (const pane of shown) pane.fit(zoom);
}

// Open or close a group and what belongs to it in the other graph.
function both(pane, i) {
  const group = pane.scene.groups[groupOf(pane.scene, i)];
  if (!group) return;
  pane.toggle(i);
  const twin = other(pane), open = pane.scene.opened.has(groupOf(pane.scene, i));
  if (twin.scene && group.pair) twin.scene.groups.forEach((g, k) => {
    if (g.pair === group.pair && k) {
      const item = g.vertex >= 0 ? g.vertex : k + twin.scene.count;
      if (twin.view.items.has(item)) twin.toggle(item, open);
    }
  });
  mark();
}

// The boxes of the other graph that belong to a box or group.
function partners(pane, i) {
  const twin = other(pane);
  if (!twin.scene || !pane.scene) return [];
  if (i >= pane.scene.count) {
    const pair = pane.scene.groups[i - pane.scene.count].pair;
    return pair ? twin.scene.groups.flatMap((g, k) => g.pair === pair ? [g.vertex >= 0 ? g.vertex : k + twin.scene.count] : []) : [];
  }
  const tag = pane.scene.vertices[i].tag;
  return tag && tag !== "k-1" ? twin.scene.byTag.get(tag) || [] : [];
}

// What is seen in place of a box or group of a pane.
function seenIn(pane, i) {
  if (i < pane.scene.count) return pane.view.seen[i];
  if (pane.view.items.has(i)) return i;
  const inside = pane.scene.groups[i - pane.scene.count].boxes[0];
  return inside === undefined ? -1 : pane.view.seen[inside];
}

let bridged = [];
function mark() {
  for (const pane of panes) pane.world.querySelectorAll(".partner, .chosen, .near, .hit").forEach(e => e.classList.remove("partner", "chosen", "near", "hit"));
  for (const [pane, i] of hits) if (pane.scene && pane.elements.has(seenIn(pane, i))) pane.elements.get(seenIn(pane, i)).classList.add("hit");
  if (chosen && chosen.pane.elements.has(chosen.i)) {
    chosen.pane.elements.get(chosen.i).classList.add("chosen");
    chosen.pane.world.querySelectorAll(`.line[data-u="${chosen.i}"], .line[data-v="${chosen.i}"]`).forEach(e => e.classList.add("near"));
  }
  const about = hovered || chosen;
  bridged = [];
  if (about && about.pane.elements.has(about.i)) {
    const twin = other(about.pane), seen = new Set(partners(about.pane, about.i).map(i => seenIn(twin, i)));
    for (const i of seen) {
      const element = twin.elements.get(i);
      if (!element) continue;
      element.classList.add("partner");
      bridged.push([about.pane, about.i, twin, i]);
    }
  }
  bridges();
}

function bridges() {
  const box = $("bridges").getBoundingClientRect();
  $("bridges").innerHTML = bridged.slice(0, 24).map(([a, i, b, j]) => {
    if (!a.view.items.has(i) || !b.view.items.has(j)) return "";
    const [[x, y], [u, v]] = [a.middle(i), b.middle(j)], middle = (x + u) / 2 - box.left;
    return `<path d="M${at(x - box.left)} ${at(y - box.top)}C${at(middle)} ${at(y - box.top)} ${at(middle)} ${at(v - box.top)} ${at(u - box.left)} ${at(v - box.top)}"/>`;
  }).join("");
}

function choose(what) { chosen = what; mark(); $("details").innerHTML = what ? detailsOf(what.pane, what.i) : welcome(); }

function jump(pane, i) {
  pane.reveal(i);
  const seen = seenIn(pane, i);
  if (pane.view.items.has(seen)) pane.center(seen);
  choose({pane, i: seen});
}

// ---------------------------------------------------------------- details

const UNITS = [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]];
const bytes = n => { for (const [unit, name] of UNITS) if (n >= unit) return `${(n / unit).toFixed(1)} ${name}`; return `${n} B`; };
const time = us => us >= 1e6 ? `${(us / 1e6).toFixed(2)} s` : us >= 1e3 ? `${(us / 1e3).toFixed(2)} ms` : `${us.toFixed(1)} µs`;
const row = (name, value) => value === "" ? "" : `<tr><td>${name}</td><td>${value}</td></tr>`;
const button = (pane, i, label) => `<button class="jump" data-pane="${panes.indexOf(pane)}" data-to="${i}">${escaped(shortened(label, 34))}</button>`;
const said = (scene, i) => i >= scene.count ? scene.groups[i - scene.count].label
  : ["step", "control"].includes(scene.vertices[i].kind) ? `${scene.vertices[i].name}: ${scene.vertices[i].label}` : scene.vertices[i].name;

function formulaOf(scene, v) {
  const [written, args, settings] = v.detail;
  const named = args.map(a => a.replace(/^#(\d+)/, (_, n) => scene.vertices[v.inputs[n]].name));
  if (!/\w/.test(written) && named.length === 2) return `${v.name} = ${named[0]} ${written} ${named[1]}`;
  return `${v.name} = ${written}(${[...named, ...(settings ? [settings] : [])].join(", ")})`;
}

function valuesOf(m) {
  if (!Array.isArray(m) || !m[1] || m[5] + m[6] + m[7] === 0) return "";
  const [, runs, low, high, mean, nans, infinities, finite] = m, all = nans + infinities + finite;
  const number = x => x === null ? "–" : String(x);
  const bad = (n, name) => n ? `<span class="bad">${n} of ${all}</span>` : `0 of ${all}`;
  return `<h4>values${runs > 1 ? ` in ${runs} iterations` : ""}</h4><table>` + row("smallest", number(low)) + row("mean", number(mean)) +
    row("largest", number(high)) + row("NaN", bad(nans)) + row("infinite", bad(infinities)) + "</table>";
}

function links(pane, title, list) {
  const shown = [...new Set(list)].slice(0, 40).map(i => button(pane, i, said(pane.scene, i))).join("");
  return shown ? `<h4>${title}</h4>${shown}` : "";
}

function detailsOf(pane, i) {
  const scene = pane.scene, twin = other(pane);
  const partnerTitle = pane.back ? "belongs to, in the forward graph" : "its part of the derivative graph";
  const dual = twin.scene ? links(twin, partnerTitle, partners(pane, i)) : "";
  if (i >= scene.count) return groupDetails(scene, i - scene.count) + dual;
  const v = scene.vertices[i], [, , , about, rule, specs, size, line, hint] = v.detail, step = v.kind === "step" || v.kind === "control";
  const where = line >= 0 ? data.lines[line] : null;
  const kind = {step: "a step", control: "control flow", input: "an input", parameter: "a Parameter", constant: "a constant",
    seed: "the seed of the backward pass", value: "a value of the forward graph", result: "a result"}[v.kind];
  return `<h3>${escaped(step ? `${v.name}: ${v.label}` : v.name)}</h3><p>${kind}${v.kind === "step" ? ` of the ${pane.name} graph` : ""}${about ? `: ${escaped(about)}` : ""}</p>` +
    (step ? `<div class="formula">${escaped(formulaOf(scene, v))}</div>` : hint && hint !== kind.slice(2) ? `<p>${escaped(hint)}</p>` : "") +
    "<table>" + row("shape", escaped(specs)) + row("memory", bytes(size)) +
    row("time", Array.isArray(v.measured) && step && v.measured[1] ? `${time(v.measured[0])} <small>(interpreter)</small>` : "") + "</table>" +
    valuesOf(v.measured) +
    (where ? `<h4 class="file">${escaped(where[0])}, line ${where[1]}</h4><pre>${escaped(where[2] || "(the text of the line is not known)")}</pre>` : "") +
    (rule >= 0 ? `<h4>derivative rule of the operation</h4><pre class="rule">${escaped(data.rules[rule])}</pre>` : "") + dual +
    links(pane, "takes", v.inputs) + links(pane, "is taken by", v.users);
}

function groupDetails(scene, g) {
  const group = scene.groups[g], all = [];
  const queue = [[g, true]]; // whether what is inside is not counted already, in the time of control flow around it
  let took = 0;
  for (const [k, counted] of queue) {
    const inside = scene.groups[k].boxes.map(i => scene.vertices[i]);
    all.push(...inside);
    if (counted) for (const v of inside) if (Array.isArray(v.measured) && (v.kind === "step" || v.kind === "control")) took += v.measured[0];
    for (const i of scene.groups[k].inner) queue.push([i, counted && scene.groups[i].kind !== "control"]);
  }
  const steps = all.filter(v => v.kind === "step" || v.kind === "control"), counts = new Map();
  for (const v of steps) counts.set(v.detail[0], (counts.get(v.detail[0]) || 0) + 1);
  const sum = (f) => steps.reduce((t, v) => t + f(v), 0), parameters = all.filter(v => v.kind === "parameter");
  const kind = {cell: "a Cell", function: "a call of a function", op: "a function of the library", control: "control flow", branch: "a part of control flow", piece: "a piece of a long graph"}[group.kind];
  return `<h3>${escaped(group.label)}</h3><p>${kind}${group.detail ? `: ${escaped(group.detail)}` : ""}</p><table>` +
    row("steps", steps.length) + row("values", `${bytes(sum(v => v.detail[6]))} in all`) + row("time", took ? `${time(took)} <small>(interpreter)</small>` : "") +
    row("Parameters", parameters.length ? escaped(parameters.map(v => v.label).join(", ")) : "") + "</table><h4>operations</h4><table>" +
    [...counts].sort((a, b) => b[1] - a[1]).slice(0, 20).map(([name, n]) => row(escaped(name), n)).join("") + "</table><p>Double-click, or + and −, opens and closes it.</p>";
}

function welcome() {
  const s = data.stages[stage], note = data.note ? `<p>${escaped(data.note)}</p>` : "", failure = failureOf();
  return `<h3>${escaped(data.title)}</h3>${note}${failure}<p>Click a step for its formula, values and derivative rule, and for the line that it comes from. ` +
    `A dotted line leads to what belongs to it in the other graph.</p><p>Groups open with + or a double-click. Drag to move, turn the wheel to zoom, ` +
    `<code>/</code> searches, <code>←</code> and <code>→</code> go through the passes.</p><h4>stage</h4><table>` + row("name", escaped(s.name)) +
    row("forward", `${s.sizes[0]} steps`) + row("derivative", s.sizes[1] === null ? "" : `${s.sizes[1]} steps`) + row("took", stage ? time(s.seconds * 1e6) : "") + "</table>";
}

function failureOf() {
  let k = stage;
  while (data.stages[k].same) k -= 1;
  return data.stages[k].failure ? `<p class="bad">The run stopped: ${escaped(data.stages[k].failure)}</p>` : "";
}

// ---------------------------------------------------------------- stages, search, buttons

function go(k) {
  stage = Math.max(0, Math.min(data.stages.length - 1, k));
  const now = load(stage), first = !panes[0].scene;
  let changed = false;
  panes.forEach((pane, n) => {
    const old = pane.scene;
    pane.show(now[n]);
    changed = changed || old !== pane.scene;
    pane.section.querySelector("small").textContent = pane.scene ? `${data.stages[stage].sizes[n]} steps` : "";
  });
  if (changed) fit();
  document.querySelectorAll("#stages button").forEach((b, n) => b.setAttribute("aria-current", String(n === stage)));
  const slider = document.querySelector("#stages input");
  if (slider) slider.value = stage;
  choose(null);
  if (!first && $("search").value) search();
}

function found(v, words) {
  const line = v.detail[7] >= 0 ? data.lines[v.detail[7]] : ["", "", ""];
  const text = `${v.name} ${v.label} ${v.detail[0]} ${line[0]}:${line[1]} ${line[2]}`.toLowerCase();
  return words.every(w => text.includes(w));
}

function search() {
  const words = $("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  hits = [];
  hit = -1;
  if (words.length) for (const pane of panes) if (pane.scene) {
    pane.scene.groups.forEach((g, k) => {
      const text = `${g.label} ${g.detail}`.toLowerCase();
      if (k && g.vertex < 0 && words.every(w => text.includes(w))) hits.push([pane, k + pane.scene.count]);
    });
    pane.scene.vertices.forEach((v, i) => { if (v.kind !== "value" && found(v, words)) hits.push([pane, i]); });
  }
  $("hits").textContent = words.length ? (hits.length ? `${hits.length} hits` : "no hit") : "";
  mark();
}

function step(by) {
  if (!hits.length) return;
  hit = (hit + by + hits.length) % hits.length;
  $("hits").textContent = `${hit + 1} of ${hits.length}`;
  jump(...hits[hit]);
}

function all(open) {
  for (const pane of panes) if (pane.scene) {
    pane.scene.opened = new Set(open ? pane.scene.groups.keys() : [0]);
    pane.render();
  }
  fit();
  choose(null);
}

function theme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
}

function legend() {
  const kinds = [["step", "step", "forward step"], ["back", "back", "derivative step"], ["input", "input", "input"], ["parameter", "parameter", "Parameter"],
    ["constant", "constant", "constant"], ["seed", "seed", "seed"], ["value", "value", "value from the forward graph"], ["result", "result", "result"]];
  $("legend").innerHTML = kinds.map(([name, , label]) =>
    `<span><i style="background:var(--${name});border-color:var(--${name}-l)${name === "value" ? ";border-style:dashed" : ""}"></i>${label}</span>`).join("");
}

function start() {
  $("title").textContent = data.title;
  theme(matchMedia("(prefers-color-scheme: dark)").matches);
  legend();
  const names = data.stages.map((s, k) => `<button data-stage="${k}"${s.same ? ' class="same" title="changes nothing here"' : ""}>${escaped(s.name)}${s.same ? "" : `<small>${s.sizes.filter(n => n !== null).join(" + ")}</small>`}</button>`);
  $("stages").innerHTML = data.stages.length > 1
    ? `<span>passes</span><input type="range" min="0" max="${data.stages.length - 1}" value="0" aria-label="pass">${names.join("")}` : "";
  $("stages").hidden = data.stages.length < 2;
  $("stages").addEventListener("click", e => { const b = e.target.closest("button"); if (b) go(Number(b.dataset.stage)); });
  $("stages").addEventListener("input", e => go(Number(e.target.value)));
  $("details").addEventListener("click", e => {
    const b = e.target.closest(".jump");
    if (b) jump(panes[Number(b.dataset.pane)], Number(b.dataset.to));
  });
  $("search").addEventListener("input", search);
  $("search").addEventListener("keydown", e => {
    if (e.key === "Enter") step(e.shiftKey ? -1 : 1);
    if (e.key === "Escape") { $("search").value = ""; search(); $("search").blur(); }
    e.stopPropagation();
  });
  $("after").onclick = () => step(1);
  $("before").onclick = () => step(-1);
  $("open-all").onclick = () => all(true);
  $("close-all").onclick = () => all(false);
  $("fit").onclick = fit;
  $("theme").onclick = () => theme(document.documentElement.dataset.theme !== "dark");
  document.addEventListener("keydown", e => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.target instanceof HTMLInputElement) return;
    if (e.key === "/") { e.preventDefault(); $("search").focus(); }
    if (e.key === "Escape") choose(null);
    if (e.key === "f") fit();
    if (e.key === "ArrowRight") go(stage + 1);
    if (e.key === "ArrowLeft") go(stage - 1);
  });
  addEventListener("resize", bridges);
  go(0);
  window.adjoint = {panes, ready: performance.now(), go, jump};
}

start();
})();
