import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeSmtp } from '../../../../test/fakes/smtp.ts';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { eventually } from '../../../../test/harness/process.ts';
import { browserLike } from '../../../../test/harness/visitor.ts';
import { passkeyTools } from './passkeys.ts';
import { givePassword, goodPassword, signIn } from './passwords.ts';

// Anybody who may invite can make an account of any address and sign in to it: the link is shown to the inviter.

const email = 'victim@example.com';
const own = 'the words of the victim alone';
const joinPath = (link: string) => new URL(link).pathname;

test('a browser that knows a stranger’s account of an address guesses at that account alone', async (t) => {
  const qd = await quarterdeck(t);
  const evil = await qd.organization('evil');
  const join = async (by: typeof evil) => {
    const browser = browserLike(qd.url);
    await browser.post(joinPath((await by.post('/organization/invitations', { email })).body.link), { name: 'Somebody' });
    return { browser, userId: (await browser.api('GET', '/me')).body.id as string };
  };
  const victim = await join(qd.owner);
  await givePassword(qd, { userId: victim.userId, email }, own);
  const twin = await join(evil);
  assert.notEqual(twin.userId, victim.userId);
  await givePassword(qd, { userId: twin.userId, email }, goodPassword);
  assert.equal((await signIn(twin.browser, email, goodPassword)).path, '/account');
  assert.equal((await signIn(twin.browser, email, own)).status, 401, 'even the right password of the other account');
  assert.equal((await signIn(browserLike(qd.url), email, own)).path, '/account');
});

test('the first mail that reaches a person takes an account of their address from the stranger who made it', async (t) => {
  const smtp = await fakeSmtp(t);
  const qd = await quarterdeck(t, { env: { QUARTERDECK_SMTP_RELAY: smtp.url, QUARTERDECK_MAIL_FROM: 'qd@example.com' } });
  const evil = await qd.organization('evil');
  const tools = passkeyTools(qd);
  const stranger = tools.visitor();
  await stranger.post(joinPath((await evil.post('/organization/invitations', { email })).body.link), { name: 'Not them' });
  assert.equal((await tools.add(stranger)).status, 200);
  const victim = tools.visitor();
  await victim.post('/sign-in/forgot', { email });
  const resets = () => smtp.received.filter(({ data }) => data.includes('A new password'));
  await eventually(async () => resets().length === 1);
  const path = /\/sign-in\/reset\/qd_once_[0-9A-Za-z]+/.exec(resets()[0]!.data.replaceAll('=\r\n', ''))![0];
  assert.equal((await victim.post(path, { password: own })).path, '/account');
  assert.equal((await tools.signIn(tools.visitor())).status, 401, 'the stranger’s passkey is gone');
  assert.equal((await stranger.api('GET', '/me')).status, 401);
  const again = await (await qd.organization('worse')).post('/organization/invitations', { email });
  const shown = await browserLike(qd.url).post(joinPath(again.body.link), { name: 'Once more' });
  assert.notEqual(shown.path, '/account', 'no other account of the address is made by a link from now on');
});
