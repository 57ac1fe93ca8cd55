import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeSink } from '../../../../test/fakes/event-sink.ts';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { makePrincipals } from '../../../identity/principal.ts';
import { loadToken } from '../../../identity/rights.ts';
import { Refusal } from '../../../kernel/errors.ts';
import { defaultLimits, Hub } from '../engine/hub.ts';
import { bearer, listens } from './support.ts';

test('a person may have so many streams, and has room again when one closes', async (t) => {
  const qd = await quarterdeck(t);
  const streams = await Promise.all(Array.from({ length: defaultLimits.perPerson }, () => listens(t, qd.url, bearer(qd.owner))));
  const refused = await listens(t, qd.url, bearer(qd.owner));
  assert.deepEqual([refused.status, refused.headers['x-error-code']], [429, 'rate_limited']);
  assert.match(String(refused.headers['retry-after']), /^\d+$/);
  assert.equal((await listens(t, qd.url, bearer(await qd.member(qd.owner, 'member')))).status, 200, 'others have room');

  streams[0]!.leave();
  await streams[0]!.ended;
  for (let status = 429; status !== 200; status = (await listens(t, qd.url, bearer(qd.owner))).status);
});

test('an organization and a server have only so many', async (t) => {
  const qd = await quarterdeck(t);
  const other = await qd.organization('other');
  const hub = new Hub(qd.app, { told: () => {}, ended: () => {} }, { ...defaultLimits, perPerson: 2, perOrg: 3, inAll: 4 });
  t.after(() => hub.close());
  const principals = makePrincipals(qd.app.db, qd.app.caches, { pat: loadToken });
  const principalOf = async ({ key }: { key: string }) => (await principals.find(key, new Set(['pat'])))!;
  const open = async (someone: { key: string }) => {
    const principal = await principalOf(someone);
    hub.requireRoom(principal);
    const sink = fakeSink();
    hub.open(principal, sink);
    return sink;
  };
  const refusal = async (someone: { key: string }) => {
    const error = await open(someone).then(
      () => undefined,
      (e: unknown) => e,
    );
    assert.ok(error instanceof Refusal);
    assert.ok(error.headers['retry-after']);
    return [error.status, error.message.split(',')[0]];
  };
  const [owner, member, third] = [qd.owner, await qd.member(qd.owner, 'member'), await qd.member(qd.owner, 'member')];
  const first = await open(owner);
  await open(owner);
  assert.deepEqual(await refusal(owner), [429, 'you have 2 open event streams at this server']);
  await open(member);
  assert.deepEqual(await refusal(third), [429, 'your organization has 3 open event streams at this server']);
  await open(other);
  assert.deepEqual(await refusal(other), [503, 'this server has 4 open event streams']);
  first.leave();
  await open(third);
  assert.equal(hub.count, 4);

  hub.stop();
  assert.deepEqual(await refusal(other), [503, 'this server is stopping; come back in a moment']);
});

test('streams that were let in together are counted before they begin', async (t) => {
  const qd = await quarterdeck(t);
  const hub = new Hub(qd.app, { told: () => {}, ended: () => {} }, { ...defaultLimits, perPerson: 2 });
  t.after(() => hub.close());
  const principals = makePrincipals(qd.app.db, qd.app.caches, { pat: loadToken });
  const principal = (await principals.find(qd.owner.key, new Set(['pat'])))!;
  const sinks = [fakeSink(), fakeSink(), fakeSink(), fakeSink()];
  for (const _ of sinks) hub.requireRoom(principal);
  for (const sink of sinks) hub.open(principal, sink);
  assert.equal(hub.count, 2);
  assert.deepEqual(
    sinks.map(({ isClosed }) => isClosed),
    [false, false, true, true],
  );
});
