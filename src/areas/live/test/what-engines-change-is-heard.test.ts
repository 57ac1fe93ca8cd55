import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Quarterdeck } from '../../../../test/harness/index.ts';
import { quarterdeckOutside } from '../../../../test/matrix/outside.ts';
import { pushedImage } from '../../../../test/matrix/recipes/image.ts';
import { letter, mailScene, untilState } from '../../email/test/mail-scene.ts';
import { covered, eventually, made, source, user, ward } from '../../oncall/test/support.ts';
import { watched } from '../../uptime/test/support.ts';

/** The hints of an organization so far, by kind. */
function hintsOf({ app, owner }: Quarterdeck, org = owner.orgId): Map<string, number> {
  const heard = new Map<string, number>();
  app.waker.onNews((of, kinds) => {
    if (of === org) for (const kind of kinds) heard.set(kind, (heard.get(kind) ?? 0) + 1);
  });
  return heard;
}

test('an alert, the pages that it leads to, and its end are heard', async (t) => {
  const qd = await ward(t);
  const { service } = await covered(qd.owner, { steps: [[user(qd.owner), 300]] });
  const from = await source(qd.owner, qd.url, service.id);
  await made(qd.owner.put('/oncall/me/settings', { rules: [{ channel: 'email', delaySeconds: 0 }] }));
  const heard = hintsOf(qd);

  const alerts = [
    { status: 'firing', labels: { alertname: 'Down' }, annotations: {}, startsAt: new Date(0).toISOString(), fingerprint: 'a' },
  ];
  await made(from.deliver({ version: '4', status: 'firing', alerts }));
  assert.ok(heard.get('oncall.incident')! >= 1 && heard.get('oncall.source') === 1);
  const { incidents } = await made(qd.owner.get('/oncall/incidents'));
  const sent = await eventually(async () => {
    const { pages } = await made(qd.owner.get(`/oncall/incidents/${incidents[0].id}`));
    return pages[0]?.state === 'sent';
  });
  assert.ok(sent);
  await eventually(async () => heard.get('oncall.incident')! >= 3); // opened, being sent, sent
});

test('a monitor that goes down and comes back is heard, and one that stays as it is is not', async (t) => {
  const { qd } = await quarterdeckOutside(t);
  const { agents, monitor } = await watched(qd, ['fra']);
  const fra = agents[0]!;
  await fra.session();
  await fra.pass(monitor);
  const heard = hintsOf(qd);
  await fra.pass(monitor);
  await fra.pass(monitor);
  assert.equal(heard.get('uptime.monitor'), undefined, 'a result that changes nothing is no news');
  for (let n = 0; n < 3; n++) await fra.fail(monitor);
  assert.ok(heard.get('uptime.monitor')! >= 1 && heard.get('uptime.service')! >= 1);
});

test('a push and what removes it are heard', async (t) => {
  const { qd, fakes } = await quarterdeckOutside(t);
  const foreigner = await qd.organization('foreigners');
  await made(qd.owner.post('/registry/registries', { slug: 'acme' }));
  const heard = hintsOf(qd);
  const { repo } = await pushedImage({ qd, fakes, at: qd.owner, caller: qd.owner, foreigner }, { params: { slug: 'acme' } });
  assert.ok(heard.get('registry.image')! >= 1 && heard.get('registry.registry')! >= 1);
  heard.clear();
  await made(qd.owner.delete(`/registry/registries/acme/repositories?repo=${encodeURIComponent(repo)}`));
  assert.ok(heard.get('registry.image')! >= 1);
});

test('mail is heard when it is taken and when it has left', async (t) => {
  const { qd, key } = await mailScene(t);
  const heard = hintsOf(qd);
  const { id } = await made(key.post('/email/send', letter()));
  assert.ok(heard.get('email.message')! >= 1);
  await untilState(qd, id, 'delivered', 'sent');
  await eventually(async () => heard.get('email.message')! >= 2);
});

test('people who come by a link and services of two areas are heard', async (t) => {
  const { qd } = await quarterdeckOutside(t);
  const heard = hintsOf(qd);
  const { link } = await made(qd.owner.post('/organization/invitations', { email: 'new@acme.example' }));
  heard.clear();
  assert.equal((await qd.anonymous.post('/organization/invitations/accept', { secret: link.split('/').pop() })).status, 201);
  assert.ok(heard.get('organization.member')! >= 1 && heard.get('tokens.token')! >= 1);
  await made(qd.owner.post('/uptime/services', { name: 'web' }));
  assert.ok(heard.get('uptime.service')! >= 1 && heard.get('oncall.service')! >= 1);
});

test('a cluster is heard while it becomes ready, and when it is gone', async (t) => {
  const { qd } = await quarterdeckOutside(t);
  const heard = hintsOf(qd);
  await made(qd.owner.post('/clusters', { name: 'one', tier: 'small' }));
  const phase = async () => (await qd.owner.get('/clusters/one')).body.phase;
  await eventually(async () => (await phase()) === 'ready', { withinMs: 60_000 });
  await eventually(async () => heard.get('clusters.cluster')! >= 3); // made, provisioning, ready
  heard.clear();
  await made(qd.owner.delete('/clusters/one'));
  await eventually(async () => (await qd.owner.get('/clusters/one')).status === 404, { withinMs: 60_000 });
  await eventually(async () => heard.get('clusters.cluster')! >= 2); // to be deleted, gone
});
