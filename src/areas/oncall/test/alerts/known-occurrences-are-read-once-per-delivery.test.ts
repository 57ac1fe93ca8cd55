import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Tx } from '../../../../kernel/db/index.ts';
import { statement } from '../../../../kernel/sql.ts';
import { alert, covered, group, made, source, user, ward } from '../support.ts';

const minute = (n: number) => new Date(Date.UTC(2026, 0, 1) + n * 60_000).toISOString();

test('known occurrences are read once, in whatever order they are delivered', async (t) => {
  const qd = await ward(t);
  const { owner } = qd;
  const { service } = await covered(owner, { steps: [[user(owner), 86_400]] });
  const one = await source(owner, qd.url, service.id);
  const firing = Array.from({ length: 600 }, (_, i) => alert(`host ${i % 10}`, { startsAt: minute(i) }));
  await made(one.deliver(group(firing)));

  let found = 0;
  const { write } = qd.app.db;
  const counting = (tx: Tx): Tx => ({
    ...tx,
    query: async (piece) => {
      const result = await tx.query(piece);
      if (/from oncall\.alert a/.test(statement(piece).text) && /"incidentId"/.test(statement(piece).text)) found += result.rows.length;
      return result;
    },
  });
  Object.assign(qd.app.db, { write: ((work) => write((tx) => work(counting(tx)))) satisfies typeof write });
  t.after(() => Object.assign(qd.app.db, { write }));
  await made(one.deliver(group(firing)));
  assert.ok(found >= 600, `${found} rows: each is known`);
  assert.ok(found < 900, `${found} rows for 600 occurrences: an alert's lie in two portions at most`);
});
