import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { sql } from '../../../kernel/sql.ts';

export const RepositoryRow = Type.Object({
  id: Type.Integer(),
  org_id: Type.String(),
  registry_id: Type.String(),
  slug: Type.String(),
  name: Type.String(),
  upstream_host: Type.Union([Type.String(), Type.Null()]),
  immutable_tags: Type.Array(Type.String()),
});
export type RepositoryRow = Static<typeof RepositoryRow>;

/** `other`: the second name of a cached official image. */
export const repositoryByName = (tx: Tx, registryId: string, name: string, other: string | null = null) => row(tx, RepositoryRow)`
  select r.id, r.org_id, r.registry_id, g.slug, r.name, r.upstream_host, g.immutable_tags
    from registry.repository r join registry.registry g on g.id = r.registry_id
   where r.registry_id = ${registryId} and (r.name = ${name} or (r.name = ${other} and r.upstream_host is not null))
   order by r.name = ${name} desc limit 1`;

/** The repository; a first push creates it. Undefined: the registry is gone. */
export async function ensureRepository(
  tx: Tx,
  { registryId, name, upstreamHost = null }: { registryId: string; name: string; upstreamHost?: string | null },
): Promise<RepositoryRow | undefined> {
  const known = await repositoryByName(tx, registryId, name);
  if (known) return known;
  await run(tx)`
    insert into registry.repository (org_id, registry_id, name, upstream_host, created_at, size_bytes, tag_count)
    select org_id, id, ${name}, ${upstreamHost}, kernel.now(), 0, 0 from registry.registry where id = ${registryId}
    on conflict (registry_id, name) do nothing`;
  return repositoryByName(tx, registryId, name);
}

const IdRow = Type.Object({ id: Type.Integer() });
const NameRow = Type.Object({ slug: Type.String(), name: Type.String() });

/** A page of repositories with content, in the order of `<slug>/<name>`. */
export const catalogOf = (tx: Tx, registryId: string, after: string, limit: number) => rows(tx, NameRow)`
  select g.slug, r.name from registry.repository r join registry.registry g on g.id = r.registry_id
   where r.registry_id = ${registryId} and r.name > ${after}
     and exists (select from registry.manifest m where m.repository_id = r.id)
   order by r.name limit ${limit}`;

/** Deletes repositories without content and without running uploads, such as those of abandoned pushes. */
export async function dropEmptyRepositories(tx: Tx, olderThanSeconds: number): Promise<number[]> {
  const empty = sql`not exists (select from registry.manifest m where m.repository_id = r.id)
     and not exists (select from registry.repository_blob b where b.repository_id = r.id)
     and not exists (select from registry.upload u where u.repository_id = r.id)
     and not exists (select from registry.promised_blob p where p.repository_id = r.id and p.until > kernel.now())`;
  const old = await rows(tx, IdRow)`
    select r.id from registry.repository r
     where r.removed_from is null and r.created_at < kernel.now() - make_interval(secs => ${olderThanSeconds}) and ${empty}
     order by r.id for update skip locked`;
  // Checked again after locking: the statement that took the lock does not see rows committed just before.
  const gone = await rows(tx, IdRow)`
    delete from registry.repository r where r.id = any(${old.map((r) => r.id)}::bigint[]) and ${empty} returning r.id`;
  return gone.map((r) => r.id);
}
