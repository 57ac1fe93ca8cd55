import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { type BrowserLike, signedIn } from '../../../../test/harness/visitor.ts';

const perMinute = 30;

/** Sends forms without pause until one is refused. */
async function flood(browser: BrowserLike) {
  for (let sent = 0; ; sent++) {
    const shown = await browser.post('/account/name', { name: `name ${sent}` });
    if (shown.status !== 200 || sent > 20 * perMinute) return { sent, shown };
  }
}

test('a session opens pages and sends forms at the rate of the API, and its flood keeps the person from nothing elsewhere', async (t) => {
  const qd = await quarterdeck(t, { env: { QUARTERDECK_RATE_LIMIT: String(perMinute) } });
  const stolen = await signedIn(qd, qd.owner.userId);
  const own = await signedIn(qd, qd.owner.userId);
  const { sent, shown } = await flood(stolen);
  assert.ok(sent >= perMinute / 2 - 1, `${sent} forms, each followed by a page`);
  assert.equal(shown.status, 429);
  assert.match(shown.text, /More than 30 requests a minute by this session; try again in \d+ s/);
  assert.ok(Number(shown.headers.get('retry-after')) >= 1);

  const list = await own.get('/account');
  assert.equal(list.status, 200);
  const ends = [...list.text.matchAll(/action="(\/account\/sessions\/\w+\/end)"/g)].map(([, path]) => path!);
  for (const path of ends) await own.post(path);
  assert.ok(ends.length >= 1);
  assert.match((await stolen.get('/account')).path, /^\/sign-in\?/, 'the thief is signed out');
  assert.equal((await own.get('/account')).status, 200);

  await flood(own);
  assert.match((await own.post('/sign-out')).text, /You are signed out/, 'signing out always works');
});
