"use strict";
// Elements, and numbers as people read them. Texts of the data only ever become text nodes.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value !== null && value !== undefined && value !== false) node.setAttribute(key, value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

function el(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
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

function sizeText(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  while (bytes >= 1024 && unit + 1 < units.length) {
    bytes /= 1024;
    unit += 1;
  }
  return `${short(bytes)} ${units[unit]}`;
}

function timeText(ms) {
  if (ms >= 120000) return `${short(ms / 60000)} min`;
  if (ms >= 1000) return `${short(ms / 1000)} s`;
  if (ms > 0 && ms < 0.1) return `${short(ms * 1000)} µs`;
  return `${short(ms)} ms`;
}

function countText(count) {
  return count >= 1e15 ? short(count) : Math.round(count).toLocaleString("en");
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
  const letters = [...text];
  if (letters.length <= most) return text;
  const end = Math.floor((most - 1) / 3);
  return `${letters.slice(0, most - 1 - end).join("")}…${letters.slice(letters.length - end).join("")}`;
}

function distinct(values) {
  return [...new Set(values)].sort((a, b) => a - b);
}

// A choice above a plot. Nothing is shown where there is nothing to choose.
function choice(label, options, chosen, onChange) {
  if (options.length < 2) return null;
  const select = el("select", {}, options.map((option) => el("option", { value: option.value }, option.text)));
  select.value = String(chosen);
  select.addEventListener("change", () => onChange(select.value));
  return el("label", {}, `${label} `, select);
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
