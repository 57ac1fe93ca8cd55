import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext } from 'node:test';
import { ownPorts } from '../../../../test/harness/own-ports.ts';
import { freshDatabase, stopOwnServer } from '../../../../test/harness/postgres.ts';
import type { App } from '../../../kernel/app.ts';
import { readConfig } from '../../../kernel/config.ts';
import { type Connection, run } from '../../../kernel/db/index.ts';
import { makeLog } from '../../../kernel/log.ts';
import { serve } from '../../../serve.ts';
import { defineArea } from '../../area.ts';
import { areas } from '../../index.ts';
import { makeRegistryMetrics } from '../engine/metrics.ts';
import type { PullThrough } from '../engine/pull-through/types.ts';
import { uncountJob } from '../engine/recount-indexes.ts';
import { type Engine, makeSettings, type RegistrySettings } from '../engine/settings.ts';
import { registerMetrics } from '../metrics.ts';
import { ociPlane } from '../planes/oci/index.ts';
import type { Access, Reach } from '../rules/access.ts';
import { tasks } from '../tasks.ts';

after(stopOwnServer);

// The data plane on a real server with a real PostgreSQL, and credentials made up by the test: `Bearer <name>` is the caller that the test
// registered under that name.

export interface Answer {
  status: number;
  headers: http.IncomingHttpHeaders;
  body: Buffer;
  json: () => unknown;
}

export type Send = (
  method: string,
  path: string,
  options?: { headers?: http.OutgoingHttpHeaders; body?: Uint8Array | AsyncIterable<Uint8Array>; as?: string | null },
) => Promise<Answer>;

export interface Options {
  env?: Record<string, string>;
  settings?: Partial<RegistrySettings>;
  connection?: Connection;
  dataDir?: string;
  cache?: (engine: Engine) => PullThrough;
  worker?: boolean;
}

export interface TestRegistry {
  url: string;
  app: App;
  /** The engine of this server; a test may change its settings. */
  engine: Engine;
  connection: Connection;
  dataDir: string;
  send: Send;
  /** Full access to the registry `acme`, unless the test says otherwise. */
  access: Map<string, Access>;
  registry(slug: string, quotaBytes?: number, org?: string): Promise<string>;
  allow(name: string, registries: Record<string, Partial<Reach> & { registryId: string }>, scopes?: Access['scopes']): AbortController;
  stop(): Promise<void>;
}

export async function registryServer(t: TestContext, options: Options = {}): Promise<TestRegistry> {
  const made = options.connection ? undefined : await freshDatabase();
  const connection = options.connection ?? made!.connection;
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'qdr-')));
  const env = {
    ...ownPorts,
    QUARTERDECK_DATA: dataDir,
    ...(options.worker ? {} : { QUARTERDECK_ROLES: 'api,registry' }),
    ...options.env,
  };
  const config = readConfig(env, dataDir).config;
  const access = new Map<string, Access>();
  const authenticate = (request: http.IncomingMessage) => access.get(/^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '');
  const area = defineArea<Engine>({
    name: 'registry',
    operations: [],
    migrations: { schema: 'registry', folder: new URL('../migrations/', import.meta.url) },
    jobs: [uncountJob],
    tasks,
    open: ({ app }) => {
      const own: Engine = { app, settings: { ...makeSettings(app.config), ...options.settings } };
      const metrics = makeRegistryMetrics();
      return {
        own,
        planes: [ociPlane({ ...own, authenticate, pullThrough: options.cache?.(own), metrics })],
        metrics: (registry) => registerMetrics(registry, { app, metrics }),
      };
    },
  });
  const running = await serve({
    config,
    log: makeLog(process.env['QUARTERDECK_TEST_LOG'] ?? 'silent'),
    areas: [...areas.filter((a) => a.name !== 'registry'), area],
    database: { connection, direct: connection, embedded: true, stop: async () => {} },
    strict: true,
  });
  let stopped: Promise<void> | undefined;
  const agent = new http.Agent({ keepAlive: true });
  const stop = () =>
    (stopped ??= (async () => {
      agent.destroy();
      await running.stop();
      await made?.drop();
      if (!options.dataDir) await rm(dataDir, { recursive: true, force: true });
    })());
  t.after(stop);

  const { app, url } = running;
  const engine = running.open.own(area);
  const registry: TestRegistry['registry'] = async (slug, quotaBytes = 1e12, org = 'org_test') => {
    await app.db.write(
      (tx) => run(tx)`
      insert into registry.registry (org_id, id, slug, display_name, region, quota_bytes, created_at)
      values (${org}, ${`reg_${slug}`}, ${slug}, ${slug}, 'local', ${quotaBytes}, kernel.now()) on conflict do nothing`,
    );
    return `reg_${slug}`;
  };
  const allow: TestRegistry['allow'] = (name, registries, scopes) => {
    const abort = new AbortController();
    const reach = Object.entries(registries).map(([slug, r]): [string, Reach] => [slug, { mode: 'readwrite', prefixes: [], ...r }]);
    access.set(name, { keyId: `key_${name}`, org: 'org_test', label: name, registries: new Map(reach), scopes, signal: abort.signal });
    return abort;
  };
  allow('alice', { acme: { registryId: await registry('acme') } });
  return { url, app, engine, connection, dataDir, access, registry, allow, stop, send: sender(url, agent) };
}

