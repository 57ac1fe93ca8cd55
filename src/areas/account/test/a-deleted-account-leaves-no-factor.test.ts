import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { run } from '../../../kernel/db/index.ts';

test('the factors of a person go with the account, 90 days after they left their last organization', async (t) => {
  const qd = await quarterdeck(t);
  const ada = await qd.member(qd.owner, 'member', 'ada@example.com');
  const bob = await qd.member(qd.owner, 'member', 'bob@example.com');
  await qd.app.db.write(async (tx) => {
    for (const { userId } of [ada, bob]) {
      await run(tx)`insert into account.password (user_id, phc, changed_at) values (${userId}, 'x', kernel.now())`;
      await run(tx)`insert into account.totp (user_id, secret, created_at) values (${userId}, 'sealed', kernel.now())`;
      await run(tx)`insert into account.recovery_code (user_id, hash) values (${userId}, 'x')`;
      await run(tx)`
        insert into account.passkey (id, user_id, credential_id, public_key, counter, transports, rp_id, is_backed_up, name, created_at)
        values (kernel.new_id('psk'), ${userId}, ${Buffer.from(userId)}, 'x', 0, '{}', 'localhost', false, 'key', kernel.now())`;
    }
  });
  const left = (userId: string) =>
    qd.app.db.read(
      (tx) => run(tx)`
        select 1 from account.password where user_id = ${userId} union all select 1 from account.totp where user_id = ${userId}
         union all select 1 from account.recovery_code where user_id = ${userId} union all select 1 from account.passkey where user_id = ${userId}`,
    );
  const clean = async () => {
    await qd.perform({ name: 'organization.forget' });
    await qd.perform({ name: 'account.forget-factors' });
  };

  assert.equal((await qd.owner.delete(`/organization/members/${ada.userId}`)).status, 204);
  await clean();
  assert.equal(await left(ada.userId), 4, 'kept while the person may come back');
  await qd.clock.advance('91d');
  await clean();
  assert.deepEqual([await left(ada.userId), await left(bob.userId)], [0, 4]);
});
