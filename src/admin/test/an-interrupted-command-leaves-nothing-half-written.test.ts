import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import pg from 'pg';
import { quarterdeck } from '../../../test/harness/index.ts';
import { urlOf } from '../../../test/harness/postgres.ts';
import { eventually } from '../../../test/harness/process.ts';
import { backupLock } from '../../kernel/backup/backup-lock.ts';
import { interrupted, scratch } from './support.ts';

const list = (directory: string) => readdir(directory).catch((): string[] => []);

test('Ctrl-C in the middle of a backup leaves no directory, neither whole nor half', async (t) => {
  const { connection, dataDir } = await quarterdeck(t);
  const holder = new pg.Client(connection);
  await holder.connect();
  holder.on('error', () => {}); // its database may go first
  // The backup has begun its directory by then, and waits.
  await holder.query('select pg_advisory_lock($1)', [backupLock]);
  const directory = await scratch(t);
  const env = { QUARTERDECK_DATABASE_URL: urlOf(connection), QUARTERDECK_DATA: dataDir };
  const { code, err } = await interrupted(['admin', 'backup', join(directory, 'today')], env, async () => {
    await eventually(async () => /^today\.partial-/.test((await list(directory)).join()));
  });
  await holder.end();
  assert.deepEqual([code, await list(directory)], [130, []], err);
  assert.match(err, /\nquarterdeck: interrupted\n$/);
});

test('Ctrl-C while a version of Kubernetes is fetched installs nothing, and names what was fetched', async (t) => {
  let asked = 0;
  const silent = createServer(() => asked++);
  t.after(() => void silent.close().closeAllConnections());
  await new Promise<void>((listening) => silent.listen(0, '127.0.0.1', listening));
  const directory = await scratch(t);
  const env = {
    QUARTERDECK_DATA: directory,
    QUARTERDECK_CLUSTER_BINARIES: join(directory, 'bin'),
    QUARTERDECK_CLUSTER_MIRROR: `http://127.0.0.1:${(silent.address() as AddressInfo).port}`,
  };
  const { code, err } = await interrupted(['admin', 'clusters', 'install', 'v1.36.4'], env, () => eventually(async () => asked > 0));
  assert.equal(code, 130, err);
  assert.match(
    err,
    /interrupted: v1\.36\.4 is not installed; what was fetched so far is in \S+, and the same command goes on from there\n$/,
  );
  assert.deepEqual(await list(join(directory, 'bin')), ['.installing-v1.36.4']);
});