export const sender =
  (base: string, agent?: http.Agent): Send =>
  (method, path, { headers = {}, body, as = 'alice' } = {}) =>
    new Promise((resolve, reject) => {
      const length: http.OutgoingHttpHeaders =
        body instanceof Uint8Array
          ? { 'Content-Length': body.length }
          : body
            ? {}
            : method === 'GET' || method === 'HEAD'
              ? {}
              : { 'Content-Length': 0 };
      const request = http.request(
        new URL(path, base),
        { method, agent, headers: { ...(as ? { Authorization: `Bearer ${as}` } : {}), ...length, ...headers } },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk) => chunks.push(chunk));
          response.on('error', reject);
          response.on('end', () => {
            const all = Buffer.concat(chunks);
            resolve({ status: response.statusCode!, headers: response.headers, body: all, json: () => JSON.parse(all.toString()) });
          });
        },
      );
      request.on('error', reject);
      if (!body || body instanceof Uint8Array) return void request.end(body);
      (async () => {
        for await (const chunk of body) if (!request.write(chunk)) await once(request, 'drain');
        request.end();
      })().catch((error) => request.destroy(error));
    });

export const digestOf = (bytes: Uint8Array, algorithm = 'sha256') => `${algorithm}:${createHash(algorithm).update(bytes).digest('hex')}`;
export const someBytes = (size: number) => randomBytes(size);

/** POST, then the whole content in one PUT. */
export async function pushBlob(
  send: Send,
  name: string,
  bytes: Buffer,
  options: { as?: string; algorithm?: string } = {},
): Promise<string> {
  const digest = digestOf(bytes, options.algorithm);
  const as = options.as ?? 'alice';
  const start = await send('POST', `/v2/${name}/blobs/uploads/`, { as });
  if (start.status !== 202) throw new Error(`POST: ${start.status} ${start.body}`);
  const put = await send('PUT', `${start.headers.location}?digest=${digest}`, { as, body: bytes });
  if (put.status !== 201) throw new Error(`PUT: ${put.status} ${put.body}`);
  return digest;
}

const types = { manifest: 'application/vnd.oci.image.manifest.v1+json', index: 'application/vnd.oci.image.index.v1+json' };

export interface Image {
  body: Buffer;
  digest: string;
  type: string;
  blobs: Buffer[];
}

export function imageOf(layers: Buffer[], more: Record<string, unknown> = {}): Image {
  const config = Buffer.from(
    JSON.stringify({ architecture: 'amd64', os: 'linux', rootfs: { type: 'layers', diff_ids: layers.map((l) => digestOf(l)) } }),
  );
  const describe = (bytes: Buffer, mediaType: string) => ({ mediaType, digest: digestOf(bytes), size: bytes.length });
  const body = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: types.manifest,
      config: describe(config, 'application/vnd.oci.image.config.v1+json'),
      layers: layers.map((l) => describe(l, 'application/vnd.oci.image.layer.v1.tar+gzip')),
      ...more,
    }),
  );
  return { body, digest: digestOf(body), type: types.manifest, blobs: [config, ...layers] };
}

export function indexOf(children: Image[], more: Record<string, unknown> = {}): Image {
  const body = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: types.index,
      manifests: children.map((c) => ({ mediaType: c.type, digest: c.digest, size: c.body.length })),
      ...more,
    }),
  );
  return { body, digest: digestOf(body), type: types.index, blobs: [] };
}

export const putManifest = (send: Send, name: string, reference: string, image: Image, as = 'alice') =>
  send('PUT', `/v2/${name}/manifests/${reference}`, { body: image.body, headers: { 'Content-Type': image.type }, as });

export async function pushImage(send: Send, name: string, tag: string, image: Image, as = 'alice'): Promise<void> {
  for (const blob of image.blobs) await pushBlob(send, name, blob, { as });
  const put = await putManifest(send, name, tag, image, as);
  if (put.status !== 201) throw new Error(`PUT manifest: ${put.status} ${put.body}`);
}

export const codeOf = (answer: Answer) => (answer.json() as { errors: { code: string }[] }).errors[0]!.code;
