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

function drawKernels(host, one) {
  const listed = one.runs.filter((run) => run.kernels.length > 0);
  if (listed.length === 0) return host.replaceChildren(absent("No kernels are listed for any run."));
  const focus = one.runs[one.focus];
  const run = one.runs[chosen.kernels] ?? (listed.includes(focus) ? focus : listed[0]);
  host.replaceChildren(runChoice("kernels", one, listed, run, () => drawKernels(host, one)), kernelTable(run));
}

function drawRuns(host, one) {
  if (one.runs.length === 0) return host.replaceChildren(absent("No run was replayed."));
  const shown = one.runs.slice(0, MOST_ROWS);
  const round = { name: "A round", cell: (run) => (run.round_ms === null ? "–" : timeText(run.round_ms)) };
  const rows = table([
    { name: "Policy", cell: (run) => run.policy },
    { name: "Device memory", cell: budgetText },
    { name: "Chunks", cell: (run) => chunkText(run.chunk) },
    { name: "Slowdown", cell: (run) => timesText(run.slowdown) },
    { name: "Predicted", cell: (run) => timeText(run.predicted_ms) },
    ...(shown.some((run) => run.round_ms !== null) ? [round] : []),
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

const UNITS = { gb_per_s: "GB/s", us: "µs", ns: "ns", ms: "ms", s: "s", percent: "%", gb: "GB", bytes: "B" };

// What `vramspan replay` reckons with; other names are taken apart into words.
const PRICE_WORDS = {
  "copy_gb_per_s.in": "copy to the device", "copy_gb_per_s.out": "copy to the host",
  "copy_gb_per_s.both": "copies both ways, the sum", serve_gb_per_s: "kernel on host memory",
  device_gb_per_s: "kernel on device memory", move_gb_per_s: "move with its remaps",
  hold_call_us: "to hold a launch, each call", hold_release_us: "from its release to its start",
  copy_start_us: "start of a copy in", piece_start_us: "start of a piece out", per_plan_us: "the mover, each plan",
  per_fetch_us: "the mover, each fetch", per_move_us: "the mover, each move",
  short_call_us: "the program, each launch while memory is short",
  begin_us: "once, the mover's context", remap_beside: "remaps beside kernels, or copies: longer by",
  serve_both_ways: "read and written in place: times",
};

// "copy_gb_per_s.in", "51.2" is "copy to the device", "51.2 GB/s".
function priceText([name, value]) {
  const [suffix, unit] = /_(gb_per_s|us|ns|ms|s|percent|gb|bytes)(?=\.|$)/.exec(name) ?? ["", ""];
  const words = Object.hasOwn(PRICE_WORDS, name) ? PRICE_WORDS[name]
    : name.replace(suffix, "").replaceAll(/_|(?<!\d)\.|\.(?!\d)/g, " ");
  if (unit === "bytes" && Number.isFinite(Number(value))) return [words, sizeText(Number(value))];
  if (unit === "us" && Number(value) >= 1000) return [words, timeText(Number(value) / 1000)];
  return [words, unit === "" ? value : `${value} ${UNITS[unit]}`];
}

// "remap_us.2 MiB", "device map 14, device unmap 9" is a row of the table of remaps; null is what is no row.
function priceRow([name, value]) {
  const dot = name.indexOf(".");
  const cells = value.split(", ").map((part) => /^(\D+) (-?[\d.]+)$/.exec(part));
  if (dot < 1 || cells.length < 2 || cells.includes(null)) return null;
  return { table: name.slice(0, dot), row: name.slice(dot + 1), cells: new Map(cells.map((cell) => [cell[1], cell[2]])) };
}

function priceTable(name, rows) {
  const columns = [...new Set(rows.flatMap((row) => [...row.cells.keys()]))];
  const [title, unit] = priceText([name, ""]);
  return table([{ name: unit.trim() === "" ? title : `${title}, ${unit.trim()}`, cell: (row) => row.row },
    ...columns.map((column) => ({ name: column, cell: (row) => row.cells.get(column) ?? "–" }))], rows);
}

function priceLists(prices) {
  if (prices.length === 0) return [absent("The prices that were assumed are not in the data.")];
  const rows = prices.map(priceRow);
  const single = prices.filter((_, i) => rows[i] === null).map(priceText);
  const tables = new Map();
  for (const row of rows.filter((one) => one !== null)) {
    tables.set(row.table, [...(tables.get(row.table) ?? []), row]);
  }
  return [el("dl", { class: "prices" }, single.map(([name, value]) =>
    el("div", {}, el("dt", {}, name), el("dd", {}, value)))), 
  ...[...tables].map(([name, list]) => priceTable(name, list))];
}

function drawAssumptions(host, one, prices) {
  const { trace } = one;
  const times = trace.estimated_times
    ? "The times of the work are estimates, not measurements. Compare policies and budgets by them, but do not expect " +
      "a run to take so many milliseconds."
    : "The times of the work were measured when the trace was recorded. Moves, stalls and service in place have the " +
      "prices below.";
  const problems = trace.problems.length === 0 ? [el("p", {}, "The trace was read without problems.")]
    : [el("p", {}, "What was wrong with the trace:"),
      el("ul", { class: "problems" }, trace.problems.map((problem) => el("li", {}, problem)))];
  const waits = trace.waits === null || trace.waited_ms === null
    ? "The trace does not tell what the program waited for. The replay assumes that it waited for the device in each long pause."
    : `The program waited for its device ${countText(trace.waits)} times, ${timeText(trace.waited_ms)} in all. A replay ` +
      "waits for the same and nothing else.";
  const notes = trace.notes.map((note) => el("p", {}, note));
  host.replaceChildren(el("p", {}, times), el("p", {}, waits), ...problems, ...notes, ...priceLists(prices));
}
