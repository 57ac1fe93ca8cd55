import Type from 'typebox';
import { row, run, type Tx } from '../../../kernel/db/index.ts';
import { type Sql, sql } from '../../../kernel/sql.ts';

// Lists answer with all that an organization has of a kind, so each kind has a bound.

const kinds = {
  schedules: { most: 200, of: sql`oncall.schedule where true` },
  policies: { most: 1_000, of: sql`oncall.policy where true` },
  sources: { most: 1_000, of: sql`oncall.alert_source where revoked_at is null` },
  overrides: { most: 5_000, of: sql`oncall.schedule_override where ends_at > (select kernel.now())` },
} satisfies Record<string, { most: number; of: Sql }>;

export const mostOf = (kind: keyof typeof kinds): number => kinds[kind].most;

/**
 * Whether an organization has as many as it may. Counted under a lock until the transaction ends: of two who take the last place at once,
 * one gets it. The last lock of its transaction, so that nothing waits for a row while it holds it.
 */
export async function isFull(tx: Tx, org: string, kind: keyof typeof kinds): Promise<boolean> {
  const { most, of } = kinds[kind];
  await run(tx)`select pg_advisory_xact_lock(hashtext(${`oncall.${kind}`}), hashtext(${org}))`;
  return (await row(tx, Type.Object({ full: Type.Boolean() }))`
    select exists (select from ${of} and org_id = ${org} offset ${most - 1} limit 1) as full`)!.full;
}
