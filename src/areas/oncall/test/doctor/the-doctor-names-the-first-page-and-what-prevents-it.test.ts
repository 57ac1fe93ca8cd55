import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck, type Someone } from '../../../../../test/harness/index.ts';
import { run, type Tx } from '../../../../kernel/db/index.ts';
import { listServices } from '../../../services/index.ts';
import { examineServices } from '../../engine/doctor/examine.ts';
import { phoneWard } from '../phone-support.ts';
import { covered, eventually, made, organizationOn, service, shared, user, ward } from '../support.ts';

interface Diagnosis {
  serviceId: string;
  paged: boolean;
  by?: { step: number; userId: string; label: string; channel: string; afterSeconds: number };
  problems: { code: string; sentence: string }[];
}

const examine = async (as: Someone, id: string): Promise<Diagnosis> =>
  (await made(as.get('/oncall/doctor'))).services.find((s: Diagnosis) => s.serviceId === id);
const codes = ({ problems }: Diagnosis) => [...new Set(problems.map((p) => p.code))].sort();

const schedule = async (owner: Someone, people: Someone[]): Promise<{ kind: 'schedule'; id: string; label: '' }> => {
  const participants = people.map(({ userId, email }) => ({ userId, label: email }));
  const body = { name: 'rota', timezone: 'Europe/Paris', participants, handoff: { interval: 'daily', time: '09:00' } };
  return { kind: 'schedule', id: (await made(owner.post('/oncall/schedules', body))).id, label: '' };
};

const oneWard = shared(ward);

const inOrganization = async (slug: string) => organizationOn(await oneWard(), slug);

test('the person who would be paged is named, with the channel and how long it takes', async () => {
  const { owner, member } = await inOrganization('named');
  const bob = await member(owner, 'member');
  const { service: direct } = await covered(owner, { steps: [[user(owner), 300]] });
  const well = await examine(owner, direct.id);
  assert.deepEqual(
    [well.paged, well.by, well.problems],
    [true, { step: 1, userId: owner.userId, label: 'owner', channel: 'email', afterSeconds: 0 }, []],
  );

  await made(bob.put('/oncall/me/settings', { rules: [{ channel: 'email', delaySeconds: 120 }] }));
  const { service: rota } = await covered(owner, { steps: [[await schedule(owner, [bob]), 300]] });
  const { by } = await examine(owner, rota.id);
  assert.deepEqual(by, { step: 1, userId: bob.userId, label: bob.email, channel: 'email', afterSeconds: 120 });
});

test('no policy, an empty schedule, and a former member are reported', async () => {
  const { owner, member } = await inOrganization('left');
  const bare = await examine(owner, (await service(owner)).id);
  assert.deepEqual([bare.paged, codes(bare)], [false, ['no-policy']]);
  assert.match(bare.problems[0]!.sentence, /no escalation policy is attached; attach one to the service/);

  const empty = await covered(owner, { steps: [[await schedule(owner, []), 300]] });
  const nobody = await examine(owner, empty.service.id);
  assert.deepEqual([nobody.paged, codes(nobody)], [false, ['nobody-on-call']]);
  assert.ok(nobody.problems.some((p) => p.sentence === 'nobody is on call in the schedule rota in the next 7 days'));

  const bob = await member(owner, 'member');
  const left = await covered(owner, { steps: [[user(bob, 'Bob'), 300]] });
  assert.equal((await examine(owner, left.service.id)).paged, true);
  assert.equal((await owner.delete(`/organization/members/${bob.userId}`)).status, 204);
  const gone = await examine(owner, left.service.id);
  assert.deepEqual([gone.paged, codes(gone)], [false, ['nobody-on-call', 'not-a-member']]);
  assert.ok(gone.problems.some((p) => p.sentence === 'Bob is no member any more'));
});

test('a former member in a rotation is reported, and the next person stands in', async () => {
  const { owner, member, app } = await inOrganization('rotation');
  const bob = await member(owner, 'member');
  const { service: its } = await covered(owner, { steps: [[await schedule(owner, [bob, owner]), 300]] });
  assert.deepEqual((await examine(owner, its.id)).problems, []);
  // As a release before this one left it behind: a removal takes them out of the rotation now.
  await app.db.write((tx) => run(tx)`delete from identity.member where user_id = ${bob.userId}`);
  const found = await examine(owner, its.id);
  assert.deepEqual([found.paged, found.by?.userId], [true, owner.userId]);
  assert.deepEqual(codes(found), ['not-a-member']);
  await app.db.write(
    (tx) =>
      run(
        tx,
      )`update oncall.schedule set participants = (select jsonb_agg(p) from jsonb_array_elements(participants) p where p ->> 'userId' = ${bob.userId}) where org_id = ${owner.orgId}`,
  );
  assert.deepEqual(
    [(await examine(owner, its.id)).paged, codes(await examine(owner, its.id))],
    [false, ['nobody-on-call', 'not-a-member']],
  );
});

