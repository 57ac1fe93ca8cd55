import assert from 'node:assert/strict';
import { test } from 'node:test';
import { currentContext } from '../../../../kernel/fairness/index.ts';
import { open, phoneWard } from '../phone-support.ts';
import { mails } from '../support.ts';

test('an answer by link, key or text is charged to its organization, and is urgent below the limit', async (t) => {
  const qd = await phoneWard(t, [
    { channel: 'voice', delaySeconds: 0 },
    { channel: 'email', delaySeconds: 0 },
  ]);
  await open(qd);
  const call = await qd.twilio.received({ to: qd.alice.phone, kind: 'call' });
  const [mail] = await mails(qd.smtp, qd.alice.email, 1);
  const link = /\/oncall\/ack\/[\w-]+/.exec(mail!.data.replaceAll('=\r\n', ''))![0];
  const show = () => fetch(`${qd.url}${link}`);

  const asked: { org: string; act: string; isUrgent: boolean | undefined }[] = [];
  const { read, write } = qd.app.db;
  const noting = (perform: typeof read): typeof read => {
    return (work) => {
      const { org, operation: act, isUrgent } = currentContext();
      if (/^ack page|^twilio (key|text)/.test(act)) asked.push({ org, act, isUrgent });
      return perform(work);
    };
  };
  Object.assign(qd.app.db, { read: noting(read), write: noting(write) });
  t.after(() => Object.assign(qd.app.db, { read, write }));
  assert.equal((await show()).status, 200);
  assert.equal((await fetch(`${qd.url}${link}`, { method: 'POST' })).status, 200);
  await qd.twilio.pickUp(call.sid, '1');
  await qd.twilio.text(`${qd.url}/api/v1/oncall/twilio/${qd.owner.orgId}/sms`, qd.alice.phone, 'a');
  assert.deepEqual([...new Set(asked.map(({ act }) => act))], ['ack page', 'twilio key', 'twilio text']);
  assert.ok(asked.every(({ org, isUrgent }) => org === qd.owner.orgId && isUrgent));

  asked.length = 0;
  await Promise.all(Array.from({ length: 500 }, show));
  const flood = asked.filter(({ isUrgent }) => !isUrgent);
  assert.ok(flood.length > 0, 'a flood of answers is not urgent');
  assert.ok(
    flood.every(({ org }) => org === 'from 127.0.0.1'),
    'nor is it their organization’s to pay for: they may have left it, and still have the link',
  );
});
