// What all plots have in common. Axes, lines, bars, zoom and the pointer's line are uPlot's (third_party/uplot).

const FONT = `12px ${getComputedStyle(document.body).fontFamily}`;
const plots = new Set();

// Looked up at each drawing, as the theme may have changed. `alpha` is of two hexadecimal digits.
function colour(name, alpha = "") {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim() + alpha;
}

function axis(options) {
  const lines = { stroke: () => colour("grid"), width: 1 };
  return { stroke: () => colour("soft"), font: FONT, labelFont: FONT, labelSize: 20, grid: lines,
    ticks: { ...lines, size: 5 }, ...options };
}

// One unit for all of an axis.
function timeAxis(options) {
  const values = (_, ticks) => {
    const [unit, name] = Math.max(...ticks) >= 1000 ? [1000, "s"] : Math.max(...ticks) >= 1 ? [1, "ms"] : [0.001, "µs"];
    return ticks.map((tick) => `${exact(tick / unit)} ${name}`);
  };
  return axis({ space: 64, size: 30, grid: { show: false }, label: "predicted time", values, ...options });
}

// `options` are uPlot's; `text` is the plot in words, `tip(u)` the title and the rows of what is under the pointer.
function plot(host, { text, tip: say, ...options }, data) {
  for (const old of plots) {
    if (!old.root.isConnected) plots.delete(old) && old.destroy();
  }
  const follow = (u) => {
    if (u.cursor.left < 0) tip.hide();
    else if (say && u.cursor.event) tip.show(u.cursor.event, ...say(u));
  };
  const cursor = { y: false, drag: { x: true, y: false, dist: 4 }, ...options.cursor };
  const u = new uPlot({ legend: { show: false }, ...options, cursor,
    hooks: { setCursor: [follow], ...options.hooks } }, data, host);
  u.ctx.canvas.setAttribute("role", "img");
  u.ctx.canvas.setAttribute("aria-label", text);
  plots.add(u);
  return u;
}

// `rest`: the place in the data whose values stand in the list while the pointer is elsewhere.
function lineSeries(series, value, rest) {
  const [name, dashed] = series.look.split(" ");
  const points = new Map(series.points.map((point) => [point.x, point]));
  const text = (point) => (point === undefined ? "–" : value(point));
  return { label: el("span", { class: series.strong ? "strong" : null }, swatch(series.look),
    clipped(isBound(series.name) ? "min (bound)" : series.name, 16)),
  spanGaps: true, stroke: () => colour(name), width: series.strong ? 3.25 : 1.75,
  dash: series.floor ? [2, 3] : dashed && [6, 3], fill: series.floor ? () => colour(name, "12") : null,
  fillTo: (u) => u.scales.y.min, value: (u, _, __, at) => text(points.get(u.data[0][at ?? rest(u)])),
  points: { show: series.dots === true, size: 8, width: 1.75, fill: () => colour(dashed ? "page" : name) } };
}

