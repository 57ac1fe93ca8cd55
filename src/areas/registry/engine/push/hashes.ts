import { createHash, type Hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { boundedTo } from '../../../../kernel/bounded-map.ts';
import type { Algorithm } from '../../rules/names.ts';

interface Live {
  algorithm: Algorithm;
  hash: Hash;
  bytes: number;
}

/** The running hash of each upload that this process receives. A hash cannot be stored: after a restart, or on another machine, the
 *  content is read back once at the end instead. */
export interface Hashes {
  begin(id: string, algorithm: Algorithm): void;
  /** The same bytes, counted into the upload's hash. */
  through(id: string, offset: number, body: AsyncIterable<Buffer>): AsyncIterable<Buffer>;
  /** The digest of everything so far, if this process saw all of it and hashed it by this algorithm. */
  digest(id: string, algorithm: Algorithm, size: number): string | undefined;
  forget(id: string): void;
}

export function makeHashes(): Hashes {
  const live = new LRUCache<string, Live>({ ...boundedTo(10_000), ttl: 24 * 3600 * 1000 });
  return {
    begin: (id, algorithm) => void live.set(id, { algorithm, hash: createHash(algorithm), bytes: 0 }),
    through: (id, offset, body) => {
      const mine = live.get(id);
      if (!mine || mine.bytes !== offset) {
        live.delete(id);
        return body;
      }
      return hashing(mine, body);
    },
    digest: (id, algorithm, size) => {
      const mine = live.get(id);
      return mine && mine.algorithm === algorithm && mine.bytes === size ? `${algorithm}:${mine.hash.copy().digest('hex')}` : undefined;
    },
    forget: (id) => void live.delete(id),
  };
}

async function* hashing(live: Live, body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const chunk of body) {
    live.hash.update(chunk);
    live.bytes += chunk.length;
    yield chunk;
  }
}
