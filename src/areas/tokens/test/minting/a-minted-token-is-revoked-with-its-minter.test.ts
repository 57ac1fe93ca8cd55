import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Caller, caller, quarterdeck } from '../../../../../test/harness/index.ts';
import { run } from '../../../../kernel/db/index.ts';

interface Minted extends Caller {
  id: string;
}

/** A token of the owner's, one that it minted, and one that this one minted. */
async function threeGenerations(url: string, owner: Caller): Promise<[Minted, Minted, Minted]> {
  const mint = async (by: Caller, name: string): Promise<Minted> => {
    const { id, key } = (await by.post('/tokens', { name })).body;
    return { id, ...caller(url, key) };
  };
  const minter = await mint(owner, 'minter');
  const child = await mint(minter, 'child');
  return [minter, child, await mint(child, 'grandchild')];
}

const statuses = (line: Caller[]) => Promise.all(line.map(async (who) => (await who.get('/me')).status));
const idsOf = async (who: Caller): Promise<string[]> => (await who.get('/tokens')).body.tokens.map((x: { id: string }) => x.id);

test('a revoked token takes all that it minted with it, on record', async (t) => {
  const { owner, url } = await quarterdeck(t);
  const [minter, child, grandchild] = await threeGenerations(url, owner);
  const sibling = caller(url, (await owner.post('/tokens', { name: 'sibling' })).body.key);
  assert.deepEqual(await statuses([minter, child, grandchild]), [200, 200, 200]);
  const shown = (await owner.get('/tokens')).body.tokens as { id: string; mintedBy?: string }[];
  const minterOf = (id: string) => shown.find((x) => x.id === id)?.mintedBy;
  assert.deepEqual([minter.id, child.id, grandchild.id].map(minterOf), [owner.tokenId, minter.id, child.id]);
  assert.equal(minterOf(owner.tokenId), undefined);

  assert.equal((await owner.delete(`/tokens/${minter.id}`)).status, 204);
  assert.deepEqual(await statuses([minter, child, grandchild]), [401, 401, 401]);
  assert.equal((await sibling.get('/me')).status, 200);
  const left = await idsOf(owner);
  for (const { id } of [minter, child, grandchild]) {
    assert.equal(left.includes(id), false);
    assert.equal((await owner.patch(`/tokens/${id}`, { enabled: true })).status, 404);
  }
  const { entries } = (await owner.get('/organization/audit')).body;
  const ended = entries.filter((e: { action: string }) => e.action === 'tokens.token.delete');
  assert.deepEqual(Object.fromEntries(ended.map((e: { target: string; detail: unknown }) => [e.target, e.detail])), {
    [minter.id]: { name: 'minter' },
    [child.id]: { name: 'child', with: minter.id },
    [grandchild.id]: { name: 'grandchild', with: minter.id },
  });
});

test('what is revoked in the middle leaves what stands above it', async (t) => {
  const { owner, url } = await quarterdeck(t);
  const [minter, child, grandchild] = await threeGenerations(url, owner);
  assert.equal((await grandchild.delete(`/tokens/${child.id}`)).status, 204); // unnarrowed: it is its person
  assert.deepEqual(await statuses([minter, child, grandchild]), [200, 401, 401]);
});

test('a token that is switched off switches off what it minted, until it is switched on', async (t) => {
  const { owner, url } = await quarterdeck(t);
  const line = await threeGenerations(url, owner);
  const [minter, child] = line;
  assert.deepEqual(await statuses(line), [200, 200, 200]);
  await owner.patch(`/tokens/${minter.id}`, { enabled: false });
  assert.deepEqual(await statuses(line), [401, 401, 401]);
  await owner.patch(`/tokens/${child.id}`, { enabled: true }); // its own switch is on, and helps nothing
  assert.deepEqual(await statuses(line), [401, 401, 401]);
  await owner.patch(`/tokens/${minter.id}`, { enabled: true });
  assert.deepEqual(await statuses(line), [200, 200, 200]);
});

test('a token that is narrowed narrows what it minted, and no edit widens that beyond it', async (t) => {
  const { owner, url } = await quarterdeck(t);
  const [minter, child, grandchild] = await threeGenerations(url, owner);
  const may = (who: Caller) => Promise.all(['/uptime/services', '/oncall/services'].map(async (path) => (await who.get(path)).status));
  assert.deepEqual(await may(grandchild), [200, 200]);
  await owner.patch(`/tokens/${minter.id}`, { scope: [{ role: 'uptime.viewer' }] });
  for (const who of [minter, child, grandchild]) assert.deepEqual(await may(who), [200, 403]);

  for (const { id } of [child, grandchild]) {
    const wider = await owner.patch(`/tokens/${id}`, { scope: [{ role: 'oncall.viewer' }] });
    assert.equal(wider.status, 403);
    assert.match(wider.body.error, /was minted by a narrowed one, and never holds more than it; mint another/);
  }
  await owner.patch(`/tokens/${minter.id}`, { scope: [{ role: 'uptime.viewer' }, { role: 'oncall.viewer' }] });
  assert.equal((await owner.patch(`/tokens/${child.id}`, { scope: [{ role: 'oncall.viewer' }] })).status, 200);
  for (const who of [child, grandchild]) assert.deepEqual(await may(who), [403, 200]);
});

test('a token from before lines were kept stands by itself, and a child whose minter is gone opens nothing', async (t) => {
  const { owner, url, app } = await quarterdeck(t);
  const [minter, child] = await threeGenerations(url, owner);
  await app.db.write(async (tx) => {
    await run(tx)`update identity.token set minters = default where id = ${minter.id}`;
    await app.caches.drop(tx, '*');
  });
  assert.equal((await minter.get('/me')).status, 200);
  await app.db.write(async (tx) => {
    await run(tx)`delete from identity.token where id = ${minter.id}`; // as nothing of ours does
    await app.caches.drop(tx, '*');
  });
  assert.equal((await child.get('/me')).status, 401);
});
