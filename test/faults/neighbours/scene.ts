import { createHash, randomBytes } from 'node:crypto';
import type { TestContext } from 'node:test';
import { alert, covered, group, made, service, source, user } from '../../../src/areas/oncall/test/support.ts';
import { basic } from '../../../src/areas/registry/test/credentials.ts';
import { page } from '../../../src/areas/status/test/support.ts';
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
  serviceId: string;
  sourceId: string;
  sourceToken: string;
  incidentId: string;
  scrape: string;
  /** A layer of 4 MB. */
  layer: string;
}

export interface Scene {
  url: string;
  pid: number;
  dataDir: string;
  smtp: FakeSmtp;
  a: Tenant;
  b: Tenant;
}

/** So much of everything that A has is there before A begins. */
const size = { monitors: 400, indexes: 120, updates: 300, untagged: 300 };
export const quotaBytes = 64 * 2 ** 20;

/** Made by a server without limits, then served by a process of its own with those that everybody has. */
export async function makeScene(t: TestContext): Promise<Scene> {
  const smtp = await fakeSmtp(t);
  const quota = { QUARTERDECK_REGISTRY_QUOTA_BYTES: String(quotaBytes) };
  const making = await quarterdeck(t, { env: { QUARTERDECK_ROLES: 'api,registry', ...quota } });
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
  return { url: await server.ready, pid: server.pid, dataDir: making.dataDir, smtp, a, b };
}

async function makeTenant(qd: Quarterdeck, owner: Someone): Promise<Tenant> {
  const slug = owner.orgSlug;
  await made(owner.post('/registry/registries', { slug }));
  const { keyId, secret } = await made(owner.post(`/registry/registries/${slug}/keys`, { name: 'k', mode: 'readwrite' }));
  const authorization = basic(keyId, secret);
  const { service: its } = await covered(owner, { steps: [[user(owner), 3_600]] });
  const { id: sourceId, token: sourceToken } = await source(owner, qd.url, its.id);
  const { id: incidentId } = await made(owner.post('/oncall/incidents', { serviceId: (await service(owner)).id, title: 'told in public' }));
  await page(owner, slug, [its.id]);
  const scrape = (await made(owner.post('/uptime/export-tokens', { name: 'prometheus' }))).token;
  const layer = await pushBlob(qd.url, authorization, slug, randomBytes(4_000_000));
  await pushManifest(qd.url, authorization, slug, 'v1', [layer]);
  return { key: owner.key, email: owner.email, slug, authorization, serviceId: its.id, sourceId, sourceToken, incidentId, scrape, layer };
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
  for (let i = 0; i < size.monitors; i++)
    await made(owner.post('/uptime/monitors', { name: `m${i}`, kind: 'http', intervalSeconds: 60, http: { url: 'http://127.0.0.1:9/' } }));
  let children: { mediaType: string; digest: string; size: number }[] = [];
  for (let i = 0; i < size.indexes; i++) {
    const body = JSON.stringify({
      schemaVersion: 2,
      mediaType: indexType,
      manifests: i % 4 ? children.slice(-40) : [],
      annotations: { n: `${i}` },
    });
    children = [
      ...children,
      { mediaType: indexType, digest: await put(url, a.authorization, a.slug, `i${i}`, indexType, body), size: body.length },
    ];
  }
  for (let i = 0; i < size.untagged; i++) {
    const body = JSON.stringify({ schemaVersion: 2, mediaType: indexType, manifests: [], annotations: { loose: `${i}` } });
    await put(url, a.authorization, a.slug, digestOf(body), indexType, body);
  }
  for (let i = 0; i < size.updates; i++)
    await made(owner.post(`/oncall/incidents/${a.incidentId}/updates`, { body: `${i} `.padEnd(5_000, 'words ') }));
}

export const delivery = (names: string[], groupKey: string) =>
  group(
    names.map((name) => alert(name)),
    { groupKey },
  );
