import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { browserLike } from '../../../../test/harness/visitor.ts';
import { sql } from '../../../kernel/sql.ts';
import { givePassword, setUpApp, signIn } from './passwords.ts';

test('a person is told of a new browser and of a changed factor', async (t) => {
  // Nothing answers there: the mails stay in the queue, where the test reads them.
  const qd = await quarterdeck(t, { env: { QUARTERDECK_SMTP_RELAY: 'smtp://127.0.0.1:1', QUARTERDECK_MAIL_FROM: 'deck@example.com' } });
  const ada = await qd.member(qd.owner, 'member', 'ada@example.com');
  let seen = 0;
  const told = async () => {
    const queued = sql`select payload from kernel.job where kind = 'kernel.send-mail' order by id offset ${seen}`;
    const { rows } = await qd.app.db.read((tx) => tx.query(queued));
    seen += rows.length;
    return (rows as { payload: { to: string; subject: string; text: string } }[]).map(({ payload }) => payload);
  };
  const subjects = async () => (await told()).map(({ subject }) => subject);

  await givePassword(qd, ada);
  assert.deepEqual(await subjects(), ['Your password was changed']);
  const browser = browserLike(qd.url);
  await signIn(browser, ada.email);
  const [mail] = await told();
  assert.equal(mail!.to, 'ada@example.com');
  assert.equal(mail!.subject, 'You signed in with another browser');
  assert.ok(mail!.text.includes('127.0.0.1') && mail!.text.includes('/account'));
  await browser.post('/sign-out');
  await signIn(browser, ada.email);
  assert.deepEqual(await told(), [], 'the browser is known now');

  const { codes } = await setUpApp(qd, browser);
  assert.deepEqual(await subjects(), ['An authenticator app was added']);
  await browser.post('/sign-out');
  await signIn(browser, ada.email);
  await browser.post('/sign-in/second', { code: codes[3]! });
  const [used] = await told();
  assert.match(used!.text, /A recovery code of ada@example\.com was used .* 9 are left/);
  await browser.post('/account/second-factor/codes');
  await browser.post('/account/second-factor/remove');
  const all = await told();
  assert.deepEqual(
    all.map(({ subject }) => subject),
    ['New recovery codes were made', 'The authenticator app was removed'],
  );
  for (const code of codes) assert.equal(JSON.stringify([mail, used, ...all]).includes(code), false, 'a mail holds no secret');
});
