import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../test/harness/index.ts';
import { run } from '../../kernel/db/index.ts';
import { restoreGo } from '../restore/go.ts';
import type { Session } from '../session.ts';

const token = 'numbers-for-the-operator-alone';

test('a hold is lifted once, though two operators agree to it, and the numbers tell of it meanwhile', async (t) => {
  const { app: before, connection, dataDir } = await quarterdeck(t);
  await before.db.write((tx) => run(tx)`insert into kernel.restore_hold (restored_at, backup_at) values (kernel.now(), kernel.now())`);
  const { app, url } = await quarterdeck(t, { connection, dataDir, env: { QUARTERDECK_METRICS_TOKEN: token } });
  const numbers = async () => (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${token}` } })).text();
  assert.match(await numbers(), /^quarterdeck_restore_held 1$/m);

  t.mock.method(console, 'log', () => {});
  const lift = () => restoreGo({ db: app.db } as Session, { yes: true });
  const outcomes = await Promise.allSettled([lift(), lift(), lift()]);
  assert.ok(outcomes.some(({ status }) => status === 'fulfilled'));
  const lifted = await app.db.read((tx) => run(tx)`select from kernel.audit where action = 'installation.restore.go'`);
  assert.equal(lifted, 1);
});
