// Telling in words. Every string of the history goes through textContent:
// whatever it contains, it is text.

function element(tag, text, className) {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  if (className) e.className = className;
  return e;
}

// tellViolation fills the panel at the top with the violation in hand.
function tellViolation() {
  if (view.violation < 0) return;
  const v = run.violations[view.violation];
  const say = (id, text) => { $(id).textContent = text; };
  say('v-property', v.property);
  say('v-key', v.key);
  say('v-summary', v.summary);
  say('v-cause', v.cause);
  say('v-advice', v.advice || 'The history does not tell.');
  say('v-faults', v.faults.join('; ') || 'none');
  say('v-meaning', v.meaning);
  say('v-number', `${v.number} of ${run.violations.length}`);
  const list = $('v-evidence');
  list.replaceChildren(...v.evidence.map((e, i) => {
    const li = element('li');
    li.append(element('span', i + 1, 'nr'), element('span', e.at, 'at'), element('span', e.who), element('span', e.text, 'text'));
    li.tabIndex = 0;
    li.title = 'show in the timeline';
    const pick = () => { const at = ops.find(e.id); if (at >= 0) select(at, true); };
    li.addEventListener('click', pick);
    li.addEventListener('keydown', k => { if (k.key === 'Enter') pick(); });
    return li;
  }));
}

// tellRange says which stretch of time is shown.
function tellRange() {
  const fine = view.to - view.from < 10000 ? 6 : 3, at = us => (us / 1e6).toFixed(fine) + ' s';
  $('range').textContent = `${at(Math.max(0, view.from))} – ${at(Math.min(END, view.to))} (${span(view.to - view.from)})`;
}

// line is an operation in one line.
function line(i) {
  return `worker ${ops.process[i]}: ${ops.f(i)} ${ops.keyText(i)}, ${OUTCOMES[ops.outcome(i)]}, ${took(i)}`;
}
function took(i) { return ops.ret[i] === Infinity ? 'never answered' : span(ops.ret[i] - ops.call[i]); }

// tellDetails shows everything known of the operation or hold in hand.
function tellDetails() {
  const box = $('details');
  box.replaceChildren();
  box.hidden = view.selected < 0 && !view.hold;
  if (view.selected >= 0) tellOp(box, view.selected);
  else if (view.hold) tellHold(box, view.hold);
}
function facts(box, list) {
  const dl = element('dl');
  for (const [name, value] of list) {
    if (value === undefined || value === '') continue;
    const div = element('div');
    div.append(element('dt', name), element('dd', value));
    dl.append(div);
  }
  box.append(dl);
}
function tellOp(box, i) {
  const when = us => us === undefined ? undefined : clock(us), f = name => ops.field(i, name);
  box.append(element('h3', `${ops.f(i)} by worker ${ops.process[i]}: ${OUTCOMES[ops.outcome(i)]}`));
  const until = f('until');
  facts(box, [
    ['key', ops.keyText(i)], ['called', when(ops.call[i])], ['answered', ops.ret[i] === Infinity ? 'never' : when(ops.ret[i])], ['took', took(i)],
    ['error', f('error')], ['stock left', f('left')], ['value', f('value')], ['stock seen', f('seen')], ['units', f('qty')],
    ['order', f('order')], ['customer', f('customer')], ['token', f('token')], ['fencing number', f('fence')],
    ['deadline shown', until === undefined ? undefined : clock(ops.call[i] + until)], ['works for', f('work') === undefined ? undefined : span(f('work'))],
    ['operation', '#' + ops.id[i]], ['note', [ops.code[i] & FINAL ? 'one of the last attempts' : '', ops.code[i] & REPLAY ? 'had been done before' : ''].filter(Boolean).join(', ')],
  ]);
  tellSteps(box, i);
}
// tellSteps links an operation with the sell that it belongs to, or a sell
// with its steps.
function tellSteps(box, i) {
  const steps = element('div', undefined, 'steps'), own = laneOf.get(ops.process[i]);
  const link = (at, text) => {
    const b = element('button', text);
    b.type = 'button';
    b.addEventListener('click', () => select(at, true));
    steps.append(b);
  };
  const parent = ops.parent(i), at = parent ? ops.find(parent) : -1;
  if (at >= 0) link(at, `part of sell #${parent}`);
  if (own) for (const k of own.ops.items) if (ops.parent(k) === ops.id[i]) link(k, `${ops.f(k)}: ${OUTCOMES[ops.outcome(k)]}`);
  if (steps.childElementCount) box.append(steps);
}
function tellHold(box, h) {
  box.append(element('h3', `worker ${h.worker} believes that it holds ${h.key}`));
  facts(box, [
    ['from', clock(h.from)], ['to', clock(h.to)], ['for', span(h.to - h.from)], ['ended', h.end], ['granted by', '#' + h.acquire],
    ['lease at the server', h.lease ? `ends between ${clock(h.lease[0])} and ${clock(h.lease[1])} unless renewed` : 'none'],
  ]);
}
