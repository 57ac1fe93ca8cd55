import type { Caches } from '../../../../kernel/cache.ts';
import type { Grant } from './bearer.ts';

/** Tokens whose signature was checked a moment ago: from then on one is a map lookup, since checking each request halved the rate.
 *  Those of a credential and of an organization have their share; what is over it, or over all, makes the oldest of it go, which is
 *  then checked again. */
export interface VerifiedTokens {
  find(token: string): Grant | undefined;
  keep(token: string, grant: Grant, ttlMs: number): void;
  /** What they take, as far as it can be told. */
  bytes(): number;
}

const KiB = 1024;
export const tokenBounds = { credential: 256 * KiB, organization: 2_048 * KiB, all: 16_384 * KiB };

const longestMs = 60_000;

interface Entry {
  grant: Grant;
  bytes: number;
  staleAt: number;
}

/** The token itself, and what was read out of it: names, sets and maps take a few times as much. */
const bytesOf = (token: string) => 512 + 5 * token.length;

export function makeVerifiedTokens(caches: Caches): VerifiedTokens {
  const entries = new Map<string, Entry>();
  const shares = new Map<string, { bytes: number; tokens: Set<string> }>();
  let total = 0;

  const sharesOf = ({ org, keyId }: Grant) =>
    [
      [`credential ${keyId}`, tokenBounds.credential],
      [`organization ${org}`, tokenBounds.organization],
    ] as const;

  const forget = (token: string) => {
    const entry = entries.get(token);
    if (!entry) return;
    entries.delete(token);
    total -= entry.bytes;
    for (const [name] of sharesOf(entry.grant)) {
      const share = shares.get(name)!;
      share.bytes -= entry.bytes;
      share.tokens.delete(token);
      if (share.tokens.size === 0) shares.delete(name);
    }
  };
  const oldestOf = (tokens: Iterable<string>): string => tokens[Symbol.iterator]().next().value!;

  // Whoever empties all caches, as a clock that jumps does, empties this one as well.
  const remembering = caches.make<{ tokens: true }>({ max: 1, ttlMs: 3_600_000 });
  remembering.onDrop(() => [...entries.keys()].forEach(forget));

  return {
    find: (token) => {
      const entry = entries.get(token);
      if (!entry) return undefined;
      if (performance.now() < entry.staleAt) return entry.grant;
      forget(token);
      return undefined;
    },
    keep: (token, grant, ttlMs) => {
      const now = performance.now();
      // They were kept in about the order in which they end.
      for (const [old, { staleAt }] of entries) {
        if (staleAt > now) break;
        forget(old);
      }
      forget(token);
      const bytes = bytesOf(token);
      entries.set(token, { grant, bytes, staleAt: now + Math.min(longestMs, ttlMs) });
      total += bytes;
      for (const [name, most] of sharesOf(grant)) {
        const share = shares.get(name) ?? { bytes: 0, tokens: new Set<string>() };
        shares.set(name, share);
        share.bytes += bytes;
        share.tokens.add(token);
        while (share.bytes > most) forget(oldestOf(share.tokens));
      }
      while (total > tokenBounds.all) forget(oldestOf(entries.keys()));
      if (!remembering.peek('tokens')) void remembering.get('tokens', async () => ({ value: { tokens: true }, topics: [] }));
    },
    bytes: () => total,
  };
}
