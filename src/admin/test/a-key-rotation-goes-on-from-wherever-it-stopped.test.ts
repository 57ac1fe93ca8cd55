import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import Type from 'typebox';
import { freshDatabase } from '../../../test/harness/postgres.ts';
import { areas } from '../../areas/index.ts';
import { type Db, rows, run } from '../../kernel/db/index.ts';
import { exitCodes, Stop } from '../../kernel/errors.ts';
import { migrate, readMigrations } from '../../kernel/migrate.ts';
import { type KeyRing, keyFile, keyIdOf, openRing, readKeys, resealCanary, seal, unseal, writeKeys } from '../../kernel/secrets.ts';
import { migrationsOf } from '../../serve.ts';
import { resealColumn } from '../key/reseal.ts';
import { type Rotation, rotateKey, rotateStep } from '../key/rotate-key.ts';
import { dbOn, depotAlone, scratch, sqlOn } from './support.ts';

const BoxRow = Type.Object({ id: Type.String(), secret: Type.Unsafe<Buffer>({}) });
const place = (id: string) => `depot.box.secret.${id}`;
const boxes = (db: Db) => db.read((tx) => rows(tx, BoxRow)`select id, secret from depot.box where secret is not null order by id`);
const sealedIn = (db: Db, ring: KeyRing, id: string) =>
  db.write((tx) => run(tx)`insert into depot.box (id, object, secret) values (${id}, '', ${seal(ring, `secret of ${id}`, place(id))})`);

async function sealedBoxes(t: TestContext, count: number) {
  const { connection, drop } = await freshDatabase({ empty: true });
  t.after(drop);
  const dataDir = join(await scratch(t), 'data');
  await mkdir(dataDir);
  await migrate(connection, readMigrations(migrationsOf(depotAlone())));
  const db = dbOn(t, connection);
  const first = await db.write((tx) => openRing(tx, dataDir));
  for (let n = 0; n < count; n++) await sealedIn(db, first, `box ${n}`);
  const said: string[] = [];
  const rotation: Rotation = {
    db,
    connection,
    dataDir,
    sealed: [{ table: 'depot.box', column: 'secret', id: 'id' }],
    settle: async () => {},
    say: (sentence) => said.push(sentence),
  };
  const ring = async () => (await readKeys(keyFile(dataDir)))!;
  /** Whoever has the file of this moment opens everything, and starts. */
  const requireWhole = async () => {
    const now = await ring();
    for (const { id, secret } of await boxes(db)) assert.equal(unseal(now, secret, place(id)).toString(), `secret of ${id}`);
    await db.write((tx) => openRing(tx, dataDir));
  };
  return { rotation, db, dataDir, first, ring, requireWhole, said };
}

class Killed extends Error {}

/** Everything a rotation does passes through one of these: it ends there as a killed process does. */
const killedAt = (r: Rotation, point: number): Rotation => {
  let passed = 0;
  const step = () => {
    if (passed++ === point) throw new Killed();
  };
  return {
    ...r,
    settle: async () => step(),
    say: (sentence) => {
      step();
      r.say(sentence);
    },
    db: {
      ...r.db,
      read: async (work) => {
        step();
        return r.db.read(work);
      },
      write: async (work) => {
        step();
        const done = await r.db.write(work);
        step();
        return done;
      },
    },
  };
};

