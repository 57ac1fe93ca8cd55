import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { sql } from '../../../../kernel/sql.ts';
import { eventually, form, type House, house, made, page, read, service } from '../support.ts';

const reader = 'reader@example.com';
const to = ({ smtp }: House, address = reader) => smtp.received.filter((m) => m.to.includes(address));
const mailsTo = (qd: House, count: number, address = reader) =>
  eventually(async () => (to(qd, address).length >= count ? to(qd, address) : undefined));
/** Links in a mail, whatever its lines were folded or encoded into. */
const linkIn = (data: string, verb: string) =>
  new RegExp(`http://[^\\s>]+/status/acme/${verb}/[\\w-]+`).exec(data.replaceAll('=\r\n', '').replaceAll('=3D', '='))![0];
const state = async (qd: House) => (await made(qd.owner.get('/status-pages/acme/subscribers'))).subscribers;

async function acme(qd: House) {
  await page(qd.owner, 'acme', [(await service(qd.owner, 'Web')).id]);
  return `${qd.url}/status/acme`;
}

test('a reader is subscribed only by a press of the button behind the link, and leaves by one', async (t) => {
  const qd = await house(t);
  const url = await acme(qd);
  assert.match((await read(url)).text, /<form method="post" action="acme\/subscribe">/);
  const asked = await form(`${url}/subscribe`, { address: ` ${reader} ` });
  assert.equal(asked.status, 200);
  const said = await asked.text();
  const [mail] = await mailsTo(qd, 1);
  const link = linkIn(mail!.data, 'confirm');
  const token = link.split('/').at(-1)!;

  // At rest: its hash to look it up by, and sealed to write it into mails; never as it is.
  const { rows } = await qd.app.db.read((tx) =>
    tx.query(sql`select s.*, (select json_agg(j)::text from kernel.job j) as jobs from status.subscriber s`),
  );
  assert.ok((rows[0]!.token_hash as Buffer).equals(hash('sha256', token, 'buffer')));
  assert.ok(!Object.values(rows[0]!).some((v) => (Buffer.isBuffer(v) ? v.toString('latin1') : String(v)).includes(token)));

  for (let n = 0; n < 2; n++) assert.match(await (await fetch(link)).text(), /Subscribe to updates\?/); // mail scanners follow links
  assert.equal((await state(qd))[0].state, 'pending');
  assert.equal((await made(qd.owner.get('/status-pages/acme'))).subscribers, 0);
  assert.match(await (await form(link)).text(), /You are subscribed/);
  assert.match(await (await form(link)).text(), /You are subscribed/);
  const [active] = await state(qd);
  assert.deepEqual([active.address, active.state, typeof active.confirmedAt], [reader, 'active', 'string']);
  assert.equal((await made(qd.owner.get('/status-pages/acme'))).subscribers, 1);

  // Asking again gets the same words, and no mail.
  assert.equal(
    await (await form(`${url}/subscribe`, { address: 'READER@example.com' })).text(),
    said.replace(reader, 'READER@example.com'),
  );
  assert.equal((await state(qd)).length, 1);

  const leave = link.replace('/confirm/', '/unsubscribe/');
  assert.match(await (await fetch(leave)).text(), /Stop the updates\?/);
  assert.equal((await state(qd)).length, 1, 'looking at the link changes nothing');
  const gone = await form(leave, { 'List-Unsubscribe': 'One-Click' });
  assert.equal(gone.status, 200);
  assert.deepEqual(await state(qd), []);
  assert.equal((await form(leave, { 'List-Unsubscribe': 'One-Click' })).status, 200, 'mail programs may say it twice');
  assert.equal((await form(link)).status, 404, 'an old link does not subscribe again');
  assert.equal(to(qd).length, 1);
});

test('a link holds for a day, is for its page alone, and is asked for once in a while only', async (t) => {
  const qd = await house(t);
  const url = await acme(qd);
  await page(qd.owner, 'other', [(await service(qd.owner, 'API')).id]);
  await form(`${url}/subscribe`, { address: reader });
  const link = linkIn((await mailsTo(qd, 1))[0]!.data, 'confirm');
  await form(`${url}/subscribe`, { address: reader });
  await eventually(async () => {
    const { rows } = await qd.app.db.read((tx) => tx.query(sql`select from kernel.job where kind = 'status.send-confirmation'`));
    return rows.length === 0; // while one is on its way, no second one is needed
  });
  await qd.clock.advance('11m');
  await form(`${url}/subscribe`, { address: reader });
  const again = await mailsTo(qd, 2);
  assert.equal(linkIn(again[1]!.data, 'confirm'), link, 'whichever mail is opened first');
  assert.equal(again.length, 2, 'the one in between was too soon');
  assert.equal((await form(link.replace('/acme/', '/other/'))).status, 404);
  assert.equal((await form(`${link}x`)).status, 404);
  await qd.clock.advance('25h');
  assert.equal((await fetch(link)).status, 404);
  assert.equal((await form(link)).status, 404);
});

test('what is no address is refused, a flood is slowed down, and the team can remove readers', async (t) => {
  const qd = await house(t, { env: { QUARTERDECK_TRUSTED_PROXIES: '127.0.0.1' } });
  const url = await acme(qd);
  const from = (n: number) => ({ 'x-forwarded-for': `192.0.2.${n}` });
  const bad = [
    '',
    'x',
    'a@b',
    'a b@example.com',
    'a@example.com\r\nBcc: b@example.com',
    '<a@example.com>',
    `${'x'.repeat(250)}@example.com`,
    'a@example.com,b@example.com',
  ];
  for (const [n, address] of bad.entries()) assert.equal((await form(`${url}/subscribe`, { address }, from(n))).status, 400, address);
  const big = await fetch(`${url}/subscribe`, { method: 'POST', body: 'x'.repeat(5_000), headers: from(50) });
  assert.equal(big.status, 400);
  assert.equal((await fetch(`${url}/subscribe`)).status, 405);

  const answers = [];
  for (let n = 0; n < 80; n++) answers.push(await form(`${url}/subscribe`, { address: `reader${n}@example.com` }, from(99)));
  assert.deepEqual([...new Set(answers.map((a) => a.status))], [200, 429]);
  assert.ok(Number(answers.at(-1)!.headers.get('retry-after')) > 0);
  assert.equal((await form(`${url}/subscribe`, { address: 'else@example.com' }, from(98))).status, 200, 'others are not slowed down');

  const all = await state(qd);
  assert.equal(all.length, 11);
  const first = await made(qd.owner.get('/status-pages/acme/subscribers?limit=4'));
  const rest = await made(qd.owner.get(`/status-pages/acme/subscribers?cursor=${first.cursor}`));
  assert.deepEqual([...first.subscribers, ...rest.subscribers], all);
  assert.equal((await qd.owner.delete(`/status-pages/acme/subscribers/${all[0].id}`)).status, 204);
  assert.equal((await qd.owner.delete(`/status-pages/acme/subscribers/${all[0].id}`)).status, 404);
  assert.equal((await state(qd)).length, 10);
});

test('without a way to send mail the form is absent, and a request is refused with a reason', async (t) => {
  const qd = await house(t, { env: { QUARTERDECK_SMTP_RELAY: '' } });
  const url = await acme(qd);
  assert.doesNotMatch((await read(url)).text, /<form/);
  const answer = await form(`${url}/subscribe`, { address: reader });
  assert.equal(answer.status, 503);
  assert.match(await answer.text(), /No mail leaves this page/);
  assert.deepEqual(await state(qd), []);
});
