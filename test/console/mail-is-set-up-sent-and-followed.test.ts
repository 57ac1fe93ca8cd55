import assert from 'node:assert/strict';
import { test } from 'node:test';
import { publish } from '../../src/areas/email/domains/test/domains/published.ts';
import { keepKeys } from '../../src/areas/email/test/kept-keys.ts';
import { mailEnv } from '../../src/areas/email/test/mail-scene.ts';
import { listening } from '../../src/areas/email/webhooks/test/listening.ts';
import { run } from '../../src/kernel/db/index.ts';
import { fakeDns } from '../fakes/dns.ts';
import { smtpSink } from '../fakes/smtp-sink.ts';
import { consoleOf } from '../harness/console.ts';
import { quarterdeck } from '../harness/index.ts';
import { caller } from '../harness/request.ts';

const hostile = '<img src=x onerror=alert(1)> \u202egnp.exe';

test('a domain is mended record by record, a program sends, and each recipient, attempt, webhook and route is followed', {
  timeout: 150_000,
}, async (t) => {
  const sink = await smtpSink(t, {
    at: (stage, line) => {
      if (stage !== 'rcpt') return undefined;
      if (/nobody@/.test(line)) return '550 5.1.1 no such user';
      return /later@/.test(line) ? '451 4.7.1 greylisted, come back' : undefined;
    },
  });
  const dns = await fakeDns(t, {
    'far.example': { MX: [{ preference: 10, exchange: 'mx.far.example' }] },
    'mx.far.example': { A: ['127.0.0.1'] },
  });
  const qd = await quarterdeck(t, { env: { ...mailEnv(dns, sink), QUARTERDECK_ROLES: 'api,worker,smtp' } });
  keepKeys(qd);
  const endpoint = await listening(t);
  const { page, open, fits } = await consoleOf(t, qd);
  const press = (name: string | RegExp) => page.getByRole('button', { name, exact: true }).click();
  const dialog = page.getByRole('dialog');
  const inDialog = (name: string) => dialog.getByRole('button', { name, exact: true }).click();

  await open('/email/domains', 'Mail domains');
  await page.getByText('quarterdeck email domains create --name mail.example.com').waitFor();
  await press('New domain');
  await dialog.getByLabel('Domain').fill('shop.example');
  await press('Register the domain');
  await page.getByRole('heading', { level: 1, name: 'shop.example' }).waitFor();
  await page.getByText(/^0 of \d found/).waitFor();
  const [known] = (await qd.owner.get('/email/domains')).body.domains;
  const dkim = known.dnsRecords.find(({ name }: { name: string }) => name.includes('_domainkey'));
  await page.getByText(dkim.value, { exact: true }).waitFor();
  dns.zone[dkim.name] = { TXT: ['v=DKIM1; p=another'] };
  await press('Ask again');
  await page.getByText('Another value stands there').waitFor();
  await page.getByText('v=DKIM1; p=another').waitFor();
  await fits('email-domain');
  publish(dns, known.dnsRecords);
  await press('Check now');
  await page.getByText('sending verified').waitFor();
  await page.getByText('Mail can be sent from it').waitFor();
  await press('Receive mail');
  await inDialog('Receive mail');
  await page.getByText('receiving pending').waitFor();

  await open('/email/webhooks', 'Webhooks');
  await press('New webhook');
  await dialog.getByLabel('Address').fill(endpoint.url);
  await dialog.getByLabel('email.sent').check();
  await press('Create the webhook');
  await dialog.getByText('Check a request, in Node').waitFor();
  assert.match((await dialog.textContent()) ?? '', /whsec_[A-Za-z0-9+/=]{20}/);
  await page.keyboard.press('Escape');
  await page.getByRole('link', { name: endpoint.url }).waitFor();
  assert.doesNotMatch(await page.content(), /whsec_[A-Za-z0-9]/);
  await fits('email-webhooks');

  await open('/email/keys', 'Send keys');
  await press('New send key');
  await dialog.getByLabel('Name').fill('shop');
  await dialog.getByLabel('shop.example').check();
  await press('Mint the key');
  await dialog.getByText(/swaks --server 127\.0\.0\.1 --port \d+ --tls/).waitFor();
  const secret = (await dialog.locator('pre').first().textContent())!;
  assert.match(secret, /^qd_mail_\w+$/);
  await fits('email-key');
  await page.keyboard.press('Escape');
  await page.getByRole('row', { name: /^shop/ }).waitFor();
  assert.doesNotMatch(await page.content(), /qd_mail_/);

  // Mail arrives in the log by itself.
  await open('/email/messages', 'Messages');
  await page.getByText('No message yet').waitFor();
  const send = async (subject: string, ...to: string[]) => {
    const answer = await caller(qd.url, secret).post('/email/send', { from: 'Ada <ada@shop.example>', to, subject, text: 'Hello.' });
    assert.equal(answer.status, 202, JSON.stringify(answer.body));
  };
  await send(hostile, 'bob@far.example', 'nobody@far.example', 'later@far.example');
  await send('Welcome', 'bob@far.example');
  await page
    .getByRole('row', { name: /Welcome/ })
    .getByText('delivered')
    .waitFor();
  await page
    .getByRole('row', { name: /cod|exe/ })
    .getByText('deferred')
    .waitFor();
  await fits('email-messages');
  await page.getByLabel('To this address').fill('nobody@far.example');
  await page.getByText('1 message', { exact: true }).waitFor();
  await page.waitForURL(/to=nobody/);
  await page.getByLabel('State').selectOption('failed');
  await page.getByText('No message matches').waitFor();
  await press('Show all messages');
  await page.getByText('2 messages', { exact: true }).waitFor();
  await page.getByRole('heading', { level: 1 }).focus();
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await page.locator('tr.current').getByText('deferred').waitFor();
  await page.keyboard.press('Enter');

  await page.getByRole('heading', { level: 1, name: hostile }).waitFor();
  await page
    .getByRole('row', { name: /nobody@far\.example/ })
    .getByText('bounced')
    .waitFor();
  const attempts = page.getByRole('list', { name: 'Attempts, the oldest first' });
  await attempts.getByText('550 5.1.1 no such user', { exact: true }).waitFor();
  await attempts.getByText('451 4.7.1 greylisted, come back', { exact: true }).waitFor();
  await fits('email-message');
  await page.getByLabel('Recipient', { exact: true }).selectOption('later@far.example');
  await attempts.getByText('550 5.1.1 no such user', { exact: true }).waitFor({ state: 'detached' });

  await page.getByRole('link', { name: 'what was told of it' }).click();
  await page.getByRole('heading', { level: 1, name: 'Webhook deliveries' }).waitFor();
  await press(/^Look at email\.bounced/);
  await dialog.getByText('"recipient": "nobody@far.example"').waitFor();
  const told = endpoint.told.length;
  await fits('email-delivery');
  await inDialog('Send again');
  await page.getByText('It is on its way again').waitFor();
  await endpoint.heard(told + 1);

  await open('/email/suppressions', 'Suppressed addresses');
  await page.getByRole('row', { name: /nobody@far\.example.*does not exist/ }).waitFor();
  await fits('email-suppressions');
  await press('Mail nobody@far.example again');
  await inDialog('Mail again');
  await page.getByText('No address is suppressed').waitFor();

  await open('/email/routes', 'Inbound routes');
  await press('New route');
  await dialog.getByLabel('What stands before the @').fill('team-*');
  await press('Create the route');
  await page.getByRole('row', { name: /team-\*@shop\.example/ }).waitFor();
  await page.getByLabel('Address').fill('team-a@shop.example');
  await press('Ask');
  await page.getByText(/It is accepted/).waitFor();
  await page.getByLabel('Address').fill('sales@shop.example');
  await press('Ask');
  await page.getByText('It is refused: no route fits').waitFor();
  await fits('email-routes');

  await qd.app.db.write(
    (tx) => run(tx)`
      insert into email.outcome_day (org_id, domain_id, day, sent, delivered, bounced, hard, complained, suppressed)
      select ${qd.owner.orgId}, ${known.id}, (kernel.now() - n * interval '1 day')::date, 900 + n * 10, 880 + n * 9, 20 + n % 7, 3, n % 3, 1
        from generate_series(2, 25) n`,
  );
  await open('/email', 'Sending');
  await page.getByRole('slider', { name: /Recipients by day/ }).waitFor();
  await page.getByText(/Hard bounces: .* sending pauses at 5 %/).waitFor();
  await page.getByLabel('Domain').selectOption('shop.example');
  await page.waitForURL(/domain=dom_/);
  await fits('email');

  const viewer = await qd.member(qd.owner, 'member');
  await qd.owner.post('/iam/grants', { subject: viewer.userId, role: 'email.viewer' });
  const other = await consoleOf(t, qd, viewer.userId);
  await other.open('/email/domains', 'Mail domains');
  const refused = other.page.getByRole('button', { name: 'New domain' });
  assert.match((await refused.getAttribute('title')) ?? '', /needs the permission email\.domain\.write/);
});
