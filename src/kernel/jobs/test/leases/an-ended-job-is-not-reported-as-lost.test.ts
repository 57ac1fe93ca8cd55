import assert from 'node:assert/strict';
import { type AddressInfo, connect, createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { pino } from 'pino';
import type { App } from '../../../app.ts';
import { enqueue, job } from '../../index.ts';
import { eventually, workbench } from '../support.ts';

/** A worker that renews its leases all the time, its warnings, and a job that runs beside: its lease shows the time of the last renewal. */
async function renewing(t: TestContext) {
  const bench = await workbench(t);
  const { app, sql, defer, worker } = bench;
  const stuck = Promise.withResolvers<void>();
  defer(() => stuck.resolve());
  const beside = job('beside', {}, () => stuck.promise);
  const warnings: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => void warnings.push(JSON.parse(line).msg) });
  const leaseOfOther = async () => String((await sql(`select lease_until from kernel.job where kind = 'beside'`))[0]?.['lease_until']);
  return {
    ...bench,
    warnings,
    start: async (work: Parameters<typeof worker>[0][number], given: Partial<App> = {}) => {
      const ended: string[] = [];
      worker([beside, work], {
        app: { ...app, log, ...given } as App,
        renewEveryMs: 20,
        events: { ended: ({ outcome }) => void ended.push(outcome) },
      });
      await app.db.write((tx) => enqueue(tx, beside, { key: 'one' }));
      await eventually('the other one runs', async () => (await leaseOfOther()).startsWith('2'));
      return ended;
    },
    /** One renewal may be in flight already; the next ones cover everything that is leased now. */
    severalRenewals: async () => {
      for (let i = 0; i < 3; i++) {
        const before = await leaseOfOther();
        await eventually('leases were renewed', async () => (await leaseOfOther()) !== before);
      }
    },
  };
}

test('a renewal that finds a job done, before the worker has heard so itself, says nothing', async (t) => {
  const { app, connection, defer, warnings, start, severalRenewals, count } = await renewing(t);
  // Between worker and server: the server's replies about outcomes are delayed for a while.
  let keptBack: (() => void)[] | undefined;
  const between = createServer((client) => {
    const server = connect(`${connection.host}/.s.PGSQL.${connection.port}`);
    let isOutcome = false;
    client.on('data', (data) => {
      isOutcome ||= data.includes('finished as (delete');
      server.write(data);
    });
    server.on('data', (data) => {
      if (isOutcome && keptBack) keptBack.push(() => client.write(data));
      else client.write(data);
    });
    for (const [one, other] of [[client, server] as const, [server, client] as const]) {
      one.on('error', () => other.destroy());
      one.on('close', () => other.destroy());
    }
  });
  await new Promise<void>((ready) => between.listen(0, '127.0.0.1', ready));
  defer(() => between.close());

  let runs = 0;
  const work = job('work', {}, async () => void runs++);
  const ended = await start(work, { connection: { ...connection, host: '127.0.0.1', port: (between.address() as AddressInfo).port } });
  keptBack = [];
  await app.db.write((tx) => enqueue(tx, work, { key: 'one' }));
  await eventually('its end is on record', async () => runs === 1 && (await count(`kind = 'work'`)) === 0);
  await severalRenewals();
  assert.deepEqual(ended, [], 'the worker has not heard of it');
  for (const goOn of keptBack.splice(0)) goOn();
  keptBack = undefined;
  await eventually('the worker has heard of it', () => ended.length === 1);
  assert.deepEqual([ended, runs, warnings], [['done'], 1, []]);
});

test('a handler that goes on after the end of its job is not told that it lost it', async (t) => {
  const { app, warnings, start, severalRenewals } = await renewing(t);
  const aborted: boolean[] = [];
  const goesOn = job('goes-on', {}, async ({ finishWith, signal }) => {
    await finishWith(async () => {});
    await severalRenewals();
    aborted.push(signal.aborted);
  });
  const ended = await start(goesOn);
  await app.db.write((tx) => enqueue(tx, goesOn, { key: 'one' }));
  await eventually('it went on to its end', () => ended.length === 1);
  assert.deepEqual([aborted, ended, warnings], [[false], ['done'], []]);
});

test('a handler whose job was taken away is told so', async (t) => {
  const { app, warnings, start, sql } = await renewing(t);
  const work = job('work', {}, ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))));
  const ended = await start(work);
  await app.db.write((tx) => enqueue(tx, work, { key: 'one' }));
  await eventually('it runs', async () => (await sql(`select from kernel.job where kind = 'work' and lease is not null`)).length === 1);
  await sql(`delete from kernel.job where kind = 'work'`);
  await eventually('it ended', () => ended.length === 1);
  assert.deepEqual([ended, warnings.length], [['lost'], 1]);
});
