import assert from 'node:assert/strict';
import http from 'node:http';
import { type TestContext, test } from 'node:test';
import { type Quarterdeck, quarterdeck } from '../harness/index.ts';
import { refusal } from './judge.ts';
import { parse, raw, type WireAnswer } from './wire.ts';

const paths = [
  '/',
  '/api/v1/me',
  '/api/v1/nowhere',
  '/docs',
  '/docs/nowhere',
  '/healthz',
  '/v2/',
  '/v2/acme/app/manifests/v1',
  '/token',
  '/agent/v1/session',
  '/status/acme',
  '/oncall/ack/x',
];
/** What something here answers with a success. */
const served = new Set(['GET', 'HEAD', 'POST']);

const ask = async (qd: Quarterdeck, bytes: string) => parse(await raw(qd.url, (socket) => socket.write(bytes, 'latin1')));

/** A refusal in the shape of its place: registry clients and readers of status pages have one of their own. */
function isOurs(path: string, answer: WireAnswer, what: string) {
  const { status, headers, text } = answer;
  assert.ok(status >= 400 && status < 500, `${what}: ${status} ${text}`);
  assert.match(String(headers['x-request-id']), /^req_[\w-]{16}$/, `${what}: no X-Request-Id`);
  assert.doesNotMatch(text, /FST_|statusCode|node_modules|\n +at /, what);
  assert.equal(text.split('HTTP/1.1 ').length, 1, `${what}: answered twice`);
  if (/^\/(v2|token)\b/.test(path) && headers['x-error-code'] === undefined) {
    const [error] = JSON.parse(text).errors;
    assert.match(error.code, /^[A-Z_]+$/, what);
    assert.ok(error.message.length > 10, what);
  } else if (path.startsWith('/status/') && headers['x-error-code'] === undefined) assert.match(text, /^<!doctype html>/, what);
  else assert.ok(refusal(answer).length > 10, what);
}

const silent = (qd: Quarterdeck, t: TestContext) => t.mock.method(qd.app.log, 'error').mock;

test('whatever is asked is refused in our words', async (t) => {
  const qd = await quarterdeck(t);
  await t.test('every method that nothing here serves, and invented ones, on every kind of path', (t) => refuseMethods(t, qd));
  await t.test('every odd framing, on every kind of path', (t) => refuseFramings(t, qd));
  await t.test('every odd path and body that is well-formed HTTP', (t) => refusePaths(t, qd));
});

async function refuseMethods(t: TestContext, qd: Quarterdeck): Promise<void> {
  const log = silent(qd, t);
  const methods = [...http.METHODS.filter((method) => !served.has(method)), 'get', 'Query', 'FETCH', 'PRI'];
  assert.ok(methods.includes('QUERY') && methods.includes('CONNECT') && methods.includes('TRACE'));
  for (const method of methods) {
    await Promise.all(
      paths.map(async (path) =>
        isOurs(
          path,
          await ask(qd, `${method} ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}`),
          `${method} ${path} with a body`,
        ),
      ),
    );
    await Promise.all(
      paths.map(async (path) =>
        isOurs(path, await ask(qd, `${method} ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`), `${method} ${path}`),
      ),
    );
  }
  assert.equal((await ask(qd, 'QUERY /api/v1/me HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')).status, 404);
  assert.equal((await ask(qd, 'CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n')).status, 405);
  assert.equal(log.callCount(), 0, 'nothing of it is an error of ours');
  assert.equal((await qd.owner.get('/me')).status, 200);
}

async function refuseFramings(t: TestContext, qd: Quarterdeck): Promise<void> {
  const log = silent(qd, t);
  const chunk = '2\r\n{}\r\n0\r\n\r\n';
  const json = 'Content-Type: application/json\r\n';
  const odd: [what: string, bytes: (path: string) => string][] = [
    ['two codings', (p) => `POST ${p} HTTP/1.1\r\nHost: x\r\n${json}Transfer-Encoding: gzip, chunked\r\n\r\n${chunk}`],
    ['chunked twice', (p) => `POST ${p} HTTP/1.1\r\nHost: x\r\n${json}Transfer-Encoding: chunked, chunked\r\n\r\n${chunk}`],
    [
      'two lines of codings',
      (p) => `POST ${p} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}`,
    ],
    ['chunked first', (p) => `POST ${p} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, gzip\r\n\r\n${chunk}`],
    ['not chunked', (p) => `POST ${p} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n{}`],
    ['not chunked, without a body', (p) => `GET ${p} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n`],
    ['chunked in HTTP/1.0', (p) => `POST ${p} HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}`],
    ['chunked and a length', (p) => `POST ${p} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n${chunk}`],
    ['two lengths', (p) => `POST ${p} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}`],
    ['a list of lengths', (p) => `POST ${p} HTTP/1.1\r\nHost: x\r\nContent-Length: 2, 2\r\n\r\n{}`],
    ['HTTP/0.9', (p) => `GET ${p}\r\n\r\n`],
    ['HTTP/2 in the clear', (p) => `PRI ${p} HTTP/2.0\r\n\r\nSM\r\n\r\n`],
    ['an expectation', (p) => `POST ${p} HTTP/1.1\r\nHost: x\r\nExpect: bread\r\nContent-Length: 2\r\n\r\n{}`],
    ['another scheme', (p) => `GET gopher://x${p} HTTP/1.1\r\nHost: x\r\n\r\n`],
    ['no authority', (p) => `GET http://${p} HTTP/1.1\r\nHost: x\r\n\r\n`],
    ['no slash', (p) => `GET ${p.slice(1)}x HTTP/1.1\r\nHost: x\r\n\r\n`],
    ['a NUL', (p) => `GET ${p}\0 HTTP/1.1\r\nHost: x\r\n\r\n`],
    ['a control character', (p) => `GET ${p}\x01 HTTP/1.1\r\nHost: x\r\n\r\n`],
    ['a header without a name', (p) => `GET ${p} HTTP/1.1\r\nHost: x\r\n: y\r\n\r\n`],
    ['a folded header', (p) => `GET ${p} HTTP/1.1\r\nHost: x\r\nX-Y: a\r\n b\r\n\r\n`],
    ['a space before the colon', (p) => `GET ${p} HTTP/1.1\r\nHost : x\r\n\r\n`],
  ];
  for (const [what, bytes] of odd)
    await Promise.all(paths.map(async (path) => isOurs('', await ask(qd, bytes(path)), `${what}: ${bytes(path).slice(0, 80)}`)));
  assert.equal(log.callCount(), 0);
  assert.equal((await qd.owner.get('/me')).status, 200);
}

