// Several programs on one device: what each was granted over time, its turns, and how much slower it was.

const SHARE = 22;
const TURN = 5;
const SHARED_ROW = SHARE + TURN + 12;

function sharedHeadline(run) {
  const slower = run.tenants.map((tenant) => timesText(tenant.slowdown));
  const ratio = run.one_by_one_ms > 0 ? run.makespan_ms / run.one_by_one_ms : 1;
  return `Together on ${sizeText(run.memory)} they take ${timeText(run.makespan_ms)}, ${timesText(ratio)} the time of one ` +
    `after the other. Each takes ${slower.join(" and ")} the time that it takes alone.`;
}

function sharedTable(run) {
  return table([
    { name: "Program", text: true, classes: "name", cell: (tenant) => tenant.name || "(no name)" },
    { name: "Weight", cell: (tenant) => countText(tenant.weight) },
    { name: "Start", cell: (tenant) => timeText(tenant.start_ms) },
    { name: "Alone", cell: (tenant) => timeText(tenant.alone_ms) },
    { name: "In its share", cell: (tenant) => timeText(tenant.in_share_ms) },
    { name: "Together", cell: (tenant) => timeText(tenant.together_ms) },
    { name: "Slowdown", cell: (tenant) => timesText(tenant.slowdown) },
    { name: "Mean share", cell: (tenant) => sizeText(tenant.mean_share) },
    { name: "Turns", cell: (tenant) => countText(tenant.gpu_turns) },
    { name: "In turns", cell: (tenant) => timeText(tenant.gpu_turn_ms) },
  ], run.tenants);
}

function sharedStrip(run, row, x, box) {
  const tenant = run.tenants[row];
  const y = box.top + row * SHARED_ROW;
  const group = svg("g", { class: "share-strip", "data-row": row });
  group.append(svg("text", { x: box.left - 8, y: y + 10, "text-anchor": "end" },
    clipped(tenant.name || "(no name)", Math.floor((box.left - 16) / 8))));
  group.append(svg("text", { x: box.left - 8, y: y + 25, "text-anchor": "end" }, timesText(tenant.slowdown)));
  group.append(svg("rect", { class: "empty", x: box.left, y, width: box.right - box.left, height: SHARE }));
  for (const part of stripRuns(tenant.share)) {
    group.append(svg("rect", { class: "resident", x: x(part.begin * run.bin_ms).toFixed(2), y,
      width: (x(part.end * run.bin_ms) - x(part.begin * run.bin_ms)).toFixed(2), height: SHARE,
      "fill-opacity": part.level / LEVELS }));
  }
  for (const [who, from, to] of run.turns) {
    if (who !== row) continue;
    group.append(svg("rect", { class: "turn", x: x(from).toFixed(2), y: y + SHARE + 2,
      width: Math.max(0.6, x(to) - x(from)).toFixed(2), height: TURN }));
  }
  return group;
}

function followShared(drawing, run, x, box, bottom) {
  const hit = svg("rect", { class: "hit", x: box.left, y: box.top, width: box.right - box.left,
    height: bottom - box.top });
  hit.addEventListener("pointermove", (event) => {
    const frame = drawing.getBoundingClientRect();
    const at = ((event.clientX - frame.left) * drawing.viewBox.baseVal.width) / frame.width;
    const ms = ((at - box.left) / (box.right - box.left)) * run.makespan_ms;
    const bin = Math.min(run.bins - 1, Math.max(0, Math.floor(ms / (run.bin_ms || 1))));
    const turn = run.turns.find(([, from, to]) => from <= ms && ms < to);
    const rows = run.tenants.map((tenant, row) => [clipped(tenant.name || "(no name)", 48),
      sizeText(tenant.share[bin] * run.memory), turn && turn[0] === row ? "has the turn" : ""]);
    tip.show(event, timeText(ms), rows);
  });
  hit.addEventListener("pointerleave", () => tip.hide());
  drawing.append(hit);
}

function sharedDrawing(run, width) {
  const box = { left: width > 700 ? 190 : 130, right: width - 14, top: 6 };
  const bottom = box.top + run.tenants.length * SHARED_ROW;
  const x = linear(0, run.makespan_ms, box.left, box.right);
  const drawing = svg("svg", { viewBox: `0 0 ${width} ${bottom + 44}`, role: "img",
    "aria-label": "Device memory granted to each program over time, and its turns" });
  run.tenants.forEach((_, row) => drawing.append(sharedStrip(run, row, x, box)));
  const ticks = niceTicks(x.low, x.high, 6).map((value) => ({ value, text: timeText(value) }));
  drawing.append(xAxis({ ...box, bottom }, x, ticks, "predicted time"));
  followShared(drawing, run, x, box, bottom);
  return drawing;
}

function drawShared(host, runs, state) {
  const run = runs[state.sharedRun ?? 0];
  document.getElementById("headline").textContent = sharedHeadline(run);
  document.getElementById("subtitle").textContent = data.prices.map(([name, value]) => `${name}: ${value}`).join(" · ");
  const options = runs.map((entry, i) => ({ value: i, text: sizeText(entry.memory) }));
  const chooser = choice("Device memory", options, state.sharedRun ?? 0, (value) => {
    state.sharedRun = Number(value);
    drawShared(host, runs, state);
  });
  host.replaceChildren(el("div", { class: "choices" }, chooser), sharedDrawing(run, Math.max(320, host.clientWidth)),
    sharedTable(run));
}
