import Type from 'typebox';
import { row, run, type Tx } from '../../../kernel/db/index.ts';
import { type Sql, sql } from '../../../kernel/sql.ts';

// What lists answer whole, and what strangers can add to, has a bound. Each is counted under a lock that holds until the transaction ends:
// of two requests that take the last place at once, one gets it. It is the last lock of its transaction: its holder waits for no row.

interface Bound {
  kind: string;
  /** Whose: an organization, or a registry. */
  owner: string;
  most: number;
  of: Sql;
}

async function isFull(tx: Tx, { kind, owner, most, of }: Bound): Promise<boolean> {
  await run(tx)`select pg_advisory_xact_lock(hashtext(${`registry.${kind}`}), hashtext(${owner}))`;
  return (await row(tx, Type.Object({ full: Type.Boolean() }))`select exists (select from ${of} offset ${most - 1} limit 1) as full`)!.full;
}

export const mostRegistries = 1_000;
/** Registries of an organization. */
export const hasAllRegistries = (tx: Tx, org: string): Promise<boolean> =>
  isFull(tx, { kind: 'registries', owner: org, most: mostRegistries, of: sql`registry.registry where org_id = ${org}` });

export const mostKeys = 1_000;
/** The unrevoked keys of a registry that people minted. */
export const hasAllKeys = (tx: Tx, registryId: string): Promise<boolean> =>
  isFull(tx, {
    kind: 'keys',
    owner: registryId,
    most: mostKeys,
    of: sql`registry.registry_key where registry_id = ${registryId} and minted_via = 'manual' and revoked_at is null`,
  });

export const mostJobKeys = 5_000;
/** Keys of a registry that jobs have minted and whose time is not over, revoked ones among them. */
export const hasAllJobKeys = (tx: Tx, registryId: string): Promise<boolean> =>
  isFull(tx, {
    kind: 'job keys',
    owner: registryId,
    most: mostJobKeys,
    of: sql`registry.registry_key where registry_id = ${registryId} and minted_via = 'oidc' and expires_at > (select kernel.now())`,
  });

/** Repositories of a registry that cache an upstream and have nothing of it. */
export const hasAllEmptyCaches = (tx: Tx, registryId: string, most: number): Promise<boolean> =>
  isFull(tx, {
    kind: 'empty caches',
    owner: registryId,
    most,
    of: sql`registry.repository r where r.registry_id = ${registryId} and r.upstream_host is not null
      and not exists (select from registry.manifest m where m.repository_id = r.id)`,
  });
