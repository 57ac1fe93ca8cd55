import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { quarterdeck } from '../../test/harness/index.ts';

const helper = fileURLToPath(new URL('../../bin/docker-credential-quarterdeck.mjs', import.meta.url));

async function ask(verb: string, input: string, env: Record<string, string>) {
  const child = spawn(process.execPath, [helper, verb], {
    env: { PATH: process.env['PATH']!, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end(input);
  const [stdout, code] = await Promise.all([text(child.stdout), new Promise((resolve) => child.once('close', resolve))]);
  return { stdout: stdout.trim(), code };
}

test('docker gets an hour’s login whenever it asks', async (t) => {
  const { owner, url } = await quarterdeck(t);
  await owner.post('/registry/registries', { slug: 'acme' });
  const host = new URL(url).host;
  const env = { QUARTERDECK_TOKEN: owner.key, QUARTERDECK_URL: url };

  const got = await ask('get', host, env);
  assert.equal(got.code, 0, got.stdout);
  const { ServerURL, Username, Secret } = JSON.parse(got.stdout);
  assert.equal(ServerURL, host);
  const authorization = `Basic ${Buffer.from(`${Username}:${Secret}`).toString('base64')}`;
  assert.equal((await fetch(`${url}/v2/`, { headers: { authorization } })).status, 200);
  assert.equal((await owner.delete(`/registry/login-credentials/${Username}`)).status, 204);

  const elsewhere = await ask('get', 'registry.example', env);
  assert.deepEqual(
    [elsewhere.code, elsewhere.stdout],
    [1, 'credentials not found in native keychain'],
    'another host gets no login of this server',
  );
  const tokenless = await ask('get', `http://${host}/v2/`, { QUARTERDECK_DATA: '/nonexistent' });
  assert.deepEqual([tokenless.code, tokenless.stdout], [1, 'credentials not found in native keychain']);
  const wrong = await ask('get', host, { ...env, QUARTERDECK_TOKEN: 'qd_pat_wrong' });
  assert.equal(wrong.code, 1);
  assert.match(wrong.stdout, /unauthenticated/);
  assert.deepEqual(await ask('list', '', env), { stdout: '{}', code: 0 });
  assert.deepEqual(await ask('erase', host, env), { stdout: '', code: 0 });
  assert.equal((await ask('store', '{}', env)).code, 1);
});
