import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { readManifest } from '../../src/admin/backup/manifest.ts';
import { verifyBackup } from '../../src/admin/backup/verify.ts';
import { emptyDatabase, quarterdeckCli, sqlOn } from '../../src/admin/test/support.ts';
import type { Connection } from '../../src/kernel/db/index.ts';
import { keepPostgres } from '../../src/kernel/postgres/index.ts';
import { keyFile, readKeys } from '../../src/kernel/secrets.ts';
import { quarterdeck } from '../harness/index.ts';
import { urlOf } from '../harness/postgres.ts';

const main = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const rounds = 8;

/** `kill -9` after so long. True: it had ended by itself. */
async function killedAfter(ms: number, args: string[], env: Record<string, string>): Promise<boolean> {
  const { PATH = '' } = process.env;
  const child = spawn(process.execPath, [main, 'admin', ...args], { env: { PATH, ...env }, stdio: 'ignore' });
  const ended = new Promise<boolean>((resolve) => child.once('exit', (_, signal) => resolve(signal === null)));
  await Promise.race([sleep(ms), ended]);
  child.kill('SIGKILL');
  return ended;
}

async function installation(t: TestContext) {
  const server = await quarterdeck(t);
  await sqlOn(
    server.connection,
    `insert into kernel.audit (id, org_id, at, actor, actor_label, action, target, detail)
     select kernel.new_id('aud'), $1, kernel.now(), 'operator', 'operator', 'test.filler', n::text, jsonb_build_object('text', repeat('x', 500)) from generate_series(1, 40000) n`,
    [server.owner.orgId],
  );
  const directory = await mkdtemp(join(tmpdir(), 'qdf-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  return { server, directory, env: { QUARTERDECK_DATABASE_URL: urlOf(server.connection), QUARTERDECK_DATA: server.dataDir } };
}

/** How long the whole thing takes here and now: kills are spread over that. */
async function timed(act: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await act();
  return performance.now() - began;
}

test('a backup killed at any moment is absent or whole, and the next one clears up', async (t) => {
  const { directory, env } = await installation(t);
  const target = join(directory, 'backup');
  const whole = await timed(async () => assert.equal((await quarterdeckCli(['admin', 'backup', join(directory, 'first')], env)).code, 0));
  for (let round = 0; round < rounds; round++) {
    await killedAfter(randomInt(Math.round(whole * 0.3), Math.round(whole * 1.1)), ['backup', target], env);
    if (!(await readdir(directory)).includes('backup')) continue;
    await verifyBackup(target, await readManifest(target));
    await rm(target, { recursive: true });
  }
  const last = await quarterdeckCli(['admin', 'backup', target], env);
  assert.equal(last.code, 0, last.err);
  assert.deepEqual((await readdir(directory)).sort(), ['backup', 'first'], 'no halves are left');
});

test('a restore killed at any moment is finished by the next, or had been', async (t) => {
  const { server, directory, env } = await installation(t);
  const target = join(directory, 'backup');
  assert.equal((await quarterdeckCli(['admin', 'backup', target, '--with-key'], env)).code, 0);
  const manifest = await readManifest(target);
  const holds = async (connection: Connection) => {
    const [found] = await sqlOn<{ count: number }>(
      connection,
      `select count(*) as count from kernel.audit where action <> 'installation.restore'`,
    );
    assert.equal(found!.count, manifest.tables.find((table) => table.name === 'audit')!.rows);
    assert.deepEqual(await sqlOn(connection, 'select id from identity.org'), [{ id: server.owner.orgId }]);
    assert.equal((await sqlOn(connection, 'select 1 from kernel.restore_hold')).length, 1, 'rows never come without their hold');
  };

  let whole = 0;
  await t.test('external', async (t) => {
    const sample = await emptyDatabase(t);
    const into = (connection: Connection, dataDir: string) => ({ QUARTERDECK_DATABASE_URL: urlOf(connection), QUARTERDECK_DATA: dataDir });
    whole = await timed(() => quarterdeckCli(['admin', 'restore', target], into(sample.connection, join(directory, 'sample'))));
    await holds(sample.connection);
    for (let round = 0; round < rounds; round++) {
      const { connection } = await emptyDatabase(t);
      const to = into(connection, join(directory, `external ${round}`));
      await killedAfter(randomInt(Math.round(whole * 0.3), Math.round(whole)), ['restore', target], to);
      await sleep(100); // until PostgreSQL has noticed that nobody is there any more
      const again = await quarterdeckCli(['admin', 'restore', target], to);
      assert.ok(again.code === 0 || (again.code === 11 && /is not empty/.test(again.err)), `${again.code} ${again.err}`);
      await holds(connection);
    }
  });

  await t.test('embedded', async (t) => {
    for (let round = 0; round < 3; round++) {
      const dataDir = join(directory, `embedded ${round}`);
      const to = { QUARTERDECK_DATA: dataDir };
      await killedAfter(randomInt(Math.round(whole * 0.3), Math.round(whole * 2)), ['restore', target], to);
      const again = await quarterdeckCli(['admin', 'restore', target], to);
      assert.ok(again.code === 0 || (again.code === 11 && /is not empty/.test(again.err)), `${again.code} ${again.err}`);
      const kept = await keepPostgres({ dataDir });
      t.after(() => kept.stop());
      await holds(kept.connection);
      await kept.stop();
    }
  });
});

test('a rotation killed at any moment leaves a key file that opens everything, and is finished by the next', async (t) => {
  const { server, directory, env } = await installation(t);
  const file = keyFile(server.dataDir);
  await cp(file, join(directory, 'first.key'));
  const whole = await timed(async () => assert.equal((await quarterdeckCli(['admin', 'rotate-key'], env)).code, 0));
  for (let round = 0; round < rounds; round++) {
    await killedAfter(randomInt(0, Math.round(whole)), ['rotate-key'], env);
    const doctor = await quarterdeckCli(['admin', 'doctor', '--json'], env);
    const key = JSON.parse(doctor.out).filter((f: { check: string }) => f.check === 'secret.key');
    assert.ok(
      key.every((f: { verdict: string }) => f.verdict !== 'fail'),
      JSON.stringify(key),
    );
  }
  assert.equal((await quarterdeckCli(['admin', 'rotate-key', '--drop-old'], env)).code, 0);
  assert.equal((await readKeys(file))!.keys.length, 1);
});
