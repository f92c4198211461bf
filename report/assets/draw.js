// Drawing the timeline and the overview on their canvases.

let pending = 0, colours = {};
function redraw() { if (!pending) pending = requestAnimationFrame(() => { pending = 0; draw(); drawOverview(); tellRange(); }); }

// readColours takes the colours from the style sheet, light or dark.
function readColours() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ['paper', 'panel', 'ink', 'soft', 'rule', 'hold', 'hold-edge', 'op', 'write', 'read', 'wait', 'refused', 'open', 'over', 'over-paper', 'fault', 'fault-paper', 'dead', 'paused', 'master', 'replica', 'onhold']) {
    colours[name] = style.getPropertyValue('--' + name).trim();
  }
}

// layout fits the canvases to the window. Lanes beyond the height scroll.
function layout() {
  view.width = $('scroll').clientWidth;
  view.gutter = view.width < 600 ? 72 : 96;
  view.height = Math.max(160, Math.min(view.content, Math.max(340, innerHeight * 0.7)));
  $('scroll').style.height = view.height + 2 + 'px';
  $('spacer').style.height = Math.max(0, view.content - view.height) + 'px';
  size($('timeline'), view.width, view.height);
  size($('overview'), $('overview').clientWidth, 44);
  redraw();
}
function size(canvas, width, height) {
  const ratio = devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.height = height + 'px';
  canvas.getContext('2d').setTransform(ratio, 0, 0, ratio, 0, 0);
}

function draw() {
  const g = $('timeline').getContext('2d');
  g.font = '12px system-ui, sans-serif';
  g.textBaseline = 'middle';
  g.fillStyle = colours.paper;
  g.fillRect(0, 0, view.width, view.height);
  view.scroll = $('scroll').scrollTop;
  g.save();
  g.beginPath();
  g.rect(0, view.head, view.width, view.height - view.head);
  g.clip();
  lanes.forEach((l, i) => drawBackground(g, l, i));
  drawBands(g);
  for (const l of lanes) {
    const y = laneTop(l);
    if (y > view.height || y + l.height < view.head) continue;
    if (l.kind === 'node') drawNode(g, l, y); else drawWorker(g, l, y);
  }
  drawViolation(g);
  lanes.forEach(l => drawLabel(g, l));
  g.restore();
  drawHead(g);
}
const laneTop = l => view.head + l.top - view.scroll;

function drawBackground(g, l, i) {
  const y = laneTop(l);
  if (i % 2) { g.fillStyle = colours.panel; g.fillRect(0, y, view.width, l.height); }
  g.strokeStyle = colours.rule;
  g.beginPath();
  g.moveTo(0, y + l.height - 0.5);
  g.lineTo(view.width, y + l.height - 0.5);
  g.stroke();
}
function drawLabel(g, l) {
  const y = laneTop(l);
  g.fillStyle = l.concerned ? colours['over-paper'] : colours.panel;
  if (l.concerned) { g.fillStyle = colours.paper; g.fillRect(0, y, view.gutter, l.height); g.fillStyle = colours['over-paper']; }
  g.fillRect(0, y, view.gutter, l.height - 1);
  g.fillStyle = colours.ink;
  g.font = (l.concerned ? 'bold ' : '') + '12px system-ui, sans-serif';
  g.fillText(l.label, 8, y + l.height / 2, view.gutter - 12);
  g.font = '12px system-ui, sans-serif';
}

// drawBands tints the time in which a fault was in force.
function drawBands(g) {
  for (const b of view.faults) {
    if (b.to < view.from || b.from > view.to) continue;
    const x = Math.max(view.gutter, px(b.from)), w = Math.max(1, Math.min(view.width, px(b.to)) - x);
    g.fillStyle = b.moment ? colours.fault : colours['fault-paper'];
    g.globalAlpha = b.moment ? 0.8 : 0.55;
    g.fillRect(x, view.head, b.moment ? 1 : w, view.height);
  }
  g.globalAlpha = 1;
}

