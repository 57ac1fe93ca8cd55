import Type, { type Static } from 'typebox';
import { rows, type Tx } from '../../../kernel/db/index.ts';
import { rowBytes } from '../rules/manifest.ts';

// Manifests from before they had a weight are booked by their size, once for each digest of a registry. They are weighed some at a time.

const WeighedRow = Type.Object({ id: Type.Integer(), digest: Type.String(), size: Type.Integer(), weight: Type.Integer() });
export type WeighedRow = Static<typeof WeighedRow>;

/** Some of them, all of one registry, locked. What somebody else holds is left for the next time. */
export const lockUnweighed = (tx: Tx, limit: number) => rows(tx, Type.Object({ id: Type.Integer(), registry_id: Type.String() }))`
  select m.id, r.registry_id from registry.manifest m join registry.repository r on r.id = m.repository_id
   where m.weight is null
     and r.registry_id = (select o.registry_id from registry.manifest first join registry.repository o on o.id = first.repository_id
                           where first.weight is null and o.removed_from is null order by first.id limit 1)
   order by m.id limit ${limit} for no key update of m skip locked`;

/** As rules/manifest.ts weighs what is pushed. */
export const weigh = (tx: Tx, ids: number[]) => rows(tx, WeighedRow)`
  update registry.manifest m
     set weight = m.size + coalesce(octet_length(m.annotations::text), 0) + ${rowBytes.manifest}
                + ${rowBytes.reference} * ((select count(*) from registry.manifest_blob b where b.manifest_id = m.id)
                                         + (select count(*) from registry.manifest_child c where c.parent_id = m.id))
   where m.id = any(${ids}::bigint[]) and m.weight is null
  returning m.id, m.digest, m.size, m.weight`;

/** Which of these digests a manifest of the registry without a weight still stands for. Only sure under the registry's row lock. */
export const stillUnweighed = async (tx: Tx, registryId: string, digests: string[]) =>
  new Set(
    (
      await rows(tx, Type.Object({ digest: Type.String() }))`
      select distinct m.digest from registry.manifest m join registry.repository r on r.id = m.repository_id
       where m.weight is null and m.digest = any(${digests}::text[]) and coalesce(r.registry_id, r.removed_from) = ${registryId}`
    ).map((m) => m.digest),
  );
