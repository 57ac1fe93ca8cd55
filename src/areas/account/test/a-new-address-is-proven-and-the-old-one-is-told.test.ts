import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeSmtp } from '../../../../test/fakes/smtp.ts';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { eventually } from '../../../../test/harness/process.ts';
import { browserLike, signedIn } from '../../../../test/harness/visitor.ts';
import { makeLink } from '../index.ts';

const linkPath = (mail: string) => /\/account\/address\/qd_once_[0-9A-Za-z]+/.exec(mail.replaceAll('=\r\n', ''))![0];

test('a new address is proven by its link in the browser that asked, and the old one is told', async (t) => {
  const smtp = await fakeSmtp(t);
  const qd = await quarterdeck(t, { env: { QUARTERDECK_SMTP_RELAY: smtp.url, QUARTERDECK_MAIL_FROM: 'qd@example.com' } });
  const ada = await qd.member(qd.owner, 'member', 'ada@example.com');
  const eve = await qd.member(qd.owner, 'member', 'eve@example.com');
  const browser = await signedIn(qd, ada.userId);
  const stranger = await signedIn(qd, eve.userId);
  const email = async () => (await ada.get('/me')).body.email;
  const asked = (to: string) => browser.post('/account/address', { email: to });
  const mails = (to: string) => smtp.received.filter((mail) => mail.to[0] === to);

  assert.match((await asked('ada@new.example')).text, /on its way to <b>ada@new.example<\/b>/);
  await eventually(async () => mails('ada@new.example').length === 1);
  const path = linkPath(mails('ada@new.example')[0]!.data);
  for (const method of ['GET', 'HEAD'])
    assert.equal((await fetch(`${qd.url}${path}`, { method, headers: { cookie: browser.cookie() } })).status, 200);
  assert.equal(await email(), 'ada@example.com', 'looking changes nothing');
  assert.equal((await stranger.get(path)).status, 403, 'by a typing error it may reach somebody else');
  assert.equal((await stranger.post(path)).status, 403);
  assert.match((await fetch(`${qd.url}${path}`, { redirect: 'manual' })).headers.get('location')!, /^\/sign-in\?next=/);

  const { secret: reset } = await qd.app.db.write((tx) => makeLink(tx, ada.userId, 'reset'));
  const used = await Promise.all([browser.post(path), browser.post(path)]);
  assert.deepEqual(used.map(({ status }) => status).sort(), [200, 404]);
  assert.equal(await email(), 'ada@new.example');
  await eventually(async () => mails('ada@example.com').some(({ data }) => data.includes('Subject: Your address was changed')));
  assert.equal((await browserLike(qd.url).get(`/sign-in/reset/${reset}`)).status, 404, 'what was mailed to the old address is over');

  // Addresses of others, and limits.
  await asked('EVE@example.com');
  await eventually(async () => mails('EVE@example.com').length === 1);
  const taken = await browser.post(linkPath(mails('EVE@example.com')[0]!.data));
  assert.equal(taken.status, 409);
  assert.match(taken.text, /Another account has the address EVE@example.com/);
  assert.equal((await asked('no address')).status, 400);
  assert.equal((await asked('ada@new.example')).status, 409);
  assert.equal((await asked('a@one.example')).status, 200);
  assert.equal((await asked('a@two.example')).status, 429, 'three mails an hour');

  await qd.clock.advance('16m');
  assert.equal(
    (await browser.post('/account/address', { email: 'x@example.com' })).path.startsWith('/sign-in/again'),
    true,
    'asks to prove oneself',
  );
  assert.equal((await browser.post('/account/name', { name: '  Ada L. ' })).status, 200);
  assert.equal((await ada.get('/me')).body.name, 'Ada L.');
  for (const name of ['', 'x'.repeat(101), 'a\0b']) assert.equal((await browser.post('/account/name', { name })).status, 400, name);
  const { entries } = (await qd.owner.get('/organization/audit?limit=100')).body;
  const told = entries.filter((e: { action: string }) => /^account\.(name|address)\./.test(e.action));
  assert.deepEqual(
    told.map((e: { action: string; detail: unknown }) => [e.action, e.detail]),
    [
      ['account.name.change', { from: 'ada', to: 'Ada L.' }],
      ['account.address.change', { from: 'ada@example.com', to: 'ada@new.example', isProven: true }],
    ],
  );
});

test('where no mail leaves, the owner of a new installation chooses an address, and others ask the operator', async (t) => {
  const qd = await quarterdeck(t);
  const owner = await signedIn(qd, qd.owner.userId);
  assert.equal((await owner.post('/account/address', { email: 'owner@example.com' })).path, '/account');
  assert.equal((await qd.owner.get('/me')).body.email, 'owner@example.com');
  const again = await owner.post('/account/address', { email: 'other@example.com' });
  assert.equal(again.status, 409, 'once');
  assert.match(again.text, /quarterdeck admin members set-email owner@example.com other@example.com/);
  const ada = await qd.member(qd.owner, 'member', 'ada@localhost');
  assert.equal((await (await signedIn(qd, ada.userId)).post('/account/address', { email: 'ada@example.com' })).status, 409);
});