function drawNode(g, l, y) {
  for (const s of l.node.states) {
    const x = Math.max(view.gutter, px(s.from / MICRO)), to = Math.min(view.width, px(s.to / MICRO));
    if (to < view.gutter || x > view.width) continue;
    const w = Math.max(1.5, to - x);
    if (s.kind === 'master' || s.kind === 'replica') {
      g.fillStyle = colours[s.kind];
      g.fillRect(x, y + (s.kind === 'master' ? 4 : 9), w, s.kind === 'master' ? 15 : 5);
      if (s.kind === 'master') label(g, 'master', x, y + 12, w, '#fff');
    } else {
      drawFault(g, s, x, y, w);
    }
  }
}
function drawFault(g, s, x, y, w) {
  const colour = s.kind === 'killed' ? colours.dead : s.kind === 'paused' ? colours.paused : colours.fault;
  g.fillStyle = colours.paper;
  g.fillRect(x, y + 3, w, 17);
  hatch(g, x, y + 3, w, 17, colour, s.kind === 'killed' ? 4 : 8);
  g.strokeStyle = colour;
  g.strokeRect(x + 0.5, y + 3.5, Math.max(1, w - 1), 16);
  plate(g, s.label || s.kind, x, y + 12, w);
}

// hatch fills with slanted lines, so that what they mean is seen without colour.
function hatch(g, x, y, w, h, colour, gap) {
  g.save();
  g.beginPath();
  g.rect(x, y, w, h);
  g.clip();
  g.strokeStyle = colour;
  g.lineWidth = 1;
  g.beginPath();
  for (let i = Math.max(x, 0) - h - ((x - h) % gap); i < Math.min(x + w, view.width) + h; i += gap) { g.moveTo(i, y + h); g.lineTo(i + h, y); }
  g.stroke();
  g.restore();
}
// label writes text into a bar if there is room; plate puts paper under it.
function label(g, text, x, y, w, colour) {
  if (w < 30) return;
  g.save();
  g.beginPath();
  g.rect(x, y - 10, w - 3, 20);
  g.clip();
  g.fillStyle = colour;
  g.fillText(text, x + 4, y);
  g.restore();
}
function plate(g, text, x, y, w) {
  if (w < 40) return;
  const wide = Math.min(g.measureText(text).width + 8, w - 4);
  g.fillStyle = colours.paper;
  g.fillRect(x + 2, y - 7, wide, 14);
  label(g, text, x + 2, y, wide + 3, colours.ink);
}

function drawWorker(g, l, y) {
  if (run.windows) drawBuckets(g, l, y);
  drawHolds(g, l, y);
  drawOps(g, l, y);
  for (const b of l.pauses) drawPause(g, l, b, y);
}
// drawPause hatches the time in which the worker itself was hit.
function drawPause(g, l, b, y) {
  const x = Math.max(view.gutter, px(b.from / MICRO)), to = Math.min(view.width, px(b.to / MICRO));
  if (x > view.width || to < view.gutter) return;
  const w = Math.max(1.5, to - x), wide = g.measureText(b.label).width + 8;
  hatch(g, x, y + 1, w, l.height - 2, colours.paused, 9);
  if (w > wide + 20) plate(g, b.label, x + (w - wide) / 2, y + 19, wide + 4);
}

