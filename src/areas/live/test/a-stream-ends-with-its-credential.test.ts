import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { type BrowserLike, browserLike, signedIn } from '../../../../test/harness/visitor.ts';
import { startSession } from '../../account/engine/sessions.ts';
import { bearer, type Listening, listens } from './support.ts';

const cookieOf = (browser: BrowserLike, slug = 'default') => ({
  cookie: browser.cookie(),
  'sec-fetch-site': 'same-origin',
  'x-organization': slug,
});

async function refusal(stream: Listening) {
  const { data } = await stream.afterHints('refused');
  await stream.ended;
  return [data['status'], data['code']];
}

test('a stream ends with the reason when its token, its session or its membership does, at every server', async (t) => {
  const qd = await quarterdeck(t);
  const second = await quarterdeck(t, { connection: qd.connection, dataDir: qd.dataDir });
  for (const { url } of [qd, second]) {
    const member = await qd.member(qd.owner, 'member');
    const byToken = await listens(t, url, bearer(member));
    assert.equal((await member.delete(`/tokens/${member.tokenId}`)).status, 204);
    assert.deepEqual(await refusal(byToken), [401, 'unauthenticated']);

    const [browser, other] = [await signedIn(qd, member.userId), await signedIn(qd, member.userId)];
    const bySession = await listens(t, url, cookieOf(browser));
    const stays = await listens(t, url, cookieOf(other));
    const { sessions } = (await other.api('GET', '/me/sessions')).body as { sessions: { id: string; isCurrent: boolean }[] };
    const { id } = sessions.find(({ isCurrent }) => !isCurrent)!;
    assert.equal((await other.api('DELETE', `/me/sessions/${id}`)).status, 204);
    assert.deepEqual(await refusal(bySession), [401, 'unauthenticated']);

    assert.equal((await qd.owner.delete(`/organization/members/${member.userId}`)).status, 204);
    assert.deepEqual(await refusal(stays), [403, 'organization_mismatch']);
  }
});

test('a stream ends when its token is over by the clock, and when the organization asks for a second factor', async (t) => {
  const qd = await quarterdeck(t);
  const { body: short } = await qd.owner.post('/tokens', { name: 'short', expiresIn: 60 });
  const soonOver = await listens(t, qd.url, bearer(short));
  await qd.clock.advance('61s');
  assert.deepEqual(await refusal(soonOver), [401, 'unauthenticated']);

  const visitor = { address: '127.0.0.1', agent: 'a test', requestId: 'test' };
  const person = { id: qd.owner.userId, email: qd.owner.email };
  const { key } = await qd.app.db.write((tx) => startSession(tx, qd.app, person, ['password'], visitor));
  const browser = browserLike(qd.url);
  browser.cookies.set('qd', key);
  const withoutFactor = await listens(t, qd.url, cookieOf(browser));
  assert.equal((await qd.owner.patch('/organization/security', { requiresSecondFactor: true })).status, 200);
  assert.deepEqual(await refusal(withoutFactor), [403, 'second_factor_required']);
});
