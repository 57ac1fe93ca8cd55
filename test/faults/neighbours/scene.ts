import { fork } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { adminOf, readyCluster, type Way } from '../../../src/areas/clusters/test/support.ts';
import { alert, covered, group, made, service, source, user } from '../../../src/areas/oncall/test/support.ts';
import { basic } from '../../../src/areas/registry/test/credentials.ts';
import { page } from '../../../src/areas/status/test/support.ts';
import { agent } from '../../../src/areas/uptime/test/support.ts';
import { run } from '../../../src/kernel/db/index.ts';
import { oidcIssuer } from '../../fakes/oidc-issuer.ts';
import { type FakeSmtp, fakeSmtp } from '../../fakes/smtp.ts';
import { freePort } from '../../harness/free-port.ts';
import { caller, type Quarterdeck, quarterdeck, type Someone } from '../../harness/index.ts';
import { urlOf } from '../../harness/postgres.ts';
import { eventually, scratch, serverProcess } from '../../harness/process.ts';
import { memoryFlags } from '../../harness/quick-start.ts';
import type { Doors } from './smtp.ts';

// Two organizations on one server: A attacks, B works.

/** What one organization has: enough to use, and to attack from. */
export interface Tenant {
  key: string;
  email: string;
  slug: string;
  authorization: string;
  /** Shown in public, and pages nobody. */
  serviceId: string;
  sourceId: string;
  sourceToken: string;
  scrape: string;
  /** A layer of 4 MB. */
  layer: string;
  /** People who are paged, each for a service of their own: nobody gets more than thirty pages a minute. */
  paged: { email: string; sourceId: string; sourceToken: string }[];
  /** Somebody else who may ask as often. */
  otherKey: string;
}

/** What is A's alone. */
export interface Attacking extends Tenant {
  /** A token of an issuer that very many rules of A name; none of them admits it. */
  idToken: string;
  /** Where B's cluster listens. */
  neighbourPort: number;
  /** Layers that A's upstream has. */
  upstreamLayers: string[];
  doors: Doors;
}

export interface Scene {
  url: string;
  pid: number;
  dataDir: string;
  /** What the server has said so far. */
  said(): string;
  smtp: FakeSmtp;
  a: Attacking;
  b: Tenant;
  /** The way to B's cluster, as its administrator. */
  cluster: Way;
  /** When B's monitors were checked, by monitor, in milliseconds. */
  checked: Map<string, number[]>;
  /** A has as many untagged images as at the beginning, and the task that removes them is due. */
  makeRetentionDue(): Promise<void>;
  /** For how long one piece of work has held the event loop, at most, by its name; in milliseconds, since the start. */
  longestPieces(): Promise<Map<string, number>>;
}

/** So much of everything that A has is there before A begins. */
const size = { monitors: 400, indexes: 120, incidents: 4, updates: 90, untagged: 300, loose: 20_000, rules: 99 };
/** What B has: people who are paged, and monitors that are checked every few seconds. */
export const busy = { people: 12, monitors: 60, intervalSeconds: 30 };
export const quotaBytes = 64 * 2 ** 20;

/** Made by a server without limits, then served by a process of its own with those that everybody has. */
export async function makeScene(t: TestContext): Promise<Scene> {
  const smtp = await fakeSmtp(t);
  const quota = { QUARTERDECK_REGISTRY_QUOTA_BYTES: String(quotaBytes), QUARTERDECK_UPTIME_MONITOR_QUOTA: '1000' };
  const upstream = fork(join(import.meta.dirname, 'upstream.ts'));
  t.after(() => void upstream.kill('SIGKILL'));
  const [{ url: upstreamUrl, layers: upstreamLayers }] = (await once(upstream, 'message')) as [{ url: string; layers: string[] }];
  const making = await quarterdeck(t, {
    env: { QUARTERDECK_ROLES: 'api,registry', QUARTERDECK_ALLOW_PRIVATE_CIDRS: '127.0.0.0/8', ...quota },
  });
  const tenant = await makeTenant(making, await making.organization('aaa'));
  const b = await makeTenant(making, await making.organization('bbb'));
  await fill(making, tenant);
  const issuer = await oidcIssuer(t, async () => Date.now());
  await addRules(making, tenant, issuer.url);
  const doors: Doors = { mx: await freePort(), submission: await freePort() };
  const idToken = await issuer.token({ sub: `${'a'.repeat(200)}c` }, { expiresIn: 36_000 });
  const { dir } = await scratch(t);
  const server = serverProcess(t, {
    dir,
    nodeFlags: memoryFlags,
    dataDir: making.dataDir,
    env: {
      QUARTERDECK_DATABASE_URL: urlOf(making.connection),
      QUARTERDECK_SMTP_RELAY: smtp.url,
      QUARTERDECK_SMTP_INBOUND: `127.0.0.1:${doors.mx}`,
      QUARTERDECK_SMTP_SUBMISSION: `127.0.0.1:${doors.submission}`,
      QUARTERDECK_RATE_LIMIT: '600',
      QUARTERDECK_ALLOW_PRIVATE_CIDRS: '127.0.0.0/8',
      QUARTERDECK_LOG_LEVEL: 'warn',
      QUARTERDECK_METRICS_TOKEN: metricsToken,
      QUARTERDECK_REGISTRY_UPSTREAMS: `up.test=${upstreamUrl}`,
      ...quota,
    },
  });
  const url = await server.ready;
  await readyCluster(caller(url, b.key), { name: 'prod' });
  const cluster = await adminOf(caller(url, b.key), 'prod');
  const a = { ...tenant, upstreamLayers, doors, idToken, neighbourPort: Number(new URL(cluster.server).port) };
  const checked = await beChecked(t, caller(url, b.key));
  return {
    url,
    pid: server.pid,
    dataDir: making.dataDir,
    said: server.stderr,
    smtp,
    a,
    b,
    cluster,
    checked,
    makeRetentionDue: () => makeRetentionDue(making, a),
    longestPieces: () => longestPieces(url),
  };
}

