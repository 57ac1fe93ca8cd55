import Type from 'typebox';
import { row, rows, type Tx } from '../../../kernel/db/index.ts';
import type { Retention } from '../rules/retention.ts';
import { isFetched, listedSubjects } from './manifests.ts';
import { RepositoryRow } from './repositories.ts';

const GovernedRow = Type.Object({ ...RepositoryRow.properties, retention: Type.Unsafe<Retention>({}) });

/** Repositories of registries with retention rules. Repositories with only cached images are left to eviction. */
export const governedRepositories = async (tx: Tx, after: number, limit: number) =>
  (
    await rows(tx, Type.Object({ id: Type.Integer() }))`
    select r.id from registry.repository r join registry.registry g on g.id = r.registry_id
     where g.retention <> '{}' and r.id > ${after}
       and (r.upstream_host is null or exists (select from registry.manifest m where m.repository_id = r.id and not ${isFetched}))
     order by r.id limit ${limit}`
  ).map((r) => r.id);

/** A repository with its rules, read again by each transaction that removes something. */
export const governedRepository = (tx: Tx, id: number) => row(tx, GovernedRow)`
  select r.id, r.org_id, r.registry_id, g.slug, r.name, r.upstream_host, g.immutable_tags, g.retention
    from registry.repository r join registry.registry g on g.id = r.registry_id where r.id = ${id}`;

const Nullable = Type.Union([Type.String(), Type.Null()]);

/** A batch of its tags, by name. */
export const tagStates = (tx: Tx, repositoryId: number, after: string, limit: number) => rows(
  tx,
  Type.Object({ name: Type.String(), digest: Type.String(), manifestId: Type.Integer(), updatedAt: Type.String(), pulledAt: Nullable }),
)`
  select t.name, m.digest, t.manifest_id as "manifestId", t.updated_at as "updatedAt", m.pulled_at as "pulledAt"
    from registry.tag t join registry.manifest m on m.id = t.manifest_id where t.repository_id = ${repositoryId} and t.name > ${after} order by t.name limit ${limit}`;

/** A batch of its manifests, by id. */
export const manifestStates = (tx: Tx, repositoryId: number, after: number, limit: number) => rows(
  tx,
  Type.Object({
    id: Type.Integer(),
    digest: Type.String(),
    mediaType: Type.String(),
    subject: Nullable,
    children: Type.Array(Type.String()),
    listedSubjects: Type.Array(Type.String()),
    cached: Type.Boolean(),
    createdAt: Type.String(),
    pulledAt: Nullable,
    tags: Type.Array(Type.String()),
  }),
)`
  select m.id, m.digest, m.media_type as "mediaType", m.subject, ${isFetched} as cached, coalesce(m.pushed_at, m.created_at) as "createdAt", m.pulled_at as "pulledAt",
         array(select c.digest from registry.manifest_child c where c.parent_id = m.id)::text[] as children,
         ${listedSubjects} as "listedSubjects",
         array(select t.name from registry.tag t where t.manifest_id = m.id order by t.name)::text[] as tags
    from registry.manifest m where m.repository_id = ${repositoryId} and m.id > ${after} order by m.id limit ${limit}`;

/** Whether the manifest has been neither pushed nor pulled since it was read. */
export const isUntouched = async (tx: Tx, repositoryId: number, seen: { digest: string; createdAt: string; pulledAt: string | null }) =>
  (await row(tx, Type.Object({ yes: Type.Boolean() }))`
    select exists (select from registry.manifest
                    where repository_id = ${repositoryId} and digest = ${seen.digest} and coalesce(pushed_at, created_at) = ${seen.createdAt}::timestamptz
                      and pulled_at is not distinct from ${seen.pulledAt}::timestamptz) as yes`)!.yes;

/**
 * Which of these images (in tag notation, `sha256-…`) any repository of the registry has. A long digest is cut in tags, so its prefix
 * decides. A lateral index lookup per name: with a join PostgreSQL would compare every name with every manifest.
 */
export const imagesHeld = async (tx: Tx, registryId: string, names: string[]) =>
  (
    await rows(tx, Type.Object({ name: Type.String() }))`
    select n as name from unnest(${names}::text[]) n
     cross join lateral (
       select from registry.manifest m
        where m.digest >= replace(n, '-', ':') and m.digest < replace(n, '-', ':') || 'g'
          and exists (select from registry.repository r where r.id = m.repository_id and r.registry_id = ${registryId})
        limit 1) held`
  ).map((image) => image.name);
