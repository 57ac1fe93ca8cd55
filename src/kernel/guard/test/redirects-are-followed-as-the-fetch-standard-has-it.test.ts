import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import test, { type TestContext } from 'node:test';
import { makeGuard } from '../index.ts';
import { authority } from './certificates.ts';
import { elsewhere, loopback, names, somewhere } from './internet.ts';
import { httpServer, httpsServer } from './servers.ts';

interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

const ca = authority('Test Authority');
const tls = { ca: ca.cert };

/** here and there, by http and https, on one pair of servers that redirect as the path says: /<status>?<location>. */
async function internet(t: TestContext) {
  const seen: Seen[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks = await request.toArray();
    seen.push({ method: request.method!, url: request.url!, headers: request.headers, body: Buffer.concat(chunks).toString() });
    const [, status, location] = /^\/(3\d\d)\?(.*)$/.exec(request.url!) ?? [];
    if (status === undefined) response.end('arrived');
    else response.writeHead(Number(status), location === '' ? {} : { location: decodeURIComponent(location!) }).end('moved');
  };
  const http = await httpServer(t, answer);
  const https = await httpsServer(t, ca.issue(['here.example.org', 'there.example.org']), answer);
  const { connector, reached } = loopback(({ port }) => (port === 443 ? https : http));
  const resolver = names({ 'here.example.org': [somewhere], 'there.example.org': [elsewhere] });
  return { guard: makeGuard({ resolver, connector }), seen, reached };
}

const to = (status: number, location: string) => `https://here.example.org/${status}?${encodeURIComponent(location)}`;

test('methods and bodies change as the Fetch standard has it', async (t) => {
  const { guard, seen } = await internet(t);
  const cases: [method: string, status: number, method: string, body: string][] = [
    ['POST', 301, 'GET', ''],
    ['POST', 302, 'GET', ''],
    ['POST', 303, 'GET', ''],
    ['POST', 307, 'POST', 'cargo'],
    ['POST', 308, 'POST', 'cargo'],
    ['PUT', 301, 'PUT', 'cargo'],
    ['PUT', 302, 'PUT', 'cargo'],
    ['PUT', 303, 'GET', ''],
    ['PUT', 307, 'PUT', 'cargo'],
  ];
  for (const [method, status, then, body] of cases) {
    const headers = { 'content-type': 'text/plain', 'x-own': 'kept' };
    const response = await guard.fetch('uptime', to(status, '/end'), { method, headers, body: 'cargo', maxRedirects: 1, tls });
    assert.equal(await response.text(), 'arrived');
    const last = seen.at(-1)!;
    assert.deepEqual([method, status, last.method, last.body], [method, status, then, body]);
    assert.equal(last.headers['content-type'], body === '' ? undefined : 'text/plain');
    assert.equal(last.headers['x-own'], 'kept');
  }
  for (const status of [301, 302, 303, 307, 308]) {
    (await guard.fetch('uptime', to(status, '/end'), { method: 'HEAD', maxRedirects: 1, tls })).cancel();
    assert.equal(seen.at(-1)!.method, 'HEAD');
  }
});

test('credentials stay with the origin they were meant for', async (t) => {
  const { guard, seen, reached } = await internet(t);
  const headers = {
    Authorization: 'Bearer s3cret',
    Cookie: 's3cret',
    'X-Api-Key': 's3cret',
    Range: 'bytes=0-9',
    Accept: 'a/b',
    'User-Agent': 'me',
  };
  const response = await guard.fetch('upstream', to(307, 'https://there.example.org/blob?sig=1'), { headers, maxRedirects: 3, tls });
  response.cancel();
  assert.equal(response.url, 'https://there.example.org/blob?sig=1');
  assert.match(JSON.stringify(seen[0]!.headers), /s3cret/);
  const { 'accept-encoding': _, ...rest } = seen[1]!.headers;
  assert.deepEqual(rest, { host: 'there.example.org', range: 'bytes=0-9', accept: 'a/b', 'user-agent': 'me', connection: 'close' });
  assert.deepEqual(
    reached.map(({ address }) => address),
    [somewhere, elsewhere],
  );
  assert.deepEqual(
    response.hops.map(({ url, status, address }) => [new URL(url).host, status, address]),
    [
      ['here.example.org', 307, somewhere],
      ['there.example.org', 200, elsewhere],
    ],
  );

  // Another port or scheme is another origin too; a redirect back does not restore the headers.
  (
    await guard.fetch('upstream', to(302, 'https://there.example.org/302?https://here.example.org/end'), { headers, maxRedirects: 3, tls })
  ).cancel();
  assert.equal(seen.at(-1)!.headers.host, 'here.example.org');
  assert.doesNotMatch(JSON.stringify(seen.at(-1)!.headers), /s3cret/);
  (await guard.fetch('upstream', `http://here.example.org/302?https://here.example.org/end`, { headers, maxRedirects: 3, tls })).cancel();
  assert.doesNotMatch(JSON.stringify(seen.at(-1)!.headers), /s3cret/);
});

