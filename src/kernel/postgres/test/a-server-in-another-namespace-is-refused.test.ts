import assert from 'node:assert/strict';
import { mkdir, readFile, symlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';
import { exitCodes } from '../../errors.ts';
import { connectRunning } from '../index.ts';
import { keeperProcess, noNamespaces, query, scratch } from './support.ts';

const asContainer = { isInNamespace: true };
const alive = [{ alive: 1 }];

test('a server in another namespace is refused while a server, or its PostgreSQL, uses the directory', {
  skip: noNamespaces,
}, async (t) => {
  const { dataDir } = await scratch(t, { isMade: true });
  const first = keeperProcess(t, dataDir);
  const { postgres } = await first.said;
  const connection = (await connectRunning(dataDir))!;

  const second = await keeperProcess(t, dataDir, asContainer).said;
  assert.equal(second.kept, false, JSON.stringify(second));
  assert.equal(second.exitCode, exitCodes.alreadyRunning);
  const words = `is already running on ${dataDir} as pid ${first.process.pid} of ${hostname()}, in another container or on another machine; stop`;
  assert.ok(second.sentence?.includes(words), `${second.sentence}`);
  assert.deepEqual(await query(connection, 'select 1 as alive'), alive);

  // The server is killed. Its PostgreSQL keeps running, and only a server that sees it may adopt it.
  await first.killed();
  const third = await keeperProcess(t, dataDir, asContainer).said;
  assert.equal(third.kept, false, JSON.stringify(third));
  assert.equal(third.exitCode, exitCodes.alreadyRunning);
  assert.match(third.sentence!, /^a PostgreSQL in another container or namespace still uses .*; stop that container/);
  assert.deepEqual(await query(connection, 'select 1 as alive'), alive);

  const fourth = keeperProcess(t, dataDir);
  assert.deepEqual(await fourth.said, { kept: true, adopted: true, postgres });
  assert.deepEqual(await query(connection, 'select 1 as alive'), alive);
  fourth.process.kill('SIGTERM');

  // After a clean stop any server may start at once, also after a container was killed as a whole.
  await new Promise((resolve) => fourth.process.once('exit', resolve));
  const container = keeperProcess(t, dataDir, asContainer);
  assert.equal((await container.said).kept, true);
  await container.killed();
  assert.equal((await keeperProcess(t, dataDir).said).kept, true);
});

test('without OS locks the holder’s file decides', { skip: noNamespaces }, async (t) => {
  const { dir, dataDir } = await scratch(t, { isMade: true });
  const programs = join(dir, 'bin');
  await mkdir(programs);
  for (const name of ['id', 'unshare', 'ps']) await symlink(await pathOf(name), join(programs, name));
  const env = { PATH: programs }; // without flock
  const quick = { renewMs: 100, staleMs: 1_500 };

  const first = keeperProcess(t, dataDir, { env, locking: quick });
  const { postgres } = await first.said;
  const connection = (await connectRunning(dataDir))!;
  const holder = JSON.parse(await readFile(join(dataDir, 'server.holder'), 'utf8'));
  assert.deepEqual([holder.pid, holder.host, holder.hasOsLock], [first.process.pid, hostname(), false]);

  for (const [what, options] of Object.entries({
    'in another container': { ...asContainer, env, locking: quick },
    'in another container that has locks': { ...asContainer, locking: quick },
    here: { env },
  })) {
    const refused = await keeperProcess(t, dataDir, options).said;
    assert.equal(refused.exitCode, exitCodes.alreadyRunning, what);
    assert.match(refused.sentence!, new RegExp(`as pid ${first.process.pid}( of|;)`), what);
  }
  assert.deepEqual(await query(connection, 'select 1 as alive'), alive);

  // A holder that is visibly gone is replaced at once, an invisible one after its timeout.
  await first.killed();
  const second = keeperProcess(t, dataDir, { env, locking: { staleMs: 3_600_000 } });
  assert.deepEqual(await second.said, { kept: true, adopted: true, postgres });
  second.process.kill('SIGTERM');
  await new Promise((resolve) => second.process.once('exit', resolve));

  const container = keeperProcess(t, dataDir, { ...asContainer, env, locking: quick });
  assert.equal((await container.said).kept, true);
  await container.killed();
  const last = keeperProcess(t, dataDir, { env, locking: quick });
  assert.equal((await last.said).kept, true, 'once the container has been silent for its time');
});

async function pathOf(name: string): Promise<string> {
  for (const dir of (process.env.PATH ?? '').split(delimiter)) {
    const path = join(dir, name);
    if (await readFile(path).catch(() => undefined)) return path;
  }
  throw new Error(`${name} is not installed`);
}
