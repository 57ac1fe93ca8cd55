import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../../../kernel/db/index.ts';
import { manifestsOf } from '../../store/images.ts';
import { manifestByDigest, manifestsUnder } from '../../store/manifests.ts';
import { repositoryByName } from '../../store/repositories.ts';
import {
  codeOf,
  digestOf,
  type Image,
  imageOf,
  indexOf,
  pushImage,
  putManifest,
  registryServer,
  type TestRegistry,
} from '../registry-server.ts';

const [manifestType, indexType] = ['application/vnd.oci.image.manifest.v1+json', 'application/vnd.oci.image.index.v1+json'];
/** An image that the index names and the repository does not have. */
const absent = (i: number, type = manifestType): Image => ({
  body: Buffer.alloc(1),
  digest: digestOf(Buffer.from(String(i))),
  type,
  blobs: [],
});
const many = (count: number, from = 0) => indexOf(Array.from({ length: count }, (_, i) => absent(from + i)));

test('an index has size and depth limits', async (t) => {
  const server = await registryServer(t);
  const { send } = server;
  const put = async (reference: string, image: Image, refused?: RegExp) => {
    const answer = await putManifest(send, 'acme/app', reference, image);
    if (!refused) return assert.equal(answer.status, 201, answer.body.toString());
    assert.deepEqual([answer.status, codeOf(answer)], [400, 'MANIFEST_INVALID']);
    assert.match(answer.body.toString(), refused);
  };

  await t.test('to a thousand manifests, in itself or by way of others', async () => {
    await put('wide', many(1_000));
    await put('wider', many(1_001), /lists at most 1000 manifests, not 1001/);
    await put(many(600).digest, many(600));
    await put(many(500, 5_000).digest, many(500, 5_000));
    await put('both', indexOf([many(600), many(500, 5_000)]), /more than 1000 manifests by way of/);
    await put('one', indexOf([many(600)]));
  });

  await t.test('and four levels down', async () => {
    const leaf = imageOf([]);
    await pushImage(send, 'acme/app', 'leaf', leaf);
    let nested: Image = leaf;
    for (let depth = 1; depth <= 4; depth++) {
      nested = indexOf([nested], { annotations: { depth: String(depth) } });
      await put(nested.digest, nested);
    }
    await put('deep', indexOf([nested]), /more than 4 deep/);
    await put('top', nested);
    const held = await send('DELETE', `/v2/acme/app/manifests/${leaf.digest}`);
    assert.equal(held.status, 403);
    assert.match(held.body.toString(), /tagged top/, 'a tag four levels above keeps it');
  });

  await t.test('and what is there from before costs no more', () => oldData(server));
});

/** Ten levels of forty indexes, each listing all of the next level: too many paths to walk. */
async function oldData({ send, app }: TestRegistry) {
  const leaf = imageOf([]);
  await pushImage(send, 'acme/old', leaf.digest, leaf);
  const { id } = (await app.db.read((tx) => repositoryByName(tx, 'reg_acme', 'old')))!;
  await app.db.write(
    (tx) => run(tx)`
      insert into registry.manifest (org_id, repository_id, digest, media_type, body, size, pushed_by, created_at)
      select 'org_test', ${id}, 'sha256:' || lpad(layer || '0' || w, 64, '0'), ${indexType}, 'x', layer, 'k', kernel.now()
        from generate_series(1, 10) layer, generate_series(1, 40) w`,
  );
  await app.db.write(
    (tx) => run(tx)`
      insert into registry.manifest_child (parent_id, repository_id, digest, size)
      select p.id, p.repository_id, c.digest, 1 from registry.manifest p join registry.manifest c on c.size = p.size + 1
       where p.repository_id = ${id} and c.repository_id = ${id}
      union all select p.id, p.repository_id, ${leaf.digest}, 1 from registry.manifest p where p.repository_id = ${id} and p.size = 10`,
  );
  const tops = Array.from({ length: 40 }, (_, w) => ({ ...absent(0, indexType), digest: `sha256:${`10${w + 1}`.padStart(64, '0')}` }));
  const top = await putManifest(send, 'acme/old', 'top', indexOf(tops));
  assert.deepEqual([top.status, codeOf(top)], [400, 'MANIFEST_INVALID']);
  const remove = await send('DELETE', `/v2/acme/old/manifests/${leaf.digest}`);
  assert.deepEqual([remove.status, codeOf(remove)], [403, 'DENIED']);
  assert.match(remove.body.toString(), /too many indexes lead to this image/);
  const listed = await app.db.read((tx) => manifestsOf(tx, id, { limit: 100, after: null }));
  assert.equal(listed.length, 101);
  const { id: first } = (await app.db.read((tx) => manifestByDigest(tx, id, tops[0]!.digest)))!;
  for (const maxRows of [10, 1_001])
    assert.equal((await app.db.read((tx) => manifestsUnder(tx, first, { maxRows, depth: 5 }))).length, maxRows);
}
