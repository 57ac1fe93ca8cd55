import assert from 'node:assert/strict';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { quarterdeck } from '../../../test/harness/index.ts';
import { eventually } from '../../../test/harness/process.ts';
import { changeKey } from '../../admin/key/change-key.ts';
import type { Step } from '../../admin/key/ring.ts';
import { rotateStep } from '../../admin/key/rotate-key.ts';
import type { Session } from '../../admin/session.ts';
import { areas } from '../../areas/index.ts';
import { listServers } from '../../kernel/data/servers.ts';
import { run } from '../../kernel/db/index.ts';
import { exitCodes, Stop } from '../../kernel/errors.ts';
import { keyFile, readKeys, writeKeys } from '../../kernel/secrets.ts';
import { adoptStorage, requireStorage } from '../../kernel/storage/canary.ts';
import { fileStorage, type Storage } from '../../kernel/storage/index.ts';
import { checkStorage } from '../storage.ts';

const refusedWith = (exitCode: number, sentence: RegExp) => (error: unknown) => {
  assert.ok(error instanceof Stop, String(error));
  assert.match(error.message, sentence);
  return error.exitCode === exitCode;
};

async function directory(t: TestContext): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'qdd-'));
  t.after(() => rm(made, { recursive: true, force: true }));
  return made;
}

const markIn = (dataDir: string) => join(dataDir, 'blobs', 'installation', 'id');

test('a server whose storage is another one is refused with a sentence', async (t) => {
  const first = await quarterdeck(t);
  const { connection } = first;
  const other = await directory(t);
  await copyFile(keyFile(first.dataDir), keyFile(other));
  const start = () => quarterdeck(t, { connection, dataDir: other });

  await assert.rejects(start(), refusedWith(exitCodes.configuration, /blobs is not the storage of this database.* QUARTERDECK_STORAGE/));
  const storage = await fileStorage(join(other, 'blobs'));
  await storage.put('installation/id', Buffer.from('of somebody else'));
  await assert.rejects(start(), refusedWith(exitCodes.configuration, /blobs is the storage of another installation/));

  // The objects were copied with their mark; or the operator says that this is the storage from now on.
  await copyFile(markIn(first.dataDir), markIn(other));
  await (await start()).stop();
  await storage.remove('installation/id');
  await adoptStorage(first.app.db, storage);
  await (await start()).stop();
});

test('one storage becomes the installation’s, also after a kill and between two first starts', async (t) => {
  const { app } = await quarterdeck(t);
  const [one, two] = [await fileStorage(join(await directory(t), 'one')), await fileStorage(join(await directory(t), 'two'))];
  const require = (storage: Storage) => requireStorage(app.db, storage, 'it');

  // Killed after the object was written, before that was noted: the next start notes it.
  const id = await adoptStorage(app.db, one);
  await app.db.write((tx) => run(tx)`update kernel.storage_canary set is_written = false`);
  await require(one);
  await assert.rejects(require(two), refusedWith(exitCodes.configuration, /it is not the storage of this database/));
  assert.equal(await two.stat('installation/id'), undefined);

  // Two servers with two storages start on an empty database in the same moment.
  for (let round = 0; round < 5; round++) {
    for (const storage of [one, two]) await storage.remove('installation/id');
    await app.db.write((tx) => run(tx)`delete from kernel.storage_canary`);
    const outcomes = await Promise.allSettled([require(one), require(two)]);
    assert.deepEqual(outcomes.map(({ status }) => status).sort(), ['fulfilled', 'rejected'], `round ${round}, after ${id}`);
  }
});

