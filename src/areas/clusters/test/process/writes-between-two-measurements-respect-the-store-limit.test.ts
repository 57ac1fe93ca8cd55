import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { misbehave } from '../../../../../test/fakes/kubernetes/index.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { checkCapacity, makeCapacity } from '../../../../drivers/process/engine/capacity.ts';
import { measureKine, schemaOf } from '../../../../drivers/process/store/kine.ts';
import { run } from '../../../../kernel/db/index.ts';
import { Sql } from '../../../../kernel/sql.ts';
import { clusterByName } from '../../store/clusters.ts';
import { adminOf, kube, untilReady } from '../support.ts';
import { type WithPrograms, withPrograms } from './support.ts';

const MiB = 2 ** 20;
const maps = '/api/v1/namespaces/default/configmaps';

/** As if so many MiB had been written to the store of a new cluster by the time that its apiserver can be asked. */
async function fill({ app, binaries, owner }: WithPrograms, name: string, mebibytes: number): Promise<string> {
  await misbehave(binaries, { 'kube-apiserver': { heldStart: true } });
  assert.equal((await owner.post('/clusters', { name, tier: 'small' })).status, 201);
  const { id } = (await app.db.read((tx) => clusterByName(tx, owner.orgId, name)))!;
  const rows = `insert into ${schemaOf(id)}.kine (name, created, deleted, value)
    select '/filled/' || n, 1, 0, convert_to(repeat('x', ${MiB}), 'utf8') from generate_series(1, ${mebibytes}) n`;
  await eventually(() => app.db.write((tx) => run(tx)`${new Sql([rows], [])}`).then(() => true), { withinMs: 60_000 });
  await misbehave(binaries, {});
  await untilReady(owner, name);
  return id;
}

test('writes between two measurements are refused once the store is full', async (t) => {
  const qd = await withPrograms(t);
  const { owner, app } = qd;
  const id = await fill(qd, 'prod', 48);
  const admin = await adminOf(owner, 'prod');
  const data = { text: 'x'.repeat(MiB - 1_000) };
  const make = async (n: number) =>
    (await kube(admin, 'POST', maps, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `m-${n}` }, data })).status;
  // Eight at once, then one after the other: all of it is over long before the store is weighed again.
  const answers: number[] = await Promise.all(Array.from({ length: 8 }, (_, n) => make(n)));
  for (let n = 8; n < 90 && answers.at(-1) !== 403; n++) answers.push(await make(n));
  assert.equal(answers.at(-1), 403);
  assert.deepEqual(
    answers.filter((status) => ![201, 403, 429].includes(status)),
    [],
  );
  const { bytes } = await app.db.read((tx) => measureKine(tx, schemaOf(id)));
  assert.ok(bytes > 63 * MiB && bytes <= 66 * MiB, `${bytes} bytes are kept`);
  assert.equal((await kube(admin, 'DELETE', `${maps}/m-0`)).status, 200);
});

test('in any interleaving of writes and measurements, the store exceeds its limit by at most one write', async () => {
  const size = fc.integer({ min: 1, max: 40 });
  const step = fc.record({ bytes: size, beside: fc.array(size, { maxLength: 3 }), ends: fc.integer({ min: 0, max: 4 }) });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const rows: number[] = [];
      const under: { bytes: number; leave: () => void }[] = [];
      const sum = (from: number) => rows.slice(from).reduce((all, each) => all + each, 0);
      const capacity = makeCapacity(
        () => 100,
        async (last = 0) => ({ bytes: sum(last), last: rows.length }),
      );
      const admit = async (bytes: number) => {
        if (capacity.usedBytes() > 100) return;
        const [isSure, ahead] = [!capacity.mayExceed(100, bytes), capacity.pendingNewBytes()];
        const one = { bytes, leave: capacity.reserve({ kind: 'new', bytes }) };
        try {
          if (!isSure) await capacity.refresh().then(() => checkCapacity(capacity, { kind: 'new', bytes }, 100, ahead));
          under.push(one);
        } catch {
          one.leave();
        }
      };
      for (const { bytes, beside, ends } of steps) {
        await Promise.all([bytes, ...beside].map(admit));
        for (const each of under.splice(0, ends)) {
          rows.push(each.bytes);
          each.leave();
        }
        const pending = under.reduce((all, each) => all + each.bytes, 0);
        assert.ok(sum(0) + pending <= 100 + 40, `${sum(0)} are kept, ${pending} under way`); // the last one may lead past it
      }
    }),
  );
});
