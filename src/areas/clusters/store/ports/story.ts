import Type from 'typebox';
import { rows, type Tx } from '../../../../kernel/db/index.ts';
import { isVisible, sql, type Visible } from '../../../../kernel/sql.ts';

const ChangedRow = Type.Object({
  name: Type.String(),
  phase: Type.String(),
  phase_at: Type.String(),
  reason: Type.Union([Type.String(), Type.Null()]),
  change: Type.Union([Type.Object({ what: Type.String(), since: Type.String() }), Type.Null()]),
});

/** Clusters that came into their present phase between two times, or whose last change began then. */
export const clustersChanged = (tx: Tx, org: string, visible: Visible, from: string, until: string) => rows(tx, ChangedRow)`
  select name, phase, phase_at, reason, change from clusters.cluster
   where org_id = ${org} and ${isVisible(visible, sql`id`)}
     and ((phase_at >= ${from} and phase_at <= ${until})
       or ((change ->> 'since')::timestamptz >= ${from} and (change ->> 'since')::timestamptz <= ${until}))
   order by name limit 200`;
