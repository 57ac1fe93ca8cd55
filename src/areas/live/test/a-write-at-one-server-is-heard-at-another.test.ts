import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { type Quarterdeck, quarterdeck } from '../../../../test/harness/index.ts';
import { hint } from '../../../kernel/jobs/index.ts';
import { bearer, listens } from './support.ts';

test('a write at one server is heard at another, and a server that hears nothing says so until it hears again', async (t) => {
  const qd = await quarterdeck(t);
  const second = await quarterdeck(t, { connection: qd.connection, dataDir: qd.dataDir });
  const stream = await listens(t, second.url, bearer(qd.owner));
  assert.equal((await qd.owner.post('/registry/registries', { slug: 'acme' })).status, 201);
  assert.deepEqual((await stream.changed()).sort(), ['organization.audit', 'registry.registry']);

  // Both servers lose the connection by which they hear; each opens another within two seconds.
  await terminate(qd, `application_name like 'quarterdeck listen%'`);
  await stream.next('deaf');
  const everything = await stream.changed();
  assert.ok(everything.includes('oncall.incident') && everything.includes('tokens.token'), String(everything));

  // While it was deaf nothing was passed on by rights that may be gone; now it hears as before.
  assert.equal((await qd.owner.post('/registry/registries', { slug: 'after' })).status, 201);
  assert.ok((await stream.changed()).includes('registry.registry'));
});

test('hints that could not be sent are made up for', async (t) => {
  const qd = await quarterdeck(t);
  const second = await quarterdeck(t, { connection: qd.connection, dataDir: qd.dataDir });
  const stream = await listens(t, second.url, bearer(qd.owner));
  await qd.app.db.write(async (tx) => hint(tx, qd.owner.orgId, 'oncall.policy'));
  assert.deepEqual(await stream.changed(), ['oncall.policy'], 'the sender has its connection by now');

  await terminate(qd, `application_name = 'quarterdeck wake'`);
  await qd.app.db.write(async (tx) => hint(tx, qd.owner.orgId, 'oncall.policy'));
  const made = await stream.changed();
  assert.ok(made.includes('oncall.policy'), String(made));
});

async function terminate({ connection }: Quarterdeck, which: string): Promise<void> {
  const operator = new pg.Client(connection);
  await operator.connect();
  await operator.query(`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and ${which}`);
  await operator.end();
}