const metricsToken = 'a token for the metrics of this campaign';

async function longestPieces(url: string): Promise<Map<string, number>> {
  const text = await (await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${metricsToken}` } })).text();
  return new Map(
    [...text.matchAll(/^quarterdeck_loop_held_longest_seconds\{act="([^"]*)"\} (\S+)$/gm)].map(([, act, s]) => [act!, Number(s) * 1000]),
  );
}

/** Rules as they could be made before patterns had a bound. */
const addRules = (qd: Quarterdeck, { slug }: Tenant, issuer: string) =>
  qd.app.db.write(
    (tx) => run(tx)`
      insert into registry.oidc_rule (org_id, registry_id, name, issuer, audience, subject_pattern, mode, prefixes, created_at)
      select org_id, id, 'rule ' || i, ${issuer}, 'quarterdeck', ${'a**'.repeat(255)} || 'b', 'pull', '{}', kernel.now()
        from registry.registry, generate_series(1, ${size.rules}) i where slug = ${slug}`,
  );

/** Very many images without a tag, each older than the rules of A's registry keep them. */
const makeRetentionDue = (qd: Quarterdeck, { slug }: Tenant) =>
  qd.app.db.write(async (tx) => {
    await run(tx)`update registry.registry set retention = '{"untaggedDays": 1}' where slug = ${slug}`;
    await run(tx)`
      insert into registry.manifest (org_id, repository_id, digest, media_type, body, size, weight, content_bytes, pushed_by, created_at)
      select r.org_id, r.id, 'sha256:' || lpad(i::text, 64, '0'), ${indexType}, '{}', 2, 2, 2, 'k', kernel.now() - interval '9 days'
        from registry.registry g join registry.repository r on r.registry_id = g.id and r.name = 'app', generate_series(1, ${size.loose}) i
       where g.slug = ${slug}
      on conflict do nothing`;
    await run(tx)`update kernel.task set next_at = kernel.now() where name = 'registry.retain'`;
  });

/** Monitors whose target notes when they come. */
async function beChecked(t: TestContext, by: ReturnType<typeof caller>): Promise<Scene['checked']> {
  const checked: Scene['checked'] = new Map();
  const target = http.createServer((request, response) => {
    const name = request.url ?? '';
    checked.set(name, [...(checked.get(name) ?? []), performance.now()]);
    response.end('well');
  });
  target.listen(0, '127.0.0.1');
  await once(target, 'listening');
  t.after(() => {
    target.closeAllConnections();
    target.close();
  });
  const url = `http://127.0.0.1:${(target.address() as AddressInfo).port}`;
  for (let i = 0; i < busy.monitors; i++) {
    const { intervalSeconds } = busy;
    const monitor = { name: `watched ${i}`, kind: 'http', intervalSeconds, vantages: ['local'], http: { url: `${url}/${i}` } };
    // The server's own prober reports a moment after its start.
    await eventually(async () => (await by.post('/uptime/monitors', monitor)).status === 201);
  }
  // Until each has its place in the interval.
  const settledAt = performance.now() + 2.5 * busy.intervalSeconds * 1000;
  while (performance.now() < settledAt) await sleep(1_000);
  return checked;
}

async function makeTenant(qd: Quarterdeck, owner: Someone): Promise<Tenant> {
  const slug = owner.orgSlug;
  await made(owner.post('/registry/registries', { slug }));
  const { keyId, secret } = await made(owner.post(`/registry/registries/${slug}/keys`, { name: 'k', mode: 'readwrite' }));
  const authorization = basic(keyId, secret);
  const { service: its } = await covered(owner, { steps: [[user(owner), 3_600]] });
  const { id: sourceId, token: sourceToken } = await source(owner, qd.url, its.id);
  const paged: Tenant['paged'] = [];
  for (let i = 0; i < busy.people; i++) {
    const somebody = await qd.member(owner, 'member', `paged-${i}@${slug}.example`);
    const { service: theirs } = await covered(owner, { steps: [[user(somebody), 3_600]] });
    const from = await source(owner, qd.url, theirs.id);
    paged.push({ email: somebody.email, sourceId: from.id, sourceToken: from.token });
  }
  const other = await qd.member(owner, 'admin', `other@${slug}.example`);
  const shownService = await service(owner);
  await page(owner, slug, [shownService.id]);
  const scrape = (await made(owner.post('/uptime/export-tokens', { name: 'prometheus' }))).token;
  const layer = await pushBlob(qd.url, authorization, slug, randomBytes(4_000_000));
  await pushManifest(qd.url, authorization, slug, 'v1', [layer]);
  return {
    key: owner.key,
    email: owner.email,
    slug,
    authorization,
    serviceId: shownService.id,
    sourceId,
    sourceToken,
    scrape,
    layer,
    paged,
    otherKey: other.key,
  };
}

const digestOf = (bytes: Uint8Array | string) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

export async function pushBlob(url: string, authorization: string, slug: string, bytes: Uint8Array): Promise<string> {
  const digest = digestOf(bytes);
  const answer = await fetch(`${url}/v2/${slug}/app/blobs/uploads/?digest=${digest}`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/octet-stream' },
    body: bytes,
  });
  if (answer.status !== 201) throw new Error(`a blob was answered ${answer.status} ${await answer.text()}`);
  return digest;
}

