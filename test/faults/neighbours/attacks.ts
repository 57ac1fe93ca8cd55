// What A does to cost others something.
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as tlsConnect } from 'node:tls';
import { largeObjects } from './large-objects.ts';
import { type Attacking, delivery } from './scene.ts';
import { idleAtDoors } from './smtp.ts';

export interface Target {
  url: string;
  a: Attacking;
}

export type Attack = (target: Target) => Promise<unknown>;

const json = { 'content-type': 'application/json' };
const api = (url: string, key: string, method: string, path: string, body?: unknown) =>
  fetch(`${url}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, ...(body === undefined ? {} : json) },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
const dial = (url: string) => connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {});
const drained = async (answer: Response) => void (await answer.arrayBuffer());

const names = Object.fromEntries(Array.from({ length: 60_000 }, (_, i) => [i.toString(36), 0]));
const shortNames = JSON.stringify(names);
const largeDelivery = JSON.stringify(delivery(Array.from({ length: 16_000 }, (_, i) => `host-${i}`)));

const noToken = 'abcdef.0123456789abcdef';
const indexType = 'application/vnd.oci.image.index.v1+json';
/** Its rules are applied while this goes on. */
export const retention = 'retention of twenty thousand untagged images';

/** One round of each; they are repeated for as long as the attack lasts, several at once. */
export const attacks: Record<string, Attack> = {
  'large objects of a cluster of its own': largeObjects,
  'alerts that come and go, an incident and a page each': async ({ url, a }) => {
    const name = randomUUID();
    for (const status of ['firing', 'resolved'] as const)
      await drained(await api(url, a.sourceToken, 'POST', `/oncall/alert-sources/${a.sourceId}/alerts`, delivery([name], status)));
  },
  'bodies of very many short names, without a login': async ({ url }) =>
    drained(await fetch(`${url}/api/v1/organization/invitations/accept`, { method: 'POST', headers: json, body: shortNames })),
  'bodies of very many short names, with a token': async ({ url, a }) => drained(await api(url, a.key, 'POST', '/tokens', shortNames)),
  'deliveries of five megabytes of alerts': async ({ url, a }) =>
    drained(await api(url, a.sourceToken, 'POST', `/oncall/alert-sources/${a.sourceId}/alerts`, largeDelivery)),
  'freshly minted tokens, each for very many requests': async ({ url, a }) => {
    const { key = a.key } = (await (await api(url, a.key, 'POST', '/tokens', { name: 'x' })).json()) as { key?: string };
    for (let i = 0; i < 50; i++) await drained(await api(url, key, 'GET', '/oncall/incidents'));
  },
  'lists of nested indexes and of images': async ({ url, a }) => {
    await drained(await api(url, a.key, 'GET', `/registry/registries/${a.slug}/manifests`));
    await drained(await api(url, a.key, 'GET', `/registry/registries/${a.slug}/tags`));
  },
  'uploads that are begun and never finished': async ({ url, a }) => {
    const headers = { authorization: a.authorization };
    const begun = await fetch(`${url}/v2/${a.slug}/app/blobs/uploads/`, { method: 'POST', headers });
    await drained(begun);
    const place = begun.headers.get('location');
    if (place) await drained(await fetch(new URL(place, url), { method: 'PATCH', headers, body: randomBytes(8 * 2 ** 20) }));
  },
  'readers who stop reading': async ({ url, a }) => {
    const sockets = Array.from({ length: 50 }, () => {
      const socket = dial(url);
      socket.write(`GET /v2/${a.slug}/app/blobs/${a.layer} HTTP/1.1\r\nHost: x\r\nAuthorization: ${a.authorization}\r\n\r\n`);
      return socket.pause();
    });
    await sleep(3_000);
    for (const socket of sockets) socket.destroy();
  },
  'scrapes of all monitors': async ({ url, a }) => drained(await api(url, a.scrape, 'GET', '/uptime/export/metrics')),
  'anonymous TLS at another organization’s cluster': async ({ a }) => {
    const sockets = Array.from({ length: 150 }, () => {
      const socket = tlsConnect({ port: a.neighbourPort, host: '127.0.0.1', rejectUnauthorized: false }).on('error', () => {});
      socket.once('secureConnect', () => socket.write(`GET /api/v1/nodes HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${noToken}\r\n\r\n`));
      return socket.resume();
    });
    await sleep(2_000);
    for (const socket of sockets) socket.destroy();
  },
  'the whole public history': async ({ url, a }) => drained(await fetch(`${url}/status/${a.slug}/history`)),
  'incidents and updates in public': async ({ url, a }) => {
    const { id } = (await (await api(url, a.key, 'POST', '/oncall/incidents', { serviceId: a.serviceId, title: 'x' })).json()) as {
      id: string;
    };
    await drained(await api(url, a.key, 'POST', `/oncall/incidents/${id}/updates`, { body: 'more words '.repeat(400) }));
  },
  'ID tokens held against a hundred rules of 255 wildcards': async ({ url, a }) => {
    const body = JSON.stringify({ subject_token: a.idToken, audience: a.slug });
    await drained(await fetch(`${url}/api/v1/registry/oidc/token`, { method: 'POST', headers: json, body }));
    const rule = { issuer: 'https://ci.example', audience: 'x', subjectPattern: 'a**'.repeat(255), mode: 'pull' };
    await drained(await api(url, a.key, 'POST', `/registry/registries/${a.slug}/oidc-rules`, rule));
  },
  'layers pulled through from an upstream': async ({ url, a }) => {
    const headers = { authorization: a.authorization };
    const from = `${url}/v2/${a.slug}/up.test/lib/app`;
    await drained(await fetch(`${from}/manifests/v1`, { headers }));
    const digest = a.upstreamLayers[Math.floor(Math.random() * a.upstreamLayers.length)];
    await drained(await fetch(`${from}/blobs/${digest}`, { headers }));
  },
  'bearer tokens without end, each used once': async ({ url, a }) => {
    const scopes = Array.from({ length: 40 }, () => `scope=${encodeURIComponent(`repository:${a.slug}/${randomUUID()}:pull`)}`).join('&');
    const answer = await fetch(`${url}/token?service=x&${scopes}`, { headers: { authorization: a.authorization } });
    const { token } = (await answer.json()) as { token?: string };
    await drained(await fetch(`${url}/v2/${a.slug}/app/tags/list`, { headers: { authorization: `Bearer ${token}` } }));
  },
  'idle connections of many addresses at the SMTP doors': ({ a }) => idleAtDoors(a.doors),
  'two thousand requests in one packet': async ({ url }) => {
    const packet = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(2_000);
    await Promise.all(
      Array.from({ length: 5 }, async () => {
        const socket = dial(url);
        socket.resume().write(packet);
        await sleep(1_000);
        socket.destroy();
      }),
    );
  },
  'strangers who do not read a script of megabytes': async ({ url }) => {
    const sockets = Array.from({ length: 60 }, () => {
      const socket = dial(url);
      socket.write('GET /docs/js/scalar.js HTTP/1.1\r\nHost: x\r\n\r\n');
      return socket.pause();
    });
    await sleep(3_000);
    for (const socket of sockets) socket.destroy();
  },
  'long scopes, minted and listed': async ({ url, a }) => {
    const scope = [{ role: 'oncall.viewer', resourceIds: Array.from({ length: 1_000 }, () => `svc_${randomUUID()}`) }];
    await drained(await api(url, a.key, 'POST', '/tokens', { name: 'x', scope }));
    await drained(await api(url, a.key, 'POST', '/tokens', { name: 'x', scope: [{ role: 'oncall.viewer', resourceIds: [a.serviceId] }] }));
    await drained(await api(url, a.key, 'GET', '/tokens'));
    await drained(await api(url, a.key, 'GET', '/organization/audit'));
  },
  [retention]: async ({ url, a }) => {
    const headers = { authorization: a.authorization, 'content-type': indexType };
    const body = JSON.stringify({ schemaVersion: 2, mediaType: indexType, manifests: [], annotations: { loose: randomUUID() } });
    const digest = `sha256:${createHash('sha256').update(body).digest('hex')}`;
    await drained(await fetch(`${url}/v2/${a.slug}/app/manifests/${digest}`, { method: 'PUT', headers, body }));
    await sleep(100);
  },
};
