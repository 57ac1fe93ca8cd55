import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import http from 'node:http';
import { test } from 'node:test';
import { quarterdeck, type Someone } from '../../../../../test/harness/index.ts';
import { eventually } from '../../../../../test/harness/process.ts';

/** Long enough for one download to begin, also on a busy machine. */
const secondsLeft = 4;

interface Login {
  password: string;
}

test('a credential that ends during its own slow download never becomes another organization’s', async (t) => {
  const server = await quarterdeck(t);
  const [acme, globex] = [await server.organization('acme'), await server.organization('globex')];
  const login = async (who: Someone) => (await who.post('/registry/login-credentials', {})).body as Login;
  const auth = ({ password }: Login) => `Bearer ${password}`;
  // The download is larger than two socket buffers.
  const blobs = new Map(['acme', 'globex'].map((slug) => [slug, Buffer.alloc(slug === 'acme' ? 16 * 1024 * 1024 : 1024, slug)]));
  const path = (slug: string) => `/v2/${slug}/app/blobs/sha256:${createHash('sha256').update(blobs.get(slug)!).digest('hex')}`;
  const paths = new Map([...blobs.keys()].map((slug) => [slug, path(slug)]));
  const head = async (slug: string, with_: Login) =>
    (await fetch(`${server.url}${paths.get(slug)}`, { method: 'HEAD', headers: { authorization: auth(with_) } })).status;
  for (const who of [acme, globex]) {
    assert.equal((await who.post('/registry/registries', { slug: who.orgSlug })).status, 201);
    const upload = paths.get(who.orgSlug)!.replace('/blobs/', '/blobs/uploads/?digest=');
    const authorization = auth(await login(who));
    const body = blobs.get(who.orgSlug)!;
    assert.equal((await fetch(`${server.url}${upload}`, { method: 'POST', headers: { authorization }, body })).status, 201);
  }

  const ending = await login(acme);
  await server.clock.advance(`${3600 - secondsLeft}s`); // from now on its cache entry expires with it
  const slow = await new Promise<http.IncomingMessage>((resolve, reject) => {
    const headers = { authorization: auth(ending) };
    http.get(`${server.url}${paths.get('acme')}`, { headers, agent: new http.Agent() }, resolve).on('error', reject);
  });
  t.after(() => slow.destroy());
  assert.equal(slow.statusCode, 200);
  slow.on('error', () => {}).pause();
  assert.equal(await head('acme', await login(acme)), 200); // it is not alone in memory
  // One more request with the same key after the cache entry expired: the download's access watch reloads it at the same moment.
  await eventually(async () => (await head('acme', ending)) === 401);

  const keys = await Promise.all([acme, globex].flatMap((who) => [who, who, who]).map(async (who) => ({ who, login: await login(who) })));
  for (let round = 0; round < 2; round++) {
    for (const { who, login: own } of keys)
      for (const slug of ['acme', 'globex']) {
        const status = await head(slug, own);
        assert.equal(status === 200, slug === who.orgSlug, `a login of ${who.orgSlug} got ${status} at ${slug}`);
      }
    for (const slug of ['acme', 'globex']) assert.equal(await head(slug, ending), 401, `a login that is over opened ${slug}`);
  }
});
