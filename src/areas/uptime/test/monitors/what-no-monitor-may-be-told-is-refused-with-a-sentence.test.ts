import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Answer } from '../../../../../test/harness/index.ts';
import { run } from '../../../../kernel/db/index.ts';
import { shared } from '../../../oncall/test/support.ts';
import { desk, httpMonitor, monitor, tcpMonitor } from '../agent-context.ts';

const oneDesk = shared(desk);

const http = (more: Record<string, unknown>) => httpMonitor({ http: { url: 'https://shop.example/', ...more } });
const tcp = (more: Record<string, unknown>) => tcpMonitor({ tcp: { host: 'db.shop.example', port: 5432, ...more } });
const openIt = 'use a public one, or have the operator add its network to QUARTERDECK_ALLOW_PRIVATE_CIDRS (use uptime)';

/** What is sent, and the whole sentence that comes back. */
const refusals: [Record<string, unknown>, string][] = [
  // Shape.
  [httpMonitor({ http: undefined }), 'http is required: it says what to check with kind http'],
  [httpMonitor({ tcp: { host: 'a.example', port: 1 } }), 'tcp does not go with kind http; leave it out, or make a monitor of kind tcp'],
  [tcpMonitor({ tcp: undefined }), 'tcp is required: it says what to check with kind tcp'],
  [tcpMonitor({ http: { url: 'https://a.example/' } }), 'http does not go with kind tcp; leave it out, or make a monitor of kind http'],
  [httpMonitor({ kind: 'icmp' }), 'kind must be one of tcp, http'],
  [httpMonitor({ colour: 'blue' }), 'colour is not a known field here'],
  [http({ color: 'blue' }), 'http.color is not a known field here'],
  [httpMonitor({ name: '   ' }), 'name must not be empty'],
  [httpMonitor({ name: 'x'.repeat(101) }), 'name must have at most 100 characters'],
  [httpMonitor({ enabled: 'yes' }), 'enabled must be a boolean'],
  [httpMonitor({ serviceId: null }), 'serviceId must be a string'],
  // Pace.
  [httpMonitor({ intervalSeconds: 45 }), 'intervalSeconds 45 is not offered; use one of 30, 60, 120, 300, 600, 1800, 3600'],
  [httpMonitor({ intervalSeconds: 86_400 }), 'intervalSeconds 86400 is not offered; use one of 30, 60, 120, 300, 600, 1800, 3600'],
  [httpMonitor({ intervalSeconds: 0 }), 'intervalSeconds must be at least 1'],
  [httpMonitor({ intervalSeconds: -60 }), 'intervalSeconds must be at least 1'],
  [httpMonitor({ intervalSeconds: 1e300 }), 'intervalSeconds must be at most 86400'],
  [httpMonitor({ intervalSeconds: 60.5 }), 'intervalSeconds must be an integer'],
  [httpMonitor({ intervalSeconds: '60' }), 'intervalSeconds must be an integer'],
  [
    httpMonitor({ intervalSeconds: 30, timeoutMs: 30_000 }),
    'timeoutMs 30000 is not below the interval of 30 s; lower it, or check less often',
  ],
  [httpMonitor({ timeoutMs: 499 }), 'timeoutMs must be at least 500'],
  [httpMonitor({ timeoutMs: 30_001 }), 'timeoutMs must be at most 30000'],
  [httpMonitor({ vantages: [] }), 'vantages must not be an empty list; omit it instead'],
  [httpMonitor({ vantages: ['moon'] }), 'vantages has moon, which is not offered; use one of local, fra, sfo'],
  [httpMonitor({ vantages: ['sfo'] }), 'vantages has sfo, which does not report at the moment; use one of local, fra'],
  [httpMonitor({ vantages: ['local', 'local'] }), 'vantages has local twice; name each once'],
  [httpMonitor({ vantages: Array(11).fill('local') }), 'vantages must have at most 10 entries'],
  [
    httpMonitor({ downCondition: { confirmations: 1, quorum: 2 } }),
    'downCondition.quorum 2 can never be met by one vantage; send a downCondition with a quorum of at most 1',
  ],
  [
    httpMonitor({ vantages: ['local', 'fra'], downCondition: { confirmations: 1, quorum: 3 } }),
    'downCondition.quorum 3 can never be met by 2 vantages; send a downCondition with a quorum of at most 2',
  ],
  [httpMonitor({ downCondition: { confirmations: 0, quorum: 1 } }), 'downCondition.confirmations must be at least 1'],
  [httpMonitor({ downCondition: { confirmations: 11, quorum: 1 } }), 'downCondition.confirmations must be at most 10'],
  [httpMonitor({ downCondition: { quorum: 1 } }), 'downCondition.confirmations is required'],
  // Requests.
  [
    http({ method: 'HEAD', expectBodyContains: 'ok' }),
    'http.expectBodyContains does not go with HEAD, whose answers have no body; use GET',
  ],
  [http({ bodyBase64: 'aGk=' }), 'http.bodyBase64 goes with POST only; leave it out, or set http.method to POST'],
  [http({ method: 'DELETE' }), 'http.method must be one of GET, HEAD, POST'],
  [http({ method: 'POST', bodyBase64: 'aGk' }), 'http.bodyBase64 is not base64; encode the bytes with padding and without line breaks'],
  [http({ method: 'POST', bodyBase64: 'aGl=' }), 'http.bodyBase64 is not base64; encode the bytes with padding and without line breaks'],
  [http({ method: 'POST', bodyBase64: Buffer.alloc(16_385).toString('base64') }), 'http.bodyBase64 holds 16385 bytes; send at most 16384'],
  [http({ method: 'POST', bodyBase64: 'A'.repeat(21_852) }), 'http.bodyBase64 must have at most 21848 characters'],
  [tcp({ sendBase64: Buffer.alloc(4_097).toString('base64') }), 'tcp.sendBase64 holds 4097 bytes; send at most 4096'],
  [tcp({ expectPrefixBase64: 'A' }), 'tcp.expectPrefixBase64 is not base64; encode the bytes with padding and without line breaks'],
  [http({ expectStatus: [] }), 'http.expectStatus must not be an empty list; omit it instead'],
  [http({ expectStatus: ['299-200'] }), 'http.expectStatus has the range 299-200, which holds nothing; write the smaller status first'],
  [http({ expectBodyContains: '' }), 'http.expectBodyContains must not be empty'],
  [http({ expectBodyContains: 'a\0b' }), 'the body must not contain the NUL character'],
  [http({ expectBodyContains: '\ud800' }), 'the body must not contain half of a surrogate pair'],
  // Headers.
  [
    http({ headers: { 'X-A': 'a\r\nX-B: b' } }),
    'http.headers.X-A has characters that no header value has; write visible characters of ISO 8859-1, without line breaks',
  ],
  [
    http({ headers: { 'X-A': 'snow ☃' } }),
    'http.headers.X-A has characters that no header value has; write visible characters of ISO 8859-1, without line breaks',
  ],
  [http({ headers: { 'X-A': 5 } }), 'http.headers.X-A must be a string'],
  [http({ headers: { 'X-A': 'a'.repeat(4_097) } }), 'http.headers.X-A must have at most 4096 characters'],
  [http({ headers: { Host: 'other.example' } }), 'the header host cannot be set; leave it out'],
  [http({ headers: { 'Content-Length': '3' } }), 'the header content-length cannot be set; leave it out'],
  [http({ headers: { 'transfer-encoding': 'chunked' } }), 'the header transfer-encoding cannot be set; leave it out'],
  [http({ headers: { 'Proxy-Authorization': 'x' } }), 'the header proxy-authorization cannot be set; leave it out'],
  [http({ headers: { 'X-A': '1', 'x-a': '2' } }), "http.headers has x-a twice; header names differ by more than their letters' case"],
  [http({ headers: { 'X-A': 'a'.repeat(4_096), 'X-B': 'b'.repeat(4_096) } }), 'http.headers is too long; send at most 8192 bytes in all'],
  [
    http({ headers: { 'X A': 'x' } }),
    'http.headers.X A is not written as it must be: the name of a header, in letters, digits and signs such as - and _: X-Probe',
  ],
  [
    http({ headers: Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`X-${i}`, ''])) }),
    'http.headers must have at most 32 entries',
  ],
  // Addresses.
  [http({ url: 'https://user:pw@shop.example/' }), 'the URL holds a user name or password; send credentials in a header instead'],
  [http({ url: 'ftp://shop.example/' }), 'the URL must begin with http:// or https://'],
  [http({ url: 'file:///etc/passwd' }), 'the URL must begin with http:// or https://'],
  [http({ url: '/health' }), 'http.url must be an absolute URL'],
  [http({ url: `https://shop.example/${'a'.repeat(2_048)}` }), 'http.url must have at most 2048 characters'],
  [http({ url: 'http://127.0.0.1:8080/' }), `127.0.0.1 is not a public address (loopback); ${openIt}`],
  [http({ url: 'http://169.254.169.254/latest/meta-data/' }), `169.254.169.254 is not a public address (metadata); ${openIt}`],
  [http({ url: 'http://2130706433/' }), `127.0.0.1 is not a public address (loopback); ${openIt}`],
  [http({ url: 'http://0x7f.1/' }), `127.0.0.1 is not a public address (loopback); ${openIt}`],
  [http({ url: 'http://[::ffff:10.0.0.1]/' }), `10.0.0.1 is not a public address (private); ${openIt}`],
  [http({ url: 'http://localhost:5432/' }), `localhost resolves to an address that is not public (loopback); ${openIt}`],
  [
    http({ url: 'http://shop.example:25/' }),
    'http.url names port 25, which is for mail between servers; check the submission port 587 or 465 instead',
  ],
  [tcp({ host: '10.1.2.3' }), `10.1.2.3 is not a public address (private); ${openIt}`],
  [tcp({ host: '::1' }), `::1 is not a public address (loopback); ${openIt}`],
  [
    tcp({ host: '0.0.0.0' }),
    '0.0.0.0 is not a public address (unspecified); use a public one; no value of QUARTERDECK_ALLOW_PRIVATE_CIDRS opens it',
  ],
  [
    tcp({ host: 'db.example:5432' }),
    'the host is neither a name nor an address (a port is written apart); write a name like example.org or an address like 203.0.113.7',
  ],
  [tcp({ host: 'a b' }), 'the host has characters that no host has; write a name like example.org or an address like 203.0.113.7'],
  [tcp({ host: '' }), 'tcp.host must not be empty'],
  [tcp({ port: 25 }), 'tcp.port names port 25, which is for mail between servers; check the submission port 587 or 465 instead'],
  [tcp({ port: 0 }), 'tcp.port must be at least 1'],
  [tcp({ port: 65_536 }), 'tcp.port must be at most 65535'],
];

