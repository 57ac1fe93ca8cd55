import assert from 'node:assert/strict';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { eventually } from '../../../../test/harness/process.ts';
import { httpServer } from '../../../kernel/guard/test/servers.ts';
import { makeStateStore } from '../delivery/saved-state.ts';
import { agentHere, bufferDir, type FakeServer, fakeServer, proberProcess } from './server.ts';
import { heard, httpMonitor, httpTarget } from './support.ts';

const secret = 'a-credential-of-the-check';

async function watchedPlace(t: TestContext) {
  const its = { port: 0, asked: 0, agents: new Set<string>() };
  its.port = await httpServer(t, (request, response) => {
    if (request.headers['x-key'] === secret) its.asked++;
    its.agents.add(String(request.headers['user-agent']));
    response.end();
  });
  const target = { ...httpTarget(`http://127.0.0.1:${its.port}/`), headers: { 'x-key': secret } };
  return Object.assign(its, { monitors: [httpMonitor('mon_a', { intervalSeconds: 1, timeoutMs: 500, target })] });
}

/** A prober in this process that writes down what it knows, and what it says. */
async function knowing(t: TestContext, server: FakeServer, dir: string, token = 'qd_agent_test') {
  const { log, lines } = heard();
  const stateStore = makeStateStore({ dir, token, log });
  const { stop } = await agentHere(t, server, { dir, token, log, stateStore });
  return { stop: () => stop(0), hasSaid: (what: RegExp) => lines.some(({ msg }) => what.test(String(msg))) };
}

test('killed and started again while its server is away, a prober checks on, and tells all of it once the server is back', async (t) => {
  const dir = await bufferDir(t);
  const server = await fakeServer(t);
  const settings = { server: server.url, token: 'qd_agent_test', bufferDir: dir };
  const place = await watchedPlace(t);
  server.assignments = place.monitors;
  const known = join(dir, 'known.sealed');
  const first = proberProcess(t, settings);
  await eventually(async () => server.stored.length > 0 && (await stat(known)).size > 0);
  const { mode } = await stat(known);
  assert.equal(mode & 0o777, 0o600);
  for (const name of await readdir(dir)) {
    const content = await readFile(join(dir, name));
    assert.ok(!content.includes(secret) && !content.includes('127.0.0.1'), `${name} holds nothing of what is checked in the clear`);
  }
  first.child.kill('SIGKILL');
  await first.exited;

  server.mood = 'away';
  // Numbers that the server has and this prober has not written down: it must not give them out again.
  server.seq += 500;
  const before = { asked: place.asked, stored: server.stored.length };
  const second = await knowing(t, server, dir);
  await eventually(async () => place.asked > before.asked + 1);
  assert.ok(second.hasSaid(/checks go on with what was known/));
  assert.deepEqual([...place.agents], ['Quarterdeck-uptime/1 (test)'], 'by the name that the server gave it');
  await eventually(async () => (await readdir(dir)).some((name) => name.endsWith('.batches')));

  const backAt = performance.now();
  server.mood = 'well';
  await eventually(async () => server.stored.slice(before.stored).some(({ at }) => at < backAt));
  // A busy machine misses checks of its own, which says nothing of what is checked.
  const outcomes = new Set(server.stored.map(({ outcome }) => outcome));
  outcomes.delete('missed');
  assert.deepEqual([...outcomes], ['pass']);
  await second.stop();
});

test('what it knew goes when its token is refused, and is no use with another token', async (t) => {
  const dir = await bufferDir(t);
  const server = await fakeServer(t);
  const place = await watchedPlace(t);
  server.assignments = place.monitors;
  const known = join(dir, 'known.sealed');
  const first = await knowing(t, server, dir);
  await eventually(async () => server.stored.length > 0 && (await stat(known)).size > 0);
  await first.stop();

  server.mood = 'away';
  const other = await knowing(t, server, dir, 'qd_agent_other');
  await eventually(async () => other.hasSaid(/server is away/));
  assert.ok(other.hasSaid(/what this prober knew cannot be read/));
  await other.stop();

  server.mood = 401;
  const revoked = await knowing(t, server, dir);
  await eventually(async () => !(await readdir(dir)).includes('known.sealed'));
  const asked = place.asked;
  await eventually(async () => revoked.hasSaid(/refuses this prober’s token/));
  await revoked.stop();
  server.mood = 'away';
  const empty = await knowing(t, server, dir);
  await eventually(async () => empty.hasSaid(/server is away/));
  assert.ok(!empty.hasSaid(/checks go on with what was known/));
  assert.ok(place.asked <= asked + 1);
  await empty.stop();
});

test('what is a day old, of another time, or damaged is not gone on with', async (t) => {
  const dir = await bufferDir(t);
  const { log, lines } = heard();
  const stateStore = makeStateStore({ dir, token: 'qd_agent_test', log });
  const now = 1_800_000_000_000;
  const known = { vantage: 'fra1', userAgent: 'x', seq: 7, savedAt: now, assignments: [httpMonitor('mon_a')] };
  assert.equal(await stateStore.read(now), undefined, 'nothing yet');
  await stateStore.write({ ...known, assignments: [...known.assignments, { ...httpMonitor('mon_new'), kind: 'quic' } as never] });
  const day = 86_400_000;
  assert.deepEqual(await stateStore.read(now + day - 1), known, 'without what this version does not understand');
  assert.equal(await stateStore.read(now + day + 1), undefined);
  assert.equal(await stateStore.read(now - 2 * 3_600_000), undefined);
  const path = join(dir, 'known.sealed');
  const whole = await readFile(path);
  for (const spoilt of [whole.subarray(0, 20), Buffer.alloc(0), whole.with(-1, whole.at(-1)! ^ 1)]) {
    await writeFile(path, spoilt);
    assert.equal(await stateStore.read(now), undefined);
  }
  await new Promise(setImmediate);
  assert.equal(lines.filter(({ msg }) => /cannot be read/.test(String(msg))).length, 3);
  await stateStore.forget();
  await stateStore.forget();
  assert.deepEqual(await readdir(dir), []);
});
