import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { freshDatabase } from '../../../../../test/harness/postgres.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { sqlOn } from '../../../../admin/test/support.ts';
import type { Connection } from '../../../../kernel/db/index.ts';
import { sql } from '../../../../kernel/sql.ts';
import { endpointAt, listening, ofLoopback, suppressAnAddress } from './listening.ts';

const others = 20_000;

test('a delivery is found by its id, however many others there are', { timeout: 120_000 }, async (t) => {
  const { connection, drop } = await freshDatabase();
  t.after(drop);
  const qd = await quarterdeck(t, { connection, env: ofLoopback });
  const endpoint = await listening(t);
  await endpointAt(qd.owner, endpoint.url, 'suppression.created');
  // Plans are made and kept while there are few.
  for (let n = 0; n < 40; n++) await suppressAnAddress(qd.owner, `few-${n}@far.example`);
  await endpoint.heard(40);
  await qd.app.db.write((tx) =>
    tx.query(sql`
      insert into email.delivery (org_id, endpoint_id, event_id, event_type, state, created_at)
      select 'org_other', 'whk_other', 'evt_other', 'email.sent', 'pending', kernel.now() from generate_series(1, ${others})`),
  );
  for (let n = 0; n < 40; n++) await suppressAnAddress(qd.owner, `many-${n}@far.example`);
  await endpoint.heard(80);
  await qd.stop();
  const read = await countRead(connection, 160);
  assert.ok(read < others, `${read} unrelated rows were read`);
});

/** Of the table, in all. Sessions of the database tell what they have read when they end: once so many changes are told of, all have. */
async function countRead(connection: Connection, changes: number): Promise<number> {
  const told = `select n_tup_upd::int as changed, (seq_tup_read + idx_tup_fetch)::int as read from pg_stat_user_tables where schemaname = 'email' and relname = 'delivery'`;
  return eventually(async () => {
    const [found] = await sqlOn<{ changed: number; read: number }>(connection, told);
    return found!.changed >= changes && found!.read;
  });
}
