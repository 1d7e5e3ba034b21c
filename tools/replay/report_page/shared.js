// Several programs on one device: what each was granted over time, its turns, and how much slower it was.

const SHARED_ROW = 39;

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

function sharedPlot(host, run) {
  const width = Math.max(320, host.clientWidth);
  const room = width > 700 ? 190 : 130;
  const marks = ({ ctx, valToPos }, row, bottom) => {
    ctx.fillStyle = colour("c4");
    for (const [who, from, to] of run.turns) {
      const left = valToPos(from, "x", true);
      if (who === row) ctx.fillRect(left, bottom + 2, Math.max(0.6, valToPos(to, "x", true) - left), 5);
    }
  };
  const tipOf = (u, _, bin) => {
    const ms = u.posToVal(u.cursor.left, "x");
    const turn = run.turns.find(([, from, to]) => from <= ms && ms < to);
    return [timeText(ms), run.tenants.map((tenant, row) => [clipped(tenant.name, 48),
      sizeText(tenant.share[bin] * run.memory), turn?.[0] === row ? "has the turn" : ""])];
  };
  stripPlot(host, { text: "Device memory granted to each program over time, and its turns. The table below has the sums.",
    width, bins: run.bins, binMs: run.bin_ms || 1, row: SHARED_ROW, part: 22 / SHARED_ROW, columns: [room], axis: true,
    rows: run.tenants.map((tenant) => ({ values: tenant.share,
      labels: [`${clipped(tenant.name, Math.floor((room - 16) / 8))}\n${timesText(tenant.slowdown)}`] })),
    marks, tip: tipOf });
}

function drawShared(host, runs) {
  const run = runs[chosen.shared ?? 0];
  document.getElementById("headline").textContent = sharedHeadline(run);
  document.getElementById("subtitle").textContent = data.prices.map(([name, value]) => `${name}: ${value}`).join(" · ");
  const options = runs.map((entry, i) => ({ value: i, text: sizeText(entry.memory) }));
  host.replaceChildren(choice("shared", "Device memory", options, 0, () => drawShared(host, runs)));
  sharedPlot(host, run);
  host.append(sharedTable(run));
}
