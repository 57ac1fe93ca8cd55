import assert from 'node:assert/strict';
import { request } from 'node:https';
import { test } from 'node:test';
import { type Caller, caller, quarterdeck } from '../../../../../test/harness/index.ts';
import { removeAccess } from '../../tasks.ts';
import { adminOf, kube, readyCluster, type Way } from '../support.ts';

const maps = '/api/v1/namespaces/default/configmaps';

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

test('a token’s client configurations end at once with it; those of other tokens do not', async (t) => {
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
  const again = await adminOf(anna, 'prod'); // the first one is over for good once the task, which the demotion wakes, has run
  assert.equal(await status(again), 200);
  assert.equal((await owner.delete(`/organization/members/${anna.userId}`)).status, 204);
  assert.equal(await status(again), 401, 'removed');

  // A watch ends too.
  const token = await mint(owner);
  const way = await adminOf(token, 'prod');
  const watch = openWatch(way, maps);
  await watch.isOpen;
  assert.equal((await owner.delete(`/tokens/${token.id}`)).status, 204);
  await watch.ended; // the task was woken by the revocation, and its Secret is gone

  // The tokens' Secrets are deleted, and their rows too once no fetch with them can be running.
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