// drawHolds draws what the worker believed, and below it the server's lease.
function drawHolds(g, l, y) {
  const [lo, hi] = l.holds.range(view.from, view.to);
  let last = -1;
  for (let i = lo; i < hi; i++) {
    const h = l.holds.items[i];
    if (h.to < view.from || !shown(h.key)) continue;
    const x = Math.max(view.gutter - 2, px(h.from)), w = Math.max(1, Math.min(view.width + 2, px(h.to)) - x);
    if (w <= 1 && Math.floor(x) === last) continue;
    last = Math.floor(x);
    g.fillStyle = colours.hold;
    g.fillRect(x, y + 9, w, 20);
    if (w < 5) continue;
    g.strokeStyle = view.hold === h ? colours.ink : colours['hold-edge'];
    g.lineWidth = view.hold === h ? 2 : 1;
    g.strokeRect(x + 0.5, y + 9.5, w - 1, 19);
    g.lineWidth = 1;
    if (w > 70) label(g, 'holds ' + h.key, Math.max(x, view.gutter), y + 19, x + w - Math.max(x, view.gutter), colours.onhold);
    if (h.lease) drawLease(g, h, y);
  }
}
function drawLease(g, h, y) {
  const released = h.end === 'released';
  const sure = released ? Math.min(h.to, h.lease[0]) : h.lease[0], late = released ? Math.min(h.to, h.lease[1]) : h.lease[1];
  g.strokeStyle = colours['hold-edge'];
  g.lineWidth = 2;
  g.beginPath();
  g.moveTo(Math.max(view.gutter, px(h.from)), y + 33);
  g.lineTo(Math.max(view.gutter, px(sure)), y + 33);
  g.stroke();
  g.setLineDash([3, 2]);
  g.beginPath();
  g.moveTo(Math.max(view.gutter, px(sure)), y + 33);
  g.lineTo(Math.max(view.gutter, px(late)), y + 33);
  if (!released) { g.moveTo(px(late), y + 30); g.lineTo(px(late), y + 36); }
  g.stroke();
  g.setLineDash([]);
  g.lineWidth = 1;
}

// drawBuckets shows operations that the page has only as counts.
function drawBuckets(g, l, y) {
  const counts = ops.columns['bucket-count'], held = ops.columns['bucket-held'], size = run.bucket / MICRO;
  const n = counts.length / run.workers.length, most = view.mostInBucket;
  for (let i = Math.max(0, Math.floor(view.from / size)); i < Math.min(n, view.to / size + 1); i++) {
    const c = counts[l.number * n + i], x = px(i * size), w = px((i + 1) * size) - x;
    if (x + w < view.gutter || inFull(i * size, (i + 1) * size)) continue;
    g.fillStyle = colours.hold;
    g.fillRect(x, y + 29 - held[l.number * n + i] / 1000 * 20, Math.max(1, w), held[l.number * n + i] / 1000 * 20);
    g.fillStyle = colours.refused;
    g.fillRect(x, y + 36 - 6 * c / most, Math.max(1, w - (w > 4 ? 1 : 0)), 6 * c / most);
  }
}
// inFull reports whether a stretch lies in a window that is there in full.
function inFull(from, to) { return run.windows.some(w => w.From / MICRO <= from && w.To / MICRO >= to); }

const shapes = {acquire: [10, 18], extend: [26, 6], release: [12, 14], read: [13, 12], write: [11, 16], sell: [3, 4], restock: [11, 16], cancel: [11, 16], audit: [11, 16]};

function drawOps(g, l, y) {
  const [lo, hi] = l.ops.range(view.from, view.to);
  const last = new Map();
  for (let k = lo; k < hi; k++) {
    const i = l.ops.items[k];
    if (ops.ret[i] < view.from || !shown(ops.keyText(i))) continue;
    const x = Math.max(view.gutter - 3, px(ops.call[i])), w = Math.max(2, Math.min(view.width + 3, px(ops.ret[i])) - x);
    const lane = ops.code[i] & 63, proof = view.evidence.get(i);
    if (w <= 2 && !proof && i !== view.selected && last.get(lane) === Math.floor(x)) continue;
    last.set(lane, Math.floor(x));
    drawOp(g, i, x, y, w);
  }
  const taken = [];
  for (let k = lo; k < hi; k++) {
    const i = l.ops.items[k];
    if (view.evidence.has(i) || i === view.selected) markOp(g, i, y, taken);
  }
}
function drawOp(g, i, x, y, w) {
  const f = ops.f(i), outcome = ops.outcome(i), [top, height] = shapes[f] || [11, 16];
  let colour = outcome === FAIL ? colours.refused : outcome === INFO ? colours.open : {sell: colours.op, acquire: colours.wait, write: colours.write}[f] || colours.read;
  g.fillStyle = colour;
  g.strokeStyle = colour;
  if (f === 'read' && w > 4) { g.fillStyle = colours.paper; g.fillRect(x, y + top, w, height); g.lineWidth = 1.5; g.strokeRect(x + 0.75, y + top + 0.75, w - 1.5, height - 1.5); g.lineWidth = 1; }
  else g.fillRect(x, y + top, w, height);
  if (outcome === INFO && w > 12) hatch(g, x, y + top, w, height, colours.paper, 5);
  const text = f !== 'sell' && w > 34 ? caption(i, f, outcome) : '';
  if (!text || g.measureText(text).width + 12 > w) return;
  if (outcome === INFO) plate(g, text, Math.max(x, view.gutter) + 2, y + top + height / 2, x + w - Math.max(x, view.gutter));
  else label(g, text, Math.max(x, view.gutter), y + top + height / 2, x + w - Math.max(x, view.gutter), f === 'read' ? colours.ink : f === 'write' && outcome === OK ? colours.paper : '#14171b');
}
function caption(i, f, outcome) {
  if (outcome !== OK) return f + ': ' + OUTCOMES[outcome];
  const left = ops.field(i, 'left'), value = ops.field(i, 'value');
  return left !== undefined ? `${f} → ${left} left` : value !== undefined ? `${f} ${value}` : f;
}

