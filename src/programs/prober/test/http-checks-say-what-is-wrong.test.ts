// alone: it measures what the process holds in memory
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { test } from 'node:test';
import { createSecureContext } from 'node:tls';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { tcpConnector } from '../../../kernel/guard/connector.ts';
import { GuardFailure, type GuardOptions, parseAllow } from '../../../kernel/guard/index.ts';
import { authority } from '../../../kernel/guard/test/certificates.ts';
import { nameServer } from '../../../kernel/guard/test/name-server.ts';
import { httpServer, httpsServer, tcpServer } from '../../../kernel/guard/test/servers.ts';
import type { HttpTarget } from '../../../protocols/agent.ts';
import { checkHttp } from '../checks/check-http.ts';
import { proberGuard } from '../checks/guard.ts';
import { httpTarget } from './support.ts';

const ca = authority('test');
const tls = { context: createSecureContext({ ca: ca.cert }) };
const allow = parseAllow('127.0.0.0/8');

const check = (url: string, more: Partial<HttpTarget> = {}, { timeoutMs = 2000, ...options }: GuardOptions & { timeoutMs?: number } = {}) =>
  checkHttp(proberGuard({ allow, ...options }), {
    target: httpTarget(url, more),
    timeoutMs,
    userAgent: 'Quarterdeck-uptime/1 (test)',
    tls,
  });

const answers = (write: (response: ServerResponse, path: string) => void) => (request: { url?: string }, response: ServerResponse) =>
  write(response, request.url ?? '');

test('a healthy target passes, with every phase and the answer’s data', async (t) => {
  let seen: Record<string, unknown> = {};
  const port = await httpServer(t, (request, response) => {
    seen = { ...request.headers, method: request.method };
    response.end('hello');
  });
  const found = await check(`http://127.0.0.1:${port}/`, { headers: { 'X-Key': 'k' } });
  assert.equal(found.outcome, 'pass');
  assert.deepEqual(
    { status: found.status, redirects: found.redirects, family: found.family, httpVersion: found.httpVersion, length: found.contentLength },
    { status: 200, redirects: 0, family: 4, httpVersion: '1.1', length: 5 },
  );
  assert.deepEqual(Object.keys(found.phases!).sort(), ['connect', 'firstByte', 'resolve', 'transfer']);
  const sum = Object.values(found.phases!).reduce((a, b) => a + b, 0);
  assert.ok(sum <= found.latencyMs! + 1, `${sum} ms of phases in ${found.latencyMs} ms`);
  assert.ok(!('errorKind' in found) && !('snippet' in found));
  assert.deepEqual([seen['user-agent'], seen['x-key'], seen['method']], ['Quarterdeck-uptime/1 (test)', 'k', 'GET']);
});

test('a healthy https target passes, with its certificate’s end and the version of TLS', async (t) => {
  const port = await httpsServer(t, ca.issue(['localhost'], { notAfter: '20310102030405Z' }), (_, response) => response.end());
  const found = await check(`https://localhost:${port}/`);
  assert.equal(found.outcome, 'pass');
  assert.equal(found.certificateUntil, Date.UTC(2031, 0, 2, 3, 4, 5));
  assert.match(found.tlsVersion!, /^TLSv1\.[23]$/);
  assert.ok(found.phases!.tls! > 0);
});

test('another origin gets no header that the monitor sets, and ours instead', async (t) => {
  const seen: Record<string, unknown>[] = [];
  const arrived = await httpServer(t, (request, response) => {
    seen.push(request.headers);
    response.end();
  });
  const redirects = await httpServer(t, (request, response) => {
    seen.push(request.headers);
    response.writeHead(302, { location: `http://127.0.0.1:${arrived}/` }).end();
  });
  const headers = { 'User-Agent': 's3cret', Accept: 's3cret', 'If-None-Match': 's3cret', 'X-Key': 's3cret', 'Content-Type': 's3cret' };
  assert.equal((await check(`http://127.0.0.1:${redirects}/`, { headers })).outcome, 'pass');
  for (const name of Object.keys(headers)) assert.equal(seen[0]![name.toLowerCase()], 's3cret', name);
  assert.equal(seen[1]!['user-agent'], 'Quarterdeck-uptime/1 (test)');
  assert.doesNotMatch(JSON.stringify(seen[1]), /s3cret/);
});

