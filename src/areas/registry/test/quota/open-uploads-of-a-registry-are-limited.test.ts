import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { row, run } from '../../../../kernel/db/index.ts';
import { maxOpenUploadsPerRegistry, minReservationBytes } from '../../store/uploads.ts';
import { codeOf, digestOf, registryServer, someBytes, type TestRegistry } from '../registry-server.ts';

const begin = ({ send }: TestRegistry, slug: string) => send('POST', `/v2/${slug}/app/blobs/uploads/`, { as: slug });

test('a nearly full registry limits its uploads', async (t) => {
  const server = await registryServer(t);
  const { app, registry, allow } = server;
  allow('tiny', { tiny: { registryId: await registry('tiny', 4 * minReservationBytes + 100) } });
  const answers = [];
  for (let n = 0; n < 8; n++) answers.push(await begin(server, 'tiny'));
  assert.deepEqual(
    answers.map((answer) => answer.status),
    [202, 202, 202, 202, 403, 403, 403, 403],
  );
  assert.equal(codeOf(answers[7]!), 'DENIED');
  const { count, least } = (await app.db.read(
    (tx) => row(tx, Type.Object({ count: Type.Integer(), least: Type.Integer() }))`
      select count(*) as count, min(reserved) as least from registry.upload`,
  ))!;
  assert.deepEqual({ count, least }, { count: 4, least: minReservationBytes });
});

test('content that a full registry holds can still be pushed to it', async (t) => {
  const { app, send, registry, allow } = await registryServer(t);
  allow('full', { full: { registryId: await registry('full', 2_000) } });
  const held = someBytes(1_000);
  const push = (name: string) => send('POST', `/v2/${name}/blobs/uploads/?digest=${digestOf(held)}`, { as: 'full', body: held });
  assert.equal((await push('full/app')).status, 201);
  await app.db.write((tx) => run(tx)`update registry.registry set quota_bytes = used_bytes where slug = 'full'`);
  assert.equal((await push('full/copy')).status, 201);
});

test('the open uploads of a registry are limited, independently of other registries', async (t) => {
  const server = await registryServer(t);
  const { app, send, registry, allow } = server;
  for (const slug of ['many', 'other']) allow(slug, { [slug]: { registryId: await registry(slug) } });
  const first = await begin(server, 'many');
  assert.equal(first.status, 202);
  await app.db.write(
    (tx) => run(tx)`
      insert into registry.upload (id, org_id, repository_id, registry_id, storage_id, node, key_id, created_at, expires_at)
      select 'more-' || i, org_id, repository_id, registry_id, 'more-' || i, node, key_id, created_at, expires_at
        from registry.upload, generate_series(2, ${maxOpenUploadsPerRegistry}) i`,
  );
  const refused = await begin(server, 'many');
  assert.deepEqual([refused.status, codeOf(refused)], [429, 'TOOMANYREQUESTS']);
  assert.ok(Number(refused.headers['retry-after']) > 0);
  assert.equal((await begin(server, 'other')).status, 202);

  assert.equal((await send('DELETE', first.headers.location!, { as: 'many' })).status, 204);
  assert.equal((await begin(server, 'many')).status, 202);
});
