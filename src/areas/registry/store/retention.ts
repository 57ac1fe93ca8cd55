import Type from 'typebox';
import { row, rows, type Tx } from '../../../kernel/db.ts';
import type { Retention } from '../rules/retention.ts';
import { RepositoryRow } from './repositories.ts';

const GovernedRow = Type.Object({ ...RepositoryRow.properties, retention: Type.Unsafe<Retention>({}) });

/** Repositories of registries that keep not everything; cached ones look after themselves. */
export const governedRepositories = async (tx: Tx, after: number, limit: number) =>
  (
    await rows(tx, Type.Object({ id: Type.Integer() }))`
    select r.id from registry.repository r join registry.registry g on g.id = r.registry_id
     where g.retention <> '{}' and r.upstream_host is null and r.id > ${after} order by r.id limit ${limit}`
  ).map((r) => r.id);

/** One of them with its rules, for the transaction that decides. */
export const governedRepository = (tx: Tx, id: number) => row(tx, GovernedRow)`
  select r.id, r.org_id, r.registry_id, g.slug, r.name, r.upstream_host, g.immutable_tags, g.retention
    from registry.repository r join registry.registry g on g.id = r.registry_id where r.id = ${id}`;

const Pulled = Type.Union([Type.String(), Type.Null()]);

export const tagStates = (tx: Tx, repositoryId: number) => rows(
  tx,
  Type.Object({ name: Type.String(), manifestId: Type.Integer(), updatedAt: Type.String(), pulledAt: Pulled }),
)`
  select t.name, t.manifest_id as "manifestId", t.updated_at as "updatedAt", m.pulled_at as "pulledAt"
    from registry.tag t join registry.manifest m on m.id = t.manifest_id where t.repository_id = ${repositoryId}`;

/** Images that no tag and no index keeps, and that are nobody's signature. */
export const looseManifests = (tx: Tx, repositoryId: number) => rows(
  tx,
  Type.Object({ digest: Type.String(), createdAt: Type.String(), pulledAt: Pulled }),
)`
  select m.digest, m.created_at as "createdAt", m.pulled_at as "pulledAt"
    from registry.manifest m
   where m.repository_id = ${repositoryId}
     and not exists (select from registry.tag t where t.manifest_id = m.id)
     and not exists (select from registry.manifest_child c where c.repository_id = m.repository_id and c.digest = m.digest)
     and not exists (select from registry.manifest s where s.repository_id = m.repository_id and s.digest = m.subject)`;