test('no relay: every page by mail would stay here', async (t) => {
  const { owner } = await quarterdeck(t);
  const { service: its } = await covered(owner, { steps: [[user(owner), 300]] });
  const found = await examine(owner, its.id);
  assert.deepEqual([found.paged, codes(found)], [false, ['no-relay', 'nobody-on-call']]);
  assert.ok(found.problems.some((p) => /^owner: no mail leaves this server/.test(p.sentence)));
});

test('no provider, no phone, and a phone that replied STOP', async (t) => {
  const qd = await phoneWard(t, [{ channel: 'sms', delaySeconds: 0 }]);
  const { owner, service: its, app, alice } = qd;
  assert.equal((await examine(owner, its.id)).by?.channel, 'sms');
  await app.db.write((tx) => run(tx)`update oncall.paging_settings set phone_stopped_at = kernel.now() where user_id = ${alice.userId}`);
  assert.deepEqual(codes(await examine(owner, its.id)), ['dead-channel', 'nobody-on-call']);
  await app.db.write(
    (tx) => run(tx)`update oncall.paging_settings set phone = null, phone_stopped_at = null where user_id = ${alice.userId}`,
  );
  assert.deepEqual(codes(await examine(owner, its.id)), ['no-address', 'nobody-on-call']);
  assert.equal((await owner.delete('/oncall/provider')).status, 204);
  assert.deepEqual(codes(await examine(owner, its.id)), ['no-provider', 'nobody-on-call']);
});

test('a dead channel: the last page by it failed, until one goes out', async () => {
  const { owner, smtp } = await inOrganization('dead-channel');
  const { service: its } = await covered(owner, { steps: [[user(owner), 300]] });
  smtp.behave({ RCPT: '550 5.1.1 no such user' });
  const opened = await made(owner.post('/oncall/incidents', { serviceId: its.id, title: 'down' }));
  await eventually(async () => (await made(owner.get(`/oncall/incidents/${opened.id}`))).pages[0]?.state === 'failed');
  const dead = await examine(owner, its.id);
  assert.deepEqual([dead.paged, codes(dead)], [false, ['dead-channel', 'nobody-on-call']]);
  assert.ok(dead.problems.some((p) => /^owner: the last page by email failed on \d{4}-\d\d-\d\d: .*no such user/.test(p.sentence)));

  smtp.behave('accept');
  const again = await made(owner.post('/oncall/incidents', { serviceId: its.id, title: 'down again' }));
  await eventually(async () => (await made(owner.get(`/oncall/incidents/${again.id}`))).pages[0]?.state === 'sent');
  assert.equal((await examine(owner, its.id)).paged, true);
});

test('services are examined slice by slice, each caller’s own, in as many statements for fifty as for one', async () => {
  const { owner, organization, narrowed, app } = await inOrganization('fifty');
  const made50 = [];
  for (let n = 0; n < 52; n++) made50.push((await covered(owner, { steps: [[await schedule(owner, [owner]), 300]] })).service.id);
  await service(await organization('other'));
  const first = await made(owner.get('/oncall/doctor'));
  const second = await made(owner.get(`/oncall/doctor?cursor=${first.cursor}`));
  assert.deepEqual([first.services.length, second.services.length, second.cursor], [50, 2, undefined]);
  assert.deepEqual([...first.services, ...second.services].map((s: Diagnosis) => s.serviceId).sort(), made50.toSorted());
  assert.equal((await owner.get('/oncall/doctor?limit=51')).status, 400);

  const one = await narrowed(owner, [{ role: 'oncall.viewer', resourceIds: [made50[3]!] }]);
  const seen = await made(one.get('/oncall/doctor'));
  assert.deepEqual(
    seen.services.map((s: Diagnosis) => s.serviceId),
    [made50[3]],
  );

  const statements = (limit: number) =>
    app.db.read(async (tx) => {
      const services = (await listServices(tx, owner.orgId, '*', { limit, after: null })).slice(0, limit);
      let asked = 0;
      const count = (statement: Parameters<Tx['query']>[0]) => {
        asked++;
        return tx.query(statement);
      };
      const counting: Tx = { ...tx, query: count };
      await examineServices(counting, app, owner.orgId, services);
      return asked;
    });
  assert.equal(await statements(50), await statements(1));
});
