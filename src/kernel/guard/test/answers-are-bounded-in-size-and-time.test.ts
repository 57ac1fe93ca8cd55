// alone: it counts the open handles of the process
import assert from 'node:assert/strict';
import { getEventListeners, once } from 'node:events';
import type { Socket } from 'node:net';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import test, { type TestContext } from 'node:test';
import { tcpConnector } from '../connector.ts';
import { makeGuard, parseAllow } from '../index.ts';
import { httpServer, tcpServer } from './servers.ts';

const guard = makeGuard({ allow: parseAllow('127.0.0.0/8') });

/** Answers every request with these bytes, then acts as configured; the promise settles when the guard has closed the connection. */
async function answering(t: TestContext, answer: (socket: Socket) => void) {
  const hungUp = Promise.withResolvers<void>();
  const port = await tcpServer(t, (socket) => {
    socket.once('data', () => answer(socket)).on('close', () => hungUp.resolve());
  });
  return { url: `http://127.0.0.1:${port}/`, hungUp: hungUp.promise };
}

/** As fast as the client reads, without end. */
const pour = (socket: Socket, chunk: string) => {
  const more = () => {
    while (!socket.destroyed && socket.write(chunk));
  };
  socket.on('drain', more);
  more();
};

test('headers past their limit are cut', async (t) => {
  const endless = await answering(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n');
    pour(socket, `x-${'a'.repeat(1000)}: b\r\n`);
  });
  await assert.rejects(guard.fetch('uptime', endless.url), { name: 'GuardFailure', kind: 'too_large', phase: 'firstByte' });
  await endless.hungUp;

  const oneLine = await answering(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nx-a: ');
    pour(socket, 'a'.repeat(1000));
  });
  await assert.rejects(guard.fetch('uptime', oneLine.url, { maxHeaderBytes: 4096 }), { kind: 'too_large' });
  await oneLine.hungUp;
});

test('how many header bytes are read is up to the caller', async (t) => {
  const port = await httpServer(t, (_request, response) => response.writeHead(200, { 'x-large': 'a'.repeat(8000) }).end());
  const url = `http://127.0.0.1:${port}/`;
  assert.equal((await guard.fetch('uptime', url)).headers['x-large']?.length, 8000);
  await assert.rejects(guard.fetch('uptime', url, { maxHeaderBytes: 4000 }), { kind: 'too_large' });
});

test('an endless body is cut at its limit, after everything up to it', async (t) => {
  const endless = await answering(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    pour(socket, 'a'.repeat(10_000));
  });
  const response = await guard.fetch('uptime', endless.url, { maxBodyBytes: 100_001 });
  let read = 0;
  const reading = async () => {
    for await (const chunk of response.body) read += chunk.length;
  };
  await assert.rejects(reading, { name: 'GuardFailure', kind: 'too_large', phase: 'transfer' });
  assert.equal(read, 100_001);
  await endless.hungUp;

  const exact = await answering(t, (socket) => socket.end(`HTTP/1.1 200 OK\r\n\r\n${'a'.repeat(1000)}`));
  const whole = await guard.fetch('uptime', exact.url, { maxBodyBytes: 1000 });
  assert.equal((await whole.bytes()).length, 1000);
});

test('a caller that wants the start of an endless body gets it', async (t) => {
  const endless = await answering(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    pour(socket, 'abc'.repeat(10_000));
  });
  const response = await guard.fetch('uptime', endless.url, { maxBodyBytes: 4 });
  assert.equal(String(await response.firstBytes(4)), 'abca');
  await endless.hungUp;
});

