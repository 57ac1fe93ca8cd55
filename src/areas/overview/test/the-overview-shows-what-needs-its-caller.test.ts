import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { run } from '../../../kernel/db/index.ts';
import { covered, service } from '../../oncall/test/support.ts';
import { agent, made, monitor } from '../../uptime/test/support.ts';

// biome-ignore lint/suspicious/noExplicitAny: an answer of many shapes, as in the harness
const overviewOf = async (by: { get(path: string): Promise<{ status: number; body: any }> }) => made(by.get('/overview'));
const idsOf = (items: { id: string }[]) => items.map(({ id }) => id);

test('the overview shows what needs its caller, and to each caller what they may read', async (t) => {
  const qd = await quarterdeck(t, { env: { QUARTERDECK_UPTIME_MONITOR_QUOTA: '1', QUARTERDECK_CLUSTER_QUOTA: '0' } });
  const { owner } = qd;
  const other = await qd.organization('neighbour');
  const carla = await qd.member(owner, 'member');
  const write = (by: Parameters<Parameters<typeof qd.app.db.write>[0]>[0]) => run(by);

  const fresh = await overviewOf(owner);
  assert.deepEqual(
    fresh.firstSteps.map(({ step, done }: { step: string; done: boolean }) => `${step} ${done}`),
    ['service false', 'monitor false', 'schedule false', 'policy false', 'paging false', 'image false', 'domain false'],
    'a cluster is no first step where none may be made',
  );
  assert.deepEqual(fresh.unavailable, []);
  assert.deepEqual(
    { ...fresh.totals, onCall: fresh.onCall },
    { incidents: 0, down: 0, failing: 0, ends: 0, full: 0, onCall: [] },
    'nothing needs the owner of a new organization',
  );

  // On call: two people by turns, the owner first.
  const schedule = await made(
    owner.post('/oncall/schedules', {
      name: 'first line',
      timezone: 'Europe/Paris',
      handoff: { interval: 'daily', time: '09:00' },
      participants: [
        { userId: owner.userId, label: '' },
        { userId: carla.userId, label: 'Carla' },
      ],
    }),
  );
  const quiet = await service(owner);
  const { service: paged } = await covered(owner, { steps: [[{ kind: 'schedule', id: schedule.id, label: '' }, 300]] });
  const mine = await made(owner.post('/oncall/incidents', { serviceId: paged.id, title: 'the shop is away' }));
  const theirs = await made(owner.post('/oncall/incidents', { serviceId: quiet.id, title: 'slow' }));
  const foreign = await made(other.post('/oncall/incidents', { serviceId: (await service(other)).id, title: 'of a neighbour' }));
  while (!(await overviewOf(owner)).incidents.some((i: { pagesMe: boolean }) => i.pagesMe))
    await new Promise((again) => setTimeout(again, 50));

  // Down, failing, ending, full.
  const probe = await agent(qd, 'berlin');
  const watched = await monitor(owner, ['berlin'], { serviceId: quiet.id });
  await probe.fail(watched);
  await probe.fail(watched);
  const domain = await made(owner.post('/email/domains', { name: 'shop.example' }));
  const webhook = await made(owner.post('/email/webhooks', { url: 'https://hooks.example/a', eventTypes: ['email.bounced'] }));
  const registry = await made(owner.post('/registry/registries', { slug: 'shop', displayName: 'Shop' }));
  await made(owner.post('/organization/invitations', { email: 'new@shop.example' }));
  await made(owner.post('/tokens', { name: 'ends soon', expiresIn: 5 * 86_400 }));
  await made(owner.post('/tokens', { name: 'an hour', expiresIn: 3_600 }));
  await qd.app.db.write(async (tx) => {
    await write(tx)`update registry.registry set used_bytes = quota_bytes * 9 / 10 where slug = 'shop'`;
    await write(
      tx,
    )`update email.webhook set disabled_at = kernel.now(), disabled_reason = 'it failed for 5 days' where id = ${webhook.id ?? webhook.webhook.id}`;
    await write(tx)`insert into email.posture (org_id, paused_at, pause_reason) values (${owner.orgId}, kernel.now(), '12 % bounced')`;
  });

  const seen = await overviewOf(owner);
  assert.deepEqual(seen.unavailable, []);
  assert.equal(seen.onCall.length, 1);
  assert.deepEqual(
    { scheduleId: seen.onCall[0].scheduleId, next: seen.onCall[0].nextLabel, isSoon: seen.onCall[0].until > seen.at },
    { scheduleId: schedule.id, next: schedule.participants[1].label, isSoon: true },
  );
  assert.deepEqual(idsOf(seen.incidents), [mine.id, theirs.id], 'the one that pages the caller comes first, though it is older');
  assert.deepEqual(
    seen.down.map(({ id, serviceName, state }: Record<string, string>) => ({ id, serviceName, state })),
    [{ id: watched.id, serviceName: quiet.name, state: 'down' }],
  );
  const reasons = new Map(seen.failing.map(({ kind, reason }: Record<string, string>) => [kind, reason]));
  assert.match(reasons.get('domain') as string, /publish its DNS records/);
  assert.match(reasons.get('webhook') as string, /failed for 5 days/);
  assert.match(reasons.get('sending') as string, /12 % bounced/);
  assert.deepEqual(
    seen.full.map(({ kind, percent }: { kind: string; percent: number }) => `${kind} ${percent}`),
    ['monitors 100', 'registry 90'],
  );
  assert.deepEqual(
    seen.ends.map(({ kind, name, parents }: { kind: string; name: string; parents: string[] }) => [kind, name, ...parents].join(' ')),
    ['token ends soon', 'invitation new@shop.example'],
    'the soonest first, without what was made for an hour',
  );
  assert.equal(seen.changes.length, 10);
  assert.ok(!seen.firstSteps.find((s: { step: string }) => s.step === 'service').done === false);

  // The next turn: then Carla is on call, and a member without roles reads none of it.
  const bare = await overviewOf(carla);
  assert.deepEqual(Object.keys(bare).sort(), ['at', 'ends', 'firstSteps', 'totals', 'unavailable'], 'only what is their own');
  assert.deepEqual(bare.firstSteps, []);
  await made(owner.post('/iam/grants', { subject: carla.userId, role: 'oncall.viewer' }));
  const viewing = await overviewOf(carla);
  assert.deepEqual(viewing.onCall, []);
  assert.equal(viewing.nextShift.startsAt, seen.onCall[0].until);
  assert.equal(viewing.down, undefined, 'a viewer of on-call reads no monitors');

  // Narrowed to one service: its incident alone, and nothing of the whole organization.
  const narrow = await overviewOf(await qd.narrowed(owner, [{ role: 'oncall.viewer', resourceIds: [quiet.id] }]));
  assert.deepEqual(idsOf(narrow.incidents), [theirs.id]);
  assert.equal(narrow.onCall, undefined);
  assert.equal(narrow.changes, undefined);
  assert.deepEqual(narrow.ends, [], 'a narrowed token sees no other tokens of its person');

  // The neighbour sees their own, and the other way round.
  const abroad = await overviewOf(other);
  assert.deepEqual(idsOf(abroad.incidents), [foreign.id]);
  for (const id of [mine.id, watched.id, domain.id, registry.slug, schedule.id])
    assert.ok(!JSON.stringify({ ...abroad, at: '' }).includes(`"${id}"`), `${id} is not the neighbour’s`);

  // A service that the organization is not entitled to has no part in it.
  await qd.app.db.write(async (tx) => {
    await write(tx)`update identity.org set entitlements = '{uptime}' where id = ${owner.orgId}`;
    await qd.app.caches.drop(tx, '*');
  });
  const lesser = await overviewOf(owner);
  assert.ok(!lesser.failing.some(({ kind }: { kind: string }) => ['domain', 'webhook', 'sending', 'messages'].includes(kind)));
  assert.ok(!lesser.firstSteps.some(({ step }: { step: string }) => step === 'domain'));
  assert.equal(lesser.down.length, 1);
});
