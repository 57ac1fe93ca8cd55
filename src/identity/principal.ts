import type { Entitlement } from '../../contract/common.ts';
import type { OrganizationRole } from '../../contract/permissions.ts';
import type { Caches } from '../kernel/cache.ts';
import type { Db, Tx } from '../kernel/db/index.ts';
import type { Refusal } from '../kernel/errors.ts';
import { lockRights, sharedLocks } from './rights-lock.ts';
import type { CustomRoles, Grants, RoleUse } from './rules/grants.ts';
import { shareInOrder } from './store/rights-locks.ts';
import { hashText, type Kind, kindOf } from './token-format.ts';

/** A well-formed key: its kind, its hash, and its key in the cache. */
export interface Presented {
  kind: Kind;
  hash: string;
  cacheKey: string;
  /** The slug of the organization that the request names. Sessions only: other credentials belong to one. */
  orgSlug?: string | undefined;
}

const presentedAs = (kind: Kind, hash: string): Presented => ({ kind, hash, cacheKey: `${kind} ${hash}` });

/** A session acts in the organization that each request names; without a name, in the only one of its person. Undefined: malformed. */
export function recognizeSession(key: string, orgSlug: string | undefined): Presented | undefined {
  if (kindOf(key) !== 'sess') return undefined;
  const hash = hashText(key);
  return { kind: 'sess', hash, cacheKey: `sess ${hash} ${orgSlug ?? ''}`, orgSlug };
}

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

export interface SessionState {
  /** How the person proved themselves: `link`, `password`, `totp`, `recovery`, `passkey`. */
  methods: readonly string[];
  /** Whether that was a moment ago: dangerous operations ask for it. */
  isFresh: boolean;
  /** When it ceases to be a moment ago. */
  freshUntil: string;
}

/** The caller: a live credential, the organization it acts in, and what it may do. */
export interface Principal {
  kind: Kind;
  /** The credential's own id. */
  id: string;
  /** The credential where it acts. A session acts in several organizations: what is kept for one of them is not for another. */
  actsAs: string;
  org: { id: string; slug: string };
  entitlements: ReadonlySet<Entitlement>;
  /** The owner of a personal token or session; absent for keys of machines (alert sources, send keys, scrapers). */
  user?: User;
  /** Of that person in the organization; what the credential may do is in `grants`. */
  role?: OrganizationRole;
  /** Whether the organization asks sessions for a second factor. */
  requiresSecondFactor?: boolean;
  /** Of a person who signed in. */
  session?: SessionState;
  grants: Grants;
  /** What the credential was narrowed to, for minting within it. Empty: not narrowed. */
  scopes: readonly (readonly RoleUse[])[];
  customRoles: CustomRoles;
  /** Data of the credential's own area. */
  access?: unknown;
  /** The topics that its rights depend on. */
  topics: readonly string[];
  /** The locks of these, in order: a transaction that acts for it shares them. See rights-lock.ts. */
  locks: readonly string[];
  /** Begins a transaction: shares these locks, then reads the rights again. Undefined: they are gone. */
  reload(tx: Tx, locks: readonly string[]): Promise<Principal | undefined>;
  /** Whether `reload` will return this very principal, unless a change has not been heard of yet. */
  isLikelyUnchanged(): boolean;
  /** Aborted when the credential or its rights may have changed: look the principal up again, or stop. */
  signal: AbortSignal;
  /** Until when its credential holds by itself, by the clock of `performance.now()`. */
  goodUntil: number;
  /** Looks it up as if the credential came now: in the cache, else in the database. Undefined, or a refusal: it may not act any more. */
  lookAgain(): Promise<Principal | undefined>;
}

/** What a loader finds for a hash. Without a principal: the credential is known, but disabled, or of no use in this organization. */
export interface Loaded {
  principal:
    | Omit<Principal, 'signal' | 'goodUntil' | 'lookAgain' | 'kind' | 'actsAs' | 'topics' | 'locks' | 'reload' | 'isLikelyUnchanged'>
    | undefined;
  /** Takes shared locks, then tells whether a reload would find the same: for loaders where that is cheaper than a reload. */
  shareUnchanged?: (tx: Tx, locks: readonly string[]) => Promise<boolean>;
  /** Thrown instead of the refusal of an unknown key. */
  refusal?: Refusal;
  /** How long it stays valid by the product's clock. */
  ttlMs: number;
  topics: string[];
}

export type Loader = (tx: Tx, hash: Buffer, orgSlug?: string) => Promise<Loaded | undefined>;

/** Called before a lookup in the database: runs or refuses it. `secret`, the key's kind and hash, identifies the key. */
export type LookupGate = (secret: string, lookup: () => Promise<Principal | undefined>) => Promise<Principal | undefined>;

export interface Principals {
  /**
   * Undefined for a malformed, unknown, disabled, expired or revoked key; a promise only for a key that is not cached. `presented`: the
   * same key, if it was recognized before.
   */
  find(
    key: string,
    accept: ReadonlySet<Kind>,
    ask?: LookupGate,
    presented?: Presented,
  ): Principal | undefined | Promise<Principal | undefined>;
  /** For a credential that was presented before and is now known by its hash alone, such as inside a signed bearer token. */
  findByHash(kind: Kind, hash: Buffer, ask?: LookupGate): Principal | undefined | Promise<Principal | undefined>;
}

