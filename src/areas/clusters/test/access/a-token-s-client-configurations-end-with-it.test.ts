import assert from 'node:assert/strict';
import { request } from 'node:https';
import { test } from 'node:test';
import Type from 'typebox';
import { type Caller, caller, quarterdeck } from '../../../../../test/harness/index.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { row } from '../../../../kernel/db/index.ts';
import { removeAccess } from '../../tasks.ts';
import { adminOf, kube, readyCluster, type Way } from '../support.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const configMap = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });

/** Resolves when the server ends it. */
const openWatch = ({ server, ca, token }: Way, path: string) => {
  const { promise: isOpen, resolve: opened, reject } = Promise.withResolvers<void>();
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const asked = request(`${server}${path}?watch=1`, { ca, agent: false, headers: { authorization: `Bearer ${token}` } }, (answer) => {
    opened();
    answer.resume().on('close', end).on('error', end);
  });
  asked.on('error', reject).end();
  return { isOpen, ended };
};

test('a token’s client configurations end with it, at once, and nobody else’s do', async (t) => {
  const qd = await quarterdeck(t);
  const { owner } = qd;
  await readyCluster(owner, { name: 'prod' });
  const mint = async (by: Caller, body: object = {}) => {
    const made = await by.post('/tokens', { name: 'ci', ...body });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    return { id: made.body.id as string, ...caller(qd.url, made.body.key) };
  };
  const status = async (way: Way) => (await kube(way, 'GET', '/api/v1/nodes')).status;
  const own = await adminOf(owner, 'prod');

  // Revoked, switched off, ended; of itself or of the one that minted it. Nothing has run in between.
  const ends: [what: string, end: (id: string) => Promise<unknown>][] = [
    ['revoked', (id) => owner.delete(`/tokens/${id}`)],
    ['switched off', (id) => owner.patch(`/tokens/${id}`, { enabled: false })],
  ];
  for (const [what, end] of ends) {
    const token = await mint(owner);
    const child = await mint(token);
    const ways = [await adminOf(token, 'prod'), await adminOf(child, 'prod')];
    for (const way of ways) assert.equal(await status(way), 200);
    await end(token.id);
    for (const way of ways) assert.equal(await status(way), 401, what);
    assert.equal(await status(own), 200, 'another token of the same person');
  }

  const short = await mint(owner, { expiresIn: 1_200 });
  const ending = await adminOf(short, 'prod');
  assert.equal(await status(ending), 200);
  await qd.clock.advance('21m');
  assert.equal(await status(ending), 401, 'it has ended');

  // A demotion and a removal.
  const anna = await qd.member(owner, 'admin', 'anna@example.com');
  const hers = await adminOf(anna, 'prod');
  assert.equal((await owner.patch(`/organization/members/${anna.userId}`, { role: 'member' })).status, 200);
  assert.equal(await status(hers), 401, 'demoted');
  await owner.patch(`/organization/members/${anna.userId}`, { role: 'admin' });
  // The task may have removed what was fetched before: it is fetched anew.
  let again = hers;
  await eventually(async () => {
    again = await adminOf(anna, 'prod');
    return (await status(again)) === 200;
  });
  assert.equal((await owner.delete(`/organization/members/${anna.userId}`)).status, 204);
  assert.equal(await status(again), 401, 'removed');

  // A write that waits while its token is revoked has no effect; a watch ends.
  const token = await mint(owner);
  const way = await adminOf(token, 'prod');
  const watch = openWatch(way, maps);
  await watch.isOpen;
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const { promise: isLocked, resolve: locked } = Promise.withResolvers<void>();
  const One = Type.Object({ one: Type.Integer() });
  const blocker = qd.app.db.write(async (tx) => {
    await row(tx, One)`select 1 as one from clusters.object_space for update`;
    locked();
    await held;
  });
  await isLocked;
  const waiting = kube(way, 'POST', maps, configMap('late'));
  // The write shares the locks of the token's rights: the revocation waits for it, and a write after it finds none.
  const isWaiting = (query: string) =>
    qd.app.db.read(
      (tx) => row(tx, One)`
      select 1 as one from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock' and query like ${query} limit 1`,
    );
  await eventually(() => isWaiting('%clusters.object_space%'));
  const revoked = owner.delete(`/tokens/${token.id}`);
  await eventually(() => isWaiting('%pg_advisory_xact_lock%'));
  release();
  await blocker;
  const [first, second] = [await waiting, await revoked];
  assert.equal(second.status, 204);
  assert.equal(first.status, 201, 'it was there before the revocation');
  assert.equal((await kube(way, 'POST', maps, configMap('later'))).status, 401);
  assert.equal((await kube(own, 'GET', `${maps}/later`)).status, 404);
  await watch.ended; // the task was woken by the revocation, and its Secret is gone

  // What stands for the tokens is removed, and forgotten when nobody can be fetching with one any more.
  await qd.clock.advance('2m');
  await qd.perform(removeAccess);
  const secrets = (await kube(own, 'GET', '/api/v1/namespaces/quarterdeck-system/secrets')).body.items;
  assert.deepEqual(
    secrets
      .map(({ metadata }: { metadata: { name: string } }) => metadata.name)
      .filter((name: string) => name.startsWith('quarterdeck-token-')),
    [`quarterdeck-token-${owner.tokenId.toLowerCase().replaceAll('_', '-')}`],
  );
});
