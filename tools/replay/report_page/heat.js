// Chunk size by budget: which size is best, and how much it matters.

// The run in a cell: that of the chosen policy, or the best of all but the bound.
function cellRun(one, policy, chunk, budget) {
  return fastest(one.runs.filter((run) => run.chunk === chunk && run.budget === budget &&
    (policy === "best" ? !isBound(run.policy) : run.policy === policy)));
}

// How much colour a slowdown gets, from 0.04 to 1, by the logarithm.
function heatShare(slowdown, high) {
  return 0.04 + 0.96 * Math.min(1, Math.max(0, Math.log(Math.max(1, slowdown)) / Math.log(high)));
}

function heatCell(run, place, high, focus) {
  const share = heatShare(run.slowdown, high);
  const x = place.x + place.width / 2;
  const y = place.y + place.height / 2;
  const group = svg("g", { class: share > 0.7 ? "heat-cell on-dark" : "heat-cell", "data-budget": run.budget,
    "data-chunk": run.chunk });
  group.append(
    svg("rect", { class: "under", x: place.x, y: place.y, width: place.width - 2, height: place.height - 2, rx: 3 }),
    svg("rect", { class: "cell", x: place.x, y: place.y, width: place.width - 2, height: place.height - 2, rx: 3,
      "fill-opacity": share.toFixed(3) }),
    svg("text", { class: "cell-text", x: x - 1, y: y - 1, "text-anchor": "middle" }, timesText(run.slowdown)),
    svg("text", { class: "cell-policy", x: x - 1, y: y + 13, "text-anchor": "middle" },
      clipped(run.policy, Math.max(3, Math.floor(place.width / 7)))));
  if (run === focus) {
    group.append(svg("rect", { class: "chosen", x: place.x, y: place.y, width: place.width - 2,
      height: place.height - 2, rx: 3 }));
  }
  group.addEventListener("pointermove", (event) => tip.show(event, runText(run), [
    ["predicted", timeText(run.predicted_ms)], ["slowdown", timesText(run.slowdown)],
    ["stalled", timeText(run.stall_ms)], ["fetches", countText(run.fetches)],
    ["moved in", sizeText(run.bytes_in)], ["moved out", sizeText(run.bytes_out)]]));
  group.addEventListener("pointerleave", () => tip.hide());
  return group;
}

function heatAxes(chunks, budgets, one, place) {
  const group = svg("g", {});
  chunks.forEach((chunk, row) => group.append(svg("text", { class: "row-label", "data-value": chunk, x: 62,
    y: place(row, 0).y + place(row, 0).height / 2 + 4, "text-anchor": "end" }, chunkText(chunk))));
  const last = place(chunks.length - 1, 0);
  budgets.forEach((budget, column) => {
    const at = place(0, column);
    const x = at.x + at.width / 2 - 1;
    const { percent } = one.runs.find((run) => run.budget === budget);
    group.append(svg("text", { class: "column-label", "data-value": budget, x, y: last.y + last.height + 16,
      "text-anchor": "middle" }, sizeText(budget)));
    if (percent !== null) {
      group.append(svg("text", { x, y: last.y + last.height + 30, "text-anchor": "middle" }, `${short(percent)} %`));
    }
  });
  group.append(svg("text", { class: "axis-name", x: 0, y: 12 }, "chunk size"));
  group.append(svg("text", { class: "axis-name", x: place(0, 0).x + (budgets.length * last.width) / 2,
    y: last.y + last.height + 48, "text-anchor": "middle" }, "device memory for the program's data"));
  return group;
}

function heatMap(one, policy, width) {
  const shown = one.runs.filter((run) => policy === "best" ? !isBound(run.policy) : run.policy === policy);
  const chunks = distinct(shown.map((run) => run.chunk));
  const budgets = distinct(shown.map((run) => run.budget));
  const height = chunks.length > 12 ? 34 : 44;
  const cell = Math.max(52, Math.min(130, (width - 70) / budgets.length));
  const place = (row, column) => ({ x: 70 + column * cell, y: 20 + row * height, width: cell, height });
  const full = Math.max(width, 70 + cell * budgets.length);
  const drawing = svg("svg", { viewBox: `0 0 ${full} ${20 + chunks.length * height + 56}`, role: "img",
    "aria-label": "Slowdown by chunk size and budget" });
  const cells = chunks.map((chunk) => budgets.map((budget) => cellRun(one, policy, chunk, budget)));
  const high = Math.max(1.5, ...cells.flat().map((run) => (run ? run.slowdown : 1)));
  chunks.forEach((_, row) => budgets.forEach((__, column) => {
    const run = cells[row][column];
    const at = place(row, column);
    drawing.append(run ? heatCell(run, at, high, one.runs[one.focus]) : svg("rect", { class: "empty", x: at.x, y: at.y,
      width: at.width - 2, height: at.height - 2, rx: 3 }));
  }));
  drawing.append(heatAxes(chunks, budgets, one, place));
  return drawing;
}

function drawHeat(host, one, state) {
  const policies = [...new Set(one.runs.map((run) => run.policy))].sort();
  if (policies.length === 0) return host.replaceChildren(absent("No run was replayed, so no chunk size was tried."));
  const usual = policies.some((policy) => !isBound(policy)) ? "best" : policies[0];
  const wanted = state.heatPolicy ?? usual;
  const options = policies.map((policy) => ({ value: policy, text: isBound(policy) ? "min (bound)" : policy }));
  if (usual === "best") options.unshift({ value: "best", text: "best of all" });
  const chooser = choice("Policy", options, wanted, (value) => {
    state.heatPolicy = value;
    drawHeat(host, one, state);
  });
  const chunks = distinct(one.runs.map((run) => run.chunk));
  host.replaceChildren(el("div", { class: "choices" }, chooser), heatMap(one, wanted, Math.max(320, host.clientWidth)));
  if (chunks.length === 1) {
    host.append(el("p", { class: "what" }, `Only one chunk size was tried (${chunkText(chunks[0])}).`));
  }
}
