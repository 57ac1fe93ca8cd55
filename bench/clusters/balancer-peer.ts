// Both ends of what balancer.ts measures. As a node: answers `b` with bytes until it is left, and `c` with one byte and its end.
import { once } from 'node:events';
import { connect, createServer } from 'node:net';

const [, , what, host, port, seconds = '0', concurrency = '0'] = process.argv;
const to = { host: host!, port: Number(port) };
const chunk = Buffer.alloc(262_144);

function serve(): void {
  const server = createServer({ noDelay: true }, (socket) => {
    socket.on('error', () => {});
    socket.once('data', (asked) => {
      if (asked[0] === 0x63) return void socket.end('d');
      const send = () => {
        while (!socket.destroyed && socket.write(chunk)) {}
      };
      socket.on('drain', send);
      send();
    });
  });
  server.listen(to.port, to.host, 511, () => console.log('ready'));
}

const endAt = () => performance.now() + Number(seconds) * 1000;

/** Bytes a second, over all connections. */
async function countBytes(): Promise<number> {
  const sockets = Array.from({ length: Number(concurrency) }, () => connect(to));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  let bytes = 0;
  for (const socket of sockets) {
    socket.on('data', (data) => (bytes += data.length));
    socket.write('b');
  }
  await new Promise((later) => setTimeout(later, 300)); // until all of them flow
  const [before, began] = [bytes, performance.now()];
  await new Promise((later) => setTimeout(later, Number(seconds) * 1000));
  const rate = ((bytes - before) * 1000) / (performance.now() - began);
  for (const socket of sockets) socket.destroy();
  return rate;
}

/** Connections a second, each asked once and closed. */
async function countConnections(): Promise<number> {
  const until = endAt();
  const began = performance.now();
  let count = 0;
  const one = async () => {
    while (performance.now() < until) {
      const socket = connect({ ...to, noDelay: true });
      socket.write('c');
      await once(socket, 'data');
      socket.destroy();
      count++;
    }
  };
  await Promise.all(Array.from({ length: Number(concurrency) }, one));
  return (count * 1000) / (performance.now() - began);
}

if (what === 'serve') serve();
else {
  console.log(await (what === 'bytes' ? countBytes() : countConnections()));
  process.exit();
}