test('HEAD and POST are what they say', async (t) => {
  const seen: string[] = [];
  const port = await httpServer(t, async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    seen.push(`${request.method} ${body}`);
    response.setHeader('content-length', 3).end(request.method === 'HEAD' ? undefined : 'abc');
  });
  const url = `http://127.0.0.1:${port}/`;
  assert.equal((await check(url, { method: 'HEAD' })).outcome, 'pass');
  assert.equal((await check(url, { method: 'POST', bodyBase64: Buffer.from('{"a":1}').toString('base64') })).outcome, 'pass');
  assert.deepEqual(seen, ['HEAD ', 'POST {"a":1}']);
});

test('a status that was not expected fails, and shows how the answer begins', async (t) => {
  const port = await httpServer(
    t,
    answers((response) => response.writeHead(503).end('<h1>\u0000down\u001b[31m</h1>\r\n')),
  );
  const url = `http://127.0.0.1:${port}/`;
  const found = await check(url);
  assert.deepEqual(
    [found.outcome, found.errorKind, found.errorDetail, found.snippet, found.status],
    ['fail', 'status_mismatch', 'answered 503; expected 2xx', '<h1> down [31m</h1>', 503],
  );
  for (const expectStatus of [['503'], ['200', '5xx'], ['500-599'], ['503-503']])
    assert.equal((await check(url, { expectStatus })).outcome, 'pass');
  for (const expectStatus of [['502'], ['4xx'], ['504-599'], ['500-502']])
    assert.equal((await check(url, { expectStatus })).outcome, 'fail');
});

test('the expected text is looked for in the unpacked body, across chunks and characters', async (t) => {
  const port = await httpServer(
    t,
    answers((response, path) => {
      const text = 'Grüße: all systems go';
      if (path === '/gzip') return void response.setHeader('content-encoding', 'gzip').end(gzipSync(text));
      if (path === '/br') return void response.setHeader('content-encoding', 'br').end(brotliCompressSync(text));
      const bytes = Buffer.from(text);
      response.write(bytes.subarray(0, 3));
      setImmediate(() => response.end(bytes.subarray(3)));
    }),
  );
  for (const path of ['/plain', '/gzip', '/br']) {
    assert.equal((await check(`http://127.0.0.1:${port}${path}`, { expectBodyContains: 'Grüße: all' })).outcome, 'pass', path);
    const other = await check(`http://127.0.0.1:${port}${path}`, { expectBodyContains: 'maintenance' });
    assert.deepEqual([other.outcome, other.errorKind, other.snippet], ['fail', 'body_mismatch', 'Grüße: all systems go'], path);
  }
});

test('an endless body is cut: it fails only where something was expected of it', async (t) => {
  const port = await httpServer(
    t,
    answers((response) => {
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
      };
      response.on('drain', more);
      more();
    }),
  );
  const url = `http://127.0.0.1:${port}/`;
  assert.equal((await check(url)).outcome, 'pass');
  const found = await check(url, { expectBodyContains: 'needle' });
  assert.deepEqual([found.outcome, found.errorKind], ['fail', 'body_mismatch']);
  assert.equal(Buffer.byteLength(found.snippet!), 1024);
});

test('a packed bomb is cut', async (t) => {
  const bomb = gzipSync(Buffer.alloc(64 * 2 ** 20));
  const port = await httpServer(
    t,
    answers((response) => response.setHeader('content-encoding', 'gzip').end(bomb)),
  );
  const before = process.memoryUsage().rss;
  const found = await check(`http://127.0.0.1:${port}/`, { expectBodyContains: 'needle' });
  assert.deepEqual([found.outcome, found.errorKind], ['fail', 'body_mismatch']);
  assert.equal((await check(`http://127.0.0.1:${port}/`)).outcome, 'pass');
  assert.ok(process.memoryUsage().rss - before < 48 * 2 ** 20);
});

