import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { lstat, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { boundLog, withLogOpen } from '../log-file.ts';
import { writeRecord } from '../start.ts';

// The directory belongs to the program's user, and this process may be root.

test('a link or a pipe where a log or a record should be leads to no other file', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'qdl-'));
  t.after(() => rm(dir, { recursive: true, force: true }));
  const [secret, log] = [join(dir, 'secret'), join(dir, 'kine.log')];
  await writeFile(secret, 'of the operator', { mode: 0o640 });
  const isUntouched = async () =>
    assert.deepEqual([await readFile(secret, 'utf8'), (await stat(secret)).mode & 0o777], ['of the operator', 0o640]);

  // As the log: neither emptied, nor written to, nor given away.
  await symlink(secret, log);
  await boundLog(log, 3);
  await isUntouched();
  assert.throws(() => withLogOpen(log, undefined, () => assert.fail('it was opened')), { code: 'ELOOP' });

  // As its predecessor, and as a record that is being written.
  await rm(log);
  await writeFile(log, 'much said');
  await symlink(secret, `${log}.1`);
  await boundLog(log, 3);
  await isUntouched();
  assert.deepEqual([await readFile(log, 'utf8'), await readFile(`${log}.1`, 'utf8')], ['', 'much said']);
  const record = join(dir, 'kine.record.json');
  await symlink(secret, `${record}.making-${process.pid}`);
  await writeRecord(record, { pid: 1 });
  await isUntouched();
  assert.equal((await lstat(record)).isFile(), true);

  // A pipe does not block the reader.
  await rm(log);
  execFileSync('/usr/bin/env', ['mkfifo', log]);
  await boundLog(log, 3);
  assert.throws(() => withLogOpen(log, undefined, () => assert.fail('it was opened')));
});
