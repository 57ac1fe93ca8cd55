import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext } from 'node:test';
import { contract } from '../../contract/index.ts';
import type { OrganizationRole } from '../../contract/permissions.ts';
import { areas } from '../../src/areas/index.ts';
import { makeOrganization } from '../../src/areas/organization/engine/organization.ts';
import { insertToken } from '../../src/areas/tokens/store/tokens.ts';
import type { OpenAreas } from '../../src/boot/open-areas.ts';
import { mintKey } from '../../src/identity/token-format.ts';
import type { App } from '../../src/kernel/app.ts';
import { type Config, readConfig } from '../../src/kernel/config.ts';
import { type Connection, run } from '../../src/kernel/db/index.ts';
import { clockMoved, wake } from '../../src/kernel/jobs/index.ts';
import type { Ending } from '../../src/kernel/lifecycle/ending.ts';
import { makeLog } from '../../src/kernel/log.ts';
import { sql } from '../../src/kernel/sql.ts';
import { moveClock } from '../../src/kernel/time.ts';
import { serve } from '../../src/serve.ts';
import { openTryWorld } from '../../src/try/index.ts';
import { ownPorts } from './own-ports.ts';
import { freshDatabase, stopOwnServer } from './postgres.ts';
import { type Caller, caller } from './request.ts';

/** Every entitlement that an operation asks for. */
const entitlements = [...new Set(contract.flatMap((op) => op.entitlement ?? []))];

export { type Answer, type Caller, caller } from './request.ts';

after(stopOwnServer);

/** Somebody in an organization, with a token of theirs and a way to call the API with it. */
export interface Someone extends Caller {
  orgId: string;
  orgSlug: string;
  userId: string;
  email: string;
  key: string;
  tokenId: string;
}

export interface Quarterdeck {
  url: string;
  app: App;
  connection: Connection;
  dataDir: string;
  /** The owner of the organization `default`. */
  owner: Someone;
  /** Nobody: no token at all. */
  anonymous: Caller;
  clock: { advance(by: string): Promise<void> };
  /** The running state of an area. */
  own: OpenAreas['own'];
  /** Runs a task of an area once, here and now. */
  perform(task: { name: string }): Promise<unknown>;
  /** Another organization, with an owner of its own. */
  organization(slug: string): Promise<Someone>;
  /** A further member of somebody's organization. */
  member(of: Someone, role: OrganizationRole, email?: string): Promise<Someone>;
  /** A narrower token of somebody's. */
  narrowed(of: Someone, scope: { role: string; resourceIds?: string[] }[]): Promise<Someone>;
  stop(ending?: Ending): Promise<void>;
  /** Aborted once it begins to stop: what its visitors complain of from then on is no fault. */
  stopping: AbortSignal;
}

export interface Options {
  /** Settings as the environment would give them. */
  env?: Record<string, string>;
  /** An existing database, for a second server on it. */
  connection?: Connection;
  dataDir?: string;
  /** Starts it as `serve --try` does. */
  isTry?: boolean;
  /** What a server that handed over to it left. */
  handedOver?: ReadonlyMap<string, unknown>;
}

/** Most statements of a test end sooner than another connection is opened and has planned them anew. */
const poolGrowthDelayMs = 50;

