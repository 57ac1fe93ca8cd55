import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { made } from '../../src/areas/oncall/test/support.ts';
import { watched } from '../../src/areas/uptime/test/support.ts';
import { quarterdeck } from '../harness/index.ts';
import { signedIn } from '../harness/visitor.ts';

// The fuzzer knows the contract's operations; what listens beside them is asked here. Every value is one that reads well as JSON or as a part
// of a path, and that no bigint, int, timestamp or text of PostgreSQL holds.

const numbers = [2 ** 31, 2 ** 63, -(2 ** 63), 1e308, 1.5];
const texts = ['a\0b', '\ud800', '9223372036854775808', '1e400', "'"];
const values: unknown[] = [...numbers, ...texts];
/** In a body also of another type than the field has, or far longer. */
const inBody: unknown[] = [...values, null, true, [], {}, [{ a: [1] }], 'x'.repeat(20_000)];

interface Ask {
  method: string;
  path: string;
  headers?: Record<string, string>;
  body?: string;
}

/** As a part of a path or a query; half of a surrogate pair as the bytes that it would have. */
const inPath = (text: string) => (text.isWellFormed() ? encodeURIComponent(text) : '%ED%A0%80');
/** A good body with each of its fields in turn, at any depth, as each of the values. */
function* spoilt(good: unknown): Generator<string> {
  for (const at of placesIn(good))
    for (const value of inBody) {
      const body = structuredClone(good);
      const last = at.at(-1)!;
      let holder = body as Record<string, unknown>;
      for (const key of at.slice(0, -1)) holder = holder[key] as Record<string, unknown>;
      holder[last] = value;
      yield JSON.stringify(body);
    }
}

function placesIn(value: unknown, at: string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return at.length ? [at] : [];
  return Object.entries(value).flatMap(([key, inner]) => placesIn(inner, [...at, key]));
}

