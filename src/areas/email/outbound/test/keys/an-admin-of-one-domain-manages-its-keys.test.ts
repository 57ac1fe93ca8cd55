import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../../test/harness/index.ts';
import { openRace } from '../../../../../../test/harness/race.ts';
import { verifiedDomain } from '../../../test/sending-key.ts';

test('an admin of one domain mints, sees and revokes the keys of that domain alone', async (t) => {
  const qd = await quarterdeck(t, { env: { QUARTERDECK_ROLES: 'api' } });
  const { owner } = qd;
  const [mine, also, theirs] = [
    await verifiedDomain(qd, owner, 'mine.example.com'),
    await verifiedDomain(qd, owner, 'also.example.com'),
    await verifiedDomain(qd, owner, 'theirs.example.com'),
  ];
  const other = await qd.organization('other');
  const foreign = await verifiedDomain(qd, other, 'foreign.example.com');
  const admin = await qd.member(owner, 'member', 'domain-admin@example.com');
  const grant = async (role: string, resourceIds: string[]) =>
    (await owner.post('/iam/grants', { subject: admin.userId, role, resourceIds })).body.id as string;
  await grant('email.admin', [mine]);
  const grantOnAlso = await grant('email.admin', [also]);
  const mint = (domainIds?: string[], by = admin) => by.post('/email/keys', { name: 'shop', ...(domainIds ? { domainIds } : {}) });

  const made = await mint([mine]);
  assert.equal(made.status, 201, JSON.stringify(made.body));
  assert.deepEqual(made.body.sendKey.domainIds, [mine]);
  const both = await mint([mine, also]);
  assert.equal(both.status, 201);

  const unlimited = await mint();
  assert.deepEqual(
    [unlimited.status, unlimited.body.error],
    [
      403,
      'a key for every domain of the organization needs the permission email.key.admin on the whole organization; name in domainIds the domains that you administer',
    ],
  );
  const beside = await mint([mine, theirs]);
  assert.equal(beside.status, 403);
  assert.match(beside.body.error, new RegExp(`email\\.key\\.admin on ${theirs}`));
  const abroad = await mint([mine, foreign]);
  assert.deepEqual([abroad.status, abroad.body.error], [404, `unknown domain ${foreign} in domainIds`]);

  const hidden = [
    await mint(undefined, owner),
    await mint([theirs], owner),
    await mint([mine, theirs], owner),
    await mint([foreign], other),
  ];
  const idOf = ({ body }: { body: { sendKey: { id: string } } }) => body.sendKey.id;
  const listed = (await admin.get('/email/keys')).body.sendKeys.map(({ id }: { id: string }) => id);
  assert.deepEqual(listed, [idOf(both), idOf(made)], 'keys all of whose domains are theirs');

  const statuses = [];
  for (const key of hidden) statuses.push((await admin.delete(`/email/keys/${idOf(key)}`)).status);
  assert.deepEqual(statuses, [403, 403, 403, 404]);
  assert.equal((await owner.get('/email/keys')).body.sendKeys.length, 5, 'nothing was revoked');
  assert.equal((await admin.delete(`/email/keys/${idOf(made)}`)).status, 204);

  await t.test('an editor of the domain sees its keys and mints none', async () => {
    const editor = await qd.narrowed(owner, [{ role: 'email.editor', resourceIds: [mine, also] }]);
    assert.deepEqual((await editor.get('/email/keys')).body.sendKeys.length, 1);
    assert.equal((await mint([mine], editor)).status, 403);
    assert.equal((await editor.delete(`/email/keys/${idOf(both)}`)).status, 403);
  });

  await t.test('a grant that ends while the request waits mints and revokes nothing', async () => {
    const race = await openRace(qd.connection);
    t.after(race.close);
    await race.hold('select from identity.role_grant where id = $1 for update', [grantOnAlso]);
    const ended = owner.delete(`/iam/grants/${grantOnAlso}`);
    await race.untilWaiting(1);
    let over = 0;
    const waiting = [mint([also]), mint([mine, also]), admin.delete(`/email/keys/${idOf(both)}`)].map((each) => each.finally(() => over++));
    await race.untilWaiting(4, () => over);
    await race.release();
    assert.equal((await ended).status, 204);
    assert.deepEqual(
      (await Promise.all(waiting)).map(({ status }) => status),
      [403, 403, 403],
    );
    assert.deepEqual((await admin.get('/email/keys')).body.sendKeys, [], 'the key of both domains is no longer theirs to see');
    assert.ok(
      (await owner.get('/email/keys')).body.sendKeys.some(({ id }: { id: string }) => id === idOf(both)),
      'it goes on sending',
    );
  });
});
