import assert from 'node:assert/strict';
import test from 'node:test';
import { type SinkStage, smtpSink } from '../../../../../../test/fakes/smtp-sink.ts';
import { makeGuard, parseAllow } from '../../../../../kernel/guard/index.ts';
import { names as addresses, loopback } from '../../../../../kernel/guard/test/internet.ts';
import { mailWorld, mx, outgoing, stoppedClock } from './mail-world.ts';

const zone = { 'example.org': { MX: mx('mx.example.org') } };
const many = (count: number, org: string, domain = 'example.org') =>
  Array.from({ length: count }, (_, at) => outgoing(`${org}${at}@${domain}`, { org }));

test('organizations take turns: one message does not wait behind a hundred of another tenant', async (t) => {
  const sink = await smtpSink(t);
  const { sender } = mailWorld(t, sink.port, zone, { limits: { connections: 1 } });
  await Promise.all([...many(100, 'big'), ...many(3, 'small')].map((item) => sender.send(item)));
  const order = sink.messages.map(({ to }) => to[0]!.replace(/\d+@.*/, ''));
  assert.ok(order.lastIndexOf('small') <= 6, order.slice(0, 10).join(' '));
});

test('connections per site and messages per connection are limited, and a new site starts with one connection', async (t) => {
  const sink = await smtpSink(t);
  const { sender } = mailWorld(t, sink.port, zone, { limits: { connections: 3, messagesPerConnection: 10 } });
  const outcomes = await Promise.all(many(100, 'a').map((item) => sender.send(item)));
  assert.ok(outcomes.every(({ kind }) => kind === 'delivered'));
  assert.ok(sink.mostOpen <= 3, `${sink.mostOpen} at once`);
  const bySession = Map.groupBy(sink.messages, ({ session }) => session);
  assert.ok([...bySession.values()].every((messages) => messages.length <= 10));
  assert.equal(bySession.size >= 10, true);
});

test('messages waiting for a site are limited, by organization too, and backoffSeconds says so', async (t) => {
  const sink = await smtpSink(t, { at: (stage) => (stage === 'greeting' ? 'stall' : undefined) });
  const { sender } = mailWorld(t, sink.port, zone, { maxWaitingPerSite: 10, maxWaitingPerOrg: 4 });
  const early = many(6, 'a').map((item) => sender.send(item));
  assert.equal(sender.backoffSeconds('example.org', 'a'), 0, 'nothing is known yet');
  assert.deepEqual((await Promise.race([early[4]!, early[5]!])).kind, 'waits');
  assert.equal(sender.backoffSeconds('example.org', 'a'), 1);
  assert.equal(sender.backoffSeconds('example.org', 'b'), 0);
  for (const org of ['b', 'c']) for (const item of many(3, org)) void sender.send(item);
  assert.equal(sender.backoffSeconds('example.org', 'd'), 1);
  assert.equal(sender.backoffSeconds('elsewhere.example', 'a'), 0);
});

test('an unreachable site is in backoff for longer each time, and its messages wait', async (t) => {
  const clock = stoppedClock();
  const sink = await smtpSink(t, { at: (stage) => (stage === 'greeting' ? '554 5.7.1 go away' : undefined) });
  const { sender } = mailWorld(t, sink.port, zone, { clock });
  const rests: number[] = [];
  for (let failure = 1; failure <= 7; failure++) {
    const outcomes = await Promise.all(many(3, 'a').map((item) => sender.send(item)));
    assert.deepEqual(
      outcomes.map(({ kind }) => kind),
      ['waits', 'waits', 'waits'],
    );
    assert.match(outcomes[0]!.serverReply.response, /go away/);
    rests.push(sender.backoffSeconds('example.org', 'a'));
    assert.equal((await sender.send(outgoing('x@example.org'))).kind, 'waits');
    assert.equal(sink.sessions, failure, 'no connection during the backoff');
    clock.advance(1000 * rests.at(-1)!);
  }
  assert.deepEqual(rests, [60, 120, 240, 480, 960, 1800, 1800]);
  sink.behave({});
  assert.equal((await sender.send(outgoing('x@example.org'))).kind, 'delivered');
  assert.equal(sender.backoffSeconds('example.org', 'a'), 0);
});

test('the next host is tried before a site is given up, and a host that failed is asked last for a while', async (t) => {
  const sink = await smtpSink(t);
  const twoHosts = { 'example.org': { MX: mx([10, 'dead.example.org'], [20, 'live.example.org']) } };
  const { sender } = mailWorld(t, sink.port, twoHosts, { addresses: { 'dead.example.org': ['127.0.0.2'] } });
  for (let at = 0; at < 2; at++) {
    const outcome = await sender.send(outgoing('x@example.org'));
    assert.deepEqual([outcome.kind, outcome.serverReply.mx], ['delivered', 'live.example.org']);
  }
});

test('a site that asks for less gets fewer connections', async (t) => {
  const clock = stoppedClock();
  let isBusy = false;
  const at = (stage: SinkStage) => (isBusy && stage === 'rcpt' ? '451 4.7.0 too many messages, slow down' : undefined);
  const sink = await smtpSink(t, { at });
  const { sender } = mailWorld(t, sink.port, zone, { clock, limits: { connections: 8 } });
  await Promise.all(many(50, 'a').map((item) => sender.send(item)));
  assert.equal(sender.sites()[0]!.maxConnections, 8);
  isBusy = true;
  const [busy] = await Promise.all(many(20, 'a').map((item) => sender.send(item)));
  assert.deepEqual([busy!.kind, (busy as { class: string }).class], ['deferred', 'RateLimited']);
  assert.equal(sender.sites()[0]!.maxConnections, 4);
  isBusy = false;
  for (let minute = 0; minute < 3; minute++) {
    clock.advance(61_000);
    await sender.send(outgoing('x@example.org'));
  }
  assert.equal(sender.sites()[0]!.maxConnections, 6);
});

