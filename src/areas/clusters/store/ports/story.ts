import Type from 'typebox';
import { rows, type Tx } from '../../../../kernel/db/index.ts';
import { isVisible, sql, type Visible } from '../../../../kernel/sql.ts';

const OrNull = Type.Union([Type.String(), Type.Null()]);
const PhaseRow = Type.Object({ name: Type.String(), at: Type.String(), phase: Type.String(), what: OrNull, reason: OrNull });

/** The phases that clusters came into between two times, the newest first. */
export const phasesBetween = (tx: Tx, org: string, visible: Visible, span: { from: string; until: string; limit: number }) => rows(
  tx,
  PhaseRow,
)`
  select c.name, p.at, p.phase, p.what, p.reason from clusters.phase p join clusters.cluster c on c.id = p.cluster_id
   where p.org_id = ${org} and c.org_id = ${org} and ${isVisible(visible, sql`c.id`)}
     and p.at >= ${span.from} and p.at <= ${span.until} and p.phase <> 'pending'
   order by p.at desc, p.id desc limit ${span.limit}`;
