import Type from 'typebox';
import { row, run, type Tx } from '../../../kernel/db/index.ts';
import { type Sql, sql } from '../../../kernel/sql.ts';

// Lists answer with all that an organization has of a kind, so each kind has a bound.

const kinds = {
  schedules: { limit: 200, of: sql`oncall.schedule where true` },
  policies: { limit: 1_000, of: sql`oncall.policy where true` },
  sources: { limit: 1_000, of: sql`oncall.alert_source where revoked_at is null` },
  overrides: { limit: 5_000, of: sql`oncall.schedule_override where ends_at > (select kernel.now())` },
} satisfies Record<string, { limit: number; of: Sql }>;

export const limitOf = (kind: keyof typeof kinds): number => kinds[kind].limit;

/**
 * Whether an organization has as many as it may. Counted under a lock until the transaction ends: of two who take the last place at once,
 * one gets it. The last lock of its transaction, so that nothing waits for a row while it holds it.
 */
export async function isAtLimit(tx: Tx, org: string, kind: keyof typeof kinds): Promise<boolean> {
  const { limit, of } = kinds[kind];
  await run(tx)`select pg_advisory_xact_lock(hashtext(${`oncall.${kind}`}), hashtext(${org}))`;
  return (await row(tx, Type.Object({ full: Type.Boolean() }))`
    select exists (select from ${of} and org_id = ${org} offset ${limit - 1} limit 1) as full`)!.full;
}