// spec: {name, height, x, y: axes, range(low, high), log, at: the x at rest, title(x), value(point),
//        reference: {value, text}, series: [{name, look, points: [{x, y}], floor, error, dots, strong}]}
// A list beside the lines, the highest first, tells their values: under the pointer, or at rest.
function lineChart(host, spec) {
  const chart = el("div", { class: "lines" });
  const list = el("div", { class: "legend" });
  host.append(el("div", { class: "chart" }, chart, list));
  const rest = (u) => u.valToIdx(spec.at);
  const away = (point) => Math.abs(point.x - spec.at);
  const rank = ({ points }) => points.reduce((near, point) => (away(point) < away(near) ? point : near)).y;
  const shown = [...spec.series].sort((a, b) => rank(b) - rank(a));
  const series = [{ label: "At", value: (u, _, __, at) => spec.title(u.data[0][at ?? rest(u)]) },
    ...shown.map((one) => lineSeries(one, spec.value, rest))];
  const table = ({ points }, by = 0) => [points.map(({ x }) => x), points.map(({ y }) => Math.max(0, y + by))];
  const tables = shown.map((one) => table(one));
  // All of it has room for the outermost dots.
  const all = distinct(shown.flatMap(({ points }) => [points[0].x, points.at(-1).x]));
  const pad = 0.02 * (all.at(-1) - all[0]);
  const range = (_, low, high) => (low === all[0] && high === all.at(-1) ? [low - pad, high + pad] : [low, high]);
  if (spec.reference) {
    tables.push([all, all.map(() => spec.reference.value)]);
    series.push({ label: el("span", {}, swatch("reference"), spec.reference.text), spanGaps: true, dash: [1, 4],
      stroke: () => colour("soft"), width: 1.5, points: { show: false }, value: () => "" });
  }
  const bands = [];
  for (const one of shown.filter(({ error }) => error > 0)) {
    bands.push({ series: [series.length, series.length + 1], fill: () => colour(one.look.split(" ")[0], "24") });
    for (const by of [one.error, -one.error]) {
      tables.push(table(one, by));
      series.push({ class: "edge", label: one.name, auto: false, spanGaps: true, width: 0, points: { show: false } });
    }
  }
  const u = plot(chart, { text: `${spec.name}. The list beside it has the values.`, width: Math.max(280, chart.clientWidth),
    height: spec.height, series, bands, axes: [axis(spec.x), axis(spec.y)], focus: { alpha: 0.13 },
    padding: [12, 30, 0, 0],
    cursor: { focus: { prox: 12 }, points: { fill: (at, i) => at.series[i].stroke(at, i) ?? "transparent" } },
    scales: { x: { time: false, range },
      y: { distr: spec.log ? 3 : 1, range: (_, low, high) => spec.range(low, high) } },
    legend: { show: true, mount: (_, rows) => list.append(rows), markers: { show: false, stroke: "", fill: "" } } },
  uPlot.join(tables));
  // What uPlot does for a pointer, for the keyboard: a name brings its line out, and Enter hides or shows it.
  [...list.querySelectorAll("th")].forEach((name, i) => {
    name.tabIndex = i > 0 ? 0 : -1;
    name.addEventListener("focus", () => u.setSeries(i || null, { focus: true }));
    name.addEventListener("blur", () => u.setSeries(null, { focus: true }));
    name.addEventListener("keydown", (event) => event.key === "Enter" && name.click());
  });
}

// Rows of strips over time, each filled as far as `values` say, bin by bin, in shades: only what is empty looks so.
// spec: {text, width, row: its height, part: of it that is filled, bins, binMs, rows: [{values, labels}],
//        columns: the room of each label, axis, key: of what zooms along, marks(u, row, bottom), tip(u, row, bin)}
function stripPlot(host, spec) {
  const draw = (u) => {
    const { ctx, bbox } = u;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    const edges = Array.from({ length: spec.bins + 1 }, (_, bin) => Math.round(u.valToPos(bin * spec.binMs, "x", true)));
    spec.rows.forEach(({ values }, row) => {
      const [top, bottom] = [row, row + spec.part].map((at) => Math.round(u.valToPos(at, "y", true)));
      ctx.fillStyle = colour("empty");
      ctx.fillRect(bbox.left, top, bbox.width, bottom - top);
      ctx.fillStyle = colour("resident");
      values.forEach((part, bin) => {
        ctx.globalAlpha = Math.max(0.05, part);
        if (part > 0) ctx.fillRect(edges[bin], top, edges[bin + 1] - edges[bin], bottom - top);
      });
      ctx.globalAlpha = 1;
      spec.marks?.(u, row, bottom);
    });
    ctx.restore();
  };
  const labels = spec.columns.map((size, column) => axis({ scale: "y", side: 3, size, gap: 8, lineGap: 1.25,
    grid: { show: false }, ticks: { show: false }, splits: () => spec.rows.map((_, row) => row + spec.part / 2),
    values: () => spec.rows.map((row) => row.labels[column]) }));
  plot(host, { text: spec.text, width: spec.width, height: spec.rows.length * spec.row + (spec.axis ? 56 : 6),
    padding: [6, 14, 0, 0], axes: [timeAxis({ show: spec.axis }), ...labels], series: [{}], hooks: { drawAxes: [draw] },
    scales: { x: { time: false, range: (_, low, high) => [low, high] }, y: { range: [0, spec.rows.length], dir: -1 } },
    cursor: { sync: { key: spec.key } },
    tip: (u) => spec.tip(u, Math.floor(u.posToVal(u.cursor.top, "y")), binUnder(u, spec)) },
  [[0, spec.bins * spec.binMs]]);
}

function binUnder(u, { bins, binMs }) {
  return Math.min(bins - 1, Math.max(0, Math.floor(u.posToVal(u.cursor.left, "x") / binMs)));
}
