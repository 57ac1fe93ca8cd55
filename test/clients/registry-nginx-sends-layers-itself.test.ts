import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { freePort } from '../harness/free-port.ts';
import { quarterdeck } from '../harness/index.ts';
import { eventually } from '../harness/process.ts';
import { lacking } from './email-support.ts';

/** As docs/tours/registry.md says it. */
const configuration = (folder: string, port: number, upstream: string, blobs: string) => `
daemon off; master_process off; pid ${folder}/pid; error_log stderr warn; events {}
http {
  access_log off; sendfile on;
  client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy; fastcgi_temp_path ${folder}/f; uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s;
  server {
    listen 127.0.0.1:${port};
    client_max_body_size 0;
    proxy_request_buffering off;
    location / {
      proxy_pass ${upstream};
      proxy_http_version 1.1;
      proxy_set_header Host $http_host;
      proxy_set_header X-Forwarded-For $remote_addr;
      proxy_set_header X-Forwarded-Proto $scheme;
    }
    location /layers/ {
      internal;
      alias ${blobs}/;
      etag off;
      add_header Docker-Content-Digest $upstream_http_docker_content_digest;
      add_header ETag $upstream_http_etag;
    }
  }
}`;

async function startNginx(t: TestContext, upstream: string, blobs: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'qdn-'));
  await mkdir(folder, { recursive: true });
  const port = await freePort();
  const file = join(folder, 'nginx.conf');
  await writeFile(file, configuration(folder, port, upstream, blobs));
  const child = spawn('nginx', ['-c', file, '-e', 'stderr'], { stdio: ['ignore', 'inherit', 'inherit'] });
  const ended = new Promise((end) => child.once('exit', end));
  t.after(async () => {
    child.kill('SIGTERM');
    await ended;
    await rm(folder, { recursive: true, force: true });
  });
  const url = `http://127.0.0.1:${port}`;
  await eventually(() => fetch(`${url}/v2/`).then((answer) => answer.status === 401));
  return url;
}

test('nginx in front sends layers itself, whole and in part, to clients that may pull and to no others', {
  skip: lacking('nginx'),
}, async (t) => {
  const { owner, url, dataDir } = await quarterdeck(t, {
    env: { QUARTERDECK_TRUSTED_PROXIES: '127.0.0.1', QUARTERDECK_ACCEL_REDIRECT: '/layers' },
  });
  const front = await startNginx(t, url, join(dataDir, 'blobs'));
  assert.equal((await owner.post('/registry/registries', { slug: 'acme' })).status, 201);
  const { username, password } = (await owner.post('/registry/login-credentials', {})).body;
  const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;

  const layer = Buffer.alloc(3_000_000, 'quarterdeck ');
  const digest = `sha256:${createHash('sha256').update(layer).digest('hex')}`;
  const begun = await fetch(`${front}/v2/acme/app/blobs/uploads/`, { method: 'POST', headers: { authorization } });
  assert.equal(begun.status, 202);
  const upload = new URL(begun.headers.get('location')!, front);
  upload.searchParams.set('digest', digest);
  const pushed = await fetch(`${front}${upload.pathname}${upload.search}`, { method: 'PUT', headers: { authorization }, body: layer });
  assert.equal(pushed.status, 201, await pushed.text());

  const at = `${front}/v2/acme/app/blobs/${digest}`;
  const whole = await fetch(at, { headers: { authorization } });
  assert.equal(whole.status, 200);
  assert.equal(whole.headers.get('docker-content-digest'), digest);
  assert.equal(whole.headers.get('x-accel-redirect'), null);
  assert.ok(Buffer.from(await whole.arrayBuffer()).equals(layer));
  const part = await fetch(at, { headers: { authorization, range: 'bytes=1000-1999' } });
  assert.equal(part.status, 206);
  assert.ok(Buffer.from(await part.arrayBuffer()).equals(layer.subarray(1_000, 2_000)));

  assert.equal((await fetch(at)).status, 401);
  const key = digest.slice('sha256:'.length);
  for (const path of [`/layers/sha256/${key.slice(0, 2)}/${key}`, '/layers/', '/layers/../secret.key'])
    assert.equal((await fetch(`${front}${path}`)).status, 404, path);
});