test('wherever a rotation is killed, everything opens, and the next run finishes it with one new key', async (t) => {
  const { rotation, dataDir, first, db, ring, requireWhole } = await sealedBoxes(t, 3);
  const beginning = await boxes(db);
  let points = 0;
  for (let finished = false; !finished; points++) {
    await writeKeys(keyFile(dataDir), first);
    await db.write(async (tx) => {
      await resealCanary(tx, first);
      await run(tx)`delete from kernel.sealing_key`;
      for (const { id, secret } of beginning) await run(tx)`update depot.box set secret = ${secret} where id = ${id}`;
    });

    finished = await rotateKey(killedAt(rotation, points)).then(
      () => true,
      (error) => {
        if (!(error instanceof Killed)) throw error;
        return false;
      },
    );
    await requireWhole();
    const done = (await canaryKey(db)) !== first.keys[0]!.id; // killed when only the last word was left to say
    if (!done) await rotateKey(rotation);
    await requireWhole();
    const { keys } = await ring();
    assert.equal(keys.length, 2, `one rotation makes one key (killed at point ${points})`);
    for (const { secret } of await boxes(db)) assert.equal(keyIdOf(secret), keys[0]!.id);
    await rotateStep(rotation, 'drop');
    await requireWhole();
    assert.deepEqual(
      (await ring()).keys.map((key) => key.id),
      [keys[0]!.id],
    );
  }
  assert.ok(points > 20, `only ${points} points were tried`);
});

const canaryKey = async (db: Db) =>
  keyIdOf((await db.read((tx) => rows(tx, Type.Object({ sealed: Type.Unsafe<Buffer>({}) }))`select sealed from kernel.canary`))[0]!.sealed);

test('the order of its steps lets every server open what any other seals', async (t) => {
  const { rotation, db, first, ring, requireWhole } = await sealedBoxes(t, 2);
  await rotateStep(rotation, 'add');
  const added = await ring();
  assert.deepEqual(added.keys[0], first.keys[0], 'the old key still seals');
  await sealedIn(db, added, 'sealed by a server that has the new file');
  for (const { id, secret } of await boxes(db)) unseal(first, secret, place(id)); // one that has not read it yet
  await rotateStep(rotation, 'promote');
  const promoted = await ring();
  assert.equal(promoted.keys[0]!.id, added.keys[1]!.id);
  await sealedIn(db, promoted, 'sealed with the new key');
  await sealedIn(db, added, 'sealed by one that is a second late');
  for (const { id, secret } of await boxes(db)) unseal(added, secret, place(id));
  await rotateStep(rotation, 'reseal');
  await requireWhole();
  for (const { secret } of await boxes(db)) assert.equal(keyIdOf(secret), promoted.keys[0]!.id);
});

test('a step that is not next is refused, and so is dropping a key that still seals something', async (t) => {
  const { rotation, db, first } = await sealedBoxes(t, 1);
  const refused = (sentence: RegExp) => (error: unknown) =>
    error instanceof Stop && error.exitCode === exitCodes.refused && sentence.test(error.message);
  await assert.rejects(rotateStep(rotation, 'promote'), refused(/no rotation is under way, so the next is add/));
  await rotateStep(rotation, 'add');
  await assert.rejects(rotateStep(rotation, 'add'), refused(/go on with promote/));
  await assert.rejects(rotateStep(rotation, 'drop'), refused(/go on with promote/));
  await rotateStep(rotation, 'promote');
  await assert.rejects(rotateStep(rotation, 'drop'), refused(/go on with reseal/));
  await rotateStep(rotation, 'reseal');
  await sealedIn(db, first, 'sealed by a server that never read the file');
  await assert.rejects(rotateStep(rotation, 'drop'), refused(/values of depot\.box\.secret are sealed with an old key/));
  await rotateStep(rotation, 'reseal');

  await sqlOn(rotation.connection, 'alter table depot.box add column forgotten bytea');
  await db.write((tx) => run(tx)`update depot.box set forgotten = ${seal(first, 'nobody declared this', 'somewhere')} where id = 'box 0'`);
  await assert.rejects(
    rotateStep(rotation, 'drop'),
    refused(/values of depot\.box\.forgotten are sealed with an old key, and nothing is known/),
  );
  await sqlOn(rotation.connection, 'alter table depot.box drop column forgotten');
  await rotateStep(rotation, 'drop');
});

