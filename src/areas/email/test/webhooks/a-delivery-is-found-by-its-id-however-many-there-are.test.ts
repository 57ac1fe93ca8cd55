import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Quarterdeck, quarterdeck } from '../../../../../test/harness/index.ts';
import { sql } from '../../../../kernel/sql.ts';
import { endpointAt, listening, ofLoopback, suppressSomebody } from './listening.ts';

const others = 20_000;

test('a delivery is found by its id, however many others there are', { timeout: 120_000 }, async (t) => {
  const qd = await quarterdeck(t, { env: ofLoopback });
  const endpoint = await listening(t);
  await endpointAt(qd.owner, endpoint.url, 'suppression.created');
  // Plans are made and kept while there are few.
  for (let n = 0; n < 40; n++) await suppressSomebody(qd.owner, `few-${n}@far.example`);
  await endpoint.heard(40);
  await qd.app.db.write((tx) =>
    tx.query(sql`
      insert into email.delivery (org_id, endpoint_id, event_id, event_type, state, created_at)
      select 'org_other', 'whk_other', 'evt_other', 'email.sent', 'pending', kernel.now() from generate_series(1, ${others})`),
  );
  const before = await readScans(qd, 80);
  for (let n = 0; n < 40; n++) await suppressSomebody(qd.owner, `many-${n}@far.example`);
  await endpoint.heard(80);
  const after = await readScans(qd, before.updated + 80);
  assert.ok(after.read - before.read < others, `${after.read - before.read} rows were read that nobody asked for`);
});

interface Scans {
  updated: number;
  read: number;
}

/** What was read of the table, once so many changes were counted too. */
async function readScans({ app }: Quarterdeck, updated: number): Promise<Scans> {
  for (let tries = 0; tries < 300; tries++) {
    const { rows } = await app.db.read((tx) =>
      tx.query(
        sql`select n_tup_upd::int as updated, (seq_tup_read + idx_tup_fetch)::int as read from pg_stat_user_tables where schemaname = 'email' and relname = 'delivery'`,
      ),
    );
    const found = rows[0] as unknown as Scans;
    if (found.updated >= updated) return found;
    await sleep(100);
  }
  throw new Error('the changes were not counted');
}
