import { run } from '../../../kernel/db/index.ts';
import { now as databaseNow } from '../../../kernel/time.ts';
import { type House, incident, made, page, publish, service } from './support.ts';
import { watch } from './watch.ts';

interface Options {
  /** No check has run since midnight: the page stays the same until an update is published. */
  still?: boolean;
}

/** A page as a company of some size would have it: nine services in groups, an incident, a past one, planned work. */
export async function demo(qd: House, slug = 'acme', more: Record<string, unknown> = {}, { still = false }: Options = {}) {
  const { owner, app } = qd;
  const names = ['Website', 'Checkout', 'API', 'Webhooks', 'Dashboard', 'Email delivery', 'Search', 'Image storage', 'Data export'];
  const ids: string[] = [];
  for (const name of names) ids.push((await service(owner, name)).id);
  const bad: Record<number, Record<number, number>> = {
    0: { 12: 900 },
    1: { 0: 2_400, 3: 5_400, 41: 1_200 },
    2: { 3: 1_500 },
    5: { 66: 14_000, 67: 3_000 },
    7: { 20: 300 },
  };
  for (const [n, id] of ids.entries())
    await watch(qd, id, { state: n === 1 ? 'down' : 'up', days: n === 8 ? 37 : 190, down: bad[n] ?? {}, still });
  const now = Date.parse(await app.db.read(databaseNow));
  const inHours = (hours: number) => new Date(now + hours * 3_600_000).toISOString();
  const disks = { serviceId: ids[7]!, title: 'Moving images to new disks', startsAt: inHours(26), endsAt: inHours(29) };
  await made(owner.post('/uptime/maintenance', disks));
  await page(owner, slug, ids, {
    title: 'Acme Cloud',
    description: 'What works and what does not, in our own words.',
    timezone: 'Europe/Paris',
    groups: [
      { name: 'Customer-facing', serviceIds: ids.slice(0, 4) },
      { name: 'Behind the scenes', serviceIds: ids.slice(4) },
    ],
    ...more,
  });
  const old = await incident(owner, ids[2]!, 'API answered slowly in Europe');
  const told = [];
  told.push(await publish(owner, old, 'Requests from Europe take two to five seconds. We are looking into it.'));
  await owner.post(`/oncall/incidents/${old}/ack`);
  told.push(await publish(owner, old, 'One of three database replicas fell behind. Traffic goes to the other two.'));
  await owner.post(`/oncall/incidents/${old}/resolve`);
  told.push(await publish(owner, old, 'Answer times are as before.'));
  told.push(
    await publish(
      owner,
      old,
      'A nightly report locked a table for longer than it should have.\nWe now run it on a copy, and an alert tells us when a replica is more than ten seconds behind.',
      { kind: 'postmortem' },
    ),
  );
  const after = [0, 9, 78, 26 * 60]; // minutes
  for (const [n, id] of told.entries())
    await app.db.write(
      (tx) => run(tx)`
      update oncall.public_update set at = at - interval '3 days' + make_interval(mins => ${after[n]}::int) where id = ${id}`,
    );
  await app.db.write(
    (tx) => run(tx)`
    update oncall.incident set opened_at = opened_at - interval '3 days', acknowledged_at = acknowledged_at - interval '3 days' + interval '8 minutes',
           resolved_at = resolved_at - interval '3 days' + interval '77 minutes' where id = ${old}`,
  );
  const open = await incident(owner, ids[1]!, 'Card payments fail for some customers');
  await publish(owner, open, 'Some card payments are declined with “try again later”. We are finding out why.');
  await owner.post(`/oncall/incidents/${open}/ack`);
  await publish(
    owner,
    open,
    'Our payment provider has trouble in one region. We are sending payments through another one; most succeed again.',
  );
  await app.db.write(
    (tx) => run(tx)`
    update oncall.incident set opened_at = opened_at - interval '47 minutes', acknowledged_at = acknowledged_at - interval '22 minutes' where id = ${open}`,
  );
  await app.db.write(
    (tx) => run(tx)`
    update oncall.public_update set at = at - case when body like 'Some%' then interval '41 minutes' else interval '9 minutes' end where incident_id = ${open}`,
  );
  app.caches.dropAll();
  return { ids, open, old };
}
