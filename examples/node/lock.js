// A lease lock on one Redis, over a plain socket: SET NX PX, and a script that
// deletes the key only if it is ours.
'use strict';
const net = require('net');
const lines = require('readline').createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const say = (message) => process.stdout.write(JSON.stringify(message) + '\n');
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const ifMine = (command) => `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call(${command}) end return 0`;
const scripts = { release: ifMine(`'del', KEYS[1]`), extend: ifMine(`'pexpire', KEYS[1], ARGV[2]`) };
let socket = null;

// connect resolves when the connection stands; until then nothing was sent.
const connect = (address) => new Promise((done, failed) => {
  const [host, port] = address.split(':');
  const s = net.connect({ host, port, timeout: 1000 }, () => done(s));
  s.once('timeout', () => s.destroy(new Error('connect: timeout')));
  s.once('error', (e) => failed({ refused: e.message }));
});

// redis sends one command; the replies of this lock are one line each.
async function redis(...args) {
  socket ??= await connect(hello.redis[0]);
  const reply = await new Promise((done) => {
    socket.removeAllListeners().setTimeout(1000).on('data', done);
    for (const event of ['timeout', 'close', 'error']) socket.on(event, () => done(null));
    socket.write(`*${args.length}\r\n` + args.map((a) => `$${Buffer.byteLength(a)}\r\n${a}\r\n`).join(''));
  });
  if (reply === null) { socket.destroy(); socket = null; throw { unknown: 'no reply' }; }
  const text = reply.toString().trim();
  if (text[0] === '-') throw { [/^-(READONLY|LOADING|MASTERDOWN|NOREPLICAS|OOM) /.test(text) ? 'refused' : 'unknown']: text };
  return text;
}

let hello, count = 0;
async function answer({ do: what, key, token }) {
  if (what !== 'acquire') return await redis('EVAL', scripts[what], '1', hello.prefix + key, token, `${hello.ttl_ms}`) === ':1' ? { ok: true } : { gone: true };
  token = `${hello.worker}-${hello.life}-${++count}`;
  for (const until = Date.now() + hello.wait_ms; ; await sleep(10)) {
    if (await redis('SET', hello.prefix + key, token, 'NX', 'PX', `${hello.ttl_ms}`) === '+OK') return { ok: true, token };
    if (Date.now() >= until) return { busy: true };
  }
}

(async () => {
  hello = JSON.parse((await lines.next()).value);
  say({ ready: 'node-lock 1', can: ['extend'] });
  for await (const line of lines) {
    const request = JSON.parse(line);
    say({ id: request.id, ...await answer(request).catch((e) => (e.refused || e.unknown ? e : { unknown: String(e) })) });
  }
  process.exit();
})();
