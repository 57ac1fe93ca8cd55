import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Quarterdeck, quarterdeck } from '../../../../../test/harness/index.ts';
import { run } from '../../../../kernel/db/index.ts';

const insertTokens = ({ app, owner }: Quarterdeck, many: number, days: number) =>
  app.db.write(
    (tx) => run(tx)`
      insert into identity.token (org_id, id, user_id, name, start, hash, scope, ceilings, created_at, expires_at)
      select ${owner.orgId}, kernel.new_id('tok'), ${owner.userId}, 'many', 'qd_pat_', decode(replace(gen_random_uuid()::text, '-', ''), 'hex'),
             '[]', '[]', kernel.now(), kernel.now() + make_interval(days => ${days}) from generate_series(1, ${many}::int)`,
  );
const countOver = ({ app }: Quarterdeck) => app.db.read((tx) => run(tx)`select 1 from identity.token where expires_at < kernel.now()`);

test('however many mint at once, no more than a thousand live; revoking one makes room', async (t) => {
  const qd = await quarterdeck(t);
  const lines = await Promise.all([1, 2, 3, 4].map(() => qd.narrowed(qd.owner, []))); // lines of their own, which do not wait for each other
  const { app, owner } = qd;
  const held = await app.db.read((tx) => run(tx)`select 1 from identity.token where user_id = ${owner.userId}`);
  await insertTokens(qd, 999 - held, 1);

  const answers = await Promise.all(lines.map((line) => line.post('/tokens', { name: 'one more' })));
  assert.deepEqual(answers.map((a) => a.status).sort(), [201, 409, 409, 409]);
  const { body } = answers.find((a) => a.status === 409)!;
  assert.equal(body.error, 'you have 1000 tokens here, the most there can be; revoke some first, or let them end');
  const made = answers.find((a) => a.status === 201)!;
  assert.equal((await owner.delete(`/tokens/${made.body.id}`)).status, 204);
  assert.equal((await owner.post('/tokens', { name: 'in its place' })).status, 201);
  // Another member has a thousand of their own.
  assert.equal((await (await qd.member(owner, 'member')).post('/tokens', { name: 'theirs' })).status, 201);
});

test('of those that are over the oldest thousand and more give way, so that minting short-lived ones goes on without end', async (t) => {
  const qd = await quarterdeck(t);
  await insertTokens(qd, 1_050, -1);
  assert.equal((await qd.owner.post('/tokens', { name: 'fresh', expiresIn: 60 })).status, 201);
  assert.equal(await countOver(qd), 900);
});
