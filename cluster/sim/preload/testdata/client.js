// A Node client on plain sockets: one round for each line of its input.
const net = require('net')
const since = () => ((Date.now() - 1767225600000) / 1000).toFixed(3)
require('readline').createInterface({ input: process.stdin }).on('line', () => {
  const s = net.connect(6379, '10.8.0.1', () => {
    console.log('up', since())
    setTimeout(() => s.write('PING\r\n'), 250)
  })
  s.setTimeout(1000, () => { console.log('no answer', since()); s.destroy() })
  s.on('data', (d) => { console.log('ping', String(d).trim(), since()); s.end() })
  s.on('error', (e) => console.log(e.code, since()))
})
