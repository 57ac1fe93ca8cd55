import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { now } from '../../../../kernel/time.ts';
import { eventually, history, made, stateOf, untilTold, watched } from '../support.ts';

test('during maintenance states go on changing and on-call is not notified; a monitor that is still down afterwards fires then', async (t) => {
  const qd = await quarterdeck(t);
  const { owner, clock } = qd;
  const { id: serviceId } = await made(owner.post('/uptime/services', { name: 'shop' }));
  const { agents, monitor } = await watched(qd, ['tokyo'], { serviceId });
  const tokyo = agents[0]!;
  const open = async () => {
    await untilTold(qd);
    return (await made(owner.get('/oncall/incidents?status=open'))).incidents as { id: string }[];
  };
  const plan = async (from: number, until: number) => {
    const at = Date.parse(await qd.app.db.read(now));
    const iso = (seconds: number) => new Date(at + seconds * 1000).toISOString();
    return made(
      owner.post('/uptime/maintenance', { serviceId, title: 'new disks', ...(from ? { startsAt: iso(from) } : {}), endsAt: iso(until) }),
    );
  };

  await tokyo.pass(monitor);
  const window = await plan(0, 1_800);
  await tokyo.fail(monitor);
  await tokyo.fail(monitor);
  assert.equal(await stateOf(owner, monitor), 'down');
  assert.deepEqual(await open(), []);
  assert.deepEqual(await history(qd, monitor), { results: 3, rolled: 3, missed: 0, excluded: 2 });
  await clock.advance('31m');
  const [held] = await eventually(async () => ((await open()).length ? open() : undefined));
  const [alert] = (await made(owner.get(`/oncall/incidents/${held!.id}`))).alerts;
  assert.ok(Date.parse(alert.startsAt) < Date.parse(window.endsAt), 'it began with the first failure, not with the end of the work');

  // Work begins on what is down already: its alert rests until the work is over, and then is news again.
  const second = await plan(60, 600);
  assert.equal((await open()).length, 1);
  await clock.advance('61s');
  await eventually(async () => (await open()).length === 0);
  const { timeline } = await made(owner.get(`/oncall/incidents/${held!.id}`));
  assert.match(timeline.findLast((e: { kind: string }) => e.kind === 'alert_resolved').message, /: planned maintenance began$/);
  await clock.advance('10m');
  await eventually(async () => (await open()).length === 1);
  await made(owner.delete(`/uptime/maintenance/${second.id}`));
  assert.equal((await open()).length, 1);

  // Called off early.
  const third = await plan(0, 3_600);
  assert.equal((await open()).length, 0);
  await made(owner.delete(`/uptime/maintenance/${third.id}`));
  assert.equal((await open()).length, 1);
  await tokyo.pass(monitor);
  await tokyo.pass(monitor);
  assert.deepEqual(await open(), []);
});
