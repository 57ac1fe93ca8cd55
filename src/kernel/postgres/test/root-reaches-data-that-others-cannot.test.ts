import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmod, chown, mkdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { chooseIdentity, chownTree } from '../../programs/identity.ts';
import { pathsIn } from '../paths.ts';
import { prepareSoftware } from '../software.ts';
import { isRoot, keep, query, scratch, uidOf } from './support.ts';

const skip = isRoot ? false : 'only root must switch the user of PostgreSQL';
const namespaces = spawnSync('unshare', ['--user', '--map-user=65534', '--map-group=65534', 'true']).status === 0;

test('root starts postgres as the unprivileged user, and as the owner of existing data', { skip }, async (t) => {
  const { dataDir } = await scratch(t, { isMade: true });
  const first = await keep(t, dataDir);
  assert.equal(await uidOf(first.pid), 65534);
  assert.equal((await stat(join(dataDir, 'postgres', '18'))).uid, 65534);
  assert.notEqual((await stat(dataDir)).uid, 65534, 'only what is PostgreSQL’s is given away');
  await first.stop();

  const place = await pathsIn(dataDir);
  await chownTree(
    {
      ...(await chooseIdentity({ name: 'PostgreSQL', dataDir: place.dataDir, dir: place.dir, data: place.cluster })),
      owner: { uid: 12345, gid: 12345 },
    },
    place.dir,
  );
  const second = await keep(t, dataDir);
  assert.equal(await uidOf(second.pid), 12345);
  for (const path of [place.dir, place.cluster, place.password, place.log]) assert.equal((await stat(path)).uid, 12345, path);
});

test('where the unprivileged user cannot enter, postgres runs in a user namespace, and back', {
  skip: skip || (!namespaces && 'no user namespaces here'),
}, async (t) => {
  const { dir, dataDir } = await scratch(t);
  await chmod(dir, 0o700);
  const closed = await keep(t, dataDir);
  assert.equal(await uidOf(closed.pid), 0);
  assert.match(await readFile(`/proc/${closed.pid}/uid_map`, 'utf8'), /^\s*65534\s+0\s+1\s*$/);
  assert.match(await readFile(`/proc/${closed.pid}/status`, 'utf8'), /^CapEff:\s+0+$/m);
  await query(closed.connection, 'create table kept (id int); insert into kept values (7)');
  await closed.stop();

  await chmod(dir, 0o755);
  const open = await keep(t, dataDir);
  assert.equal(await uidOf(open.pid), 65534);
  assert.deepEqual(await query(open.connection, 'select id from kept'), [{ id: 7 }]);
  await open.stop();

  await chmod(dir, 0o700);
  const again = await keep(t, dataDir);
  assert.equal(await uidOf(again.pid), 0);
  assert.deepEqual(await query(again.connection, 'select id from kept'), [{ id: 7 }]);
});

test('programs in a clone that the unprivileged user cannot enter are run from a copy', { skip }, async (t) => {
  const { dataDir } = await scratch(t, { isForPrograms: true });
  await mkdir(join(dataDir, 'postgres'), { recursive: true });
  const place = await pathsIn(dataDir);
  const unprivileged = await chooseIdentity({ name: 'PostgreSQL', dataDir: place.dataDir, dir: place.dir, data: place.cluster });
  assert.equal(unprivileged.kind, 'user');
  await chown(place.dir, 65534, 65534);

  const { postgres } = await prepareSoftware(place, { ...unprivileged, mayRead: async () => false });
  assert.ok(postgres.startsWith(place.dir));
  const version = spawnSync(postgres, ['--version'], { uid: 65534, gid: 65534, encoding: 'utf8' });
  assert.match(version.stdout, /^postgres \(PostgreSQL\) 18\./);
  assert.deepEqual(await prepareSoftware(place, { ...unprivileged, mayRead: async () => false }), {
    postgres,
    initdb: join(postgres, '..', 'initdb'),
  });
});
