import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../../../kernel/db/index.ts';
import { now } from '../../../../kernel/time.ts';
import { house, incident, made, page, publish, read, service, shows } from '../support.ts';
import { watch } from '../watch.ts';

const hours = (at: string, n: number) => new Date(Date.parse(at) + n * 3_600_000).toISOString();

test('planned work shows ahead, while it goes on and afterwards, by the clock alone', async (t) => {
  const { owner, url, app, clock } = await house(t);
  const web = await service(owner, 'Web');
  await page(owner, 'acme', [web.id]);
  const at = await app.db.read(now);
  await made(owner.post('/uptime/maintenance', { serviceId: web.id, title: 'New disks', startsAt: hours(at, 1), endsAt: hours(at, 3) }));
  const planned = await shows(url, 'acme', (text) => text.includes('New disks'));
  assert.match(planned.text, /Web · Planned · /);
  assert.match(planned.text, /All systems operational/);
  const of = async (name: string) =>
    JSON.parse((await read(`${url}/status/acme/api/v2/scheduled-maintenances${name}.json`)).text).scheduled_maintenances.length;
  assert.deepEqual([await of('/upcoming'), await of('/active')], [1, 0]);

  await clock.advance('61m');
  const active = await shows(url, 'acme', (text) => text.includes('Maintenance in progress'));
  assert.match(active.text, /Affects Web/);
  assert.deepEqual([await of('/upcoming'), await of('/active')], [0, 1]);
  assert.equal(JSON.parse((await read(`${url}/status/acme/api/v2/components.json`)).text).components[0].status, 'under_maintenance');

  await clock.advance('2h');
  const over = await shows(url, 'acme', (text) => text.includes('All systems operational'));
  assert.match(over.text, /Maintenance completed: New disks \(Web\)/);
  assert.deepEqual([await of('/upcoming'), await of('/active'), await of('')], [0, 0, 1]);
});

test('what probes see and what people say make the state together', async (t) => {
  const qd = await house(t);
  const { owner, url, app } = qd;
  const [web, api] = [await service(owner, 'Web'), await service(owner, 'API')];
  await page(owner, 'acme', [web.id, api.id]);
  const front = await watch(qd, web.id, { state: 'up', days: 90, down: { 3: 864, 10: 8_640 } });
  const back = await watch(qd, api.id, { state: 'pending' });
  const fine = await shows(url, 'acme', (text) => text.includes('99.87 %'));
  assert.match(fine.text, /aria-label="Last 90 days: 99\.87 % available, downtime on 2 days"/);
  assert.match(fine.text, /Not watched yet/);
  const json = JSON.parse((await read(`${url}/status/acme.json`)).text);
  assert.equal(json.services[0].availability90d, 99.87);
  assert.equal(json.services[0].days.length, 90);
  assert.equal(json.services[1].availability90d, null);

  await front.turn('down');
  const broken = await shows(url, 'acme', (text) => text.includes('Partial outage'));
  assert.match(broken.text, /Web is down/);
  await back.turn('down');
  await shows(url, 'acme', (text) => text.includes('Major outage') && text.includes('Web and API are down'));
  await front.turn('up');
  await back.turn('up');
  const id = await incident(owner, api.id, 'Odd answers');
  await shows(url, 'acme', (text) => text.includes('All systems operational'));
  await publish(owner, id, 'Some answers are odd.');
  const odd = await shows(url, 'acme', (text) => text.includes('Ongoing incident'));
  assert.match(odd.text, /Affects API/);
  assert.match(odd.text, /<span class="st incident">Incident<\/span>/);
  await made(owner.post(`/oncall/incidents/${id}/resolve`));
  await shows(url, 'acme', (text) => text.includes('All systems operational') && text.includes('lasted'));
  await app.db.write(
    (tx) => run(tx)`update oncall.incident set resolved_at = resolved_at - interval '31 days', opened_at = opened_at - interval '31 days'`,
  );
  app.caches.dropAll();
  const later = await shows(url, 'acme', (text) => text.includes('No incidents in the last 30 days.'));
  assert.match(later.text, /One more in the history/);
});
