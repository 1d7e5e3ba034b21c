// Appended to a copy of the page under test: tells what canvas.js saw being drawn, and what the page's elements say,
// in places on the screen; works the page's controls, and leaves all of it as JSON in the document for the test to judge.
"use strict";

function center(node) {
  const box = node.getBoundingClientRect();
  return [box.x + box.width / 2, box.y + box.height / 2];
}

function plotsOf(id) {
  return [...plots].filter((u) => document.getElementById(id).contains(u.root));
}

function drawn(u) {
  return drawnOn.get(u.ctx.canvas);
}

// From a place on the canvas to one on the screen.
function onScreen(u, [x, y]) {
  const frame = u.ctx.canvas.getBoundingClientRect();
  return [frame.x + x, frame.y + y];
}

function boxOnScreen(u, [left, right, top, bottom]) {
  const [[x0, y0], [x1, y1]] = [onScreen(u, [left, top]), onScreen(u, [right, bottom])];
  return [x0, x1, y0, y1];
}

function rgb(colour) {
  const part = (at) => parseInt(colour.slice(at, at + 2), 16);
  return colour.startsWith("#") ? `rgb(${part(1)}, ${part(3)}, ${part(5)})` : colour;
}

// What is painted there, over the page.
function pixel(u, [x, y]) {
  const [red, green, blue, alpha] = u.ctx.getImageData(Math.round(x), Math.round(y), 1, 1).data;
  return { colour: `rgb(${red}, ${green}, ${blue})`, alpha: alpha / 255 };
}

// The values of an axis, and where the texts that stand for them were drawn.
function axisOf(u, which) {
  const axis = u.axes[which];
  const { left, top, height } = u.bbox;
  const beside = drawn(u).filter(({ kind, x, y }) => kind === "text" && (which === 0 ? y >= top + height : x <= left));
  const ticks = [];
  const labels = [];
  axis._splits.forEach((value, i) => {
    if (axis._values[i] === null || axis._values[i] === undefined) return;
    const [text] = String(axis._values[i]).split("\n");
    const place = onScreen(u, which === 0 ? [u.valToPos(value, "x", true), 0] : [0, u.valToPos(value, "y", true)])[which];
    const found = beside.filter((op) => op.text === text).map((op) => onScreen(u, [op.x, op.y])[which]);
    const nearest = found.sort((a, b) => Math.abs(a - place) - Math.abs(b - place))[0];
    ticks.push([value, nearest ?? null]);
    labels.push([value, text]);
  });
  return { kind: u.scales[which === 0 ? "x" : "y"].distr === 3 ? "log" : "linear", ticks, labels };
}

function readLegend(id) {
  const rows = [...document.querySelectorAll(`#${id} .legend tr:not(.edge)`)].filter((row) => row.checkVisibility());
  return rows.slice(1).map((row) => row.innerText.trim());
}

// The part of a line's corners where there is paint: dashes leave some out.
function painted(u, { path: { points } }) {
  return points.filter((point) => pixel(u, point).alpha > 0).length / points.length;
}

// The edges of what is tinted around a policy's line.
function bandOf(u, policy) {
  const band = u.bands.find(({ series: [high] }) => u.series[high].label === policy &&
    drawn(u).some((op) => op.kind === "fill" && op.path === u.series[high]._paths.fill && op.colour.startsWith("rgba")));
  return band ? band.series.map((edge) => u.series[edge]._paths.stroke.points.map((at) => onScreen(u, at))) : null;
}

function readLines(id) {
  const [u] = plotsOf(id);
  if (!u) return { absent: document.querySelector(`#${id} .none`)?.textContent ?? null };
  const ops = drawn(u);
  const policies = [...u.series.keys()].filter((i) => i > 0 && u.series[i].class !== "edge" &&
    !u.series[i].label.querySelector(".reference"));
  const series = policies.map((i) => {
    const one = u.series[i];
    const line = ops.find((op) => op.kind === "stroke" && op.path === one._paths.stroke);
    const dots = ops.find((op) => op.kind === "fill" && op.path === one.points._paths?.fill)?.path.arcs ?? [];
    const name = one.label.textContent;
    return { name: name === "min (bound)" ? "min" : name, vertices: line.path.points.map((point) => onScreen(u, point)),
      visible: one.show && line.alpha === 1 && painted(u, line) >= (line.dashes.length > 0 ? 0.25 : 1),
      stroke: rgb(line.colour), width: line.width, dashes: line.dashes.join(" "),
      floor: ops.some((op) => op.kind === "fill" && op.path === one._paths.fill && op.colour.startsWith("rgba")),
      band: bandOf(u, name),
      dots: dots.map((dot) => onScreen(u, dot)), dotsSeen: dots.every((dot) => pixel(u, dot).alpha === 1) };
  });
  const note = document.querySelector(`#${id} .bound-note`)?.innerText ?? null;
  return { x: axisOf(u, 0), y: axisOf(u, 1), series, legend: readLegend(id), note,
    title: document.querySelector(`#${id} .legend tr`).innerText, label: u.ctx.canvas.getAttribute("aria-label") };
}

