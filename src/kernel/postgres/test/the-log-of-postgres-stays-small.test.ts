import assert from 'node:assert/strict';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { boundLog, lastLine } from '../../programs/log-file.ts';
import { keep, query, scratch } from './support.ts';

test('the log of postgres stays small and holds no statement', async (t) => {
  const { dataDir } = await scratch(t, { isMade: true });
  const kept = await keep(t, dataDir);
  await query(kept.connection, `create table kept (id int primary key); insert into kept values (1)`);
  await assert.rejects(query(kept.connection, `insert into kept values (1) -- secret-of-a-tenant`), /duplicate key/);
  const log = join(dataDir, 'postgres', 'log');
  const said = await readFile(log, 'utf8');
  assert.match(said, /duplicate key/);
  assert.doesNotMatch(said, /secret-of-a-tenant|Key \(id\)/);

  await boundLog(log, 10);
  assert.equal((await stat(log)).size, 0);
  assert.equal(await readFile(`${log}.1`, 'utf8'), said);
  await assert.rejects(query(kept.connection, 'select * from missing'));
  assert.match(
    await readFile(log, 'utf8'),
    /^[^\0]*relation "missing" does not exist/,
    'the running server goes on at the start of the file',
  );

  await kept.stop();
  await writeFile(log, 'x'.repeat(5 * 1024 * 1024));
  await keep(t, dataDir);
  assert.ok((await stat(log)).size < 64 * 1024);
});

test('the last word is the fatal line, or the last one', () => {
  assert.equal(lastLine('2026 UTC [7] LOG:  starting\n2026 UTC [7] FATAL:  no space\n2026 UTC [7] LOG:  down\n'), 'no space');
  assert.equal(lastLine('error while loading shared libraries: libpq.so.5\n'), 'error while loading shared libraries: libpq.so.5');
  assert.equal(lastLine(''), 'it said nothing');
});
