// Which allocation was on the device when, and below it what missed and what waited.

function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function panelPlot(host, { name, values, text, fill, budget }, spec) {
  const high = Math.max(budget ?? 0, ...values) || 1;
  const { bins, binMs } = spec;
  // The bars stand in the middle of their bins; the line of the budget goes from end to end.
  const times = [0, ...values.map((_, bin) => (bin + 0.5) * binMs), bins * binMs];
  const data = [times, [undefined, ...values, undefined]];
  const series = [{}, { width: 0, fill: () => colour(...fill), points: { show: false }, paths: uPlot.paths.bars({
    size: [1], gap: (spec.width - spec.left) / bins > 5 ? 1 : 0 }) }];
  if (budget !== undefined) {
    data.push(times.map(() => budget));
    series.push({ stroke: () => colour("c1"), width: 1.5, dash: [5, 3], points: { show: false } });
  }
  plot(host, { text: `${name}: at most ${text(Math.max(...values))} in a bin, at one time or another`,
    width: spec.width, height: spec.axis ? 112 : 66, padding: [12, 14, spec.axis ? 0 : 4, 0], series,
    scales: { x: { time: false, range: (_, low, end) => [low, end] }, y: { range: [0, high] } },
    axes: [timeAxis({ show: spec.axis }), axis({ size: spec.left, lineGap: 1.25, gap: 8, ticks: { show: false },
      splits: () => [0, high], values: () => ["", `${name}\nto ${text(high)}`] })],
    cursor: { points: { show: false }, sync: { key: spec.key } },
    tip: (u) => spec.tip(u, -1, binUnder(u, spec)) }, data);
}

function drawRun(host, run) {
  const { timeline } = run;
  const { bins, bin_ms: binMs, allocations } = timeline;
  const panels = [
    { name: "on the device", values: timeline.device_bytes, budget: run.budget, text: sizeText, fill: ["resident", "59"] },
    { name: "fetches", values: timeline.fetches, text: countText, fill: ["c4"] },
    { name: "stalled", values: timeline.stall_ms, text: timeText, fill: ["c1"] },
  ];
  const tipOf = (_, row, bin) => [`${timeText(bin * binMs)} to ${timeText((bin + 1) * binMs)}`,
    [...allocations.slice(Math.max(0, row), row + 1).map(({ name, bytes, resident }) =>
      [clipped(name, 48), `${percentText(resident[bin])} of ${sizeText(bytes)}`]),
    ...panels.map(({ name, values, text }) => [name, text(values[bin])])]];
  const width = Math.max(320, host.clientWidth);
  const columns = [76, width > 700 ? 154 : 94];
  const common = { width, left: columns[0] + columns[1], bins, binMs, key: "timeline", tip: tipOf };
  stripPlot(host, { ...common, row: 13, part: 11 / 13, columns, axis: false,
    rows: allocations.map(({ name, bytes, resident }) =>
      ({ values: resident, labels: [sizeText(bytes), clipped(name, Math.floor(columns[1] / 8))] })),
    text: `Residency of each allocation over time. On the device on average: ${allocations.map((one) =>
      `${clipped(one.name, 48)} ${percentText(mean(one.resident))} of ${sizeText(one.bytes)}`).join(", ")}` });
  panels.forEach((panel, i) => panelPlot(host, panel, { ...common, axis: i === panels.length - 1 }));
}

// What is most like the run in question: itself, then the same budget, then the same policy.
function nearestTo(focus, runs) {
  const unlike = (run) => (run === focus ? -1
    : (run.budget === focus?.budget ? 0 : 2) + (run.policy === focus?.policy ? 0 : 1));
  return [...runs].sort((a, b) => unlike(a) - unlike(b))[0];
}

function drawTimeline(host, one) {
  const listed = one.runs.filter((run) => run.timeline);
  if (listed.length === 0) {
    return host.replaceChildren(absent("No timeline was recorded: `vramspan replay --timeline` adds one to each run."));
  }
  const run = one.runs[chosen.timeline] ?? nearestTo(one.runs[one.focus], listed);
  host.replaceChildren(runChoice("timeline", one, listed, run, () => drawTimeline(host, one)));
  drawRun(host, run);
  const left = run.timeline.left_out;
  if (left > 0) host.append(el("p", { class: "what" }, `${countText(left)} smaller allocations are not shown.`));
}