test('a connection, an answer and a body must each come in time', async (t) => {
  const mute = await answering(t, () => {});
  await assert.rejects(guard.fetch('uptime', mute.url, { timeouts: { headersMs: 50 } }), { kind: 'timeout', phase: 'firstByte' });
  await mute.hungUp;

  const dripping = await answering(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n');
    const drip = setInterval(() => socket.write('x-a: b\r\n'), 5);
    socket.on('close', () => clearInterval(drip));
  });
  await assert.rejects(guard.fetch('uptime', dripping.url, { timeouts: { headersMs: 50 } }), { kind: 'timeout', phase: 'firstByte' });
  await dripping.hungUp;

  const informing = await answering(t, (socket) => {
    const inform = setInterval(() => socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'), 5);
    socket.on('close', () => clearInterval(inform));
  });
  await assert.rejects(guard.fetch('uptime', informing.url, { timeouts: { headersMs: 50 } }), { kind: 'timeout', phase: 'firstByte' });
  await informing.hungUp;

  const stalling = await answering(t, (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf'));
  const response = await guard.fetch('uptime', stalling.url, { timeouts: { idleMs: 50 } });
  await assert.rejects(response.text(), { kind: 'timeout', phase: 'transfer' });
  await stalling.hungUp;
});

test('the whole may take no longer than said, however lively it is', async (t) => {
  const lively = await answering(t, (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    const drip = setInterval(() => socket.write('a'), 5);
    socket.on('close', () => clearInterval(drip));
  });
  const response = await guard.fetch('uptime', lively.url, { timeouts: { totalMs: 500, idleMs: 5_000 } });
  await assert.rejects(response.text(), { kind: 'timeout', phase: 'transfer' });
  await lively.hungUp;

  const unread = await answering(t, (socket) => socket.write('HTTP/1.1 200 OK\r\n\r\nhello'));
  await guard.fetch('uptime', unread.url, { timeouts: { totalMs: 500 } });
  await unread.hungUp;
});

test('the whole running out of time tells in which phase it was', async () => {
  const never = new Promise<never>(() => {});
  const lost = makeGuard({ resolver: { resolve: () => never } });
  await assert.rejects(lost.fetch('uptime', 'http://example.org/', { timeouts: { totalMs: 20 } }), {
    kind: 'dns_timeout',
    phase: 'resolve',
  });
  await assert.rejects(lost.connectTcp('uptime', 'example.org', 80, { connectMs: 20 }), { kind: 'dns_timeout', phase: 'resolve' });

  const stuck = makeGuard({
    resolver: { resolve: async () => [{ address: '8.8.8.8' }] },
    connector: (_endpoint, signal) => once(signal, 'abort').then(() => Promise.reject(signal.reason)),
  });
  await assert.rejects(stuck.fetch('uptime', 'http://example.org/', { timeouts: { totalMs: 20 } }), {
    kind: 'connect_timeout',
    phase: 'connect',
  });
  await assert.rejects(stuck.connectTcp('uptime', 'example.org', 80, { connectMs: 20 }), { kind: 'connect_timeout', phase: 'connect' });
});

test('one dead address does not use up the time of the next', async () => {
  const tried: string[] = [];
  const patient = makeGuard({
    resolver: { resolve: async () => [{ address: '8.8.8.8' }, { address: '1.1.1.1' }] },
    connector: ({ address }, signal) => {
      tried.push(address);
      if (address === '1.1.1.1') return Promise.reject(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }));
      return once(signal, 'abort').then(() => Promise.reject(signal.reason));
    },
  });
  await assert.rejects(patient.connectTcp('uptime', 'example.org', 80, { connectMs: 100 }), { kind: 'connect_timeout' });
  assert.deepEqual(tried, ['8.8.8.8', '1.1.1.1']);
});

test('nothing more is tried for a caller who has left', async () => {
  const reason = new Error('no longer wanted');
  const leaving = new AbortController();
  const tried: string[] = [];
  const eager = makeGuard({
    resolver: { resolve: async () => [{ address: '8.8.8.8' }, { address: '1.1.1.1' }] },
    connector: async ({ address }) => {
      tried.push(address);
      leaving.abort(reason);
      throw Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
    },
  });
  await assert.rejects(eager.connectTcp('uptime', 'example.org', 80, { signal: leaving.signal }));
  assert.deepEqual(tried, ['8.8.8.8']);
});

test('a reader who takes his time is not taken for a silent peer', async (t) => {
  const port = await httpServer(t, (_request, response) => response.end(Buffer.alloc(2 ** 20)));
  const response = await guard.fetch('upstream', `http://127.0.0.1:${port}/`, { timeouts: { idleMs: 40 }, maxBodyBytes: 2 ** 21 });
  let read = 0;
  const slow = new Writable({
    highWaterMark: 1,
    write(chunk: Buffer, _encoding, done) {
      const isFirst = read === 0;
      read += chunk.length;
      if (isFirst) setTimeout(done, 120);
      else done();
    },
  });
  await pipeline(response.body, slow);
  assert.equal(read, 2 ** 20);
});

