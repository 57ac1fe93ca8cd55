import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdir, readdir, rm, stat, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { connectRunning } from '../index.ts';
import { keep, query, scratch } from './support.ts';

const deep = join(...Array.from({ length: 12 }, () => 'twenty-characters-ok'), 'data');
const shortDirFor = (dataDir: string) =>
  join(
    tmpdir(),
    `quarterdeck-${createHash('sha256')
      .update(join(dataDir, 'postgres', '18'))
      .digest('hex')
      .slice(0, 16)}`,
  );

test('a deep data directory gets a short socket directory, private, its own and gone with the server', async (t) => {
  const { dir, dataDir } = await scratch(t, { below: deep, isMade: true });
  const first = await keep(t, dataDir);
  assert.equal(first.connection.host, shortDirFor(dataDir));
  assert.equal((await stat(first.connection.host)).mode & 0o777, 0o700);
  assert.deepEqual(await connectRunning(dataDir), first.connection);
  assert.deepEqual(await query(first.connection, 'select 1 as alive'), [{ alive: 1 }]);
  await first.stop();
  await assert.rejects(stat(first.connection.host), { code: 'ENOENT' });

  // The name can be guessed: another user creates it first, with a link into a directory of that user.
  const trap = join(dir, 'trap');
  await mkdir(trap, { mode: 0o777 });
  await symlink(trap, shortDirFor(dataDir));
  t.after(() => rm(shortDirFor(dataDir), { force: true }));

  const second = await keep(t, dataDir);
  assert.notEqual(second.connection.host, shortDirFor(dataDir));
  assert.deepEqual(await query(second.connection, 'select 1 as alive'), [{ alive: 1 }]);
  assert.deepEqual(await connectRunning(dataDir), second.connection, 'found all the same');
  assert.deepEqual(await readdir(trap), []);
});
