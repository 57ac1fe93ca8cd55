import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Quarterdeck, quarterdeck, type Someone } from '../../../test/harness/index.ts';
import { heldUpByOrganization, heldUpByToken, openRace, type Race } from '../../../test/harness/race.ts';

/** How somebody's rights end, and the row that this is held up by: the revocation has begun by then, and has not committed. */
interface End {
  how: string;
  end(by: Someone, of: Someone): Promise<{ status: number }>;
  heldUpBy(of: Someone): readonly [string, readonly unknown[]];
  refusal: number;
}

const ends: End[] = [
  {
    how: 'the admin is removed',
    end: (by, of) => by.delete(`/organization/members/${of.userId}`),
    heldUpBy: ({ orgId }) => heldUpByOrganization(orgId),
    refusal: 401,
  },
  {
    how: 'the admin is demoted',
    end: (by, of) => by.patch(`/organization/members/${of.userId}`, { role: 'member' }),
    heldUpBy: ({ orgId }) => heldUpByOrganization(orgId),
    refusal: 403,
  },
  {
    how: 'the token is deleted',
    end: (_, of) => of.delete(`/tokens/${of.tokenId}`),
    heldUpBy: ({ tokenId }) => heldUpByToken(tokenId),
    refusal: 401,
  },
  {
    how: 'the token is disabled',
    end: (_, of) => of.patch(`/tokens/${of.tokenId}`, { enabled: false }),
    heldUpBy: ({ tokenId }) => heldUpByToken(tokenId),
    refusal: 401,
  },
];

test('six invitations and a registry key in flight are refused once the rights of their admin are gone', async (t) => {
  const qd = await quarterdeck(t);
  const { owner } = qd;
  const race = await openRace(qd.connection);
  t.after(race.close);
  await owner.post('/registry/registries', { slug: 'acme' });
  for (const end of ends) {
    await t.test(end.how, async () => {
      const admin = await qd.member(owner, 'admin');
      assert.equal((await admin.get('/me')).status, 200); // remembered from here on
      const answers = await raceWith(race, qd, end, admin, () => [
        ...Array.from({ length: 6 }, (_, n) => admin.post('/organization/invitations', { email: `${n}@friends.example`, role: 'admin' })),
        admin.post('/registry/registries/acme/keys', { name: 'key', mode: 'pull' }),
      ]);
      assert.deepEqual(new Set(answers.map((a) => a.status)), new Set([end.refusal]));
    });
  }
  assert.deepEqual((await owner.get('/organization/invitations')).body.invitations, []);
  assert.deepEqual((await owner.get('/registry/registries/acme/keys')).body.keys, []);
});

test('a member without the right to remove members takes no lock of another’s rights', async (t) => {
  const qd = await quarterdeck(t);
  const race = await openRace(qd.connection);
  t.after(race.close);
  const member = await qd.member(qd.owner, 'member');
  await race.hold(...heldUpByOrganization(qd.owner.orgId));
  assert.equal((await member.delete(`/organization/members/${qd.owner.userId}`)).status, 403);
  await race.release();
});

/** Starts the operations while the revocation is under way, and lets it commit once all of them wait. */
async function raceWith(
  race: Race,
  { owner }: Quarterdeck,
  { end, heldUpBy }: End,
  of: Someone,
  start: () => Promise<{ status: number }>[],
) {
  await race.hold(...heldUpBy(of));
  const revoked = end(owner, of);
  await race.untilWaiting(1);
  let over = 0;
  const running = start();
  for (const each of running) void each.finally(() => over++);
  await race.untilWaiting(1 + running.length, () => over);
  await race.release();
  assert.ok([200, 204].includes((await revoked).status));
  return Promise.all(running);
}
