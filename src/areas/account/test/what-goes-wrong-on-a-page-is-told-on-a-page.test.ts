import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { browserLike, signedIn } from '../../../../test/harness/visitor.ts';

/** What a browser asks a page for. */
const page = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };

test('what goes wrong on a page is told on a page, with a way on, and to a program as before', async (t) => {
  const qd = await quarterdeck(t);
  const browser = await signedIn(qd, qd.owner.userId);
  const wrong: [string, () => Promise<{ status: number; text: string }>, number, RegExp, string][] = [
    ['a link that was used', () => browser.get('/sign-in/link/qd_once_x', page), 404, /Unknown link: it was used, it is over/, '/account'],
    [
      'a form that is too large',
      () => browser.post('/account/name', { name: 'x'.repeat(20_000) }, page),
      413,
      /The body is larger than/,
      '/',
    ],
    ['a path that is none', () => browser.get('/join/%ff', page), 400, /The path is not valid percent-encoded UTF-8\./, '/'],
    ['a page that there is not', () => browser.get('/acount', page), 404, /There is no GET \/acount/, '/'],
    ['a name that is too long', () => browser.post('/account/name', { name: 'x'.repeat(101) }, page), 400, /name/, '/account'],
    [
      'a form of another site',
      () => browser.post('/account/name', { name: 'x' }, { ...page, 'sec-fetch-site': 'cross-site' }),
      403,
      /This form was sent by another site; open the page here and try again\./,
      '/account',
    ],
  ];
  for (const [what, act, status, sentence, next] of wrong) {
    const shown = await act();
    assert.equal(shown.status, status, what);
    assert.match(shown.text, /<h1>This did not work<\/h1>/, what);
    assert.match(shown.text, sentence, what);
    assert.ok(shown.text.includes(`<a href="${next}">`), `${what}: ${shown.text}`);
  }

  const answers = [await fetch(`${qd.url}/acount`), await fetch(`${qd.url}/api/v1/acount`, { headers: page })];
  for (const { headers, status } of answers)
    assert.deepEqual([status, headers.get('content-type')], [404, 'application/json; charset=utf-8'], 'a program gets JSON');
  assert.equal((await browserLike(qd.url).get('/account', page)).path, '/sign-in?next=%2Faccount');
});
