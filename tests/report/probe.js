// Appended to a copy of the page under test: reads back what the browser drew, from where things lie on the
// screen, works the page's controls, and leaves all of it as JSON in the document for the test to judge.
"use strict";

// A place on the screen, whatever transforms and styles lie between.
function onScreen(node, x, y) {
  const point = new DOMPoint(x, y).matrixTransform(node.getScreenCTM());
  return [point.x, point.y];
}

function center(node) {
  const box = node.getBoundingClientRect();
  return [box.x + box.width / 2, box.y + box.height / 2];
}

function visible(node) {
  return node.checkVisibility({ opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true }) &&
    node.getBoundingClientRect().width > 0;
}

function ticksOf(axis, coordinate) {
  return [...axis.querySelectorAll(".tick")].map((tick) => [Number(tick.dataset.value), center(tick)[coordinate]]);
}

function axisOf(drawing, name) {
  const axis = drawing.querySelector(`.${name}-axis`);
  return { kind: axis.dataset.scale, ticks: ticksOf(axis, name === "x" ? 0 : 1) };
}

function verticesOf(path) {
  return [...path.getAttribute("d").matchAll(/[ML](-?[\d.e]+) (-?[\d.e]+)/g)]
    .map((match) => onScreen(path, Number(match[1]), Number(match[2])));
}

function readLines(id) {
  const drawing = document.querySelector(`#${id} .chart > svg`);
  if (!drawing) return { absent: document.querySelector(`#${id} .none`)?.textContent ?? null };
  const series = [...drawing.querySelectorAll(".series")].map((group) => {
    const line = group.querySelector(".line");
    const style = getComputedStyle(line);
    return { name: group.dataset.series, vertices: verticesOf(line), visible: visible(line), stroke: style.stroke,
      width: parseFloat(style.strokeWidth), dashes: style.strokeDasharray, floor: group.querySelector(".floor") !== null,
      band: group.querySelector(".band") !== null,
      dots: [...group.querySelectorAll(".dot")].filter(visible).map(center) };
  });
  const legend = [...document.querySelectorAll(`#${id} .legend li:not(.title)`)].map((row) => row.innerText.trim());
  const note = document.querySelector(`#${id} .bound-note`)?.innerText ?? null;
  return { x: axisOf(drawing, "x"), y: axisOf(drawing, "y"), series, legend, note };
}

function readHeat() {
  const drawing = document.querySelector("#heat .host > svg");
  if (!drawing) return { absent: document.querySelector("#heat .none")?.textContent ?? null };
  const labels = (selector, coordinate) => [...drawing.querySelectorAll(selector)]
    .map((label) => [Number(label.dataset.value), center(label)[coordinate]]);
  const cells = [...drawing.querySelectorAll(".heat-cell")].map((cell) => {
    const text = cell.querySelector(".cell-text");
    const rect = cell.querySelector(".cell");
    return { center: center(rect), share: Number(getComputedStyle(rect).fillOpacity), fill: getComputedStyle(rect).fill,
      text: text.textContent, ink: getComputedStyle(text).fill, policy: cell.querySelector(".cell-policy").textContent,
      chosen: cell.querySelector(".chosen") !== null };
  });
  return { rows: labels(".row-label", 1), columns: labels(".column-label", 0), cells };
}

function rectOf(node) {
  const box = node.getBoundingClientRect();
  return [box.left, box.right, box.top, box.bottom];
}

function readTimeline() {
  const drawing = document.querySelector("#timeline .host > svg");
  if (!drawing) return { absent: document.querySelector("#timeline .none")?.textContent ?? null };
  const strips = [...drawing.querySelectorAll(".strip")].map((strip) => ({
    frame: rectOf(strip.querySelector(".empty")),
    label: [...strip.querySelectorAll("text")].map((text) => text.textContent),
    rects: [...strip.querySelectorAll(".resident")].map((rect) =>
      ({ box: rectOf(rect), opacity: Number(getComputedStyle(rect).fillOpacity) })) }));
  const panels = {};
  for (const panel of drawing.querySelectorAll(".panel")) {
    const area = panel.querySelector(".area");
    panels[panel.dataset.panel] = { ticks: ticksOf(panel, 1),
      bars: [...panel.querySelectorAll("rect")].filter(visible).map(rectOf), area: area ? verticesOf(area) : [] };
  }
  return { x: axisOf(drawing, "x"), strips, panels };
}

