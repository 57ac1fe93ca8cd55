import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { auditBetween } from '../../../identity/store/audit.ts';
import { row, run } from '../../../kernel/db/index.ts';
import { breakingActions } from '../rules/changes.ts';

test('what a story tells of the audit log is found without reading the entries that it leaves out', async (t) => {
  const { app, owner } = await quarterdeck(t);
  const add = (action: string, count: number) =>
    app.db.write(
      (tx) => run(tx)`
      insert into kernel.audit (id, org_id, at, actor, actor_label, token_id, action, target, request_id, detail)
      select kernel.new_id('aud'), ${owner.orgId}, kernel.now(), 'usr', 'x', null, ${action}, 't' || n, null, '{}' from generate_series(1, ${count}::int) n`,
    );
  await add('uptime.monitor.update', 2);
  for (let n = 0; n < 6; n++) await add('registry.login.create', 1_000);
  await add('clusters.cluster.update', 1);
  await add('uptime.monitors', 1); // begins almost so
  await app.db.write((tx) => run(tx)`analyze kernel.audit`);
  const span = { from: '2020-01-01T00:00:00.000Z', until: '2090-01-01T00:00:00.000Z' };
  const ReadRow = Type.Object({ fetched: Type.Integer() });
  const { found, fetched } = await app.db.read(async (tx) => {
    const found = await auditBetween(tx, owner.orgId, span, breakingActions, 201);
    const read = await row(tx, ReadRow)`
      select (seq_tup_read + idx_tup_fetch)::int as fetched from pg_stat_xact_user_tables where schemaname = 'kernel' and relname = 'audit'`;
    return { found, fetched: read!.fetched };
  });
  assert.deepEqual(
    found.map(({ action }) => action),
    ['clusters.cluster.update', 'uptime.monitor.update', 'uptime.monitor.update'],
  );
  assert.ok(fetched < 1_000, `${fetched} entries were read`);
});
