import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import pg from 'pg';
import { freshDatabase, stopOwnServer } from '../../../../../test/harness/postgres.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { migrate, readMigrations } from '../../../../kernel/migrate.ts';
import { migrationsOf } from '../../../../serve.ts';
import { areas } from '../../../index.ts';

after(stopOwnServer);

test('queue counts are right, though a server of the previous release writes while they are built', async (t) => {
  const { connection, drop } = await freshDatabase({ empty: true });
  const [client, watching] = [new pg.Client(connection), new pg.Client(connection)];
  t.after(async () => {
    await Promise.all([client.end(), watching.end()]);
    await drop();
  });
  const all = await readMigrations(migrationsOf(areas));
  const before = all.map(({ id }) => id).filter((id) => !id.startsWith('email/') || id < 'email/0008');
  await migrate(connection, all, new Set(before));

  await Promise.all([client.connect(), watching.connect()]);
  const insert = (address: string) =>
    client.query(
      `insert into email.recipient (org_id, message_id, address, folded, state, state_at, run_at)
       values ('org_a', 'msg_a', $1, $1, 'queued', now(), now())`,
      [address],
    );
  await insert('early@far.example');
  await client.query('begin');
  await insert('meanwhile@far.example');
  const migrated = migrate(connection, all);
  const waiting = `select from pg_stat_activity where application_name = 'quarterdeck migrate' and wait_event_type = 'Lock'`;
  await eventually(async () => (await watching.query(waiting)).rowCount === 1);
  await client.query('commit');
  await migrated;
  await insert('late@far.example');
  const { rows } = await client.query(
    `select sum(recipients)::int as recipients from (select recipients from email.queue_figure union all select recipients from email.queue_change) k`,
  );
  assert.deepEqual(rows, [{ recipients: 3 }]);
});