test('every column that a migration calls sealed is declared by its area, and can be gone through', async (t) => {
  const declared = new Set(areas.flatMap((area) => area.sealed ?? []).map(({ table, column }) => `${table}.${column}`));
  const migrations = readMigrations(migrationsOf(areas));
  const called = migrations.flatMap((m) => [...m.sql.matchAll(/-- sealed: (\w+\.\w+\.\w+)\./g)].map((match) => match[1]!));
  assert.ok(called.length >= 3, called.join());
  assert.deepEqual(
    called.filter((name) => !declared.has(name)),
    [],
  );

  const { connection, drop } = await freshDatabase();
  t.after(drop);
  const ring = { keys: [{ id: 'k1xabcdef', key: Buffer.alloc(32, 1) }] };
  for (const where of areas.flatMap((area) => area.sealed ?? [])) assert.equal(await resealColumn(dbOn(t, connection), ring, where), 0);
});

test('a value that no key opens stops the rotation and is named', async (t) => {
  const { rotation, db } = await sealedBoxes(t, 1);
  await sealedIn(db, { keys: [{ id: 'lost', key: Buffer.alloc(32, 1) }] }, 'stranger');
  await assert.rejects(
    rotateKey(rotation),
    (error) => error instanceof Stop && error.exitCode === exitCodes.secretKey && /depot\.box\.secret\.stranger/.test(error.message),
  );
  await db.write((tx) => run(tx)`delete from depot.box where id = 'stranger'`);
  await rotateKey(rotation);
});

test('a rotation waits for running writers, and two rotations do not run at once', async (t) => {
  const { rotation, db, first, ring } = await sealedBoxes(t, 2);
  const [writing, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const late = db.write(async (tx) => {
    const secret = seal(first, 'secret of late', place('late'));
    await run(tx)`insert into depot.box (id, object, secret) values ('late', '', ${secret})`;
    writing.resolve();
    await end.promise;
  });
  await writing.promise;
  let second: unknown;
  let settled = 0;
  await rotateKey({
    ...rotation,
    settle: async () => {
      settled++;
      if (settled === 1) second = await rotateKey(rotation).catch((error) => error);
      else setTimeout(end.resolve, 300);
    },
  });
  await late;
  assert.match((second as Error).message, /another `quarterdeck admin rotate-key` is under way/);
  for (const { id, secret } of await boxes(db)) assert.equal(keyIdOf(secret), (await ring()).keys[0]!.id, id);
});

test('many values are sealed anew in portions', async (t) => {
  const { rotation, db, first, ring, said } = await sealedBoxes(t, 0);
  const ids = Array.from({ length: 450 }, (_, n) => `many ${n}`);
  await db.write(
    (tx) => run(tx)`
    insert into depot.box (id, object, secret) select * from unnest(${ids}::text[], ${ids.map(() => '')}::text[], ${ids.map((id) => seal(first, id, place(id)))}::bytea[])`,
  );
  await rotateKey(rotation, { dropOld: true });
  const now = await ring();
  assert.equal(now.keys.length, 1);
  for (const { id, secret } of await boxes(db)) assert.equal(unseal(now, secret, place(id)).toString(), id);
  assert.ok(
    said.some((sentence) => sentence.startsWith('sealed 450 values anew')),
    said.join('\n'),
  );
  const audited = await sqlOn(
    rotation.connection,
    `select action, org_id, actor from kernel.audit where action like 'installation.key.%' order by id`,
  );
  assert.deepEqual(audited, [
    { action: 'installation.key.rotate', org_id: '', actor: 'operator' },
    { action: 'installation.key.drop', org_id: '', actor: 'operator' },
  ]);
});

test('a key file that is not of this database is not rotated', async (t) => {
  const { rotation, dataDir } = await sealedBoxes(t, 1);
  const other = `other:${Buffer.alloc(32, 3).toString('base64')}\n`;
  await writeFile(keyFile(dataDir), other);
  await assert.rejects(rotateKey(rotation), (error) => error instanceof Stop && error.exitCode === exitCodes.secretKey);
  assert.equal(await readFile(keyFile(dataDir), 'utf8'), other);
});
