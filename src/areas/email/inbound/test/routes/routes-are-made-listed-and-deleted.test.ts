import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../../test/harness/index.ts';
import { sql } from '../../../../../kernel/sql.ts';
import { verifiedDomain } from '../../../test/sending-key.ts';
import { endpointAt, ofLoopback } from '../../../webhooks/test/listening.ts';

test('routes are made on armed domains, lead to endpoints of the organization, and go with their domain', async (t) => {
  const qd = await quarterdeck(t, { env: ofLoopback });
  const { owner } = qd;
  const domainId = await verifiedDomain(qd, owner, 'in.example.com');
  const { id: endpointId } = await endpointAt(owner, 'http://127.0.0.1:9/hook', 'email.bounced');
  const make = (pattern: string, more: object = {}) => owner.post('/email/routes', { domainId, pattern, endpointId, ...more });

  const early = await make('*');
  assert.equal(early.status, 409);
  assert.match(early.body.error, /in\.example\.com is not armed for receiving/);

  assert.equal((await owner.post(`/email/domains/${domainId}/receive`)).body.receiveState, 'pending');
  const made = await make('Support');
  assert.equal(made.status, 201);
  assert.deepEqual(made.body, { id: made.body.id, domainId, pattern: 'support', endpointId, createdAt: made.body.createdAt });
  const again = await make('SUPPORT');
  assert.equal(again.status, 409, 'letter case makes no other pattern');
  assert.match(again.body.error, /has a route for support already/);
  assert.equal((await make('sup*')).status, 201);
  for (const bad of ['a b', '*a', 'a**', 'a*b', 'a@b', '']) assert.equal((await make(bad)).status, 400, bad);
  // No address that is received here has these before its @, so the route would match nothing; some would also hide what they are.
  const never = [
    'a\u0007',
    'a\u202eb*',
    'İ',
    'ünal',
    '"quoted"',
    '<a>',
    '.a',
    'a.',
    'a..b',
    'a..*',
    '.*',
    'x'.repeat(65),
    `${'x'.repeat(65)}*`,
  ];
  for (const bad of never) assert.equal((await make(bad)).status, 400, JSON.stringify(bad));
  const refused = await make('a b');
  assert.match(refused.body.error, /^pattern is not written as it must be: the local part of an address, .*: `support`, `team-\*`, `\*`$/);
  const long = await make('x'.repeat(65));
  assert.equal(long.body.error, 'pattern must have at most 64 characters before the @; a prefix ends in a star');
  for (const good of ['x'.repeat(64), `${'x'.repeat(64)}*`, 'a.*', "o'brien+news_1-2=3"])
    assert.equal((await make(good)).status, 201, good);

  const other = await qd.organization('other');
  const foreign = await endpointAt(other, 'http://127.0.0.1:9/hook', 'email.bounced');
  const toForeign = await make('x', { endpointId: foreign.id });
  assert.deepEqual([toForeign.status, /endpointId/.test(toForeign.body.error)], [404, true]);
  const ofForeign = await other.post('/email/routes', { domainId, pattern: 'y', endpointId: foreign.id });
  assert.deepEqual([ofForeign.status, /domainId/.test(ofForeign.body.error)], [404, true]);
  assert.equal((await other.delete(`/email/routes/${made.body.id}`)).status, 404);
  assert.deepEqual((await other.get('/email/routes')).body, { routes: [] });

  const held = await owner.delete(`/email/webhooks/${endpointId}`);
  assert.equal(held.status, 409);
  assert.match(held.body.error, /the route support@in\.example\.com leads to this endpoint/);
  assert.equal((await owner.delete(`/email/routes/${made.body.id}`)).status, 204);
  assert.equal((await owner.delete(`/email/routes/${made.body.id}`)).status, 404);
  assert.equal((await owner.delete(`/email/webhooks/${endpointId}`)).status, 409, 'another one leads there');

  assert.equal((await owner.delete(`/email/domains/${domainId}`)).status, 204);
  assert.deepEqual((await owner.get('/email/routes')).body, { routes: [] });
  assert.equal((await owner.delete(`/email/webhooks/${endpointId}`)).status, 204);
  const { rows } = await qd.app.db.read((tx) =>
    tx.query(sql`select action from kernel.audit where action like 'email.route.%' order by id`),
  );
  assert.deepEqual(
    rows.map((r) => (r as { action: string }).action),
    [...Array.from({ length: 6 }, () => 'email.route.create'), 'email.route.delete'],
  );
});

test('a member limited to one domain sees and changes only its routes', async (t) => {
  const qd = await quarterdeck(t, { env: ofLoopback });
  const { owner } = qd;
  const { id: endpointId } = await endpointAt(owner, 'http://127.0.0.1:9/hook', 'email.bounced');
  const armed = async (name: string) => {
    const id = await verifiedDomain(qd, owner, name);
    await owner.post(`/email/domains/${id}/receive`);
    return id;
  };
  const [mine, theirs] = [await armed('mine.example.com'), await armed('theirs.example.com')];
  const route = async (domainId: string) => (await owner.post('/email/routes', { domainId, pattern: '*', endpointId })).body;
  const [own, foreign] = [await route(mine), await route(theirs)];

  const narrow = await qd.narrowed(owner, [{ role: 'email.editor', resourceIds: [mine] }]);
  assert.deepEqual((await narrow.get('/email/routes')).body.routes, [own]);
  assert.equal((await narrow.post('/email/routes', { domainId: theirs, pattern: 'x', endpointId })).status, 403);
  assert.equal((await narrow.delete(`/email/routes/${foreign.id}`)).status, 403);
  assert.equal((await narrow.delete(`/email/routes/${own.id}`)).status, 204);
});
