import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { rows, run } from '../../../../kernel/db/index.ts';
import { sql } from '../../../../kernel/sql.ts';
import { collect } from '../../engine/gc/collect.ts';
import { registryServer } from '../registry-server.ts';

test('work of one organization that fails stops the work of no other, and is tried again', async (t) => {
  const { app, engine } = await registryServer(t);
  const { signal } = new AbortController();
  const change = (statement: TemplateStringsArray, ...values: unknown[]) => app.db.write((tx) => run(tx)(statement, ...values));
  const organizations = ['org_a', 'org_b', 'org_c'];
  const left = async (statement: TemplateStringsArray) =>
    (await app.db.read((tx) => rows(tx, Type.Object({ org_id: Type.String() }))(statement))).map((r) => r.org_id);
  const removedOrgs = () => left`select org_id from registry.repository where removed_from is not null order by org_id`;
  const doomedOrgs = () => left`select org_id from registry.doomed_manifest order by org_id`;
  const queuedOrgs = () => left`select org_id from registry.gc_queue order by org_id`;

  // The rows of the first organization cannot be deleted.
  await change`create function registry.fail() returns trigger language plpgsql as 'begin raise exception ''a damaged row''; end'`;
  for (const org of organizations) {
    await change`insert into registry.repository (org_id, registry_id, removed_from, name, created_at) values (${org}, null, 'reg_gone', 'app', kernel.now())`;
    await change`
      insert into registry.doomed_manifest (org_id, repository_id, digest, delay_seconds, turn)
      select ${org}, id, 'sha256:' || id, 0, 1 from registry.repository where org_id = ${org}`;
    await change`
      insert into registry.gc_queue (org_id, kind, ref, review_after) values (${org}, 'blob', ${`9${organizations.indexOf(org)}`}, kernel.now())`;
  }
  const tables = [sql`repository`, sql`doomed_manifest`, sql`gc_queue`];
  for (const table of tables)
    await change`
      create trigger failing before delete on registry.${table} for each row when (old.org_id = 'org_a') execute function registry.fail()`;

  const warned: string[] = [];
  const log = app.log.child({});
  log.warn = ((_about: object, sentence: string) => void warned.push(sentence)) as typeof log.warn;
  for (let turn = 0; turn < 2; turn++) await collect(engine, signal, log);
  assert.deepEqual([await removedOrgs(), await doomedOrgs(), await queuedOrgs()], [['org_a'], ['org_a'], ['org_a']]);
  assert.equal(warned.length, 3, `${warned.join('\n')}: each is logged once`);

  for (const table of tables) await change`drop trigger failing on registry.${table}`;
  await change`update registry.gc_queue set review_after = kernel.now()`;
  await collect(engine, signal, log);
  assert.deepEqual([await removedOrgs(), await doomedOrgs(), await queuedOrgs()], [[], [], []]);
});
