import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeSmtp } from '../../../../test/fakes/smtp.ts';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { eventually } from '../../../../test/harness/process.ts';
import { browserLike, signedIn } from '../../../../test/harness/visitor.ts';
import { joinAnew } from '../engine/join.ts';
import { signInByLink } from '../engine/links.ts';
import { makeLink } from '../index.ts';

const visitor = { address: '127.0.0.1', agent: 'test', requestId: 'req_test' };

/** As a kill does before COMMIT. */
class Killed extends Error {}

test('a crash before the commit leaves a link unused, and a cookie that is lost after it locks no person out', async (t) => {
  const smtp = await fakeSmtp(t);
  const env = { QUARTERDECK_SMTP_RELAY: smtp.url, QUARTERDECK_MAIL_FROM: 'qd@example.com' };
  const qd = await quarterdeck(t, { env });
  const second = await quarterdeck(t, { env, connection: qd.connection, dataDir: qd.dataDir });

  // A link that signs in: two processes, one use; an abandoned one is replaced.
  const { secret } = await qd.app.db.write((tx) => makeLink(tx, qd.owner.userId, 'operator'));
  const crash = qd.app.db.write(async (tx) => {
    await signInByLink(tx, qd.app, secret, visitor);
    throw new Killed();
  });
  await assert.rejects(crash, Killed);
  for (const method of ['GET', 'HEAD']) assert.equal((await fetch(`${qd.url}/sign-in/link/${secret}`, { method })).status, 200);
  const used = await Promise.all([qd, second].map(({ url }) => browserLike(url).post(`/sign-in/link/${secret}`)));
  assert.deepEqual(used.map(({ status }) => status).sort(), [200, 404]);
  const { secret: abandoned } = await qd.app.db.write((tx) => makeLink(tx, qd.owner.userId, 'operator'));
  await qd.app.db.write((tx) => makeLink(tx, qd.owner.userId, 'operator'));
  assert.equal((await browserLike(qd.url).post(`/sign-in/link/${abandoned}`)).status, 404, 'a newer link ended it');

  // An invitation: the same, and the new member comes back without the cookie.
  const { link } = (await qd.owner.post('/organization/invitations', { email: 'bob@example.com' })).body;
  const path = new URL(link).pathname;
  const lost = qd.app.db.write(async (tx) => {
    await joinAnew(tx, qd.app, path.split('/').at(-1)!, 'Bob', visitor);
    throw new Killed();
  });
  await assert.rejects(lost, Killed);
  const joined = await Promise.all([qd, second].map(({ url }) => browserLike(url).post(path, { name: 'Bob' })));
  assert.deepEqual(joined.map(({ status }) => status).sort(), [200, 404]);
  const members = (await qd.owner.get('/organization/members')).body.members as { email: string; userId: string }[];
  const bob = members.filter(({ email }) => email === 'bob@example.com');
  assert.equal(bob.length, 1);

  await browserLike(second.url).post('/sign-in/forgot', { email: 'bob@example.com' });
  const mailed = /\/sign-in\/reset\/qd_once_[0-9A-Za-z]+/;
  const mails = () => smtp.received.map(({ data }) => data.replaceAll('=\r\n', '')); // lines are broken anywhere
  const reset = await eventually(async () => mails().flatMap((text) => mailed.exec(text) ?? [])[0]);
  const browser = browserLike(qd.url);
  assert.equal((await browser.post(reset, { password: 'correct horse battery staple' })).path, '/account');
  assert.equal((await browser.api('GET', '/me')).body.id, bob[0]!.userId);
  assert.equal((await (await signedIn(second, bob[0]!.userId)).api('GET', '/me')).body.id, bob[0]!.userId, 'the operator’s link too');
});
