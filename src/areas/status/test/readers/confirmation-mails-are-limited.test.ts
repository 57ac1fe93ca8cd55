import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run, type Tx } from '../../../../kernel/db/index.ts';
import { deleteAllowancesBatch } from '../../engine/announce.ts';
import { subscribe } from '../../engine/subscriptions.ts';
import { confirmationLimits as limits, mailboxOf, plainName } from '../../rules/confirmation-mail.ts';
import { findStatusPage } from '../../store/status-pages.ts';
import { eventually, form, type House, house, made, page, service } from '../support.ts';

const proxied = { env: { QUARTERDECK_TRUSTED_PROXIES: '127.0.0.1' } };
const jobs = (qd: House) => qd.app.db.read((tx) => run(tx)`select from status.subscriber`);
const heldBack = async (by: House['owner'], slug: string) =>
  (await made(by.get(`/status-pages/${slug}`))).heldBack.map((h: { reason: string; mails: number }) => [h.reason, h.mails]);

test('a recipient gets five confirmation mails a day over all pages and spellings, also for concurrent requests', async (t) => {
  const qd = await house(t, proxied);
  const other = await qd.organization('other');
  const slugs = Array.from({ length: 8 }, (_, n) => `page-${n}`);
  for (const [n, slug] of slugs.entries()) {
    const by = n % 2 ? other : qd.owner;
    await page(by, slug, [(await service(by, `Web ${n}`)).id]);
  }
  const spelled = ['victim', 'Victim', 'v.ictim', 'victim+a', 'victim+b', 'victim', 'victim', 'victim'];
  const ask = (slug: string, n: number) =>
    form(`${qd.url}/status/${slug}/subscribe`, { address: `${spelled[n]}@example.com` }, { 'x-forwarded-for': `192.0.2.${n}` });
  const answers = await Promise.all(slugs.map(ask));
  assert.deepEqual(new Set(answers.map((a) => a.status)), new Set([200]));
  for (const answer of answers)
    assert.match(await answer.text(), /at most 5 links a day/, 'all read the same, so no stranger learns which were sent');
  assert.equal(await jobs(qd), limits.recipient.day);
  await eventually(async () => qd.smtp.received.length >= limits.recipient.day);
  const held = (await Promise.all(slugs.map((slug, n) => heldBack(n % 2 ? other : qd.owner, slug)))).flat();
  assert.deepEqual(held, [
    ['recipient', 1],
    ['recipient', 1],
    ['recipient', 1],
  ]);
  await qd.clock.advance('25h');
  const free = slugs[(await Promise.all(slugs.map((slug, n) => heldBack(n % 2 ? other : qd.owner, slug)))).findIndex((h) => h.length)]!;
  await ask(free, slugs.indexOf(free));
  await eventually(async () => qd.smtp.received.length === limits.recipient.day + 1);
});

test('an organization and a client have limits that hold for requests at once, and the organization sees what was held back', async (t) => {
  const qd = await house(t);
  await page(qd.owner, 'acme', [(await service(qd.owner, 'Web')).id]);
  const { id } = (await qd.app.db.read((tx) => findStatusPage(tx, qd.owner.orgId, 'acme')))!;
  // A few at once: more wait for a connection of their organization.
  const ask = async (count: number, wish: (n: number) => { address: string; client: string }) => {
    const answers: unknown[] = [];
    for (let n = 0; n < count; n += 5)
      answers.push(
        ...(await Promise.all(
          Array.from({ length: Math.min(5, count - n) }, (_, i) =>
            qd.app.db.write((tx) => subscribe(tx, qd.app.secrets, { org: qd.owner.orgId, id }, wish(n + i))),
          ),
        )),
      );
    return answers;
  };
  const sent = (answers: unknown[]) => answers.filter((a) => a === undefined).length;

  const ofClient = await ask(limits.client.hour + 4, (n) => ({ address: `c${n}@example.com`, client: '192.0.2.1' }));
  assert.equal(sent(ofClient), limits.client.hour);
  const ofOrganization = await ask(limits.organization.hour, (n) => ({ address: `o${n}@example.com`, client: `198.51.100.${n}` }));
  assert.equal(sent(ofOrganization), limits.organization.hour - limits.client.hour);
  assert.equal(await jobs(qd), limits.organization.hour, 'an address whose link is held back is not stored');
  assert.deepEqual(await heldBack(qd.owner, 'acme'), [
    ['client', 4],
    ['organization', limits.client.hour],
  ]);

  const refused = await form(`${qd.url}/status/acme/subscribe`, { address: 'late@example.com' });
  assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '3600']);
  await qd.clock.advance('61m');
  assert.equal((await form(`${qd.url}/status/acme/subscribe`, { address: 'late@example.com' })).status, 200);
  await eventually(async () => qd.smtp.received.some((m) => m.to.includes('late@example.com')));
  assert.equal((await form(`${qd.url}/status/acme/subscribe`, { address: 'o99@example.com' })).status, 200, 'held back does not count');
});

