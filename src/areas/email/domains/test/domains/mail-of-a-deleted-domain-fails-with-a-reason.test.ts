import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import Type from 'typebox';
import { rows, run } from '../../../../../kernel/db/index.ts';
import { failBatch } from '../../engine/fail-mail.ts';
import { withDns } from './published.ts';

const Fate = Type.Object({ id: Type.String(), state: Type.String(), last_error: Type.Union([Type.String(), Type.Null()]) });

test('mail of a deleted domain fails with a reason, and no other mail does', async (t) => {
  const { qd } = await withDns(t);
  const { owner, app } = qd;
  const domain = (await owner.post('/email/domains', { name: 'example.com' })).body;
  const other = (await owner.post('/email/domains', { name: 'example.net' })).body;
  const message = async (id: string, domainId: string, fates: string[], state = 'queued') => {
    await app.db.write(async (tx) => {
      await run(tx)`
        insert into email.message (org_id, id, direction, state, state_at, created_at, door, domain_id, sender, recipients, copies, message_id,
                                   body_offset, body_bytes, header_bytes, body_hash)
        values (${owner.orgId}, ${id}, 'send', ${state}, kernel.now(), kernel.now(), 'http', ${domainId}, 'a@example.com', '{}', '{}', ${id}, 0, 1, 1, '')`;
      // Due tomorrow, or leased until then, so that no worker sends it during the test.
      for (const fate of fates)
        await run(tx)`
          insert into email.recipient (org_id, message_id, address, folded, state, state_at, run_at, lease, lease_until, done_at)
          values (${owner.orgId}, ${id}, 'b@example.org', 'b@example.org', ${fate}, kernel.now(), kernel.now() + interval '1 day',
                  ${fate === 'sending' ? randomUUID() : null}, case when ${fate} = 'sending' then kernel.now() + interval '1 day' end,
                  ${['queued', 'sending', 'deferred'].includes(fate) ? null : '2026-01-01T00:00:00Z'})`;
    });
  };
  await message('msg_waits', domain.id, ['queued', 'deferred']);
  await message('msg_partly', domain.id, ['delivered', 'sending'], 'sending');
  await message('msg_bounced', domain.id, ['bounced', 'deferred'], 'deferred');
  await message('msg_done', domain.id, ['delivered'], 'delivered');
  await message('msg_other', other.id, ['queued']);
  for (let i = 0; i < 250; i++) await message(`msg_many${i}`, domain.id, ['queued']);
  const portions: number[] = [];
  await app.db.write(async (tx) => {
    portions.push(await failBatch(tx, owner.orgId, 'nothing', 'x'), await failBatch(tx, 'nobody', domain.id, 'x'));
  });
  assert.deepEqual(portions, [0, 0]);

  assert.equal((await owner.delete(`/email/domains/${domain.id}`)).status, 204);
  assert.equal((await owner.delete(`/email/domains/${domain.id}`)).status, 404);
  const fates = () =>
    app.db.read(
      (tx) => rows(tx, Fate)`select id, state, last_error from email.message where id not like 'msg_many%'
        union all select 'many left', count(*)::text, null from email.message where id like 'msg_many%' and state <> 'failed'
        union all select 'leases', count(*)::text, null from email.recipient where lease is not null order by 1`,
    );
  const until = performance.now() + 20_000;
  while ((await fates()).some(({ id, state }) => id === 'many left' && state !== '0') && performance.now() < until)
    await new Promise((resolve) => setTimeout(resolve, 50));
  const why = 'the domain was deleted';
  assert.deepEqual(
    (await fates()).map(({ id, state, last_error }) => [id, state, last_error]),
    [
      ['leases', '0', null],
      ['many left', '0', null],
      ['msg_bounced', 'bounced', why],
      ['msg_done', 'delivered', null],
      ['msg_other', 'queued', null],
      ['msg_partly', 'failed', why],
      ['msg_waits', 'failed', why],
    ],
  );
});
