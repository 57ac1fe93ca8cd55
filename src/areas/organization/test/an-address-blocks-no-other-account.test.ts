import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Answer, caller, type Quarterdeck, quarterdeck, type Someone } from '../../../../test/harness/index.ts';
import { browserLike } from '../../../../test/harness/visitor.ts';
import { actingOperator } from '../../../identity/engine/acting.ts';
import { lockOrg } from '../../../identity/store/organizations.ts';
import { run } from '../../../kernel/db/index.ts';
import { addMember } from '../engine/membership.ts';
import { deleteExpired } from '../tasks.ts';

const invite = async (as: Someone, email: string): Promise<string> => {
  const { status, body } = await as.post('/organization/invitations', { email });
  assert.equal(status, 201, JSON.stringify(body));
  return body.link.split('/').pop();
};
const acceptBy =
  (qd: Quarterdeck) =>
  (secret: string): Promise<Answer> =>
    qd.anonymous.post('/organization/invitations/accept', { secret });
const joined = async (answer: Promise<Answer>): Promise<{ userId: string; key: string }> => {
  const { status, body } = await answer;
  assert.equal(status, 201, JSON.stringify(body));
  return body;
};
const countAccounts = (qd: Quarterdeck, email: string) =>
  qd.app.db.read((tx) => run(tx)`select 1 from identity.account where lower(email) = lower(${email})`);

test('somebody who was removed can be invited again: as the same person, with nothing of what they held', async (t) => {
  const qd = await quarterdeck(t);
  const accept = acceptBy(qd);
  const before = await joined(accept(await invite(qd.owner, 'bob@example.com')));
  assert.equal((await qd.owner.post('/iam/grants', { subject: before.userId, role: 'uptime.viewer' })).status, 201);
  assert.equal((await qd.owner.delete(`/organization/members/${before.userId}`)).status, 204);
  assert.equal((await caller(qd.url, before.key).get('/me')).status, 401);

  const after = await joined(accept(await invite(qd.owner, 'BOB@example.com')));
  assert.equal(after.userId, before.userId);
  assert.equal((await caller(qd.url, after.key).get('/me')).body.email, 'bob@example.com');
  assert.equal((await caller(qd.url, before.key).get('/me')).status, 401, 'the tokens of before stay revoked');
  assert.deepEqual((await qd.owner.get('/iam/grants')).body.grants, []);
  assert.equal(await countAccounts(qd, 'bob@example.com'), 1);

  // Whoever left by themselves comes back the same way, also by the button of the link.
  assert.equal((await caller(qd.url, after.key).delete(`/organization/members/${after.userId}`)).status, 204);
  const back = browserLike(qd.url);
  assert.equal((await back.post(`/join/${await invite(qd.owner, 'bob@example.com')}`)).path, '/account');
  assert.equal((await back.api('GET', '/me')).body.id, before.userId);
});

test('an inviter who accepts in another’s name keeps that person out of nothing', async (t) => {
  const qd = await quarterdeck(t);
  const accept = acceptBy(qd);
  const evil = await qd.organization('evil');
  const impostor = await joined(accept(await invite(evil, 'victim@example.com')));

  const real = await joined(accept(await invite(qd.owner, 'victim@example.com')));
  assert.notEqual(real.userId, impostor.userId, 'the link never speaks for an account that somebody holds');
  assert.equal((await caller(qd.url, real.key).get('/me')).body.organizations[0].slug, 'default');
  assert.equal((await caller(qd.url, impostor.key).get('/me')).body.organizations[0].slug, 'evil');
  const members = (await qd.owner.get('/organization/members')).body.members.map((m: { userId: string }) => m.userId);
  assert.ok(members.includes(real.userId) && !members.includes(impostor.userId));

  // Neither does an abandoned one, whoever takes it up in between.
  assert.equal((await qd.owner.delete(`/organization/members/${real.userId}`)).status, 204);
  assert.equal((await evil.post('/organization/invitations', { email: 'VICTIM@example.com' })).status, 409, 'they belong to evil already');
  assert.equal((await evil.delete(`/organization/members/${impostor.userId}`)).status, 204);
  const again = await joined(accept(await invite(evil, 'victim@example.com')));
  assert.equal(again.userId, impostor.userId, 'an organization takes back its own former members only');
  assert.equal((await joined(accept(await invite(qd.owner, 'victim@example.com')))).userId, real.userId);
});

