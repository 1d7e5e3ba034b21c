// Puts the page together, and again when its width or the chosen trace changes.

const data = JSON.parse(document.getElementById("data").textContent);

function host(id) {
  return document.querySelector(`#${id} .host`);
}

function tiles(one) {
  const { trace } = one;
  const focus = one.runs[one.focus];
  const entries = [
    ["most memory at once", trace.peak_bytes > 0 ? sizeText(trace.peak_bytes) : null],
    ["with all of it on the device", focus ? timeText(focus.resident_ms) : null],
    [focus ? `at ${budgetText(focus)}` : "", focus ? timeText(focus.predicted_ms) : null],
    ["of that stalled", focus ? timeText(focus.stall_ms) : null],
    [focus ? `a round at ${budgetText(focus)}` : "", focus && focus.round_ms !== null ? timeText(focus.round_ms) : null],
    ["pieces of work", trace.works > 0 ? countText(trace.works) : null],
    ["allocations", trace.allocations > 0 ? countText(trace.allocations) : null],
  ];
  return entries.filter(([, value]) => value !== null)
    .map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value)));
}

function drawAnswer(one) {
  document.getElementById("headline").textContent = one.headline;
  document.getElementById("tiles").replaceChildren(...tiles(one));
  const { trace } = one;
  const parts = [trace.program, trace.device, trace.file, trace.estimated_times ? "times estimated" : ""];
  const known = parts.filter((part, i) => part !== "" && part !== data.title && parts.indexOf(part) === i);
  document.getElementById("subtitle").textContent = known.join(" · ");
}

// Broken between words alone: a browser would part an option from its dashes.
function commandLine(text) {
  const words = text.split(" ").flatMap((word) => [" ", el("span", {}, word)]);
  return el("code", { class: "command" }, words.slice(1));
}

function drawAdvice(one) {
  if (one.advice.length === 0) return host("advice").replaceChildren(absent("Nothing follows from this data."));
  const rows = one.advice.flatMap((entry) => [el("dt", {}, entry.topic), el("dd", {}, entry.text)]);
  host("advice").replaceChildren(el("dl", { class: "advice" }, rows));
  if (one.command !== "") host("advice").append(commandLine(one.command));
}

// Of several programs on one device there are no other plots.
function showSharedAlone() {
  for (const part of document.querySelectorAll("main > *")) {
    part.hidden = part.id !== "answer" && part.id !== "shared";
  }
}

function draw() {
  tip.hide();
  if (data.shared) return drawShared(host("shared"), data.shared);
  const one = data.cases[chosen.trace ?? 0];
  drawAnswer(one);
  drawAdvice(one);
  drawSlowdown(host("slowdown"), one);
  drawHeat(host("heat"), one);
  drawCurves(host("curves"), one);
  drawTimeline(host("timeline"), one);
  drawKernels(host("kernels"), one);
  drawAssumptions(host("assumptions"), one, data.prices);
  drawRuns(host("runs"), one);
}

// Another trace has choices of its own.
function chooseCase() {
  const options = data.cases.map((one, i) => ({ value: i, text: one.trace.file || `trace ${i + 1}` }));
  document.getElementById("theme").before(choice("trace", "Trace", options, 0, () => {
    chosen = { trace: chosen.trace };
    draw();
  }));
}

// Follows the system until the reader decides; paper is always light.
function themes() {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const button = document.getElementById("theme");
  let wanted = null;
  const show = (theme) => {
    document.documentElement.dataset.theme = theme;
    button.textContent = theme === "dark" ? "☀ Light" : "☾ Dark";
    for (const u of plots) u.redraw();
  };
  const current = () => wanted ?? (system.matches ? "dark" : "light");
  button.addEventListener("click", () => {
    wanted = current() === "dark" ? "light" : "dark";
    show(wanted);
  });
  system.addEventListener("change", () => show(current()));
  addEventListener("beforeprint", () => show("light"));
  addEventListener("afterprint", () => show(current()));
  show(current());
}

function redrawOnResize() {
  let width = innerWidth;
  let timer = 0;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    clearTimeout(timer);
    timer = setTimeout(draw, 120);
  });
}

themes();
if (data.shared) showSharedAlone();
chooseCase();
draw();
redrawOnResize();
