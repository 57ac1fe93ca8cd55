import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { type Quarterdeck, quarterdeck } from '../../../test/harness/index.ts';
import { countGrantsOf } from '../../areas/iam/store/grants.ts';
import { deleteExpiredInvitations } from '../../areas/organization/store/invitations.ts';
import { memberByEmail } from '../../areas/organization/store/members.ts';
import { deleteExpired } from '../../areas/tokens/store/tokens.ts';
import { row, run, type Tx } from '../../kernel/db/index.ts';
import { touchTokens } from '../store/last-request.ts';

const many = 5_000;

/** Another organization with a lot in it. */
async function fill({ app }: Quarterdeck, org: string, user: string) {
  await app.db.write(async (tx) => {
    await run(tx)`
      insert into identity.token (org_id, id, user_id, name, start, hash, scope, ceilings, created_at, expires_at)
      select ${org}, kernel.new_id('tok'), ${user}, 'many', 'qd_pat_', decode(replace(gen_random_uuid()::text, '-', ''), 'hex'),
             '[]', '[]', kernel.now(), kernel.now() + interval '1 day' from generate_series(1, ${many}::int)`;
    await run(tx)`
      insert into identity.invitation (org_id, id, email, role, hash, created_at, expires_at)
      select ${org}, kernel.new_id('inv'), 'a' || n, 'member', decode(replace(gen_random_uuid()::text, '-', ''), 'hex'), kernel.now(),
             kernel.now() + interval '7 days' from generate_series(1, ${many}::int) n`;
    await run(tx)`
      insert into identity.account (id, email, name, created_at)
      select kernel.new_id('usr'), 'a' || n || '@example.com', 'a', kernel.now() from generate_series(1, ${many}::int) n`;
    await run(tx)`
      insert into identity.role_grant (org_id, id, user_id, role, resource_ids, created_at)
      select ${org}, kernel.new_id('grt'), ${user}, 'uptime.viewer', array['m' || n], kernel.now() from generate_series(1, ${many}::int) n`;
  });
  await app.db.write((tx) => run(tx)`analyze identity.token, identity.invitation, identity.account, identity.role_grant, identity.member`);
}

const ReadRow = Type.Object({ read: Type.Integer() });
/** How many rows of the schema's tables this connection read, of late: what it counts is taken from it about once a second. */
const rowsRead = async (tx: Tx): Promise<number> =>
  (await row(tx, ReadRow)`
    select coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::int as read from pg_stat_xact_user_tables
     where schemaname = 'identity'`)!.read;

test('a lookup of own rows reads no rows of others', async (t) => {
  const qd = await quarterdeck(t);
  const other = await qd.organization('other');
  await fill(qd, other.orgId, other.userId);
  const { owner } = qd;
  const lookups: Record<string, (tx: Tx) => Promise<unknown>> = {
    'writing lastRequest': (tx) => touchTokens(tx, [owner.tokenId]),
    'forgetting tokens that were over long ago': (tx) => deleteExpired(tx, 90, 1_000),
    'forgetting links that nobody used': (tx) => deleteExpiredInvitations(tx, 1_000),
    'a member by their address': (tx) => memberByEmail(tx, owner.orgId, owner.email),
    'grants of a role': (tx) => countGrantsOf(tx, other.orgId, 'registry.viewer'),
  };
  for (const [what, look] of Object.entries(lookups)) {
    const read = await qd.app.db.write(async (tx) => {
      const before = await rowsRead(tx);
      await look(tx);
      return (await rowsRead(tx)) - before;
    });
    assert.ok(read < 50, `${what} read ${read} rows`);
  }
});