test('headers that a user has set stay with the first origin, whatever their names are', async (t) => {
  const { guard, seen } = await internet(t);
  const headers = { Accept: 'a/b', 'User-Agent': 'ours' };
  const originHeaders = {
    'user-agent': 's3cret',
    Accept: 's3cret',
    'Content-Type': 's3cret/s3cret',
    'If-None-Match': 's3cret',
    'Cache-Control': 's3cret',
    Range: 'bytes=0-9',
  };
  const follow = async (url: string, more: { method?: string; body?: string } = {}) => {
    (await guard.fetch('uptime', url, { headers, originHeaders, maxRedirects: 3, tls, allowDowngrade: true, ...more })).cancel();
    const { 'accept-encoding': _, ...last } = seen.at(-1)!.headers;
    return last;
  };
  const ours = { accept: 'a/b', 'user-agent': 'ours', connection: 'close' };
  const there = 'https://there.example.org/end';
  assert.equal((await follow(to(302, '/end')))['user-agent'], 's3cret');
  assert.deepEqual(await follow(to(302, there)), { host: 'there.example.org', ...ours });
  assert.deepEqual(await follow(to(302, `https://there.example.org/302?${to(302, '/end')}`)), { host: 'here.example.org', ...ours });
  assert.deepEqual(await follow(to(302, there), { method: 'POST', body: 'cargo' }), { host: 'there.example.org', ...ours });
  // A body that follows to the same server keeps what says how to read it.
  assert.deepEqual(await follow('http://here.example.org/308?https://here.example.org/end', { method: 'POST', body: 'cargo' }), {
    host: 'here.example.org',
    ...ours,
    'content-type': 's3cret/s3cret',
    'content-length': '5',
  });
});

test('a body goes to no other server, but to the same one over TLS', async (t) => {
  const { guard, seen } = await internet(t);
  const post = (url: string) => guard.fetch('uptime', url, { method: 'POST', body: 's3cret', maxRedirects: 1, tls, allowDowngrade: true });
  for (const elsewhere of ['https://there.example.org/end', 'http://here.example.org/end', 'https://here.example.org:8443/end']) {
    for (const status of [307, 308]) {
      await assert.rejects(post(to(status, elsewhere)), {
        name: 'GuardRefusal',
        kind: 'redirect',
        message: 'here.example.org redirects a request that has a body to another server; name the final URL instead',
      });
    }
    assert.equal(seen.at(-1)!.headers.host, 'here.example.org');
  }
  // Another port may be another server.
  for (const url of [
    'http://here.example.org/308?https://here.example.org:8443/end',
    'http://here.example.org:8080/308?https://here.example.org/end',
    'http://here.example.org:8080/308?https://here.example.org:8080/end',
  ])
    await assert.rejects(post(url), { name: 'GuardRefusal', kind: 'redirect' }, url);
  (await post('http://here.example.org/308?https://here.example.org/end')).cancel();
  assert.deepEqual([seen.at(-1)!.method, seen.at(-1)!.body], ['POST', 's3cret']);
  (await post(to(303, 'https://there.example.org/end'))).cancel();
  assert.deepEqual([seen.at(-1)!.method, seen.at(-1)!.body], ['GET', '']);
});

test('a redirect from https to http is refused, unless the caller says otherwise', async (t) => {
  const { guard, seen } = await internet(t);
  const url = to(302, 'http://here.example.org/end');
  await assert.rejects(guard.fetch('uptime', url, { maxRedirects: 5, tls }), { name: 'GuardRefusal', kind: 'redirect' });
  assert.equal(seen.length, 1);
  const response = await guard.fetch('uptime', url, { maxRedirects: 5, tls, allowDowngrade: true });
  assert.equal(await response.text(), 'arrived');
});

test('without redirects the answer is handed back as it is', async (t) => {
  const { guard, seen } = await internet(t);
  const response = await guard.fetch('webhook', to(302, 'https://there.example.org/'), { method: 'POST', body: '{}', tls });
  assert.deepEqual([response.status, response.headers.location, await response.text()], [302, 'https://there.example.org/', 'moved']);
  assert.equal(seen.length, 1);
});

test('only a redirect with a place to go is followed', async (t) => {
  const { guard, seen } = await internet(t);
  for (const url of [to(302, ''), to(304, '/end'), to(300, '/end'), to(305, '/end')]) {
    seen.length = 0;
    (await guard.fetch('uptime', url, { maxRedirects: 5, tls })).cancel();
    assert.equal(seen.length, 1);
  }
});

test('a loop ends', async (t) => {
  const port = await httpServer(t, (_request, response) => response.writeHead(302, { location: '/again' }).end());
  const { connector, reached } = loopback(() => port);
  const guard = makeGuard({ resolver: names({ 'here.example.org': [somewhere] }), connector });
  await assert.rejects(guard.fetch('uptime', 'http://here.example.org/', { maxRedirects: 5 }), {
    name: 'GuardFailure',
    kind: 'too_many_redirects',
  });
  assert.equal(reached.length, 6);
});

test('the time for the whole is not given anew at each hop', async (t) => {
  const port = await httpServer(t, (_request, response) => {
    setTimeout(() => response.writeHead(302, { location: '/again' }).end(), 15);
  });
  const { connector } = loopback(() => port);
  const guard = makeGuard({ resolver: names({ 'here.example.org': [somewhere] }), connector });
  const looping = guard.fetch('uptime', 'http://here.example.org/', { maxRedirects: 1000, timeouts: { totalMs: 100 } });
  await assert.rejects(looping, { name: 'GuardFailure', message: 'there was no whole answer within 100 ms' });
});
