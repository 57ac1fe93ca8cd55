import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Quarterdeck, quarterdeck, type Someone } from '../../../test/harness/index.ts';
import { holding, untilWaiting } from '../../../test/harness/race.ts';
import { run, type Tx } from '../../kernel/db/index.ts';

/** How somebody's rights end, and the row that this is held up by: the revocation has begun by then, and has not committed. */
interface End {
  how: string;
  end(by: Someone, of: Someone): Promise<{ status: number }>;
  heldUp(tx: Tx, of: Someone): Promise<unknown>;
  refusal: number;
}

const heldUpByOrganization: End['heldUp'] = (tx, { orgId }) => run(tx)`select from identity.org where id = ${orgId} for update`;
const heldUpByToken: End['heldUp'] = (tx, { tokenId }) => run(tx)`select from identity.token where id = ${tokenId} for update`;

const ends: End[] = [
  {
    how: 'the admin is removed',
    end: (by, of) => by.delete(`/organization/members/${of.userId}`),
    heldUp: heldUpByOrganization,
    refusal: 401,
  },
  {
    how: 'the admin is demoted',
    end: (by, of) => by.patch(`/organization/members/${of.userId}`, { role: 'member' }),
    heldUp: heldUpByOrganization,
    refusal: 403,
  },
  {
    how: 'the token is deleted',
    end: (_, of) => of.delete(`/tokens/${of.tokenId}`),
    heldUp: heldUpByToken,
    refusal: 401,
  },
  {
    how: 'the token is disabled',
    end: (_, of) => of.patch(`/tokens/${of.tokenId}`, { enabled: false }),
    heldUp: heldUpByToken,
    refusal: 401,
  },
];

test('six invitations and two registry keys in flight are refused once the rights of their admin are gone', async (t) => {
  const qd = await quarterdeck(t);
  const { owner } = qd;
  await owner.post('/registry/registries', { slug: 'acme' });
  for (const end of ends) {
    await t.test(end.how, async () => {
      const admin = await qd.member(owner, 'admin');
      assert.equal((await admin.get('/me')).status, 200); // remembered from here on
      const answers = await raceWith(qd, end, admin, () => [
        ...Array.from({ length: 6 }, (_, n) => admin.post('/organization/invitations', { email: `${n}@friends.example`, role: 'admin' })),
        ...Array.from({ length: 2 }, (_, n) => admin.post('/registry/registries/acme/keys', { name: `key ${n}`, mode: 'pull' })),
      ]);
      assert.deepEqual(new Set(answers.map((a) => a.status)), new Set([end.refusal]));
    });
  }
  assert.deepEqual((await owner.get('/organization/invitations')).body.invitations, []);
  assert.deepEqual((await owner.get('/registry/registries/acme/keys')).body.keys, []);
});

/** Starts the operations while the revocation is under way, and lets it commit once all of them wait. */
async function raceWith({ app, owner }: Quarterdeck, { end, heldUp }: End, of: Someone, start: () => Promise<{ status: number }>[]) {
  const held = await holding(app, (tx) => heldUp(tx, of));
  const revoked = end(owner, of);
  await untilWaiting(app, 1);
  let over = 0;
  const running = start();
  for (const each of running) void each.finally(() => over++);
  await untilWaiting(app, 2, () => over > 0);
  await held.release();
  assert.ok([200, 204].includes((await revoked).status));
  return Promise.all(running);
}
