import assert from 'node:assert/strict';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Quarterdeck, quarterdeck } from '../../../test/harness/index.ts';
import { urlOf } from '../../../test/harness/postgres.ts';
import { caller } from '../../../test/harness/request.ts';
import type { Connection } from '../../kernel/db/index.ts';
import { connectRunning, keepPostgres } from '../../kernel/postgres/index.ts';
import { readManifest } from '../backup/manifest.ts';
import { adminHere, emptyDatabase, quarterdeckCli, scratch, sqlOn } from './support.ts';

/** People who make services and tokens, and revoke some, until they are told to stop. How much was acknowledged. */
function writers(server: Quarterdeck, count: number) {
  let going = true;
  const acknowledged: string[] = [];
  const one = async (n: number) => {
    for (let i = 0; going; i++) {
      const service = await server.owner.post('/uptime/services', { name: `service ${n} ${i}` });
      assert.equal(service.status, 201);
      acknowledged.push(service.body.id);
      const token = await server.owner.post('/tokens', { name: `token ${n} ${i}` });
      if (i % 3 === 0) await server.owner.delete(`/tokens/${token.body.id}`);
      if (i % 5 === 0) await server.owner.delete(`/uptime/services/${service.body.id}`);
    }
  };
  const all = Promise.all(Array.from({ length: count }, (_, n) => one(n)));
  const stop = async () => {
    going = false;
    await all;
  };
  return { acknowledged, stop };
}

/** What every committed moment of a running server satisfies. */
async function requireConsistent(connection: Connection) {
  const broken = await sqlOn(
    connection,
    `select 'a token without its member' as what from identity.token t left join identity.member m using (org_id, user_id) where m.user_id is null
     union all select 'a member without an organization' from identity.member m left join identity.org o on o.id = m.org_id where o.id is null
     union all select 'a service that nobody is known to have made: ' || s.id from services.service s
       where not exists (select from kernel.audit a where a.target = s.id and a.action = 'services.service.create')
     union all select 'a made service that is neither there nor deleted: ' || a.target from kernel.audit a where a.action = 'services.service.create'
       and not exists (select from services.service s where s.id = a.target)
       and not exists (select from kernel.audit d where d.target = a.target and d.action = 'services.service.delete')
     union all select 'a made token that is neither there nor deleted: ' || a.target from kernel.audit a where a.action = 'tokens.token.create'
       and not exists (select from identity.token s where s.id = a.target)
       and not exists (select from kernel.audit d where d.target = a.target and d.action = 'tokens.token.delete')`,
  );
  assert.deepEqual(broken, []);
}

test('a backup under write load restores to one moment, embedded and external', async (t) => {
  const server = await quarterdeck(t);
  const directory = await scratch(t);
  const target = join(directory, 'backup');
  const load = writers(server, 2);
  while (load.acknowledged.length < 20) await sleep(5);
  const before = [...load.acknowledged];

  const made = await adminHere(['backup', target, '--json'], {
    QUARTERDECK_DATABASE_URL: urlOf(server.connection),
    QUARTERDECK_DATA: server.dataDir,
  });
  const during = load.acknowledged.length;
  await load.stop();
  assert.equal(made.code, 0, made.err);
  assert.ok(during > before.length, 'the server went on while the backup was made');
  await requireConsistent(server.connection);
  const manifest = await readManifest(target);

  const holds = async (connection: Connection) => {
    await requireConsistent(connection);
    const names = manifest.tables.map(({ schema, name }) => `${schema}.${name}`);
    const counts = await sqlOn(
      connection,
      names.map((name) => `select '${name}' as name, count(*) as rows from ${name}`).join(' union all '),
    );
    const added = (name: string) => (['kernel.audit', 'kernel.restore_hold'].includes(name) ? 1 : 0); // the restore itself
    assert.deepEqual(
      counts,
      manifest.tables.map(({ rows }, n) => ({ name: names[n], rows: rows + added(names[n]!) })),
    );
    const known = await sqlOn<{ target: string }>(connection, `select target from kernel.audit where action = 'services.service.create'`);
    const missing = before.filter((id) => !known.some((k) => k.target === id));
    assert.deepEqual(missing, [], 'what was acknowledged before the backup is in it');
  };

  await t.test('into an external database', async (t) => {
    const { connection } = await emptyDatabase(t);
    const dataDir = join(directory, 'external');
    await cp(join(server.dataDir, 'secret.key'), join(dataDir, 'secret.key'), { recursive: true });
    const restored = await adminHere(['restore', target, '--json'], {
      QUARTERDECK_DATABASE_URL: urlOf(connection),
      QUARTERDECK_DATA: dataDir,
    });
    assert.equal(restored.code, 0, restored.err);
    await holds(connection);
    const again = await quarterdeck(t, { connection, dataDir });
    assert.equal((await caller(again.url, server.owner.key).get('/tokens')).status, 200, 'the tokens of before are good');
  });

  await t.test('into an empty data directory, with a database of its own', async (t) => {
    const dataDir = join(directory, 'embedded');
    await cp(join(server.dataDir, 'secret.key'), join(dataDir, 'secret.key'), { recursive: true });
    const restored = await quarterdeckCli(['admin', 'restore', target], { QUARTERDECK_DATA: dataDir });
    assert.equal(restored.code, 0, restored.err);
    assert.match(restored.out, /^restored \d+ rows and 0 objects as of /);
    assert.equal(await connectRunning(dataDir), undefined, 'the database that the command started is stopped again');
    const kept = await keepPostgres({ dataDir });
    t.after(() => kept.stop());
    await holds(kept.connection);
    const besides = await adminHere(['organizations', 'list'], { QUARTERDECK_DATA: dataDir });
    assert.match(besides.out, /^default /m, 'commands use the database of a running server');
    assert.notEqual(await connectRunning(dataDir), undefined, 'and leave it running');
  });
});
