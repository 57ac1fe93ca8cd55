import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { eventually } from '../../../../test/harness/process.ts';
import { Stop } from '../../../kernel/errors.ts';
import { tcpServer } from '../../../kernel/guard/test/servers.ts';
import { holdDirectory } from '../delivery/instance.ts';
import { agentHere, bufferDir, fakeServer, proberProcess } from './server.ts';
import { httpMonitor, tcpTarget } from './support.ts';

const monitors = (port: number, count: number) =>
  Array.from({ length: count }, (_, at) => ({
    ...httpMonitor(`mon_${at}`, { intervalSeconds: 1, timeoutMs: 500 }),
    kind: 'tcp' as const,
    target: tcpTarget(port),
  }));

/** Something that can be connected to, and how often it was. */
async function target(t: TestContext) {
  const its = { port: 0, connections: 0 };
  its.port = await tcpServer(t, () => void its.connections++);
  return its;
}

test('server away, prober killed, both back: what was on the disk arrives once, in order, with its age', async (t) => {
  const dir = await bufferDir(t);
  const server = await fakeServer(t);
  const settings = { server: server.url, token: 'qd_agent_test', bufferDir: dir };
  const checked = await target(t);
  server.assignments = monitors(checked.port, 4);
  const first = proberProcess(t, settings);
  await eventually(async () => server.stored.length >= 4);
  assert.deepEqual(server.sessions[0]!.token, 'Bearer qd_agent_test');
  const live = server.seq;

  server.mood = 'away';
  const onDisk = () => readdir(dir).then((names) => names.filter((name) => name.endsWith('.batches')));
  await eventually(async () => (await onDisk()).length > 0);
  const wentAway = performance.now();
  const before = checked.connections;
  await eventually(async () => checked.connections > before + 1);
  first.child.kill('SIGKILL');
  await first.exited;

  const second = proberProcess(t, settings);
  await eventually(async () => /server is away/.test(second.log()));
  assert.ok((await onDisk()).length > 0, 'they wait');
  server.mood = 'well';
  await eventually(async () => (await onDisk()).length === 0 && server.seq > live);
  const replayed = server.stored.filter(({ seq }) => seq > live);
  assert.ok(
    replayed.some(({ at }) => at < wentAway),
    'seen before it went away, and not told as news',
  );
  assert.deepEqual(
    server.seqs,
    [...server.seqs].sort((a, b) => a - b),
    'in order',
  );
  assert.deepEqual([...new Set(server.sessions.map(({ instance }) => instance))].length, 1, 'under one name');
  // A busy machine misses checks of its own, which says nothing of what is checked.
  const outcomes = new Set(server.stored.map(({ outcome }) => outcome));
  outcomes.delete('missed');
  assert.deepEqual([...outcomes], ['pass']);

  second.child.kill('SIGTERM');
  assert.equal(await second.exited, 0);
});

test('a batch whose answer was lost is not stored twice', async (t) => {
  const server = await fakeServer(t);
  server.assignments = monitors(await tcpServer(t, () => {}), 2);
  server.mood = 'well';
  const { stop } = await agentHere(t, server, { dir: await bufferDir(t) });
  await eventually(async () => server.sessions.length === 1);
  server.mood = 'deaf';
  await eventually(async () => server.seqs.filter((seq) => seq === 1).length >= 2);
  server.mood = 'well';
  await eventually(async () => server.seq >= 2);
  const firsts = server.stored.filter(({ seq }) => seq === 1).map(({ monitor }) => monitor);
  assert.equal(firsts.length, new Set(firsts).size);
  await stop();
});

test('asked to end while the server is away, it keeps what it has and ends with 0', async (t) => {
  const dir = await bufferDir(t);
  const server = await fakeServer(t);
  const checked = await target(t);
  server.assignments = monitors(checked.port, 3);
  const prober = proberProcess(t, { server: server.url, token: 't', bufferDir: dir });
  await eventually(async () => server.stored.length >= 3);
  server.mood = 'away';
  const seen = checked.connections;
  await eventually(async () => checked.connections > seen);
  prober.child.kill('SIGTERM');
  assert.equal(await prober.exited, 0);
  const left = await readdir(dir);
  assert.ok(!left.includes('prober.pid'), left.join());
  server.mood = 'well';
  const before = server.stored.length;
  server.assignments = [];
  const { stop } = await agentHere(t, server, { dir, token: 't' });
  await eventually(async () => server.stored.length > before);
  await stop();
});

test('one directory, one prober; a second one does not wait and names the first', async (t) => {
  const dir = await bufferDir(t);
  const server = await fakeServer(t, { socketPath: join(dir, 'server.sock') });
  const settings = { socketPath: server.url, bufferDir: join(dir, 'buffer') };
  const first = proberProcess(t, { ...settings, endWithStdin: true });
  await eventually(async () => server.sessions.length === 1);
  await assert.rejects(holdDirectory(settings.bufferDir), (error) => {
    assert.ok(error instanceof Stop && error.exitCode === 3, String(error));
    assert.match(error.message, new RegExp(`already \\(pid ${first.child.pid}\\)`));
    return true;
  });
  // Whoever started it is gone: it ends too.
  first.child.stdin!.end();
  assert.equal(await first.exited, 0);
});
