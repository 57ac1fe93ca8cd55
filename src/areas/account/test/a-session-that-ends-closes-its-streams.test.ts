import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck, type Someone } from '../../../../test/harness/index.ts';
import { type BrowserLike, browserLike, signedIn } from '../../../../test/harness/visitor.ts';
import { givePassword, goodPassword, signIn } from './passwords.ts';

const another = 'a rather different set of words';

test('a session that ends closes the stream of a page that it opened on another server', async (t) => {
  const qd = await quarterdeck(t);
  const second = await quarterdeck(t, { connection: qd.connection, dataDir: qd.dataDir });
  /** What a page hears, once the server has begun to speak. */
  const listen = async (browser: BrowserLike) => {
    const headers = { cookie: browser.cookie(), 'sec-fetch-site': 'same-origin' };
    const { status, body } = await fetch(`${second.url}/api/v1/events`, { headers });
    assert.equal(status, 200);
    const reader = body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = (await reader.read()).value!;
    assert.match(text, /^event: hello/m);
    const ended = (async () => {
      for (let part = await reader.read(); !part.done; part = await reader.read()) text += part.value;
      return text;
    })();
    return { ended };
  };
  const sessionIdOf = async (browser: BrowserLike): Promise<string> => (await browser.api('GET', '/me')).body.session.id;

  const ends: [string, (person: Someone, own: BrowserLike, listening: BrowserLike) => Promise<{ status: number }>][] = [
    ['its person signs out there', (_person, _own, listening) => listening.post('/sign-out')],
    [
      'its person ends it in another browser',
      async (_person, own, listening) => own.api('DELETE', `/me/sessions/${await sessionIdOf(listening)}`),
    ],
    ['the password is changed', (_person, own) => own.post('/account/password', { password: another, repeated: another })],
    ['the person is removed', ({ userId }) => qd.owner.delete(`/organization/members/${userId}`)],
    ['a second factor is required', () => qd.owner.patch('/organization/security', { requiresSecondFactor: true })],
  ];
  for (const [how, end] of ends) {
    const person = await qd.member(qd.owner, 'admin');
    await givePassword(qd, person);
    const listening = browserLike(qd.url);
    assert.equal((await signIn(listening, person.email, goodPassword)).path, '/account');
    const stream = await listen(listening);
    const own = await signedIn(qd, person.userId);
    const { status } = await end(person, own, listening);
    assert.ok([200, 204].includes(status), `${how}: ${status}`);
    assert.match(await stream.ended, /^event: refused/m, how);
  }
});
