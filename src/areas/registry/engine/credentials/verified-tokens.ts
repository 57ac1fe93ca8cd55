import type { Caches } from '../../../../kernel/cache.ts';
import type { Grant } from './types.ts';

/**
 * Tokens whose signature was verified within the last minute. A hit is a map lookup; verifying every request halved the rate. Memory is
 * limited per credential, per organization and in total. Beyond a limit the oldest token is dropped and verified again on its next use.
 */
export interface VerifiedTokens {
  find(token: string): Grant | undefined;
  keep(token: string, grant: Grant, ttlMs: number): void;
  /** Estimated memory in bytes. */
  bytes(): number;
}

const KiB = 1024;
export const maxCacheBytes = { credential: 256 * KiB, organization: 2_048 * KiB, total: 16_384 * KiB };

const maxAgeMs = 60_000;

interface Entry {
  grant: Grant;
  bytes: number;
  staleAt: number;
}

/** The token and its parsed grant: names, sets and maps take a few times the token's length. */
const bytesOf = (token: string) => 512 + 5 * token.length;

export function makeVerifiedTokens(caches: Caches): VerifiedTokens {
  const entries = new Map<string, Entry>();
  const shares = new Map<string, { bytes: number; tokens: Set<string> }>();
  let total = 0;

  const sharesOf = ({ org, keyId }: Grant) =>
    [
      [`credential ${keyId}`, maxCacheBytes.credential],
      [`organization ${org}`, maxCacheBytes.organization],
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

  // An entry in the shared caches: when all caches are dropped, as after a clock jump, this one is dropped too.
  const dropSignal = caches.make<{ tokens: true }>({ max: 1, ttlMs: 3_600_000 });
  dropSignal.onDrop(() => [...entries.keys()].forEach(forget));

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
      // Tokens are in insertion order, which is about the order in which they expire.
      for (const [old, { staleAt }] of entries) {
        if (staleAt > now) break;
        forget(old);
      }
      forget(token);
      const bytes = bytesOf(token);
      entries.set(token, { grant, bytes, staleAt: now + Math.min(maxAgeMs, ttlMs) });
      total += bytes;
      for (const [name, maxBytes] of sharesOf(grant)) {
        const share = shares.get(name) ?? { bytes: 0, tokens: new Set<string>() };
        shares.set(name, share);
        share.bytes += bytes;
        share.tokens.add(token);
        while (share.bytes > maxBytes) forget(oldestOf(share.tokens));
      }
      while (total > maxCacheBytes.total) forget(oldestOf(entries.keys()));
      if (!dropSignal.peek('tokens')) void dropSignal.get('tokens', async () => ({ value: { tokens: true }, topics: [] }));
    },
    bytes: () => total,
  };
}
