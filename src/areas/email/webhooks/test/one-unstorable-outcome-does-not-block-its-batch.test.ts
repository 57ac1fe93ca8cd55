import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { sql } from '../../../../kernel/sql.ts';
import { batchCalls } from '../../engine/batch-calls.ts';

test('one outcome that the database refuses does not block its batch', async (t) => {
  const { app } = await quarterdeck(t);
  let statements = 0;
  const ask = async (texts: string[]) => {
    statements++;
    const { rows } = await app.db.read((tx) => tx.query(sql`select t from unnest(${texts}::text[]) t`));
    return rows.map((found) => (found as { t: string }).t);
  };
  const keep = batchCalls(app, ask, { name: 'some act' });
  const texts = Array.from({ length: 64 }, (_, n) => (n === 37 ? 'a NUL: \u0000' : `outcome ${n}`));
  const settled = await Promise.allSettled(texts.map((text) => keep(text)));

  assert.deepEqual(
    settled.flatMap(({ status }, n) => (status === 'rejected' ? [n] : [])),
    [37],
  );
  for (const [n, one] of settled.entries()) if (one.status === 'fulfilled') assert.equal(one.value, texts[n]);
  assert.ok(statements <= 13, `${statements} statements to find one of 64`);
});
