// The data plane alone, open to every client on loopback: for conformance suites, client tests and benches.
// Prints its address. Ends with its input, or at the point that QUARTERDECK_TEST_CRASH names; then garbage collection has no delay.
import { randomInt } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { App } from '../../../kernel/app.ts';
import { readConfig } from '../../../kernel/config.ts';
import { run } from '../../../kernel/db/index.ts';
import { makeLog } from '../../../kernel/log.ts';
import { keepPostgres } from '../../../kernel/postgres/index.ts';
import { serve } from '../../../serve.ts';
import { defineArea } from '../../area.ts';
import { collect } from '../engine/gc/collect.ts';
import { makeRegistryMetrics } from '../engine/metrics.ts';
import { makePullThrough, makeUpstreams } from '../engine/pull-through/index.ts';
import { type Engine, makeSettings } from '../engine/settings.ts';
import { ociPlane } from '../planes/oci/index.ts';
import type { Access } from '../rules/access.ts';
import { tasks } from '../tasks.ts';
import { type CrashPoint, mortal } from './crash-points.ts';

const dataDir = process.env['QUARTERDECK_DATA'] ?? (await mkdtemp(join(tmpdir(), 'qdr-')));
const given = process.env['QUARTERDECK_TEST_CONNECTION'];
const postgres = given ? { connection: JSON.parse(given), stop: async () => {} } : await keepPostgres({ dataDir: join(dataDir, 'pg') });
/** On a migrated database only the registry is loaded: tests that kill servers start many. */
const others = given ? [] : (await import('../../index.ts')).areas.filter((a) => a.name !== 'registry');
const crash = process.env['QUARTERDECK_TEST_CRASH'];
const point = crash === undefined ? undefined : (JSON.parse(crash) as CrashPoint | null);
const access: Access = {
  keyId: 'key',
  org: 'org',
  label: 'anybody',
  registries: new Map([['acme', { registryId: 'reg_acme', mode: 'readwrite', prefixes: [] }]]),
  scopes: undefined,
  signal: new AbortController().signal,
};
const running = await serve({
  config: readConfig({ QUARTERDECK_LISTEN: '127.0.0.1:0', ...process.env, QUARTERDECK_DATA: dataDir }, dataDir).config,
  log: makeLog('warn'),
  areas: [
    ...others,
    defineArea<Engine>({
      name: 'registry',
      operations: [],
      migrations: { schema: 'registry', folder: new URL('../migrations/', import.meta.url) },
      open: ({ app }) => {
        const own = engineOf(mortal(app, 'serve', point ?? undefined));
        const metrics = makeRegistryMetrics();
        const cache = makePullThrough(makeUpstreams(own, metrics));
        return { own, planes: [ociPlane({ ...own, authenticate: () => access, pullThrough: cache, metrics })] };
      },
      tasks: point === undefined ? tasks : [],
    }),
  ],
  database: {
    connection: postgres.connection,
    direct: postgres.connection,
    embedded: true,
    isMigrated: Boolean(given),
    stop: async () => {},
  },
});
await running.app.db.write(
  (tx) => run(tx)`
    insert into registry.registry (org_id, id, slug, display_name, region, quota_bytes, created_at)
    values ('org', 'reg_acme', 'acme', 'acme', 'local', 1000000000000, kernel.now()) on conflict do nothing`,
);
if (point !== undefined) void collectAlways(engineOf(mortal(running.app, 'collect', point ?? undefined)));
console.log(`${running.url} ${process.pid}`);
process.stdin.resume();
process.stdin.once('end', async () => {
  await running.stop();
  await postgres.stop();
  if (!process.env['QUARTERDECK_DATA']) await rm(dataDir, { recursive: true, force: true });
  process.exit(0);
});

/** A server that is to be killed collects without delay. */
function engineOf(app: App): Engine {
  const settings = makeSettings(app.config);
  return { app, settings: point === undefined ? settings : { ...settings, gcDelaySeconds: 0 } };
}

async function collectAlways(engine: Engine) {
  const { signal } = new AbortController();
  for (;;) {
    await collect(engine, signal, engine.app.log, 20).catch(() => {});
    await setTimeout(randomInt(60)); // some pushes must finish between two rounds
  }
}
