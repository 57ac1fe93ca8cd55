// alone: it looks at what the process has loaded
import assert from 'node:assert/strict';
import { registerHooks } from 'node:module';
import { test } from 'node:test';
import { fakeSmtp } from '../../../../test/fakes/smtp.ts';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { eventually } from '../../../../test/harness/process.ts';
import { run } from '../../../kernel/db/index.ts';
import { passkeysOf } from '../store/passkeys.ts';
import { passkeyTools } from './passkeys.ts';

const loaded: string[] = [];
registerHooks({
  load(url, context, next) {
    loaded.push(url);
    return next(url, context);
  },
});
const isLibraryLoaded = () => loaded.some((url) => url.includes('@simplewebauthn/server/'));

test('a passkey is added in a session, signs in, proves a person once more, and is removed', async (t) => {
  const relay = await fakeSmtp(t);
  const qd = await quarterdeck(t, { env: { QUARTERDECK_SMTP_RELAY: relay.url } });
  const tools = passkeyTools(qd);
  const { userId } = qd.owner;
  await qd.app.db.write((tx) => run(tx)`update identity.account set email = 'owner@example.com' where id = ${userId}`);
  const browser = await tools.signedIn(qd, userId);
  assert.match((await browser.get('/account/passkeys')).text, /You have none yet/);
  assert.equal((await tools.ask(tools.visitor(), '/sign-in/passkey/options')).status, 200);
  assert.equal(isLibraryLoaded(), false, 'a start and the sign-in page do not load the library');

  assert.deepEqual(await tools.add(browser, ' my\n\u202e key '), { status: 200, body: { next: '/account/passkeys' } });
  assert.equal(isLibraryLoaded(), true);
  assert.match((await browser.get('/account/passkeys')).text, /<b>my key<\/b>.*works on localhost; added \d{4}-\d\d-\d\d, not used yet/);
  const methods = async (who = browser) =>
    (await who.api('GET', '/me/sessions')).body.sessions.map((s: { methods: string[] }) => s.methods);
  assert.deepEqual(await methods(), [['link', 'passkey']], 'the session has two factors now');

  const other = tools.visitor();
  assert.deepEqual(await tools.signIn(other, {}, '/account/tokens'), { status: 200, body: { next: '/account/tokens' } });
  assert.equal((await other.api('GET', '/me')).body.id, userId);
  assert.deepEqual(await methods(other), [['passkey'], ['link', 'passkey']]);
  assert.match((await browser.get('/account/passkeys')).text, /last used \d{4}/);

  await qd.clock.advance('16m');
  const { id } = (await qd.app.db.read((tx) => passkeysOf(tx, userId)))[0]!;
  const stale = await other.post(`/account/passkeys/${id}/remove`);
  assert.equal(stale.path, '/sign-in/again?next=%2Faccount%2Fpasskeys', 'it is dangerous');
  assert.deepEqual(await tools.ask(other, '/account/passkeys/options'), { status: 403, body: { next: stale.path } });
  assert.match((await other.get('/account/passkeys')).text, /Confirm that it is you<\/a> to add or remove/);
  assert.equal((await tools.confirm(other)).status, 200);
  assert.match((await other.get('/account/passkeys')).text, /id="passkey-button"/);

  const last = await other.post(`/account/passkeys/${id}/remove`);
  assert.equal(last.status, 409);
  assert.match(last.text, /last way into your account; add another passkey or set a password first/);
  assert.equal((await tools.add(other, 'a second')).status, 200);
  assert.equal((await other.post(`/account/passkeys/${id}/name`, { name: '<b>renamed' })).path, '/account/passkeys');
  assert.match((await other.get('/account/passkeys')).text, /&#60;b&#62;renamed/);
  assert.equal((await other.post(`/account/passkeys/${id}/remove`)).path, '/account/passkeys');
  assert.doesNotMatch((await other.get('/account/passkeys')).text, /renamed/);
  assert.equal((await browser.api('GET', '/me')).status, 401, 'all other sessions ended');
  assert.equal((await other.api('GET', '/me')).status, 200);

  const { entries } = (await qd.owner.get('/organization/audit')).body;
  assert.deepEqual(
    entries.map(({ action }: { action: string }) => action).filter((action: string) => action.startsWith('account.passkey.')),
    ['account.passkey.remove', 'account.passkey.rename', 'account.passkey.add', 'account.passkey.add'],
  );
  const subjects = () =>
    relay.received
      .map(({ to, data }) => [...to, /^Subject: (.*)$/m.exec(data)?.[1]?.trim()].join(' '))
      .filter((subject) => subject.includes(' A passkey was '));
  await eventually(async () => subjects().length === 3);
  const told = (what: string) => `owner@example.com A passkey was ${what} your account`;
  assert.deepEqual(subjects().sort(), [told('added to'), told('added to'), told('removed from')], 'the person gets a mail');
});
