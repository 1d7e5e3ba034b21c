// A policy looks the same in every plot and in every report: a colour, and dashes with hollow dots for those
// that share one.

const LOOKS = {
  cost: "c0", lru: "c1", sieve: "c2", s3fifo: "c3", arc: "c4", cycle: "c5",
  random: "c0 dashed", fifo: "c1 dashed", clock: "c2 dashed", lfu: "c3 dashed", min: "bound",
};

function look(policy) {
  if (Object.hasOwn(LOOKS, policy)) return LOOKS[policy];
  const sum = [...policy].reduce((total, letter) => total + letter.codePointAt(0), 0);
  return `c${sum % 6} dashed`;
}

function isBound(policy) {
  return policy === "min";
}

function swatch(classes) {
  return el("span", { class: `swatch ${classes}`, "aria-hidden": "true" });
}

// The best of some runs; undefined of none. Predictions are not finer than half a percent: among what is as good,
// the default policy and chunks by size come first.
function fastest(runs) {
  const least = Math.min(...runs.map((run) => run.slowdown));
  const good = runs.filter((run) => run.slowdown <= least * 1.005);
  const rank = (run) => (run.policy === "cost" ? 0 : 2) + (run.chunk === 0 ? 0 : 1);
  return good.sort((a, b) => rank(a) - rank(b) || a.slowdown - b.slowdown)[0];
}
