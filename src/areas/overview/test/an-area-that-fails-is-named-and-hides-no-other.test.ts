import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { quarterdeck } from '../../../../test/harness/index.ts';
import type { Ctx } from '../../../identity/context.ts';
import { DatabaseBusy, run } from '../../../kernel/db/index.ts';
import { askParts } from '../../ask-parts.ts';
import { service } from '../../oncall/test/support.ts';
import { made } from '../../uptime/test/support.ts';

test('an area that fails or is late is named, and hides no other', async (t) => {
  const qd = await quarterdeck(t);
  const { owner } = qd;
  const { id } = await service(owner);
  await made(owner.post('/oncall/incidents', { serviceId: id, title: 'seen all the same' }));

  await qd.app.db.write((tx) => run(tx)`alter table registry.registry rename to registry_gone`);
  const failed = await made(owner.get('/overview'));
  assert.deepEqual(failed.unavailable, [{ area: 'registry', reason: 'it failed; the log of the server says why' }]);
  assert.equal(failed.incidents.length, 1);
  await qd.app.db.write((tx) => run(tx)`alter table registry.registry_gone rename to registry`);

  const holder = new pg.Client({ ...qd.connection });
  await holder.connect();
  await holder.query('begin');
  await holder.query('lock table uptime.monitor_state in access exclusive mode');
  const late = await made(owner.get('/overview'));
  assert.deepEqual(late.unavailable, [{ area: 'uptime', reason: 'it did not answer within 2 seconds; ask again' }]);
  assert.equal(late.incidents.length, 1);
  assert.equal(late.down.length, 0, 'clusters still say what is down');
  await holder.query('rollback');
  await holder.end();
  assert.deepEqual((await made(owner.get('/overview'))).unavailable, []);
});

test('an organization that uses up its own share reads so, and writes nothing into the log of the operator', async () => {
  const logged: unknown[] = [];
  const ctx = {
    read: (work: (tx: never) => unknown) => work(undefined as never),
    app: { log: { error: (...line: unknown[]) => logged.push(line) } },
    principal: { entitlements: new Set() },
  } as unknown as Ctx;
  const part = (area: string, read: () => Promise<string>) => ({ area, entitlement: undefined, read });
  const busy = () => Promise.reject(new DatabaseBusy(new Error('500 wait')));
  const { parts, unavailable } = await askParts(ctx, [part('uptime', busy), part('oncall', async () => 'seen')]);
  assert.deepEqual(parts, [{ area: 'oncall', answer: 'seen' }]);
  assert.deepEqual(unavailable, [
    { area: 'uptime', reason: 'this organization uses its whole share of the database’s connections; ask again in a moment' },
  ]);
  assert.deepEqual(logged, []);
});
