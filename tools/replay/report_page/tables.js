// What is read rather than seen: kernels, prices, problems, and all runs.

const MOST_ROWS = 500;

function table(columns, rows) {
  const head = columns.map((column) => el("th", { class: column.text ? "text" : null, scope: "col" }, column.name));
  const body = rows.map((row) => el("tr", {}, columns.map((column) =>
    el("td", { class: [column.text ? "text" : "", column.classes ?? ""].join(" ").trim() || null }, column.cell(row)))));
  return el("div", { class: "scroll" }, el("table", {}, el("thead", {}, el("tr", {}, head)), el("tbody", {}, body)));
}

function added(kernel) {
  return kernel.predicted_ms - kernel.resident_ms;
}

function addedCell(kernel, most) {
  const bar = el("span", { class: "meter" });
  bar.style.width = `${most > 0 ? Math.max(0, (100 * added(kernel)) / most).toFixed(1) : 0}%`;
  return [timeText(Math.max(0, added(kernel))), bar];
}

function kernelTable(run) {
  const rows = [...run.kernels].sort((a, b) => added(b) - added(a));
  const most = Math.max(0, ...rows.map(added));
  return table([
    { name: "Kernel", text: true, classes: "name", cell: (kernel) => kernel.name || "(no name)" },
    { name: "Added", cell: (kernel) => addedCell(kernel, most) },
    { name: "Predicted", cell: (kernel) => timeText(kernel.predicted_ms) },
    { name: "Resident", cell: (kernel) => timeText(kernel.resident_ms) },
    { name: "Stalled", cell: (kernel) => timeText(kernel.stall_ms) },
    { name: "In place", cell: (kernel) => sizeText(kernel.bytes_in_place) },
    { name: "Fetches", cell: (kernel) => countText(kernel.fetches) },
    { name: "Launches", cell: (kernel) => countText(kernel.launches) },
    { name: "Why", text: true, classes: "why", cell: (kernel) => kernel.why },
  ], rows);
}

function drawKernels(host, one, state) {
  const listed = one.runs.filter((run) => run.kernels.length > 0);
  if (listed.length === 0) {
    return host.replaceChildren(absent("No kernels are listed for any run."));
  }
  const focus = one.runs[one.focus];
  const run = one.runs[state.kernelRun] ?? (listed.includes(focus) ? focus : listed[0]);
  const options = listed.map((entry) => ({ value: one.runs.indexOf(entry), text: runText(entry) }));
  const chooser = choice("Run", options, one.runs.indexOf(run), (value) => {
    state.kernelRun = Number(value);
    drawKernels(host, one, state);
  });
  host.replaceChildren(el("div", { class: "choices" }, chooser ?? el("span", {}, runText(run))), kernelTable(run));
}

function drawRuns(host, one) {
  if (one.runs.length === 0) return host.replaceChildren(absent("No run was replayed."));
  const shown = one.runs.slice(0, MOST_ROWS);
  const rows = table([
    { name: "Policy", cell: (run) => run.policy },
    { name: "Device memory", cell: budgetText },
    { name: "Chunks", cell: (run) => chunkText(run.chunk) },
    { name: "Slowdown", cell: (run) => timesText(run.slowdown) },
    { name: "Predicted", cell: (run) => timeText(run.predicted_ms) },
    { name: "Stalled", cell: (run) => timeText(run.stall_ms) },
    { name: "Fetches", cell: (run) => countText(run.fetches) },
    { name: "Fewest", cell: (run) => (run.bound_fetches === null ? "–" : countText(run.bound_fetches)) },
    { name: "Moved in", cell: (run) => sizeText(run.bytes_in) },
    { name: "Moved out", cell: (run) => sizeText(run.bytes_out) },
    { name: "In place", cell: (run) => sizeText(run.bytes_in_place) },
  ], shown);
  const text = shown.length < one.runs.length ? `The first ${shown.length} of ${one.runs.length} runs`
    : `${one.runs.length} ${one.runs.length === 1 ? "run" : "runs"}`;
  host.replaceChildren(el("details", {}, el("summary", {}, text), rows));
}

const UNITS = { gb_per_s: "GB/s", us: "µs", ns: "ns", ms: "ms", s: "s", percent: "%", gb: "GB" };

// "copy_gb_per_s.in", "51.2" is "copy in", "51.2 GB/s".
function priceText([name, value]) {
  const words = (text) => text.replaceAll(/_|(?<!\d)\.|\.(?!\d)/g, " ");
  if (name.endsWith("_bytes") && Number.isFinite(Number(value))) {
    return [words(name.slice(0, -6)), sizeText(Number(value))];
  }
  const unit = Object.keys(UNITS).find((suffix) => name.endsWith(`_${suffix}`) || name.includes(`_${suffix}.`));
  if (unit === undefined) return [words(name), value];
  return [words(name.replace(new RegExp(`_${unit}(?=\\.|$)`), "")), `${value} ${UNITS[unit]}`];
}

function priceList(prices) {
  if (prices.length === 0) return absent("The prices that were assumed are not in the data.");
  return el("dl", { class: "prices" }, prices.map(priceText).map(([name, value]) =>
    el("div", {}, el("dt", {}, name), el("dd", {}, value))));
}

function drawAssumptions(host, one, prices) {
  const { trace } = one;
  const times = trace.estimated_times
    ? "The times of the work are estimates, not measurements: compare policies and budgets by them, but do not take " +
      "the milliseconds for what a run would show."
    : "The times of the work were measured when the trace was recorded; moves, stalls and service in place are priced " +
      "as below.";
  const problems = trace.problems.length === 0 ? [el("p", {}, "The trace was read without problems.")]
    : [el("p", {}, "What was wrong with the trace:"),
      el("ul", { class: "problems" }, trace.problems.map((problem) => el("li", {}, problem)))];
  host.replaceChildren(el("p", {}, times), ...problems, priceList(prices));
}
