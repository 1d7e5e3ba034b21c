// From values to places on the page, and what stands at the axes.

function linear(low, high, from, to) {
  const span = high > low ? high - low : 1;
  const scale = (value) => from + ((value - low) / span) * (to - from);
  return Object.assign(scale, { kind: "linear", low, high });
}

function logarithmic(low, high, from, to) {
  const span = Math.log(high / low) || 1;
  const scale = (value) => from + (Math.log(Math.max(value, low) / low) / span) * (to - from);
  return Object.assign(scale, { kind: "log", low, high });
}

// About `count` round values; steps of 1, 2 and 5.
function niceTicks(low, high, count) {
  const rough = (high - low) / count;
  if (!(rough > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high * (1 + 1e-9); i += 1) {
    ticks.push(Number((i * step).toPrecision(12)));
  }
  return ticks;
}

// The same for bytes: steps are powers of two.
function sizeTicks(low, high, count) {
  const rough = (high - low) / count;
  if (!(rough > 0)) return [low];
  const step = 2 ** Math.ceil(Math.log2(rough));
  const ticks = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high; tick += step) ticks.push(tick);
  return ticks;
}

// As many of each power of ten as make no more than eight.
function logTicks(low, high) {
  for (const steps of [[1, 1.5, 2, 3, 5, 7], [1, 2, 5], [1]]) {
    const ticks = [];
    for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power += 1) {
      ticks.push(...steps.map((step) => Number((step * 10 ** power).toPrecision(12))));
    }
    const inside = ticks.filter((tick) => tick >= low * 0.999 && tick <= high);
    if (inside.length <= 8) return inside;
    if (steps.length === 1) return inside.filter((_, i) => i % Math.ceil(inside.length / 8) === 0);
  }
  return [low];
}

// Every budget has a tick where there is room for its label.
function budgetTicks(runs, scale) {
  const ticks = [];
  let last = -Infinity;
  for (const budget of distinct(runs.map((run) => run.budget)).reverse()) {
    if (Math.abs(scale(budget) - last) < 62) continue;
    last = scale(budget);
    const { percent } = runs.find((run) => run.budget === budget);
    ticks.push({ value: budget, text: sizeText(budget), below: percent === null ? null : `${short(percent)} %` });
  }
  return ticks;
}

// `box`: {left, right, top, bottom} of the plot. The ticks carry their values for whoever reads the drawing.
function xAxis(box, scale, ticks, name) {
  const group = svg("g", { class: "x-axis", "data-scale": scale.kind });
  group.append(svg("line", { class: "base", x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom }));
  for (const tick of ticks) {
    const x = scale(tick.value);
    group.append(svg("line", { class: "base tick", "data-value": tick.value, x1: x, x2: x, y1: box.bottom,
      y2: box.bottom + 5 }));
    group.append(svg("text", { x, y: box.bottom + 18, "text-anchor": "middle" }, tick.text));
    if (tick.below) group.append(svg("text", { x, y: box.bottom + 32, "text-anchor": "middle" }, tick.below));
  }
  const deep = ticks.some((tick) => tick.below) ? 50 : 36;
  group.append(svg("text", { class: "axis-name", x: (box.left + box.right) / 2, y: box.bottom + deep,
    "text-anchor": "middle" }, name));
  return group;
}

function yAxis(box, scale, ticks, name) {
  const group = svg("g", { class: "y-axis", "data-scale": scale.kind });
  for (const tick of ticks) {
    const y = scale(tick.value);
    group.append(svg("line", { class: "grid tick", "data-value": tick.value, x1: box.left, x2: box.right, y1: y,
      y2: y }));
    group.append(svg("text", { x: box.left - 7, y: y + 4, "text-anchor": "end" }, tick.text));
  }
  group.append(svg("text", { class: "axis-name", x: box.left - 44, y: box.top - 9 }, name));
  return group;
}
