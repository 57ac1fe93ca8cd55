import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { row, run } from '../../../../kernel/db/index.ts';
import { heard } from '../../../../programs/prober/test/support.ts';
import type { HttpTarget } from '../../../../protocols/agent.ts';
import { makeOpener } from '../../planes/agents/opener.ts';
import { desk, httpMonitor, made, tcpMonitor } from '../agent-context.ts';
import { agent } from '../support.ts';

const http = { url: 'https://shop.example/health?token=s3cret', headers: { 'X-Key': 's3cret' }, expectBodyContains: 'ok' };

const Seal = Type.Object({ sealed: Type.Unsafe<Buffer>({}) });

/** Two monitors, and a way to damage the seal of the first and to mend it, as a key file does that goes and comes back. */
async function twoMonitors(t: Parameters<typeof desk>[0]) {
  const qd = await desk(t);
  const { owner, app } = qd;
  const fra = await agent(qd, 'fra');
  const front = await made(owner.post('/uptime/monitors', httpMonitor({ vantages: ['fra'], http })));
  const base = await made(owner.post('/uptime/monitors', tcpMonitor({ vantages: ['fra'] })));
  const write = (sealed: Buffer) => app.db.write((tx) => run(tx)`update uptime.monitor set sealed = ${sealed} where id = ${front.id}`);
  const { sealed } = (await app.db.read((tx) => row(tx, Seal)`select sealed from uptime.monitor where id = ${front.id}`))!;
  return {
    ...qd,
    fra,
    front,
    base,
    path: `/uptime/monitors/${front.id}`,
    damage: () => write(Buffer.from('damaged')),
    mend: () => write(sealed),
  };
}

test('its monitor is shown as readers see it, renamed, set anew and deleted', async (t) => {
  const { owner, fra, front, base, path, damage, mend } = await twoMonitors(t);
  await damage();
  const shown = { url: 'https://shop.example/health', method: 'GET', followRedirects: true, expectStatus: ['2xx'] };
  assert.deepEqual((await made(owner.get(path))).http, shown);
  const { monitors } = await made(owner.get('/uptime/monitors'));
  assert.deepEqual(
    monitors.map((m: { id: string }) => m.id),
    [base.id, front.id],
  );

  const renamed = await made(owner.patch(path, { name: 'door', intervalSeconds: 30 }));
  assert.deepEqual([renamed.name, renamed.http], ['door', shown]);
  await mend();
  assert.deepEqual((await made(owner.get(path))).http, front.http, 'what could not be opened was left as it is');
  const { target, epoch } = (await fra.assignments()).body.assignments.find((a) => a.id === front.id)!;
  assert.deepEqual([(target as HttpTarget).headers, epoch], [http.headers, 1]);

  await damage();
  const refused = await owner.patch(path, { http: { url: http.url, headers: { 'X-Key': '***' } } });
  assert.equal(refused.status, 503);
  assert.match(refused.body.error, /^what is stored for \*\*\* cannot be opened at the moment; send every value/);
  const anew = await made(owner.patch(path, { http }));
  assert.deepEqual(anew.http, front.http);
  assert.equal((await fra.assignments()).body.assignments.find((a) => a.id === front.id)!.epoch, 2);

  await damage();
  assert.equal((await owner.delete(path)).status, 204);
});

test('probers get it as soon as it can be opened, and the others meanwhile', async (t) => {
  const { owner, fra, front, base, path, damage, mend } = await twoMonitors(t);
  const told = async (since?: string) => {
    const { cursor, full, assignments, removed } = (await fra.assignments(since)).body;
    return { cursor, full, ids: assignments.map((a) => a.id).sort(), removed };
  };
  const waits = (since: string) => assert.rejects(fra.assignments(since, AbortSignal.timeout(300)), 'without news it waits');

  await damage();
  const first = await told();
  assert.deepEqual([first.full, first.ids], [true, [base.id]]);
  await waits(first.cursor);
  // What else changes is told beside it.
  await made(owner.patch(`/uptime/monitors/${base.id}`, { intervalSeconds: 30 }));
  const second = await told(first.cursor);
  assert.deepEqual([second.full, second.ids], [false, [base.id]]);
  await waits(second.cursor);

  await mend();
  const third = await told(second.cursor);
  assert.deepEqual([third.full, third.ids], [false, [base.id, front.id].sort()]);
  await waits(third.cursor);

  await damage();
  await made(owner.patch(path, { intervalSeconds: 30 }));
  const fourth = await told(third.cursor);
  assert.deepEqual(fourth.ids, []);
  await waits(fourth.cursor);
  assert.equal((await owner.delete(path)).status, 204);
  const last = await told(fourth.cursor);
  assert.deepEqual([last.ids, last.removed], [[], [front.id]]);
  await waits(last.cursor);
});

test('the log says so once, and not at every question', async (t) => {
  const { app } = await desk(t);
  const { log, lines } = heard();
  const { open } = makeOpener({ secrets: app.secrets, log });
  const target = { host: 'db.example', port: 1, tls: false };
  const damaged = { id: 'mon_1', target, sealed: Buffer.from('damaged'), revision: 7 };
  for (const row of [damaged, damaged, { ...damaged, revision: 8 }, { ...damaged, sealed: null }, { ...damaged, sealed: null }]) open(row);
  const said = lines.map(({ level, msg }) => `${level} ${/cannot|can be/.exec(String(msg))?.[0]}`);
  assert.deepEqual(said, ['50 cannot', '50 cannot', '30 can be']);
});