test('numbers and text that no column holds are refused at every plane, and nothing is logged as an error', async (t) => {
  const qd = await quarterdeck(t, { env: { QUARTERDECK_TRUSTED_PROXIES: '127.0.0.1', QUARTERDECK_SMTP_RELAY: 'smtp://127.0.0.1:1' } });
  const { owner } = qd;
  const { agents, monitor } = await watched(qd, ['tokyo']);
  const tokyo = agents[0]!;
  const service = await made(owner.post('/oncall/services', { name: 'web' }));
  const source = await made(owner.post('/oncall/alert-sources', { name: 'prometheus', serviceId: service.id }));
  await made(owner.post('/status-pages', { slug: 'acme', title: 'Acme', serviceIds: [service.id] }));
  await made(owner.post('/registry/registries', { slug: 'acme-images' }));
  const { keyId, secret } = await made(owner.post('/registry/registries/acme-images/keys', { name: 'pusher', mode: 'readwrite' }));

  const errors = t.mock.method(qd.app.log, 'error').mock;

  const bearer = (key: string) => ({ authorization: `Bearer ${key}`, 'content-type': 'application/json' });
  const login = { authorization: `Basic ${Buffer.from(`${keyId}:${secret}`).toString('base64')}` };
  const cookie = (await signedIn(qd, owner.userId)).cookie();
  const form = { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin', cookie };
  const name = 'acme-images/app';
  const config = '{}';
  const digest = `sha256:${createHash('sha256').update(config).digest('hex')}`;
  const begun = await fetch(`${qd.url}/v2/${name}/blobs/uploads/`, { method: 'POST', headers: login });
  const upload = new URL(begun.headers.get('location')!, qd.url);
  upload.searchParams.set('digest', digest);
  assert.equal((await fetch(upload, { method: 'PUT', headers: login, body: config })).status, 201);
  const descriptor = { mediaType: 'application/vnd.oci.image.config.v1+json', digest, size: 2 };
  const manifest = {
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    config: descriptor,
    layers: [descriptor],
    annotations: { a: 'b' },
  };
  const alert = {
    status: 'firing',
    labels: { alertname: 'Down' },
    annotations: { summary: 'x' },
    startsAt: '2026-11-01T10:00:00Z',
    endsAt: '0001-01-01T00:00:00Z',
    generatorURL: 'http://x/',
    fingerprint: 'f',
  };
  const delivery = {
    version: '4',
    groupKey: 'g',
    truncatedAlerts: 0,
    status: 'firing',
    receiver: 'r',
    externalURL: 'http://x/',
    alerts: [alert],
  };
  const result = {
    monitor: monitor.id,
    epoch: 1,
    ageMs: 0,
    outcome: 'fail',
    latencyMs: 1,
    phases: { connect: 1 },
    errorKind: 'k',
    errorDetail: 'd',
    snippet: 's',
    status: 500,
    redirects: 0,
    family: 4,
    httpVersion: '1.1',
    contentLength: 1,
    certificateUntil: 1,
    tlsVersion: '1.3',
  };
  const batch = { instance: tokyo.instance, seq: 1, now: 0, degraded: false, results: [] };
  // Each with a number of its own, or a batch would be known and not looked at; the numbers themselves are spoilt last.
  const batches = [...spoilt(result)].map((one, n) => JSON.stringify({ ...batch, seq: n + 1, results: [JSON.parse(one)] }));
  for (const body of [...batches, ...spoilt(batch)]) {
    const answer = await fetch(`${qd.url}/agent/v1/results`, { method: 'POST', headers: bearer(tokyo.token), body });
    assert.ok(answer.status < 500, `${body}: ${answer.status} ${await answer.text()}`);
  }

  /** By plane: good bodies to spoil, and places in a path, a query, a header or a form. */
  const bodies: [method: string, path: string, headers: Record<string, string>, good: unknown][] = [
    ['POST', '/agent/v1/session', bearer(tokyo.token), { instance: tokyo.instance, version: '1', now: 0 }],
    ['POST', `/api/v1/oncall/alert-sources/${source.id}/alerts`, bearer(source.token), delivery],
    ['POST', `/api/v1/oncall/alert-sources/${source.id}/api/v2/alerts`, bearer(source.token), [alert]],
    ['PUT', `/v2/${name}/manifests/v1`, { ...login, 'content-type': manifest.mediaType }, manifest],
    [
      'POST',
      '/resend/emails',
      bearer(owner.key),
      { from: 'a@example.com', to: ['b@example.com'], subject: 's', text: 't', headers: { 'X-A': 'b' }, tags: [{ name: 'a', value: 'b' }] },
    ],
    ['POST', '/join/v1', bearer(owner.key), { token: 'x', name: 'n' }],
  ];
  const paths: [method: string, path: (value: string) => string, headers?: Record<string, string>][] = [
    ['GET', (v) => `/agent/v1/assignments?instance=${v}&since=${v}`, bearer(tokyo.token)],
    ['GET', (v) => `/agent/v1/${v}`, bearer(tokyo.token)],
    ['GET', (v) => `/v2/${name}/tags/list?n=${v}&last=${v}`, login],
    ['GET', (v) => `/v2/_catalog?n=${v}&last=${v}`, login],
    ['GET', (v) => `/v2/${name}/manifests/${v}`, login],
    ['GET', (v) => `/v2/${name}/blobs/${v}`, login],
    ['GET', (v) => `/v2/${name}/referrers/${digest}?artifactType=${v}`, login],
    ['GET', (v) => `/v2/${v}/tags/list`, login],
    ['DELETE', (v) => `/v2/${name}/manifests/${v}`, login],
    ['POST', (v) => `/v2/${name}/blobs/uploads/?mount=${v}&from=${v}`, login],
    ['POST', (v) => `/v2/${name}/blobs/uploads/?digest=${v}`, login],
    ['PATCH', (v) => `/v2/${name}/blobs/uploads/${v}?state=${v}`, login],
    ['PUT', (v) => `/v2/${name}/blobs/uploads/${v}?digest=${v}`, login],
    ['GET', (v) => `/token?service=${v}&scope=repository:${v}:pull&account=${v}`, login],
    ['GET', (v) => `/status/${v}`],
    ['GET', (v) => `/status/acme/history/${v}`],
    ['GET', (v) => `/status/acme/history/${v}-${v}-${v}`],
    ['GET', (v) => `/status/acme/logo?v=${v}`],
    ['GET', (v) => `/status/acme/confirm/${v}`],
    ['POST', (v) => `/status/acme/unsubscribe/${v}`],
    ['GET', (v) => `/oncall/ack/${v}`],
    ['POST', (v) => `/oncall/ack/${v}`, form],
    ['GET', (v) => `/oncall/calendar/${v}.ics`],
    ['GET', (v) => `/join/${v}`],
    ['POST', (v) => `/join/${v}`, form],
    ['GET', (v) => `/sign-in/link/${v}`],
    ['GET', (v) => `/sign-in/reset/${v}`],
    ['POST', (v) => `/sign-in/reset/${v}`, form],
    ['GET', (v) => `/account/address/${v}`, { cookie }],
    ['POST', (v) => `/account/tokens/default/${v}/revoke`, form],
    ['POST', (v) => `/account/sessions/${v}/end`, form],
    ['POST', (v) => `/api/v1/oncall/twilio/${v}/${v}/status`, form],
    ['POST', (v) => `/api/v1/oncall/twilio/${v}/sms`, form],
    ['GET', (v) => `/resend/emails/${v}`, bearer(owner.key)],
    ['GET', (v) => `/join.sh?token=${v}`],
  ];
  const forms: [path: string, field: string][] = [
    ['/status/acme/subscribe', 'address'],
    [`/api/v1/oncall/twilio/${owner.orgId}/sms`, 'Body'],
    ['/join/x', 'name'],
    ['/sign-in', 'email'],
    ['/sign-in/forgot', 'email'],
    ['/device', 'code'],
    ['/account/name', 'name'],
    ['/account/address', 'email'],
    ['/oncall/ack/x', 'act'],
  ];
  const headers: [path: string, header: string][] = [
    [`/v2/${name}/blobs/${digest}`, 'range'],
    [`/v2/${name}/manifests/v1`, 'if-none-match'],
    ['/status/acme', 'if-none-match'],
    ['/status/acme', 'if-modified-since'],
  ];

  const asks: Ask[] = [
    ...bodies.flatMap(([method, path, its, good]) => [...spoilt(good)].map((body) => ({ method, path, headers: its, body }))),
    ...paths.flatMap(([method, path, its = {}]) => values.map((v) => ({ method, path: path(inPath(String(v))), headers: its }))),
    ...forms.flatMap(([path, field]) =>
      [...values, 'x'.repeat(3_000)].map((v, n) => ({
        method: 'POST',
        path,
        headers: { ...form, 'x-forwarded-for': `192.0.2.${n}` },
        body: `${field}=${inPath(String(v))}`,
      })),
    ),
    ...headers.flatMap(([path, header]) =>
      numbers.flatMap((n) =>
        [`bytes=${n}-`, `bytes=0-${n}`, `bytes=-${n}`, String(n)].map((v) => ({ method: 'GET', path, headers: { ...login, [header]: v } })),
      ),
    ),
  ];
  const wrong: string[] = [];
  for (let i = 0; i < asks.length; i += 4)
    await Promise.all(
      asks.slice(i, i + 4).map(async ({ method, path, headers: its = {}, body }) => {
        const answer = await fetch(`${qd.url}${path}`, {
          method,
          headers: its,
          redirect: 'manual',
          ...(body === undefined ? {} : { body }),
        });
        const text = await answer.text();
        if (answer.status >= 500)
          wrong.push(`${method} ${path} ${body?.slice(0, 300) ?? JSON.stringify(its)}: ${answer.status} ${text.slice(0, 100)}`);
      }),
    );
  assert.deepEqual(wrong.slice(0, 20), []);
  assert.deepEqual(
    errors.calls.map((c) => String((c.arguments[0] as { err?: unknown })?.err ?? c.arguments[1])),
    [],
  );
});
