import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { quarterdeck } from '../../../../../../test/harness/index.ts';
import { run } from '../../../../../kernel/db/index.ts';
import { verifiedDomain } from '../../../test/sending-key.ts';
import { endpointAt, ofLoopback } from '../../../webhooks/test/listening.ts';
import { decideDestination } from '../../rules/destination.ts';
import { findRoute } from '../../rules/routing.ts';

test('an address tells where its mail would go, and why it would not', async (t) => {
  const qd = await quarterdeck(t, { env: ofLoopback });
  const { owner, app } = qd;
  const domainId = await verifiedDomain(qd, owner, 'in.example.com');
  const { id: endpointId } = await endpointAt(owner, 'http://127.0.0.1:9/hook', 'email.bounced');
  const match = async (address: string, by = owner) => {
    const { status, body } = await by.post('/email/routes/match', { address });
    assert.equal(status, 200, JSON.stringify(body));
    return body;
  };

  assert.deepEqual(await match('support@in.example.com'), {
    address: 'support@in.example.com',
    domainId,
    outcome: 'not_received',
    sentence: 'it is refused with 550, because no domain of the organization receives it; register the domain and arm it for receiving',
  });
  await owner.post(`/email/domains/${domainId}/receive`);
  assert.equal((await match('support@in.example.com')).outcome, 'no_route');

  const make = async (pattern: string) => (await owner.post('/email/routes', { domainId, pattern, endpointId })).body.id as string;
  const [exact, prefix] = [await make('support'), await make('sup*')];
  const found = await match('Support@IN.example.com');
  assert.deepEqual(
    [found.address, found.outcome, found.routeId, found.pattern, found.endpointId, found.endpointDisabled],
    ['Support@in.example.com', 'routed', exact, 'support', endpointId, false],
  );
  assert.equal((await match('supply@in.example.com')).routeId, prefix);
  assert.equal((await match('sales@in.example.com')).outcome, 'no_route');

  await app.db.write((tx) => run(tx)`update email.domain set send_state = 'failed' where id = ${domainId}`);
  const unproven = await match('support@in.example.com');
  assert.deepEqual([unproven.outcome, unproven.routeId], ['unverified', exact]);
  await app.db.write((tx) => run(tx)`update email.domain set send_state = 'verified' where id = ${domainId}`);
  await app.db.write((tx) => run(tx)`update email.webhook set disabled_at = kernel.now() where id = ${endpointId}`);
  assert.equal((await match('support@in.example.com')).endpointDisabled, true);

  assert.equal((await match('x@nowhere.example')).outcome, 'not_received');
  assert.equal((await match('abc@bounce.in.example.com')).outcome, 'return_path');
  assert.equal((await match('abc@bounce.nowhere.example')).outcome, 'not_received');

  // A domain of another organization, or one that the caller may not see, is as unknown as any.
  const neighbour = await qd.organization('neighbour');
  const foreign = await match('support@in.example.com', neighbour);
  assert.deepEqual([foreign.outcome, foreign.domainId], ['not_received', undefined]);
  const elsewhere = await qd.narrowed(owner, [{ role: 'email.viewer', resourceIds: ['dom_other'] }]);
  assert.equal((await match('support@in.example.com', elsewhere)).outcome, 'not_received');
  assert.equal(
    (await (await qd.narrowed(owner, [{ role: 'uptime.viewer' }])).post('/email/routes/match', { address: 'a@b.example' })).status,
    403,
  );
  for (const [address, sentence] of [
    ['support', 'address must be an address such as ada@example.com'],
    ['a b@in.example.com', 'address must be an address such as ada@example.com'],
    ['a@localhost', 'address must have a domain such as example.com behind the @'],
  ]) {
    const refused = await owner.post('/email/routes/match', { address });
    assert.deepEqual([refused.status, refused.body.error], [400, sentence]);
  }
});

test('a domain that is armed, verified and entitled decides by its closest pattern alone', () => {
  const local = fc.stringMatching(/^[a-c]{1,4}$/);
  const pattern = fc.oneof(
    local,
    local.map((text) => `${text}*`),
    fc.constant('*'),
  );
  const routes = fc
    .array(pattern, { maxLength: 6 })
    .map((all) => [...new Set(all)].map((each, i) => ({ id: `r${i}`, pattern: each, endpoint_id: `e${i}` })));
  fc.assert(
    fc.property(routes, local, fc.boolean(), fc.boolean(), fc.boolean(), (all, to, isArmed, isVerified, isEntitled) => {
      const domain = {
        org_id: 'o',
        id: 'd',
        send_state: isVerified ? 'verified' : 'failed',
        receive_state: isArmed ? 'pending' : 'none',
        routes: all,
        isEntitled,
      };
      const route = findRoute(all, to);
      const { kind, ...decided } = decideDestination(domain, to);
      const expected = !isArmed ? 'foreign' : !route || !isEntitled ? 'unknown' : isVerified ? 'route' : 'unproven';
      assert.equal(kind, expected);
      if (kind === 'route') assert.deepEqual(decided, { org: 'o', domainId: 'd', routeId: route!.id, endpointId: route!.endpoint_id });
    }),
  );
});
