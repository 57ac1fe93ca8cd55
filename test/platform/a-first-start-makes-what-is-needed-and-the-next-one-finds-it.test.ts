import assert from 'node:assert/strict';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { postgresOf, scratch, serverProcess } from '../harness/process.ts';
import { startHere } from './start-here.ts';

test('a first start makes what is needed, and the next one finds it', async (t) => {
  const { dir, dataDir } = await scratch(t);
  const first = serverProcess(t, { dir });
  const url = await first.ready;
  t.diagnostic(`first start: ${first.readyMs().toFixed(0)} ms`);

  assert.match(first.stdout(), new RegExp(`is ready at ${url}\n`));
  assert.match(first.stdout(), / quarterdeck whoami/);
  assert.match(first.stdout(), new RegExp(`${url}/docs`));
  assert.equal(first.stderr(), '');

  const file = join(dataDir, 'owner.token');
  const token = await readFile(file, 'utf8');
  assert.match(token, /^qd_pat_[0-9A-Za-z]{38}\n$/);
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  assert.equal((await stat(join(dataDir, 'secret.key'))).mode & 0o777, 0o600);

  const owner = await first.owner();
  const me = await owner.get('/me');
  assert.equal(me.status, 200);
  assert.deepEqual(me.body.organizations, [{ slug: 'default', name: 'Default', role: 'owner' }]);
  assert.deepEqual(
    (await owner.get('/tokens')).body.tokens.map((x: { name: string }) => x.name),
    ['this machine'],
  );
  assert.equal((await fetch(`${url}/healthz`)).status, 200);
  assert.equal((await fetch(`${url}/readyz`)).status, 200);

  assert.equal(await first.stopped(), 0);
  assert.equal(await postgresOf(dataDir), undefined);

  const second = serverProcess(t, { dir });
  await second.ready;
  t.diagnostic(`second start: ${second.readyMs().toFixed(0)} ms`);
  assert.equal(await readFile(file, 'utf8'), token);
  const again = await second.owner();
  assert.equal((await again.get('/me')).body.id, me.body.id);

  // A token that is of no use any more is minted again at the next start, and only then.
  const [{ id }] = (await again.get('/tokens')).body.tokens;
  assert.equal((await again.delete(`/tokens/${id}`)).status, 204);
  assert.equal(await second.stopped(), 0);
  const third = await startHere(t, { dir });
  const renewed = await third.owner();
  assert.notEqual(renewed.key, again.key);
  assert.equal((await renewed.get('/me')).body.id, me.body.id);
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  await third.stop();
});
