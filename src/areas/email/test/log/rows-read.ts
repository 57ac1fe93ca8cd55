import type { Tx } from '../../../../kernel/db/index.ts';
import { Sql } from '../../../../kernel/sql.ts';

interface Plan {
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  Plans?: Plan[];
}

const rowsOf = (plan: Plan): number => {
  const own = plan['Relation Name']
    ? (plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0) + (plan['Rows Removed by Index Recheck'] ?? 0)) * plan['Actual Loops']
    : 0;
  return own + (plan.Plans ?? []).reduce((sum, each) => sum + rowsOf(each), 0);
};

/** Rows read by the statements of a store function, with generic plans, as for frequent statements. */
export async function countLookedAt(tx: Tx, act: (tx: Tx) => Promise<unknown>): Promise<number> {
  let looked = 0;
  await tx.query(new Sql([`set plan_cache_mode = force_generic_plan`], []));
  const explaining: Tx = {
    ...tx,
    query: async ({ strings, values }) => {
      const { rows } = await tx.query(new Sql([`explain (analyze, timing off, format json) ${strings[0]}`, ...strings.slice(1)], values));
      looked += rowsOf((rows[0]!['QUERY PLAN'] as { Plan: Plan }[])[0]!.Plan);
      return { rows: [], rowCount: 0 };
    },
  };
  await act(explaining);
  await tx.query(new Sql(['reset plan_cache_mode'], []));
  return looked;
}
