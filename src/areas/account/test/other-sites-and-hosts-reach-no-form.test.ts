import assert from 'node:assert/strict';
import http from 'node:http';
import { test } from 'node:test';
import { type Quarterdeck, quarterdeck } from '../../../../test/harness/index.ts';
import { browserLike, signedIn } from '../../../../test/harness/visitor.ts';
import { escaped } from '../../../kernel/http/html.ts';
import { openAccount } from '../open.ts';

type Headers = Record<string, string>;

/** Every route of the area, as its planes register them. */
function routesOf(app: Quarterdeck['app']): { method: string; path: string }[] {
  const routes: { method: string; path: string }[] = [];
  const note = (method: string) => (path: string) => void routes.push({ method, path: path.replace(/:\w+/g, 'x') });
  openAccount({ app } as never).routes!({ get: note('GET'), post: note('POST') } as never);
  return routes;
}

/** Over a plain connection, with any Host and any request target. */
const ask = (url: string, method: string, target: string, headers: Headers) =>
  new Promise<{ status: number; location: string | undefined; text: string }>((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const request = http.request({ hostname, port, method, path: target, headers, agent: false }, (answer) => {
      let text = '';
      answer
        .setEncoding('utf8')
        .on('data', (part) => (text += part))
        .on('end', () => resolve({ status: answer.statusCode!, location: answer.headers.location, text }));
    });
    request.on('error', reject).end();
  });

test('a page of another site sends no form, whatever it says about itself', async (t) => {
  const qd = await quarterdeck(t);
  const browser = await signedIn(qd, qd.owner.userId);
  const { host } = new URL(qd.url);
  const foreign: Headers[] = [
    {},
    { origin: 'null' },
    { origin: 'http://elsewhere.example' },
    { origin: `https://${host}` },
    { origin: `http://${host}.elsewhere.example` },
    { origin: 'http://127.0.0.1:1' },
    ...['cross-site', 'same-site', 'none', 'same-origin, cross-site', 'SAME-ORIGIN', ''].flatMap((site): Headers[] => [
      { 'sec-fetch-site': site },
      { 'sec-fetch-site': site, origin: qd.url },
    ]),
  ];
  const forms = routesOf(qd.app).filter(({ method }) => method === 'POST');
  assert.ok(forms.length >= 8, 'the walk finds the forms');
  for (const { path } of forms)
    for (const headers of foreign) {
      const { status, text } = await ask(qd.url, 'POST', path, { cookie: browser.cookie(), ...headers });
      assert.equal(status, 403, `${path} ${JSON.stringify(headers)}`);
      assert.match(text, /sent by another site; open the page here and try again/);
    }
  for (const { path } of forms)
    for (const method of ['PUT', 'PATCH', 'DELETE'])
      assert.ok(
        (await ask(qd.url, method, path, { cookie: browser.cookie(), 'sec-fetch-site': 'same-origin' })).status >= 400,
        `${method} ${path}`,
      );
  for (const headers of foreign)
    assert.equal((await ask(qd.url, 'GET', '/api/v1/me', { cookie: browser.cookie(), ...headers })).status, 401, JSON.stringify(headers));
  assert.equal((await browser.api('GET', '/me')).status, 200, 'nothing of it signed the person out');
});

test('a foreign Host is refused on every page, this machine’s own names never', async (t) => {
  const qd = await quarterdeck(t, { env: { QUARTERDECK_PUBLIC_URL: 'https://deck.example' } });
  const { port } = new URL(qd.url);
  const own = [
    'deck.example',
    'DECK.example',
    'deck.example:443',
    'localhost',
    `localhost:${port}`,
    '127.0.0.1',
    `127.0.0.1:${port}`,
    '[::1]:80',
  ];
  const foreign = [
    'elsewhere.example',
    'deck.example:80',
    'deck.example:8443',
    'deck.example.elsewhere.example',
    'localhost.elsewhere.example',
    '127.0.0.1.elsewhere.example',
    '127.0.0.1:80:80',
    'localhost:123456',
    'localhost:99999',
    'deck.example@elsewhere.example',
    'deck.example,elsewhere.example',
    'notdeck.example',
    '2130706433',
  ];
  for (const host of own) assert.equal((await ask(qd.url, 'GET', '/sign-in', { host })).status, 200, host);
  const routes = routesOf(qd.app).filter(({ path }) => !path.endsWith('.js'));
  for (const [at, { method, path }] of routes.entries())
    for (const host of at === 0 ? foreign : foreign.slice(0, 1)) {
      const { status, location } = await ask(qd.url, method, path, { host, 'sec-fetch-site': 'same-origin' });
      assert.deepEqual([status === 400 ? 421 : status, location], [421, undefined], `${method} ${path} at ${host}: ${status}`);
    }
  // The absolute form names a host of its own, which outweighs the header (RFC 9112, 3.2.2).
  const absolute = async (target: string, host: string) => (await ask(qd.url, 'GET', target, { host })).status;
  assert.equal(await absolute('http://elsewhere.example/sign-in', 'localhost'), 421);
  assert.equal(await absolute('http://localhost/sign-in', 'elsewhere.example'), 200);
});

