import type { Entitlement } from '../../contract/common.ts';
import type { Caches } from '../kernel/cache.ts';
import type { Db, Tx } from '../kernel/db/index.ts';
import { sharedLocks } from './rights-lock.ts';
import type { CustomRoles, Grants, RoleUse } from './rules/grants.ts';
import { shareInOrder } from './store/rights-locks.ts';
import { hashText, type Kind, kindOf } from './token-format.ts';

/** A well-formed key: what kind it is of, its hash, and under which name it is remembered. */
export interface Presented {
  kind: Kind;
  hash: string;
  cacheKey: string;
}

const presentedAs = (kind: Kind, hash: string): Presented => ({ kind, hash, cacheKey: `${kind} ${hash}` });

/** Undefined for a malformed key. */
export function recognize(key: string): Presented | undefined {
  const kind = kindOf(key);
  return kind && presentedAs(kind, hashText(key));
}

export interface User {
  id: string;
  email: string;
  name: string;
}

/** Who is asking: a live credential, the organization it acts in, and what it may do. */
export interface Principal {
  kind: Kind;
  /** The credential's own id. */
  id: string;
  org: { id: string; slug: string };
  entitlements: ReadonlySet<Entitlement>;
  /** Whose token it is; keys of machines (alert sources, send keys, scrapers) belong to nobody. */
  user?: User;
  grants: Grants;
  /** What the credential was narrowed to, for minting within it. Empty: not narrowed. */
  scopes: readonly (readonly RoleUse[])[];
  customRoles: CustomRoles;
  /** What the credential's own area keeps with it. */
  access?: unknown;
  /** What its rights hang on. */
  topics: readonly string[];
  /** The locks of these, in order: a transaction that acts for it shares them. See rights-lock.ts. */
  locks: readonly string[];
  /** Begins a transaction: shares these locks, then reads the rights again. Undefined: they are gone. */
  reload(tx: Tx, locks: readonly string[]): Promise<Principal | undefined>;
  /** Whether that will give this very principal, unless something changed that is not known here yet. */
  isLikelyUnchanged(): boolean;
  /** Aborted when the credential, or anything its rights follow from, may have changed: ask again, or let go. */
  signal: AbortSignal;
}

/** What a loader finds behind a hash. Without a principal: known, but switched off. */
export interface Loaded {
  principal: Omit<Principal, 'signal' | 'kind' | 'topics' | 'locks' | 'reload' | 'isLikelyUnchanged'> | undefined;
  /** Shares locks, then tells whether another look would find the same: where that costs less than to look. */
  shareUnchanged?: (tx: Tx, locks: readonly string[]) => Promise<boolean>;
  /** How long it stays valid by the product's clock. */
  ttlMs: number;
  topics: string[];
}

export type Loader = (tx: Tx, hash: Buffer) => Promise<Loaded | undefined>;

/** Stands before the database: makes the lookup, or refuses. `secret`, the key's kind and hash, tells it from all others. */
export type Ask = (secret: string, lookup: () => Promise<Principal | undefined>) => Promise<Principal | undefined>;

export interface Principals {
  /** Undefined for a malformed, unknown, disabled, expired or revoked key; a promise only for one of which nothing is remembered.
   *  `presented`: the same key, if it was recognized before. */
  find(key: string, accept: ReadonlySet<Kind>, ask?: Ask, presented?: Presented): Principal | undefined | Promise<Principal | undefined>;
  /** For a credential that was presented before and is now known by its hash alone, such as inside a signed bearer token. */
  findByHash(kind: Kind, hash: Buffer, ask?: Ask): Principal | undefined | Promise<Principal | undefined>;
}

interface CachedPrincipal {
  kind: Kind;
  /** Of the key it was loaded for. Rights are believed only if it is the one that was presented, whatever a cache answers. */
  hash: string;
  principal: Principal | null;
  abort: AbortController;
}

