import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { eventually } from '../../../../test/harness/process.ts';
import { type BrowserLike, browserLike, signedIn } from '../../../../test/harness/visitor.ts';
import { run } from '../../../kernel/db/index.ts';
import { lockSessions, renew, startSession } from '../engine/sessions.ts';

const visitor = { address: '127.0.0.1', agent: 'test', requestId: 'req_test' };

test('an organization requires a second factor: sessions without one stop at once, tokens and the operator’s link go on', async (t) => {
  const qd = await quarterdeck(t);
  const second = await quarterdeck(t, { connection: qd.connection, dataDir: qd.dataDir });
  const ada = await qd.member(qd.owner, 'member', 'ada@example.com');
  const person = { id: ada.userId, email: ada.email };
  const passwordSession = async (who: { id: string; email: string }): Promise<BrowserLike & { id: string }> => {
    const { id, key } = await qd.app.db.write((tx) => startSession(tx, qd.app, who, ['password'], visitor));
    const browser = browserLike(second.url);
    browser.cookies.set('qd', key);
    return { ...browser, id };
  };
  const session = await passwordSession(person);
  assert.equal((await session.api('GET', '/me')).status, 200);
  const owner = await signedIn(qd, qd.owner.userId);
  const weakOwner = await passwordSession({ id: qd.owner.userId, email: 'owner@localhost' });

  assert.equal((await session.api('GET', '/organization/security')).status, 403);
  assert.equal((await session.api('PATCH', '/organization/security', { requiresSecondFactor: true })).status, 403);
  const locksOut = await weakOwner.api('PATCH', '/organization/security', { requiresSecondFactor: true });
  assert.equal(locksOut.status, 409);
  assert.match(locksOut.body.error, /would lock yourself out; add one on your account page first/);
  assert.equal((await owner.api('PATCH', '/organization/security', {})).body.requiresSecondFactor, false);

  const { status, body } = await owner.api('PATCH', '/organization/security', { requiresSecondFactor: true });
  assert.equal(status, 200, JSON.stringify(body));
  assert.deepEqual([body.requiresSecondFactor, body.membersWithout], [true, 2]);
  assert.deepEqual(
    body.members.find((m: { userId: string }) => m.userId === ada.userId),
    {
      userId: ada.userId,
      email: 'ada@example.com',
      name: 'ada',
      tokens: 1,
    },
  );
  assert.deepEqual((await qd.owner.get('/organization/security')).body, body);

  // The other process hears of each change by a notification.
  const answers = (status: number) => eventually(async () => (await session.api('GET', '/me')).status === status);
  await answers(403);
  const refused = await session.api('GET', '/me');
  assert.equal(refused.code, 'second_factor_required');
  assert.match(
    refused.body.error,
    /prove yours on the page \/sign-in\/again, or add a passkey or an authenticator app on the page \/account/,
  );
  assert.equal((await weakOwner.api('GET', '/me')).status, 403);
  assert.equal((await session.get('/account')).status, 200, 'the page that adds one is open');
  assert.equal((await ada.get('/me')).status, 200, 'tokens go on');
  assert.equal((await owner.api('GET', '/me')).status, 200);
  const byLink = await signedIn(qd, ada.userId);
  assert.equal((await byLink.api('GET', '/me')).status, 200, 'the operator’s link signs in');

  // An authenticator app that is set up in that session opens it.
  await qd.app.db.write(async (tx) => {
    await lockSessions(tx, ada.userId, [session.id]);
    await run(
      tx,
    )`insert into account.totp (user_id, secret, created_at, confirmed_at) values (${ada.userId}, 'sealed', kernel.now(), kernel.now())`;
    await renew(tx, qd.app, person, { id: session.id, methods: ['totp'] }, visitor);
  });
  await answers(200);
  assert.equal((await qd.owner.get('/organization/security')).body.membersWithout, 1);

  // It is a dangerous change: a session that is not fresh is asked once more, and a token passes.
  await qd.clock.advance('16m');
  assert.equal((await owner.api('PATCH', '/organization/security', { requiresSecondFactor: false })).code, 'reauthenticate');
  assert.equal((await qd.owner.patch('/organization/security', { requiresSecondFactor: false })).status, 200);
  assert.equal((await weakOwner.api('GET', '/me')).status, 200);
  const { entries } = (await qd.owner.get('/organization/audit')).body;
  assert.deepEqual(
    entries.filter((e: { action: string }) => e.action === 'organization.security.update').map((e: { detail: unknown }) => e.detail),
    [{ requiresSecondFactor: false }, { requiresSecondFactor: true }],
  );
});
