import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { createSecureContext } from 'node:tls';
import { promisify } from 'node:util';
import { makeGuard, parseAllow } from '../../src/kernel/guard/index.ts';
import { authority } from '../../src/kernel/guard/test/certificates.ts';
import { httpServer, httpsServer, tcpServer } from '../../src/kernel/guard/test/servers.ts';
import { checkHttp } from '../../src/programs/prober/checks/check-http.ts';
import { checkTcp } from '../../src/programs/prober/checks/check-tcp.ts';
import type { Observation } from '../../src/programs/prober/checks/observation.ts';
import { freePort } from '../harness/free-port.ts';
import { eventually } from '../harness/process.ts';

// Three probers look at the same targets: ours, Prometheus' blackbox_exporter and Nagios' plugins. They must be of one opinion.

const ca = authority('clients');
const plugins = '/usr/lib/nagios/plugins';
const guard = makeGuard({ allow: parseAllow('127.0.0.0/8') });
const tls = { context: createSecureContext({ ca: ca.cert }) };
const timeoutMs = 2_000;
const wanted = 'all systems go';

const ours = (url: string, expectBodyContains?: string): Promise<Observation> =>
  checkHttp(guard, {
    target: {
      url,
      method: 'GET',
      headers: {},
      followRedirects: true,
      expectStatus: ['2xx'],
      ...(expectBodyContains && { expectBodyContains }),
    },
    timeoutMs,
    userAgent: 'Quarterdeck-uptime/1',
    tls,
  });

interface Exporter {
  /** Its metrics by name, labels and all. */
  probe(module: string, target: string): Promise<Map<string, number>>;
}

async function exporter(t: TestContext): Promise<Exporter> {
  const dir = await mkdtemp(join(tmpdir(), 'qd-bbe-'));
  await writeFile(join(dir, 'ca.pem'), ca.cert);
  const http = (more = '') =>
    `{ prober: http, timeout: 2s, http: { preferred_ip_protocol: ip4, tls_config: { ca_file: ${dir}/ca.pem }${more} } }`;
  await writeFile(
    join(dir, 'bbe.yml'),
    `modules:
  http: ${http()}
  body: ${http(`, fail_if_body_not_matches_regexp: ["${wanted}"]`)}
  tcp: { prober: tcp, timeout: 2s, tcp: { preferred_ip_protocol: ip4 } }
  tls: { prober: tcp, timeout: 2s, tcp: { preferred_ip_protocol: ip4, tls: true, tls_config: { ca_file: ${dir}/ca.pem, server_name: localhost } } }
  smtp: { prober: tcp, timeout: 2s, tcp: { preferred_ip_protocol: ip4, query_response: [{ send: "HELO" }, { expect: "^220 " }] } }
`,
  );
  const listen = `127.0.0.1:${await freePort()}`;
  const child = spawn('prometheus-blackbox-exporter', [`--config.file=${dir}/bbe.yml`, `--web.listen-address=${listen}`], {
    stdio: 'ignore',
  });
  const ended = once(child, 'exit');
  t.after(async () => {
    child.kill('SIGKILL');
    await ended;
    await rm(dir, { recursive: true, force: true });
  });
  await eventually(async () => (await fetch(`http://${listen}/-/healthy`)).ok);
  return {
    async probe(module, target) {
      const text = await (await fetch(`http://${listen}/probe?module=${module}&target=${encodeURIComponent(target)}`)).text();
      const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
      return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]));
    },
  };
}

/** Nagios: 0 is well, 1 a warning, 2 critical. */
async function plugin(name: string, ...args: string[]): Promise<number> {
  return promisify(execFile)(join(plugins, name), args).then(
    () => 0,
    (error: { code: number }) => error.code,
  );
}
const checkHttpPlugin = (url: string, ...more: string[]) => {
  const { port, pathname, protocol } = new URL(url);
  // Its own idea of a name for localhost is the first address of getaddrinfo, so both are said.
  const secure = protocol === 'https:' ? ['--ssl', '--sni', '--verify-host'] : [];
  return plugin(
    'check_http',
    '-I',
    '127.0.0.1',
    '-H',
    'localhost',
    '-p',
    port,
    '-u',
    pathname,
    '-t',
    '2',
    '-f',
    'follow',
    ...secure,
    ...more,
  );
};