export async function pushManifest(url: string, authorization: string, slug: string, tag: string, layers: string[]): Promise<string> {
  const config = await pushBlob(url, authorization, slug, Buffer.from('{}'));
  const manifest = JSON.stringify({
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    config: { mediaType: 'application/vnd.oci.image.config.v1+json', digest: config, size: 2 },
    layers: layers.map((digest) => ({ mediaType: 'application/vnd.oci.image.layer.v1.tar', digest, size: 4_000_000 })),
    annotations: { tag },
  });
  return put(url, authorization, slug, tag, 'application/vnd.oci.image.manifest.v1+json', manifest);
}

async function put(url: string, authorization: string, slug: string, reference: string, type: string, body: string): Promise<string> {
  const answer = await fetch(`${url}/v2/${slug}/app/manifests/${reference}`, {
    method: 'PUT',
    headers: { authorization, 'content-type': type },
    body,
  });
  if (answer.status !== 201) throw new Error(`a manifest was answered ${answer.status} ${await answer.text()}`);
  return digestOf(body);
}

const indexType = 'application/vnd.oci.image.index.v1+json';

/** Much of everything: monitors, nested indexes, images without a tag, public updates. */
async function fill(qd: Quarterdeck, a: Tenant): Promise<void> {
  const { url } = qd;
  const owner = caller(url, a.key);
  const target = { kind: 'http', intervalSeconds: 60, vantages: ['afar'], http: { url: 'http://127.0.0.1:9/' } };
  await agent(qd, 'afar');
  for (let i = 0; i < size.monitors; i++) await made(owner.post('/uptime/monitors', { name: `m${i}`, ...target }));
  // Two levels, the upper of which lists all of the lower: as many as an index may lead to.
  let below: { mediaType: string; digest: string; size: number }[] = [];
  for (let level = 0; level < 2; level++) {
    const these: typeof below = [];
    for (let i = 0; i < size.indexes / 2; i++) {
      const body = JSON.stringify({ schemaVersion: 2, mediaType: indexType, manifests: below, annotations: { n: `${level} ${i}` } });
      const digest = await put(url, a.authorization, a.slug, `i${level}-${i}`, indexType, body);
      these.push({ mediaType: indexType, digest, size: body.length });
    }
    below = these;
  }
  for (let i = 0; i < size.untagged; i++) {
    const body = JSON.stringify({ schemaVersion: 2, mediaType: indexType, manifests: [], annotations: { loose: `${i}` } });
    await put(url, a.authorization, a.slug, digestOf(body), indexType, body);
  }
  for (let n = 0; n < size.incidents; n++) {
    const { id } = await made(owner.post('/oncall/incidents', { serviceId: a.serviceId, title: `incident ${n}` }));
    for (let i = 0; i < size.updates; i++) await made(owner.post(`/oncall/incidents/${id}/updates`, { body: 'words '.repeat(800) }));
  }
}

/** Alerts of these names, firing or over. */
export const delivery = (names: string[], status: 'firing' | 'resolved' = 'firing') =>
  group(
    names.map((name) =>
      alert(name, {
        status,
        startsAt: new Date(Date.now() - 1_000).toISOString(),
        ...(status === 'resolved' ? { endsAt: new Date().toISOString() } : {}),
      }),
    ),
  );
