import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { fakeSink } from '../../../../test/fakes/event-sink.ts';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { makePrincipals } from '../../../identity/principal.ts';
import { loadToken } from '../../../identity/rights.ts';
import { ResponseSink } from '../../../kernel/http/endless.ts';
import { defaultLimits, Hub } from '../engine/hub.ts';
import { Stream } from '../engine/stream.ts';

test('what a reader does not take is kept as kinds, each once, and told when there is room', () => {
  const sink = fakeSink();
  const stream = new Stream(sink);
  const limits = { beatMs: 15_000, unreadMs: 30_000 };
  sink.state.bufferedBytes = 8_192;
  const now = performance.now();
  for (let n = 0; n < 100_000; n++) stream.sendChanged([`kind.${n % 3}`], 'a text that is not written');
  assert.deepEqual(sink.written, []);
  assert.ok(stream.keep(now + 20_000, limits), 'a beat would only add to what waits');
  assert.deepEqual(sink.written, []);

  sink.state.bufferedBytes = 0;
  assert.ok(stream.keep(now + 21_000, limits));
  assert.deepEqual(sink.written, ['event: changed\ndata: {"kinds":["kind.0","kind.1","kind.2"]}\n\n']);
  stream.sendChanged(['kind.4'], 'told');
  assert.deepEqual(sink.written.slice(1), ['told']);
});

test('a quiet stream beats, and one that is not read for long is ended', () => {
  const sink = fakeSink();
  const stream = new Stream(sink);
  const limits = { beatMs: 15_000, unreadMs: 30_000 };
  const now = performance.now();
  assert.ok(stream.keep(now + 14_000, limits));
  assert.deepEqual(sink.written, []);
  assert.ok(stream.keep(now + 16_000, limits));
  assert.deepEqual(sink.written, [': beat\n\n']);

  sink.state.bufferedBytes = 1;
  assert.ok(stream.keep(now + 40_000, limits));
  assert.ok(stream.keep(now + 69_000, limits));
  assert.ok(!stream.keep(now + 70_001, limits));
});

test('a connection whose reader stopped holds no more than one event for it, and is cut', async (t) => {
  const qd = await quarterdeck(t);
  const principal = (await makePrincipals(qd.app.db, qd.app.caches, { pat: loadToken }).find(qd.owner.key, new Set(['pat'])))!;
  const ended: string[] = [];
  const events = { told: () => {}, ended: (reason: string) => void ended.push(reason) };
  const hub = new Hub(qd.app, events, { ...defaultLimits, hintMs: 0, unreadMs: 500 });
  t.after(() => hub.close());
  const opened = Promise.withResolvers<http.ServerResponse>();
  const server = http.createServer((_request, response) => {
    // A socket’s buffers hold megabytes: they are full before the first hint.
    response.writeHead(200).write(Buffer.alloc(32 * 1024 * 1024));
    hub.open(principal, new ResponseSink(response));
    opened.resolve(response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const request = http.get({ port: (server.address() as AddressInfo).port, agent: false });
  t.after(() => request.destroy());
  request.on('error', () => {}).on('response', (answer) => answer.on('error', () => {}).pause());
  const response = await opened.promise;
  const closed = once(response, 'close');
  await setImmediate();
  const before = response.writableLength;
  assert.ok(before > 1_000_000, 'the reader takes nothing');
  for (let n = 0; n < 30; n++) await qd.owner.patch('/organization', { name: `Default ${n}` });
  assert.ok(response.writableLength <= before, 'thirty changes wait as one set of kinds');
  await closed;
  assert.deepEqual([ended, hub.count], [['unread'], 0]);
});
