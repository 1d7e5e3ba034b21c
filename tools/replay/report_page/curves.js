// Miss ratio against memory, a line for each policy, the bound below.

function curveSpec(one, curves) {
  const series = curves.map((curve) => {
    const points = curve.points.map(([x, ratio, misses]) => ({ x, y: 100 * ratio, misses }));
    return { name: curve.policy, look: look(curve.policy), points, floor: isBound(curve.policy),
      error: curve.sampled ? 100 * curve.error : 0 };
  });
  // A step that sizes so large cannot be told apart by would never come to an end.
  const steps = (_, __, low, high) => Array.from({ length: 60 }, (_, power) => 2 ** power).filter((size) => size > high / 2 ** 50);
  const sizes = series.flatMap((entry) => entry.points.map((point) => point.x));
  return { name: "Miss ratio against memory, one line per policy", height: 330, series,
    x: { label: "device memory", size: 30, space: 80, incrs: steps,
      values: (_, ticks) => ticks.map((tick) => sizeText(tick, exact)) },
    y: { label: "misses, % of accesses", values: (_, ticks) => ticks.map(exact) },
    range: (_, high) => [0, high > 70 ? 100 : Math.max(1, high) * 1.05],
    at: one.runs[one.focus]?.budget ?? Math.min(...sizes), title: (memory) => sizeText(memory),
    value: ({ y, misses }) => `${countText(misses)} · ${percentText(y / 100)}` };
}

function curveNotes(curves) {
  const sampled = curves.filter((curve) => curve.sampled);
  const notes = [`${countText(curves[0].accesses)} accesses to ${sizeText(curves[0].distinct_bytes)}.`];
  if (sampled.length > 0) {
    const error = Math.max(...sampled.map((curve) => curve.error));
    notes.push(`Sampled: ${sampled.map((curve) => curve.policy).join(", ")}, right to ±${short(100 * error)} points.`);
  }
  return el("p", { class: "what" }, notes.join(" "));
}

function drawCurves(host, one) {
  const all = one.curves.filter((curve) => curve.points.length > 0);
  const chunks = distinct(all.map((curve) => curve.chunk));
  if (chunks.length === 0) return host.replaceChildren(absent("No miss-ratio curves were computed."));
  const focus = one.runs[one.focus];
  const usual = chunks.includes(focus?.chunk) ? focus.chunk : chunks[0];
  host.replaceChildren(choice("curves", "Chunk size", chunkOptions(chunks), usual, () => drawCurves(host, one)));
  const curves = all.filter((curve) => curve.chunk === Number(chosen.curves ?? usual));
  lineChart(host, curveSpec(one, curves));
  host.append(curveNotes(curves));
}
