import Type, { type Static } from 'typebox';
import { rows, type Tx } from '../../../kernel/db/index.ts';

const GenerationRow = Type.Object({ cluster: Type.String(), generation: Type.Integer() });
export type StoreGeneration = Static<typeof GenerationRow>;

/** Of these generations of etcd, those that no request can reach any more: the one before a change that is done, and the one of a change that failed.
 *  Only what a row says so of: the database may be an older one than the files. Requests that had begun before a change end on the store before. */
export const findFormerGenerations = (tx: Tx, found: readonly StoreGeneration[]) => rows(tx, GenerationRow)`
  select f.cluster, f.generation
    from unnest(${found.map(({ cluster }) => cluster)}::text[], ${found.map(({ generation }) => generation)}::int[]) f(cluster, generation)
    join clusters.cluster c on c.id = f.cluster and c.store_generation <> f.generation
   where exists (select from clusters.store_change s
                  where s.cluster_id = c.id and s.ended_at < kernel.now() - interval '2 minutes'
                    and (s.state = 'failed' and s.generation = f.generation
                      or s.state = 'done' and s.from_generation = f.generation and s.from_store = 'etcd'))
     and not exists (select from clusters.store_change o
                      where o.cluster_id = c.id and o.ended_at is null and f.generation in (o.generation, o.from_generation))`;
