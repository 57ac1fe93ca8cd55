import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { run, type Tx } from '../../../../kernel/db/index.ts';
import { Sql, sql } from '../../../../kernel/sql.ts';
import { countQueue } from '../../outbound/store/queue-counts.ts';
import { addUpQueue } from '../../tasks.ts';
import { countLookedAt } from './rows-read.ts';

const counted = sql`select org_id, state, count(*)::int as recipients from email.recipient where done_at is null group by org_id, state order by org_id, state`;

test('queue counts are maintained by changes, not counted on request', async (t) => {
  const { app, perform } = await quarterdeck(t, { env: { QUARTERDECK_ROLES: 'api' } });
  const insert = (tx: Tx, org: string, state: string, many: number, error: string | null = null) => run(tx)`
    insert into email.recipient (org_id, message_id, address, folded, state, state_at, run_at, last_error)
    select ${org}, ${`msg_${org}`}, n || '@far.example', n || '@far.example', ${state}, c.now, c.now - make_interval(secs => n % 100), ${error}
      from generate_series(1, ${many}::int) n, (select kernel.now() as now offset 0) c`;
  const requireRight = async (when: string) => {
    const { found, right } = await app.db.read(async (tx) => ({ found: await countQueue(tx), right: await tx.query(counted) }));
    const shown = found.map(({ org_id, state, recipients }) => ({ org_id, state, recipients }));
    assert.deepEqual(shown, right.rows, when);
    return found;
  };

  await app.db.write(async (tx) => {
    await insert(tx, 'org_a', 'queued', 3_000);
    await insert(tx, 'org_a', 'sending', 30);
    await insert(tx, 'org_b', 'deferred', 40, 'mx.far.example: 451 later');
  });
  const [queued, sending, deferred] = await requireRight('after they came');
  assert.ok(queued!.oldest_seconds >= 99, String(queued!.oldest_seconds));
  assert.equal(queued!.last_error, null);
  assert.equal(sending!.oldest_seconds, 0);
  assert.equal(deferred!.last_error, 'mx.far.example: 451 later');

  await app.db.write(async (tx) => {
    await run(tx)`update email.recipient set state = 'sending' where org_id = 'org_a' and state = 'queued' and id % 2 = 0`;
    await run(tx)`update email.recipient set lease = gen_random_uuid() where org_id = 'org_a'`;
    await run(tx)`update email.recipient set state = 'delivered', done_at = kernel.now() where org_id = 'org_b' and id % 3 = 0`;
    await run(tx)`delete from email.recipient where org_id = 'org_a' and id % 7 = 0`;
  });
  await requireRight('after all sorts of changes');
  await assert.rejects(
    app.db.write(async (tx) => {
      await insert(tx, 'org_c', 'queued', 5);
      throw new Error('rolled back');
    }),
    /rolled back/,
  );
  await requireRight('after what was rolled back');
  await perform(addUpQueue);
  await requireRight('after they were added up');
  await app.db.write(
    (tx) => run(tx)`update email.recipient set state = 'failed', done_at = kernel.now() where org_id = 'org_b' and done_at is null`,
  );
  await perform(addUpQueue);
  await requireRight('after the last of an organization was done');

  await app.db.read((tx) => tx.query(new Sql(['analyze email.recipient, email.queue_figure, email.queue_change'], [])));
  const looked = await app.db.read((tx) => countLookedAt(tx, countQueue));
  assert.ok(looked <= 20, `${looked} rows were looked at for the figures of two organizations`);
});
