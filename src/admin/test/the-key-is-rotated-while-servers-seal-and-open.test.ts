import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import Type from 'typebox';
import { quarterdeck } from '../../../test/harness/index.ts';
import { areas } from '../../areas/index.ts';
import { rows, run } from '../../kernel/db/index.ts';
import { migrate, readMigrations } from '../../kernel/migrate.ts';
import { keyIdOf, makeSecrets, readKeys } from '../../kernel/secrets.ts';
import { migrationsOf } from '../../serve.ts';
import { rotateKey } from '../key/rotate-key.ts';
import { followKey } from './follow-key.ts';
import { dbOn, withDepot } from './support.ts';

const place = (id: string) => `depot.box.secret.${id}`;
const BoxRow = Type.Object({ id: Type.String(), secret: Type.Unsafe<Buffer>({}) });

test('while the key is rotated every server opens what any server sealed', async (t) => {
  const server = await quarterdeck(t);
  await migrate(server.connection, readMigrations(migrationsOf(withDepot())));
  const { secrets, db } = server.app;
  const file = join(server.dataDir, 'secret.key');
  // A second process of the same machine: it follows the same file by itself.
  const other = makeSecrets(server.dataDir, (await readKeys(file))!);
  t.after(() => other.close());

  let going = true;
  let opened = 0;
  const working = (async () => {
    for (let n = 0; going; n++) {
      const id = `box ${n}`;
      const [sealer, opener] = n % 2 ? [secrets, other] : [other, secrets];
      await db.write(
        (tx) => run(tx)`insert into depot.box (id, object, secret) values (${id}, '', ${sealer.seal(`secret of ${id}`, place(id))})`,
      );
      const some = await db.read(
        (tx) => rows(tx, BoxRow)`select id, secret from depot.box where secret is not null order by random() limit 5`,
      );
      for (const box of some) {
        assert.equal(opener.unseal(box.secret, place(box.id)), `secret of ${box.id}`);
        opened++;
      }
      await sleep(5);
    }
  })();

  const before = (await readKeys(file))!.keys[0]!.id;
  const rotation = {
    db: dbOn(t, server.connection),
    connection: server.connection,
    dataDir: server.dataDir,
    sealed: [...areas.flatMap((area) => area.sealed ?? []), { table: 'depot.box', column: 'secret', id: 'id' }],
    settle: () => followKey(server.dataDir, [secrets, other]),
    say: () => {},
  };
  await rotateKey(rotation, { dropOld: true });
  going = false;
  await working;
  const { keys } = (await readKeys(file))!;
  assert.notEqual(keys[0]!.id, before);
  assert.equal(keys.length, 1);
  const all = await db.read((tx) => rows(tx, BoxRow)`select id, secret from depot.box where secret is not null`);
  for (const { id, secret } of all) assert.equal(keyIdOf(secret), keys[0]!.id, id);
  assert.ok(opened > 100, `only ${opened} were opened meanwhile`);
  assert.ok(!(await readFile(file, 'utf8')).includes(before));
});
