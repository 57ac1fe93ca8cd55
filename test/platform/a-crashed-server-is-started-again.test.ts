import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkFaults } from '../../src/admin/doctor/faults.ts';
import { readFaults } from '../../src/kernel/faults/record.ts';
import { isAlive } from '../../src/kernel/programs/process.ts';
import { freePort } from '../harness/free-port.ts';
import { eventually, postgresOf, scratch, serverProcess } from '../harness/process.ts';
import { childrenOf, startParent } from './a-parent.ts';

const childOf = async (pid: number): Promise<number | undefined> => (await childrenOf(pid))[0];

test('a crashed server is started again, and a stop leaves nothing behind', async (t) => {
  const { dir, dataDir } = await scratch(t, { isMigrated: true });
  const port = await freePort();
  const env = { QUARTERDECK_LISTEN: `127.0.0.1:${port}` };
  const isServing = async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).status === 200;
  const first = startParent(t, dir, { env });
  await eventually(isServing, { withinMs: 60_000 });

  const server = (await childOf(first.pid))!;
  process.kill(server, 'SIGKILL');
  await eventually(async () => !isAlive(server));
  await eventually(isServing, { withinMs: 60_000 });
  assert.notEqual(await childOf(first.pid), server);
  assert.match(first.said(), /quarterdeck: the server crashed \(SIGKILL\); starting it again in 0\.25 s/);
  await eventually(async () => readFaults(dataDir).some(({ kind, message }) => kind === 'uncaught' && message.includes('SIGKILL')));
  assert.match(checkFaults(dataDir)[0]!.says, /^the server crashed once in 7 days by SIGKILL, last at/);

  // A server without its parent ends too, and the next start has the port, the directory and its PostgreSQL at once.
  const orphan = (await childOf(first.pid))!;
  const database = await postgresOf(dataDir);
  process.kill(first.pid, 'SIGKILL');
  await eventually(async () => !isAlive(orphan));
  const second = startParent(t, dir, { env });
  await eventually(isServing, { withinMs: 60_000 });
  assert.equal(await postgresOf(dataDir), database);

  // A terminal that closes stops nothing.
  const last = (await childOf(second.pid))!;
  process.kill(second.pid, 'SIGHUP');
  await second.hears(/SIGHUP, as of a terminal that closes: the server goes on; `kill \d+` stops it/);
  assert.ok(await isServing());
  process.kill(second.pid, 'SIGTERM');
  assert.deepEqual(await second.ended, [0, null]);
  assert.equal(isAlive(last), false);
  assert.equal(await postgresOf(dataDir), undefined);
});

test('five crashes within a minute end the parent; a refusal, or an exception of the first start, ends it at once', async (t) => {
  const { dir } = await scratch(t);
  const crashing = startParent(t, dir);
  const killed = new Set<number>();
  void crashing.ended.then(() => killed.add(0));
  while (!killed.has(0)) {
    const child = await childOf(crashing.pid);
    if (child === undefined || killed.has(child)) continue;
    killed.add(child);
    process.kill(child, 'SIGSEGV');
  }
  assert.deepEqual(await crashing.ended, [1, null]);
  assert.equal(killed.size - 1, 5);
  assert.match(crashing.said(), /the server crashed 5 times within a minute, last with SIGSEGV; not starting it again/);

  const throwing = "if (process.env.QUARTERDECK_CHANNEL) setImmediate(() => { throw new Error('deliberate: at the start') })";
  const faulty = startParent(t, dir, { env: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(throwing)}` } });
  assert.deepEqual(await faulty.ended, [1, null]);
  assert.equal(faulty.said().match(/Error: deliberate: at the start/g)?.length, 1, faulty.said());

  const refused = startParent(t, dir, { env: { QUARTERDECK_LISTEN: 'nowhere' } });
  assert.deepEqual(await refused.ended, [9, null]);
  assert.doesNotMatch(refused.said(), /starting it again/);
});

test('an exception that nothing caught ends the server, and is told after the restart', async (t) => {
  const { dir, dataDir } = await scratch(t, { isMigrated: true });
  const env = { QUARTERDECK_METRICS_TOKEN: 'numbers-for-the-operator-alone' };
  const throwing = "process.once('SIGUSR2', () => { throw new Error('deliberate: nothing catches it') })";
  const first = serverProcess(t, { dir, env, nodeFlags: ['--import', `data:text/javascript,${encodeURIComponent(throwing)}`] });
  await first.ready;
  first.signal('SIGUSR2');
  assert.deepEqual(await first.exited, { code: 1, signal: null });
  assert.match(first.stderr(), /an exception that nothing caught ends this server: Error: deliberate: nothing catches it/);

  const url = await serverProcess(t, { dir, env }).ready;
  const numbers = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${env.QUARTERDECK_METRICS_TOKEN}` } });
  assert.match(await numbers.text(), /quarterdeck_faults_total\{kind="uncaught",handler=""\} 1/);
  const [told] = checkFaults(dataDir);
  assert.match(told!.says, /the server crashed once in 7 days by an exception, last at .*: deliberate: nothing catches it/);
});
