// Which allocation was on the device when, and below it what missed and what waited.

const STRIP = 13;
const PANEL = 56;
const LEVELS = 20;
const SIZE_ROOM = 76;

// Neighbouring bins of nearly the same residency are one rectangle. Zero is only what is zero.
function stripRuns(resident) {
  const runs = [];
  resident.forEach((part, bin) => {
    const level = Math.ceil(part * LEVELS - 1e-9);
    const last = runs[runs.length - 1];
    if (last && last.level === level) last.end = bin + 1;
    else runs.push({ level, begin: bin, end: bin + 1 });
  });
  return runs.filter((run) => run.level > 0);
}

function strip(allocation, row, x, box) {
  const y = box.top + row * STRIP;
  const group = svg("g", { class: "strip", "data-row": row });
  const room = box.left - SIZE_ROOM;
  group.append(svg("text", { x: room, y: y + 10, "text-anchor": "end" },
    clipped(allocation.name || "(no name)", Math.floor(room / 8))));
  group.append(svg("text", { x: box.left - 8, y: y + 10, "text-anchor": "end" }, sizeText(allocation.bytes)));
  group.append(svg("rect", { class: "empty", x: box.left, y, width: box.right - box.left, height: STRIP - 2 }));
  for (const run of stripRuns(allocation.resident)) {
    group.append(svg("rect", { class: "resident", x: x(run.begin).toFixed(2), y,
      width: (x(run.end) - x(run.begin)).toFixed(2), height: STRIP - 2, "fill-opacity": run.level / LEVELS }));
  }
  return group;
}

function panelFrame(panel, top, high, box) {
  const y = linear(0, high, top + PANEL, top + 16);
  const group = svg("g", { class: "panel", "data-panel": panel.key });
  group.append(svg("text", { x: box.left - 8, y: top + 24, "text-anchor": "end", class: "mark-label" }, panel.name));
  group.append(svg("text", { x: box.left - 8, y: top + 40, "text-anchor": "end" }, `to ${panel.text(high)}`));
  for (const value of [0, high]) {
    group.append(svg("line", { class: "grid tick", "data-value": value, x1: box.left, x2: box.right, y1: y(value),
      y2: y(value) }));
  }
  return { group, y };
}

function barPanel(panel, top, x, box) {
  const high = Math.max(...panel.values) || 1;
  const { group, y } = panelFrame(panel, top, high, box);
  panel.values.forEach((value, bin) => {
    if (value === 0) return;
    const room = x(bin + 1) - x(bin);
    const width = room > 5 ? room - 1 : room;
    group.append(svg("rect", { class: panel.classes, x: x(bin).toFixed(2), width: width.toFixed(2),
      y: y(value).toFixed(2), height: Math.max(0.6, y(0) - y(value)).toFixed(2) }));
  });
  return group;
}

function memoryPanel(panel, top, x, box) {
  const high = Math.max(panel.budget, ...panel.values) || 1;
  const { group, y } = panelFrame(panel, top, high, box);
  const steps = panel.values.map((value, bin) =>
    `L${x(bin).toFixed(2)} ${y(value).toFixed(2)}L${x(bin + 1).toFixed(2)} ${y(value).toFixed(2)}`);
  group.append(svg("path", { class: "area", d: `M${x(0)} ${y(0)}${steps.join("")}L${x(panel.values.length)} ${y(0)}Z` }));
  group.append(svg("line", { class: "budget", x1: box.left, x2: box.right, y1: y(panel.budget), y2: y(panel.budget) }));
  return group;
}

function panelsOf(run) {
  const { timeline } = run;
  return [
    { key: "device", name: "on the device", values: timeline.device_bytes, budget: run.budget, text: sizeText },
    { key: "fetches", name: "fetches", values: timeline.fetches, classes: "bar-fetches", text: countText },
    { key: "stall", name: "stalled", values: timeline.stall_ms, classes: "bar-stall", text: timeText },
  ];
}

