import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Quarterdeck, quarterdeck } from '../../../../../../test/harness/index.ts';
import { eventually } from '../../../../../../test/harness/process.ts';
import type { App } from '../../../../../kernel/app.ts';
import { sql } from '../../../../../kernel/sql.ts';
import { startArrivalReader } from '../../engine/index.ts';

/** Inserts arrivals of an organization, with a route that does not exist. */
const arrive = ({ app }: Quarterdeck, org: string, count: number, bytes = 10) =>
  app.db.write((tx) =>
    tx.query(sql`
      insert into email.arrival (org_id, message_id, route_id, endpoint_id, envelope, body_key, body_offset, body_bytes, received_at, run_at)
      select ${org}, 'msg_' || n, 'none', 'none', '{"mailFrom": "", "rcptTo": [], "remoteIp": "", "helo": "", "tls": null}', 'mail/none', 0, ${bytes}::int, kernel.now(), kernel.now()
        from generate_series(1, ${count}::int) n`),
  );

const leasedOf = async ({ app }: Quarterdeck): Promise<Record<string, number>> => {
  const { rows } = await app.db.read((tx) => tx.query(sql`select org_id, count(lease)::int as leased from email.arrival group by 1`));
  return Object.fromEntries((rows as { org_id: string; leased: number }[]).map(({ org_id, leased }) => [org_id, leased]));
};

/** An arrival reader whose bytes come when the test says so. */
function readingsOf(t: TestContext, app: App, turnMs?: number) {
  const asked = Promise.withResolvers<void>();
  const bytes = Promise.withResolvers<undefined>();
  const read = () => {
    asked.resolve();
    return bytes.promise;
  };
  const readings = startArrivalReader({
    app,
    spool: { read } as never,
    node: 'here',
    mailHost: 'mx.host.example',
    ...(turnMs ? { slotWaitMs: turnMs } : {}),
  });
  t.after(() => readings.stop());
  return { readings, asked: asked.promise, giveUp: () => bytes.resolve(undefined) };
}

const withoutReaders = { env: { QUARTERDECK_ROLES: 'api' } };

test('two organizations with a backlog leave slots for a third', async (t) => {
  const qd = await quarterdeck(t, withoutReaders);
  for (const org of ['org_a', 'org_b']) await arrive(qd, org, 600);
  const { readings } = readingsOf(t, qd.app);
  let before = -1;
  const leased = await eventually(async () => {
    const now = await leasedOf(qd);
    const sum = now.org_a! + now.org_b!;
    const isAll = sum > 0 && sum === before;
    before = sum;
    if (!isAll) await new Promise((later) => setTimeout(later, 1_100));
    return isAll && now;
  });
  assert.ok(leased.org_a! > 100 && leased.org_b! > 100, JSON.stringify(leased));
  assert.ok(readings.reserve('org_c'), JSON.stringify(leased));
});

test('arrivals read or claimed during a stop are released at once', async (t) => {
  const qd = await quarterdeck(t, withoutReaders);
  let gate: Promise<void> | undefined;
  let waiting = 0;
  const write: App['db']['write'] = async (act) => {
    const result = await qd.app.db.write(act);
    if (gate) waiting++;
    await gate;
    return result;
  };
  const app = { ...qd.app, db: { ...qd.app.db, write } };
  await arrive(qd, 'org_a', 1);
  const { readings, asked, giveUp } = readingsOf(t, app);
  await asked;

  // A claim is on its way, and finds another one.
  const opened = Promise.withResolvers<void>();
  gate = opened.promise;
  await arrive(qd, 'org_b', 1);
  await eventually(async () => waiting > 0 && (await leasedOf(qd)).org_b === 1);
  const stopping = readings.stop();
  giveUp();
  await new Promise((later) => setTimeout(later, 50));
  opened.resolve();
  gate = undefined;
  await stopping;
  assert.deepEqual(await leasedOf(qd), { org_a: 0, org_b: 0 });
});

test('an arrival that waited in vain for a slot is read later', async (t) => {
  const qd = await quarterdeck(t, withoutReaders);
  await arrive(qd, 'org_a', 3, 2 * 2 ** 20);
  const { giveUp } = readingsOf(t, qd.app, 50);
  const attempts = async () => {
    const { rows } = await qd.app.db.read((tx) =>
      tx.query(sql`select attempts from email.arrival where lease is null and run_at > kernel.now()`),
    );
    return rows.map((row) => row.attempts);
  };
  await eventually(async () => (await attempts()).length === 2);
  assert.deepEqual(await attempts(), [0, 0], 'one has the turn, and the others are looked for again');
  giveUp();
});