function readHeat() {
  const table = document.querySelector("#heat table");
  if (!table) return { absent: document.querySelector("#heat .none")?.textContent ?? null };
  const labels = (scope, coordinate) => [...table.querySelectorAll(`th[scope=${scope}][data-value]`)]
    .map((label) => [Number(label.dataset.value), center(label)[coordinate]]);
  const cells = [...table.querySelectorAll("td.cell")].map((cell) => {
    const under = getComputedStyle(cell, "::before");
    return { center: center(cell), share: Number(under.opacity), fill: under.backgroundColor,
      text: cell.querySelector("b").textContent, ink: getComputedStyle(cell).color,
      policy: cell.querySelector("span").textContent, chosen: cell.classList.contains("chosen") };
  });
  return { rows: labels("row", 1), columns: labels("col", 0), cells };
}

// A strip begins with what it looks like when it is empty.
function stripsOf(u) {
  const ops = drawn(u);
  const strips = [];
  for (const op of ops.filter(({ kind }) => kind === "rect")) {
    if (op.colour === colour("empty")) strips.push({ box: op.box, frame: boxOnScreen(u, op.box), rects: [], marks: [] });
    else {
      const { rects, marks } = strips.at(-1);
      (op.colour === colour("resident") ? rects : marks).push({ box: boxOnScreen(u, op.box), opacity: op.alpha });
    }
  }
  for (const strip of strips) {
    const [left, right, top, bottom] = strip.box;
    strip.label = ops.filter((op) => op.kind === "text" && op.x <= left && op.y >= top && op.y <= bottom)
      .sort((a, b) => a.x - b.x).map(({ text }) => text);
    strip.pixels = Array.from({ length: 20 }, (_, i) => (i + 0.5) / 20)
      .map((at) => ({ at, ...pixel(u, [left + at * (right - left), (top + bottom) / 2]) }));
  }
  return strips;
}

function readTimeline() {
  const [strips, ...panels] = plotsOf("timeline");
  if (!strips) return { absent: document.querySelector("#timeline .none")?.textContent ?? null };
  const read = panels.map((u) => {
    const bars = drawn(u).find((op) => op.kind === "fill" && op.path === u.series[1]._paths.fill);
    const line = u.series[2] && drawn(u).find((op) => op.kind === "stroke" && op.path === u.series[2]._paths.stroke);
    return { ticks: axisOf(u, 1).ticks, colour: rgb(bars.colour), line: line?.path.points.map((at) => onScreen(u, at)) ?? [],
      bars: bars.path.rects.map((rect) => boxOnScreen(u, rect)).filter(([, , top, bottom]) => bottom > top),
      seen: bars.path.rects.filter(([, , top, bottom]) => bottom - top > 3)
        .every(([left, right, , bottom]) => pixel(u, [Math.floor((left + right) / 2), bottom - 2]).alpha > 0.3) };
  });
  return { x: axisOf(panels.at(-1), 0), strips: stripsOf(strips), label: strips.ctx.canvas.getAttribute("aria-label"),
    panels: { device: read[0], fetches: read[1], stall: read[2] } };
}

function readShared() {
  const [u] = plotsOf("shared");
  return u ? { x: axisOf(u, 0), strips: stripsOf(u) } : null;
}

function readTable(id) {
  return [...document.querySelectorAll(`#${id} tbody tr`)].map((row) =>
    [...row.cells].map((cell) => cell.textContent));
}

// Texts of one drawing that lie over each other, and what sticks out of its drawing, its cell or the page.
function readLayout() {
  const overlaps = [];
  const outside = [];
  for (const u of plots) {
    const { width, height } = u.ctx.canvas;
    const texts = drawn(u).filter((op) => op.kind === "text" && op.text.trim() !== "");
    texts.forEach(({ text, box: a }, i) => {
      if (a.left < -1 || a.right > width + 1 || a.top < -1 || a.bottom > height + 1) outside.push(text);
      texts.slice(i + 1).forEach(({ text: other, box: b }) => {
        const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (wide > 1 && high > 3) overlaps.push(`${text} | ${other}`);
      });
    });
  }
  outside.push(...[...document.querySelectorAll(".heat th, .legend th, .legend td, canvas")].filter((node) =>
    node.scrollWidth > node.clientWidth + 1 || (node.checkVisibility() && node.getBoundingClientRect().right > innerWidth))
    .map((node) => node.innerText || node.tagName));
  // A label beside its choice is one line.
  const broken = [...document.querySelectorAll(".choices label")].filter((label) =>
    label.getBoundingClientRect().height > 1.5 * label.querySelector("select").getBoundingClientRect().height)
    .map((label) => label.firstChild.textContent);
  const { scrollWidth, clientWidth } = document.documentElement;
  return { overlaps, outside, broken, scroll: scrollWidth, width: clientWidth };
}

