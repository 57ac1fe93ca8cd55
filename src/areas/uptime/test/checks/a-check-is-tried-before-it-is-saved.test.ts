import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { desk, made } from '../agent-context.ts';

const open = { env: { QUARTERDECK_ALLOW_PRIVATE_CIDRS: 'uptime=127.0.0.1/32' } };

async function target(t: TestContext, answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  t.after(() => server.close().closeAllConnections());
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
}

test('a trial says what a check of the monitor would see, and keeps nothing', async (t) => {
  const { owner } = await desk(t, open);
  let asked: Record<string, unknown> = {};
  const url = await target(t, (request, response) => {
    asked = { method: request.method, key: request.headers['x-key'], agent: request.headers['user-agent'] };
    response.writeHead(request.url === '/down' ? 503 : 200).end(request.url === '/down' ? 'maintenance \u001b[31mmode' : 'all is well');
  });
  const attempt = (path: string, more: Record<string, unknown> = {}, rest: Record<string, unknown> = {}) =>
    made(owner.post('/uptime/monitors/try', { kind: 'http', http: { url: `${url}${path}`, ...more }, ...rest }));

  const well = await attempt('/', { headers: { 'X-Key': 's3cret' }, expectBodyContains: 'well' });
  assert.deepEqual(
    [well.vantage, well.passed, well.outcome, well.status, well.redirects, well.ipVersion],
    ['local', true, 'pass', 200, 0, 4],
  );
  assert.deepEqual(Object.keys(well.phases).sort(), ['connect', 'firstByte', 'resolve', 'transfer']);
  assert.ok(well.latencyMs > 0 && !('responseSnippet' in well));
  assert.deepEqual([asked['method'], asked['key']], ['GET', 's3cret']);
  assert.match(String(asked['agent']), /^Quarterdeck-uptime\/1 \(\+http/);

  const down = await attempt('/down');
  assert.deepEqual(
    [down.passed, down.outcome, down.status, down.errorKind, down.errorDetail, down.responseSnippet],
    [false, 'fail', 503, 'status_mismatch', 'answered 503; expected 2xx', 'maintenance  [31mmode'],
  );
  const other = await attempt('/', { expectBodyContains: 'nothing of the kind' });
  assert.deepEqual([other.errorKind, other.responseSnippet], ['body_mismatch', 'all is well']);

  const socket = createTcpServer((each) => each.end('+OK ready\r\n')).listen(0, '127.0.0.1');
  await new Promise((resolve) => socket.once('listening', resolve));
  t.after(() => socket.close());
  const { port } = socket.address() as { port: number };
  const tcp = { host: '127.0.0.1', port, expectPrefixBase64: Buffer.from('-ERR').toString('base64') };
  const mismatch = await made(owner.post('/uptime/monitors/try', { kind: 'tcp', tcp }));
  assert.deepEqual([mismatch.errorKind, mismatch.responseSnippet], ['prefix_mismatch', '+OK ready']);

  assert.deepEqual((await made(owner.get('/uptime/monitors'))).monitors, []);
});

test('a trial goes where a check may go, for as long as a check may take, and is refused in the same words', async (t) => {
  const { owner, narrowed, organization } = await desk(t, open);
  const url = await target(t, () => {}); // never answers
  // A server that was too busy to judge says so, and is asked again.
  const attempt = async (body: Record<string, unknown>, by = owner) => {
    for (;;) {
      const answer = await by.post('/uptime/monitors/try', body);
      if (answer.status !== 503) return answer;
    }
  };

  const guarded = await attempt({ kind: 'http', http: { url: 'http://169.254.169.254/latest' } });
  const saved = await owner.post('/uptime/monitors', {
    name: 'x',
    kind: 'http',
    http: { url: 'http://169.254.169.254/latest' },
    intervalSeconds: 60,
    vantages: ['local'],
  });
  assert.deepEqual([guarded.status, guarded.body], [400, saved.body]);
  // A name is judged once it is resolved, and no name resolves here.
  const named = await made(attempt({ kind: 'http', http: { url: 'http://shop.example/' }, timeoutMs: 500 }));
  assert.deepEqual([named.outcome, named.passed], ['error', false]);
  assert.match(named.errorKind, /^dns_/);
  const late = await made(attempt({ kind: 'http', http: { url }, timeoutMs: 500 }));
  assert.deepEqual([late.errorKind, late.passed], ['timeout', false]);

  for (const [body, sentence] of [
    [{ kind: 'http' }, /^http is required/],
    [{ kind: 'tcp', tcp: { host: 'a.example', port: 25 } }, /^tcp\.port names port 25/],
    [{ kind: 'http', http: { url, headers: { 'X-Key': '***' } } }, /^http\.headers\.X-Key is \*\*\*/],
    [{ kind: 'http', http: { url }, timeoutMs: 60_000 }, /timeoutMs/],
  ] as const) {
    const refused = await attempt(body);
    assert.equal(refused.status, 400);
    assert.match(refused.body.error, sentence);
  }
  const viewer = await narrowed(owner, [{ role: 'uptime.viewer' }]);
  assert.equal((await attempt({ kind: 'http', http: { url } }, viewer)).status, 403);

  const its = await made(
    owner.post('/uptime/monitors', { name: 'x', kind: 'http', http: { url }, intervalSeconds: 60, vantages: ['local'] }),
  );
  const stranger = await organization('neighbour');
  assert.equal((await attempt({ kind: 'http', http: { url }, monitorId: its.id }, stranger)).status, 404);
  const elsewhere = await narrowed(owner, [{ role: 'uptime.editor', resourceIds: ['mon_other'] }]);
  assert.equal((await attempt({ kind: 'http', http: { url }, monitorId: its.id }, elsewhere)).status, 403);

  const atOnce = await Promise.all(Array.from({ length: 4 }, () => attempt({ kind: 'http', http: { url }, timeoutMs: 2_000 })));
  const refused = atOnce.filter((answer) => answer.status === 429);
  assert.equal(refused.length, 1, `${atOnce.map((a) => a.status)}`);
  assert.deepEqual([refused[0]!.headers.get('retry-after'), refused[0]!.headers.get('x-error-code')], ['2', 'rate_limited']);
  assert.equal((await attempt({ kind: 'tcp', tcp: { host: '127.0.0.1', port: 1 } })).status, 200, 'places are given back');
});

test('a trial of an edit uses the stored values, and shows no answer that may repeat them', async (t) => {
  const { owner } = await desk(t, open);
  const keys: unknown[] = [];
  const url = await target(t, (request, response) => {
    keys.push(request.headers['x-key']);
    response.writeHead(500).end(`you sent ${request.headers['x-key']}`);
  });
  const http = { url, headers: { 'X-Key': 's3cret' } };
  const { id } = await made(owner.post('/uptime/monitors', { name: 'x', kind: 'http', http, intervalSeconds: 60, vantages: ['local'] }));
  const masked = { url, headers: { 'X-Key': '***' } };
  const tried = await made(owner.post('/uptime/monitors/try', { kind: 'http', monitorId: id, http: masked }));
  assert.deepEqual([tried.status, tried.errorKind, 'responseSnippet' in tried, keys], [500, 'status_mismatch', false, ['s3cret']]);
  const lured = await owner.post('/uptime/monitors/try', {
    kind: 'http',
    monitorId: id,
    http: { ...masked, url: 'https://lure.example/' },
  });
  assert.equal(lured.status, 400);
  assert.match(lured.body.error, /^http\.url names another server/);
  const guess = await owner.post('/uptime/monitors/try', { kind: 'http', monitorId: id, http: { ...masked, expectBodyContains: 's3' } });
  assert.match(guess.body.error, /^http\.expectBodyContains is not the one that is stored/);
  const own = await made(owner.post('/uptime/monitors/try', { kind: 'http', monitorId: id, http: { url, headers: { 'X-Key': 'mine' } } }));
  assert.equal(own.responseSnippet, 'you sent mine');
});