test('counters of confirmation mails are deleted in batches', async (t) => {
  const qd = await house(t);
  const count = () => qd.app.db.read((tx) => run(tx)`select from status.mail_allowance`);
  const insert = (tx: Tx) => run(tx)`
    insert into status.mail_allowance (subject, seconds, started_at, taken)
    select 'old ' || n, 86400, kernel.now() - interval '3 days', 1 from generate_series(1, 2500) n`;
  await qd.app.db.write(insert);
  assert.equal(await qd.app.db.write(deleteAllowancesBatch), true, 'there are more of them');
  assert.equal(await count(), 1_500);
  while (await qd.app.db.write(deleteAllowancesBatch));
  assert.equal(await count(), 0);
});

test('a confirmation mail has only our link and our text', async (t) => {
  const qd = await house(t);
  const title = 'Win at https://evil.example/x, evil．com or me@evil.net, call +1 900 123 4567 \u202eright now';
  await page(qd.owner, 'acme', [(await service(qd.owner, 'Web')).id], { title });
  await form(`${qd.url}/status/acme/subscribe`, { address: 'reader@example.com' });
  const [mail] = await eventually(async () => (qd.smtp.received.length ? qd.smtp.received : undefined));
  const text = mail!.data.replaceAll('=\r\n', '').replaceAll('=3D', '=');
  assert.deepEqual(
    [...text.matchAll(/https?:\/\/[^/\s]+/g)].map(([m]) => m),
    [qd.url],
  );
  assert.doesNotMatch(text, /evil\.|@evil|900 123/);
  assert.doesNotMatch(/^Subject: .*$/m.exec(text)![0], /Win/);
});

test('a title is left with its letters', () => {
  assert.equal(plainName('Acme Cloud (EU & US) – v2'), 'Acme Cloud (EU & US) v2');
  assert.equal(plainName('booking.com'), 'booking com');
  assert.equal(plainName('ｅｖｉｌ。com'), 'evil com');
  assert.equal(plainName('状態ページ'), '状態ページ');
  assert.equal([...plainName('x'.repeat(200))].length, 41);
  assert.equal(mailboxOf('A.b+c@Example.com'), 'ab@example.com');
  assert.equal(mailboxOf('+x@example.com'), '+x@example.com');
  // Servers that take such letters compare them in a normal form (RFC 6532, 3.1), and some drop what cannot be seen.
  assert.equal(mailboxOf('ｖｉｃｔｉｍ@example.com'), 'victim@example.com');
  assert.equal(mailboxOf('vic\u200btim\u00ad@example.com'), 'victim@example.com');
  assert.equal(mailboxOf('rene\u0301@example.com'), mailboxOf('ren\u00e9@example.com'));
  assert.equal(mailboxOf('victim＋a@example.com'), 'victim@example.com');
  assert.equal(mailboxOf('Victim@GoogleMail.com'), 'victim@gmail.com');
});
