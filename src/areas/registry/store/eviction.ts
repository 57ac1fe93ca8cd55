import Type from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { RepositoryRow } from './repositories.ts';

// Cached images can be fetched again, so they are evicted before a push is refused. Pushed images are never evicted, even if their
// repository was or becomes a cache.

/**
 * Bytes that evicting all unused cached images would free. Images that were also pushed stay. Links of removed repositories are deleted by
 * their own task.
 */
export const evictableBytes = async (tx: Tx, registryId: string, unusedSeconds: number) =>
  (await row(tx, Type.Object({ bytes: Type.Integer() }))`
    with cached as (select id from registry.repository where registry_id = ${registryId} and upstream_host is not null),
         removed as (select id from registry.repository where removed_from = ${registryId}),
         kept as (select m.id from registry.manifest m
                   where m.repository_id in (select id from cached)
                     and (not m.cached or coalesce(m.pulled_at, m.created_at) > kernel.now() - make_interval(secs => ${unusedSeconds}))),
         needed as (select repository_id, digest from registry.manifest_blob where manifest_id in (select id from kept))
    select ((select coalesce(sum(b.size), 0) from registry.blob b
              where exists (select from registry.repository_blob l where l.blob_id = b.id and l.registry_id = ${registryId})
                and not exists (select from registry.repository_blob l
                                 where l.blob_id = b.id and l.registry_id = ${registryId}
                                   and (not l.cached or l.repository_id in (select id from removed) or (l.repository_id, b.digest) in (select * from needed))))
          + (select coalesce(sum(coalesce(m.weight, m.size)), 0) from registry.manifest m
              where m.repository_id in (select id from cached) and m.cached and m.id not in (select id from kept)))::bigint as bytes`)!
    .bytes;

const CandidateRow = Type.Object({ ...RepositoryRow.properties, digest: Type.String() });

/** The least recently pulled cached image. */
export const leastUsed = (tx: Tx, registryId: string, unusedSeconds: number) => row(tx, CandidateRow)`
  select r.id, r.org_id, r.registry_id, g.slug, r.name, r.upstream_host, g.immutable_tags, m.digest
    from registry.manifest m join registry.repository r on r.id = m.repository_id join registry.registry g on g.id = r.registry_id
   where r.registry_id = ${registryId} and m.cached
     and coalesce(m.pulled_at, m.created_at) <= kernel.now() - make_interval(secs => ${unusedSeconds})
   order by coalesce(m.pulled_at, m.created_at), m.id limit 1`;

/** True if the manifest still belongs to the cache alone; then it is locked, and a push of it waits. */
export const lockCached = async (tx: Tx, repositoryId: number, digest: string) =>
  (await run(tx)`select from registry.manifest where repository_id = ${repositoryId} and digest = ${digest} and cached for update`) > 0;

/** Fetched layers that no image of their repository needs. */
export const unneededLinks = (tx: Tx, registryId: string, limit: number) => rows(
  tx,
  Type.Object({ repository_id: Type.Integer(), blob_id: Type.Integer() }),
)`
  select l.repository_id, l.blob_id
    from registry.repository_blob l join registry.blob b on b.id = l.blob_id join registry.repository r on r.id = l.repository_id
   where r.registry_id = ${registryId} and l.cached
     and not exists (select from registry.manifest_blob n where n.repository_id = l.repository_id and n.digest = b.digest)
   order by l.touched_at limit ${limit}`;
