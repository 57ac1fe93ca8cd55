// A server in a process of its own, told by its parent what to do.

import Type from 'typebox';
import { areas } from '../../src/areas/index.ts';
import { makeOrganization } from '../../src/areas/organization/index.ts';
import { insertMember } from '../../src/areas/organization/store/members.ts';
import { insertToken } from '../../src/areas/tokens/store/tokens.ts';
import { mintKey } from '../../src/identity/token-format.ts';
import { readConfig } from '../../src/kernel/config.ts';
import { type Connection, row, type Tx } from '../../src/kernel/db/index.ts';
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

process.on('message', async (message: { people?: Population; memory?: true }) => {
  if (message.people) tell(await populate(message.people));
  if (message.memory) tell(memory());
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
        return { owner: await token(tx, id, ownerId), tokens: keys };
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