test('sites that stall cost others nothing, and all connections together are bounded', async (t) => {
  const clock = stoppedClock();
  const stalled = await smtpSink(t, { at: (stage) => (stage === 'greeting' ? 'stall' : undefined) });
  const sink = await smtpSink(t);
  const names = Array.from({ length: 30 }, (_, at) => `slow${at}.example`);
  const world = Object.fromEntries(['fast.example', ...names].map((name) => [name, { MX: mx(`mx.${name}`) }]));
  const { connector } = loopback(({ address }) => (address === '127.0.0.9' ? sink.port : stalled.port));
  const resolver = addresses({
    ...Object.fromEntries(names.map((name) => [`mx.${name}`, ['127.0.0.8']])),
    'mx.fast.example': ['127.0.0.9'],
  });
  const guard = makeGuard({ allow: parseAllow('127.0.0.0/8'), resolver, connector });
  const { sender } = mailWorld(t, 25, world, { guard, clock, maxConnections: 8 });

  await sender.send(outgoing('first@fast.example'));
  const waiting = names.flatMap((name, at) => many(5, `org${at % 6}`, name)).map((item) => sender.send(item));
  const fast = await Promise.all(many(20, 'a', 'fast.example').map((item) => sender.send(item)));
  assert.deepEqual([...new Set(fast.map(({ kind }) => kind))], ['delivered']);
  assert.equal(stalled.open, 4, 'sites on trial share half of the connections');
  // Those that wait long count apart, so that further sites are tried; but no more than there are connections.
  for (let seconds = 0; seconds < 60; seconds += 5) clock.advance(5_000);
  await until(() => stalled.open === 12);
  assert.equal((await sender.send(outgoing('last@fast.example'))).kind, 'delivered');
  assert.equal(stalled.mostOpen, 12, 'eight apart, four on trial');
  await sender.stop(0);
  assert.ok((await Promise.all(waiting)).every(({ kind }) => kind === 'waits'));
});

const until = async (isSo: () => boolean) => {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 5));
};

test('stalled servers delay only the organizations that send to them, also at new sites', async (t) => {
  for (const stage of ['greeting', 'dot'] as const) {
    const clock = stoppedClock();
    const tarpit = await smtpSink(t, { at: (at) => (at === stage ? 'stall' : undefined) });
    const sink = await smtpSink(t);
    const names = Array.from({ length: 30 }, (_, at) => `slow${at}.example`);
    const world = Object.fromEntries(['new.example', ...names].map((name) => [name, { MX: mx(`mx.${name}`) }]));
    const { connector } = loopback(({ address }) => (address === '127.0.0.9' ? sink.port : tarpit.port));
    const resolver = addresses({
      ...Object.fromEntries(names.map((name) => [`mx.${name}`, ['127.0.0.8']])),
      'mx.new.example': ['127.0.0.9'],
    });
    const guard = makeGuard({ allow: parseAllow('127.0.0.0/8'), resolver, connector });
    const { sender } = mailWorld(t, 25, world, { guard, clock, maxConnections: 8 });
    for (const name of names) for (const item of many(5, 'a', name)) void sender.send(item);
    await until(() => tarpit.open === 2);
    for (let seconds = 0; seconds < 60; seconds += 5) {
      clock.advance(5_000);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    assert.equal((await sender.send(outgoing('x@new.example', { org: 'b' }))).kind, 'delivered');
    assert.equal(tarpit.mostOpen, 2, 'a quarter of eight, however long they wait');
    const stopped = sender.stop(0);
    clock.advance(1);
    await stopped;
  }
});

test('idle sessions are closed after half a minute', async (t) => {
  const clock = stoppedClock();
  const sink = await smtpSink(t);
  const { sender } = mailWorld(t, sink.port, zone, { clock });
  await sender.send(outgoing('x@example.org'));
  assert.equal(sender.sites()[0]!.connections, 1);
  clock.advance(30_000);
  await until(() => sender.sites()[0]!.connections === 0);
  assert.equal((await sender.send(outgoing('x@example.org'))).kind, 'delivered');
  assert.equal(sink.sessions, 2);
});

test('a session refused during a stop keeps no message waiting', async (t) => {
  let begun = 0;
  const sink = await smtpSink(t, {
    at: (stage) => (stage === 'mail' && ++begun > 1 ? { drip: '421 4.3.2 going down\r\n', everyMs: 10 } : undefined),
  });
  const { sender } = mailWorld(t, sink.port, zone);
  await sender.send(outgoing('first@example.org'));
  const second = sender.send(outgoing('second@example.org'));
  await until(() => begun === 2);
  await sender.stop(5_000);
  assert.equal((await second).kind, 'waits');
});

test('a stop lets messages in flight finish; the others wait', async (t) => {
  const sink = await smtpSink(t);
  const { sender } = mailWorld(t, sink.port, zone, { limits: { connections: 1 } });
  await sender.send(outgoing('first@example.org'));
  const sent = many(20, 'a').map((item) => sender.send(item));
  await sender.stop(5_000);
  const kinds = (await Promise.all(sent)).map(({ kind }) => kind);
  assert.equal(kinds[0], 'delivered');
  assert.equal(kinds.filter((kind) => kind === 'delivered').length, sink.messages.length - 1);
  assert.equal(kinds.filter((kind) => kind === 'waits').length, 20 - (sink.messages.length - 1));
  assert.equal((await sender.send(outgoing('x@example.org'))).kind, 'waits');
});