/** A whole server on a database of its own: real HTTP, real PostgreSQL, every row and answer held against its schema. */
export async function quarterdeck(t: TestContext, options: Options = {}): Promise<Quarterdeck> {
  const made = options.connection ? undefined : await freshDatabase();
  const connection = options.connection ?? made!.connection;
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'qdd-')));
  const read = readConfig(
    { ...ownPorts, QUARTERDECK_DNS_SERVERS: '127.0.0.1:1', QUARTERDECK_RATE_LIMIT: '0', QUARTERDECK_DATA: dataDir, ...options.env },
    dataDir,
  );
  const log = makeLog(process.env.QUARTERDECK_TEST_LOG ?? 'silent');
  const tryWorld = options.isTry ? await openTryWorld(read.config, read.explained, log) : undefined;
  const config: Config = tryWorld?.config ?? read.config;
  const running = await serve({
    config,
    log,
    areas,
    database: { connection, direct: connection, embedded: true, isMigrated: Boolean(made), stop: async () => {} },
    poolGrowthDelayMs,
    strict: true,
    tryWorld,
    ...(options.handedOver && { handedOver: options.handedOver }),
  });
  const stopping = new AbortController();
  const stop = once(async (ending?: Ending) => {
    stopping.abort();
    await running.stop(ending);
    await made?.drop();
    if (!options.dataDir) await rm(dataDir, { recursive: true, force: true, maxRetries: 10 }); // a second server may still write
  });
  t.after(() => stop());

  const { app, url, open } = running;
  const asSomeone = async (orgId: string, userId: string, scope: { role: string; resourceIds: string[] }[] = []): Promise<Someone> => {
    const { key, start, hash } = mintKey('pat');
    return app.db.write(async (tx) => {
      const token = await insertToken(tx, {
        org: orgId,
        user: userId,
        name: 'test',
        start,
        hash,
        scope,
        ceilings: [],
        expiresIn: 400 * 86_400, // longer than anything that it may mint
      });
      const { rows } = await tx.query(sqlSomeone(orgId, userId));
      const { slug, email } = rows[0] as { slug: string; email: string };
      return { orgId, orgSlug: slug, userId, email, key, tokenId: token.id, ...caller(url, key) };
    });
  };
  const { rows } = await app.db.read((tx) => tx.query(sqlFirstOwner()));
  const first = rows[0] as { org_id: string; user_id: string };

  return {
    url,
    app,
    connection,
    dataDir,
    owner: await asSomeone(first.org_id, first.user_id),
    anonymous: caller(url),
    own: open.own,
    perform: ({ name }) => open.tasks.find((each) => each.name === name)!.run({ app, log, signal: AbortSignal.timeout(60_000) }, undefined),
    clock: {
      advance: (by) =>
        app.db.write(async (tx) => {
          await moveClock(tx, seconds(by));
          await app.caches.drop(tx, '*');
          wake(tx, clockMoved);
        }),
    },
    organization: async (slug) => {
      const { id, ownerId } = await app.db.write((tx) =>
        makeOrganization(tx, { slug, name: slug, ownerEmail: `owner@${slug}.example`, entitlements }),
      );
      return asSomeone(id, ownerId);
    },
    member: async (of, role, email = `${role}-${Math.floor(performance.now() * 1000)}@example.com`) => {
      const userId = await app.db.write(async (tx) => {
        const { rows: made } = await tx.query(sqlAccount(email));
        const { id } = made[0] as { id: string };
        await run(tx)`insert into identity.member (org_id, user_id, role, joined_at) values (${of.orgId}, ${id}, ${role}, kernel.now())`;
        return id;
      });
      return asSomeone(of.orgId, userId);
    },
    narrowed: (of, scope) =>
      asSomeone(
        of.orgId,
        of.userId,
        scope.map(({ role, resourceIds = [] }) => ({ role, resourceIds })),
      ),
    stop,
    stopping: stopping.signal,
  };
}

const once = <Given>(act: (given?: Given) => Promise<void>) => {
  let done: Promise<void> | undefined;
  return (given?: Given) => (done ??= act(given));
};

const seconds = (by: string): number => {
  const m = /^(-?\d+)(s|m|h|d)$/.exec(by);
  if (!m) throw new Error(`not a duration: ${by}`);
  return Number(m[1]) * { s: 1, m: 60, h: 3600, d: 86_400 }[m[2] as 's' | 'm' | 'h' | 'd'];
};

const sqlSomeone = (orgId: string, userId: string) =>
  sql`select o.slug, u.email from identity.org o, identity.account u where o.id = ${orgId} and u.id = ${userId}`;
const sqlFirstOwner = () =>
  sql`select org_id, user_id from identity.member m join identity.org o on o.id = m.org_id where o.slug = 'default' and role = 'owner' limit 1`;
const sqlAccount = (email: string) =>
  sql`insert into identity.account (id, email, name, created_at) values (kernel.new_id('usr'), ${email}, ${email.split('@')[0]}, kernel.now()) returning id`;
