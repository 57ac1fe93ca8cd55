import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeSmtp } from '../../../../test/fakes/smtp.ts';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { eventually } from '../../../../test/harness/process.ts';
import { browserLike, signedIn } from '../../../../test/harness/visitor.ts';
import { run } from '../../../kernel/db/index.ts';

const joinPath = (text: string) => /\/join\/qd_inv_[0-9A-Za-z]{38}/.exec(text)![0];

test('an invitation is mailed, and joins the account that is signed in, or a new one', async (t) => {
  const smtp = await fakeSmtp(t);
  const qd = await quarterdeck(t, { env: { QUARTERDECK_SMTP_RELAY: smtp.url, QUARTERDECK_MAIL_FROM: 'qd@example.com' } });
  const invite = async (email: string) => {
    const { status, body } = await qd.owner.post('/organization/invitations', { email });
    assert.equal(status, 201, JSON.stringify(body));
    return { mailed: body.mailed as boolean, path: joinPath(body.link) };
  };

  assert.equal((await qd.owner.patch('/organization', { name: 'a name\n\nof two lines' })).status, 200);
  const bob = await invite('bob@example.com');
  assert.equal(bob.mailed, true);
  await eventually(async () => smtp.received.length === 1);
  assert.deepEqual(smtp.received[0]!.to, ['bob@example.com']);
  const text = smtp.received[0]!.data.replaceAll('=\r\n', '');
  assert.ok(text.includes('owner@localhost'), 'the mail says who invites');
  assert.ok(text.includes('a name of two lines'), 'a name is one line of the mail');
  assert.equal(joinPath(text), bob.path);
  assert.equal((await invite('somebody@localhost')).mailed, false);
  for (const mailed of [true, true, true, false]) assert.equal((await invite('eve@example.com')).mailed, mailed, 'three an hour');
  const left = await qd.app.db.read((tx) => run(tx)`select 1 from kernel.job where payload::text like '%qd_inv%'`);
  assert.equal(left, 0, 'no link stands in the queue in plain text');

  // A name is text, however it is written.
  const newcomer = browserLike(qd.url);
  assert.equal((await newcomer.post(bob.path, { name: 'x'.repeat(101) })).status, 400);
  assert.equal((await newcomer.post(bob.path, { name: 'a\0b' })).status, 400);
  assert.equal((await newcomer.post(bob.path, { name: '<b>Bob</b>' })).path, '/account');
  assert.ok((await newcomer.get('/account')).text.includes('&#60;b&#62;Bob&#60;/b&#62;'));
  assert.equal((await newcomer.api('GET', '/me')).body.email, 'bob@example.com');
  const { sessions } = (await newcomer.api('GET', '/me/sessions')).body;
  assert.deepEqual(sessions[0].methods, ['invitation'], 'an invitation is no second factor');

  // An account that the operator made speaks for itself.
  const ada = await qd.organization('ada');
  const toAda = await invite(ada.email);
  const shown = await browserLike(qd.url).get(toAda.path);
  assert.ok(shown.text.includes(`href="/sign-in?next=${encodeURIComponent(toAda.path)}"`) && !shown.text.includes('<form'), shown.text);
  assert.equal((await browserLike(qd.url).post(toAda.path)).status, 409);
  const other = await newcomer.get(toAda.path);
  assert.match(other.text, /You are signed in as bob@example.com.*<form method="post" action="\/sign-out">/);
  assert.equal((await newcomer.post(toAda.path)).status, 403);
  const browser = await signedIn(qd, ada.userId);
  const joined = await Promise.all([browser.post(toAda.path), browser.post(toAda.path)]);
  assert.deepEqual(joined.map(({ status }) => status).sort(), [200, 404], 'of two at once, one');
  const me = await browser.api('GET', '/me', undefined, { 'x-organization': 'default' });
  assert.deepEqual([me.status, me.body.id], [200, ada.userId]);
  assert.equal((await browser.api('GET', '/me')).status, 400, 'with two organizations a request names one');
});

test('a link never signs in to an account that has a way in of its own', async (t) => {
  const qd = await quarterdeck(t);
  const invite = async () => joinPath((await qd.owner.post('/organization/invitations', { email: 'bob@example.com' })).body.link);
  const first = browserLike(qd.url);
  assert.equal((await first.post(await invite())).path, '/account');
  const { id } = (await first.api('GET', '/me')).body;
  await qd.app.db.write(
    (tx) => run(tx)`insert into account.password (user_id, phc, changed_at) values (${id}, 'a right one', kernel.now())`,
  );
  assert.equal((await qd.owner.delete(`/organization/members/${id}`)).status, 204);
  assert.equal((await first.api('GET', '/me')).status, 403, 'a former member acts nowhere');

  const path = await invite();
  const inviter = browserLike(qd.url);
  assert.ok(!(await inviter.get(path)).text.includes('<form'), 'the page asks to sign in');
  const refused = await inviter.post(path);
  assert.equal(refused.status, 409);
  assert.match(refused.text, /has an account here of before; sign in to it/);
  assert.equal(inviter.cookies.size, 0);
  assert.equal((await first.post(path)).path, '/account', 'signed in, the former member comes back');
  assert.equal((await first.api('GET', '/me')).body.id, id);
  assert.equal((await qd.owner.post('/organization/invitations', { email: 'x@example.com' })).body.mailed, false, 'no mail leaves');
});
