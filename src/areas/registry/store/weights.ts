import Type, { type Static } from 'typebox';
import { rows, type Tx } from '../../../kernel/db/index.ts';
import { rowBytes } from '../rules/manifest.ts';

// Manifests stored by a release without weights are booked by their size, once per digest and registry. They are weighed in batches.

const WeighedRow = Type.Object({ id: Type.Integer(), digest: Type.String(), size: Type.Integer(), weight: Type.Integer() });
export type WeighedRow = Static<typeof WeighedRow>;

/** A batch of one registry, locked. Rows that another transaction holds are left for the next run. */
export const lockUnweighed = (tx: Tx, limit: number) => rows(tx, Type.Object({ id: Type.Integer(), registry_id: Type.String() }))`
  select m.id, r.registry_id from registry.manifest m join registry.repository r on r.id = m.repository_id
   where m.weight is null
     and r.registry_id = (select o.registry_id from registry.manifest first join registry.repository o on o.id = first.repository_id
                           where first.weight is null and o.removed_from is null order by first.id limit 1)
   order by m.id limit ${limit} for no key update of m skip locked`;

/** The same formula as in rules/manifest.ts. */
export const weigh = (tx: Tx, ids: number[]) => rows(tx, WeighedRow)`
  update registry.manifest m
     set weight = m.size + coalesce(octet_length(m.annotations::text), 0) + ${rowBytes.manifest}
                + ${rowBytes.reference} * ((select count(*) from registry.manifest_blob b where b.manifest_id = m.id)
                                         + (select count(*) from registry.manifest_child c where c.parent_id = m.id))
   where m.id = any(${ids}::bigint[]) and m.weight is null
  returning m.id, m.digest, m.size, m.weight`;

/** The digests that an unweighed manifest of the registry still has. Reliable only under the registry's row lock. */
export const stillUnweighed = async (tx: Tx, registryId: string, digests: string[]) =>
  new Set(
    (
      await rows(tx, Type.Object({ digest: Type.String() }))`
      select distinct m.digest from registry.manifest m join registry.repository r on r.id = m.repository_id
       where m.weight is null and m.digest = any(${digests}::text[]) and coalesce(r.registry_id, r.removed_from) = ${registryId}`
    ).map((m) => m.digest),
  );
