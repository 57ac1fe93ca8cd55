// A server in a process of its own, told by its parent what to do.

import Type from 'typebox';
import { startSession } from '../../src/areas/account/engine/sessions.ts';
import { areas } from '../../src/areas/index.ts';
import { makeOrganization } from '../../src/areas/organization/index.ts';
import { insertMember } from '../../src/areas/organization/store/members.ts';
import { insertToken } from '../../src/areas/tokens/store/tokens.ts';
import { accountById } from '../../src/identity/store/members.ts';
import { mintKey } from '../../src/identity/token-format.ts';
import { readConfig } from '../../src/kernel/config.ts';
import { type Connection, row, run, type Tx } from '../../src/kernel/db/index.ts';
import { makeLog } from '../../src/kernel/log.ts';
import { serve } from '../../src/serve.ts';

export interface Start {
  connection: Connection;
  dataDir: string;
}

/** Organizations, each with so many members, each with so many tokens. */
export interface Population {
  organizations: number;
  members: number;
  tokens: number;
}

export interface Organization {
  slug: string;
  /** A token of its owner. */
  owner: string;
  tokens: string[];
}

export interface Memory {
  residentBytes: number;
  usedBytes: number;
}

const ask = <T>() => new Promise<T>((resolve) => process.once('message', (message) => resolve(message as T)));
const tell = (message: unknown) => process.send!(message);

const { connection, dataDir } = await ask<Start>();
const env = { QUARTERDECK_RATE_LIMIT: '0', QUARTERDECK_ROLES: 'api', QUARTERDECK_DATA: dataDir, QUARTERDECK_LISTEN: '127.0.0.1:0' };
const { config } = readConfig(env, dataDir);
const database = { connection, direct: connection, embedded: true, stop: async () => {} };
const { app, url } = await serve({ config, log: makeLog('silent'), areas, database });
tell({ url });

process.on('message', async (message: { people?: Population; memory?: true; monitors?: number; session?: string }) => {
  if (message.people) tell(await populate(message.people));
  if (message.memory) tell(memory());
  if (message.monitors) tell(await insertMonitors(message.monitors));
  if (message.session) tell(await signIn(message.session));
});
process.once('disconnect', () => process.exit());

/** What is left once everything that can be collected was. */
function memory(): Memory {
  for (let n = 0; n < 4; n++) (globalThis as { gc?: () => void }).gc!();
  const { rss, heapUsed, external } = process.memoryUsage();
  return { residentBytes: rss, usedBytes: heapUsed + external };
}

async function populate({ organizations, members, tokens }: Population): Promise<Organization[]> {
  const made: Organization[] = [];
  for (let n = 0; n < organizations; n++)
    made.push(
      await app.db.write(async (tx) => {
        const slug = `bench-${n}`;
        const { id, ownerId } = await makeOrganization(tx, {
          slug,
          name: slug,
          ownerEmail: `owner@${slug}.example`,
          entitlements: ['email', 'uptime'],
        });
        const keys: string[] = [];
        for (let m = 0; m < members; m++) {
          const user = await account(tx, `${m}@${slug}.example`);
          await insertMember(tx, id, user, 'admin');
          for (let k = 0; k < tokens; k++) keys.push(await token(tx, id, user));
        }
        return { slug, owner: await token(tx, id, ownerId), tokens: keys };
      }),
    );
  return made;
}

async function account(tx: Tx, email: string): Promise<string> {
  const made = await row(tx, Type.Object({ id: Type.String() }))`
    insert into identity.account (id, email, name, created_at) values (kernel.new_id('usr'), ${email}, ${email}, kernel.now()) returning id`;
  return made!.id;
}

async function token(tx: Tx, org: string, user: string): Promise<string> {
  const { key, start, hash } = mintKey('pat');
  await insertToken(tx, { org, user, name: 'bench', start, hash, scope: [], ceilings: [], expiresIn: 86_400 });
  return key;
}

/** Of the first organization, with a day of checks each; every fiftieth is paused, some are down. */
async function insertMonitors(count: number): Promise<true> {
  await app.db.write(async (tx) => {
    await run(tx)`
      insert into services.service (org_id, id, name, created_at)
      select o.id, 'svc_' || lpad(n::text, 26, '0'), 'service ' || n, kernel.now() from identity.org o, generate_series(1, 20) n where o.slug = 'bench-0'`;
    await run(tx)`
      insert into uptime.monitor (org_id, id, name, service_id, enabled, kind, target, interval_seconds, timeout_ms, vantages, confirmations,
                                  quorum, revision, created_at, updated_at)
      select o.id, 'mon_' || lpad(n::text, 26, '0'), 'front door of shop ' || n, 'svc_' || lpad((n % 20 + 1)::text, 26, '0'), n % 50 <> 0, 'tcp',
             '{"host":"shop.example","port":443,"tls":true}', 60, 1000, '{local}', 2, 1, nextval('uptime.revision'), kernel.now(), kernel.now()
        from identity.org o, generate_series(1, ${count}::int) n where o.slug = 'bench-0'`;
    await run(tx)`
      insert into uptime.monitor_state (org_id, monitor_id, state, since, began_at)
      select org_id, id, case when name like '%77' then 'down' else 'up' end, kernel.now(), kernel.now() from uptime.monitor on conflict do nothing`;
    await run(tx)`
      insert into uptime.check_half_hour (monitor_no, half_hour, n, ok, ok_ms, bad_ms)
      select m.no, floor(extract(epoch from kernel.now()) / 1800)::int - h, 30, case when (m.no * 7 + h) % 40 = 0 then 20 else 30 end,
             30 * (20 + (m.no * 31 + h * 17) % 400), 100 from uptime.monitor m, generate_series(0, 47) h`;
  });
  // As the database is a minute later, once it has looked at its tables by itself.
  await app.db.read((tx) => run(tx)`vacuum analyze`);
  return true;
}

/** The session of its first member, as a cookie holds it. */
async function signIn(slug: string): Promise<{ cookie: string }> {
  const visitor = { address: '127.0.0.1', agent: 'a benchmark', requestId: 'bench' };
  return app.db.write(async (tx) => {
    const member = await row(tx, Type.Object({ user_id: Type.String() }))`
      select m.user_id from identity.member m join identity.org o on o.id = m.org_id where o.slug = ${slug} and m.role = 'owner'`;
    const { key } = await startSession(tx, app, (await accountById(tx, member!.user_id))!, ['link'], visitor);
    return { cookie: key };
  });
}
