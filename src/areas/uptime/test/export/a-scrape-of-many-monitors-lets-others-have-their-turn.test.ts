import assert from 'node:assert/strict';
import { type IncomingMessage, request } from 'node:http';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { caller } from '../../../../../test/harness/index.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { run, type Tx } from '../../../../kernel/db/index.ts';
import { gatherSnapshot, pageSize, writeSnapshot } from '../../engine/snapshot.ts';
import { maxPieceLength } from '../../rules/export-text.ts';
import { desk, made, monitor } from '../agent-context.ts';

const path = '/uptime/export/metrics';
const many = 1_000;

/** As many copies of a monitor, each with a result of a moment ago. */
const copy = (tx: Tx, id: string, copies: number) => run(tx)`
  with made as (
    insert into uptime.monitor (org_id, id, name, service_id, enabled, kind, target, sealed, interval_seconds, timeout_ms, vantages,
                                confirmations, quorum, revision, created_at, updated_at)
    select org_id, kernel.new_id('mon'), name || ' ' || n, service_id, true, kind, target, sealed, interval_seconds, timeout_ms, vantages,
           confirmations, quorum, nextval('uptime.revision'), created_at, updated_at
      from uptime.monitor, generate_series(1, ${copies}::int) n where id = ${id}
    returning org_id, id
  ), stated as (
    insert into uptime.monitor_state (org_id, monitor_id, state, since, began_at)
    select org_id, id, 'up', kernel.now(), kernel.now() from made
  )
  insert into uptime.vantage_state (org_id, monitor_id, vantage, last_at, latest_at, latest, latency_hist)
  select org_id, id, 'local', kernel.now(), kernel.now(),
         '{"outcome":"pass","latencyMs":12,"status":200,"family":4,"phases":{"resolve":1,"connect":2,"tls":3,"firstByte":4,"transfer":5}}',
         array_fill(0::bigint, array[13]) from made`;

test('monitors are read in portions and written in pieces, with a turn of the loop between any two', async (t) => {
  const { owner, app } = await desk(t);
  const { id } = await monitor(owner, { name: 'checkout of the shop' });
  await app.db.write((tx) => copy(tx, id, many));

  const rowsRead: number[] = [];
  const read: typeof app.db.read = (work) =>
    app.db.read((tx) =>
      work({
        ...tx,
        query: async (piece) => {
          const answer = await tx.query(piece);
          rowsRead.push(answer.rows.length);
          return answer;
        },
      }),
    );
  const snapshot = await gatherSnapshot(read, owner.orgId);
  assert.equal(snapshot.monitors.length, many + 1);
  assert.ok(Math.max(...rowsRead) <= pageSize);

  let turns = 0;
  let isRead = false;
  const turning = (async () => {
    for (; !isRead; turns++) await nextTurn();
  })();
  let before = -1;
  let bytes = 0;
  let pieces = 0;
  for await (const piece of writeSnapshot(snapshot)) {
    assert.ok(turns > before, 'somebody else had a turn since the last piece');
    before = turns;
    assert.ok(piece.length <= maxPieceLength + 1_000);
    bytes += Buffer.byteLength(piece);
    pieces++;
  }
  isRead = true;
  await turning;
  assert.ok(pieces > bytes / (maxPieceLength + 1_000));
  assert.ok(bytes / many < 5_700, `${Math.round(bytes / many)} bytes a monitor`);
});

test('a scraper that does not read holds one of three places, and gives it back when it leaves', async (t) => {
  const { owner, app, url } = await desk(t);
  const { id } = await monitor(owner);
  await app.db.write((tx) => copy(tx, id, many));
  const { token } = await made(owner.post('/uptime/export-tokens', { name: 'prometheus' }));

  const idle = Array.from({ length: 3 }, () => {
    const asked = request(`${url}/api/v1${path}`, { headers: { authorization: `Bearer ${token}` }, agent: false });
    const answered = new Promise<number>((resolve, reject) => {
      asked.on('response', (response) => resolve(response.pause().statusCode!)).on('error', reject);
    });
    asked.end();
    return { asked, answered };
  });
  assert.deepEqual(await Promise.all(idle.map((i) => i.answered)), [200, 200, 200]);
  const scraper = caller(url, token);
  const refused = await scraper.get(path);
  assert.equal(refused.status, 429);
  assert.equal(refused.body.error, '3 scrapes of this organization are under way; come again when one has ended');
  assert.equal(refused.headers.get('retry-after'), '5');
  for (const { asked } of idle) asked.on('error', () => {}).destroy();
  const { body } = await eventually(async () => {
    const answer = await scraper.get(path);
    return answer.status === 200 && answer;
  });
  assert.equal(body.match(/^probe_success\{/gm).length, many);
});

test('a scrape whose token is revoked while it is being sent is cut off before its end', async (t) => {
  const { owner, app, url } = await desk(t);
  const { id } = await monitor(owner);
  await app.db.write((tx) => copy(tx, id, 3 * many));
  const token = await made(owner.post('/uptime/export-tokens', { name: 'prometheus' }));
  const asked = request(`${url}/api/v1${path}`, { headers: { authorization: `Bearer ${token.token}` }, agent: false });
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    asked.on('response', resolve).on('error', reject);
    asked.end();
  });
  assert.equal(answer.statusCode, 200);
  assert.equal((await owner.delete(`/uptime/export-tokens/${token.id}`)).status, 204);
  let last = '';
  await assert.rejects(
    async () => {
      for await (const chunk of answer) last = String(chunk);
    },
    { code: 'ECONNRESET' },
  );
  assert.doesNotMatch(last, /^uptime_vantage_available\{/m, 'the last piece never came');
});
