import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeSmtp } from '../../../../test/fakes/smtp.ts';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { eventually } from '../../../../test/harness/process.ts';
import { browserLike, signedIn } from '../../../../test/harness/visitor.ts';
import { run } from '../../../kernel/db/index.ts';

/** A browser that is signed in at the one name of this machine is not at the other. */
const named = (url: string) => url.replace('127.0.0.1', 'localhost');

const resetPath = (mail: string) => /\/sign-in\/reset\/qd_once_[0-9A-Za-z]+/.exec(mail.replaceAll('=\r\n', ''))![0];
const password = 'correct horse battery staple';

test('a forgotten password is chosen anew by a link that is mailed, works once, and leaves the second factor', async (t) => {
  const smtp = await fakeSmtp(t);
  const env = { QUARTERDECK_SMTP_RELAY: smtp.url, QUARTERDECK_MAIL_FROM: 'qd@example.com' };
  const qd = await quarterdeck(t, { env });
  const second = await quarterdeck(t, { env, connection: qd.connection, dataDir: qd.dataDir });
  const ada = await qd.member(qd.owner, 'member', 'ada@example.com');
  const stranger = browserLike(qd.url);
  const ask = (email: string) => stranger.post('/sign-in/forgot', { email });
  const resets = () => smtp.received.filter(({ data }) => data.includes('Subject: A new password for Quarterdeck'));
  const idle = () => qd.app.db.read((tx) => run(tx)`select 1 from kernel.job where kind = 'account.mail-reset'`);

  // Known or not: one text, and one row in the queue.
  const poison = { 'x-forwarded-host': 'elsewhere.example', forwarded: 'host=elsewhere.example', 'x-forwarded-proto': 'https' };
  const known = await stranger.post('/sign-in/forgot', { email: 'Ada@example.com' }, poison);
  const unknown = await ask('nobody@example.com');
  assert.deepEqual([known.status, known.text], [unknown.status, unknown.text]);
  await eventually(async () => (await idle()) === 0);
  assert.deepEqual(
    resets().map(({ to }) => to),
    [['ada@example.com']],
  );
  assert.equal((await ask('no address')).status, 400);
  const plain = await qd.app.db.read((tx) => run(tx)`select 1 from account.one_time_link where purpose = 'reset'`);
  assert.equal(plain, 1);

  const shown = resets()[0]!.data.replaceAll('=\r\n', '');
  // Either server mails it; behind one public URL both say the same.
  assert.ok(
    [qd, second].some(({ url }) => shown.includes(`${named(url)}/sign-in/reset/`)),
    'pages have one name, in mails too',
  );
  assert.ok(!resets()[0]!.data.includes('elsewhere'), 'whatever a request says of its host');

  // Programs that scan mail change nothing.
  const path = resetPath(resets()[0]!.data);
  const before = await signedIn(qd, ada.userId);
  for (const method of ['GET', 'HEAD', 'GET']) assert.equal((await fetch(`${qd.url}${path}`, { method })).status, 200);
  const weak = await stranger.post(path, { password: 'short' });
  assert.equal(weak.status, 400);
  assert.match(weak.text, /role="alert".*<form/);

  // Used on two processes at once.
  const browsers = [browserLike(qd.url), browserLike(second.url)];
  const used = await Promise.all(browsers.map((browser) => browser.post(path, { password })));
  assert.deepEqual(used.map(({ status }) => status).sort(), [200, 404]);
  const winner = browsers[used.findIndex(({ status }) => status === 200)]!;
  assert.equal((await winner.api('GET', '/me')).body.id, ada.userId);
  assert.equal((await before.api('GET', '/me')).status, 401, 'every session of before is over');
  assert.equal((await ada.get('/me')).status, 200, 'tokens go on');
  await eventually(async () => smtp.received.some(({ data }) => data.includes('Subject: Your password was changed')));

  // With an authenticator app the mailbox alone is not enough.
  await qd.app.db.write(
    (tx) => run(tx)`
      insert into account.totp (user_id, secret, created_at, confirmed_at) values (${ada.userId}, 'sealed', kernel.now(), kernel.now())`,
  );
  await ask('ada@example.com');
  await eventually(async () => resets().length === 2);
  const other = browserLike(qd.url);
  const done = await other.post(resetPath(resets()[1]!.data), { password: `${password} again` });
  assert.equal(done.path, '/sign-in/second?next=%2Faccount', 'a code is asked for');
  assert.deepEqual([...other.cookies.keys()], ['qd_pending']);
  assert.equal((await other.api('GET', '/me')).status, 401, 'nobody is signed in until a code was right');
  assert.equal(await qd.app.db.read((tx) => run(tx)`select 1 from account.totp where user_id = ${ada.userId}`), 1);
  assert.equal((await winner.api('GET', '/me')).status, 401);

  // Three mails an hour.
  for (let n = 0; n < 3; n++) {
    await ask('ada@example.com');
    await eventually(async () => (await idle()) === 0);
  }
  assert.equal(resets().length, 3);
  const { entries } = (await qd.owner.get('/organization/audit?limit=100')).body;
  assert.deepEqual(
    entries.filter((e: { target: string }) => e.target === ada.userId).map((e: { action: string }) => e.action),
    [
      'account.reset.ask',
      'account.password.set',
      'account.reset.ask',
      'account.password.set',
      'account.address.prove',
      'account.reset.ask',
    ],
  );
  const late = resetPath(resets()[2]!.data);
  await qd.clock.advance('61m');
  assert.equal((await stranger.get(late)).status, 404, 'a link is over after an hour');
});

test('an address with several accounts gets a link for each, and where no mail leaves the page says whom to ask', async (t) => {
  const smtp = await fakeSmtp(t);
  const qd = await quarterdeck(t, { env: { QUARTERDECK_SMTP_RELAY: smtp.url, QUARTERDECK_MAIL_FROM: 'qd@example.com' } });
  const other = await qd.organization('other');
  await qd.member(qd.owner, 'member', 'ada@example.com');
  await qd.member(other, 'member', 'ada@example.com');
  await browserLike(qd.url).post('/sign-in/forgot', { email: 'ada@example.com' });
  await eventually(async () => smtp.received.length === 1);
  const text = smtp.received[0]!.data.replaceAll('=\r\n', '');
  assert.equal(text.match(/\/sign-in\/reset\/qd_once_/g)!.length, 2);
  assert.match(text, /^other:/m);

  const silent = await quarterdeck(t, { connection: qd.connection, dataDir: qd.dataDir });
  const browser = browserLike(silent.url);
  for (const shown of [await browser.get('/sign-in/forgot'), await browser.post('/sign-in/forgot', { email: 'ada@example.com' })])
    assert.match(shown.text, /No mail leaves this server.*quarterdeck admin sign-in-link/);
});
