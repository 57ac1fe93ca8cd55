import Type from 'typebox';
import { row, run, type Tx } from '../../../kernel/db/index.ts';
import { type Sql, sql } from '../../../kernel/sql.ts';

// Lists return everything an organization has of a kind, so each kind is limited.

const kinds = {
  schedules: { limit: 200, of: sql`oncall.schedule where true` },
  policies: { limit: 1_000, of: sql`oncall.policy where true` },
  sources: { limit: 1_000, of: sql`oncall.alert_source where revoked_at is null` },
  overrides: { limit: 5_000, of: sql`oncall.schedule_override where ends_at > (select kernel.now())` },
} satisfies Record<string, { limit: number; of: Sql }>;

export const limitOf = (kind: keyof typeof kinds): number => kinds[kind].limit;

/**
 * Whether an organization is at its limit. It counts under a lock until the transaction ends, so two callers cannot both take the last
 * slot. Call it as the last lock of a transaction, so that no row lock waits behind it.
 */
export async function isAtLimit(tx: Tx, org: string, kind: keyof typeof kinds): Promise<boolean> {
  const { limit, of } = kinds[kind];
  await run(tx)`select pg_advisory_xact_lock(hashtext(${`oncall.${kind}`}), hashtext(${org}))`;
  return (await row(tx, Type.Object({ full: Type.Boolean() }))`
    select exists (select from ${of} and org_id = ${org} offset ${limit - 1} limit 1) as full`)!.full;
}
