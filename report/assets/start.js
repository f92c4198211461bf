// Starting: unpack, draw, open at the violation.

// offerKeys fills the list behind the filter by key: the keys of violations
// first, then others, as many as a list can use.
function offerKeys() {
  const names = new Set(run.violations.map(v => v.key));
  for (let i = 0; i < ops.count && names.size < 300; i++) if (ops.key[i]) names.add(ops.keyText(i));
  $('keys').append(...[...names].map(n => { const o = element('option'); o.value = n; return o; }));
}

async function start() {
  if (!run.workers.length) return;
  if (!self.DecompressionStream) {
    $('stage').before(element('p', 'This browser is too old to unpack the timeline (it lacks DecompressionStream). Everything else on this page is complete.', 'notice'));
    return;
  }
  load(readColumns(await unpack($('operations').textContent.trim())));
  if (run.windows) view.mostInBucket = ops.columns['bucket-count'].reduce((a, b) => Math.max(a, b), 1);
  $('stage').hidden = false;
  for (const id of ['next', 'previous']) if ($(id)) $(id).hidden = run.violations.length < 2;
  $('focus').hidden = $('closer').hidden = !run.violations.length;
  readColours();
  listenKeys();
  listenPointer();
  listenOverview();
  listenTools();
  const asked = /^#v(\d+)$/.exec(location.hash);
  if (run.violations.length) goTo(asked ? asked[1] - 1 : 0); else { arrange(); show(0, END); }
  offerKeys();
  requestAnimationFrame(() => requestAnimationFrame(() => { document.documentElement.dataset.ready = Math.round(performance.now()); }));
}
start();
