import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import http from 'node:http';
import { test } from 'node:test';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { signedIn } from '../../../../test/harness/visitor.ts';

const basic = (user: string, password: string) => `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

test('a session that ends cuts a download under way with a login that it made, on another server', async (t) => {
  const first = await quarterdeck(t);
  const second = await quarterdeck(t, { connection: first.connection, dataDir: first.dataDir });
  await first.owner.post('/registry/registries', { slug: 'acme' });
  const browser = await signedIn(first, first.owner.userId);
  const other = await signedIn(first, first.owner.userId);
  const { body: login, status } = await browser.api('POST', '/registry/login-credentials', {});
  assert.equal(status, 201);
  const headers = { authorization: basic(login.username, login.password) };

  const blob = Buffer.alloc(48 * 1024 * 1024, 'x');
  const digest = `sha256:${createHash('sha256').update(blob).digest('hex')}`;
  const push = await fetch(`${first.url}/v2/acme/app/blobs/uploads/?digest=${digest}`, { method: 'POST', headers, body: blob });
  assert.equal(push.status, 201);
  const { sessions } = (await other.api('GET', '/me/sessions')).body as { sessions: { id: string; isCurrent: boolean }[] };
  const { id } = sessions.find(({ isCurrent }) => !isCurrent)!;

  // A slow reader: most of the download is still on the server when the session ends.
  const outcome = new Promise<'cut' | 'whole'>((resolve, reject) => {
    http
      .get(`${second.url}/v2/acme/app/blobs/${digest}`, { headers }, (response) => {
        assert.equal(response.statusCode, 200);
        response.once('data', () => other.api('DELETE', `/me/sessions/${id}`).then((ended) => assert.equal(ended.status, 204), reject));
        response.on('data', () => {
          response.pause();
          setTimeout(() => response.resume(), 10);
        });
        response.on('error', () => resolve('cut'));
        response.on('close', () => resolve(response.complete ? 'whole' : 'cut'));
      })
      .on('error', reject);
  });
  assert.equal(await outcome, 'cut');
  assert.equal((await fetch(`${second.url}/v2/`, { headers })).status, 401);
  assert.equal((await browser.api('GET', '/me')).status, 401);
  assert.equal((await other.api('GET', '/me')).status, 200);
});
