import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Quarterdeck, quarterdeck } from '../../../../../test/harness/index.ts';
import { made, type ScriptedAgent, untilTold, watched } from '../support.ts';

const service = (qd: Quarterdeck, name: string): Promise<{ id: string }> => made(qd.owner.post('/uptime/services', { name }));
// biome-ignore lint/suspicious/noExplicitAny: an incident's shape is on-call's contract
const incidents = async ({ app, owner }: Quarterdeck): Promise<any[]> => {
  await untilTold({ app });
  const { incidents: found } = await made(owner.get('/oncall/incidents?status=open'));
  return Promise.all(found.map((i: { id: string }) => made(owner.get(`/oncall/incidents/${i.id}`))));
};
// biome-ignore lint/suspicious/noExplicitAny: as above
const endOf = async ({ app, owner }: Quarterdeck, id: string): Promise<any> => {
  await untilTold({ app });
  const incident = await made(owner.get(`/oncall/incidents/${id}`));
  const ended = incident.timeline.findLast((e: { kind: string }) => e.kind === 'alert_resolved');
  return { status: incident.status, message: ended?.message };
};

const takeDown = async (agent: ScriptedAgent, monitor: { id: string }, epoch = 1) => {
  await agent.fail(monitor, { epoch });
  await agent.fail(monitor, { epoch });
};

test('a monitor that goes down fires an alert of its service from its first failure on, and ends it when it is up', async (t) => {
  const qd = await quarterdeck(t);
  const { id: serviceId } = await service(qd, 'shop');
  const { agents, monitor } = await watched(qd, ['tokyo', 'paris'], {
    serviceId,
    name: 'checkout',
    http: { url: 'https://checked.example/pay?token=secret' },
  });
  const [tokyo, paris] = agents as [ScriptedAgent, ScriptedAgent];
  await qd.clock.advance('5m');
  await tokyo.pass(monitor, { ageMs: 60_000 });
  await paris.pass(monitor, { ageMs: 60_000 });
  await tokyo.fail(monitor, { ageMs: 20_000 });
  await tokyo.fail(monitor, { ageMs: 15_000 });
  await paris.fail(monitor, { ageMs: 12_000 });
  assert.deepEqual(await incidents(qd), []);
  await paris.fail(monitor, { ageMs: 2_000 });

  const [incident] = await incidents(qd);
  assert.equal(incident.title, 'checkout is down', 'the title may become public, so hosts and errors stand below it');
  assert.equal(
    incident.description,
    'checkout is down: checked.example fails from 2 of 2 vantages (tokyo, paris): the connection was refused',
  );
  const [alert] = incident.alerts;
  assert.equal(alert.fingerprint, monitor.id);
  assert.deepEqual(alert.labels, {
    alertname: 'MonitorDown',
    monitor: 'checkout',
    monitor_id: monitor.id,
    kind: 'http',
    host: 'checked.example',
    vantages: 'tokyo,paris',
  });
  const { transitions } = await made(qd.owner.get(`/uptime/monitors/${monitor.id}/transitions`));
  const ago = Date.parse(transitions[0].at) - Date.parse(alert.startsAt);
  assert.ok(ago > 9_000 && ago < 18_000, `${ago} ms: since both saw it fail, not since one did, nor since it was confirmed`);
  assert.equal(JSON.stringify(incident).includes('secret'), false, 'what stands in a query stays with the monitor');

  await tokyo.pass(monitor);
  await tokyo.pass(monitor);
  assert.deepEqual(await endOf(qd, incident.id), { status: 'resolved', message: 'checkout is down ended' });
  await takeDown(tokyo, monitor);
  assert.equal((await incidents(qd)).length, 1, 'another outage is another incident');
});

test('an alert ends with its reason when its monitor is paused, changed, moved, detached or deleted', async (t) => {
  const qd = await quarterdeck(t);
  const { owner } = qd;
  const [shop, desk] = [await service(qd, 'shop'), await service(qd, 'desk')];
  const { agents, monitor } = await watched(qd, ['tokyo'], { serviceId: shop.id, name: 'checkout' });
  const tokyo = agents[0]!;
  const patch = (body: Record<string, unknown>) => made(owner.patch(`/uptime/monitors/${monitor.id}`, body));
  const onlyIncident = async () => {
    const found = await incidents(qd);
    assert.equal(found.length, 1, JSON.stringify(found.map((i) => i.title)));
    return found[0]!;
  };

  await takeDown(tokyo, monitor);
  const first = await onlyIncident();
  await patch({ serviceId: desk.id });
  assert.deepEqual(await endOf(qd, first.id), {
    status: 'resolved',
    message: 'checkout is down ended: the monitor was moved to another service',
  });
  const second = await onlyIncident();
  assert.equal(second.serviceId, desk.id, 'it fires on its new service');
  await patch({ serviceId: shop.id });
  const third = await onlyIncident();
  assert.equal(third.serviceId, shop.id, 'back again: what was told before is no news, so it is told as a new outage');
  await patch({ serviceId: null });
  assert.equal((await endOf(qd, third.id)).message, 'checkout is down ended: the monitor was detached from the service');
  assert.deepEqual(await incidents(qd), []);

  await patch({ serviceId: shop.id });
  const fourth = await onlyIncident();
  await patch({ http: { url: 'https://other.example/' } });
  assert.equal((await endOf(qd, fourth.id)).message, 'checkout is down ended: the monitor was changed and starts over');
  await takeDown(tokyo, monitor);
  assert.deepEqual(await incidents(qd), [], 'results of the old target count no more');
  await takeDown(tokyo, monitor, 2);
  const fifth = await onlyIncident();
  await patch({ enabled: false });
  assert.equal((await endOf(qd, fifth.id)).message, 'checkout is down ended: the monitor was paused');
  await takeDown(tokyo, monitor, 2);
  assert.deepEqual(await incidents(qd), []);
  await patch({ enabled: true });
  await takeDown(tokyo, monitor, 3);
  const sixth = await onlyIncident();
  await made(owner.delete(`/uptime/monitors/${monitor.id}`));
  assert.equal((await endOf(qd, sixth.id)).message, 'checkout is down ended: the monitor was deleted');
});
