import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../../../kernel/db/index.ts';
import { detail, made, service, unresolved, ward } from '../support.ts';

const many = 5_000;

test('incidents are paginated by cursor, for the whole organization and for a caller with one service', async (t) => {
  const qd = await ward(t);
  const { owner } = qd;
  const [mine, other] = [await service(owner), await service(owner)];
  const open = async (id: string, title: string) => (await made(owner.post('/oncall/incidents', { serviceId: id, title }))).id as string;
  const ids: string[] = [];
  for (let i = 0; i < 5; i++) ids.unshift(await open(i % 2 ? other.id : mine.id, `number ${i}`));
  await made(owner.post(`/oncall/incidents/${ids[1]}/ack`));

  const walk = async (by: typeof owner, filter = '') => {
    const seen: string[] = [];
    for (let cursor = '', rounds = 0; rounds < 10; rounds++) {
      const slice = await made(by.get(`/oncall/incidents?limit=2${filter}${cursor}`));
      seen.push(...slice.incidents.map((i: { id: string }) => i.id));
      if (!slice.cursor) break;
      cursor = `&cursor=${slice.cursor}`;
    }
    return seen;
  };
  assert.deepEqual(await walk(owner), ids);
  const narrow = await qd.narrowed(owner, [{ role: 'oncall.viewer', resourceIds: [mine.id] }]);
  assert.equal((await unresolved(narrow)).length, 3);

  const ofOther = ids.filter((_, at) => at % 2 === 1);
  assert.deepEqual(await walk(owner, `&serviceId=${other.id}`), ofOther);
  assert.deepEqual(await walk(owner, `&serviceId=${other.id}&status=acknowledged`), [ids[1]]);
  assert.deepEqual(await walk(narrow, `&serviceId=${other.id}`), [], 'a filter widens no right');
  assert.equal((await walk(narrow, `&serviceId=${mine.id}`)).length, 3);
  assert.deepEqual(await walk(await qd.organization('neighbour'), `&serviceId=${other.id}`), []);
  assert.deepEqual(await walk(owner, '&serviceId=svc_of_yesterday'), []);

  const services = await made(owner.get('/oncall/services?limit=1'));
  assert.equal(services.services[0].id, other.id);
  const rest = await made(owner.get(`/oncall/services?limit=1&cursor=${services.cursor}`));
  assert.deepEqual([rest.services[0].id, rest.cursor], [mine.id, undefined]);
});

test('an incident that gathered thousands of lines, pages and alerts shows the newest of each and says so', async (t) => {
  const qd = await ward(t);
  const { owner } = qd;
  const its = await service(owner);
  const { id } = await made(owner.post('/oncall/incidents', { serviceId: its.id, title: 'long' }));
  assert.deepEqual((await detail(owner, id)).cut, []);
  await qd.app.db.write(async (tx) => {
    await run(tx)`insert into oncall.timeline (org_id, incident_id, id, at, kind, message)
      select ${owner.orgId}, ${id}, kernel.new_id('evt'), kernel.now(), 'alert_firing', 'line ' || n from generate_series(1, ${many}::int) n`;
    await run(tx)`insert into oncall.page (org_id, id, incident_id, pass, step, user_id, label, channel, rule_index, code, state, due_at)
      select ${owner.orgId}, kernel.new_id('page'), ${id}, n, 0, ${owner.userId}, 'Ada', 'email', 0, '0000', 'sent', kernel.now() from generate_series(1, ${many}::int) n`;
  });
  const found = await detail(owner, id);
  assert.deepEqual(found.cut, ['timeline', 'pages']);
  assert.deepEqual([found.timeline.length, found.pages.length], [1_000, 1_000]);
  assert.equal(found.timeline.at(-1).message, `line ${many}`);
});
