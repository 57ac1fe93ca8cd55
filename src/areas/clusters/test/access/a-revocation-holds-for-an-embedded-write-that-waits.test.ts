import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck, type Someone } from '../../../../../test/harness/index.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { heldUpByOrganization, heldUpByToken, openRace } from '../../../../../test/harness/race.ts';
import { adminOf, kube, readyCluster, type Way } from '../support.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const configMap = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });

/** Who fetched the client configuration, with the custom role and the grant that gave them the right to it. */
interface Fetched {
  person: Someone;
  way: Way;
  role: string;
  grant: string;
}

/** How the right to a client configuration ends, and the row that holds this up: it has begun by then, and has not committed. */
interface End {
  how: string;
  end(by: Someone, of: Fetched, other: Someone): Promise<{ status: number }>;
  heldUpBy(of: Fetched): readonly [string, readonly unknown[]];
}

const ends: End[] = [
  {
    how: 'the token is revoked',
    end: (_, { person }, other) => other.delete(`/tokens/${person.tokenId}`),
    heldUpBy: ({ person }) => heldUpByToken(person.tokenId),
  },
  {
    how: 'the token is disabled',
    end: (_, { person }, other) => other.patch(`/tokens/${person.tokenId}`, { enabled: false }),
    heldUpBy: ({ person }) => heldUpByToken(person.tokenId),
  },
  {
    how: 'the grant is withdrawn',
    end: (by, { grant }) => by.delete(`/iam/grants/${grant}`),
    heldUpBy: ({ grant }) => ['select from identity.role_grant where id = $1 for update', [grant]],
  },
  {
    how: 'the custom role changes',
    end: (by, { role }) => by.patch(`/iam/roles/${role}`, { permissions: ['clusters.cluster.read'] }),
    heldUpBy: ({ role }) => ['select from identity.custom_role where id = $1 for update', [role]],
  },
  {
    how: 'the member is removed',
    end: (by, { person }) => by.delete(`/organization/members/${person.userId}`),
    heldUpBy: ({ person }) => heldUpByOrganization(person.orgId),
  },
];

const sharedLocks = `
  select count(*)::text as id from pg_locks l join pg_database d on d.oid = l.database
   where d.datname = current_database() and l.locktype = 'advisory' and l.mode = 'ShareLock' and l.granted`;

test('a revocation applies to a waiting embedded write, and waits for one that started before', async (t) => {
  const qd = await quarterdeck(t);
  const { owner } = qd;
  const race = await openRace(qd.connection);
  t.after(race.close);
  await readyCluster(owner, { name: 'prod' });
  const own = await adminOf(owner, 'prod');
  const kept = async (name: string) => (await kube(own, 'GET', `${maps}/${name}`)).status === 200;

  /** A plain member whom a custom role lets fetch a client configuration. */
  const fetch = async (name: string): Promise<Fetched> => {
    const person = await qd.member(owner, 'member');
    const made = await owner.post('/iam/roles', { name, permissions: ['clusters.cluster.read', 'clusters.kubeconfig.admin'] });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    const granted = await owner.post('/iam/grants', { subject: person.userId, role: made.body.id });
    assert.equal(granted.status, 201, JSON.stringify(granted.body));
    return { person, role: made.body.id, grant: granted.body.id, way: await adminOf(person, 'prod') };
  };

  for (const [n, { how, end, heldUpBy }] of ends.entries()) {
    await t.test(how, async () => {
      const of = await fetch(`role-${n}`);
      const other = await qd.narrowed(of.person, []);
      await race.hold(...heldUpBy(of));
      const revoked = end(owner, of, other);
      await race.untilWaiting(1);
      let over = 0;
      const late = kube(of.way, 'POST', maps, configMap(`late-${n}`)).finally(() => over++);
      await race.untilWaiting(2, () => over);
      assert.equal(over, 0, 'the write did not wait for the revocation under way');
      await race.release();
      assert.ok((await revoked).status < 300);
      assert.equal((await late).status, 401);
      assert.equal(await kept(`late-${n}`), false);
    });
  }

  await t.test('the member is demoted', async () => {
    const person = await qd.member(owner, 'admin');
    const way = await adminOf(person, 'prod');
    await race.hold(...heldUpByOrganization(person.orgId));
    const revoked = owner.patch(`/organization/members/${person.userId}`, { role: 'member' });
    await race.untilWaiting(1);
    const late = kube(way, 'POST', maps, configMap('late-demoted'));
    await race.untilWaiting(2);
    await race.release();
    assert.equal((await revoked).status, 200);
    assert.equal((await late).status, 401);
    assert.equal(await kept('late-demoted'), false);
  });

  await t.test('a write that started before', async () => {
    const of = await fetch('before');
    await race.hold('select from clusters.object_space for update');
    const early = kube(of.way, 'POST', maps, configMap('early'));
    // Work in the background may wait for the same rows: what counts is that the write shares the locks of its rights.
    await eventually(async () => (await race.find(sharedLocks, [])) !== '0');
    const revoked = owner.delete(`/iam/grants/${of.grant}`);
    await race.untilWaiting(2);
    await race.release();
    assert.equal((await early).status, 201);
    assert.equal((await revoked).status, 204);
    assert.equal((await kube(of.way, 'POST', maps, configMap('later'))).status, 401);
  });
});

test('continuous writes of a client configuration do not delay a revocation', async (t) => {
  const qd = await quarterdeck(t);
  const { owner } = qd;
  await readyCluster(owner, { name: 'prod' });
  const restless = await qd.member(owner, 'admin');
  const other = await qd.narrowed(restless, []);
  const way = await adminOf(restless, 'prod');
  let isOver = false;
  t.after(() => {
    isOver = true;
  });
  const begun = Promise.withResolvers<void>();
  let done = 0;
  const hand = async () => {
    while (!isOver) {
      const { status } = await kube(way, 'POST', maps, configMap(`map-${++done}`));
      if (status === 401) return;
      if (done > 50) begun.resolve();
    }
  };
  const hands = Promise.all(Array.from({ length: 8 }, hand));
  await begun.promise;
  const since = performance.now();
  assert.equal((await other.delete(`/tokens/${restless.tokenId}`)).status, 204);
  const tookMs = performance.now() - since;
  assert.ok(tookMs < 1_000, `it took ${tookMs} ms`);
  await hands;
});
