import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { cached } from '../cached.ts';

test('an upstream cannot send us where we must not go', async (t) => {
  const { upstream, pull, owner } = await cached(t);
  const image = upstream.image('team/app', 'v1', [randomBytes(1000)]);

  // Refused by the guard before any connection: the metadata service of a cloud, and a neighbour's network.
  upstream.point({ realm: 'http://169.254.169.254/token' });
  const tokens = await pull('up.test/team/app/manifests/v1');
  assert.equal(tokens.status, 403);
  assert.match(await tokens.text(), /169\.254\.169\.254 is not a public address/);
  const login = await owner.put('/registry/registries/acme/upstream-credentials/up.test', { username: 'acme', password: 'hunter2' });
  assert.equal(login.status, 400);
  assert.match(login.body.error, /not a public address/);

  upstream.point({ blobs: 'http://10.0.0.1' });
  const manifest = await pull('up.test/team/app/manifests/v1');
  assert.equal(manifest.status, 200, await manifest.text());
  const blobs = await pull(`up.test/team/app/blobs/${image.layers[0]}`);
  assert.equal(blobs.status, 403);
  assert.match(await blobs.text(), /QUARTERDECK_ALLOW_PRIVATE_CIDRS \(use upstream\)/);

  upstream.point({});
  const layer = await pull(`up.test/team/app/blobs/${image.layers[0]}`);
  assert.equal(layer.status, 200, 'and nothing was kept of it');
  await layer.arrayBuffer(); // the stopping server waits for a client that leaves an answer unread
});