test('no page is framed, cached, told to others, or runs a script that is not ours', async (t) => {
  const qd = await quarterdeck(t);
  const browser = await signedIn(qd, qd.owner.userId);
  const paths = routesOf(qd.app).flatMap(({ method, path }) => (method === 'GET' && !path.endsWith('.js') ? [path] : []));
  assert.ok(paths.length >= 10, 'the walk finds the pages');
  for (const path of paths)
    for (const who of [browser, browserLike(qd.url)]) {
      const { headers, text } = await who.get(path);
      const policy = headers.get('content-security-policy')!;
      for (const part of ["default-src 'none'", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"])
        assert.ok(policy.includes(part), `${path}: ${part} in ${policy}`);
      assert.doesNotMatch(policy, /unsafe|\*|https?:/, path);
      const scripts = text.match(/<script[^>]*>/g) ?? [];
      assert.deepEqual(scripts, policy.includes('script-src') ? ['<script type="module" src="/account/passkeys.js">'] : [], path);
      if (scripts.length) assert.match(policy, /script-src 'self'; .*require-trusted-types-for 'script'; trusted-types 'none'/, path);
      assert.doesNotMatch(text, /\son\w+=|\sstyle=|javascript:/i, path);
      assert.deepEqual(
        ['cache-control', 'referrer-policy', 'cross-origin-opener-policy', 'x-frame-options', 'x-content-type-options'].map((name) =>
          headers.get(name),
        ),
        ['no-store', 'no-referrer', 'same-origin', 'DENY', 'nosniff'],
        path,
      );
    }
});

test('where a sign-in leads to is a path of this server', async (t) => {
  const qd = await quarterdeck(t);
  const nasty = [
    '//elsewhere.example',
    '///elsewhere.example',
    '/\\elsewhere.example',
    '\\\\elsewhere.example',
    '/\t/elsewhere.example',
    '/\n/elsewhere.example',
    '\t//elsewhere.example',
    'https://elsewhere.example',
    'https:elsewhere.example',
    'javascript:alert(1)',
    'data:text/html,x',
    'account',
    '',
    ' /account',
    '/account\r\nSet-Cookie: a=b',
    '/%0d%0aSet-Cookie:%20a=b\r\n',
    '/a#//elsewhere.example',
    '/.//elsewhere.example',
    '/x/..//elsewhere.example',
    '/x/../..//elsewhere.example',
    '/%2e//elsewhere.example',
    '/%5celsewhere.example\\',
    `/${'a'.repeat(600)}`,
    '/"><script>',
  ];
  for (const next of nasty) {
    const { text } = await ask(qd.url, 'GET', `/sign-in?next=${encodeURIComponent(next)}`, { host: 'localhost' });
    const [, shown = ''] = /name="next" value="([^"]*)"/.exec(text)!;
    const led = new URL(
      shown.replaceAll(/&#\d+;/g, (entity) => String.fromCharCode(Number(entity.slice(2, -1)))),
      'http://localhost',
    );
    assert.equal(led.origin, 'http://localhost', `${JSON.stringify(next)} became ${shown}`);
    assert.ok(!led.pathname.startsWith('//') && shown.startsWith('/'), `${JSON.stringify(next)} became ${shown}`);
  }
  for (const next of ['/o/acme/uptime?filter=(down)!*&sort=name', "/device?note=it's;a+b,c%20d", '/account/passkeys']) {
    const { text } = await ask(qd.url, 'GET', `/sign-in?next=${encodeURIComponent(next)}`, { host: 'localhost' });
    assert.ok(text.includes(`name="next" value="${escaped(next)}"`), `${next} is a path of ours`);
  }
  const asked = await ask(qd.url, 'GET', '/account//elsewhere.example', { host: 'localhost' });
  assert.match(asked.location ?? '/sign-in?next=', /^\/sign-in\?next=/);
});