test('healthy, slow, refused, reset, wrong status, wrong body, redirects: one opinion of all three', { timeout: 120_000 }, async (t) => {
  const bbe = await exporter(t);
  const answers = (write: (response: ServerResponse) => void) => httpServer(t, (_, response) => write(response));
  const healthy = await answers((r) => r.end(`<p>${wanted}</p>`));
  let hops = 0;
  const redirecting = await httpServer(t, (request, r) =>
    request.url === '/there' ? r.end(wanted) : r.writeHead(302, { location: ++hops % 2 ? '/again' : '/there' }).end(),
  );
  const targets: Record<string, [url: string, well: boolean, body?: string]> = {
    healthy: [`http://127.0.0.1:${healthy}/`, true],
    'a little slow': [`http://127.0.0.1:${await answers((r) => setTimeout(() => r.end('late'), 400))}/`, true],
    'too slow': [`http://127.0.0.1:${await answers(() => {})}/`, false],
    refused: [`http://127.0.0.1:${await freePort()}/`, false],
    reset: [`http://127.0.0.1:${await tcpServer(t, (s) => void s.once('data', () => s.resetAndDestroy()))}/`, false],
    'not http': [`http://127.0.0.1:${await tcpServer(t, (s) => void s.end('SSH-2.0-x\r\n'))}/`, false],
    'wrong status': [`http://127.0.0.1:${await answers((r) => r.writeHead(503).end('down'))}/`, false],
    'right body': [`http://127.0.0.1:${healthy}/`, true, wanted],
    'wrong body': [`http://127.0.0.1:${await answers((r) => r.end('under construction'))}/`, false, wanted],
    redirects: [`http://127.0.0.1:${redirecting}/`, true],
    'redirects in a circle': [`http://127.0.0.1:${await answers((r) => r.writeHead(302, { location: '/round' }).end())}/`, false],
  };
  for (const [what, [url, well, body]] of Object.entries(targets)) {
    const [us, them, nagios] = [
      await ours(url, body),
      await bbe.probe(body === undefined ? 'http' : 'body', url),
      await checkHttpPlugin(url, ...(body === undefined ? [] : ['-s', body])),
    ];
    assert.deepEqual(
      [us.outcome === 'pass', them.get('probe_success') === 1, nagios === 0],
      [well, well, well],
      `${what}: ${JSON.stringify(us)}`,
    );
    if (us.status !== undefined && us.errorKind !== 'too_many_redirects') assert.equal(us.status, them.get('probe_http_status_code'), what);
    if (well) {
      assert.equal(us.redirects, them.get('probe_http_redirects'), what);
      assert.equal(Number(us.httpVersion), them.get('probe_http_version'), what);
    }
  }
});

test('https: good, expired, of nobody, for another name, no TLS at all: one opinion, and the same end of the certificate', {
  timeout: 120_000,
}, async (t) => {
  const bbe = await exporter(t);
  const page = (_: unknown, r: ServerResponse) => void r.end('ok');
  const end = '20310102030405Z';
  const good = await httpsServer(t, ca.issue(['localhost'], { notAfter: end }), page);
  const targets: Record<string, [port: number, well: boolean]> = {
    good: [good, true],
    expired: [await httpsServer(t, ca.issue(['localhost'], { notAfter: '20210101000000Z' }), page), false],
    'of nobody': [await httpsServer(t, authority('stranger').issue(['localhost']), page), false],
    'for another name': [await httpsServer(t, ca.issue(['other.example']), page), false],
    'no TLS': [await httpServer(t, page), false],
  };
  for (const [what, [port, well]] of Object.entries(targets)) {
    const url = `https://localhost:${port}/`;
    const [us, them] = [await ours(url), await bbe.probe('http', url)];
    assert.deepEqual([us.outcome === 'pass', them.get('probe_success') === 1], [well, well], `${what}: ${JSON.stringify(us)}`);
  }
  const [us, them] = [await ours(`https://localhost:${good}/`), await bbe.probe('http', `https://localhost:${good}/`)];
  assert.equal(us.certificateUntil! / 1000, them.get('probe_ssl_earliest_cert_expiry'));
  assert.ok(them.has(`probe_tls_version_info{version="${us.tlsVersion!.replace('TLSv', 'TLS ')}"}`), us.tlsVersion!);
  assert.equal(them.get('probe_http_ssl'), 1);
});

