// What is shown: the stretch of time, the lanes from top to bottom, the
// filter, the violation and the operation in hand.

const AXIS = 26, FAULT_ROW = 18, NODE_LANE = 24, WORKER_LANE = 38;
const END = Math.max(1, run.end / MICRO);
const LEAST = 20; // µs: the shortest stretch that can be shown

let ops, lanes = [], laneOf = new Map(), holds = [];
const view = {
  from: 0, to: END, scroll: 0, width: 0, height: 0, gutter: 96, head: AXIS,
  violation: -1, evidence: new Map(), selected: -1, hold: null, hover: null,
  key: '', workers: null,
};

const px = t => view.gutter + (t - view.from) / (view.to - view.from) * (view.width - view.gutter);
const timeAt = x => view.from + (x - view.gutter) / (view.width - view.gutter) * (view.to - view.from);

// show moves the view to [from, to], kept within the run.
function show(from, to) {
  const size = Math.min(Math.max(to - from, LEAST), END * 1.02);
  from = Math.min(Math.max(from, -END * 0.01), END * 1.01 - size);
  view.from = from;
  view.to = from + size;
  redraw();
}
function zoom(factor, at = (view.from + view.to) / 2) {
  show(at - (at - view.from) * factor, at + (view.to - at) * factor);
}
function pan(share) {
  const d = (view.to - view.from) * share;
  show(view.from + d, view.to + d);
}

// Index is the operations, or holds, of one lane: sorted by their starts, with
// the greatest end so far, so that what is visible is found by bisection
// although some last long.
class Index {
  constructor(items, start, end) {
    this.items = items;
    this.start = start;
    this.greatest = new Float64Array(items.length);
    let g = -Infinity;
    items.forEach((x, i) => { this.greatest[i] = g = Math.max(g, end(x)); });
  }
  // range answers the indices [lo, hi) of items that may touch [from, to].
  range(from, to) {
    return [bisect(this.items.length, i => this.greatest[i] >= from), bisect(this.items.length, i => this.start(this.items[i]) > to)];
  }
}
// bisect is the first index for which yes, which once true stays true.
function bisect(n, yes) {
  let lo = 0, hi = n;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (yes(mid)) hi = mid; else lo = mid + 1;
  }
  return lo;
}

// load sorts operations and holds into the lanes of their workers.
function load(columns) {
  ops = new Ops(columns);
  const byWorker = new Map(run.workers.map(w => [w, []])), holdsBy = new Map(run.workers.map(w => [w, []]));
  for (let i = 0; i < ops.count; i++) byWorker.get(ops.process[i])?.push(i);
  const c = columns;
  for (let i = 0; c['hold-from'] && i < c['hold-from'].length; i++) {
    const from = c['hold-from'][i], lease = c['hold-lease'][i];
    const hold = {
      from, to: from + c['hold-length'][i], worker: c['hold-worker'][i], key: ops.strings[c['hold-key'][i]],
      acquire: c['hold-acquire'][i], end: ops.strings[c['hold-end'][i]],
      lease: lease < 0 ? null : [from + lease, from + c['hold-lease-last'][i]],
    };
    holds.push(hold);
    holdsBy.get(hold.worker)?.push(hold);
  }
  view.all = run.workers.map((w, number) => ({
    kind: 'worker', worker: w, number, label: 'worker ' + w, height: WORKER_LANE,
    ops: new Index(byWorker.get(w), i => ops.call[i], i => ops.ret[i]),
    holds: new Index(holdsBy.get(w), h => h.from, h => h.to),
    pauses: run.bands.filter(b => (b.on || []).includes('worker-' + w)),
  }));
  view.nodes = run.nodes.map(node => ({kind: 'node', node, label: node.name, height: NODE_LANE}));
  stackFaults();
}

// stackFaults puts faults that overlap in time on rows of their own.
function stackFaults() {
  const ends = [];
  view.faults = run.bands.map(b => {
    const from = b.from / MICRO, to = b.to / MICRO;
    let row = ends.findIndex(e => e <= from);
    if (row < 0) row = ends.length < 3 ? ends.length : 2;
    ends[row] = Math.max(to, from + END / 100);
    return {...b, from, to, row};
  });
  view.head = AXIS + FAULT_ROW * ends.length;
}

// arrange orders the lanes: servers, then the workers of the violation, then
// the others by number.
function arrange() {
  const first = view.violation < 0 ? [] : run.violations[view.violation].workers;
  const rank = l => { const i = first.indexOf(l.worker); return i < 0 ? first.length : i; };
  const workers = view.all.filter(l => !view.workers || view.workers.has(l.worker));
  workers.sort((a, b) => rank(a) - rank(b) || a.worker - b.worker);
  lanes = [...view.nodes, ...workers];
  let top = 0;
  laneOf = new Map();
  for (const l of lanes) {
    l.top = top;
    top += l.height;
    l.concerned = l.kind === 'worker' && first.includes(l.worker);
    if (l.kind === 'worker') laneOf.set(l.worker, l);
  }
  view.content = view.head + top;
  layout();
}

// laneAt is the lane at a height of the canvas.
function laneAt(y) {
  if (y < view.head) return null;
  const at = y - view.head + view.scroll;
  return lanes.find(l => at >= l.top && at < l.top + l.height) || null;
}

// shown reports whether the filter by key lets a key through.
function shown(key) { return !view.key || key.includes(view.key); }

// goTo shows a violation.
function goTo(number) {
  if (!run.violations.length) return;
  view.violation = (number + run.violations.length) % run.violations.length;
  const v = run.violations[view.violation];
  view.evidence = new Map();
  v.evidence.forEach((e, i) => {
    const at = ops.find(e.id);
    if (at >= 0) view.evidence.set(at, i + 1);
  });
  view.selected = -1;
  view.hold = null;
  arrange();
  const first = laneOf.get(v.workers[0]);
  // The servers above stay in view unless they are many.
  $('scroll').scrollTop = first && first.top > view.height / 2 ? first.top - NODE_LANE : 0;
  focusViolation();
  tellViolation();
  tellDetails();
}
// closer shows nothing but the violation itself.
function closer() {
  if (view.violation < 0) return;
  const v = run.violations[view.violation], from = v.from / MICRO, to = v.to / MICRO;
  show(from - Math.max(LEAST, (to - from) / 2), to + Math.max(LEAST, (to - from) / 2));
}
function focusViolation() {
  if (view.violation < 0) return show(0, END);
  const v = run.violations[view.violation], from = v.viewFrom / MICRO, to = v.viewTo / MICRO;
  const margin = Math.max(LEAST, (to - from) * 0.04);
  show(from - margin, to + margin);
}
