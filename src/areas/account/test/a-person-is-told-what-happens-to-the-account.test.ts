import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeSmtp } from '../../../../test/fakes/smtp.ts';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { eventually } from '../../../../test/harness/process.ts';
import { run } from '../../../kernel/db/index.ts';
import { tellPerson } from '../engine/notices.ts';

const notice = { subject: 'A new passkey', text: 'A passkey was added to your account.' };

test('a person is told by mail what happens to their account, twenty times an hour at most', async (t) => {
  const smtp = await fakeSmtp(t);
  const qd = await quarterdeck(t, { env: { QUARTERDECK_SMTP_RELAY: smtp.url, QUARTERDECK_MAIL_FROM: 'qd@example.com' } });
  const ada = await qd.member(qd.owner, 'member', 'ada@example.com');
  const person = { id: ada.userId, email: ada.email };
  const tell = (whom: typeof person) => qd.app.db.write((tx) => tellPerson(tx, qd.app, whom, notice));

  await tell({ id: qd.owner.userId, email: 'owner@localhost' });
  await Promise.all(Array.from({ length: 25 }, () => tell(person)));
  await eventually(async () => smtp.received.length === 20);
  const [first] = smtp.received;
  assert.deepEqual(first!.to, ['ada@example.com']);
  assert.match(first!.data, /^Subject: A new passkey\r$/m);
  assert.ok(first!.data.replaceAll('=\r\n', '').includes(`${qd.url.replace('127.0.0.1', 'localhost')}/account`), 'it says where to look');
  assert.ok(
    smtp.received.every(({ to }) => to[0] === 'ada@example.com'),
    'an address of this machine gets no mail',
  );

  await qd.clock.advance('61m');
  await tell(person);
  await eventually(async () => smtp.received.length === 21);
});

test('where no mail leaves, nothing is queued', async (t) => {
  const qd = await quarterdeck(t);
  const ada = await qd.member(qd.owner, 'member', 'ada@example.com');
  await qd.app.db.write((tx) => tellPerson(tx, qd.app, { id: ada.userId, email: ada.email }, notice));
  assert.equal(await qd.app.db.read((tx) => run(tx)`select 1 from kernel.job where kind = 'kernel.send-mail'`), 0);
});
