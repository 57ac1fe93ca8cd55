import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../../kernel/db/index.ts';
import type { Pagination } from '../../../../kernel/pagination.ts';
import { sql } from '../../../../kernel/sql.ts';

const SuppressionRow = Type.Object({
  id: Type.String(),
  address: Type.String(),
  reason: Type.Enum(['bounce', 'complaint', 'manual'] as const),
  created_at: Type.String(),
});
export type SuppressionRow = Static<typeof SuppressionRow>;

export const listSuppressionRows = (tx: Tx, org: string, { limit, after }: Pagination): Promise<SuppressionRow[]> => rows(
  tx,
  SuppressionRow,
)`
  select id, address, reason, created_at from email.suppression
   where org_id = ${org} and ${after === null ? sql`true` : sql`id < ${after}`} order by id desc limit ${limit + 1}`;

/** Returns the existing entry if the address is already suppressed. */
export async function insertSuppression(
  tx: Tx,
  org: string,
  address: string,
  reason: 'manual',
): Promise<SuppressionRow & { isNew: boolean }> {
  const made = await row(tx, SuppressionRow)`
    insert into email.suppression (org_id, id, address, reason, created_at) values (${org}, kernel.new_id('sup'), ${address}, ${reason}, kernel.now())
        on conflict do nothing returning id, address, reason, created_at`;
  if (made) return { ...made, isNew: true };
  const known = await row(tx, SuppressionRow)`
    select id, address, reason, created_at from email.suppression where org_id = ${org} and address = ${address} for share`;
  return known ? { ...known, isNew: false } : insertSuppression(tx, org, address, reason);
}

export const removeSuppression = (tx: Tx, org: string, id: string): Promise<SuppressionRow | undefined> => row(tx, SuppressionRow)`
  delete from email.suppression where org_id = ${org} and id = ${id} returning id, address, reason, created_at`;

const FullRow = Type.Object({ full: Type.Boolean() });

/** Whether an organization has at least `limit` entries. Locks until the transaction ends, so that two concurrent requests cannot both add the last one. */
export async function hasSuppressions(tx: Tx, org: string, limit: number): Promise<boolean> {
  await run(tx)`select pg_advisory_xact_lock(hashtext('email.suppression'), hashtext(${org}))`;
  return (await row(tx, FullRow)`select exists (select from email.suppression where org_id = ${org} offset ${limit - 1} limit 1) as full`)!
    .full;
}
