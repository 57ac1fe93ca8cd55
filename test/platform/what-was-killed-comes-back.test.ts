import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually, postgresOf, scratch, serverProcess } from '../harness/process.ts';
import { startHere } from './start-here.ts';

test('what was killed comes back: us, postgres, or both', async (t) => {
  const { dir, dataDir } = await scratch(t, { isMigrated: true });
  const first = serverProcess(t, { dir });
  const owner = await first.owner();
  assert.equal((await owner.post('/uptime/services', { name: 'made before' })).status, 201);
  const database = await postgresOf(dataDir);

  await first.killed();
  assert.equal(await postgresOf(dataDir), database); // its own session: it outlives us …
  const second = serverProcess(t, { dir });
  assert.equal((await (await second.owner()).get('/uptime/services')).body.services[0].name, 'made before');
  assert.equal(await postgresOf(dataDir), database); // … and is adopted, not started anew
  t.diagnostic(`start after kill -9 of the server: ${second.readyMs().toFixed(0)} ms`);

  const again = await second.owner();
  process.kill(database!, 'SIGKILL');
  const killedAt = performance.now();
  const seen = new Set<number>();
  await eventually(async () => {
    const { status } = await again.post('/uptime/services', { name: 'made after' });
    seen.add(status);
    return status === 201;
  });
  t.diagnostic(`serving again ${(performance.now() - killedAt).toFixed(0)} ms after kill -9 of postgres`);
  // Meanwhile it says that the backend is away; it never fails in another way.
  assert.deepEqual(
    [...seen].filter((status) => status !== 201 && status !== 502 && status !== 503),
    [],
  );
  // On a busy machine the 201 may come from a process of the killed server that has not noticed yet.
  const revived = await eventually(async () => {
    const pid = await postgresOf(dataDir);
    return pid !== database && pid;
  });
  assert.equal((await again.get('/me')).status, 200);

  process.kill(revived, 'SIGKILL');
  await second.killed();
  const third = await startHere(t, { dir });
  const names = (await (await third.owner()).get('/uptime/services')).body.services.map((s: { name: string }) => s.name);
  assert.deepEqual(names, ['made after', 'made before']);
  await third.stop();
  assert.equal(await postgresOf(dataDir), undefined);
});
