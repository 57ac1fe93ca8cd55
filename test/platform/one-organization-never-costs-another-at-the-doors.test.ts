import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { runFor } from '../../src/kernel/fairness/index.ts';
import { quarterdeck } from '../harness/index.ts';

test('those that wait, side by side', { concurrency: true }, async (t) => {
  const qd = await quarterdeck(t);
  await Promise.all([
    t.test('an organization that holds every connection of its share is told to wait, and the others are served', async (t) => {
      const other = await qd.organization('other');
      const done = Promise.withResolvers<void>();
      t.after(() => done.resolve());
      // Its share of twelve, as the requests of one organization that wait for a lock would.
      const hung = Array.from({ length: 8 }, () =>
        runFor({ org: qd.owner.orgId, operation: 'test' }, () => qd.app.db.write(() => done.promise)),
      );
      const waiting = qd.owner.get('/tokens');
      for (let i = 0; i < 20; i++) assert.equal((await other.get('/tokens')).status, 200);
      const { status, headers, body } = await waiting;
      assert.equal(status, 503);
      assert.match(body.error, /your organization has more requests under way than its share/);
      assert.equal(headers.get('retry-after'), '2');
      const numbers = qd.app.db.connectionSlots.figures().find(({ org }) => org === qd.owner.orgId);
      assert.deepEqual(numbers, { org: qd.owner.orgId, inside: 8, waiting: 0 });
      done.resolve();
      await Promise.all(hung);
      assert.equal((await qd.owner.get('/tokens')).status, 200);
    }),
    t.test('a body that drips on after its answer is cut off', async (t) => {
      const socket = connect(Number(new URL(qd.url).port), '127.0.0.1');
      t.after(() => socket.destroy());
      socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n{');
      const answer = await new Promise<string>((resolve) => socket.once('data', (data) => resolve(String(data))));
      assert.match(answer, /^HTTP\/1.1 200/);
      const drip = setInterval(() => socket.write('x'), 200);
      t.after(() => clearInterval(drip));
      socket.on('error', () => {});
      await new Promise<void>((resolve) => socket.once('close', () => resolve()));
    }),
  ]);
});

test('a body of very many short names is refused for their number, before anybody judges them', async (t) => {
  const qd = await quarterdeck(t);
  const names = Object.fromEntries(Array.from({ length: 3_000 }, (_, i) => [i.toString(36), 0]));
  const refused = await qd.owner.post('/oncall/schedules', names);
  assert.equal(refused.status, 400);
  assert.match(refused.body.error, /^the body has more than \d+ fields and values$/);
  const nested = await qd.owner.post('/oncall/services', '['.repeat(70));
  assert.deepEqual([nested.status, nested.body.error], [400, 'the body is nested too deeply']);
});

test('without a login a few KiB are read, and unusable bodies count by address', async (t) => {
  const qd = await quarterdeck(t);
  const path = '/organization/invitations/accept';
  const large = await qd.anonymous.post(path, { token: 'x'.repeat(10_000) });
  assert.equal(large.status, 413);
  let status = 0;
  for (let i = 0; i < 70 && status !== 429; i++) status = (await qd.anonymous.post(path, { unknown: i })).status;
  assert.equal(status, 429);
  assert.equal((await qd.owner.get('/me')).status, 200, 'whoever has a good token is not held up by the address');
});

test('bodies in memory have a share for each organization, and another’s still has room', async (t) => {
  const qd = await quarterdeck(t, { env: { QUARTERDECK_BODY_MEMORY: '32' } });
  const other = await qd.organization('other');
  const held = qd.app.bodies.open({ org: qd.owner.orgId, credential: 'another token of theirs' });
  assert.equal(held.reserve(8 * 2 ** 20), true);
  const more = qd.app.bodies.open({ org: qd.owner.orgId, credential: 'a third one' });
  assert.equal(more.reserve(6 * 2 ** 20), true);
  const refused = await qd.owner.post('/oncall/services', { name: 'shop' });
  assert.equal(refused.status, 503);
  assert.match(refused.body.error, /too many bytes of yours/);
  assert.equal((await other.post('/oncall/services', { name: 'shop' })).status, 201);
  held.release();
  assert.equal((await qd.owner.post('/oncall/services', { name: 'shop' })).status, 201);
  more.release();
  assert.deepEqual(qd.app.bodies.figures(), { total: 0, orgs: [] }, 'nothing stays counted of bodies that were answered');
});

test('bodies without a login leave room for those with one, from however many addresses they come', async (t) => {
  const qd = await quarterdeck(t, { env: { QUARTERDECK_BODY_MEMORY: '32' } });
  const { bodies } = qd.app;
  // The largest that anybody may send without a login, to /token, each a moment before its end.
  const held = Array.from({ length: 1_000 }, (_, n) => bodies.open({ address: `2001:db8:${n.toString(16)}::/48` }));
  assert.ok(
    held.some((each) => !each.reserve(65_536)),
    'at last there is no room for more of them',
  );
  assert.equal((await qd.owner.post('/oncall/services', { name: 'shop' })).status, 201);
  for (const each of held) each.release();
  assert.ok(bodies.open({ address: '203.0.113.1' }).reserve(65_536));
});

test('no organization is throttled for a caller without a login: the event loop’s time is counted for organizations alone', async (t) => {
  const qd = await quarterdeck(t);
  const { throttle: share } = qd.app.watch;
  const spent = new Set<string>();
  const spend = share.charge.bind(share);
  share.charge = (org, ms) => {
    spent.add(org);
    spend(org, ms);
  };
  assert.ok((await qd.anonymous.post('/organization/invitations/accept', { token: 'unknown' })).status >= 400);
  assert.equal((await qd.owner.get('/tokens')).status, 200);
  assert.deepEqual([...spent], [qd.owner.orgId]);
});
