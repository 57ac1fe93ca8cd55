import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { fakeSink } from '../../../../test/fakes/event-sink.ts';
import { type Quarterdeck, quarterdeck, type Someone } from '../../../../test/harness/index.ts';
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

test('rights that change, and hints that may be missing, wait once for a reader who takes nothing', () => {
  const sink = fakeSink();
  const stream = new Stream(sink);
  const limits = { beatMs: 15_000, unreadMs: 30_000 };
  sink.state.bufferedBytes = 8_192;
  stream.sendChanged(['kind.0'], 'not written');
  for (let n = 0; n < 10_000; n++) stream.sendRights(`rights ${n}`);
  stream.sendDeaf();
  assert.deepEqual(sink.written, []);
  sink.state.bufferedBytes = 0;
  stream.keep(performance.now(), limits);
  // Being deaf is the last word: a hint of before would say that it hears again.
  assert.deepEqual(sink.written, ['rights 9999event: deaf\ndata: {}\n\n']);

  sink.state.bufferedBytes = 8_192;
  stream.sendDeaf();
  stream.sendChanged(['kind.1'], 'not written');
  sink.state.bufferedBytes = 0;
  stream.keep(performance.now(), limits);
  assert.deepEqual(sink.written.slice(1), ['event: deaf\ndata: {}\n\nevent: changed\ndata: {"kinds":["kind.1"]}\n\n']);
  stream.sendRights('at once');
  assert.equal(sink.written.at(-1), 'at once');
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

/** A stream of somebody whose reader takes nothing from the start. */
async function unreadStream(t: TestContext, qd: Quarterdeck, someone: Someone) {
  const principal = (await makePrincipals(qd.app.db, qd.app.caches, { pat: loadToken }).find(someone.key, new Set(['pat'])))!;
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
  assert.ok(response.writableLength > 1_000_000, 'the reader takes nothing');
  return { hub, ended, response, closed };
}

test('a connection whose reader stopped holds no more than one event for it, and is cut', async (t) => {
  const qd = await quarterdeck(t);
  const { hub, ended, response, closed } = await unreadStream(t, qd, qd.owner);
  const before = response.writableLength;
  for (let n = 0; n < 30; n++) await qd.owner.patch('/organization', { name: `Default ${n}` });
  assert.ok(response.writableLength <= before, 'thirty changes wait as one set of kinds');
  await closed;
  assert.deepEqual([ended, hub.count], [['unread'], 0]);
});

test('a stream that was refused is cut too when its reader does not take the reason', { timeout: 20_000 }, async (t) => {
  const qd = await quarterdeck(t);
  const someone = await qd.member(qd.owner, 'member');
  const { hub, ended, closed } = await unreadStream(t, qd, someone);
  await someone.delete(`/tokens/${someone.tokenId}`);
  await closed;
  assert.deepEqual([ended, hub.count], [['refused'], 0]);
});
