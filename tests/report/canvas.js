// Stands in a copy of the page under test before the page's own script, and writes down what is drawn on canvases
// since they were last cleared: what, where (in pixels of the canvas, which are CSS pixels here), and how it looks.
"use strict";

const drawnOn = new WeakMap();

class NotedPath extends Path2D {
  constructor(from) {
    super(from);
    this.points = [...(from?.points ?? [])];
    this.rects = [...(from?.rects ?? [])];
    this.arcs = [...(from?.arcs ?? [])];
  }
  moveTo(x, y) {
    super.moveTo(x, y);
    this.points.push([x, y]);
  }
  lineTo(x, y) {
    super.lineTo(x, y);
    this.points.push([x, y]);
  }
  rect(x, y, width, height) {
    super.rect(x, y, width, height);
    this.rects.push([x, x + width, y, y + height]);
  }
  arc(x, y, radius, ...rest) {
    super.arc(x, y, radius, ...rest);
    this.arcs.push([x, y]);
  }
}
window.Path2D = NotedPath;

// The box of a text on the canvas, whatever turns it.
function textBox(context, text, x, y) {
  const size = context.measureText(text);
  const corners = [[x - size.actualBoundingBoxLeft, y - size.actualBoundingBoxAscent],
    [x + size.actualBoundingBoxRight, y + size.actualBoundingBoxDescent]]
    .map(([left, top]) => new DOMPoint(left, top).matrixTransform(context.getTransform()));
  return { left: Math.min(...corners.map((c) => c.x)), right: Math.max(...corners.map((c) => c.x)),
    top: Math.min(...corners.map((c) => c.y)), bottom: Math.max(...corners.map((c) => c.y)) };
}

// Pixels are read back; the browser would say on its console that this is slow.
const { getContext } = HTMLCanvasElement.prototype;
HTMLCanvasElement.prototype.getContext = function readable(kind) {
  return getContext.call(this, kind, { willReadFrequently: true });
};

function noteCalls(name, note) {
  const method = CanvasRenderingContext2D.prototype[name];
  CanvasRenderingContext2D.prototype[name] = function noted(...given) {
    const entry = note(this, ...given);
    if (entry !== null) drawnOn.get(this.canvas)?.push({ alpha: this.globalAlpha, ...entry });
    return method.apply(this, given);
  };
}

noteCalls("clearRect", ({ canvas }) => {
  drawnOn.set(canvas, []);
  return null;
});
noteCalls("fillText", (context, text, x, y) => {
  const at = new DOMPoint(x, y).matrixTransform(context.getTransform());
  return { kind: "text", text, x: at.x, y: at.y, box: textBox(context, text, x, y), colour: context.fillStyle };
});
noteCalls("fillRect", (context, x, y, width, height) =>
  ({ kind: "rect", box: [x, x + width, y, y + height], colour: context.fillStyle }));
noteCalls("stroke", (context, path) => (path === undefined ? null
  : { kind: "stroke", path, colour: context.strokeStyle, width: context.lineWidth, dashes: context.getLineDash() }));
noteCalls("fill", (context, path) => ({ kind: "fill", path, colour: context.fillStyle }));
