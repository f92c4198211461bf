// Mouse, touch, keyboard and the tool bar.

// select takes an operation in hand; reveal moves the view to it if needed.
function select(i, reveal) {
  view.selected = i;
  view.hold = null;
  if (reveal) revealOp(i);
  tellDetails();
  redraw();
}
function revealOp(i) {
  const from = ops.call[i], to = Math.min(ops.ret[i], END), size = view.to - view.from;
  if (from < view.from || to > view.to) show((from + to) / 2 - Math.max(size, (to - from) * 1.5) / 2, (from + to) / 2 + Math.max(size, (to - from) * 1.5) / 2);
  const l = laneOf.get(ops.process[i]);
  if (l && (laneTop(l) < view.head || laneTop(l) + l.height > view.height)) $('scroll').scrollTop = l.top;
}

// opAt is the operation under a point: the shortest that is hit.
function opAt(x, y) {
  const l = laneAt(y);
  if (!l || l.kind !== 'worker' || x < view.gutter) return -1;
  const slack = (view.to - view.from) / view.width * 4, t = timeAt(x), inLane = y - laneTop(l);
  const [lo, hi] = l.ops.range(t - slack, t + slack);
  let best = -1, least = Infinity;
  for (let k = lo; k < hi; k++) {
    const i = l.ops.items[k], [top, height] = shapes[ops.f(i)] || [11, 16];
    if (ops.ret[i] < t - slack || inLane < top - 4 || inLane > top + height + 4 || !shown(ops.keyText(i))) continue;
    const size = Math.min(ops.ret[i], END) - ops.call[i];
    if (size < least) { least = size; best = i; }
  }
  return best;
}
function holdAt(x, y) {
  const l = laneAt(y);
  if (!l || l.kind !== 'worker' || x < view.gutter) return null;
  const t = timeAt(x), [lo, hi] = l.holds.range(t, t);
  return l.holds.items.slice(lo, hi).find(h => h.from <= t && t <= h.to && shown(h.key)) || null;
}
function pick(x, y) {
  view.selected = opAt(x, y);
  view.hold = view.selected < 0 ? holdAt(x, y) : null;
  tellDetails();
  redraw();
}

// nextOp goes to the operation before or after the one in hand.
function nextOp(step) {
  if (view.selected < 0) {
    const l = lanes.find(x => x.kind === 'worker');
    if (!l) return;
    const [lo, hi] = l.ops.range(view.from, view.to);
    if (lo < hi) select(l.ops.items[lo], true);
    return;
  }
  const items = laneOf.get(ops.process[view.selected])?.ops.items || [];
  for (let at = items.indexOf(view.selected) + step; at >= 0 && at < items.length; at += step) {
    if (shown(ops.keyText(items[at]))) return select(items[at], true);
  }
}

const scrollLanes = by => { $('scroll').scrollTop += by; };
const keys = {
  '+': () => zoom(0.6), '=': () => zoom(0.6), '-': () => zoom(1 / 0.6), '−': () => zoom(1 / 0.6), '0': () => show(0, END),
  ArrowLeft: () => pan(-0.15), ArrowRight: () => pan(0.15), ArrowUp: () => scrollLanes(-WORKER_LANE), ArrowDown: () => scrollLanes(WORKER_LANE),
  z: closer, n: () => goTo(view.violation + 1), p: () => goTo(view.violation - 1), f: focusViolation,
  ',': () => nextOp(-1), '.': () => nextOp(1), Escape: () => { view.selected = -1; view.hold = null; tellDetails(); redraw(); },
};
// Arrows and the full stop scroll and search elsewhere on a page, so these
// keys work on the timeline only.
const onTimelineOnly = new Set(['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown', ',', '.']);

function listenKeys() {
  document.addEventListener('keydown', e => {
    const act = keys[e.key];
    if (!act || e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName)) return;
    if (onTimelineOnly.has(e.key) && e.target !== $('timeline')) return;
    act();
    e.preventDefault();
  });
}

function listenPointer() {
  const canvas = $('timeline'), down = new Map();
  let moved = 0, pinch = 0;
  const spread = () => { const [a, b] = [...down.values()]; return Math.abs(a - b) || 1; };
  canvas.addEventListener('pointerdown', e => { down.set(e.pointerId, e.offsetX); moved = 0; pinch = down.size === 2 ? spread() : 0; canvas.setPointerCapture(e.pointerId); });
  canvas.addEventListener('pointermove', e => {
    if (!down.has(e.pointerId)) return hover(e.offsetX, e.offsetY);
    const dx = e.offsetX - down.get(e.pointerId);
    down.set(e.pointerId, e.offsetX);
    moved += Math.abs(dx);
    if (down.size === 2) { const now = spread(); zoom(pinch / now); pinch = now; return; }
    const dt = dx / (view.width - view.gutter) * (view.to - view.from);
    show(view.from - dt, view.to - dt);
  });
  const up = e => { if (down.delete(e.pointerId) && moved < 4 && e.type === 'pointerup') pick(e.offsetX, e.offsetY); };
  canvas.addEventListener('pointerup', up);
  canvas.addEventListener('pointercancel', up);
  canvas.addEventListener('wheel', e => {
    e.preventDefault();
    if (e.altKey) return scrollLanes(e.deltaY);
    if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) return pan((e.deltaX || e.deltaY) / 800);
    zoom(Math.exp(Math.max(-1, Math.min(1, e.deltaY / 300))), timeAt(Math.max(view.gutter, e.offsetX)));
  }, {passive: false});
}
function hover(x, y) {
  const i = opAt(x, y), h = i < 0 ? holdAt(x, y) : null;
  $('status').textContent = i >= 0 ? line(i) : h ? `worker ${h.worker} believes that it holds ${h.key} for ${span(h.to - h.from)} (${h.end})` : x > view.gutter ? clock(Math.max(0, Math.round(timeAt(x)))) : '';
}

function listenOverview() {
  const canvas = $('overview');
  const move = e => {
    const at = e.offsetX / canvas.clientWidth * END, half = (view.to - view.from) / 2;
    show(at - half, at + half);
  };
  canvas.addEventListener('pointerdown', e => { canvas.setPointerCapture(e.pointerId); move(e); });
  canvas.addEventListener('pointermove', e => { if (e.buttons) move(e); });
}

function listenTools() {
  const on = (id, act) => $(id).addEventListener('click', act);
  on('zoomin', keys['+']);
  on('zoomout', keys['-']);
  on('left', () => pan(-0.3));
  on('right', () => pan(0.3));
  on('whole', keys['0']);
  on('focus', focusViolation);
  on('closer', closer);
  if ($('next')) { on('next', keys.n); on('previous', keys.p); }
  $('key').addEventListener('input', e => { view.key = e.target.value.trim(); redraw(); });
  $('workers').addEventListener('input', e => {
    const numbers = (e.target.value.match(/\d+/g) || []).map(Number);
    view.workers = numbers.length ? new Set(numbers) : null;
    arrange();
  });
  $('scroll').addEventListener('scroll', redraw);
  addEventListener('resize', layout);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { readColours(); redraw(); });
}
