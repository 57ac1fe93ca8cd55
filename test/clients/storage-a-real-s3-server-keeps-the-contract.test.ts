import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePort } from '../harness/free-port.ts';
import { quarterdeck } from '../harness/index.ts';
import { eventually } from '../harness/process.ts';
import { lacking } from './email-support.ts';

const exec = promisify(execFile);
const skip = lacking('versitygw');
const keys = { access: 'quarterdeck', secret: 'a-secret-of-the-test' };

/** versitygw over a folder of the test's own, with one bucket. */
async function startServer(t: TestContext): Promise<{ endpoint: string; bucket: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'qds-'));
  await mkdir(join(folder, 'files/blobs'), { recursive: true });
  const port = await freePort();
  const child = spawn('versitygw', ['--port', `127.0.0.1:${port}`, 'posix', join(folder, 'files')], {
    env: { ...process.env, ROOT_ACCESS_KEY: keys.access, ROOT_SECRET_KEY: keys.secret },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = new Promise((end) => child.once('exit', end));
  t.after(async () => {
    child.kill('SIGTERM');
    await ended;
    await rm(folder, { recursive: true, force: true });
  });
  const endpoint = `http://127.0.0.1:${port}`;
  await eventually(() => fetch(endpoint).then((answer) => answer.status === 403));
  return { endpoint, bucket: 'blobs' };
}

test('the contract of storages holds on a real S3 server', { skip, timeout: 600_000 }, async (t) => {
  const { endpoint, bucket } = await startServer(t);
  const address = endpoint.replace('://', `://${keys.access}:${keys.secret}@`);
  const root = fileURLToPath(new URL('../../', import.meta.url));
  const files = ['objects-are-whole-or-absent', 'uploads-go-on-where-they-stopped'].map(
    (name) => `src/kernel/storage/test/${name}.test.ts`,
  );
  const { stdout } = await exec(process.execPath, ['test/run.ts', ...files], {
    cwd: root,
    env: { ...process.env, QUARTERDECK_TEST_S3: `${address}/${bucket}` },
    timeout: 600_000,
  });
  assert.match(stdout, / 0 failed/);
});

test('images are pushed to a real S3 server and pulled from it by the addresses that we sign', { skip }, async (t) => {
  const { endpoint, bucket } = await startServer(t);
  const { owner, url } = await quarterdeck(t, {
    env: {
      QUARTERDECK_STORAGE: `s3://${bucket}/here`,
      QUARTERDECK_S3_ENDPOINT: endpoint,
      QUARTERDECK_S3_ACCESS_KEY: keys.access,
      QUARTERDECK_S3_SECRET_KEY: keys.secret,
    },
  });
  assert.equal((await owner.post('/registry/registries', { slug: 'acme' })).status, 201);
  const { username, password } = (await owner.post('/registry/login-credentials', {})).body;
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
  for (const size of [1_000, 20 * 1024 * 1024]) {
    const layer = randomBytes(size);
    const digest = `sha256:${createHash('sha256').update(layer).digest('hex')}`;
    const begun = await fetch(`${url}/v2/acme/app/blobs/uploads/`, { method: 'POST', headers: { authorization } });
    const upload = new URL(begun.headers.get('location')!, url);
    upload.searchParams.set('digest', digest);
    const pushed = await fetch(upload, { method: 'PUT', headers: { authorization }, body: layer });
    assert.equal(pushed.status, 201, await pushed.text());
    const pulled = await fetch(`${url}/v2/acme/app/blobs/${digest}`, { headers: { authorization } });
    assert.equal(new URL(pulled.url).host === new URL(endpoint).host, size > 65_536, pulled.url);
    assert.ok(Buffer.from(await pulled.arrayBuffer()).equals(layer));
  }
});
