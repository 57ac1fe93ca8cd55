import Type, { type Static } from 'typebox';
import { rows, type Tx } from '../../../../kernel/db/index.ts';
import { isVisible, sql, type Visible } from '../../../../kernel/sql.ts';

const PushRow = Type.Object({
  slug: Type.String(),
  name: Type.String(),
  digest: Type.String(),
  at: Type.String(),
  tags: Type.Array(Type.String()),
});
export type PushRow = Static<typeof PushRow>;

const shownTags = 10;

/**
 * New images of these registries, the newest first. Neither what a cache fetched, nor what stands beside an image (signatures, SBOMs) or
 * inside an index.
 */
export const imagesPushed = (tx: Tx, org: string, visible: Visible, from: string, until: string, limit: number) => rows(tx, PushRow)`
  select g.slug, r.name, m.digest, m.created_at as at,
         array(select t.name from registry.tag t where t.manifest_id = m.id order by t.name limit ${shownTags})::text[] as tags
    from registry.manifest m join registry.repository r on r.id = m.repository_id join registry.registry g on g.id = r.registry_id
   where m.org_id = ${org} and m.created_at >= ${from} and m.created_at < ${until} and not m.cached and m.subject is null
     and ${isVisible(visible, sql`g.id`)}
     and not exists (select from registry.manifest_child c where c.repository_id = m.repository_id and c.digest = m.digest)
   order by m.created_at desc limit ${limit}`;
