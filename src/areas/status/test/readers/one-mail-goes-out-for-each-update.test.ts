import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { sql } from '../../../../kernel/sql.ts';
import { eventually, form, type House, house, incident, page, publish, retract, service } from '../support.ts';

const plain = (data: string) => data.replaceAll('=\r\n', '').replaceAll('=3D', '=');
const updates = ({ smtp }: House, address: string) =>
  smtp.received.filter((m) => m.to.includes(address) && /List-Unsubscribe/i.test(m.data));
const got = (qd: House, address: string, count: number) =>
  eventually(async () => (updates(qd, address).length >= count ? updates(qd, address) : undefined));

async function subscribed(qd: House, slug: string, address: string) {
  await form(`${qd.url}/status/${slug}/subscribe`, { address });
  const mail = await eventually(async () =>
    qd.smtp.received.find((m) => m.to.includes(address) && m.data.includes(`/status/${slug}/confirm/`)),
  );
  const link = /http:\S+\/confirm\/[\w-]+/.exec(plain(mail.data))![0];
  assert.equal((await form(link)).status, 200);
}

/** Nothing is left to be announced or sent. */
const settled = ({ app }: House) =>
  eventually(async () => {
    const { rows } = await app.db.read((tx) =>
      tx.query(sql`select (select count(*) from kernel.job where kind like 'status.%' and dead_at is null)::int as jobs,
                          (select count(*) from oncall.public_update u where not exists (select from status.announced a where a.update_id = u.id))::int as untold`),
    );
    return rows[0]!.jobs === 0 && rows[0]!.untold === 0;
  });

test('each update goes to each subscriber of each page that shows it, once, however many servers there are', async (t) => {
  const qd = await house(t);
  await quarterdeck(t, { connection: qd.connection, dataDir: qd.dataDir, env: { QUARTERDECK_SMTP_RELAY: qd.smtp.url } });
  const [web, api] = [await service(qd.owner, 'Web'), await service(qd.owner, 'API')];
  await page(qd.owner, 'acme', [web.id], { title: 'Acme', timezone: 'Europe/Paris' });
  await page(qd.owner, 'other', [api.id]);
  await subscribed(qd, 'acme', 'one@example.com');
  await subscribed(qd, 'acme', 'two@example.com');
  await subscribed(qd, 'other', 'else@example.com');
  const id = await incident(qd.owner, web.id, 'Login fails\r\nBcc: evil@example.com');
  await publish(qd.owner, id, 'We are looking.\n.\nStill.');
  await publish(qd.owner, id, 'We found it.');
  for (const address of ['one@example.com', 'two@example.com']) await got(qd, address, 2);
  await settled(qd);
  for (const address of ['one@example.com', 'two@example.com']) assert.equal(updates(qd, address).length, 2);
  assert.deepEqual(updates(qd, 'else@example.com'), []);
  assert.ok(qd.smtp.received.every((m) => !m.to.includes('evil@example.com') && !/^Bcc:/im.test(m.data)));

  const [mail] = updates(qd, 'one@example.com');
  const text = plain(mail!.data);
  assert.match(text, /^Subject: \[Acme\] Investigating: Login fails/m);
  assert.match(text, /We are looking\.\r\n\.\r\nStill\./);
  assert.match(text, /^List-Unsubscribe-Post: List-Unsubscribe=One-Click\r$/im);
  assert.doesNotMatch(text, /\b(inc|upd|sub|svc|usr|org|stp)_[0-9A-Z]{26}/);
  const leave = /^List-Unsubscribe:\s+<([^>]+)>/im.exec(text)![1]!;
  const ids = new Set(qd.smtp.received.map((m) => /^Message-ID: (\S+)/im.exec(m.data)![1]));
  assert.equal(ids.size, qd.smtp.received.length);

  // RFC 8058: what a mail program sends by itself.
  const gone = await fetch(leave, {
    method: 'POST',
    body: 'List-Unsubscribe=One-Click',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });
  assert.equal(gone.status, 200);
  await publish(qd.owner, id, 'All is well.');
  await eventually(async () => qd.smtp.received.some((m) => plain(m.data).includes('All is well.')));
  await settled(qd);
  assert.equal(qd.smtp.received.filter((m) => plain(m.data).includes('All is well.')).length, 1);
});

test('what is retracted before it was sent is never sent', async (t) => {
  const qd = await house(t);
  const web = await service(qd.owner, 'Web');
  await page(qd.owner, 'acme', [web.id]);
  await subscribed(qd, 'acme', 'one@example.com');
  const id = await incident(qd.owner, web.id, 'Slow');
  qd.smtp.behave({ RCPT: '451 4.3.0 later' });
  const wrong = await publish(qd.owner, id, 'Wrong words.');
  await publish(qd.owner, id, 'Right words.');
  await eventually(async () => {
    const { rows } = await qd.app.db.read((tx) =>
      tx.query(sql`select count(*)::int as n from kernel.job where kind = 'status.send-update' and attempts > 0`),
    );
    return rows[0]!.n === 2;
  });
  await retract(qd.owner, id, wrong);
  qd.smtp.behave('accept');
  await qd.clock.advance('1h');
  await got(qd, 'one@example.com', 1);
  await settled(qd);
  assert.deepEqual(
    updates(qd, 'one@example.com').map((m) => /(Wrong|Right) words/.exec(m.data)?.[0]),
    ['Right words'],
  );
});

test('who subscribes later is not told of what was said before, nor is anybody of a page that is gone', async (t) => {
  const qd = await house(t);
  const web = await service(qd.owner, 'Web');
  await page(qd.owner, 'acme', [web.id]);
  const id = await incident(qd.owner, web.id, 'Slow');
  await publish(qd.owner, id, 'Before.');
  await subscribed(qd, 'acme', 'one@example.com');
  await settled(qd);
  assert.deepEqual(updates(qd, 'one@example.com'), []);
  assert.equal((await qd.owner.delete('/status-pages/acme')).status, 204);
  await publish(qd.owner, id, 'After.');
  await settled(qd);
  assert.deepEqual(updates(qd, 'one@example.com'), []);
});
