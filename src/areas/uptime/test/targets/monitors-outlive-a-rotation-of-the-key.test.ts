import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import Type from 'typebox';
import { rotateKey } from '../../../../admin/key/rotate-key.ts';
import { followKey } from '../../../../admin/test/follow-key.ts';
import { rows } from '../../../../kernel/db/index.ts';
import { keyIdOf, readKeys } from '../../../../kernel/secrets.ts';
import { areas } from '../../../index.ts';
import { desk, monitor } from '../agent-context.ts';
import { agent } from '../support.ts';

const SealedRow = Type.Object({ sealed: Type.Unsafe<Buffer>({}) });

test('after a rotation of the key checks are made with the values that were stored before it', async (t) => {
  const qd = await desk(t);
  const { owner, app, connection, dataDir } = qd;
  const fra = await agent(qd, 'fra');
  await monitor(owner, { vantages: ['fra'], http: { url: 'https://shop.example/?token=one', headers: { 'X-Key': 'two' } } });
  const target = async () => (await fra.assignments()).body.assignments[0]!.target;
  const before = await target();

  const sealed = areas.flatMap((area) => area.sealed ?? []);
  const settle = () => followKey(dataDir, [app.secrets]);
  await rotateKey({ db: app.db, connection, dataDir, sealed, settle, say: () => {} }, { dropOld: true });
  const { keys } = (await readKeys(join(dataDir, 'secret.key')))!;
  const found = await app.db.read((tx) => rows(tx, SealedRow)`select sealed from uptime.monitor`);
  assert.deepEqual(
    found.map((f) => keyIdOf(f.sealed)),
    keys.map((key) => key.id),
  );
  assert.deepEqual(await target(), before);
});