test('phases: where the time goes is told alike', { timeout: 120_000 }, async (t) => {
  const bbe = await exporter(t);
  // 300 ms before the head, 200 ms within the body.
  const slow = (_: unknown, r: ServerResponse) =>
    void setTimeout(() => {
      r.write('begin');
      setTimeout(() => r.end('end'), 200);
    }, 300);
  const url = `https://localhost:${await httpsServer(t, ca.issue(['localhost']), slow)}/`;
  const us = await ours(url);
  const them = await bbe.probe('http', url);
  const phase = (name: string) => them.get(`probe_http_duration_seconds{phase="${name}"}`)! * 1000;
  const near = (mine: number, other: number, what: string) =>
    assert.ok(Math.abs(mine - other) < 120, `${what}: ${mine} ms and ${other} ms`);
  near(us.phases!.resolve!, phase('resolve'), 'resolve');
  near(us.phases!.connect!, phase('connect'), 'connect');
  near(us.phases!.tls!, phase('tls'), 'tls');
  near(us.phases!.firstByte!, phase('processing'), 'processing');
  near(us.phases!.transfer!, phase('transfer'), 'transfer');
  assert.ok(us.phases!.firstByte! >= 290 && us.phases!.transfer! >= 190);
  near(us.latencyMs!, them.get('probe_duration_seconds')! * 1000, 'all of it');
});

test('tcp: open, closed, talking, silent, with TLS: one opinion of all three', { timeout: 120_000 }, async (t) => {
  const bbe = await exporter(t);
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const greets = await tcpServer(t, (s) => void s.write('220 mail.example ready\r\n'));
  const mutters = await tcpServer(t, (s) => void s.end('554 go away\r\n'));
  const silent = await tcpServer(t, () => {});
  const secure = await httpsServer(t, ca.issue(['localhost']), (_, r) => r.end());
  const closed = await freePort();
  const cases: [what: string, port: number, module: 'tcp' | 'tls' | 'smtp', well: boolean][] = [
    ['open', silent, 'tcp', true],
    ['closed', closed, 'tcp', false],
    ['greets', greets, 'smtp', true],
    ['mutters', mutters, 'smtp', false],
    ['silent', silent, 'smtp', false],
    ['TLS', secure, 'tls', true],
    ['no TLS', mutters, 'tls', false],
  ];
  for (const [what, port, module, well] of cases) {
    const talk = module === 'smtp' ? { sendBase64: base64('HELO'), expectPrefixBase64: base64('220 ') } : {};
    const us = await checkTcp(guard, { target: { host: 'localhost', port, tls: module === 'tls', ...talk }, timeoutMs, tls });
    const them = await bbe.probe(module, `127.0.0.1:${port}`);
    const more = module === 'smtp' ? ['-s', 'HELO', '-e', '220 '] : module === 'tls' ? ['-S'] : [];
    const nagios = await plugin('check_tcp', '-H', '127.0.0.1', '-p', String(port), '-t', '2', ...more);
    assert.deepEqual(
      [us.outcome === 'pass', them.get('probe_success') === 1, nagios === 0],
      [well, well, well],
      `${what}: ${JSON.stringify(us)}`,
    );
  }
});