function readColours() {
  const style = (selector) => getComputedStyle(document.querySelector(selector));
  const [lines] = plotsOf("slowdown");
  const coloursOf = (which) => (lines ? drawn(lines).filter(which).map((op) => rgb(op.colour)) : []);
  const [strips] = plotsOf("timeline");
  const resident = strips && drawn(strips).find((op) => op.kind === "rect" && op.colour !== colour("empty"));
  return { page: getComputedStyle(document.body).backgroundColor, ink: getComputedStyle(document.body).color,
    soft: style("#subtitle").color, theme: document.documentElement.dataset.theme,
    lines: coloursOf(({ kind, width }) => kind === "stroke" && width >= 1.75),
    labels: coloursOf(({ kind }) => kind === "text"),
    bars: plotsOf("timeline").slice(2).map((u) => rgb(drawn(u).find(({ kind }) => kind === "fill").colour)),
    resident: resident ? rgb(resident.colour) : null, empty: rgb(colour("empty")) };
}

function readTexts() {
  const text = (selector) => document.querySelector(selector)?.innerText ?? null;
  return { headline: text("#headline"), advice: text("#advice"), assumptions: text("#assumptions"), title: document.title,
    heading: text("#title"), subtitle: text("#subtitle"), tiles: text("#tiles"), kernels: text("#kernels .host"),
    runs: text("#runs summary"), whole: document.querySelector("main").innerText };
}

function pick(id, value) {
  const select = document.querySelector(`#${id} .choices select`);
  if (!select) return;
  select.value = value;
  select.dispatchEvent(new Event("change"));
}

function mouse(u, type, [x, y]) {
  const target = type === "mouseup" ? document : u.over;
  target.dispatchEvent(new MouseEvent(type, { clientX: x, clientY: y, movementX: 1, bubbles: true }));
}

// What the tip says with the pointer at a place.
function tipAt(u, place) {
  mouse(u, "mousemove", place);
  const node = document.getElementById("tip");
  const shown = node.hidden ? null : node.innerText;
  mouse(u, "mouseleave", place);
  return shown;
}

// uPlot draws when the script that asked for it is through.
async function whenDrawn() {
  for (let i = 0; i < 5; i += 1) await null;
}

function ranges(id) {
  return plotsOf(id).map((u) => [u.scales.x.min, u.scales.x.max]);
}

// From a third to two thirds of the way across, and back by a double click.
async function readZoom(id, which) {
  const u = plotsOf(id)[which];
  const { left, top, width, height } = u.over.getBoundingClientRect();
  const across = (part) => [left + part * width, top + height / 2];
  const all = ranges(id);
  mouse(u, "mousemove", across(1 / 3));
  mouse(u, "mousedown", across(1 / 3));
  mouse(u, "mousemove", across(2 / 3));
  mouse(u, "mouseup", across(2 / 3));
  await whenDrawn();
  const near = { ranges: ranges(id), x: axisOf(plotsOf(id).at(-1), 0) };
  mouse(u, "dblclick", across(1 / 2));
  await whenDrawn();
  mouse(u, "mouseleave", across(1 / 2));
  return { all, near, again: ranges(id) };
}

function readAll() {
  return { slowdown: readLines("slowdown"), curves: readLines("curves"), heat: readHeat(), timeline: readTimeline(),
    shared: readShared(), kernels: readTable("kernels"), layout: readLayout(), colours: readColours(), texts: readTexts(),
    foreign: [...document.querySelectorAll("img, iframe, object, embed, link, [src], [href]")].map((n) => n.outerHTML),
    scripts: [...document.scripts].filter((script) => script.nonce !== "probe").length };
}

async function readAfterControls(first) {
  const after = {};
  const dot = first.slowdown.series?.[0]?.dots[0];
  if (dot) {
    const [u] = plotsOf("slowdown");
    mouse(u, "mousemove", dot);
    after.slowdownTip = document.querySelector("#slowdown .legend").innerText;
    mouse(u, "mouseleave", dot);
    after.legend = readLegend("slowdown");
    after.slowdownZoom = await readZoom("slowdown", 0);
  }
  const strip = first.timeline.strips?.[0]?.frame;
  if (strip) {
    after.timelineTip = tipAt(plotsOf("timeline")[0], [strip[0] + 2, (strip[2] + strip[3]) / 2]);
    after.timelineZoom = await readZoom("timeline", 2);
  }
  after.tipGone = document.getElementById("tip").hidden;
  pick("heat", "lru");
  pick("slowdown", "best");
  await whenDrawn();
  after.heat = readHeat();
  after.slowdown = readLines("slowdown");
  document.getElementById("theme").click();
  await whenDrawn();
  after.colours = readColours();
  const trace = document.querySelector(".tools select");
  if (trace) {
    trace.value = "1";
    trace.dispatchEvent(new Event("change"));
    await whenDrawn();
    after.other = { texts: readTexts(), slowdown: readLines("slowdown"), colours: readColours(), layout: readLayout() };
  }
  return after;
}

async function probe() {
  const all = readAll();
  all.after = data.shared ? {} : await readAfterControls(all);
  const result = document.createElement("script");
  result.type = "application/json";
  result.id = "probe";
  result.textContent = JSON.stringify(all).replaceAll("<", "\\u003c");
  document.body.append(result);
}

probe();
