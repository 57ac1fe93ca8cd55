import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Options } from '../../../../../test/harness/index.ts';
import { run } from '../../../../kernel/db/index.ts';
import { sql } from '../../../../kernel/sql.ts';
import { examineDaily } from '../../tasks.ts';
import { covered, eventually, made, service, user, type Ward, ward } from '../support.ts';

interface Report {
  examinedAt: string;
  unpaged: number;
  services: number;
  toldAt?: string;
  notTold?: string;
}

/** The worker looks as soon as it starts: what a test sets up begins after that. */
async function rested(t: TestContext, options: Options = {}): Promise<Ward> {
  const qd = await ward(t, options);
  const hasLooked = async () =>
    (await qd.app.db.read((tx) => run(tx)`select 1 from kernel.task where name = ${examineDaily.name} and last_ok is not null`)) > 0;
  await eventually(hasLooked);
  return qd;
}

const seen = new WeakMap<Ward, string>();

/** Lets the task look, and waits until that is on record. The worker may look by itself meanwhile, and may have looked twice the day before. */
async function examined(qd: Ward): Promise<Report> {
  const { rows } = await qd.app.db.read((tx) => tx.query(sql`select extract(epoch from kernel.now())::float8 as now`));
  const since = Math.floor((rows[0] as { now: number }).now * 1000);
  await qd.perform(examineDaily);
  const report: Report = await eventually(async () => {
    const found = (await made(qd.owner.get('/oncall/doctor'))).report;
    return found && Date.parse(found.examinedAt) >= since ? found : undefined;
  });
  seen.set(qd, report.examinedAt);
  return report;
}

/** The task has run and found no organization due. */
async function notDue(qd: Ward): Promise<void> {
  await qd.perform(examineDaily);
  const { report } = await made(qd.owner.get('/oncall/doctor'));
  assert.equal(report.examinedAt, seen.get(qd));
  assert.equal(await qd.app.db.read((tx) => run(tx)`select 1 from kernel.job where kind = 'oncall.doctor'`), 0);
}

const told = ({ smtp, owner }: Ward) => smtp.received.filter((m) => m.to.includes(owner.email));
const subjects = (qd: Ward) => told(qd).map((m) => /^Subject: (.*)$/m.exec(m.data)![1]);

test('owners get one mail a day while somebody would not be paged, one when it is well again, and none then', async (t) => {
  const qd = await rested(t);
  const { owner, clock, member } = qd;
  await member(owner, 'member', 'clerk@example.com');
  await covered(owner, { steps: [[user(owner), 300]] });
  const bare = await service(owner);

  const first = await examined(qd);
  assert.deepEqual([first.services, first.unpaged, first.notTold], [2, 1, undefined]);
  assert.ok(first.toldAt);
  assert.deepEqual(subjects(qd), ['[Default] nobody would be paged for 1 of 2 services']);
  assert.match(
    told(qd)[0]!.data.replaceAll('=\r\n', ''),
    new RegExp(`${bare.name}: NOBODY would be paged\\r\\n  - no escalation policy is attached`),
  );
  assert.deepEqual(
    qd.smtp.received.flatMap((m) => m.to),
    [owner.email],
    'owners alone',
  );

  await notDue(qd);
  await clock.advance('3h');
  await notDue(qd);
  assert.equal(told(qd).length, 1, 'not before a day has passed');
  await clock.advance('22h');
  await examined(qd);
  assert.equal(told(qd).length, 2, 'still wrong a day later');

  const { policy } = await covered(owner, { steps: [[user(owner), 300]] });
  await made(owner.put(`/oncall/services/${bare.id}`, { escalationPolicyId: policy.id }));
  await clock.advance('25h');
  await examined(qd);
  assert.equal(subjects(qd).at(-1), '[Default] on-call is well again');
  for (let day = 0; day < 2; day++) {
    await clock.advance('25h');
    await examined(qd);
  }
  assert.equal(told(qd).length, 3, 'nothing wrong, nothing new, no mail');
});

test('an organization in which nothing was ever wrong, or that does not use on-call, is never written to', async (t) => {
  const qd = await rested(t);
  await covered(qd.owner, { steps: [[user(qd.owner), 300]] });
  const idle = await qd.organization('idle');
  await service(idle);
  const well = await examined(qd);
  assert.deepEqual([well.unpaged, well.toldAt], [0, undefined]);
  assert.equal(qd.smtp.received.length, 0);
  assert.equal((await made(idle.get('/oncall/doctor'))).report, undefined);
});

test('what cannot be sent is visible with its reason, and tried again an hour later', async (t) => {
  const qd = await rested(t);
  const { owner, smtp, clock } = qd;
  await covered(owner, { steps: [[user(owner), 300]] });
  await service(owner);
  smtp.behave({ RCPT: '550 5.1.1 no such user' });
  const refused = await examined(qd);
  assert.match(refused.notTold!, /the mail relay did not take the message for owner@localhost: 550 5\.1\.1 no such user/);
  assert.equal(refused.toldAt, undefined);

  smtp.behave('accept');
  await notDue(qd);
  assert.equal(told(qd).length, 0, 'not before an hour has passed');
  await clock.advance('61m');
  const sent = await examined(qd);
  assert.deepEqual([sent.notTold, told(qd).length], [undefined, 1]);
  assert.ok(sent.toldAt);
});

test('without a relay the reason says what to set', async (t) => {
  const qd = await rested(t, { env: { QUARTERDECK_SMTP_RELAY: '' } });
  await covered(qd.owner, { steps: [[user(qd.owner), 300]] });
  const { notTold, unpaged } = await examined(qd);
  assert.equal(unpaged, 1);
  assert.match(notTold!, /set QUARTERDECK_SMTP_RELAY/);
});
