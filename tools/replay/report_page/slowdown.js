// Slowdown against budget, a line for each policy.

function slowdownSeries(one, chunk) {
  const focus = one.runs[one.focus];
  const policies = [...new Set(one.runs.map((run) => run.policy))];
  return policies.map((policy) => {
    const own = one.runs.filter((run) => run.policy === policy && (chunk === "best" || run.chunk === Number(chunk)));
    const points = distinct(own.map((run) => run.budget)).map((budget) => {
      const run = fastest(own.filter((candidate) => candidate.budget === budget));
      return { x: budget, y: run.slowdown, run };
    });
    const there = focus && points.find((point) => point.x === focus.budget);
    const strong = focus !== undefined && policy === focus.policy;
    return { name: policy, classes: `${look(policy)}${strong ? " strong" : ""}`, points, dots: true, strong,
      floor: isBound(policy), rank: there ? there.y : -1, label: there ? timesText(there.y) : "–" };
  }).filter((series) => series.points.length > 0);
}

// Fetching least is not always fastest: what min does not keep it serves in place, at that price. Where a policy
// is faster, its line would be no floor.
function isFloor(series) {
  const bound = series.find((entry) => entry.floor);
  return bound !== undefined && bound.points.every((point) => series.every((entry) => entry.points.every((other) =>
    other.x !== point.x || other.y >= point.y / 1.005)));
}

function slowdownSpec(one, chunk, width) {
  const all = slowdownSeries(one, chunk);
  const series = isFloor(all) || all.length === 1 ? all : all.filter((entry) => !entry.floor);
  const points = series.flatMap((entry) => entry.points);
  const values = points.map((point) => point.y);
  const budgets = points.map((point) => point.x);
  const low = Math.min(1, ...values.filter((value) => value > 0));
  const high = Math.max(1.1, ...values);
  const log = high / low > 5;
  const focus = one.runs[one.focus];
  return {
    name: "Slowdown against budget, one line per policy", width, height: 390, series,
    x: { low: Math.min(...budgets), high: Math.max(...budgets), name: "device memory for the program's data",
      ticks: (scale) => budgetTicks(points.map((point) => point.run), scale) },
    y: { low, high: log ? high * 1.08 : high + (high - low) * 0.06, log, name: "times the resident run",
      text: (value) => `${short(value)}×` },
    reference: { value: 1.05, text: "within 5 %" },
    legend: focus ? `At ${budgetText(focus)}` : "",
    title: (value) => budgetText(points.find((point) => point.x === value).run),
    value: (point) => `${timesText(point.y)} · ${timeText(point.run.predicted_ms)}`,
  };
}

function boundNote(series) {
  if (series.length === 1 || !series.some((entry) => entry.floor) || isFloor(series)) return "";
  return el("p", { class: "what bound-note" }, "The bound is not drawn here: min fetches the fewest chunks, but serves " +
    "so much in place that policies with more moves are faster. Compare fetches with it, not times.");
}

function drawSlowdown(host, one, state) {
  if (one.runs.length === 0) return host.replaceChildren(absent("No run was replayed, so there is no slowdown to show."));
  const chunks = distinct(one.runs.map((run) => run.chunk));
  const wanted = state.slowdownChunk ?? one.runs[one.focus ?? 0].chunk;
  const options = [...chunks.map((chunk) => ({ value: chunk, text: chunkText(chunk) })),
    { value: "best", text: "each policy's best" }];
  const chooser = chunks.length < 2 ? null : choice("Chunk size", options, wanted, (value) => {
    state.slowdownChunk = value;
    drawSlowdown(host, one, state);
  });
  const width = innerWidth > 900 ? host.clientWidth - 216 : host.clientWidth;
  host.replaceChildren(el("div", { class: "choices" }, chooser),
    lineChart(slowdownSpec(one, wanted, Math.max(320, width))), boundNote(slowdownSeries(one, wanted)));
}