test('a body cut short is a failure, not an end', async (t) => {
  const short = await answering(t, (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf'));
  await assert.rejects((await guard.fetch('upstream', short.url)).bytes(), { kind: 'connection_reset', phase: 'transfer' });
  const chunked = await answering(t, (socket) => socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n'));
  await assert.rejects((await guard.fetch('upstream', chunked.url)).bytes(), { kind: 'connection_reset', phase: 'transfer' });
});

test('what is not HTTP/1.1 is a failure of the protocol', async (t) => {
  const ssh = await answering(t, (socket) => socket.end('SSH-2.0-OpenSSH_9.9\r\n'));
  await assert.rejects(guard.fetch('uptime', ssh.url), { kind: 'protocol' });
  const switching = await answering(t, (socket) =>
    socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'),
  );
  await assert.rejects(guard.fetch('uptime', switching.url), { kind: 'protocol' });
  await switching.hungUp;
  const smuggling = await answering(t, (socket) =>
    socket.end('HTTP/1.1 200 OK\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n'),
  );
  await assert.rejects(guard.fetch('uptime', smuggling.url), { kind: 'protocol' });
  const silent = await answering(t, (socket) => socket.end());
  await assert.rejects(guard.fetch('uptime', silent.url), { kind: 'connection_reset', phase: 'firstByte' });
});

test('nothing listens or ticks on after the end', async (t) => {
  const { signal } = new AbortController();
  const isOver = async () => {
    await new Promise(setImmediate);
    return getEventListeners(signal, 'abort').length === 0;
  };
  const port = await httpServer(t, (_request, response) => response.end('hello'));
  const url = `http://127.0.0.1:${port}/`;
  const open = await guard.fetch('uptime', url, { signal });
  assert.ok(!(await isOver()));
  await open.text();
  assert.ok(await isOver(), 'a body that was read');
  await (await guard.fetch('uptime', url, { signal })).firstBytes(1);
  assert.ok(await isOver(), 'a body that was begun');
  (await guard.fetch('uptime', url, { signal })).cancel();
  assert.ok(await isOver(), 'a body that was canceled');
  await assert.rejects(guard.fetch('uptime', url, { signal, maxHeaderBytes: 1 }));
  assert.ok(await isOver(), 'a failure');
  const { socket } = await guard.connectTcp('uptime', '127.0.0.1', port, { signal });
  assert.ok(await isOver(), 'a connection that is now the caller’s');
  socket.destroy();

  const empty = await answering(t, (socket) => socket.end('HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n'));
  assert.equal((await guard.fetch('uptime', empty.url, { signal })).status, 204);
  await empty.hungUp;
  assert.ok(await isOver(), 'no body, so there is nothing to read');
  assert.ok(!process.getActiveResourcesInfo().includes('Timeout'));
});

test('a connection that is no longer wanted is closed, even before it is open', { timeout: 5000 }, async (t) => {
  const reason = new Error('no longer wanted');
  const port = await tcpServer(t, (socket) => socket.resume());
  const sockets = () => process.getActiveResourcesInfo().filter((kind) => kind === 'TCPSocketWrap').length;
  const before = sockets();
  const leaving = new AbortController();
  const connecting = tcpConnector({ address: '127.0.0.1', family: 4, port }, leaving.signal);
  assert.ok(sockets() > before);
  leaving.abort(reason);
  await assert.rejects(connecting, reason);
  while (sockets() > before) await new Promise(setImmediate);
});

test('the caller may call it off at any moment, and nothing stays open', async (t) => {
  const reason = new Error('no longer wanted');
  const before = new AbortController();
  before.abort(reason);
  const mute = await answering(t, () => during.abort(reason));
  await assert.rejects(guard.fetch('uptime', mute.url, { signal: before.signal }), reason);
  const during = new AbortController();
  await assert.rejects(guard.fetch('uptime', mute.url, { signal: during.signal }), reason);
  await mute.hungUp;

  const halfway = await answering(t, (socket) => socket.write('HTTP/1.1 200 OK\r\n\r\nhello'));
  const later = new AbortController();
  const response = await guard.fetch('uptime', halfway.url, { signal: later.signal });
  assert.equal(String((await response.body.next()).value), 'hello');
  const reading = response.body.next();
  later.abort(reason);
  await assert.rejects(reading, reason);
  await halfway.hungUp;

  const canceled = await answering(t, (socket) => socket.write('HTTP/1.1 200 OK\r\n\r\nhello'));
  (await guard.fetch('uptime', canceled.url)).cancel();
  await canceled.hungUp;
});