/** Unknown keys are remembered briefly too, so that a scanner with one wrong key does not become SQL. */
const unknownTtlMs = 5_000;

export function makePrincipals(db: Db, caches: Caches, loaders: Partial<Record<Kind, Loader>>): Principals {
  const cache = caches.make<CachedPrincipal>();
  cache.onDrop(({ abort }) => abort.abort());

  const look = (presented: Presented, ask: Ask | undefined) => {
    const known = cache.peek(presented.cacheKey);
    return known ? principalIfSameKey(presented, known) : loadOnce(presented, ask);
  };
  const loadOnce = (presented: Presented, ask: Ask | undefined) => {
    const { kind, hash, cacheKey } = presented;
    const load = loaders[kind];
    if (!load) return undefined;
    const lookup = async () => {
      const found = await cache.get(cacheKey, async () => {
        const loaded = await db.read((tx) => load(tx, Buffer.from(hash, 'latin1')));
        const abort = new AbortController();
        if (!loaded?.principal || loaded.ttlMs <= 0)
          return { value: { kind, hash, principal: null, abort }, topics: loaded?.topics ?? [], ttlMs: unknownTtlMs, tenant: '' };
        const principal = asPrincipal(loaded.principal, loaded, { kind, hash, load, signal: abort.signal });
        return { value: { kind, hash, principal, abort }, topics: loaded.topics, ttlMs: loaded.ttlMs, tenant: principal.org.id };
      });
      return principalIfSameKey(presented, found);
    };
    return ask ? ask(cacheKey, lookup) : lookup();
  };

  return {
    findByHash: (kind, hash, ask) => look(presentedAs(kind, hash.toString('latin1')), ask),
    find: (key, accept, ask, presented = recognize(key)) => (presented && accept.has(presented.kind) ? look(presented, ask) : undefined),
  };
}

interface Source {
  kind: Kind;
  hash: string;
  load: Loader;
  signal: AbortSignal;
}

function asPrincipal(found: NonNullable<Loaded['principal']>, loaded: Loaded, source: Source): Principal {
  const { kind, hash, load, signal } = source;
  const { topics } = loaded;
  const principal: Principal = {
    ...found,
    kind,
    topics,
    locks: sharedLocks(found.org.id, topics),
    signal,
    isLikelyUnchanged: () => last.shareUnchanged !== undefined && last.is === principal,
    reload: async (tx, locks) => {
      const { shareUnchanged, is } = last; // together: another transaction may find something newer meanwhile
      if (shareUnchanged && (await shareUnchanged(tx, locks))) return is;
      const shared = shareUnchanged ? undefined : shareInOrder(tx, locks); // given first: what is read after it has a snapshot of its own
      const [again] = await Promise.all([load(tx, Buffer.from(hash, 'latin1')), shared]);
      if (!again?.principal || again.ttlMs <= 0) return undefined;
      last = { shareUnchanged: again.shareUnchanged, is: { ...principal, ...again.principal } };
      return last.is;
    },
  };
  /** What was found last, and how to tell whether it still holds. */
  let last = { shareUnchanged: loaded.shareUnchanged, is: principal };
  return principal;
}

const principalIfSameKey = ({ kind, hash }: Presented, found: CachedPrincipal | undefined): Principal | undefined =>
  (found?.hash === hash && found.kind === kind && found.principal) || undefined;

/** What a principal's rights hang on; changing one of these drops it everywhere. */
export const topics = {
  user: (orgId: string, userId: string) => `user ${orgId} ${userId}`,
  org: (orgId: string) => `org ${orgId}`,
  /** The organization's custom roles, which only people's rights follow from. */
  roles: (orgId: string) => `roles ${orgId}`,
  credential: (id: string) => `credential ${id}`,
  /** The list of somebody's tokens, which no right follows from. */
  tokensOf: (orgId: string, userId: string) => `tokens ${orgId} ${userId}`,
};
