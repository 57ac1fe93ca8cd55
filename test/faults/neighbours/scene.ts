import { createHash, randomBytes } from 'node:crypto';
import type { TestContext } from 'node:test';
import { alert, covered, group, made, service, source, user } from '../../../src/areas/oncall/test/support.ts';
import { basic } from '../../../src/areas/registry/test/credentials.ts';
import { page } from '../../../src/areas/status/test/support.ts';
import { agent } from '../../../src/areas/uptime/test/support.ts';
import { type FakeSmtp, fakeSmtp } from '../../fakes/smtp.ts';
import { caller, type Quarterdeck, quarterdeck, type Someone } from '../../harness/index.ts';
import { urlOf } from '../../harness/postgres.ts';
import { scratch, serverProcess } from '../../harness/process.ts';

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
}

export interface Scene {
  url: string;
  pid: number;
  dataDir: string;
  /** What the server has said so far. */
  said(): string;
  smtp: FakeSmtp;
  a: Tenant;
  b: Tenant;
}

/** So much of everything that A has is there before A begins. */
const size = { monitors: 400, indexes: 120, incidents: 4, updates: 90, untagged: 300 };
export const quotaBytes = 64 * 2 ** 20;

/** Made by a server without limits, then served by a process of its own with those that everybody has. */
export async function makeScene(t: TestContext): Promise<Scene> {
  const smtp = await fakeSmtp(t);
  const quota = { QUARTERDECK_REGISTRY_QUOTA_BYTES: String(quotaBytes), QUARTERDECK_UPTIME_MONITOR_QUOTA: '1000' };
  const making = await quarterdeck(t, {
    env: { QUARTERDECK_ROLES: 'api,registry', QUARTERDECK_ALLOW_PRIVATE_CIDRS: '127.0.0.0/8', ...quota },
  });
  const a = await makeTenant(making, await making.organization('aaa'));
  const b = await makeTenant(making, await making.organization('bbb'));
  await fill(making, a);
  const { dir } = await scratch(t);
  const server = serverProcess(t, {
    dir,
    dataDir: making.dataDir,
    env: {
      QUARTERDECK_DATABASE_URL: urlOf(making.connection),
      QUARTERDECK_SMTP_RELAY: smtp.url,
      QUARTERDECK_RATE_LIMIT: '600',
      QUARTERDECK_ALLOW_PRIVATE_CIDRS: '127.0.0.0/8',
      QUARTERDECK_LOG_LEVEL: 'warn',
      ...quota,
    },
  });
  return { url: await server.ready, pid: server.pid, dataDir: making.dataDir, said: server.stderr, smtp, a, b };
}

async function makeTenant(qd: Quarterdeck, owner: Someone): Promise<Tenant> {
  const slug = owner.orgSlug;
  await made(owner.post('/registry/registries', { slug }));
  const { keyId, secret } = await made(owner.post(`/registry/registries/${slug}/keys`, { name: 'k', mode: 'readwrite' }));
  const authorization = basic(keyId, secret);
  const { service: its } = await covered(owner, { steps: [[user(owner), 3_600]] });
  const { id: sourceId, token: sourceToken } = await source(owner, qd.url, its.id);
  const shownService = await service(owner);
  await page(owner, slug, [shownService.id]);
  const scrape = (await made(owner.post('/uptime/export-tokens', { name: 'prometheus' }))).token;
  const layer = await pushBlob(qd.url, authorization, slug, randomBytes(4_000_000));
  await pushManifest(qd.url, authorization, slug, 'v1', [layer]);
  return { key: owner.key, email: owner.email, slug, authorization, serviceId: shownService.id, sourceId, sourceToken, scrape, layer };
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
