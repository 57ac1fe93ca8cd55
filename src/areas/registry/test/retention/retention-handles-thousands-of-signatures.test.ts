import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { rows, run } from '../../../../kernel/db/index.ts';
import { imagesHeld } from '../../store/retention.ts';
import { registryServer } from '../registry-server.ts';

// Comparing these names with every manifest of the installation would take minutes and hit the statement timeout.
test('the images of thousands of signatures are looked up at once', async (t) => {
  const { send, app, registry } = await registryServer(t);
  await send('POST', '/v2/acme/big/blobs/uploads/');
  await app.db.write(
    (tx) => run(tx)`
      insert into registry.manifest (org_id, repository_id, digest, media_type, subject, body, size, pushed_by, created_at)
      select 'org_test', r.id, 'sha256:' || encode(sha256((k || i)::bytea), 'hex'), 't',
             case k when 'signature' then 'sha256:' || encode(sha256(('image' || i)::bytea), 'hex') end, 'x', 1, 'k', kernel.now()
        from registry.repository r, generate_series(1, 6000) i, unnest(array['image', 'signature']) k
       where k = 'signature' or i <= 5000`,
  );
  await app.db.read((tx) => run(tx)`analyze registry.manifest`);
  const named = await app.db.read(
    (tx) => rows(tx, Type.Object({ name: Type.String() }))`
      select replace(subject, ':', '-') as name from registry.manifest where subject is not null`,
  );
  const names = named.map((n) => n.name);
  assert.equal((await app.db.read((tx) => imagesHeld(tx, 'reg_acme', names))).length, 5_000);
  assert.deepEqual(await app.db.read((tx) => imagesHeld(tx, 'reg_acme', [`sha256-${'0'.repeat(64)}`])), []);
  await registry('other');
  assert.deepEqual(await app.db.read((tx) => imagesHeld(tx, 'reg_other', names)), [], 'another registry has none of them');
});
