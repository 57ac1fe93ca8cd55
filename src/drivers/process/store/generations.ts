import Type, { type Static } from 'typebox';
import { rows, type Tx } from '../../../kernel/db/index.ts';

const FormerRow = Type.Object({ cluster: Type.String(), generation: Type.Integer(), has_failed: Type.Boolean() });
export type FormerGeneration = Static<typeof FormerRow>;

/** Of these generations of etcd, those that no request can reach any more: the one before a change that is done, and the one of a change that failed.
 *  Only what a row says so of: the database may be an older one than the files. Requests that had begun before a change end on the store before. */
export const findFormerGenerations = (tx: Tx, found: readonly Omit<FormerGeneration, 'has_failed'>[]) => rows(tx, FormerRow)`
  select f.cluster, f.generation, former.has_failed
    from unnest(${found.map(({ cluster }) => cluster)}::text[], ${found.map(({ generation }) => generation)}::int[]) f(cluster, generation)
    join clusters.cluster c on c.id = f.cluster and c.store_generation <> f.generation
    join lateral (select bool_or(s.state = 'failed') as has_failed from clusters.store_change s
                   where s.cluster_id = c.id and s.ended_at < kernel.now() - interval '2 minutes'
                     and (s.state = 'failed' and s.generation = f.generation
                       or s.state = 'done' and s.from_generation = f.generation and s.from_store = 'etcd')) former on former.has_failed is not null
   where not exists (select from clusters.store_change o
                      where o.cluster_id = c.id and o.ended_at is null and f.generation in (o.generation, o.from_generation))`;
