import assert from 'node:assert/strict';
import { once as event } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { cancel, wake } from '../../../kernel/jobs/index.ts';
import { stepJob } from '../engine/index.ts';
import { covered, eventually, made, mails, once, user, ward } from './support.ts';

test('lag and response times are measured, and a heartbeat goes out while pages are in time', async (t) => {
  let beats = 0;
  const watcher = createServer((_request, response) => {
    beats++;
    response.end();
  }).listen(0, '127.0.0.1');
  await event(watcher, 'listening');
  t.after(() => watcher.close());
  const { port } = watcher.address() as AddressInfo;
  const qd = await ward(t, { env: { QUARTERDECK_HEARTBEAT_URL: `http://127.0.0.1:${port}/beat`, QUARTERDECK_METRICS_TOKEN: 'scrape' } });
  const { owner, smtp } = qd;
  await eventually(async () => beats === 1);
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
  await qd.clock.advance('3m');
  assert.ok((await metric('escalation_lag_seconds')) >= 119);
  await mails(smtp, owner.email, 2);
  await made(owner.post(`/oncall/incidents/${id}/ack`));
  assert.equal(await metric('escalation_lag_seconds'), 0);
  assert.ok((await metric(`mean_time_to_acknowledge_seconds{service="${service.id}"}`)) >= 180);
  const before = beats;
  await qd.clock.advance('31s');
  await qd.app.db.write(async (tx) => wake(tx, 'oncall.heartbeat'));
  await eventually(async () => beats > before);
});
