// Chunk size by budget, as a table: which size is best, and how much it matters.

// How much colour a slowdown gets, from 0.04 to 1, by the logarithm.
function heatShare(slowdown, high) {
  return 0.04 + 0.96 * Math.min(1, Math.max(0, Math.log(Math.max(1, slowdown)) / Math.log(high)));
}

function heatCell(run, high, focus) {
  if (run === undefined) return el("td", { class: "empty" });
  const share = heatShare(run.slowdown, high);
  const cell = el("td", { class: `cell${share > 0.7 ? " on-dark" : ""}${run === focus ? " chosen" : ""}` },
    el("b", {}, timesText(run.slowdown)), el("span", {}, run.policy));
  cell.style.setProperty("--share", share.toFixed(3));
  cell.addEventListener("pointermove", (event) => tip.show(event, runText(run), [
    ["predicted", timeText(run.predicted_ms)], ["slowdown", timesText(run.slowdown)],
    ["stalled", timeText(run.stall_ms)], ["fetches", countText(run.fetches)],
    ["moved in", sizeText(run.bytes_in)], ["moved out", sizeText(run.bytes_out)]]));
  cell.addEventListener("pointerleave", () => tip.hide());
  return cell;
}

// In a cell stands the run of the chosen policy, or the best of all but the bound.
function heatMap(one, policy) {
  const shown = one.runs.filter((run) => (policy === "best" ? !isBound(run.policy) : run.policy === policy));
  const chunks = distinct(shown.map((run) => run.chunk));
  const budgets = distinct(shown.map((run) => run.budget));
  const cells = chunks.map((chunk) => budgets.map((budget) =>
    fastest(shown.filter((run) => run.chunk === chunk && run.budget === budget))));
  const high = Math.max(1.5, ...cells.flat().map((run) => run?.slowdown ?? 1));
  const column = (budget) => {
    const { percent } = shown.find((run) => run.budget === budget);
    return el("th", { scope: "col", "data-value": budget }, sizeText(budget),
      percent === null ? null : el("span", {}, `${short(percent)} %`));
  };
  const room = `min-width: ${4 + 3.3 * budgets.length}rem`;
  return el("div", { class: "scroll" }, el("table", { class: "heat", style: room },
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "chunk size"), budgets.map(column))),
    el("tbody", {}, chunks.map((chunk, row) => el("tr", {},
      el("th", { scope: "row", "data-value": chunk }, chunkText(chunk)),
      cells[row].map((run) => heatCell(run, high, one.runs[one.focus])))))));
}

function drawHeat(host, one) {
  const policies = [...new Set(one.runs.map((run) => run.policy))].sort();
  if (policies.length === 0) return host.replaceChildren(absent("No run was replayed, so no chunk size was tried."));
  const options = policies.map((policy) => ({ value: policy, text: isBound(policy) ? "min (bound)" : policy }));
  if (!policies.every(isBound)) options.unshift({ value: "best", text: "best of all" });
  const usual = options[0].value;
  const chunks = distinct(one.runs.map((run) => run.chunk));
  host.replaceChildren(choice("heat", "Policy", options, usual, () => drawHeat(host, one)),
    heatMap(one, chosen.heat ?? usual), chunks.length > 1 ? ""
      : el("p", { class: "what" }, `Only one chunk size was tried (${chunkText(chunks[0])}).`));
}