test('a storage that was away at the start takes nothing before it is known to be the right one', async (t) => {
  const { app } = await quarterdeck(t);
  const behind = await fileStorage(join(await directory(t), 'blobs'));
  let isAway = true;
  const open: Storage['open'] = async (key) => (isAway ? Promise.reject(new Error('it does not answer')) : behind.open(key));
  const { storage, stop } = await checkStorage(app.db, { ...behind, open }, app.config, app.log);
  t.after(stop);

  await assert.rejects(storage.put('blob', Buffer.from('bytes')), /it does not answer/);
  isAway = false;
  const isStrange = refusedWith(exitCodes.configuration, /is not the storage of this database/);
  await assert.rejects(storage.put('blob', Buffer.from('bytes')), isStrange);
  await assert.rejects(storage.createUpload(), isStrange);
  assert.equal(await behind.stat('blob'), undefined);

  await adoptStorage(app.db, behind);
  await storage.put('blob', Buffer.from('bytes'));
  assert.equal((await behind.stat('blob'))?.size, 5);
});

test('a new database does not take over the storage of another installation', async (t) => {
  const other = await directory(t);
  await (await fileStorage(join(other, 'blobs'))).put('installation/id', Buffer.from('of somebody else'));
  await assert.rejects(quarterdeck(t, { dataDir: other }), refusedWith(exitCodes.configuration, /the storage of another installation/));
});

test('a key file that lacks a key in use is refused, and no step of a rotation parts the servers', async (t) => {
  const first = await quarterdeck(t);
  const { connection, dataDir } = first;
  const other = await directory(t);
  const copyKeys = (to = other) => copyFile(keyFile(dataDir), keyFile(to));
  await copyKeys();
  await adoptStorage(first.app.db, await fileStorage(join(other, 'blobs')));
  const second = await quarterdeck(t, { connection, dataDir: other });

  // Two data directories on one machine are two servers, and one that was stopped is none.
  const servers = await first.app.db.read(listServers);
  assert.deepEqual([servers.length, new Set(servers.map(({ node }) => node)).size], [2, 2]);
  const session: Session = {
    config: first.app.config,
    db: first.app.db,
    database: { connection, direct: connection, embedded: true, stop: async () => {} },
  };
  const sealed = areas.flatMap((area) => area.sealed ?? []);
  const rotation = { db: first.app.db, connection, dataDir, sealed, settle: async () => {}, say: () => {} };
  const step = (name: Step) => rotateStep(rotation, name);
  const hurried = (name: Step) => rotateStep({ ...rotation, timeoutMs: 0 }, name);
  await assert.rejects(changeKey(session, {}), refusedWith(exitCodes.refused, /servers with other data directories \(.+\) have key files/));

  const old = (await readKeys(keyFile(dataDir)))!;
  await step('add');
  await assert.rejects(hurried('promote'), refusedWith(exitCodes.refused, /do not hold the key k1x\w+ yet; copy this secret\.key to them/));
  await copyKeys();
  await step('promote');
  const promoted = (await readKeys(keyFile(dataDir)))!;
  await assert.rejects(hurried('reseal'), refusedWith(exitCodes.refused, /do not seal with the key k1x\w+ yet/));
  await copyKeys();
  await step('reseal');

  // Started with a file of before: nothing that is sealed since could be opened.
  const third = await directory(t);
  await writeKeys(keyFile(third), old);
  const start = () => quarterdeck(t, { connection, dataDir: third });
  await assert.rejects(start(), refusedWith(exitCodes.secretKey, /lacks the key k1x\w+, .*: copy it from another server$/));

  await writeKeys(keyFile(other), { keys: promoted.keys.toReversed() });
  await eventually(async () => (await first.app.db.read(listServers)).some(({ keyIds }) => keyIds?.[0] === old.keys[0]!.id));
  await assert.rejects(hurried('drop'), refusedWith(exitCodes.refused, /the step drop would part the servers/));
  await second.stop();
  await step('drop');
  assert.equal((await readKeys(keyFile(dataDir)))!.keys.length, 1);
  await writeKeys(keyFile(third), { keys: promoted.keys.toReversed() });
  await assert.rejects(
    start(),
    refusedWith(exitCodes.secretKey, /seals with the key \w+, which this installation has dropped: copy it from/),
  );
  await writeFile(keyFile(third), `other:${Buffer.alloc(32, 7).toString('base64')}\n`);
  await assert.rejects(start(), refusedWith(exitCodes.secretKey, /is not the key of this database.* copy it from another server/));
});
