import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../../../kernel/db/index.ts';
import { open, type PhoneWard, phoneWard } from '../phone-support.ts';
import { mails, once } from '../support.ts';

const rules = [
  { channel: 'sms', delaySeconds: 0 },
  { channel: 'email', delaySeconds: 0 },
];

/** Thirty pages of an earlier incident in this minute, which is as many as a person gets. */
async function crowd(qd: PhoneWard, state: 'queued' | 'sent') {
  const { id } = await open(qd, 'an earlier one');
  await once(qd.owner, id, (i) => i.pages.filter((p: { state: string }) => p.state === 'sent').length === 2);
  await qd.app.db.write(
    (tx) => run(tx)`
      insert into oncall.page (org_id, id, incident_id, pass, step, user_id, label, channel, rule_index, code, state, attempts, error, due_at)
      select ${qd.owner.orgId}, kernel.new_id('page'), ${id}, n, 7, ${qd.alice.userId}, 'Alice', 'sms', 0, '0000', ${state}, 5,
             ${state === 'queued' ? 'the provider is away' : null}, kernel.now() + interval '20 seconds' from generate_series(1, 30) n`,
  );
}
const states = (incident: { pages: { channel: string; state: string }[] }) => incident.pages.map((p) => `${p.channel} ${p.state}`).sort();

test('pages that wait for another attempt are not counted against those that would arrive', async (t) => {
  const qd = await phoneWard(t, rules);
  await crowd(qd, 'queued');
  const { id } = await open(qd);
  await mails(qd.smtp, qd.alice.email, 2);
  const found = await once(qd.owner, id, (i) => i.pages.filter((p: { state: string }) => p.state === 'sent').length === 2);
  assert.deepEqual(states(found), ['email sent', 'sms sent']);
});

test('a first page that fails for now brings a rule that the limits held back', async (t) => {
  const qd = await phoneWard(t, rules);
  await crowd(qd, 'sent');
  qd.twilio.fail(/Messages\.json$/, ...Array.from({ length: 50 }, () => ({ status: 503 })));
  const { id } = await open(qd);
  await mails(qd.smtp, qd.alice.email, 2);
  const found = await once(qd.owner, id, (i) => i.pages.some((p: { state: string }) => p.state === 'sent'));
  assert.deepEqual(states(found), ['email sent', 'sms queued']);
  assert.equal(found.timeline.filter((e: { kind: string }) => e.kind === 'page_held_back').length, 1);
});
