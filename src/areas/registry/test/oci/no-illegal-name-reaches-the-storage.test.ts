import assert from 'node:assert/strict';
import net from 'node:net';
import { test } from 'node:test';
import fc from 'fast-check';
import { isName, routeOf, splitName } from '../../rules/names.ts';
import { registryServer } from '../registry-server.ts';

const illegal = [
  'acme/../other',
  'acme/./x',
  'acme//x',
  '/acme/x',
  'acme/x/',
  'acme',
  'ACME/x',
  'acme/X',
  'acme/é',
  'acme/%2e%2e',
  'acme/a b',
  'acme/a..b',
  'acme/a___b',
  'acme/-a',
  'acme/a-',
  'acme/.a',
  'acme/a_',
  'acme/a%00b',
  `acme/${'a'.repeat(256)}`,
  'acme/a:1',
];

test('no illegal name reaches the storage', async (t) => {
  const { url } = await registryServer(t);
  const { port } = new URL(url);
  // On a raw socket: a client library would normalize the path.
  const raw = (request: string) =>
    new Promise<string>((resolve, reject) => {
      const socket = net.connect(Number(port), '127.0.0.1', () =>
        socket.write(`${request}\r\nHost: x\r\nAuthorization: Bearer alice\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`),
      );
      let text = '';
      socket
        .on('data', (d) => (text += d))
        .on('end', () => resolve(text))
        .on('error', reject);
    });
  for (const name of illegal) {
    for (const line of [`GET /v2/${name}/tags/list`, `POST /v2/${name}/blobs/uploads/`, `GET /v2/${name}/manifests/v1`]) {
      const answer = await raw(`${Buffer.from(line).toString('latin1')} HTTP/1.1`);
      assert.match(answer, /^HTTP\/1\.1 (400|404) /, line);
      assert.match(answer, /NAME_INVALID|NAME_UNKNOWN|well-formed/, `${line}: ${answer}`);
    }
  }
  for (const path of [
    '/v2/acme/app',
    '/v2/acme/app/',
    '/v2/acme/app/nonsense/x',
    '/v2/acme/app/manifests/',
    '/v2//',
    '/v2/acme/app/blobs/',
  ])
    assert.match(await raw(`GET ${path} HTTP/1.1`), /^HTTP\/1\.1 404 /, path);
  for (const [method, path] of [
    ['POST', 'manifests/v1'],
    ['PATCH', 'tags/list'],
    ['PUT', 'blobs/uploads/'],
    ['POST', 'referrers/x'],
  ] as const)
    assert.match(await raw(`${method} /v2/acme/app/${path} HTTP/1.1`), /^HTTP\/1\.1 405 /);
  assert.match(await raw('GET /v20/x HTTP/1.1'), /^HTTP\/1\.1 404 /, 'not ours');
});

test('a name is read from the end of the path, whatever words it holds', () => {
  const part = fc.stringMatching(/^[a-z0-9]{1,8}$/);
  const segment = fc.oneof(part, fc.constantFrom('blobs', 'manifests', 'tags', 'uploads', 'referrers', 'list'));
  fc.assert(
    fc.property(fc.array(segment, { minLength: 2, maxLength: 6 }), (segments) => {
      const name = segments.join('/');
      assert.deepEqual(routeOf(`/v2/${name}/manifests/v1`), { kind: 'manifest', name, reference: 'v1' });
      assert.deepEqual(routeOf(`/v2/${name}/tags/list`), { kind: 'tags', name });
      assert.deepEqual(routeOf(`/v2/${name}/blobs/uploads/`), { kind: 'uploads', name });
      assert.deepEqual(routeOf(`/v2/${name}/blobs/sha256:ab`), { kind: 'blob', name, digest: 'sha256:ab' });
      assert.deepEqual(splitName(name), { slug: segments[0], repository: segments.slice(1).join('/') });
    }),
  );
  for (const name of illegal) assert.ok(!isName(name) || splitName(name) === undefined, name);
});