const errors: Record<
  string,
  (t: Parameters<typeof httpServer>[0]) => Promise<[url: string, kind: string, options?: object, target?: object]>
> = {
  'nobody listens': async (t) => {
    const port = await tcpServer(t, () => {});
    await new Promise<void>((resolve) => {
      const free = createServer().listen(0, '127.0.0.1', () => {
        const { port: closed } = free.address() as AddressInfo;
        free.close(() => resolve());
        unused = closed;
      });
    });
    assert.notEqual(unused, port);
    return [`http://127.0.0.1:${unused}/`, 'connection_refused'];
  },
  'reset before an answer': async (t) => [
    `http://127.0.0.1:${await tcpServer(t, (s) => void s.once('data', () => s.resetAndDestroy()))}/`,
    'connection_reset',
  ],
  'closed without an answer': async (t) => [
    `http://127.0.0.1:${await tcpServer(t, (s) => void s.once('data', () => s.end()))}/`,
    'connection_reset',
  ],
  'reset in the body': async (t) => [
    `http://127.0.0.1:${await tcpServer(t, (s) => void s.once('data', () => s.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc', () => setTimeout(() => s.resetAndDestroy(), 20))))}/`,
    'connection_reset',
  ],
  'body shorter than announced': async (t) => [
    `http://127.0.0.1:${await tcpServer(t, (s) => void s.once('data', () => s.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc')))}/`,
    'connection_reset',
  ],
  'another protocol': async (t) => [`http://127.0.0.1:${await tcpServer(t, (s) => void s.end('SSH-2.0-OpenSSH_9.2\r\n'))}/`, 'protocol'],
  'headers without end': async (t) => [
    `http://127.0.0.1:${await tcpServer(t, (s) => void s.once('data', () => s.write(`HTTP/1.1 200 OK\r\nX: ${'x'.repeat(100_000)}\r\n\r\n`)))}/`,
    'protocol',
  ],
  'broken archive': async (t) => [
    `http://127.0.0.1:${await httpServer(
      t,
      answers((r) => r.setHeader('content-encoding', 'gzip').end('no archive')),
    )}/`,
    'protocol',
  ],
  'no answer in time': async (t) => [`http://127.0.0.1:${await httpServer(t, () => {})}/`, 'timeout', { timeoutMs: 100 }],
  'a body that stops': async (t) => [
    `http://127.0.0.1:${await httpServer(
      t,
      answers((r) => r.writeHead(200, { 'content-length': 9 }).write('abc')),
    )}/`,
    'timeout',
    { timeoutMs: 100 },
  ],
  'a drop at a time': async (t) => [
    `http://127.0.0.1:${await httpServer(
      t,
      answers((r) => {
        const drip = setInterval(() => r.write('.'), 20);
        r.on('close', () => clearInterval(drip));
      }),
    )}/`,
    'timeout',
    { timeoutMs: 150 },
  ],
  'no connection in time': async () => [
    'http://slow.example/',
    'connect_timeout',
    {
      timeoutMs: 50,
      resolver: { resolve: async () => [{ address: '8.8.8.8' }] },
      connector: (_: unknown, signal: AbortSignal) =>
        new Promise((_r, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    },
  ],
  'no route': async () => [
    'http://far.example/',
    'network_unreachable',
    {
      resolver: { resolve: async () => [{ address: '8.8.8.8' }] },
      connector: async () => Promise.reject(Object.assign(new Error('no'), { code: 'ENETUNREACH' })),
    },
  ],
  'unknown name': async (t) => ['http://nobody.example/', 'dns_not_found', { dnsServers: [(await nameServer(t, {})).address] }],
  'broken name server': async (t) => [
    'http://broken.example/',
    'dns_failure',
    { dnsServers: [(await nameServer(t, { 'broken.example': { A: 'servfail', AAAA: 'servfail' } })).address] },
  ],
  'silent name server': async (t) => [
    'http://silent.example/',
    'dns_timeout',
    { timeoutMs: 100, dnsServers: [(await nameServer(t, { 'silent.example': { A: 'silence', AAAA: 'silence' } })).address] },
  ],
  'no TLS there': async (t) => [
    `https://localhost:${await tcpServer(t, (s) => void s.on('data', () => s.end('what?\r\n')))}/`,
    'tls_handshake',
  ],
  'closed during the handshake': async (t) => [
    `https://localhost:${await tcpServer(t, (s) => void s.once('data', () => s.end()))}/`,
    'connection_reset',
  ],
  'handshake without end': async (t) => [`https://localhost:${await tcpServer(t, (s) => void s.resume())}/`, 'timeout', { timeoutMs: 100 }],
  'expired certificate': async (t) => [
    `https://localhost:${await httpsServer(
      t,
      ca.issue(['localhost'], { notAfter: '20210101000000Z' }),
      answers((r) => r.end()),
    )}/`,
    'tls_certificate',
  ],
  'certificate for another name': async (t) => [
    `https://localhost:${await httpsServer(
      t,
      ca.issue(['other.example']),
      answers((r) => r.end()),
    )}/`,
    'tls_certificate',
  ],
  'certificate of nobody': async (t) => [
    `https://localhost:${await httpsServer(
      t,
      authority('stranger').issue(['localhost']),
      answers((r) => r.end()),
    )}/`,
    'tls_certificate',
  ],
  'self-signed certificate': async (t) => [
    `https://localhost:${await httpsServer(
      t,
      authority('localhost'),
      answers((r) => r.end()),
    )}/`,
    'tls_certificate',
  ],
  'a certificate of ours is demanded': async (t) => {
    const { cert, key } = ca.issue(['localhost']);
    const server = createServer({ cert, key, ca: ca.cert, requestCert: true, rejectUnauthorized: true }, (_, r) => r.end()).listen(
      0,
      '127.0.0.1',
    );
    const open = new Set<Socket>();
    server.on('connection', (socket: Socket) => open.add(socket.on('error', () => {})));
    await new Promise((resolve) => server.once('listening', resolve));
    t.after(() => {
      for (const socket of open) socket.destroy();
      server.close();
    });
    return [`https://localhost:${(server.address() as AddressInfo).port}/`, 'tls_handshake'];
  },
  'redirects in a circle': async (t) => [
    `http://127.0.0.1:${await httpServer(
      t,
      answers((r) => r.writeHead(302, { location: '/again' }).end()),
    )}/`,
    'too_many_redirects',
  ],
  'redirect to a private address': async (t) => [
    `http://127.0.0.1:${await httpServer(
      t,
      answers((r) => r.writeHead(302, { location: 'http://10.0.0.1/' }).end()),
    )}/`,
    'blocked_target',
  ],
  'redirect to the cloud’s keys': async (t) => [
    `http://127.0.0.1:${await httpServer(
      t,
      answers((r) => r.writeHead(307, { location: 'http://[::ffff:169.254.169.254]/latest/' }).end()),
    )}/`,
    'blocked_target',
  ],
  'redirect to a file': async (t) => [
    `http://127.0.0.1:${await httpServer(
      t,
      answers((r) => r.writeHead(302, { location: 'file:///etc/passwd' }).end()),
    )}/`,
    'blocked_target',
  ],
  'a private address': async () => ['http://192.168.1.1/', 'blocked_target'],
  'a name of a private address': async () => [
    'http://inner.example/',
    'blocked_target',
    { resolver: { resolve: async () => [{ address: '10.1.2.3' }] } },
  ],
  'a header that begins another': async (t) => [
    `http://127.0.0.1:${await httpServer(
      t,
      answers((r) => r.end()),
    )}/`,
    'blocked_target',
    {},
    { headers: { 'x-a': 'b\r\nHost: inner' } },
  ],
};
let unused = 0;

for (const [what, make] of Object.entries(errors)) {
  test(`${what}: an error`, async (t) => {
    const [url, kind, options = {}, target = {}] = await make(t);
    const found = await check(url, target, options);
    assert.deepEqual([found.outcome, found.errorKind], ['error', kind]);
    assert.ok(found.errorDetail!.length > 10 && found.errorDetail!.length <= 500, found.errorDetail!);
    assert.ok(!/10\.1\.2\.3|8\.8\.8\.8/.test(found.errorDetail!), 'a looked-up address is not for outsiders');
    assert.ok(found.latencyMs! >= 0 && typeof found.snippet === 'string');
  });
}

test('what arrived before a failure is shown', async (t) => {
  const port = await tcpServer(t, (s) => void s.once('data', () => s.end('HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\nhalf a page')));
  const found = await check(`http://127.0.0.1:${port}/`);
  assert.deepEqual([found.errorKind, found.snippet, found.status], ['connection_reset', 'half a page', 200]);
});

test('five redirects are followed, also from https to http, and none when they are not wanted', async (t) => {
  const plain = await httpServer(
    t,
    answers((r, path) => (path === '/5' ? r.end('there') : r.writeHead(302, { location: `/${Number(path.slice(1)) + 1}` }).end())),
  );
  const found = await check(`http://127.0.0.1:${plain}/0`);
  assert.deepEqual([found.outcome, found.redirects], ['pass', 5]);
  const secure = await httpsServer(
    t,
    ca.issue(['localhost']),
    answers((r) => r.writeHead(301, { location: `http://127.0.0.1:${plain}/5` }).end()),
  );
  const down = await check(`https://localhost:${secure}/`);
  assert.deepEqual([down.outcome, down.redirects], ['pass', 1]);
  assert.ok(down.phases!.tls! > 0);
  const stays = await check(`http://127.0.0.1:${plain}/0`, { followRedirects: false });
  assert.deepEqual([stays.outcome, stays.errorKind, stays.status], ['fail', 'status_mismatch', 302]);
  assert.equal((await check(`http://127.0.0.1:${plain}/0`, { followRedirects: false, expectStatus: ['302'] })).outcome, 'pass');
});

test('our own trouble is thrown, not blamed on the target', async () => {
  const resolver = { resolve: async () => [{ address: '8.8.8.8' }] };
  for (const code of ['EMFILE', 'ENOMEM', 'EADDRNOTAVAIL']) {
    const connector = async () => Promise.reject(Object.assign(new Error(code), { code }));
    await assert.rejects(check('http://some.example/', {}, { resolver, connector }));
  }
  const failure = new GuardFailure('connection_refused', 'connect', 'x', { cause: Object.assign(new Error(), { code: 'ECONNREFUSED' }) });
  assert.equal((await check('http://some.example/', {}, { resolver, connector: async () => Promise.reject(failure) })).outcome, 'error');
});

test('a redirect to the mail port of somebody’s server is not followed', async (t) => {
  const port = await httpServer(
    t,
    answers((r) => r.writeHead(302, { location: 'http://mail.example:25/' }).end()),
  );
  const dialed: number[] = [];
  const found = await check(
    `http://127.0.0.1:${port}/`,
    {},
    {
      resolver: { resolve: async () => [{ address: '8.8.8.8', family: 4 }] },
      connector: async (endpoint, signal) => {
        dialed.push(endpoint.port);
        if (endpoint.port !== port) throw new Error('nothing leaves this machine');
        return tcpConnector(endpoint, signal);
      },
    },
  );
  assert.deepEqual([found.outcome, found.errorKind, dialed], ['error', 'blocked_target', [port]]);
});