function readTable(id) {
  return [...document.querySelectorAll(`#${id} tbody tr`)].map((row) =>
    [...row.cells].map((cell) => cell.textContent));
}

// Texts of one drawing that lie over each other, and what sticks out of the page.
function readLayout() {
  const overlaps = [];
  for (const drawing of document.querySelectorAll("main svg[role=img]")) {
    const texts = [...drawing.querySelectorAll("text")].map((text) => [text.textContent, text.getBoundingClientRect()]);
    texts.forEach(([one, a], i) => texts.slice(i + 1).forEach(([other, b]) => {
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (wide > 1 && high > 3) overlaps.push(`${one} | ${other}`);
    }));
  }
  const outside = [...document.querySelectorAll("main svg text")]
    .filter((text) => text.getBoundingClientRect().left < 0 || text.getBoundingClientRect().right > innerWidth)
    .map((text) => text.textContent);
  // A label beside its choice is one line.
  const broken = [...document.querySelectorAll(".choices label")].filter((label) =>
    label.getBoundingClientRect().height > 1.5 * label.querySelector("select").getBoundingClientRect().height)
    .map((label) => label.firstChild.textContent);
  return { overlaps, outside, broken, scroll: document.documentElement.scrollWidth, width: document.documentElement.clientWidth };
}

function readColours() {
  const style = (selector) => getComputedStyle(document.querySelector(selector));
  return { page: getComputedStyle(document.body).backgroundColor, ink: getComputedStyle(document.body).color,
    soft: style("#subtitle").color, theme: document.documentElement.dataset.theme,
    lines: [...document.querySelectorAll("#slowdown .series .line")].map((line) => getComputedStyle(line).stroke),
    resident: document.querySelector(".resident") ? style(".resident").fill : null };
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

// What the tip says with the pointer at a place.
function tipAt(selector, x, y) {
  const target = document.querySelector(selector);
  if (!target) return null;
  target.dispatchEvent(new PointerEvent("pointermove", { clientX: x, clientY: y, bubbles: true }));
  const tip = document.getElementById("tip");
  const shown = tip.hidden ? null : tip.innerText;
  target.dispatchEvent(new PointerEvent("pointerleave", {}));
  return shown;
}

function readAll() {
  return { slowdown: readLines("slowdown"), curves: readLines("curves"), heat: readHeat(), timeline: readTimeline(),
    kernels: readTable("kernels"), layout: readLayout(), colours: readColours(), texts: readTexts(),
    foreign: [...document.querySelectorAll("img, iframe, object, embed, link, [src], [href]")].map((n) => n.outerHTML),
    scripts: document.scripts.length };
}

function readAfterControls(first) {
  const after = {};
  const dot = first.slowdown.series?.[0]?.dots[0];
  if (dot) after.slowdownTip = tipAt("#slowdown .hit", dot[0], dot[1]);
  const strip = first.timeline.strips?.[0]?.frame;
  if (strip) after.timelineTip = tipAt("#timeline .hit", strip[0] + 2, (strip[2] + strip[3]) / 2);
  after.tipGone = document.getElementById("tip").hidden;
  pick("heat", "lru");
  pick("slowdown", "best");
  after.heat = readHeat();
  after.slowdown = readLines("slowdown");
  document.getElementById("theme").click();
  after.colours = readColours();
  return after;
}

const drawn = readAll();
drawn.after = readAfterControls(drawn);
const result = document.createElement("script");
result.type = "application/json";
result.id = "probe";
result.textContent = JSON.stringify(drawn).replaceAll("<", "\\u003c");
document.body.append(result);
