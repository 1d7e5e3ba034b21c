// Slowdown against budget, a line for each policy.

function slowdownSeries(one, chunk) {
  const focus = one.runs[one.focus];
  return [...new Set(one.runs.map((run) => run.policy))].map((policy) => {
    const own = one.runs.filter((run) => run.policy === policy && (chunk === "best" || run.chunk === Number(chunk)));
    const points = distinct(own.map((run) => run.budget)).map((budget) => {
      const run = fastest(own.filter((candidate) => candidate.budget === budget));
      return { x: budget, y: run.slowdown, run };
    });
    return { name: policy, look: look(policy), points, dots: true, strong: policy === focus?.policy,
      floor: isBound(policy) };
  }).filter((series) => series.points.length > 0);
}

// Fetching least is not always fastest: what min does not keep it serves in place, at that price. Where a policy
// is faster, its line would be no floor.
function isFloor(series) {
  const bound = series.find((entry) => entry.floor);
  return bound !== undefined && bound.points.every((point) => series.every((entry) => entry.points.every((other) =>
    other.x !== point.x || other.y >= point.y / 1.005)));
}

// Every budget has a tick where there is room for its label.
function budgetAxis(runs) {
  const splits = (u, _, low, high) => distinct(runs.keys()).reverse().filter((budget) => budget >= low && budget <= high)
    .reduce((kept, budget) => (kept.length > 0 && u.valToPos(kept.at(-1), "x") - u.valToPos(budget, "x") < 62 ? kept
      : [...kept, budget]), []);
  const below = ({ percent }) => (percent === null ? "" : `\n${short(percent)} %`);
  return { label: "device memory for the program's data", size: 44, lineGap: 1.25, splits,
    values: (_, ticks) => ticks.map((budget) => sizeText(budget) + below(runs.get(budget))) };
}

function slowdownSpec(one, all) {
  const series = isFloor(all) || all.length === 1 ? all : all.filter((entry) => !entry.floor);
  const points = series.flatMap((entry) => entry.points);
  const runs = new Map(points.map((point) => [point.x, point.run]));
  const values = points.map((point) => point.y).filter((value) => value > 0);
  const log = Math.max(1.1, ...values) / Math.min(1, ...values) > 5;
  return { name: "Slowdown against budget, one line per policy", height: 390, series, x: budgetAxis(runs), log,
    y: { label: "times the resident run", size: 58, values: (_, ticks) =>
      ticks.map((tick) => (tick === null ? null : `${exact(tick)}×`)) },
    range: (low, high) => (log ? [uPlot.rangeLog(Math.min(1, low), 10, 10)[0], Math.max(1.1, high) * 1.08]
      : [Math.min(1, low), 1.06 * Math.max(1.1, high) - 0.06 * Math.min(1, low)]),
    reference: { value: 1.05, text: "within 5 %" }, at: one.runs[one.focus]?.budget ?? points[0].x,
    title: (budget) => budgetText(runs.get(budget)),
    value: ({ run }) => `${timeText(run.predicted_ms)} · ${timesText(run.slowdown)}` };
}

function drawSlowdown(host, one) {
  if (one.runs.length === 0) return host.replaceChildren(absent("No run was replayed, so there is no slowdown to show."));
  const chunks = distinct(one.runs.map((run) => run.chunk));
  const usual = one.runs[one.focus ?? 0].chunk;
  const options = [...chunkOptions(chunks), ...(chunks.length > 1 ? [{ value: "best", text: "each policy's best" }] : [])];
  host.replaceChildren(choice("slowdown", "Chunk size", options, usual, () => drawSlowdown(host, one)));
  const series = slowdownSeries(one, chosen.slowdown ?? usual);
  lineChart(host, slowdownSpec(one, series));
  if (series.length > 1 && series.some((entry) => entry.floor) && !isFloor(series)) {
    host.append(el("p", { class: "what bound-note" }, "The bound is not drawn here: min fetches the fewest chunks, but " +
      "serves so much in place that policies with more moves are faster. Compare fetches with it, not times."));
  }
}
