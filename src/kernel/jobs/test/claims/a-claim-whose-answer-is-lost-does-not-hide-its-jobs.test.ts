import assert from 'node:assert/strict';
import { type AddressInfo, connect, createServer } from 'node:net';
import { test } from 'node:test';
import { enqueueMany, job, startWorker } from '../../index.ts';
import { eventually, makeApp, workbench } from '../support.ts';

test('jobs claimed by a statement whose answer never arrived are run at once, not after their lease', async (t) => {
  const { app, connection, defer, count, sql } = await workbench(t);
  const work = job('work', { lane: 'page' }, async ({ key }) => void ran.push(key));
  const ran: string[] = [];
  await app.db.write((tx) =>
    enqueueMany(
      tx,
      work,
      Array.from({ length: 5 }, (_, i) => ({ key: `${i}` })),
    ),
  );

  // Between worker and server: the reply to the first claim of this lane stops here.
  let cuts = 0;
  let attemptsAtCut: unknown;
  const between = createServer((client) => {
    const server = connect(`${connection.host}/.s.PGSQL.${connection.port}`);
    let isClaim = false;
    client.on('data', (data) => {
      const text = data.toString('latin1');
      isClaim ||= text.includes('attempts = q.attempts + 1') && text.includes('page');
      server.write(data);
    });
    server.on('data', async (data) => {
      // Its own reply, not that of an earlier statement: PostgreSQL sends it once the claim is committed.
      if (!isClaim || cuts > 0 || !/(UPDATE|SELECT) 5\0/.test(data.toString('latin1'))) return void client.write(data);
      cuts++;
      attemptsAtCut = await sql('select count(*)::int as taken from kernel.job where lease_until > kernel.now()');
      client.destroy();
    });
    for (const [one, other] of [[client, server] as const, [server, client] as const]) {
      one.on('error', () => other.destroy());
      one.on('close', () => other.destroy());
    }
  });
  await new Promise<void>((ready) => between.listen(0, '127.0.0.1', ready));
  defer(() => between.close());
  const there = await makeApp({ ...connection, host: '127.0.0.1', port: (between.address() as AddressInfo).port });
  defer(there.close);
  const worker = startWorker({ app: there.app, jobs: [work] });
  defer(() => worker.stop({ graceMs: 0 }));

  await eventually('all ran, well before their leases lapse', () => ran.length === 5);
  await eventually('nothing is left', async () => (await count()) === 0);
  assert.equal(cuts, 1);
  assert.deepEqual(attemptsAtCut, [{ taken: 5 }], 'the claim had been made');
});
