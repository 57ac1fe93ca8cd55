import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { openRace } from '../../../../../test/harness/race.ts';
import { adminOf, kube, readyCluster } from '../support.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const configMap = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });

test('a grant, a role and a token end after the writes under way by a client configuration, and before all others', async (t) => {
  const qd = await quarterdeck(t);
  const { owner } = qd;
  const race = await openRace(qd.connection);
  t.after(race.close);
  await readyCluster(owner, { name: 'prod' });
  const own = await adminOf(owner, 'prod');

  const permissions = ['clusters.cluster.read', 'clusters.kubeconfig.admin'];
  let made = 0;
  const someone = async () => {
    const role = await owner.post('/iam/roles', { name: `kube ${++made}`, permissions });
    assert.equal(role.status, 201, JSON.stringify(role.body));
    const anna = await qd.member(owner, 'member');
    const grant = await owner.post('/iam/grants', { subject: anna.userId, role: role.body.id });
    assert.equal(grant.status, 201, JSON.stringify(grant.body));
    return { anna, role: role.body.id as string, grant: grant.body.id as string };
  };
  type Who = Awaited<ReturnType<typeof someone>>;
  const ends: [what: string, end: (who: Who) => Promise<{ status: number }>][] = [
    ['grant', ({ grant }) => owner.delete(`/iam/grants/${grant}`)],
    ['role', ({ role }) => owner.patch(`/iam/roles/${role}`, { permissions: permissions.slice(0, 1) })],
    ['member', ({ anna }) => owner.delete(`/organization/members/${anna.userId}`)],
    ['token', ({ anna }) => anna.delete(`/tokens/${anna.tokenId}`)],
  ];
  for (const [what, end] of ends) {
    const who = await someone();
    const way = await adminOf(who.anna, 'prod');
    // The write has checked its rights when it waits for the table.
    await race.hold('lock table clusters.object in share mode');
    const order: string[] = [];
    const writing = kube(way, 'POST', maps, configMap(`early-${what}`)).finally(() => order.push('write'));
    await race.untilWaiting(1);
    const ended = end(who).finally(() => order.push('end'));
    await race.untilWaiting(2, () => order.length);
    assert.deepEqual(order, [], `${what}: it ended while a write was under way`);
    await race.release();
    assert.equal((await writing).status, 201, what);
    assert.ok([200, 204].includes((await ended).status), what);
    assert.equal((await kube(way, 'POST', maps, configMap(`late-${what}`))).status, 401, what);
    assert.equal((await kube(own, 'GET', `${maps}/late-${what}`)).status, 404, what);
  }
});