// markOp rings evidence with its number, and the operation in hand. taken are
// the places of numbers in this lane: they stand beside each other.
function markOp(g, i, y, taken) {
  const [top, height] = shapes[ops.f(i)] || [11, 16], number = view.evidence.get(i);
  const x = px(ops.call[i]), w = Math.max(3, Math.min(view.width + 9, px(ops.ret[i])) - x);
  if (x + w < view.gutter) return;
  g.strokeStyle = i === view.selected ? colours.ink : colours.over;
  g.lineWidth = 2.5;
  g.strokeRect(x - 1.5, y + top - 1.5, w + 3, height + 3);
  g.lineWidth = 1;
  if (!number) return;
  let at = Math.max(view.gutter + 8, x - 1);
  while (taken.some(t => Math.abs(t - at) < 15)) at += 4;
  taken.push(at);
  g.fillStyle = colours.over;
  g.beginPath();
  g.arc(at, y + 8, 7.5, 0, 7);
  g.fill();
  g.fillStyle = colours.paper;
  g.font = 'bold 10px system-ui, sans-serif';
  g.textAlign = 'center';
  g.fillText(number, at, y + 8.5);
  g.textAlign = 'start';
  g.font = '12px system-ui, sans-serif';
}

// drawViolation shades and measures the violation across its lanes.
function drawViolation(g) {
  if (view.violation < 0) return;
  const v = run.violations[view.violation], from = v.from / MICRO, to = v.to / MICRO;
  const mine = v.workers.map(w => laneOf.get(w)).filter(Boolean);
  if (!mine.length || to < view.from || from > view.to) return;
  const x = Math.max(view.gutter, px(from)), w = Math.max(2, Math.min(view.width, px(to)) - x);
  for (const l of mine) {
    g.fillStyle = colours['over-paper'];
    g.fillRect(x, laneTop(l), w, l.height);
    if (v.overlap) hatch(g, x, laneTop(l) + 9, w, 20, colours.over, 7);
  }
  const top = Math.min(...mine.map(laneTop)), bottom = Math.max(...mine.map(l => laneTop(l) + l.height));
  g.strokeStyle = colours.over;
  g.lineWidth = 1.5;
  g.strokeRect(x, top + 1, w, bottom - top - 2);
  g.lineWidth = 1;
  measure(g, v, x, w, bottom, to - from);
}
function measure(g, v, x, w, y, length) {
  const text = (v.overlap ? 'both hold: ' : v.property + (length > 0 ? ': ' : '')) + (length > 0 ? span(length) : '');
  g.font = 'bold 12px system-ui, sans-serif';
  const wide = g.measureText(text).width + 12, at = Math.max(view.gutter, Math.min(x + w / 2 - wide / 2, view.width - wide));
  g.fillStyle = colours.over;
  g.fillRect(at, y - 9, wide, 18);
  g.fillStyle = colours.paper;
  g.fillText(text, at + 6, y + 0.5);
  g.font = '12px system-ui, sans-serif';
}

