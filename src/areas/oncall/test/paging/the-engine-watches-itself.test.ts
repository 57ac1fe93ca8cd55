import assert from 'node:assert/strict';
import { once as event } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { run } from '../../../../kernel/db/index.ts';
import { cancel, channelNamed, wake } from '../../../../kernel/jobs/index.ts';
import { requeueLostWork } from '../../engine/housekeeping.ts';
import { stepJob } from '../../engine/step.ts';
import { heartbeat } from '../../tasks.ts';
import { covered, eventually, made, mails, once, user, ward } from '../support.ts';

async function watching(t: TestContext) {
  const watcher = { beats: 0, url: '' };
  const server = createServer((_request, response) => {
    watcher.beats++;
    response.end();
  }).listen(0, '127.0.0.1');
  await event(server, 'listening');
  t.after(() => server.close());
  watcher.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/beat`;
  return watcher;
}

test('lag and response times are measured, and a heartbeat goes out while pages are in time', async (t) => {
  const watcher = await watching(t);
  const qd = await ward(t, { env: { QUARTERDECK_HEARTBEAT_URL: watcher.url, QUARTERDECK_METRICS_TOKEN: 'scrape' } });
  const { owner, smtp } = qd;
  await qd.perform(heartbeat);
  assert.equal(watcher.beats, 1);
  const metric = async (name: string) => {
    const text = await (await fetch(`${qd.url}/metrics`, { headers: { authorization: 'Bearer scrape' } })).text();
    const line = text.split('\n').find((l) => l.startsWith(`quarterdeck_oncall_${name}`) && !l.startsWith('#'));
    return line === undefined ? Number.NaN : Number(line.split(' ').at(-1));
  };
  assert.equal(await metric('escalation_lag_seconds'), 0);

  const { service } = await covered(owner, {
    steps: [
      [user(owner), 60],
      [user(owner), 60],
    ],
  });
  const { id } = await made(owner.post('/oncall/incidents', { serviceId: service.id, title: 'down' }));
  await mails(smtp, owner.email, 1);
  await once(owner, id, (i) => i.pages[0]?.state === 'sent');

  // Somebody dropped the job of the next step. It is late then, the heartbeat stops, and the step is found and fired.
  await qd.app.db.write((tx) => cancel(tx, stepJob, id));
  await qd.app.db.write(async (tx) => {
    await run(tx)`select 1 from oncall.incident where id = ${id} for update`; // locked, so that the step does not fire before the check
    await qd.clock.advance('3m');
    assert.ok((await metric('escalation_lag_seconds')) >= 119);
  });
  await mails(smtp, owner.email, 2);
  await made(owner.post(`/oncall/incidents/${id}/ack`));
  assert.equal(await metric('escalation_lag_seconds'), 0);
  assert.ok((await metric(`mean_time_to_acknowledge_seconds{service="${service.id}"}`)) >= 180);
  const before = watcher.beats;
  await qd.clock.advance('31s');
  await qd.app.db.write(async (tx) => wake(tx, channelNamed('oncall.heartbeat')));
  await eventually(async () => watcher.beats > before);
});

test('the heartbeat is withheld while a page is late', async (t) => {
  const watcher = await watching(t);
  // No worker runs here, so due work stays due.
  const { owner, app, clock, perform } = await ward(t, { env: { QUARTERDECK_HEARTBEAT_URL: watcher.url, QUARTERDECK_ROLES: 'api' } });
  const beat = () => perform(heartbeat);
  const { service } = await covered(owner, { steps: [[user(owner), 60]] });
  const { id } = await made(owner.post('/oncall/incidents', { serviceId: service.id, title: 'down' }));
  await beat();
  assert.equal(watcher.beats, 1, 'a moment is not late');
  const { hold } = app;
  Object.assign(app, { hold: { isHeld: true } });
  await beat();
  assert.equal(watcher.beats, 1, 'no page would be sent while a restore is held');
  Object.assign(app, { hold });
  await clock.advance('61s');
  await beat();
  assert.equal(watcher.beats, 1);
  await made(owner.post(`/oncall/incidents/${id}/ack`));
  await beat();
  assert.equal(watcher.beats, 2, 'no page is waiting any more');

  // What fails before it becomes a page: an alert of a monitor that is not taken.
  await app.db.write(
    (tx) => run(tx)`
    insert into kernel.job (lane, kind, key, run_at, attempts, created_at)
    values ('page', 'test.telling', 'a', kernel.now() + interval '10 s', 4, kernel.now() - interval '2 minutes')`,
  );
  await beat();
  assert.equal(watcher.beats, 2);
});

test('a step that is fired while lost work is looked for had its job', async (t) => {
  const { owner, app, clock } = await ward(t, { env: { QUARTERDECK_ROLES: 'api' } });
  const { service } = await covered(owner, { steps: [[user(owner), 60]] });
  const { id } = await made(owner.post('/oncall/incidents', { serviceId: service.id, title: 'down' }));
  await clock.advance('5m');
  const looking: Promise<{ walks: number; pages: number }>[] = [];
  // As the job of the step ends: the walk stands elsewhere, and the job is gone, in one transaction.
  await app.db.write(async (tx) => {
    await run(tx)`update oncall.incident set walk_state = 'exhausted', next_at = null where id = ${id}`;
    await run(tx)`update oncall.page set state = 'sent' where incident_id = ${id}`;
    await run(tx)`delete from kernel.job where kind in ('oncall.step', 'oncall.page')`;
    looking.push(app.db.write(requeueLostWork));
    await sleep(200); // it has looked, and may wait for this transaction
  });
  assert.deepEqual(await looking[0], { walks: 0, pages: 0 });
  assert.equal(await app.db.read((tx) => run(tx)`select from kernel.job where kind like 'oncall.%'`), 0);
});
