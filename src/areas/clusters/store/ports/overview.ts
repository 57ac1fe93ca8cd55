import Type from 'typebox';
import { row, rows, type Tx } from '../../../../kernel/db/index.ts';
import { isVisible, sql, type Visible } from '../../../../kernel/sql.ts';

const EndingRow = Type.Object({
  id: Type.String(),
  name: Type.String(),
  cluster: Type.String(),
  ends_at: Type.String(),
  total: Type.Integer(),
});

/** Registration tokens that end within these days, the soonest first. */
export const registrationsEnding = (tx: Tx, org: string, visible: Visible, days: number, limit: number) => rows(tx, EndingRow)`
  select t.id, t.name, c.name as cluster, t.expires_at as ends_at, count(*) over ()::int as total
    from clusters.cluster c join clusters.registration_token t on t.cluster_id = c.id
   where c.org_id = ${org} and ${isVisible(visible, sql`c.id`)} and not t.disabled
     and t.expires_at > kernel.now() and t.expires_at <= kernel.now() + make_interval(days => ${days})
     and t.expires_at >= t.created_at + interval '1 day'
   order by t.expires_at, t.id limit ${limit}`;

/** Without the lock of `countClusters`: a figure to show. */
export const clusterCount = async (tx: Tx, org: string): Promise<number> =>
  (await row(tx, Type.Object({ n: Type.Integer() }))`select count(*)::int as n from clusters.cluster where org_id = ${org}`)!.n;
