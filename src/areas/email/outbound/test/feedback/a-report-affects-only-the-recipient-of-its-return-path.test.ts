import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '../../../../../kernel/sql.ts';
import { letter, mailScene, untilState } from '../../../test/mail-scene.ts';
import { takeReport } from '../../engine/feedback/index.ts';
import { readReport } from '../../rules/report/index.ts';
import { complaint, dsn, hardBounce } from './mails.ts';
import { recipientOf, report, suppressions } from './reported.ts';

test('a report affects only the recipient of its return path', async (t) => {
  const { qd, key } = await mailScene(t);
  const send = async (...to: string[]) => {
    const { id } = (await key.post('/email/send', letter({ to }))).body as { id: string };
    await untilState(qd, id, 'delivered');
    return id;
  };
  const stateOf = async (id: string, address: string) => {
    const { rows } = await qd.app.db.read((tx) =>
      tx.query(sql`select state from email.recipient where message_id = ${id} and folded = ${address}`),
    );
    return (rows[0] as { state: string }).state;
  };

  // The holder of one return path cannot report on other recipients.
  const id = await send('bob@far.example', 'carol@far.example');
  assert.equal(await report(qd, id, 'bob@far.example', hardBounce('carol@far.example')), 'nothing');
  assert.equal(await report(qd, id, 'bob@far.example', complaint('abuse', 'carol@far.example')), 'nothing');
  assert.equal(await report(qd, id, 'bob@far.example', dsn({ address: 'carol@far.example' }, { address: 'bob@far.example' })), 'bounced');
  assert.deepEqual([await stateOf(id, 'bob@far.example'), await stateOf(id, 'carol@far.example')], ['bounced', 'delivered']);
  assert.deepEqual(await suppressions(qd), ['bob@far.example bounce']);

  // Forwarded mail bounces when the forwarding target is unknown, but the recipient itself may exist.
  const alias = await send('team@far.example');
  assert.equal(await report(qd, alias, 'team@far.example', hardBounce('gone@other.example')), 'bounced');
  assert.deepEqual(await suppressions(qd), ['bob@far.example bounce']);
  assert.equal((await untilState(qd, alias, 'bounced')).events.at(-1)!.bounceType, 'undetermined');
  // A report with another address of the same person, or without any address, is about our recipient.
  const named = await send('dan@far.example');
  await report(qd, named, 'dan@far.example', dsn({ address: 'dan@inside.far.example', diagnostic: '550 5.1.1 unknown user' }));
  const redacted = await send('eve@far.example');
  await report(qd, redacted, 'eve@far.example', dsn({ diagnostic: '550 5.1.1 unknown user' }));
  assert.deepEqual(await suppressions(qd), ['bob@far.example bounce', 'dan@far.example bounce', 'eve@far.example bounce']);

  // not-spam and auth-failure feedback is no complaint.
  const praised = await send('fay@far.example');
  for (const type of ['not-spam', 'auth-failure']) assert.equal(await report(qd, praised, 'fay@far.example', complaint(type)), 'nothing');

  // Another organization's message, another message's recipient, and one that was never tried.
  const recipientId = await recipientOf(qd, praised, 'fay@far.example');
  const parsed = readReport(hardBounce('fay@far.example'));
  const take = (more: object) => takeReport(qd.app, { org: qd.owner.orgId, messageId: praised, recipientId, parsed, ...more });
  assert.equal(await take({ org: 'org_other' }), 'nothing');
  assert.equal(await take({ messageId: id }), 'nothing');
  assert.equal(await take({ recipientId: 999_999 }), 'nothing');
  const later = (
    (await key.post('/email/send', letter({ to: ['gil@far.example'], scheduledAt: '2999-01-01T00:00:00Z' }))).body as { id?: string }
  ).id;
  assert.equal(later, undefined); // beyond 30 days
  const at = new Date(Date.now() + 86_400_000).toISOString();
  const waiting = ((await key.post('/email/send', letter({ to: ['gil@far.example'], scheduledAt: at }))).body as { id: string }).id;
  assert.equal(await report(qd, waiting, 'gil@far.example', hardBounce('gil@far.example')), 'nothing');
});