interface CachedPrincipal {
  kind: Kind;
  /** The hash of the key it was loaded for. The principal is used only if this is the presented one, whatever the cache returns. */
  hash: string;
  principal: Principal | null;
  refusal?: Refusal | undefined;
  abort: AbortController;
}

/** Unknown keys are cached briefly too, so that a scanner with one wrong key does not become SQL. */
const unknownTtlMs = 5_000;
/** A person may join the organization at any moment. */
const refusedTtlMs = 500;

export function makePrincipals(db: Db, caches: Caches, loaders: Partial<Record<Kind, Loader>>): Principals {
  const cache = caches.make<CachedPrincipal>();
  cache.onDrop(({ abort }) => abort.abort());

  const look = (presented: Presented, ask: LookupGate | undefined) => {
    const known = cache.peek(presented.cacheKey);
    return known ? principalIfSameKey(presented, known) : loadOnce(presented, ask);
  };
  const loadOnce = (presented: Presented, ask: LookupGate | undefined) => {
    const { kind, hash, cacheKey, orgSlug } = presented;
    const load = loaders[kind];
    if (!load) return undefined;
    const lookup = async () => {
      const found = await cache.get(cacheKey, async () => {
        const began = performance.now();
        const loaded = await db.read((tx) => load(tx, Buffer.from(hash, 'latin1'), orgSlug));
        const abort = new AbortController();
        if (!loaded?.principal || loaded.ttlMs <= 0)
          return {
            value: { kind, hash, principal: null, refusal: loaded?.refusal, abort },
            topics: loaded?.topics ?? [],
            ttlMs: loaded?.refusal ? refusedTtlMs : unknownTtlMs,
            tenant: '',
          };
        const principal = asPrincipal(loaded.principal, loaded, {
          presented,
          load,
          signal: abort.signal,
          goodUntil: began + loaded.ttlMs,
          lookAgain: async () => look(presented, undefined),
        });
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
  presented: Presented;
  load: Loader;
  signal: AbortSignal;
  goodUntil: number;
  lookAgain: Principal['lookAgain'];
}

function asPrincipal(found: NonNullable<Loaded['principal']>, loaded: Loaded, source: Source): Principal {
  const { load, signal, goodUntil, lookAgain } = source;
  const { kind, hash } = source.presented;
  const { topics } = loaded;
  const principal: Principal = {
    ...found,
    actsAs: found.session ? `${found.id} ${found.org.id}` : found.id,
    kind,
    topics,
    locks: sharedLocks(found.org.id, topics),
    signal,
    goodUntil,
    lookAgain,
    isLikelyUnchanged: () => last.shareUnchanged !== undefined && last.is === principal,
    reload: async (tx, locks) => {
      const { shareUnchanged, is } = last; // together: another transaction may find something newer meanwhile
      if (shareUnchanged && (await shareUnchanged(tx, locks))) return is;
      const shared = shareUnchanged ? undefined : shareInOrder(tx, locks); // given first: what is read after it has a snapshot of its own
      const [again] = await Promise.all([load(tx, Buffer.from(hash, 'latin1'), found.org.slug), shared]);
      if (!again?.principal || again.ttlMs <= 0) return undefined;
      last = { shareUnchanged: again.shareUnchanged, is: { ...principal, ...again.principal } };
      return last.is;
    },
  };
  /** The newest principal, and how to tell whether it still holds. */
  let last = { shareUnchanged: loaded.shareUnchanged, is: principal };
  return principal;
}

function principalIfSameKey({ kind, hash }: Presented, found: CachedPrincipal | undefined): Principal | undefined {
  if (found?.hash !== hash || found.kind !== kind) return undefined;
  if (found.refusal) throw found.refusal;
  return found.principal ?? undefined;
}

/** Shares the locks of one principal and reads its rights again. For a transaction that begins with it; the statements after it may be
 *  given at once, and are undone if it refuses. Undefined: the rights are gone. */
export const reloadShared = (tx: Tx, principal: Principal): Promise<Principal | undefined> => principal.reload(tx, principal.locks);

/** Likewise for a transaction that takes rights away from these topics. Given together: the second statement has a snapshot of its own. */
export async function reloadRevoking(tx: Tx, principal: Principal, revokes: readonly string[]): Promise<Principal | undefined> {
  const locked = lockRights(tx, principal.org.id, { shares: principal.topics, revokes });
  const [found] = await Promise.all([principal.reload(tx, []), locked]);
  return found;
}

/** What a principal's rights depend on; a change of one of these drops it from all caches. */
export const topics = {
  user: (orgId: string, userId: string) => `user ${orgId} ${userId}`,
  org: (orgId: string) => `org ${orgId}`,
  /** The organization's custom roles, which only people's rights follow from. */
  roles: (orgId: string) => `roles ${orgId}`,
  credential: (id: string) => `credential ${id}`,
  /** Of no organization: a session acts in all of its person's. */
  session: (userId: string, id: string) => `session ${userId} ${id}`,
  /** The list of a member's tokens, which no right depends on. */
  tokensOf: (orgId: string, userId: string) => `tokens ${orgId} ${userId}`,
};
