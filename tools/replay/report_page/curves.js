// Miss ratio against memory, a line for each policy, the bound below.

function curveSeries(one, chunk) {
  const focus = one.runs[one.focus];
  return one.curves.filter((curve) => curve.chunk === chunk && curve.points.length > 0).map((curve) => {
    const points = curve.points.map(([memory, ratio, misses]) => ({ x: memory, y: 100 * ratio, misses }));
    const there = focus ? nearestPoint(points, focus.budget) : points[0];
    return { name: curve.policy, classes: look(curve.policy), points, floor: isBound(curve.policy), dots: false,
      error: curve.sampled ? 100 * curve.error : 0, strong: false, rank: there.y, label: percentText(there.y / 100) };
  });
}

function curveSpec(one, chunk, width) {
  const series = curveSeries(one, chunk);
  const points = series.flatMap((entry) => entry.points);
  const memory = points.map((point) => point.x);
  const high = Math.max(1, ...points.map((point) => point.y));
  const low = Math.min(...memory) < 0.1 * Math.max(...memory) ? 0 : Math.min(...memory);
  const focus = one.runs[one.focus];
  return {
    name: "Miss ratio against memory, one line per policy", width, height: 330, series,
    x: { low, high: Math.max(...memory), name: "device memory",
      ticks: (scale) => sizeTicks(scale.low, scale.high, width / 110).map((value) => ({ value, text: sizeText(value) })) },
    y: { low: 0, high: high > 70 ? 100 : high * 1.05, log: false, name: "misses, % of accesses",
      text: (value) => short(value) },
    legend: focus ? `At ${budgetText(focus)}` : `At ${sizeText(Math.min(...memory))}`,
    title: (value) => sizeText(value),
    value: (point) => `${percentText(point.y / 100)} · ${countText(point.misses)}`,
  };
}

function curveNotes(one, chunk) {
  const shown = one.curves.filter((curve) => curve.chunk === chunk);
  const sampled = shown.filter((curve) => curve.sampled);
  const notes = [];
  if (shown.length > 0) {
    notes.push(`${countText(shown[0].accesses)} accesses to ${sizeText(shown[0].distinct_bytes)}.`);
  }
  if (sampled.length > 0) {
    const error = Math.max(...sampled.map((curve) => curve.error));
    notes.push(`Sampled: ${sampled.map((curve) => curve.policy).join(", ")}, right to ±${short(100 * error)} points.`);
  }
  return el("p", { class: "what" }, notes.join(" "));
}

function drawCurves(host, one, state) {
  const chunks = distinct(one.curves.filter((curve) => curve.points.length > 0).map((curve) => curve.chunk));
  if (chunks.length === 0) {
    return host.replaceChildren(absent("No miss-ratio curves were computed."));
  }
  const focus = one.runs[one.focus];
  const usual = focus && chunks.includes(focus.chunk) ? focus.chunk : chunks[0];
  const wanted = Number(state.curveChunk ?? usual);
  const chooser = choice("Chunk size", chunks.map((chunk) => ({ value: chunk, text: chunkText(chunk) })), wanted,
    (value) => {
      state.curveChunk = value;
      drawCurves(host, one, state);
    });
  host.replaceChildren(el("div", { class: "choices" }, chooser),
    lineChart(curveSpec(one, wanted, Math.max(320, host.clientWidth))), curveNotes(one, wanted));
}
