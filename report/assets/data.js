// Reading what Go put into the page: JSON in the element "run", and the
// operations as packed columns (see columns.go) in "operations".

const $ = id => document.getElementById(id);
const run = JSON.parse($('run').textContent);
const MICRO = 1000; // ns

// bytesOf decodes base64.
function bytesOf(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const raw = atob(text), bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  return bytes;
}

// unpack gunzips with what the browser has built in.
async function unpack(text) {
  const stream = new Blob([bytesOf(text)]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// readColumn decodes varints. Numbers reach 2^53, so there are no bit
// operations on those that may not fit 31 bits.
function readColumn(bytes, at, info) {
  const out = new Float64Array(info.count), signed = info.kind !== 'unsigned', delta = info.kind === 'delta';
  let last = 0;
  for (let i = 0; i < info.count; i++) {
    let n = bytes[at++];
    if (n > 127) {
      let unit = 128, b;
      n &= 127;
      do { b = bytes[at++]; n += (b & 127) * unit; unit *= 128; } while (b > 127);
    }
    if (signed) n = n < 0x7fffffff ? (n >>> 1) ^ -(n & 1) : n % 2 ? -(n + 1) / 2 : n / 2;
    if (delta) n = last += n;
    out[i] = n;
  }
  return out;
}

// readColumns answers {strings, columns by name}.
function readColumns(bytes) {
  const size = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0);
  const head = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + size)));
  const columns = {strings: head.strings};
  let at = 4 + size;
  for (const info of head.columns) {
    columns[info.name] = readColumn(bytes, at, info);
    at += info.bytes;
  }
  return columns;
}

const OK = 0, FAIL = 1, INFO = 2, NEVER = 1 << 6, FINAL = 1 << 7, REPLAY = 1 << 8;
const OUTCOMES = ['ok', 'refused', 'unknown'];

// Ops is the operations of the page by index, in order of their calls.
// Times are in microseconds.
class Ops {
  constructor(c) {
    const none = new Float64Array(0);
    this.columns = c;
    this.strings = c.strings;
    this.call = c.call || none;
    this.count = this.call.length;
    this.process = c.process || none;
    this.code = c.code || none;
    this.key = c.key || none;
    this.id = c.id || none;
    this.mask = c.mask || none;
    this.ret = new Float64Array(this.count);
    for (let i = 0; i < this.count; i++) {
      this.ret[i] = this.code[i] & NEVER ? Infinity : this.call[i] + c.length[i];
    }
  }
  f(i) { return run.functions[this.code[i] & 15] || 'other'; }
  outcome(i) { return (this.code[i] >> 4) & 3; }
  keyText(i) { return this.strings[this.key[i]]; }
  parent(i) { return this.columns.parent[i] ? this.id[i] - this.columns.parent[i] : 0; }

  // field is the value of a field that not every operation has, or undefined.
  field(i, name) {
    const bit = 1 << run.fields.indexOf(name);
    if (!(this.mask[i] & bit)) return undefined;
    let at = 0;
    for (let j = 0; j < i; j++) if (this.mask[j] & bit) at++;
    const n = this.columns[name][at];
    return ['order', 'customer', 'token', 'error'].includes(name) ? this.strings[n] : n;
  }
  find(id) { return this.id.indexOf(id); }
}

// span and clock write times as the rest of the page does; arguments in µs.
function span(us) {
  const abs = Math.abs(us), show = x => String(Number(x.toFixed(Math.abs(x) < 9.995 ? 2 : Math.abs(x) < 99.95 ? 1 : 0)));
  if (abs === 0) return '0 s';
  if (abs < 999.5) return show(us) + ' µs';
  if (abs < 999.5e3) return show(us / 1e3) + ' ms';
  if (abs < 600e6) return show(us / 1e6) + ' s';
  return (us / 60e6).toFixed(1) + ' min';
}
function clock(us) { return (us / 1e6).toFixed(6).replace(/(\.\d{3})000$/, '$1') + ' s'; }