// drawHead draws the time axis and the faults above the lanes.
function drawHead(g) {
  g.fillStyle = colours.paper;
  g.fillRect(0, 0, view.width, view.head);
  g.fillStyle = colours.soft;
  const size = view.to - view.from, step = niceStep(size, Math.max(2, (view.width - view.gutter) / 110));
  for (let t = Math.ceil(view.from / step) * step; t <= view.to; t += step) {
    const x = px(t);
    if (x < view.gutter) continue;
    g.fillRect(x, AXIS - 5, 1, 5);
    g.textAlign = x > view.width - 40 ? 'end' : 'center';
    g.fillText(axisText(t, step), x, 10);
  }
  g.textAlign = 'start';
  for (const b of view.faults) drawFaultLabel(g, b);
  if (view.head > AXIS) { g.fillStyle = colours.panel; g.fillRect(0, AXIS, view.gutter, view.head - AXIS); g.fillStyle = colours.ink; g.fillText('faults', 8, AXIS + 9); }
  g.fillStyle = colours.soft;
  g.fillRect(0, view.head - 1, view.width, 1);
}
function axisText(t, step) { return (t / 1e6).toFixed(Math.min(6, Math.max(0, Math.ceil(-Math.log10(step / 1e6) - 1e-9)))) + ' s'; }
function niceStep(size, n) {
  const base = 10 ** Math.floor(Math.log10(size / n));
  return base * ([1, 2, 5].find(m => size / (base * m) <= n) || 10);
}
function drawFaultLabel(g, b) {
  if (b.to < view.from || b.from > view.to) return;
  const x = Math.max(view.gutter, px(b.from)), y = AXIS + b.row * FAULT_ROW, w = Math.max(2, Math.min(view.width, px(b.to)) - x);
  const wide = b.moment ? Math.min(g.measureText(b.label).width + 10, view.width - x) : w;
  g.fillStyle = colours.paper;
  g.fillRect(x, y + 1, wide, FAULT_ROW - 3);
  g.fillStyle = colours['fault-paper'];
  g.fillRect(x, y + 1, wide, FAULT_ROW - 3);
  g.fillStyle = colours.fault;
  g.fillRect(x, y + 1, 2, FAULT_ROW - 3);
  label(g, b.label, x + 2, y + 9, wide, colours.ink);
}

// drawOverview draws the whole run small, and where in it the view is.
function drawOverview() {
  const canvas = $('overview'), g = canvas.getContext('2d'), width = canvas.clientWidth, height = 44;
  const at = t => t / END * width, most = Math.max(1, ...run.density);
  g.fillStyle = colours.panel;
  g.fillRect(0, 0, width, height);
  for (const b of view.faults) {
    g.fillStyle = colours.fault;
    g.globalAlpha = b.moment ? 0.9 : 0.25;
    g.fillRect(at(b.from), 0, Math.max(1, at(b.to) - at(b.from)), height);
  }
  g.globalAlpha = 1;
  g.fillStyle = colours.refused;
  run.density.forEach((n, i) => {
    const h = n / most * (height - 16), x = i / run.density.length * width;
    g.fillRect(x, height - h, Math.max(1, width / run.density.length - 0.5), h);
  });
  run.violations.forEach((v, i) => drawFlag(g, at(v.from / MICRO), i === view.violation));
  const x = at(view.from), w = Math.max(4, at(view.to) - x);
  g.strokeStyle = colours.ink;
  g.lineWidth = 2;
  g.strokeRect(x, 1, w, height - 2);
  g.lineWidth = 1;
}
function drawFlag(g, x, current) {
  g.fillStyle = colours.over;
  g.beginPath();
  const s = current ? 7 : 4;
  g.moveTo(x - s, 0);
  g.lineTo(x + s, 0);
  g.lineTo(x, s * 1.6);
  g.fill();
}