test('the account that the operator made is the one of its address while it belongs somewhere, and blocks no other account afterwards', async (t) => {
  const qd = await quarterdeck(t);
  const accept = acceptBy(qd);
  const ada = await qd.organization('ada');
  const add = () =>
    qd.app.db.write(async (tx) => {
      await lockOrg(tx, qd.owner.orgId);
      return addMember(tx, actingOperator(qd.owner.orgId), { email: 'carol@example.com', role: 'member' }, 'default');
    });
  const carol = await add();
  const refused = await accept(await invite(ada, 'carol@example.com'));
  assert.equal(refused.status, 409);
  assert.match(refused.body.error, /already has an account here; sign in to it and open the link, or accept with a token of it/);

  assert.equal((await qd.owner.delete(`/organization/members/${carol.id}`)).status, 204);
  const there = await joined(accept(await invite(ada, 'carol@example.com')));
  assert.notEqual(there.userId, carol.id);
  assert.equal((await joined(accept(await invite(qd.owner, 'carol@example.com')))).userId, carol.id);
  assert.equal((await qd.owner.delete(`/organization/members/${carol.id}`)).status, 204);
  assert.equal((await add()).id, carol.id, 'the operator takes a former member back as well');
});

test('two organizations’ links for one address are accepted at once, and one link by one only', async (t) => {
  const qd = await quarterdeck(t);
  const accept = acceptBy(qd);
  const other = await qd.organization('other');
  const secrets = [await invite(qd.owner, 'dan@example.com'), await invite(other, 'dan@example.com')];
  const both = await Promise.all(secrets.map((secret) => joined(accept(secret))));
  assert.notEqual(both[0]!.userId, both[1]!.userId);

  const secret = await invite(other, 'eve@example.com');
  const statuses = (await Promise.all([accept(secret), accept(secret)])).map((a) => a.status).sort();
  assert.deepEqual(statuses, [201, 404]);
});

test('an invitation that is withdrawn, replaced or expired while it is accepted ends one way or the other', async (t) => {
  const qd = await quarterdeck(t);
  const accept = acceptBy(qd);
  for (let n = 0; n < 10; n++) {
    const { body } = await qd.owner.post('/organization/invitations', { email: `race${n}@example.com` });
    const taking = accept(body.link.split('/').pop());
    const ending =
      n % 2
        ? qd.owner.delete(`/organization/invitations/${body.invitation.id}`)
        : qd.owner.post('/organization/invitations', { email: `race${n}@example.com` });
    const [taken, ended] = await Promise.all([taking, ending]);
    const outcome = `${taken.status} ${ended.status}`;
    assert.ok((n % 2 ? ['201 404', '404 204'] : ['201 409', '404 201']).includes(outcome), outcome);
  }
});

test('somebody who became a member another way meanwhile cannot join a second time', async (t) => {
  const qd = await quarterdeck(t);
  const accept = acceptBy(qd);
  const secret = await invite(qd.owner, 'fay@example.com');
  await qd.member(qd.owner, 'member', 'fay@example.com');
  const second = await accept(secret);
  assert.deepEqual([second.status, second.body.error], [409, 'fay@example.com already belongs to the organization']);
  assert.equal((await qd.owner.post('/organization/invitations', { email: 'fay@example.com' })).status, 409);
});

test('unused links and accounts without an organization are deleted in the end', async (t) => {
  const qd = await quarterdeck(t);
  const accept = acceptBy(qd);
  const { userId } = await joined(accept(await invite(qd.owner, 'gil@example.com')));
  await joined(accept(await invite(qd.owner, 'hal@example.com')));
  await invite(qd.owner, 'unused@example.com');
  assert.equal((await qd.owner.delete(`/organization/members/${userId}`)).status, 204);
  await qd.clock.advance('89d');
  await qd.perform(deleteExpired);
  assert.equal(await qd.app.db.read((tx) => run(tx)`select 1 from identity.invitation`), 0);
  assert.equal(await countAccounts(qd, 'gil@example.com'), 1);
  await qd.clock.advance('2d');
  await qd.perform(deleteExpired);
  assert.equal(await countAccounts(qd, 'gil@example.com'), 0);
  assert.equal(await countAccounts(qd, 'hal@example.com'), 1);
  assert.notEqual((await joined(accept(await invite(qd.owner, 'gil@example.com')))).userId, userId);
});
