import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../../test/harness/index.ts';
import type { Tx } from '../../../../../kernel/db/index.ts';
import { sql } from '../../../../../kernel/sql.ts';
import { type RecipientOutcome, settleRecipients } from '../../store/queue.ts';

const few = 300;
const many = 4_000;
const lease = '00000000-0000-0000-0000-000000000000';

/** Of recipients that are gone: they are looked for as all others are. */
const fates = Array.from(
  { length: 50 },
  (_, n): RecipientOutcome => ({
    id: -1 - n,
    lease,
    message_id: `msg_${n}`,
    state: 'delivered',
    after_seconds: 0,
    counts: false,
    error: null,
    bounce_type: null,
    handed: true,
    detail: null,
  }),
);

test('an outcome is found by its id, also while the plan is older than most of the mail', async (t) => {
  const { app } = await quarterdeck(t);
  const read = await app.db.write(async (tx) => {
    await addOthers(tx, few);
    await tx.query(sql`set local plan_cache_mode = force_generic_plan`);
    await settleRecipients(tx, fates); // a plan is made, and kept
    await addOthers(tx, many);
    const before = await countRead(tx);
    await settleRecipients(tx, fates);
    return (await countRead(tx)) - before;
  });
  assert.ok(read < few, `${read} unrelated rows were read`);
});

const addOthers = (tx: Tx, count: number) =>
  tx.query(sql`
    insert into email.message (org_id, id, direction, state, state_at, created_at, door, domain_id, sender, recipients, copies, message_id,
                               body_offset, body_bytes, header_bytes, body_hash)
    select 'org_other', 'msg_other_' || ${count}::text || '_' || n, 'send', 'sending', kernel.now(), kernel.now(), 'smtp', 'dom_other', 'a@example.com', '{b@far.example}', '{}', '<n>',
           0, 0, 0, '' from generate_series(1, ${count}::int) n`);

/** What was read in this transaction of the table from its first row to its last. */
async function countRead(tx: Tx): Promise<number> {
  const { rows } = await tx.query(
    sql`select seq_tup_read::int as read from pg_stat_xact_user_tables where schemaname = 'email' and relname = 'message'`,
  );
  return (rows[0] as { read: number }).read;
}
