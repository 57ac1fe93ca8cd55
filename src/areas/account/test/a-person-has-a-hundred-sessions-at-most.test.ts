import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { eventually } from '../../../../test/harness/process.ts';
import { browserLike, signedIn } from '../../../../test/harness/visitor.ts';
import { startSession } from '../engine/sessions.ts';

const visitor = { address: '127.0.0.1', agent: 'test', requestId: 'req_test' };

test('a person has a hundred sessions at most: one more ends the oldest, in every process', async (t) => {
  const qd = await quarterdeck(t);
  const second = await quarterdeck(t, { connection: qd.connection, dataDir: qd.dataDir });
  const ada = await qd.member(qd.owner, 'member', 'ada@example.com');
  const start = (userId: string, email: string) =>
    qd.app.db.write((tx) => startSession(tx, qd.app, { id: userId, email }, ['password'], visitor));
  const browserOf = ({ key }: { key: string }) => {
    const browser = browserLike(second.url);
    browser.cookies.set('qd', key);
    return browser;
  };
  const other = browserOf(await start(qd.owner.userId, 'owner@localhost'));
  const oldest = browserOf(await start(ada.userId, ada.email));
  const next = browserOf(await start(ada.userId, ada.email));
  for (let n = 2; n < 100; n++) await start(ada.userId, ada.email);
  assert.equal((await oldest.api('GET', '/me')).status, 200);

  const newest = await signedIn(qd, ada.userId);
  await eventually(async () => (await oldest.api('GET', '/me')).status === 401);
  for (const browser of [next, newest, other]) assert.equal((await browser.api('GET', '/me')).status, 200);
  assert.equal((await newest.api('GET', '/me/sessions')).body.sessions.length, 100);
});
