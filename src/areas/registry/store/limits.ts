import Type from 'typebox';
import { row, run, type Tx } from '../../../kernel/db/index.ts';
import { type Sql, sql } from '../../../kernel/sql.ts';

// Limits for tables that lists return whole or that strangers can fill. Each is counted under an advisory lock held until the transaction
// ends, so two concurrent requests cannot both take the last place. It is the last lock of its transaction: its holder waits for no row.

interface Limit {
  kind: string;
  /** The id of the organization or registry. */
  owner: string;
  max: number;
  countedRows: Sql;
}

async function isLimitReached(tx: Tx, { kind, owner, max, countedRows }: Limit): Promise<boolean> {
  await run(tx)`select pg_advisory_xact_lock(hashtext(${`registry.${kind}`}), hashtext(${owner}))`;
  return (await row(
    tx,
    Type.Object({ full: Type.Boolean() }),
  )`select exists (select from ${countedRows} offset ${max - 1} limit 1) as full`)!.full;
}

export const maxRegistriesPerOrg = 1_000;
/** Registries of an organization. */
export const isRegistryLimitReached = (tx: Tx, org: string): Promise<boolean> =>
  isLimitReached(tx, {
    kind: 'registries',
    owner: org,
    max: maxRegistriesPerOrg,
    countedRows: sql`registry.registry where org_id = ${org}`,
  });

export const maxManualKeysPerRegistry = 1_000;
/** Unrevoked manual keys of a registry. */
export const isManualKeyLimitReached = (tx: Tx, registryId: string): Promise<boolean> =>
  isLimitReached(tx, {
    kind: 'keys',
    owner: registryId,
    max: maxManualKeysPerRegistry,
    countedRows: sql`registry.registry_key where registry_id = ${registryId} and minted_via = 'manual' and revoked_at is null`,
  });

export const maxJobKeysPerRegistry = 5_000;
/** Unexpired keys of a registry that jobs have minted, including revoked ones. */
export const isJobKeyLimitReached = (tx: Tx, registryId: string): Promise<boolean> =>
  isLimitReached(tx, {
    kind: 'job keys',
    owner: registryId,
    max: maxJobKeysPerRegistry,
    countedRows: sql`registry.registry_key where registry_id = ${registryId} and minted_via = 'oidc' and expires_at > (select kernel.now())`,
  });

/** Cached repositories of a registry without a manifest. */
export const isEmptyCacheLimitReached = (tx: Tx, registryId: string, max: number): Promise<boolean> =>
  isLimitReached(tx, {
    kind: 'empty caches',
    owner: registryId,
    max,
    countedRows: sql`registry.repository r where r.registry_id = ${registryId} and r.upstream_host is not null
      and not exists (select from registry.manifest m where m.repository_id = r.id)`,
  });