test('every wrong field is refused with a sentence that says what to do', async () => {
  const { owner } = await oneDesk();
  const answers: Answer[] = [];
  for (const [body] of refusals) answers.push(await owner.post('/uptime/monitors', body));
  assert.deepEqual(
    answers.map((a) => [a.status, a.body.error]),
    refusals.map(([, sentence]) => [400, sentence]),
  );
  assert.deepEqual((await owner.get('/uptime/monitors')).body.monitors, []);
});

test('an unknown service, and another organization’s, is 404 naming the field', async () => {
  const { owner, organization } = await oneDesk();
  const theirs = (await (await organization('other')).post('/uptime/services', { name: 'theirs' })).body.id;
  const { id } = await monitor(owner);
  for (const serviceId of ['svc_none', theirs]) {
    for (const answer of [
      await owner.post('/uptime/monitors', httpMonitor({ serviceId })),
      await owner.patch(`/uptime/monitors/${id}`, { serviceId }),
      await owner.post('/uptime/maintenance', { serviceId, title: 'x', endsAt: '2031-01-01T00:00:00Z' }),
    ])
      assert.deepEqual([answer.status, answer.body.error], [404, 'unknown service in serviceId']);
  }
});

test('a change is refused like a new monitor, and changes nothing', async () => {
  const { owner, app } = await oneDesk();
  const before = await monitor(owner, { vantages: ['local', 'fra'] });
  const patch = (body: unknown) => owner.patch(`/uptime/monitors/${before.id}`, body);
  const cases: [Record<string, unknown>, string][] = [
    [{ kind: 'http' }, 'kind is not a known field here'],
    [{ tcp: { host: 'a.example', port: 1 } }, 'http is required: it says what to check with kind http'],
    [
      { http: { url: 'https://a.example/' }, tcp: { host: 'a.example', port: 1 } },
      'tcp does not go with kind http; leave it out, or make a monitor of kind tcp',
    ],
    [{ http: { url: 'http://10.0.0.1/' } }, `10.0.0.1 is not a public address (private); ${openIt}`],
    [{ intervalSeconds: 61 }, 'intervalSeconds 61 is not offered; use one of 30, 60, 120, 300, 600, 1800, 3600'],
    [{ vantages: ['sfo'] }, 'vantages has sfo, which does not report at the moment; use one of local, fra'],
    [{ vantages: ['local'] }, 'downCondition.quorum 2 can never be met by one vantage; send a downCondition with a quorum of at most 1'],
    [{ intervalSeconds: 30, timeoutMs: 30_000 }, 'timeoutMs 30000 is not below the interval of 30 s; lower it, or check less often'],
    [{ name: null }, 'name must be a string'],
    [{ http: null }, 'http must be an object'],
  ];
  for (const [body, sentence] of cases) {
    const answer = await patch(body);
    assert.deepEqual([answer.status, answer.body.error], [400, sentence]);
  }
  // A look at one monitor tells what each vantage holds of it, too.
  const { vantageStates: _, ...after } = (await owner.get(`/uptime/monitors/${before.id}`)).body;
  assert.deepEqual(after, before);

  // Fewer vantages with a condition that fits them; and one that stopped reporting is refused only where it is named.
  assert.equal((await patch({ vantages: ['fra'], downCondition: { confirmations: 1, quorum: 1 } })).status, 200);
  await app.db.write((tx) => run(tx)`delete from uptime.instance where vantage = 'fra'`);
  assert.equal((await patch({ name: 'renamed', intervalSeconds: 300 })).status, 200);
  assert.equal((await patch({ vantages: ['fra'] })).status, 400);
});
