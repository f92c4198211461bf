// Drawing the inside of a lane: what a server was, what a worker did.

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

const shapes = {acquire: [10, 18], extend: [26, 6], release: [12, 14], read: [13, 12], write: [11, 16], sell: [3, 4], restock: [11, 16], cancel: [11, 16], audit: [11, 16], break: [12, 14]};

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
