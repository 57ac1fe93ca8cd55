import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';

test('a new token works at once, is listed newest first, slice by slice, and its key is never shown again', async (t) => {
  const { owner, member, clock } = await quarterdeck(t);
  const other = await member(owner, 'admin');
  const keys: string[] = [];
  for (let n = 1; n <= 5; n++) {
    const made = await owner.post('/tokens', { name: `  t${n} ` });
    assert.equal(made.status, 201);
    assert.equal(made.body.orgSlug, owner.orgSlug);
    assert.equal(made.headers.get('location'), `/api/v1/tokens/${made.body.id}`);
    keys.push(made.body.key);
    await clock.advance('1s'); // ids are in the order of time, to the millisecond
  }

  const all = (await owner.get('/tokens')).body;
  assert.equal(all.cursor, undefined);
  assert.deepEqual(all.tokens.map((x: { name: string }) => x.name).slice(0, 5), ['t5', 't4', 't3', 't2', 't1']);
  const text = JSON.stringify(all);
  for (const key of keys) assert.equal(text.includes(key), false);
  assert.equal(all.tokens[0].start, keys[4]!.slice(0, 'qd_pat_'.length + 4));
  assert.equal(all.tokens[0].orgSlug, 'default');
  assert.deepEqual(all.tokens[0].scope, []);
  assert.equal(all.tokens[0].lastRequest, null);

  const names: string[] = [];
  let cursor: string | undefined;
  do {
    const slice = (await owner.get(`/tokens?limit=2${cursor ? `&cursor=${cursor}` : ''}`)).body;
    assert.ok(slice.tokens.length <= 2);
    names.push(...slice.tokens.map((x: { name: string }) => x.name));
    cursor = slice.cursor;
  } while (cursor);
  assert.deepEqual(
    names,
    all.tokens.map((x: { name: string }) => x.name),
  );

  // Everybody sees their own; a place in somebody else’s list is a place in time, and shows nothing of it.
  const theirs = (await other.get('/tokens')).body.tokens;
  assert.deepEqual(
    theirs.map((x: { id: string }) => x.id),
    [other.tokenId],
  );
  const foreign = (await owner.get('/tokens?limit=1')).body.cursor;
  assert.ok((await other.get(`/tokens?cursor=${foreign}`)).body.tokens.every((x: { id: string }) => x.id === other.tokenId));
});

test('the list that is remembered changes with every change of it', async (t) => {
  const { owner } = await quarterdeck(t);
  const names = async () =>
    (await owner.get('/tokens')).body.tokens.map((x: { name: string; enabled: boolean }) => `${x.name}${x.enabled ? '' : ' (off)'}`);
  assert.deepEqual((await names()).includes('a'), false);
  const { id } = (await owner.post('/tokens', { name: 'a' })).body;
  assert.ok((await names()).includes('a'));
  await owner.patch(`/tokens/${id}`, { name: 'b' });
  assert.ok((await names()).includes('b'));
  await owner.patch(`/tokens/${id}`, { enabled: false });
  assert.ok((await names()).includes('b (off)'));
  // A role’s name shows in the list of whoever is narrowed to it.
  const role = (await owner.post('/iam/roles', { name: 'Watchers', permissions: ['uptime.service.read'] })).body;
  await owner.patch(`/tokens/${id}`, { scope: [{ role: role.id }] });
  const roleNames = async () =>
    (await owner.get('/tokens')).body.tokens.find((x: { id: string }) => x.id === id).scope.map((s: { roleName: string }) => s.roleName);
  assert.deepEqual(await roleNames(), ['Watchers']);
  await owner.patch(`/iam/roles/${role.id}`, { name: 'Lookouts' });
  assert.deepEqual(await roleNames(), ['Lookouts']);
  await owner.delete(`/tokens/${id}`);
  assert.equal(
    (await names()).some((n: string) => n.startsWith('b')),
    false,
  );
});
