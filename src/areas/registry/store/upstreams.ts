import Type from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';

const CredentialRow = Type.Object({ host: Type.String(), username: Type.String(), created_at: Type.String() });

export const credentialsOf = (tx: Tx, org: string, registryId: string) => rows(tx, CredentialRow)`
  select host, username, created_at from registry.upstream_credential where org_id = ${org} and registry_id = ${registryId} order by created_at desc, host`;

export const setCredential = (tx: Tx, org: string, c: { registryId: string; host: string; username: string; sealed: Buffer }) => run(tx)`
  insert into registry.upstream_credential (registry_id, host, org_id, username, password, created_at)
  values (${c.registryId}, ${c.host}, ${org}, ${c.username}, ${c.sealed}, kernel.now())
  on conflict (registry_id, host) do update set username = excluded.username, password = excluded.password, created_at = excluded.created_at`;

export const deleteCredential = async (tx: Tx, org: string, registryId: string, host: string) =>
  (await run(tx)`delete from registry.upstream_credential where org_id = ${org} and registry_id = ${registryId} and host = ${host}`) > 0;

const SealedRow = Type.Object({ username: Type.String(), password: Type.Unsafe<Buffer>({}) });

export const sealedCredential = (tx: Tx, registryId: string, host: string) => row(tx, SealedRow)`
  select username, password from registry.upstream_credential where registry_id = ${registryId} and host = ${host}`;

const CheckRow = Type.Object({ digest: Type.Union([Type.String(), Type.Null()]), age_seconds: Type.Number(), missing: Type.Boolean() });

/** The last result of checking a tag at the upstream, and its age. */
export const lastCheck = (tx: Tx, repositoryId: number, tag: string) => row(tx, CheckRow)`
  select digest, extract(epoch from kernel.now() - checked_at)::float8 as age_seconds, coalesce(missing_until > kernel.now(), false) as missing
    from registry.cache_entry where repository_id = ${repositoryId} and tag = ${tag}`;

export const noteChecked = (tx: Tx, repositoryId: number, tag: string, digest: string) => run(tx)`
  insert into registry.cache_entry (repository_id, tag, digest, checked_at) values (${repositoryId}, ${tag}, ${digest}, kernel.now())
  on conflict (repository_id, tag) do update set digest = excluded.digest, checked_at = excluded.checked_at, missing_until = null`;

/** A client pushed the tag: it no longer belongs to the cache. */
export const forgetChecked = (tx: Tx, repositoryId: number, tag: string) =>
  run(tx)`delete from registry.cache_entry where repository_id = ${repositoryId} and tag = ${tag}`;

/** Updates only known tags: names that never existed leave no rows. */
export const noteMissing = (tx: Tx, repositoryId: number, tag: string, seconds: number) => run(tx)`
  update registry.cache_entry set digest = null, checked_at = kernel.now(), missing_until = kernel.now() + make_interval(secs => ${seconds})
   where repository_id = ${repositoryId} and tag = ${tag}`;

/** The size of a blob according to the repository's images. */
export const declaredSize = async (tx: Tx, repositoryId: number, digest: string) =>
  (
    await row(tx, Type.Object({ size: Type.Integer() }))`
    select size from registry.manifest_blob where repository_id = ${repositoryId} and digest = ${digest} limit 1`
  )?.size;
