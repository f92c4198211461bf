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