async function refusePaths(t: TestContext, qd: Quarterdeck): Promise<void> {
  const log = silent(qd, t);
  const mine = `Host: x\r\nConnection: close\r\nAuthorization: Bearer ${qd.owner.key}\r\n`;
  const tails = ['%', '%zz', '%00', '%ff', 'a%2', '%c0%af', 'a'.repeat(600), 'a'.repeat(12_000), '\xff', '..%2f', '/x', ';a=b', '<script>'];
  for (const base of ['/api/v1/nowhere/', '/api/v1/tokens/', '/docs/', '/healthz/', '/token/', '/v2/', '/status/', '/nowhere'])
    for (const tail of tails)
      isOurs(base, await ask(qd, `DELETE ${base}${tail} HTTP/1.1\r\n${mine}\r\n`), `DELETE ${base}${tail.slice(0, 20)}`);
  for (const tail of tails) isOurs('', await ask(qd, `GET /docs/x${tail} HTTP/1.1\r\n${mine}\r\n`), `GET /docs/x${tail.slice(0, 20)}`);

  const bodies: [what: string, head: string, status: number][] = [
    ['an upgrade', 'GET /api/v1/nowhere HTTP/1.1\r\nUpgrade: websocket\r\n', 404],
    ['h2c', 'GET /v2/ HTTP/1.1\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQ\r\n', 401],
    ['asterisk-form', 'OPTIONS * HTTP/1.1\r\n', 404],
    ['HTTP/1.0', 'GET /api/v1/nowhere HTTP/1.0\r\n', 404],
    ['an empty Content-Type', 'POST /api/v1/tokens HTTP/1.1\r\nContent-Type:\r\nContent-Length: 2\r\n', 415],
    ['a Content-Type that is none', 'POST /api/v1/tokens HTTP/1.1\r\nContent-Type: ;;;=\r\nContent-Length: 2\r\n', 415],
    ['a Content-Type half right', 'POST /api/v1/tokens HTTP/1.1\r\nContent-Type: a/b; ="\r\nContent-Length: 2\r\n', 415],
    ['a QUERY with such a one', 'QUERY /api/v1/tokens HTTP/1.1\r\nContent-Type: ;;;=\r\nContent-Length: 2\r\n', 404],
    ['a Content-Type for nobody', 'POST /docs/x HTTP/1.1\r\nContent-Type: ;;;=\r\nContent-Length: 2\r\n', 404],
    ['JSON without a body', 'POST /api/v1/tokens HTTP/1.1\r\nContent-Type: application/json\r\n', 400],
    ['JSON with an empty body', 'POST /api/v1/tokens HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 0\r\n', 400],
    ['an empty object on DELETE', 'DELETE /api/v1/tokens/x HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 2\r\n', 404],
  ];
  for (const [what, head, status] of bodies) {
    const answer = await ask(qd, `${head}${mine}\r\n${head.includes('Length: 2') ? '{}' : ''}`);
    isOurs(head.includes('/v2/') ? '/v2' : '', answer, what);
    assert.equal(answer.status, status, what);
  }
  assert.equal(log.callCount(), 0);

  const whole = await ask(qd, `GET http://x/api/v1/me HTTP/1.1\r\n${mine}\r\n`);
  assert.equal(whole.status, 200, 'RFC 9112, 3.2.2: the absolute form is understood');
  assert.equal((await ask(qd, `GET HTTP://x/v2/ HTTP/1.1\r\n${mine}\r\n`)).headers['docker-distribution-api-version'], 'registry/2.0');
}
