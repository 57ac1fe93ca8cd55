import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import pg from 'pg';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { loginOf, verifierOf } from '../rules/database-login.ts';
import { endLongTransactions, makeRole, makeSchema, revokeAdvisoryLocks, schemaOf } from '../store/kine.ts';

/** Somebody who has the password of a cluster's role, as an apply makes it. */
async function withThief(t: TestContext) {
  const { app, owner } = await quarterdeck(t, { env: { QUARTERDECK_ROLES: 'api' } });
  const cluster = `cls_${randomBytes(8).toString('hex')}`;
  const name = schemaOf(cluster);
  const login = loginOf(name, randomBytes(32).toString('base64'));
  const settle = () =>
    app.db.write(async (tx) => {
      await makeSchema(tx, name);
      await revokeAdvisoryLocks(tx);
      await makeRole(tx, name, verifierOf(login));
    });
  await settle();
  await settle(); // as every apply does
  const thief = new pg.Client({ ...(app.connection as pg.ClientConfig), ...login });
  thief.on('error', () => {}); // its session is ended by the server
  await thief.connect();
  t.after(() => thief.end().catch(() => {}));
  return { app, owner, thief, name };
}

test('a store’s role cannot take the advisory locks that the server uses', async (t) => {
  const { thief, owner } = await withThief(t);
  const { rows } = await thief.query(
    `select p.oid::regprocedure::text as name from pg_proc p
      where proname ~ 'advisory' and has_function_privilege(current_user, p.oid, 'execute')`,
  );
  assert.deepEqual(rows, []);
  for (const lock of [
    'pg_advisory_lock(1)',
    'pg_try_advisory_lock(1, 2)',
    'pg_advisory_xact_lock_shared(1)',
    `pg_advisory_xact_lock(hashtext('clusters.cluster'), hashtext('${owner.orgId}'))`,
  ])
    await assert.rejects(thief.query(`select ${lock}`), /permission denied for function/, lock);
  // The server itself goes on taking them.
  assert.equal((await owner.post('/clusters', { name: 'mine', tier: 'small' })).status, 201);
});

test('a transaction that a store’s role leaves open is terminated; short ones and those of others are not', async (t) => {
  const { app, thief, name } = await withThief(t);
  const end = (seconds: number) => app.db.write((tx) => endLongTransactions(tx, seconds));
  assert.deepEqual(await end(0), [], 'sessions without a transaction are kept');
  const ended = new Promise((resolve) => thief.once('end', resolve));
  await thief.query(`begin isolation level repeatable read; create table ${name}.kine (id int); lock table ${name}.kine`);
  assert.deepEqual(await end(600), []);
  assert.deepEqual(await end(0), [name]);
  await ended;
});
