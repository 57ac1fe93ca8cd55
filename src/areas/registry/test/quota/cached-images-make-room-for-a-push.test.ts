import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import Type from 'typebox';
import { sha256 } from '../../../../../test/fakes/upstream-registry.ts';
import { rows } from '../../../../kernel/db/index.ts';
import { eventually } from '../../../../kernel/jobs/test/support.ts';
import { collect } from '../../engine/gc/collect.ts';
import { cached } from '../cached.ts';
import { type Image, imageOf } from '../registry-server.ts';

/** The unit of sizes in this test. */
const piece = 64 * 1024;

test('cached images make room for a push, the least recently used first', async (t) => {
  const { upstream, pull, bytes, owner, clock, app, engine } = await cached(t, { QUARTERDECK_REGISTRY_QUOTA_BYTES: String(10 * piece) });
  const used = async () => (await owner.get('/registry/registries/acme')).body.usedBytes as number;
  const cache = async (name: string, layers: Buffer[]) => {
    const image = upstream.image(name, 'v1', layers);
    await (await pull(`up.test/${name}/manifests/v1`)).arrayBuffer();
    for (const layer of image.layers) assert.equal((await bytes(`up.test/${name}/blobs/${layer}`)).length > 0, true);
    await eventually('nothing is under way', async () => {
      const [{ reserved }] = (await app.db.read(
        (tx) => rows(tx, Type.Object({ reserved: Type.Integer() }))`select reserved_bytes as reserved from registry.registry`,
      )) as [{ reserved: number }];
      return reserved === 0;
    });
    return image;
  };
  const push = async (repository: string, image: Image) => {
    for (const blob of image.blobs) {
      const start = await pull(`${repository}/blobs/uploads/`, { method: 'POST' });
      if (start.status !== 202) return start;
      const to = start.headers.get('location')!.slice('/v2/acme/'.length);
      const put = await pull(`${to}?digest=${sha256(blob)}`, { method: 'PUT', body: new Uint8Array(blob) });
      if (put.status !== 201) return put;
    }
    return pull(`${repository}/manifests/v1`, { method: 'PUT', body: new Uint8Array(image.body), headers: { 'content-type': image.type } });
  };
  /** Writes the pull marks of this minute and starts the next minute, so that pulls have an order. */
  const noted = async (...names: string[]) => {
    await eventually(`pulls of ${names} are noted`, async () => {
      const written = await app.db.read(
        (tx) => rows(tx, Type.Object({ name: Type.String() }))`
          select r.name from registry.manifest m join registry.repository r on r.id = m.repository_id
           where m.pulled_at > kernel.now() - interval '55 seconds'`,
      );
      return names.every((name) => written.some((repository) => repository.name === `up.test/${name}`));
    });
    await clock.advance('61s');
  };
  const fetches = () => upstream.elsewhere.length;

  const shared = randomBytes(piece);
  const busy = await cache('team/busy', [randomBytes(2 * piece)]);
  const old = await cache('team/old', [shared, randomBytes(2 * piece)]);
  await noted('team/old', 'team/busy');
  const young = await cache('team/young', [randomBytes(2 * piece)]);
  await noted('team/young');
  await (await pull('up.test/team/busy/manifests/v1')).arrayBuffer(); // pulled again: `old` is the least used now
  await noted('team/busy');
  const own = imageOf([shared]); // pushed as well, so it stays whatever happens to the cache
  assert.equal((await push('own/shared', own)).status, 201);
  assert.ok((await used()) > 7 * piece);

  // 4 units do not fit beside 7: evicting the oldest image is enough.
  const first = imageOf([randomBytes(4 * piece)]);
  assert.equal((await push('own/app', first)).status, 201);
  await collect(engine, new AbortController().signal, app.log);
  let before = fetches();
  assert.equal((await bytes(`up.test/team/busy/blobs/${busy.layers[0]}`)).length, 2 * piece);
  assert.equal((await bytes(`up.test/team/young/blobs/${young.layers[0]}`)).length, 2 * piece);
  assert.equal((await bytes(`own/shared/blobs/${sha256(shared)}`)).length, piece);
  assert.equal(fetches(), before, 'these are still here');

  // An evicted image is fetched again when it is pulled. It is not kept, since the others were used within the hour.
  assert.equal((await pull('up.test/team/old/manifests/v1')).headers.get('docker-content-digest'), old.digest);
  assert.equal((await bytes(`up.test/team/old/blobs/${old.layers[1]}`)).length, 2 * piece);
  assert.ok(fetches() > before);
  assert.ok((await used()) <= 10 * piece);

  // If evicting the whole cache were not enough, nothing is evicted, and the refusal has the numbers.
  const tooMuch = await push('own/huge', imageOf([randomBytes(8 * piece)]));
  assert.equal(tooMuch.status, 403);
  assert.ok((await tooMuch.text()).includes(`quota is ${10 * piece} bytes`));
  before = fetches();
  assert.equal((await bytes(`up.test/team/young/blobs/${young.layers[0]}`)).length, 2 * piece);
  assert.equal(fetches(), before);

  // No pulls for hours: now a cache fill may evict.
  await clock.advance('2h');
  const fresh = await cache('team/fresh', [randomBytes(2 * piece)]);
  before = fetches();
  assert.equal((await bytes(`up.test/team/fresh/blobs/${fresh.layers[0]}`)).length, 2 * piece);
  assert.equal(fetches(), before, 'it was kept');
  assert.equal((await bytes(`own/app/blobs/${sha256(first.blobs[1]!)}`)).length, 4 * piece, 'and nothing that was pushed ever goes');
  assert.ok((await used()) <= 10 * piece);
});
