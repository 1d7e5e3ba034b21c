"use strict";
// Elements, and numbers as people read them. Texts of the data only ever become text nodes.

function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value !== null && value !== undefined && value !== false) node.setAttribute(key, value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

// An absent plot is a sentence, not an empty frame.
function absent(text) {
  return el("p", { class: "none" }, text);
}

// Three digits that matter, and no zeros after the point.
function short(value) {
  if (value >= 1e7) return Number(value.toPrecision(3)).toExponential().replace("e+", "e");
  const digits = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return String(Number(value.toFixed(digits)));
}

// What stands at an axis is round, however near the reader has come.
function exact(value) {
  return value >= 1e7 ? short(value) : String(Number(value.toPrecision(7)));
}

function sizeText(bytes, text = short) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  const unit = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, bytes)) / 10)));
  return `${text(bytes / 1024 ** unit)} ${units[unit]}`;
}

function timeText(ms) {
  if (ms >= 120000) return `${short(ms / 60000)} min`;
  if (ms >= 1000) return `${short(ms / 1000)} s`;
  if (ms > 0 && ms < 0.1) return `${short(ms * 1000)} µs`;
  return `${short(ms)} ms`;
}

const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

function countText(count) {
  return count >= 1e15 ? short(count) : WHOLE.format(count);
}

function timesText(factor) {
  return `${factor >= 9.995 ? short(factor) : factor.toFixed(2)}×`;
}

function percentText(part) {
  return `${short(100 * part)} %`;
}

function chunkText(bytes) {
  return bytes === 0 ? "by size" : sizeText(bytes);
}

function budgetText(run) {
  return run.percent === null ? sizeText(run.budget) : `${sizeText(run.budget)} (${short(run.percent)} %)`;
}

function runText(run) {
  return `${run.policy} · ${budgetText(run)} · chunks ${chunkText(run.chunk)}`;
}

// The middle is left out of what is too long.
function clipped(text, most) {
  const letters = [...(text || "(no name)")];
  if (letters.length <= most) return letters.join("");
  const end = Math.floor((most - 1) / 3);
  return `${letters.slice(0, most - 1 - end).join("")}…${letters.slice(letters.length - end).join("")}`;
}

function distinct(values) {
  return [...new Set(values)].sort((a, b) => a - b);
}

// What the reader has chosen, by the names of the choices.
let chosen = {};

// A choice above a plot, which is drawn again for another: `options` are of {value, text}. Where there is nothing to
// choose, `alone` stands there.
function choice(name, label, options, usual, redraw, alone = "") {
  const select = el("select", {}, options.map((option) => el("option", { value: option.value }, option.text)));
  select.value = String(chosen[name] ?? usual);
  select.addEventListener("change", () => {
    chosen[name] = select.value;
    redraw();
  });
  return el("div", { class: "choices" }, options.length < 2 ? alone : el("label", {}, `${label} `, select));
}

function chunkOptions(chunks) {
  return chunks.map((chunk) => ({ value: chunk, text: chunkText(chunk) }));
}

function runChoice(name, one, listed, run, redraw) {
  const options = listed.map((entry) => ({ value: one.runs.indexOf(entry), text: runText(entry) }));
  return choice(name, "Run", options, one.runs.indexOf(run), redraw, runText(run));
}

const tip = {
  node: document.getElementById("tip"),
  show(event, title, rows) {
    const cells = rows.map((row) => el("tr", {}, row.map((cell) => el("td", {}, cell))));
    this.node.replaceChildren(el("b", {}, title), el("table", {}, cells));
    this.node.hidden = false;
    const box = this.node.getBoundingClientRect();
    const left = Math.min(event.clientX + 14, innerWidth - box.width - 8);
    const above = event.clientY + 14 + box.height > innerHeight;
    this.node.style.left = `${Math.max(4, left)}px`;
    this.node.style.top = `${Math.max(4, above ? event.clientY - box.height - 10 : event.clientY + 14)}px`;
  },
  hide() {
    this.node.hidden = true;
  },
};
