import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck, type Someone } from '../../../../test/harness/index.ts';
import { heldUpByOrganization, openRace } from '../../../../test/harness/race.ts';
import { type BrowserLike, browserLike } from '../../../../test/harness/visitor.ts';
import { startSession } from '../engine/sessions.ts';

const visitor = { address: '127.0.0.1', agent: 'test', requestId: 'req_test' };

test('six invitations in flight are refused once the session of their admin, or its rights, are gone', async (t) => {
  const qd = await quarterdeck(t);
  const { owner } = qd;
  const race = await openRace(qd.connection);
  t.after(race.close);
  const signIn = async ({ userId, email }: Someone): Promise<BrowserLike & { id: string }> => {
    const { id, key } = await qd.app.db.write((tx) => startSession(tx, qd.app, { id: userId, email }, ['password'], visitor));
    const browser = browserLike(qd.url);
    browser.cookies.set('qd', key);
    return { ...browser, id };
  };

  /** How the rights end, and the row that this is held up by: it has begun by then, and has not committed. */
  interface End {
    how: string;
    end(admin: Someone, session: string): Promise<{ status: number }>;
    heldUpBy(session: string): readonly [string, readonly unknown[]];
  }
  const ends: End[] = [
    {
      how: 'the admin is removed',
      end: (admin) => owner.delete(`/organization/members/${admin.userId}`),
      heldUpBy: () => heldUpByOrganization(owner.orgId),
    },
    {
      how: 'the session is ended in another browser',
      end: async (admin, session) => (await signIn(admin)).post(`/account/sessions/${session}/end`),
      heldUpBy: (session) => ['select from identity.session where id = $1 for update', [session]],
    },
    {
      how: 'a second factor is required',
      end: () => owner.patch('/organization/security', { requiresSecondFactor: true }),
      heldUpBy: () => heldUpByOrganization(owner.orgId),
    },
  ];
  for (const { how, end, heldUpBy } of ends) {
    await t.test(how, async () => {
      const admin = await qd.member(owner, 'admin');
      const browser = await signIn(admin);
      assert.equal((await browser.api('GET', '/me')).status, 200); // cached from here on
      await race.hold(...heldUpBy(browser.id));
      const ended = end(admin, browser.id);
      await race.untilWaiting(1);
      let over = 0;
      const running = Array.from({ length: 6 }, (_, n) =>
        browser.api('POST', '/organization/invitations', { email: `${n}@friends.example`, role: 'admin' }).finally(() => over++),
      );
      await race.untilWaiting(1 + running.length, () => over);
      await race.release();
      assert.ok([200, 204].includes((await ended).status));
      assert.deepEqual(new Set((await Promise.all(running)).map(({ status }) => status)), new Set([401]));
    });
  }
  assert.deepEqual((await owner.get('/organization/invitations')).body.invitations, []);
});