function timelineTip(run, row, bin) {
  const { timeline } = run;
  const rows = [
    ["on the device", sizeText(timeline.device_bytes[bin])],
    ["fetches", countText(timeline.fetches[bin])],
    ["stalled", timeText(timeline.stall_ms[bin])],
  ];
  const allocation = timeline.allocations[row];
  if (allocation) {
    const part = `${percentText(allocation.resident[bin])} of ${sizeText(allocation.bytes)}`;
    rows.unshift([clipped(allocation.name || "(no name)", 48), part]);
  }
  return rows;
}

function followTimeline(drawing, run, box, bottom) {
  const { bins, bin_ms: binMs } = run.timeline;
  const line = svg("line", { class: "crosshair", y1: box.top, y2: bottom, visibility: "hidden" });
  const hit = svg("rect", { class: "hit", x: box.left, y: box.top, width: box.right - box.left,
    height: bottom - box.top });
  hit.addEventListener("pointermove", (event) => {
    const frame = drawing.getBoundingClientRect();
    const unit = drawing.viewBox.baseVal.width / frame.width;
    const x = (event.clientX - frame.left) * unit;
    const row = Math.floor(((event.clientY - frame.top) * unit - box.top) / STRIP);
    const bin = Math.min(bins - 1, Math.max(0, Math.floor(((x - box.left) / (box.right - box.left)) * bins)));
    line.setAttribute("x1", x);
    line.setAttribute("x2", x);
    line.setAttribute("visibility", "visible");
    tip.show(event, `${timeText(bin * binMs)} to ${timeText((bin + 1) * binMs)}`, timelineTip(run, row, bin));
  });
  hit.addEventListener("pointerleave", () => {
    tip.hide();
    line.setAttribute("visibility", "hidden");
  });
  drawing.append(line, hit);
}

function timelineDrawing(run, width) {
  const { timeline } = run;
  const box = { left: width > 700 ? 230 : 170, right: width - 14, top: 6 };
  const panels = panelsOf(run);
  const strips = box.top + timeline.allocations.length * STRIP;
  const bottom = strips + panels.length * (PANEL + 6);
  const x = linear(0, timeline.bins, box.left, box.right);
  const drawing = svg("svg", { viewBox: `0 0 ${width} ${bottom + 44}`, role: "img",
    "aria-label": "Residency of each allocation over time, with fetches and stalls" });
  timeline.allocations.forEach((allocation, row) => drawing.append(strip(allocation, row, x, box)));
  panels.forEach((panel, i) => drawing.append(
    (panel.key === "device" ? memoryPanel : barPanel)(panel, strips + i * (PANEL + 6), x, box)));
  const time = linear(0, timeline.bins * timeline.bin_ms, box.left, box.right);
  const ticks = niceTicks(time.low, time.high, 6).map((value) => ({ value, text: timeText(value) }));
  drawing.append(xAxis({ ...box, bottom }, time, ticks, "predicted time"));
  followTimeline(drawing, run, box, bottom);
  return drawing;
}

// What is most like the run in question: the same budget, then the same policy.
function nearestTo(focus, runs) {
  if (focus === undefined) return runs[0];
  const unlike = (run) => (run.budget === focus.budget ? 0 : 2) + (run.policy === focus.policy ? 0 : 1);
  return [...runs].sort((a, b) => unlike(a) - unlike(b))[0];
}

function drawTimeline(host, one, state) {
  const with_ = one.runs.filter((run) => run.timeline);
  if (with_.length === 0) {
    return host.replaceChildren(absent("No timeline was recorded: `vramspan replay --timeline` adds one to each run."));
  }
  const focus = one.runs[one.focus];
  const usual = with_.includes(focus) ? focus : nearestTo(focus, with_);
  const run = one.runs[state.timelineRun] ?? usual;
  const options = with_.map((entry) => ({ value: one.runs.indexOf(entry), text: runText(entry) }));
  const chooser = choice("Run", options, one.runs.indexOf(run), (value) => {
    state.timelineRun = Number(value);
    drawTimeline(host, one, state);
  });
  const left = run.timeline.left_out;
  host.replaceChildren(el("div", { class: "choices" }, chooser ?? el("span", {}, runText(run))),
    timelineDrawing(run, Math.max(320, host.clientWidth)));
  if (left > 0) host.append(el("p", { class: "what" }, `${countText(left)} smaller allocations are not shown.`));
}
