import Type from 'typebox';
import { rows, type Tx } from '../../../kernel/db/index.ts';

const FormerRow = Type.Object({ cluster: Type.String(), generation: Type.Integer() });

/** Generations of etcd that no request can reach any more: the one before a change that is done, and the one of a change that failed. Only what a
 *  row says so of: files of a generation that the database does not know are not removed by it. Requests that had begun before a change end on the
 *  store before. */
export const findFormerGenerations = (tx: Tx, clusters: readonly string[]) => rows(tx, FormerRow)`
  select distinct c.id as cluster, former.generation
    from clusters.cluster c
    join clusters.store_change s on s.cluster_id = c.id and s.ended_at < kernel.now() - interval '2 minutes'
    cross join lateral (select case s.state when 'failed' then s.generation else s.from_generation end as generation) former
   where c.id = any(${clusters}::text[]) and (s.state = 'failed' or s.from_store = 'etcd') and former.generation <> c.store_generation
     and not exists (select from clusters.store_change o
                      where o.cluster_id = c.id and o.ended_at is null and former.generation in (o.generation, o.from_generation))
   order by 1, 2 limit 100`;
