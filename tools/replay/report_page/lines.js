// Lines of several policies over memory: slowdown and miss ratio.

function pathOf(points, x, y) {
  return points.map((point, i) => `${i === 0 ? "M" : "L"}${x(point.x).toFixed(2)} ${y(point.y).toFixed(2)}`).join("");
}

function floorPath(points, x, y, box) {
  const first = points[0];
  const last = points[points.length - 1];
  return `${pathOf(points, x, y)}L${x(last.x).toFixed(2)} ${box.bottom}L${x(first.x).toFixed(2)} ${box.bottom}Z`;
}

function bandPath(points, error, x, y) {
  const shifted = (by) => points.map((point) => ({ x: point.x, y: Math.min(y.high, Math.max(0, point.y + by)) }));
  return `${pathOf(shifted(error), x, y)}${pathOf(shifted(-error).reverse(), x, y).replace("M", "L")}Z`;
}

function seriesGroup(series, x, y, box) {
  const group = svg("g", { class: `series ${series.classes}`, "data-series": series.name });
  if (series.points.length === 0) return group;
  if (series.floor) group.append(svg("path", { class: "floor", d: floorPath(series.points, x, y, box) }));
  if (series.error) group.append(svg("path", { class: "band", d: bandPath(series.points, series.error, x, y) }));
  group.append(svg("path", { class: "line", d: pathOf(series.points, x, y) }));
  if (series.dots) {
    for (const point of series.points) {
      group.append(svg("circle", { class: "dot", cx: x(point.x).toFixed(2), cy: y(point.y).toFixed(2), r: 4 }));
    }
  }
  return group;
}

function nearestPoint(points, value) {
  return points.reduce((best, point) => (Math.abs(point.x - value) < Math.abs(best.x - value) ? point : best));
}

// A line follows the pointer from value to value, and the tip lists all series there, highest first.
function followPointer(drawing, spec, x, box) {
  const values = distinct(spec.series.flatMap((series) => series.points.map((point) => point.x)));
  const line = svg("line", { class: "crosshair", y1: box.top, y2: box.bottom, visibility: "hidden" });
  const hit = svg("rect", { class: "hit", x: box.left, y: box.top, width: box.right - box.left,
    height: box.bottom - box.top });
  const leave = () => {
    tip.hide();
    line.setAttribute("visibility", "hidden");
  };
  hit.addEventListener("pointermove", (event) => {
    const frame = drawing.getBoundingClientRect();
    const at = ((event.clientX - frame.left) / frame.width) * drawing.viewBox.baseVal.width;
    const value = values.reduce((best, v) => (Math.abs(x(v) - at) < Math.abs(x(best) - at) ? v : best), values[0]);
    line.setAttribute("x1", x(value));
    line.setAttribute("x2", x(value));
    line.setAttribute("visibility", "visible");
    tip.show(event, spec.title(value), tipRows(spec, value));
  });
  hit.addEventListener("pointerleave", leave);
  drawing.append(line, hit);
}

function tipRows(spec, value) {
  const here = spec.series.filter((series) => series.points.length > 0)
    .map((series) => ({ series, point: nearestPoint(series.points, value) }));
  here.sort((a, b) => b.point.y - a.point.y);
  return here.map(({ series, point }) => [swatch(series.classes), clipped(series.name, 16), spec.value(point)]);
}

function legend(spec, drawing) {
  const fade = (name) => {
    for (const group of drawing.querySelectorAll(".series")) {
      group.classList.toggle("faded", name !== null && group.dataset.series !== name);
    }
  };
  const rows = [...spec.series].sort((a, b) => b.rank - a.rank).map((series) => {
    const row = el("li", { tabindex: 0, class: series.strong ? "strong" : null },
      swatch(series.classes), el("span", {}, isBound(series.name) ? "min (bound)" : clipped(series.name, 16)),
      el("span", { class: "value" }, series.label));
    row.addEventListener("pointerenter", () => fade(series.name));
    row.addEventListener("pointerleave", () => fade(null));
    row.addEventListener("focus", () => fade(series.name));
    row.addEventListener("blur", () => fade(null));
    return row;
  });
  if (spec.reference) {
    rows.push(el("li", {}, svg("svg", { viewBox: "0 0 34 12", width: 34, height: 12, "aria-hidden": "true" },
      svg("line", { class: "reference", x1: 1, x2: 33, y1: 6, y2: 6 })), el("span", {}, spec.reference.text)));
  }
  return el("ul", { class: "legend" }, el("li", { class: "title" }, spec.legend), rows);
}

// spec: {name, width, height, x: {low, high, name, ticks(scale)}, y: {low, high, log, name, text},
//        series: [{name, classes, points: [{x, y}], floor, error, dots, strong, rank, label}],
//        reference, legend, title(value), value(point)}
function lineChart(spec) {
  const box = { left: 52, right: spec.width - 22, top: 26, bottom: spec.height - 56 };
  const x = linear(spec.x.low, spec.x.high, box.left + 14, box.right);
  const y = (spec.y.log ? logarithmic : linear)(spec.y.low, spec.y.high, box.bottom, box.top);
  const drawing = svg("svg", { viewBox: `0 0 ${spec.width} ${spec.height}`, role: "img", "aria-label": spec.name });
  const values = spec.y.log ? logTicks(y.low, y.high) : niceTicks(y.low, y.high, 5);
  drawing.append(yAxis(box, y, values.map((value) => ({ value, text: spec.y.text(value) })), spec.y.name));
  drawing.append(xAxis(box, x, spec.x.ticks(x), spec.x.name));
  if (spec.reference && spec.reference.value <= y.high) drawing.append(referenceLine(spec.reference, y, box));
  const inOrder = [...spec.series].sort((a, b) => Number(b.floor) - Number(a.floor) || Number(a.strong) -
    Number(b.strong));
  for (const series of inOrder) drawing.append(seriesGroup(series, x, y, box));
  followPointer(drawing, spec, x, box);
  return el("div", { class: "chart" }, drawing, legend(spec, drawing));
}

function referenceLine(reference, y, box) {
  const at = y(reference.value);
  return svg("line", { class: "reference", x1: box.left, x2: box.right, y1: at, y2: at });
}
